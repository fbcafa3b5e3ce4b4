// Package places reads samples wherever they are in memory: encoded files, or images that are not encoded. The caller says
// where, and may say otherwise for every batch.
package places

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/source"
)

// Place is where a sample is. gl_place in capi/goloader.h is the same.
type Place struct {
	Data          unsafe.Pointer
	Bytes         int64
	Label         int64
	Height, Width int64 // of an image that is not encoded, whose pixels follow each other
}

// Places is a table of them. It implements source.Files.
type Places struct{ table []Place }

var _ source.Files = Places{}

// New makes a source of a table, which stays the caller's: to be changed only while no batch is outstanding.
func New(table []Place) Places { return Places{table} }

// Close does nothing: all memory is the caller's.
func (p Places) Close() {}

// Len is how many places there are.
func (p Places) Len() int { return len(p.table) }

// Label is a sample's class number.
func (p Places) Label(i int) int64 { return p.table[i].Label }

// Name is a sample's place.
func (p Places) Name(i int) string { return fmt.Sprintf("row %d", i) }

// Size is that of an image that is not encoded.
func (p Places) Size(i int) (height, width int64) { return p.table[i].Height, p.table[i].Width }

// Read appends a sample's bytes to buf. Memory has no versions.
func (p Places) Read(_ context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	place := p.table[i]
	room, err := buf.Room(int(place.Bytes))
	if err != nil {
		return source.Stamp{}, fmt.Errorf("%s: %w", p.Name(i), err)
	}
	buf.Add(copy(room, unsafe.Slice((*byte)(place.Data), int(place.Bytes))))
	return source.Stamp{Bytes: place.Bytes}, nil
}
