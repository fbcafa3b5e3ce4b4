package decode_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/decode"
)

// exif is a segment with one directory that has an orientation.
func exif(order binary.AppendByteOrder, mark string, orientation uint16) []byte {
	tiff := append([]byte(mark), 0, 0, 0, 0)
	order.(binary.ByteOrder).PutUint32(tiff[4:], 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x010F, 7}, {0x0112, orientation}} {
		tiff = order.AppendUint16(tiff, entry[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, entry[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	return segment(0xE1, append([]byte("Exif\x00\x00"), tiff...))
}

func segment(code byte, content []byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{0xFF, code}, uint16(len(content)+2))
	return append(head, content...)
}

func jpegFile(segments ...[]byte) []byte {
	return slices.Concat([]byte{0xFF, 0xD8}, slices.Concat(segments...), []byte{0xFF, 0xDA, 0, 2})
}

func pngFile(chunks string) []byte {
	return append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0DIHDR"), chunks...)
}

// OpenCV turns a file by its orientation; what it leaves as it is stored is told from the headers, and doubt is a no.
func TestAsStored(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	whole := exif(little, "II*\x00", 1)
	for name, is := range map[string]struct {
		file []byte
		want bool
	}{
		"plain JPEG":                    {jpegFile(segment(0xE0, []byte("JFIF"))), true},
		"upright":                       {jpegFile(whole), true},
		"upright, the other order":      {jpegFile(exif(big, "MM\x00*", 1)), true},
		"turned":                        {jpegFile(exif(little, "II*\x00", 6)), false},
		"turned, the other order":       {jpegFile(exif(big, "MM\x00*", 3)), false},
		"turned behind another":         {jpegFile(whole, exif(big, "MM\x00*", 8)), false},
		"EXIF of an unknown order":      {jpegFile(exif(little, "IM*\x00", 1)), false},
		"EXIF without a directory":      {jpegFile(segment(0xE1, []byte("Exif\x00\x00II*\x00\xFF\x00\x00\x00"))), false},
		"EXIF cut in its directory":     {jpegFile(segment(0xE1, whole[4:len(whole)-9])), false},
		"another segment of that code":  {jpegFile(segment(0xE1, []byte("http://ns.adobe.com"))), true},
		"headers that do not end":       {[]byte{0xFF, 0xD8, 0xFF, 0xE0, 0, 9, 1}, false},
		"a segment that is too long":    {jpegFile()[:2], false},
		"plain PNG":                     {pngFile("IDAT"), true},
		"PNG with EXIF":                 {pngFile("eXIf"), false},
		"animation":                     {pngFile("acTL"), false},
		"PNG with a transparent colour": {pngFile("tRNS"), false},
		"GIF":                           {[]byte("GIF89a"), false},
	} {
		require.Equal(t, is.want, decode.AsStored(is.file), name)
	}
}

// imageio reads a file as Pillow does, but for animations, and for EXIF headers that Pillow alone passes over.
func TestIsImageIO(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	for name, is := range map[string]struct {
		file []byte
		want bool
	}{
		"plain JPEG":                    {jpegFile(segment(0xE0, []byte("JFIF"))), true},
		"turned":                        {jpegFile(exif(little, "II*\x00", 6)), true},
		"turned, the other order":       {jpegFile(exif(big, "MM\x00*", 3)), true},
		"EXIF of an unknown order":      {jpegFile(exif(little, "IM*\x00", 1)), false},
		"EXIF that ends early":          {jpegFile(segment(0xE1, []byte("Exif\x00\x00II*\x00\xFF\x00"))), false},
		"empty EXIF":                    {jpegFile(segment(0xE1, []byte("Exif\x00\x00"))), false},
		"headers that do not end":       {[]byte{0xFF, 0xD8, 0xFF, 0xE0, 0, 9, 1}, false},
		"plain PNG":                     {pngFile("IDAT"), true},
		"PNG with a transparent colour": {pngFile("tRNS"), true},
		"PNG with EXIF":                 {pngFile("eXIf"), false},
		"PNG with EXIF as a text":       {pngFile("zTXtRaw profile type exif"), false},
		"animation":                     {pngFile("acTL"), false},
		"GIF":                           {[]byte("GIF89a"), false},
	} {
		require.Equal(t, is.want, decode.IsImageIO(is.file), name)
	}
}

// matplotlib divides a PNG file's samples by what their bits can be, after Pillow has made them bytes.
func TestIsWholeBytes(t *testing.T) {
	for bits := range 17 {
		require.Equal(t, bits >= 8, decode.IsWholeBytes(pngFile("\x00\x00\x00\x01\x00\x00\x00\x01"+string(rune(bits)))), bits)
	}
	require.False(t, decode.IsWholeBytes(pngFile("")))
	require.False(t, decode.IsWholeBytes(jpegFile(segment(0xE0, make([]byte, 40)))))
}
