// Package decode knows image files from outside: what format a file is and how large its image, from its first bytes.
//
// The decoders are packages of their own (jpeg, png, webp, bmp, gif, tiff), behind the C contract of decoder.h; the pipeline joins them.
//
// A probe never guesses. Where a header is not plainly what Pillow would read the same way, it says so with an error, and
// the caller asks Pillow. A wrong size could not become a wrong picture all the same: a decoder is told the size and
// refuses any other.
package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Format is a kind of image file.
type Format uint8

// The formats that Probe knows; the names are Pillow's.
const (
	Unknown Format = iota
	JPEG
	PNG
	BMP
	PPM // also PBM and PGM
	WebP
	TIFF
	GIF
)

var formatNames = [...]string{"unknown", "jpeg", "png", "bmp", "ppm", "webp", "tiff", "gif"}

func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Header is what the first bytes of a file tell.
type Header struct {
	Format Format
	// Pixels, as Image.open(...).size says: EXIF orientation does not turn them, TIFF's Orientation does.
	Width, Height int32
	// Mode is Pillow's, as Image.open(...).mode says: "RGB", "L" or "P"; empty for others, and where it is not known.
	Mode string
}

// The kinds of errors; Probe wraps them in an *Error.
var (
	ErrUnknown = errors.New("not an image format this package knows")
	ErrShort   = errors.New("more bytes are needed")
	ErrInvalid = errors.New("header is not plain")
)

// Error says what kept Probe from an answer, and at which byte.
type Error struct {
	Kind   error // ErrUnknown, ErrShort or ErrInvalid
	Format Format
	Offset int64 // of the byte that is wrong; with ErrShort how many bytes from the start would have been enough to go on
	What   string
}

func (e *Error) Error() string {
	switch e.Kind {
	case ErrShort:
		return fmt.Sprintf("%v: %v: at least %d from the file's start", e.Format, e.Kind, e.Offset)
	case ErrInvalid:
		return fmt.Sprintf("%v: %v: %s at byte %d", e.Format, e.Kind, e.What, e.Offset)
	default:
		return e.Kind.Error()
	}
}

func (e *Error) Unwrap() error { return e.Kind }

// Probe reads the format and the size from the first bytes of a file. A few KB are enough for most files; a JPEG may keep
// its size behind a large thumbnail or colour profile, a TIFF anywhere: then the error is ErrShort, and its Offset is the
// number of bytes to try again with.
func Probe(head []byte) (Header, error) {
	p := prober{head: head}
	for _, known := range []struct {
		format Format
		is     func([]byte) bool
		size   func(*prober) (width, height uint32)
	}{
		{JPEG, isJPEG, (*prober).jpeg},
		{PNG, isPNG, (*prober).png},
		{BMP, isBMP, (*prober).bmp},
		{GIF, isGIF, (*prober).gif},
		{PPM, isPPM, (*prober).ppm},
		{WebP, isWebP, (*prober).webp},
		{TIFF, isTIFF, (*prober).tiff},
	} {
		if !known.is(head) {
			continue
		}
		p.format = known.format
		width, height := known.size(&p)
		if p.err == nil && (width == 0 || height == 0 || width > math.MaxInt32 || height > math.MaxInt32) {
			p.invalid(0, fmt.Sprintf("size of %dx%d", width, height))
		}
		if p.err != nil {
			return Header{}, p.err
		}
		return Header{known.format, int32(width), int32(height), p.mode}, nil
	}
	if len(head) < longestMagic {
		return Header{}, &Error{Kind: ErrShort, Offset: longestMagic}
	}
	return Header{}, &Error{Kind: ErrUnknown}
}

// longestMagic bytes tell every format from the others (WebP's take the most).
const longestMagic = 16

