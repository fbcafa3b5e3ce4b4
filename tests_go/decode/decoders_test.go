package decode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/decode/bmp"
	"github.com/goloader/goloader/core/decode/decodetest"
	"github.com/goloader/goloader/core/decode/gif"
	"github.com/goloader/goloader/core/decode/jpeg"
	"github.com/goloader/goloader/core/decode/png"
	"github.com/goloader/goloader/core/decode/tiff"
	"github.com/goloader/goloader/core/decode/webp"
)

// crop cuts a window out of a whole image, both interleaved RGB.
func crop(whole []byte, width int, window decodetest.Window) []byte {
	out := make([]byte, 0, 3*window.Width*window.Height)
	for y := window.Y; y < window.Y+window.Height; y++ {
		from := 3 * (y*width + window.X)
		out = append(out, whole[from:from+3*window.Width]...)
	}
	return out
}

func open(t testing.TB, decoder unsafe.Pointer) *decodetest.State {
	t.Helper()
	state, err := decodetest.Open(decoder)
	require.NoError(t, err)
	t.Cleanup(state.Close)
	return state
}

var decoders = []struct {
	prefix  string
	decoder unsafe.Pointer
}{
	{"jpeg", jpeg.Decoder()},
	{"png", png.Decoder()},
	{"bmp", bmp.Decoder()},
	{"gif", gif.Decoder()},
	{"tiff", tiff.Decoder()},
}

// decoded are the files of a format without one that Pillow turns, and the decoder refuses.
func decoded(t *testing.T, prefix string) (map[string][]byte, map[string]golden) {
	data, want := files(t, prefix)
	delete(data, "tiff_turned")
	return data, want
}

func TestDecodersGivePillowsBytes(t *testing.T) {
	for _, d := range decoders {
		state := open(t, d.decoder)
		data, want := decoded(t, d.prefix)
		for name, file := range data {
			g := want[name]
			all := decodetest.Window{Width: g.Width, Height: g.Height}
			pixels, status, why, err := state.Decode(file, g.Width, g.Height, all)
			require.NoError(t, err, name)
			require.Equal(t, decodetest.Decoded, status, "%s: %s", name, why)
			sum := sha256.Sum256(pixels)
			require.Equal(t, g.SHA256, hex.EncodeToString(sum[:]), name)
		}
	}
}

// Every window of a few sizes, at every place: each meets other edges of blocks, strips and passes.
func TestWindowIsTheCropOfTheWhole(t *testing.T) {
	for _, d := range decoders {
		state := open(t, d.decoder)
		data, want := decoded(t, d.prefix)
		for name, file := range data {
			g := want[name]
			whole, _, why, err := state.Decode(file, g.Width, g.Height, decodetest.Window{Width: g.Width, Height: g.Height})
			require.NoError(t, err, name)
			require.NotNil(t, whole, why)
			for _, size := range [][2]int{{1, 1}, {5, 3}, {16, 16}, {17, 20}} {
				for y := 0; y+size[1] <= g.Height; y += 3 {
					for x := 0; x+size[0] <= g.Width; x++ {
						window := decodetest.Window{X: x, Y: y, Width: size[0], Height: size[1]}
						pixels, _, why, err := state.Decode(file, g.Width, g.Height, window)
						require.NoError(t, err, name)
						require.Equal(t, crop(whole, g.Width, window), pixels, "%s %+v %s", name, window, why)
					}
				}
			}
		}
	}
}

func TestEveryCutFileIsRefused(t *testing.T) {
	for _, d := range decoders {
		state := open(t, d.decoder)
		data, want := files(t, d.prefix)
		for name, file := range data {
			end := len(file)
			switch {
			case name == "jpeg_trailing":
				end -= len("junk")
			case d.prefix == "png":
				end -= 4 // Pillow never reads the checksum of IEND
			}
			for n := range end {
				g, corner := want[name], decodetest.Window{Width: 1, Height: 1}
				_, status, _, err := state.Decode(file[:n], g.Width, g.Height, corner)
				require.NoError(t, err, name)
				require.Equal(t, decodetest.Refused, status, "%s cut to %d of %d bytes", name, n, len(file))
			}
		}
	}
}

// Where libwebp is, only Python can say: tests_py/kernels_decode compares what is decoded then.
func TestWebPIsRefusedWithoutALibrary(t *testing.T) {
	require.ErrorIs(t, webp.Use(nil, nil, nil), webp.ErrLibrary)
	state := open(t, webp.Decoder())
	data, want := files(t, "webp")
	for name, file := range data {
		g := want[name]
		_, status, why, err := state.Decode(file, g.Width, g.Height, decodetest.Window{Width: 1, Height: 1})
		require.NoError(t, err, name)
		require.Equal(t, decodetest.Refused, status, why)
	}
}

// fuzz states the law for damaged files: a decoder refuses, or gives for a window what it gives for the whole.
func fuzz(f *testing.F, prefix string, decoder unsafe.Pointer) {
	data, _ := files(f, prefix)
	for _, file := range data {
		f.Add(file, uint16(3), uint16(5), uint16(9), uint16(20))
	}
	f.Fuzz(func(t *testing.T, file []byte, x, y, width, height uint16) {
		header, err := decode.Probe(file)
		if err != nil || header.Width > 300 || header.Height > 300 {
			return
		}
		w, h := int(header.Width), int(header.Height)
		window := decodetest.Window{X: int(x) % w, Y: int(y) % h}
		window.Width = 1 + int(width)%(w-window.X)
		window.Height = 1 + int(height)%(h-window.Y)

		state := open(t, decoder)
		whole, _, _, err := state.Decode(file, w, h, decodetest.Window{Width: w, Height: h})
		require.NoError(t, err)
		pixels, status, _, err := state.Decode(file, w, h, window)
		require.NoError(t, err)
		if whole != nil {
			require.Equal(t, decodetest.Decoded, status, "the whole decodes, a window does not")
			require.Equal(t, crop(whole, w, window), pixels)
		}
	})
}

func FuzzJPEG(f *testing.F) { fuzz(f, "jpeg", jpeg.Decoder()) }

func FuzzPNG(f *testing.F) { fuzz(f, "png", png.Decoder()) }

func FuzzBMP(f *testing.F) { fuzz(f, "bmp", bmp.Decoder()) }

func FuzzGIF(f *testing.F) { fuzz(f, "gif", gif.Decoder()) }

func FuzzTIFF(f *testing.F) { fuzz(f, "tiff", tiff.Decoder()) }
