// Package decode_own_test compares the two JPEG engines as the loader gets them: ours, with libjpeg-turbo behind it, and
// libjpeg-turbo itself. tests_py/kernels_jpeg_own looks at ours alone.
package decode_own_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/decode/decodetest"
	"github.com/goloader/goloader/core/decode/jpeg"
)

// engine opens the engine that GOLOADER_JPEG names.
func engine(t testing.TB, name string) *decodetest.State {
	t.Helper()
	t.Setenv("GOLOADER_JPEG", name)
	state, err := decodetest.Open(jpeg.Decoder())
	require.NoError(t, err)
	t.Cleanup(state.Close)
	return state
}

// photos gives JPEG files of many kinds, those of tests_go/decode.
func photos(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "jpeg*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = data
	}
	return files
}

func TestEnginesAreTwo(t *testing.T) {
	t.Setenv("GOLOADER_JPEG", "turbo")
	turbo := jpeg.Decoder()
	t.Setenv("GOLOADER_JPEG", "")
	require.NotEqual(t, turbo, jpeg.Decoder())
}

func TestEnginesAgreeOnEveryWindow(t *testing.T) {
	own, turbo := engine(t, ""), engine(t, "turbo")
	for name, data := range photos(t) {
		header, err := decode.Probe(data)
		require.NoError(t, err, name)
		width, height := int(header.Width), int(header.Height)
		for y := 0; y < height; y += 7 {
			for x := 0; x < width; x += 5 {
				for _, size := range [][2]int{{1, 1}, {width - x, height - y}, {9, 20}} {
					window := decodetest.Window{
						X: x, Y: y, Width: min(size[0], width-x), Height: min(size[1], height-y),
					}
					want, wantStatus, wantWhy, err := turbo.Decode(data, width, height, window)
					require.NoError(t, err, name)
					got, status, why, err := own.Decode(data, width, height, window)
					require.NoError(t, err, name)
					require.Equal(t, wantStatus, status, "%s %+v: %s, %s", name, window, why, wantWhy)
					require.Equal(t, want, got, "%s %+v", name, window)
				}
			}
		}
	}
}

// What libjpeg-turbo decodes, our engine decodes to the same. (The other way round it may decode what libjpeg-turbo
// refuses because of a warning; tests_py compares that with libjpeg and Pillow.)
func FuzzEngines(f *testing.F) {
	for _, data := range photos(f) {
		f.Add(data, uint16(3), uint16(5), uint16(9), uint16(20))
	}
	f.Fuzz(func(t *testing.T, data []byte, x, y, width, height uint16) {
		header, err := decode.Probe(data)
		if err != nil || header.Width > 300 || header.Height > 300 {
			return
		}
		w, h := int(header.Width), int(header.Height)
		window := decodetest.Window{X: int(x) % w, Y: int(y) % h}
		window.Width = 1 + int(width)%(w-window.X)
		window.Height = 1 + int(height)%(h-window.Y)
		want, status, _, err := engine(t, "turbo").Decode(data, w, h, window)
		require.NoError(t, err)
		got, _, why, err := engine(t, "").Decode(data, w, h, window)
		require.NoError(t, err)
		if status == decodetest.Decoded {
			require.Equal(t, want, got, why)
		}
	})
}
