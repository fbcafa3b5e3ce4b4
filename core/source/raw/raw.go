// Package raw is files of nothing but an array's items, as numpy's tofile writes them.
package raw

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Format implements arrayfiles.Format. The text of a header is how many items there are; bytes behind the last whole one do not
// count.
type Format struct {
	itemSize int64
}

// New reads how a format is written: the bytes of an item.
func New(written string) (*Format, error) {
	size, err := strconv.ParseInt(written, 10, 64)
	if err != nil || size < 1 {
		return nil, fmt.Errorf("raw: items of %q bytes", written)
	}
	return &Format{size}, nil
}

// Head implements arrayfiles.Format.
func (f *Format) Head(_ context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	return strconv.AppendInt(room[:0], file.Bytes()/f.itemSize, 10), arrayfiles.Place{}, nil
}
