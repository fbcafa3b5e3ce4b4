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
	begin, end, err := extent(room[:have])
	if err != nil {
		return nil, none, err
	}
	if int64(end) > file.Bytes() {
		return nil, none, fmt.Errorf("a header of %d bytes", end-begin)
	}
	if int64(end) > have {
		if err := file.Read(ctx, source.Piece{At: have, Into: room[have:end]}); err != nil {
			return nil, none, err
		}
	}
	return trim(room[begin:end]), arrayfiles.Place{Begin: int64(end)}, nil
}

// Header is the text of a file that is in memory, and where its items begin.
func Header(file []byte) (text []byte, items int, err error) {
	begin, end, err := extent(file)
	if err == nil && end > len(file) {
		err = fmt.Errorf("a header of %d bytes", end-begin)
	}
	if err != nil {
		return nil, 0, err
	}
	return trim(file[begin:end]), end, nil
}

// extent is where the header's text begins and ends, by a file's first bytes.
func extent(head []byte) (begin, end int, err error) {
	if len(head) < 12 || string(head[:len(magic)]) != magic {
		return 0, 0, fmt.Errorf("not a .npy file")
	}
	begin, length := 10, uint64(binary.LittleEndian.Uint16(head[8:]))
	if head[6] != 1 {
		begin, length = 12, uint64(binary.LittleEndian.Uint32(head[8:]))
	}
	if head[6] < 1 || head[6] > 3 || head[7] != 0 {
		return 0, 0, fmt.Errorf("version %d.%d of the format", head[6], head[7])
	}
	if length > arrayfiles.HeadMax-uint64(begin) {
		return 0, 0, fmt.Errorf("a header of %d bytes", length)
	}
	return begin, begin + int(length), nil
}

func trim(text []byte) []byte { return bytes.TrimRight(text, " \n") }
