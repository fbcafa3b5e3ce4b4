package decode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/decode"
)

func TestProbeSaysTheSizePillowSays(t *testing.T) {
	data, want := files(t, "")
	for name, file := range data {
		got, err := decode.Probe(file)
		require.NoError(t, err, name)
		require.Equal(t, [2]int{want[name].Width, want[name].Height}, [2]int{int(got.Width), int(got.Height)}, name)

		format, _, _ := strings.Cut(name, "_")
		switch format {
		case "pgm", "pbm":
			format = "ppm"
		}
		require.Equal(t, format, got.Format.String(), name)
	}
}

// Any beginning of a file gives the whole file's answer or asks for more, and the asking ends.
func TestProbeOfABeginningAsksForEnough(t *testing.T) {
	data, _ := files(t, "")
	for name, file := range data {
		want, err := decode.Probe(file)
		require.NoError(t, err, name)
		for n := 0; ; {
			got, err := decode.Probe(file[:n])
			if err == nil {
				require.Equal(t, want, got, name)
				break
			}
			require.ErrorIs(t, err, decode.ErrShort, "%s, %d bytes", name, n)
			var short *decode.Error
			require.ErrorAs(t, err, &short)
			require.Greater(t, short.Offset, int64(n), "%s: no progress", name)
			n = min(int(short.Offset), len(file))
		}
	}
}

func TestProbeRefusesWhatIsNotPlain(t *testing.T) {
	jpeg := func(segments string) string { return "\xff\xd8" + segments }
	const (
		sof  = "\xff\xc0\x00\x11\x08\x00\x02\x00\x03\x03"
		jfif = "\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01"
		ihdr = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
		bmp  = "BM\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		ifd  = "II*\x00\x08\x00\x00\x00\x01\x00"
	)
	for _, c := range []struct {
		what, head string
		kind       error
		offset     int64
	}{
		{"nothing", "", decode.ErrShort, 16},
		{"text", "this is not an image at all", decode.ErrUnknown, 0},
		{"RIFF, but no WebP", "RIFF\x00\x00\x00\x00WAVEfmt \x00\x00\x00\x00", decode.ErrUnknown, 0},
		{"junk between SOI and the first marker", jpeg("\x00" + jfif), decode.ErrUnknown, 0},
		{"junk between segments", jpeg("\xff\xe0\x00\x02\x00" + sof), decode.ErrInvalid, 6},
		{"no frame header", jpeg("\xff\xda\x00\x02"), decode.ErrInvalid, 2},
		{"no segment length", jpeg("\xff\xe0\x00\x01" + sof), decode.ErrInvalid, 4},
		{"12 bits", jpeg("\xff\xc0\x00\x11\x0c\x00\x02\x00\x03\x03"), decode.ErrInvalid, 6},
		{"2 components", jpeg("\xff\xc0\x00\x11\x08\x00\x02\x00\x03\x02"), decode.ErrInvalid, 11},
		{"height left to a DNL marker", jpeg("\xff\xc0\x00\x11\x08\x00\x00\x00\x03\x03"), decode.ErrInvalid, 0},
		{"frame header behind a long segment", jpeg("\xff\xe1\xff\xff"), decode.ErrShort, 2 + 2 + 0xFFFF + 1},
		{"no IHDR", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIDAT", decode.ErrInvalid, 12},
		{"no width", ihdr + "\x00\x00\x00\x00\x00\x00\x00\x01\x08\x02\x00\x00\x00", decode.ErrInvalid, 0},
		{"unknown bitmap header", bmp + "\x0d\x00\x00\x00", decode.ErrInvalid, 14},
		{"letters for a number", "P6 12 x 255 ..........", decode.ErrInvalid, 6},
		{"number without end", "P6 1", decode.ErrShort, 5},
		{"trailer for a picture", "GIF89a\x01\x00\x01\x00\x00\x00\x00;", decode.ErrInvalid, 13},
		{"directory far away", "II*\x00\x00\x00\x00\x10\x00\x00", decode.ErrShort, 0x10000002},
		{"width is text", ifd + "\x00\x01\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00", decode.ErrInvalid, 12},
	} {
		_, err := decode.Probe([]byte(c.head))
		require.ErrorIs(t, err, c.kind, c.what)
		var at *decode.Error
		require.ErrorAs(t, err, &at)
		require.Equal(t, c.offset, at.Offset, "%s: %v", c.what, err)
	}
}

func FuzzProbe(f *testing.F) {
	data, _ := files(f, "")
	for _, file := range data {
		f.Add(file[:min(len(file), 200)])
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		got, err := decode.Probe(head)
		if err != nil {
			var e *decode.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, []error{decode.ErrUnknown, decode.ErrShort, decode.ErrInvalid}, e.Kind)
			if errors.Is(err, decode.ErrShort) {
				require.Greater(t, e.Offset, int64(len(head)))
			}
			return
		}
		require.NotEqual(t, decode.Unknown, got.Format)
		require.Positive(t, got.Width)
		require.Positive(t, got.Height)
		more, err := decode.Probe(append(head[:len(head):len(head)], "more bytes"...))
		require.NoError(t, err)
		require.Equal(t, got, more, "bytes behind the header changed the answer")
	})
}
