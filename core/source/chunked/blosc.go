package chunked

import (
	"encoding/binary"
	"fmt"

	"github.com/goloader/goloader/core/source/codec"
)

// Of a frame of Blosc (c-blosc, README_CHUNK_FORMAT.rst; blosc.c, blosc_d).
const (
	bloscHeader   = 16
	bloscShuffled = 0x1
	bloscPlain    = 0x2  // the bytes are there as they are
	bloscBits     = 0x4  // bits are shuffled, not bytes
	bloscWhole    = 0x10 // blocks are not split

	// Other blocks are split into one stream for each byte of an item, if items are so short and streams so long.
	bloscItemMax   = 16
	bloscStreamMin = 128
)

// blosc undoes Blosc: blocks, each compressed for itself, with their bytes shuffled before.
func blosc(dst, src []byte) ([]byte, error) {
	if len(src) < bloscHeader {
		return nil, codec.ErrDamaged
	}
	flags, item := int(src[2]), int(src[3])
	bytes, block := int(binary.LittleEndian.Uint32(src[4:])), int(binary.LittleEndian.Uint32(src[8:]))
	if bytes > len(dst) {
		return nil, codec.TooLong(len(dst))
	}
	dst = dst[:bytes]
	if flags&bloscPlain != 0 {
		if len(src)-bloscHeader < bytes {
			return nil, codec.ErrDamaged
		}
		copy(dst, src[bloscHeader:])
		return dst, nil
	}
	if bytes == 0 {
		return dst, nil
	}
	var decode filter
	switch flags >> 5 {
	case 1:
		decode = codec.LZ4
	case 3:
		decode = codec.Inflate
	case 4:
		decode = codec.Zstd
	default:
		return nil, fmt.Errorf("it is compressed by %s, which is not supported", bloscName(flags>>5))
	}
	if block <= 0 || item == 0 || (bytes-1)/block >= (len(src)-bloscHeader)/4 {
		return nil, codec.ErrDamaged
	}
	var room []byte
	if flags&bloscShuffled != 0 && item > 1 || flags&bloscBits != 0 {
		room = make([]byte, min(block, bytes))
	}
	for k := 0; k*block < bytes; k++ {
		out := dst[k*block : min((k+1)*block, bytes)]
		begin := int(binary.LittleEndian.Uint32(src[bloscHeader+4*k:]))
		if begin > len(src) {
			return nil, codec.ErrDamaged
		}
		streams := 1
		if flags&bloscWhole == 0 && item <= bloscItemMax && len(out)/item >= bloscStreamMin && len(out) == block {
			streams = item
		}
		into := out
		if room != nil {
			into = room[:len(out)]
		}
		if err := bloscBlock(into, src[begin:], streams, decode); err != nil {
			return nil, err
		}
		switch {
		case room == nil:
		case flags&bloscBits != 0:
			unshuffleBits(out, into, item)
		default:
			unshuffle(out, into, item)
		}
	}
	return dst, nil
}

func bloscBlock(dst, src []byte, streams int, decode filter) error {
	n := len(dst) / streams
	for k := range streams {
		if len(src) < 4 {
			return codec.ErrDamaged
		}
		packed := int(binary.LittleEndian.Uint32(src))
		if src = src[4:]; packed > len(src) {
			return codec.ErrDamaged
		}
		out := dst[k*n : (k+1)*n]
		if packed == n {
			copy(out, src)
		} else if made, err := decode(out, src[:packed]); err != nil {
			return fmt.Errorf("a block: %w", err)
		} else if len(made) != n {
			return codec.ErrDamaged
		}
		src = src[packed:]
	}
	return nil
}

// unshuffleBits puts the bits of items together again: first came the lowest bit of the first byte of each, at the end, as
// they are, bytes that make no item. Blosc leaves a block as it is whose items are not a multiple of 8.
func unshuffleBits(dst, src []byte, item int) {
	n := len(src) / item
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	for k := range item {
		planes := src[k*n : (k+1)*n]
		for i := range n / 8 {
			var x uint64 // eight bits of eight planes
			for bit := range 8 {
				x |= uint64(planes[bit*n/8+i]) << (8 * bit)
			}
			// Transposes 8 x 8 bits (Warren, Hacker's Delight, 7-3).
			t := (x ^ x>>7) & 0x00aa00aa00aa00aa
			x ^= t ^ t<<7
			t = (x ^ x>>14) & 0x0000cccc0000cccc
			x ^= t ^ t<<14
			t = (x ^ x>>28) & 0x00000000f0f0f0f0
			x ^= t ^ t<<28
			for j := range 8 {
				dst[(8*i+j)*item+k] = byte(x >> (8 * j))
			}
		}
	}
	copy(dst[n*item:], src[n*item:])
}

func bloscName(number int) string {
	if names := []string{"BloscLZ", "LZ4", "Snappy"}; number < len(names) {
		return names[number]
	}
	return fmt.Sprintf("method %d", number)
}
