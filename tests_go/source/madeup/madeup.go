// Package madeup is a storage whose bytes a function makes up: all that a new storage needs to serve folders, recipes and
// arrays.
package madeup

import (
	"context"
	"fmt"

	"github.com/goloader/goloader/core/source"
)

// Store gives the bytes that a function makes of a container's name; nil says that there is no such container.
type Store func(name string) []byte

var _ source.Store = Store(nil)

// Read implements source.Store, as one does that has no shorter way than to open the container first.
func (s Store) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	c, err := s.Open(ctx, string(key.Container[:max(0, len(key.Container)-1)]))
	if err != nil {
		return source.Stamp{}, err
	}
	defer c.Close()
	length := key.Length
	if length == source.Whole {
		length = max(0, c.Bytes()-key.Offset)
	}
	room, err := buf.Room(int(length))
	if err != nil {
		return source.Stamp{}, err
	}
	if err := c.Read(ctx, source.Piece{At: key.Offset, Into: room}); err != nil {
		return source.Stamp{}, err
	}
	buf.Add(len(room))
	return source.StampOf(c), nil
}

// Open implements source.Store.
func (s Store) Open(_ context.Context, name string) (source.Container, error) {
	bytes := s(name)
	if bytes == nil {
		return nil, fmt.Errorf("%s: %w: nobody makes it up", name, source.ErrUnreadable)
	}
	return container{name, bytes}, nil
}

type container struct {
	name  string
	bytes []byte
}

func (c container) Name() string      { return c.name }
func (c container) Bytes() int64      { return int64(len(c.bytes)) }
func (c container) Waits() bool       { return false }
func (c container) Expect(int64, int) {}
func (c container) Close()            {}

// Read implements source.Container.
func (c container) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		if p.At < 0 || p.At+int64(len(p.Into)) > c.Bytes() {
			return fmt.Errorf("%s: %w: it has %d bytes", c.name, source.ErrUnreadable, c.Bytes())
		}
		copy(p.Into, c.bytes[p.At:])
	}
	return ctx.Err()
}
