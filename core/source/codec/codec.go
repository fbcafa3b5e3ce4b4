// Package codec undoes compression, into memory of a size that the caller knows: no stream makes it longer.
//
// Each function writes what comes out at the begin of dst, as far as that has room, and returns it. dst and src are
// different memory.
package codec

// #cgo LDFLAGS: -ldeflate
// #include <libdeflate.h>
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ErrDamaged says that bytes are not what any compressor writes.
var ErrDamaged = errors.New("it is damaged")

// TooLong is the error of a stream that holds more than there is room for.
func TooLong(most int) error { return fmt.Errorf("more than %d bytes come out of it", most) }

// Inflate undoes deflate, in zlib's format or in gzip's.
func Inflate(dst, src []byte) ([]byte, error) {
	if len(src) < 2 {
		return nil, ErrDamaged
	}
	if src[0] == 0x1f && src[1] == 0x8b {
		return inflate(dst, src, func(d *inflater, from, to unsafe.Pointer, n *C.size_t) C.enum_libdeflate_result {
			return C.libdeflate_gzip_decompress(d, from, C.size_t(len(src)), to, C.size_t(len(dst)), n)
		})
	}
	return inflate(dst, src, func(d *inflater, from, to unsafe.Pointer, n *C.size_t) C.enum_libdeflate_result {
		return C.libdeflate_zlib_decompress(d, from, C.size_t(len(src)), to, C.size_t(len(dst)), n)
	})
}

// InflateRaw undoes deflate without a format around it, as in zip archives. All of src has to be of it.
func InflateRaw(dst, src []byte) ([]byte, error) {
	return inflate(dst, src, func(d *inflater, from, to unsafe.Pointer, n *C.size_t) C.enum_libdeflate_result {
		var read C.size_t
		result := C.libdeflate_deflate_decompress_ex(d, from, C.size_t(len(src)), to, C.size_t(len(dst)), &read, n)
		if result == C.LIBDEFLATE_SUCCESS && read != C.size_t(len(src)) {
			return C.LIBDEFLATE_BAD_DATA
		}
		return result
	})
}

type inflater = C.struct_libdeflate_decompressor

func inflate(dst, src []byte, by func(d *inflater, from, to unsafe.Pointer, n *C.size_t) C.enum_libdeflate_result) ([]byte, error) {
	d := C.libdeflate_alloc_decompressor()
	if d == nil {
		return nil, errors.New("out of memory")
	}
	defer C.libdeflate_free_decompressor(d)
	var n C.size_t
	switch by(d, unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst)), &n) {
	case C.LIBDEFLATE_SUCCESS:
		return dst[:n], nil
	case C.LIBDEFLATE_INSUFFICIENT_SPACE:
		return nil, TooLong(len(dst))
	default:
		return nil, ErrDamaged
	}
}

// zstandards decode into memory that is there, and never make it longer: so they may have any limit of their own.
var zstandards = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

// Zstd undoes Zstandard.
func Zstd(dst, src []byte) ([]byte, error) {
	d, err := zstandards()
	if err != nil {
		return nil, err
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, TooLong(len(dst))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return out, nil
}

// LZ4 undoes a block of LZ4, without a frame.
func LZ4(dst, src []byte) ([]byte, error) {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return dst[:n], nil
}

// LZ4Frame undoes LZ4 with its frame.
func LZ4Frame(dst, src []byte) ([]byte, error) {
	r := frames.Get().(*lz4.Reader)
	defer frames.Put(r)
	r.Reset(bytes.NewReader(src))
	n, err := io.ReadFull(r, dst)
	switch {
	case err == nil:
		var more [1]byte
		if _, err = io.ReadFull(r, more[:]); err == nil {
			return nil, TooLong(len(dst))
		} else if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return dst[:n], nil
}

var frames = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

// Snappy undoes a block of Snappy, without a frame.
func Snappy(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if n > len(dst) {
		return nil, TooLong(len(dst))
	}
	out, err := snappy.Decode(dst[:n], src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return out, nil
}
