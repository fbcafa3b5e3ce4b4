package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// AsStored reports whether OpenCV's cv2.imread and cv2.imdecode give a file's pixels in the order in which they are stored:
// true of JPEG and PNG files that no EXIF header turns, that are no animation, and of which no colour is transparent, which
// is a fourth channel by IMREAD_UNCHANGED. Where that is not sure it is false.
func AsStored(file []byte) bool {
	switch {
	case isJPEG(file):
		return allExif(file, isTurnedByNone)
	case isPNG(file): // elsewhere than as a chunk's name these are rare
		return !containsAny(file, "eXIf", "acTL", "tRNS")
	default:
		return false
	}
}

// IsImageIO reports whether imageio makes of a file what Pillow's Image.open does: true of JPEG and PNG files, but for PNG
// animations, of which it gives all frames, and for EXIF headers that it may fail to read. Where that is not sure it is false.
func IsImageIO(file []byte) bool {
	switch {
	case isJPEG(file):
		return allExif(file, func(tiff []byte) bool { return len(tiff) >= 8 && orderOf(tiff) != nil })
	case isPNG(file):
		return !containsAny(file, "eXIf", "Raw profile type exif", "acTL")
	default:
		return false
	}
}

// IsWholeBytes reports whether a PNG file's samples have 8 bits or more.
func IsWholeBytes(file []byte) bool { return isPNG(file) && len(file) > pngBits && file[pngBits] >= 8 }

// IsBytesInOrder reports whether a PNG file's samples have 8 bits each, in rows from the first to the last, and it is no
// animation. Where that is not sure it is false.
func IsBytesInOrder(file []byte) bool {
	return isPNG(file) && len(file) > pngInterlace && file[pngBits] == 8 && file[pngInterlace] == 0 &&
		!containsAny(file, "acTL")
}

const pngBits, pngInterlace = 24, 28 // in IHDR

func containsAny(file []byte, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(file, []byte(name)) })
}

// allExif looks through a JPEG's headers: whether all of them are there, and of each that is EXIF a condition holds.
func allExif(file []byte, holds func(tiff []byte) bool) bool {
	for at := 2; at+4 <= len(file) && file[at] == 0xFF; {
		code := file[at+1]
		if code == 0xDA {
			return true
		}
		end := at + 2 + int(binary.BigEndian.Uint16(file[at+2:]))
		if end > len(file) {
			return false
		}
		if tiff, is := bytes.CutPrefix(file[at+4:max(at+4, end)], []byte("Exif\x00\x00")); code == 0xE1 && is && !holds(tiff) {
			return false
		}
		at = end
	}
	return false
}

// orderOf is the byte order of an EXIF header; nil where it says none.
func orderOf(tiff []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		return binary.LittleEndian
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		return binary.BigEndian
	}
	return nil
}

// isTurnedByNone reports whether the first directory of an EXIF header has no orientation, or none but 1.
func isTurnedByNone(tiff []byte) bool {
	const tag, upright = 0x0112, 1
	order := orderOf(tiff)
	if order == nil || len(tiff) < 8 {
		return false
	}
	first := int64(order.Uint32(tiff[4:]))
	if first+2 > int64(len(tiff)) {
		return false
	}
	entries := tiff[first+2:]
	count := int(order.Uint16(tiff[first:]))
	if 12*count > len(entries) {
		return false
	}
	for k := range count {
		if entry := entries[12*k:]; order.Uint16(entry) == tag && order.Uint16(entry[8:]) != upright {
			return false
		}
	}
	return true
}
