// Package npy is numpy's .npy format, of files that have an array each.
package npy

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Format implements arrayfiles.Format. The text of a header is without the white space behind it.
type Format struct{}

// The format's beginning is "\x93NUMPY", its version and the bytes of the header's text, two of them in version 1 and four
// in the others. numpy aligns what follows the text to 64 bytes.
const (
	magic     = "\x93NUMPY"
	headUsual = 128
)

// Head implements arrayfiles.Format.
func (Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	have := min(file.Bytes(), headUsual)
	if err := file.Read(ctx, source.Piece{At: 0, Into: room[:have]}); err != nil {
		return nil, none, err
	}
	if have < 12 || string(room[:len(magic)]) != magic {
		return nil, none, fmt.Errorf("not a .npy file")
	}
	text, length := int64(10), int64(binary.LittleEndian.Uint16(room[8:]))
	if room[6] != 1 {
		text, length = 12, int64(binary.LittleEndian.Uint32(room[8:]))
	}
	if room[6] < 1 || room[6] > 3 || room[7] != 0 {
		return nil, none, fmt.Errorf("version %d.%d of the format", room[6], room[7])
	}
	end := text + length
	if end > arrayfiles.HeadMax || end > file.Bytes() {
		return nil, none, fmt.Errorf("a header of %d bytes", length)
	}
	if end > have {
		if err := file.Read(ctx, source.Piece{At: have, Into: room[have:end]}); err != nil {
			return nil, none, err
		}
	}
	return bytes.TrimRight(room[text:end], " \n"), arrayfiles.Place{Begin: end}, nil
}

// Read implements arrayfiles.Format.
func (Format) Read(ctx context.Context, file source.Container, place arrayfiles.Place, skip int64, into []byte) error {
	return file.Read(ctx, source.Piece{At: place.Begin + skip, Into: into})
}
