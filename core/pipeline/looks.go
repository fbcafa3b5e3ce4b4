package pipeline

import (
	"bytes"

	"github.com/goloader/goloader/core/plan"
)

// looks are the bytes one of which an image has to have, for its code to go the way that was compiled. They are looked for in
// what the image became, [channels, height, width]: of most images the first few numbers tell.
type looks struct {
	size int // of a number
	// others are, by channel, numbers that come of no such byte.
	others [][][]byte
}

func newLooks(g plan.Give) *looks {
	if g.Looks == nil {
		return nil
	}
	made := &looks{g.DType.Size(), make([][][]byte, g.Channels)}
	for i, marked := range g.Looks {
		if marked == 0 {
			made.others[i/256] = append(made.others[i/256], g.Table[i*made.size:(i+1)*made.size])
		}
	}
	return made
}

func (l *looks) found(image []byte) bool {
	plane := len(image) / len(l.others)
	for c, others := range l.others {
		for at := c * plane; at < (c+1)*plane; at += l.size {
			if !contains(others, image[at:at+l.size]) {
				return true
			}
		}
	}
	return false
}

func contains(numbers [][]byte, one []byte) bool {
	for _, each := range numbers {
		if bytes.Equal(each, one) {
			return true
		}
	}
	return false
}
