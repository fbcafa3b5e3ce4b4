package chunked

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/source/codec"
)

// filter undoes what was done to the bytes of a chunk. It writes what comes out at the begin of dst, as far as that has
// room, and returns it; or a part of src. dst and src are different memory.
type filter func(dst, src []byte) ([]byte, error)

// limit is the most that a chunk of so many bytes takes between two filters: checksums, and what compression adds to
// bytes that it cannot shorten (zlib 5 in 16 KiB, Zstandard 1 in 256, LZ4 1 in 255; a few bytes for each block of Blosc).
func limit(size int) int { return size + size/8 + 4096 }

// parse gives filters in the order in which they are undone, their numbers counted from the end.
func parse(words string) ([]filter, error) {
	var found []filter
	for _, word := range strings.Fields(words) {
		name, number, _ := strings.Cut(word, ":")
		var f filter
		switch name {
		case "zlib":
			f = codec.Inflate
		case "zstd":
			f = codec.Zstd
		case "lzf":
			f = lzf
		case "blosc":
			f = blosc
		case "crc32c":
			f = checked
		case "fletcher32":
			f = fletcher32
		case "shuffle":
			item, err := strconv.Atoi(number)
			if err != nil || item < 1 {
				return nil, fmt.Errorf("a filter %q", word)
			}
			f = func(dst, src []byte) ([]byte, error) {
				if len(src) > len(dst) {
					return nil, codec.TooLong(len(dst))
				}
				unshuffle(dst, src, item)
				return dst[:len(src)], nil
			}
		default:
			return nil, fmt.Errorf("a filter %q", word)
		}
		found = append(found, f)
	}
	return found, nil
}

// work is memory for a chunk on its way.
type work struct{ encoded, one, other []byte }

var works = sync.Pool{New: func() any { return new(work) }}

func takeWork() *work { return works.Get().(*work) }

// undo decodes what was read of a chunk into dst, which it fills.
func (w *work) undo(filters []filter, skipped int64, dst []byte) error {
	bytes := w.encoded
	for k := len(filters) - 1; k >= 0; k-- {
		if skipped&(1<<k) != 0 {
			continue
		}
		into := dst
		if k > 0 { // what is left to undo may shorten it
			w.one, w.other = w.other, w.one
			if most := limit(len(dst)); len(w.one) < most {
				w.one = make([]byte, most)
			}
			into = w.one
			if len(into) > limit(len(dst)) {
				into = into[:limit(len(dst))]
			}
		}
		var err error
		if bytes, err = filters[k](into, bytes); err != nil {
			return err
		}
	}
	if len(bytes) != len(dst) {
		return fmt.Errorf("%d bytes come out of it, not %d", len(bytes), len(dst))
	}
	if unsafe.SliceData(bytes) != unsafe.SliceData(dst) {
		copy(dst, bytes)
	}
	return nil
}

// unshuffle puts the bytes of items together again: first came the first byte of each, then the second of each, and at the
// end, as they are, bytes that make no item.
func unshuffle(dst, src []byte, item int) {
	n := len(src) / item
	switch item {
	case 1:
		copy(dst, src)
		return
	case 2:
		a, b := src[:n], src[n:2*n]
		for i := range a {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(a[i])|uint16(b[i])<<8)
		}
	case 4:
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range a {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	default:
		for k := range item {
			for i, x := range src[k*n : (k+1)*n] {
				dst[i*item+k] = x
			}
		}
	}
	copy(dst[n*item:], src[n*item:])
}

// checked takes off the CRC-32C at the end, which it compares.
func checked(_, src []byte) ([]byte, error) {
	n := len(src) - 4
	if n < 0 || crc32.Checksum(src[:n], castagnoli) != binary.LittleEndian.Uint32(src[n:]) {
		return nil, fmt.Errorf("%w: its checksum is another", codec.ErrDamaged)
	}
	return src[:n], nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fletcher32 takes off HDF5's checksum at the end, which it compares; old versions wrote the bytes of its halves turned round.
// Source: hdf5/src/H5checksum.c, H5_checksum_fletcher32, and H5Zfletcher32.c.
func fletcher32(_, src []byte) ([]byte, error) {
	n := len(src) - 4
	if n < 0 {
		return nil, codec.ErrDamaged
	}
	var one, two uint32
	fold := func() { one, two = one&0xffff+one>>16, two&0xffff+two>>16 }
	for k := 0; k+1 < n; k += 2 {
		one += uint32(src[k])<<8 | uint32(src[k+1])
		two += one
		if k%720 == 718 { // sums of 360 words fit
			fold()
		}
	}
	fold()
	if n%2 != 0 {
		one += uint32(src[n-1]) << 8
		two += one
		fold()
	}
	fold()
	sum, found := two<<16|one, binary.LittleEndian.Uint32(src[n:])
	if found != sum && found != sum&0x00ff00ff<<8|sum>>8&0x00ff00ff {
		return nil, fmt.Errorf("%w: its checksum is another", codec.ErrDamaged)
	}
	return src[:n], nil
}

// lzf undoes h5py's own compression (LibLZF, lzf_d.c): literals, and copies of what is up to 8 KiB behind.
func lzf(dst, src []byte) ([]byte, error) {
	n := 0
	for i := 0; i < len(src); {
		control := int(src[i])
		i++
		if control < 32 {
			run := control + 1
			if run > len(src)-i {
				return nil, codec.ErrDamaged
			}
			if run > len(dst)-n {
				return nil, codec.TooLong(len(dst))
			}
			n += copy(dst[n:], src[i:i+run])
			i += run
			continue
		}
		length := control >> 5
		if length == 7 && i < len(src) {
			length += int(src[i])
			i++
		}
		if i >= len(src) {
			return nil, codec.ErrDamaged
		}
		from := n - (control&31)<<8 - int(src[i]) - 1
		i++
		if from < 0 {
			return nil, codec.ErrDamaged
		}
		if length+2 > len(dst)-n {
			return nil, codec.TooLong(len(dst))
		}
		for range length + 2 { // it may overlap itself
			dst[n] = dst[from]
			n, from = n+1, from+1
		}
	}
	return dst[:n], nil
}
