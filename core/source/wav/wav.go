// Package wav is the RIFF WAVE format, of files that have a sound each: PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64.
//
// A file has to be what its header says, to the byte: its RIFF chunk is the whole file, its chunks follow each other up to the
// end, and the format's numbers go together. Of any other, libraries differ in what they make, warn of and refuse.
package wav

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Format implements arrayfiles.Format: an array [frames, channels]. The text of a header is ENCODING CHANNELS RATE FRAMES.
type Format struct {
	as     string
	chunks []string // that a file may have beside "fmt " and "data"
}

// encodings are what numbers are in a file, and their bytes. Of extensible headers the name has a "+" behind it.
var encodings = []encoding{
	{"pcm8", 1}, {"pcm16", 2}, {"pcm24", 3}, {"pcm32", 4}, {"float32", 4}, {"float64", 8},
}

type encoding struct {
	name  string
	bytes int
}

// What is made of them: numbers as they are, those of 24 bits as the upper ones of an int32; or floats, of which 1 stands for
// what is one more than the largest integer.
const (
	asStored  = "stored"
	asFloat32 = "float32"
	asFloat64 = "float64"
)

// New reads how a format is written: what is made of numbers, a colon, and the names of chunks, one after the other.
func New(written string) (*Format, error) {
	as, names, found := strings.Cut(written, ":")
	if !found || len(names)%4 != 0 || !slices.Contains([]string{asStored, asFloat32, asFloat64}, as) {
		return nil, fmt.Errorf("wav: %q is no format", written)
	}
	f := &Format{as: as}
	for ; names != ""; names = names[4:] {
		f.chunks = append(f.chunks, names[:4])
	}
	return f, nil
}

// The tags of formats, and the end of what an extensible header has for them.
const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xfffe
	guidTail      = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
)

const (
	riffBytes       = 12
	chunkBytes      = 8
	fmtBytes        = 16
	fmtBytesWithEnd = 18
	fmtBytesMax     = 40
	// Read at once: the headers of nearly all files.
	headUsual = 128
	// Of a file that has more chunks somebody made it so.
	chunksMax = 64
)

// header is what the chunk "fmt " says.
type header struct {
	encoding   encoding
	extensible bool
	channels   int
	rate       uint32
}

func (h header) align() int64 { return int64(h.channels * h.encoding.bytes) }

// reader reads a file's headers.
type reader struct {
	file source.Container
	room []byte // the file's first bytes
}

// bytes are some of the file's. They fail where the file ends.
func (r *reader) bytes(ctx context.Context, at int64, n int) ([]byte, error) {
	if at > r.file.Bytes()-int64(n) {
		return nil, fmt.Errorf("ends at byte %d, within a header", r.file.Bytes())
	}
	if at+int64(n) <= int64(len(r.room)) {
		return r.room[at : at+int64(n)], nil
	}
	into := make([]byte, n)
	return into, r.file.Read(ctx, source.Piece{At: at, Into: into})
}

// Head implements arrayfiles.Format.
func (f *Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	r := &reader{file, room[:min(file.Bytes(), headUsual)]}
	if err := file.Read(ctx, source.Piece{At: 0, Into: r.room}); err != nil {
		return nil, none, err
	}
	riff, err := r.bytes(ctx, 0, riffBytes)
	if err != nil {
		return nil, none, err
	}
	if string(riff[:4]) != "RIFF" || string(riff[8:]) != "WAVE" {
		return nil, none, fmt.Errorf("byte 0: not a WAV file")
	}
	if size := int64(binary.LittleEndian.Uint32(riff[4:])); size != file.Bytes()-chunkBytes {
		return nil, none, fmt.Errorf("byte 4: %d bytes follow, but it says %d", file.Bytes()-chunkBytes, size)
	}
	var of header
	begin, frames := int64(0), int64(0)
	for at, count := int64(riffBytes), 0; at < file.Bytes(); count++ {
		chunk, err := r.bytes(ctx, at, chunkBytes)
		if err != nil {
			return nil, none, err
		}
		name, size := string(chunk[:4]), int64(binary.LittleEndian.Uint32(chunk[4:]))
		next := at + chunkBytes + size + size%2
		switch {
		case next > file.Bytes() || count > chunksMax:
			err = fmt.Errorf("chunk %q of %d bytes", name, size)
		case name == "fmt " && of.channels == 0:
			of, err = r.format(ctx, at+chunkBytes, size)
		case name == "data" && of.channels > 0 && begin == 0:
			begin, frames = at+chunkBytes, size/of.align()
			if size%of.align() != 0 {
				err = fmt.Errorf("%d bytes are no whole frames of %d", size, of.align())
			}
		case !slices.Contains(f.chunks, name):
			err = fmt.Errorf("a chunk %q in its place", name)
		}
		if err != nil {
			return nil, none, fmt.Errorf("byte %d: %w", at, err)
		}
		at = next
	}
	if begin == 0 {
		return nil, none, fmt.Errorf("no chunk \"data\" behind one \"fmt \"")
	}
	more := ""
	if of.extensible {
		more = "+"
	}
	text := fmt.Appendf(room[headUsual:headUsual], "%s%s %d %d %d", of.encoding.name, more, of.channels, of.rate, frames)
	return text, arrayfiles.Place{Begin: begin, Kind: slices.Index(encodings, of.encoding)}, nil
}

