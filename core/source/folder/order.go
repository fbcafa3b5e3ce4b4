package folder

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// compareNames orders file names as Python orders the strings that os.fsdecode makes of them: by code point, where a byte
// that is not UTF-8 becomes the code point 0xDC00 + byte (PEP 383).
func compareNames(a, b []byte) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) || at == len(b) || a[at] < utf8.RuneSelf && b[at] < utf8.RuneSelf {
		return bytes.Compare(a[at:], b[at:])
	}
	return compareDecoded(a, b)
}

func compareDecoded(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, i := codePoint(a)
		y, j := codePoint(b)
		if x != y {
			return int(x) - int(y)
		}
		a, b = a[i:], b[j:]
	}
	return len(a) - len(b)
}

func codePoint(b []byte) (rune, int) {
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return 0xDC00 + rune(b[0]), 1
	}
	return r, n
}

// names sorts file names that lie one after the other.
type names struct {
	order []uint32
}

// sort gives new slices: the names in order, and where each ends.
func (s *names) sort(all []byte, ends []uint32) ([]byte, []uint32) {
	begin := func(i uint32) uint32 {
		if i == 0 {
			return 0
		}
		return ends[i-1]
	}
	s.order = s.order[:0]
	for i := range ends {
		s.order = append(s.order, uint32(i))
	}
	slices.SortFunc(s.order, func(i, j uint32) int {
		return compareNames(all[begin(i):ends[i]], all[begin(j):ends[j]])
	})
	sorted, sortedEnds := make([]byte, 0, len(all)), make([]uint32, 0, len(ends))
	for _, i := range s.order {
		sorted = append(sorted, all[begin(i):ends[i]]...)
		sortedEnds = append(sortedEnds, uint32(len(sorted)))
	}
	return sorted, sortedEnds
}