func isJPEG(head []byte) bool { return bytes.HasPrefix(head, []byte("\xff\xd8\xff")) }
func isPNG(head []byte) bool  { return bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")) }
func isBMP(head []byte) bool  { return bytes.HasPrefix(head, []byte("BM")) }
func isGIF(head []byte) bool {
	return bytes.HasPrefix(head, []byte("GIF87a")) || bytes.HasPrefix(head, []byte("GIF89a"))
}

func isPPM(head []byte) bool {
	return len(head) >= 3 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6' && isSpace(head[2])
}

func isWebP(head []byte) bool {
	return len(head) >= 16 && string(head[:4]) == "RIFF" && string(head[8:15]) == "WEBPVP8"
}

func isTIFF(head []byte) bool {
	return bytes.HasPrefix(head, []byte("II*\x00")) || bytes.HasPrefix(head, []byte("MM\x00*"))
}

func isSpace(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

// prober reads head; its first failure sticks, and every read after one gives zeros.
type prober struct {
	head   []byte
	mode   string
	format Format
	err    error
}

func (p *prober) invalid(offset int64, what string) {
	if p.err == nil {
		p.err = &Error{Kind: ErrInvalid, Format: p.format, Offset: offset, What: what}
	}
}

var zeros [8]byte

// at gives n <= 8 bytes from offset on.
func (p *prober) at(offset, n int64) []byte {
	if p.err == nil && offset+n > int64(len(p.head)) {
		p.err = &Error{Kind: ErrShort, Format: p.format, Offset: offset + n}
	}
	if p.err != nil {
		return zeros[:n]
	}
	return p.head[offset : offset+n]
}

func (p *prober) u8(offset int64) byte { return p.at(offset, 1)[0] }

func (p *prober) u16(order binary.ByteOrder, offset int64) uint32 {
	return uint32(order.Uint16(p.at(offset, 2)))
}

func (p *prober) u32(order binary.ByteOrder, offset int64) uint32 {
	return order.Uint32(p.at(offset, 4))
}

// jpeg goes from segment to segment up to the frame header.
func (p *prober) jpeg() (width, height uint32) {
	for at := int64(2); p.err == nil; {
		if p.u8(at) != 0xFF {
			p.invalid(at, "junk between segments")
			break
		}
		code := p.u8(at + 1)
		if code == 0xFF { // fill byte
			at++
			continue
		}
		length := int64(p.u16(binary.BigEndian, at+2))
		switch {
		case p.err != nil:
		case code < 0xC0 || (code >= 0xD0 && code <= 0xDA) || code == 0xC8 || code == 0xDE:
			p.invalid(at, fmt.Sprintf("marker %02X before the frame header", code))
		case length < 2:
			p.invalid(at+2, "impossible segment length")
		case code <= 0xCF && code != 0xC4 && code != 0xCC:
			bits, components := p.u8(at+4), p.u8(at+9)
			if bits != 8 {
				p.invalid(at+4, fmt.Sprintf("%d bits a sample", bits))
			}
			if components != 1 && components != 3 && components != 4 {
				p.invalid(at+9, fmt.Sprintf("%d components", components))
			}
			p.mode = map[byte]string{1: "L", 3: "RGB"}[components]
			return p.u16(binary.BigEndian, at+7), p.u16(binary.BigEndian, at+5)
		}
		at += 2 + length
	}
	return 0, 0
}

func (p *prober) png() (width, height uint32) {
	if length := p.u32(binary.BigEndian, 8); p.err == nil && length != 13 {
		p.invalid(8, "first chunk of a wrong length")
	}
	if name := p.at(12, 4); p.err == nil && string(name) != "IHDR" {
		p.invalid(12, "no IHDR chunk at the start")
	}
	p.at(28, 1) // the last byte of IHDR is there too
	switch bits, colours := p.u8(24), p.u8(25); {
	case bits == 8 && colours == 2:
		p.mode = "RGB"
	case bits > 1 && bits <= 8 && colours == 0:
		p.mode = "L"
	case colours == 3:
		p.mode = "P"
	}
	return p.u32(binary.BigEndian, 16), p.u32(binary.BigEndian, 20)
}

func (p *prober) bmp() (width, height uint32) {
	order := binary.LittleEndian
	switch size := p.u32(order, 14); size {
	case 12: // OS/2
		return p.u16(order, 18), p.u16(order, 20)
	case 40, 52, 56, 64, 108, 124:
		width, height = p.u32(order, 18), p.u32(order, 22)
		if height>>24 == 0xFF { // negative: the rows go down
			height = -height
		}
		return width, height
	default:
		p.invalid(14, fmt.Sprintf("information header of %d bytes", size))
		return 0, 0
	}
}

// gif takes the screen size, which the first picture may enlarge.
func (p *prober) gif() (width, height uint32) {
	order := binary.LittleEndian
	width, height = p.u16(order, 6), p.u16(order, 8)
	at := int64(13)
	if flags := p.u8(10); flags&0x80 != 0 {
		at += 3 << (flags&7 + 1)
	}
	for p.err == nil {
		switch block := p.u8(at); block {
		case '!': // extension: a label, sub-blocks, an empty one
			least := 1 // Pillow loses its way where fewer come
			if label := p.u8(at + 1); label == 0xFF {
				least = 2
			}
			start := at
			at += 2
			blocks := 0
			for n := p.u8(at); p.err == nil && n != 0; n = p.u8(at) {
				at += 1 + int64(n)
				blocks++
			}
			if blocks < least {
				p.invalid(start, "extension without data")
			}
			at++
		case ',':
			right := p.u16(order, at+1) + p.u16(order, at+5)
			bottom := p.u16(order, at+3) + p.u16(order, at+7)
			return max(width, right), max(height, bottom)
		default:
			p.invalid(at, fmt.Sprintf("block of kind %02X", block))
		}
	}
	return 0, 0
}

// ppm reads PBM, PGM and PPM, plain or raw: the size is text behind the magic number.
func (p *prober) ppm() (width, height uint32) {
	at := int64(2)
	width = p.number(&at)
	height = p.number(&at)
	return width, height
}

// number reads a decimal number and the white space that ends it; comments may stand before it.
func (p *prober) number(at *int64) (value uint32) {
	for digits := 0; p.err == nil; *at++ {
		c := p.u8(*at)
		switch {
		case p.err != nil:
		case c >= '0' && c <= '9':
			if digits++; digits > 9 {
				p.invalid(*at, "number too long")
			}
			value = 10*value + uint32(c-'0')
		case isSpace(c):
			if digits > 0 {
				*at++
				return value
			}
		case c == '#' && digits == 0:
			for c != '\n' && c != '\r' && p.err == nil {
				*at++
				c = p.u8(*at)
			}
		default:
			p.invalid(*at, "no number")
		}
	}
	return 0
}

func (p *prober) webp() (width, height uint32) {
	order := binary.LittleEndian
	switch kind := p.u8(15); kind {
	case ' ': // lossy
		if code := p.at(23, 3); p.err == nil && string(code) != "\x9d\x01\x2a" {
			p.invalid(23, "no key frame")
		}
		return p.u16(order, 26) & 0x3FFF, p.u16(order, 28) & 0x3FFF
	case 'L': // lossless
		if signature := p.u8(20); p.err == nil && signature != 0x2F {
			p.invalid(20, "no lossless signature")
		}
		bits := p.u32(order, 21)
		return bits&0x3FFF + 1, bits>>14&0x3FFF + 1
	case 'X': // extended: the size of the canvas
		return p.u32(order, 24)&0xFFFFFF + 1, uint32(p.u16(order, 27)) | uint32(p.u8(29))<<16 + 1
	default:
		p.invalid(15, fmt.Sprintf("chunk VP8%c", kind))
		return 0, 0
	}
}

// tiff looks through the first directory.
func (p *prober) tiff() (width, height uint32) {
	const (
		imageWidth, imageLength, orientation = 256, 257, 274
		short, long                          = 3, 4
		entryBytes                           = 12
	)
	var order binary.ByteOrder = binary.LittleEndian
	if p.head[0] == 'M' {
		order = binary.BigEndian
	}
	directory := int64(p.u32(order, 4))
	turn := uint32(0)
	for i := range int64(p.u16(order, directory)) {
		at := directory + 2 + i*entryBytes
		p.at(at+8, 4)
		if p.err != nil {
			return 0, 0
		}
		var value *uint32
		switch p.u16(order, at) {
		case imageWidth:
			value = &width
		case imageLength:
			value = &height
		case orientation:
			value = &turn
		default:
			continue
		}
		kind, count := p.u16(order, at+2), p.u32(order, at+4)
		if count != 1 || *value != 0 {
			p.invalid(at, "size or orientation given more than once")
		}
		switch kind {
		case short:
			*value = p.u16(order, at+8)
		case long:
			*value = p.u32(order, at+8)
		default:
			p.invalid(at+2, fmt.Sprintf("size or orientation of type %d", kind))
		}
	}
	if turn >= 5 && turn <= 8 { // turned by 90 degrees
		return height, width
	}
	return width, height
}
