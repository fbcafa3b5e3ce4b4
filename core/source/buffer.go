package source

import (
	"github.com/goloader/goloader/core/mem"
)

// bufferMin is what a buffer starts with. Far below a huge page, which would be cleared whole for each of the hundreds of
// files that are read ahead: that took a second before the first batch.
const bufferMin = 256 << 10

// Buffer is memory outside the Go heap that grows by need and is kept: C decoders read from it, and nothing is
// allocated once it has the size that a run of files needs. The zero Buffer is empty. One goroutine at a time.
type Buffer struct {
	block mem.Block
	used  int
}

// Slack is how many bytes behind the last one may be read by vector loads.
const Slack = 64

// Room makes sure that n bytes (and Slack) fit behind those in use, and returns them. Earlier offsets stay good,
// earlier pointers do not.
func (b *Buffer) Room(n int) ([]byte, error) {
	need := b.used + n + Slack
	if !b.block.Valid() || b.block.Size() < need {
		grown, err := mem.New(mem.Files, max(bufferMin, need+need/2))
		if err != nil {
			return nil, err
		}
		if b.block.Valid() {
			copy(grown.Bytes(), b.block.Bytes()[:b.used])
			b.block.Free()
		}
		b.block = grown
	}
	return b.block.Bytes()[b.used : b.used+n], nil
}

// Add counts n bytes of the last Room as used.
func (b *Buffer) Add(n int) { b.used += n }

// Append adds a text.
func (b *Buffer) Append(text string) error {
	room, err := b.Room(len(text))
	if err == nil {
		b.Add(copy(room, text))
	}
	return err
}

// Cut forgets all bytes in use behind the first n.
func (b *Buffer) Cut(n int) { b.used = n }

// Len is how many bytes are in use.
func (b *Buffer) Len() int { return b.used }

// Slice returns bytes in use; good until the next Room or Free.
func (b *Buffer) Slice(from, to int) []byte { return b.block.Bytes()[from:to] }

// Reset forgets the bytes and keeps the memory, unless an unusual run made it larger than keep.
func (b *Buffer) Reset(keep int) {
	b.used = 0
	if b.block.Valid() && b.block.Size() > keep {
		b.Free()
	}
}

// Free gives the memory back.
func (b *Buffer) Free() {
	if b.block.Valid() {
		b.block.Free()
	}
	*b = Buffer{}
}
