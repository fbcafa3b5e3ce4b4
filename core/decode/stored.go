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
		return isUpright(file)
	case isPNG(file): // elsewhere than as a chunk's name these are rare
		return !slices.ContainsFunc([]string{"eXIf", "acTL", "tRNS"}, func(name string) bool { return bytes.Contains(file, []byte(name)) })
	default:
		return false
	}
}

// isUpright looks through a JPEG's headers.
func isUpright(file []byte) bool {
	for at := 2; at+4 <= len(file) && file[at] == 0xFF; {
		code := file[at+1]
		if code == 0xDA {
			return true
		}
		end := at + 2 + int(binary.BigEndian.Uint16(file[at+2:]))
		if end > len(file) {
			return false
		}
		if tiff, is := bytes.CutPrefix(file[at+4:max(at+4, end)], []byte("Exif\x00\x00")); code == 0xE1 && is && !isTurnedByNone(tiff) {
			return false
		}
		at = end
	}
	return false
}

// isTurnedByNone reports whether the first directory of an EXIF header has no orientation, or none but 1.
func isTurnedByNone(tiff []byte) bool {
	const tag, upright = 0x0112, 1
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		order = binary.BigEndian
	}
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