// format reads the chunk "fmt ".
func (r *reader) format(ctx context.Context, at, size int64) (header, error) {
	if size != fmtBytes && size != fmtBytesWithEnd && size != fmtBytesMax {
		return header{}, fmt.Errorf("a format of %d bytes", size)
	}
	b, err := r.bytes(ctx, at, int(size))
	if err != nil {
		return header{}, err
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
	tag, bits := number(0), number(14)
	h := header{channels: number(2), rate: binary.LittleEndian.Uint32(b[4:]), extensible: tag == tagExtensible}
	if (size == fmtBytesMax) != h.extensible {
		return header{}, fmt.Errorf("a format %d of %d bytes", tag, size)
	}
	if size > fmtBytes && number(fmtBytes) != int(size)-fmtBytesWithEnd {
		return header{}, fmt.Errorf("%d more bytes of a format of %d", number(fmtBytes), size)
	}
	if h.extensible {
		if number(18) != bits || string(b[26:]) != guidTail {
			return header{}, fmt.Errorf("an extensible format that is not known")
		}
		tag = number(24)
	}
	kind := map[int]string{tagPCM: "pcm", tagFloat: "float"}[tag]
	k := slices.IndexFunc(encodings, func(e encoding) bool { return e.name == fmt.Sprint(kind, bits) })
	if k < 0 {
		return header{}, fmt.Errorf("format %d of %d bits", tag, bits)
	}
	h.encoding = encodings[k]
	if h.channels < 1 || h.rate < 1 || int64(number(12)) != h.align() {
		return header{}, fmt.Errorf("%d channels, %d frames a second, %d bytes a frame", h.channels, h.rate, number(12))
	}
	if each := binary.LittleEndian.Uint32(b[8:]); int64(each) != int64(h.rate)*h.align() {
		return header{}, fmt.Errorf("%d bytes a second of %d frames", each, h.rate)
	}
	return h, nil
}

// Convert implements arrayfiles.Converter. skip and the bytes of into are those of whole numbers.
func (f *Format) Convert(ctx context.Context, file source.Container, place arrayfiles.Place, skip int64, into []byte) error {
	from := encodings[place.Kind]
	convert, size := f.conversion(from)
	if convert == nil {
		return file.Read(ctx, source.Piece{At: place.Begin + skip, Into: into})
	}
	if skip%int64(size) != 0 || len(into)%size != 0 {
		return fmt.Errorf("%d bytes from byte %d on of numbers of %d", len(into), skip, size)
	}
	room := source.Scratch(len(into) / size * from.bytes)
	defer source.PutScratch(room)
	if err := file.Read(ctx, source.Piece{At: place.Begin + skip/int64(size)*int64(from.bytes), Into: *room}); err != nil {
		return err
	}
	convert(into, *room)
	return nil
}

// conversion makes of a file's numbers what is wanted, each of so many bytes; nil if that is what they are.
func (f *Format) conversion(from encoding) (convert func(dst, src []byte), size int) {
	switch f.as {
	case from.name:
	case asFloat32:
		return func(dst, src []byte) { toFloats(itemsOf[float32](dst), src, from.name) }, 4
	case asFloat64:
		return func(dst, src []byte) { toFloats(itemsOf[float64](dst), src, from.name) }, 8
	case asStored:
		if from.name == "pcm24" {
			return func(dst, src []byte) {
				for k := range itemsOf[int32](dst) {
					itemsOf[int32](dst)[k] = upper24(src[3*k:])
				}
			}, 4
		}
	}
	return nil, from.bytes
}

func itemsOf[T int16 | int32 | float32 | float64](b []byte) []T {
	var item T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(item)))
}

// upper24 is a number of 24 bits as the upper ones of 32.
func upper24(b []byte) int32 { return int32(uint32(b[0])<<8 | uint32(b[1])<<16 | uint32(b[2])<<24) }

// toFloats divides integers by a power of 2, and so rounds once.
func toFloats[T float32 | float64](dst []T, src []byte, encoding string) {
	switch encoding {
	case "pcm8":
		for k := range dst {
			dst[k] = T(int(src[k])-1<<7) / (1 << 7)
		}
	case "pcm16":
		for k, x := range itemsOf[int16](src) {
			dst[k] = T(x) / (1 << 15)
		}
	case "pcm24":
		for k := range dst {
			dst[k] = T(upper24(src[3*k:])) / (1 << 31)
		}
	case "pcm32":
		for k, x := range itemsOf[int32](src) {
			dst[k] = T(x) / (1 << 31)
		}
	case "float32":
		for k, x := range itemsOf[float32](src) {
			dst[k] = T(x)
		}
	case "float64":
		for k, x := range itemsOf[float64](src) {
			dst[k] = T(x)
		}
	}
}
