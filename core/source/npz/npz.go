// Package npz is numpy's .npz format, a zip archive of .npy files: of each file one array, by its name.
package npz

import (
	"context"
	"fmt"
	"sync"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/npy"
	"github.com/goloader/goloader/core/source/ziparchive"
)

// Format implements arrayfiles.Format. The text of a header is that of the array's .npy file.
type Format struct {
	Name string // of the array
}

var contents = sync.Pool{New: func() any { return new([]byte) }}

// Head implements arrayfiles.Format. All of the array is read, since its checksum tells whether it is what was written.
func (f Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	archive, err := ziparchive.Open(ctx, file)
	if err != nil {
		return nil, none, err
	}
	member := archive.Members[f.Name+".npy"]
	if member == nil || archive.Members[f.Name] != nil {
		return nil, none, fmt.Errorf("no array %q, or another member of that name", f.Name)
	}
	made := contents.Get().(*[]byte)
	*made, err = archive.Content(member, *made)
	var text []byte
	var begin int
	if err == nil {
		text, begin, err = npy.Header(*made)
	}
	if err != nil {
		contents.Put(made)
		return nil, none, fmt.Errorf("array %q: %w", f.Name, err)
	}
	return append(room[:0], text...), arrayfiles.Place{Begin: int64(begin), Made: made}, nil
}

// Read implements arrayfiles.Format.
func (f Format) Read(_ context.Context, _ source.Container, place arrayfiles.Place, skip int64, into []byte) error {
	defer contents.Put(place.Made)
	if left := int64(len(*place.Made)) - place.Begin - skip; left < int64(len(into)) {
		return fmt.Errorf("array %q: %d bytes of items less than its shape has", f.Name, int64(len(into))-left)
	}
	copy(into, (*place.Made)[place.Begin+skip:])
	return nil
}
