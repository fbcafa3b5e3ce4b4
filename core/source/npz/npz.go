// Package npz is numpy's .npz format, a zip archive of .npy files: of each file one array, by its name.
package npz

import (
	"context"
	"fmt"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/npy"
	"github.com/goloader/goloader/core/source/ziparchive"
)

// Format implements arrayfiles.Format. The text of a header is that of the array's .npy file.
type Format struct {
	Name string // of the array
}

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
	made := source.Scratch(0)
	*made, err = archive.Content(member, *made)
	var text []byte
	var begin int
	if err == nil {
		text, begin, err = npy.Header(*made)
	}
	if err != nil {
		source.PutScratch(made)
		return nil, none, fmt.Errorf("array %q: %w", f.Name, err)
	}
	return append(room[:0], text...), arrayfiles.Place{Begin: int64(begin), Made: made}, nil
}
