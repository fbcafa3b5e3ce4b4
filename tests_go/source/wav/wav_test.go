package wav_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/wav"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func le(numbers ...any) []byte {
	var b bytes.Buffer
	for _, n := range numbers {
		if err := binary.Write(&b, binary.LittleEndian, n); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// chunk is one of a file's, with the byte behind it that makes its bytes even.
func chunk(name string, body []byte) []byte {
	return append(append([]byte(name), le(uint32(len(body)), body)...), make([]byte, len(body)%2)...)
}

// format is a chunk "fmt " of 8000 frames a second.
func format(tag, channels, bits int) []byte {
	align := channels * bits / 8
	return chunk("fmt ", le(uint16(tag), uint16(channels), uint32(8000), uint32(8000*align), uint16(align), uint16(bits)))
}

// extensible is the same with a header of that kind.
func extensible(tag, channels, bits int) []byte {
	plain := format(0xfffe, channels, bits)[8:]
	tail := "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
	return chunk("fmt ", append(plain, le(uint16(22), uint16(bits), uint32(0), uint16(tag), []byte(tail))...))
}

func riff(chunks ...[]byte) []byte {
	body := bytes.Join(append([][]byte{[]byte("WAVE")}, chunks...), nil)
	return append([]byte("RIFF"), le(uint32(len(body)), body)...)
}

// look is what a file of that content has.
func look(t testing.TB, as string, content []byte, read int) (string, []byte, error) {
	t.Helper()
	f, err := wav.New(as)
	require.NoError(t, err)
	return sourcetest.Array(t, f, content, 0, read)
}

// Whatever the encoding, the header is told and numbers are those of the table in the package's comment.
func TestEncodings(t *testing.T) {
	four := []byte{1, 2, 3, 132}
	for name, c := range map[string]struct {
		format  []byte
		data    []byte
		text    string
		stored  []byte
		float32 []byte
	}{
		"bytes":      {format(1, 1, 8), []byte{0, 128, 255}, "pcm8 1 8000 3", []byte{0, 128, 255}, le(float32(-1), float32(0), float32(127.0/128))},
		"16 bits":    {format(1, 2, 16), le(int16(-32768), int16(16384)), "pcm16 2 8000 1", le(int16(-32768), int16(16384)), le(float32(-1), float32(0.5))},
		"24 bits":    {format(1, 1, 24), []byte{1, 2, 3, 0, 0, 128}, "pcm24 1 8000 2", []byte{0, 1, 2, 3, 0, 0, 0, 128}, le(float32(0x030201)/(1<<23), float32(-1))},
		"32 bits":    {format(1, 1, 32), four, "pcm32 1 8000 1", four, le(float32(int32(-2080177663)) / (1 << 31))},
		"floats":     {format(3, 1, 32), le(float32(1.5)), "float32 1 8000 1", le(float32(1.5)), le(float32(1.5))},
		"doubles":    {format(3, 1, 64), le(1.1), "float64 1 8000 1", le(1.1), le(float32(1.1))},
		"extensible": {extensible(1, 1, 16), le(int16(-32768)), "pcm16+ 1 8000 1", le(int16(-32768)), le(float32(-1))},
		"of floats":  {extensible(3, 1, 32), le(float32(2)), "float32+ 1 8000 1", le(float32(2)), le(float32(2))},
	} {
		content := riff(c.format, chunk("LIST", []byte("odd")), chunk("data", c.data), chunk("LIST", []byte("INFO")))
		text, got, err := look(t, "stored:factLIST", content, len(c.stored))
		require.NoError(t, err, name)
		require.Equal(t, c.text, text, name)
		require.Equal(t, c.stored, got, name)
		text, got, err = look(t, "float32:LIST", content, len(c.float32))
		require.NoError(t, err, name)
		require.Equal(t, c.text, text, name)
		require.Equal(t, c.float32, got, name)
	}
}

// A file that is not to the byte what its header says is refused, with the byte.
func TestOtherFilesAreRefused(t *testing.T) {
	data := chunk("data", make([]byte, 4))
	good := riff(format(1, 1, 16), data)
	changed := func(at int, to ...byte) []byte {
		other := bytes.Clone(good)
		copy(other[at:], to)
		return other
	}
	for name, content := range map[string][]byte{
		"empty":            nil,
		"cut in its name":  good[:11],
		"cut":              good[:len(good)-1],
		"longer":           append(bytes.Clone(good), 0),
		"big endian":       changed(0, []byte("RIFX")...),
		"of 64 bits":       changed(0, []byte("RF64")...),
		"of videos":        changed(8, []byte("AVI ")...),
		"a larger size":    changed(4, 255, 255, 255, 255),
		"larger data":      changed(40, 5),
		"no data":          riff(format(1, 1, 16)),
		"no format":        riff(data),
		"data first":       riff(data, format(1, 1, 16)),
		"two formats":      riff(format(1, 1, 16), format(1, 1, 16), data),
		"data twice":       riff(format(1, 1, 16), data, data),
		"an unknown chunk": riff(format(1, 1, 16), chunk("cue ", nil), data),
		"half a frame":     riff(format(1, 2, 16), chunk("data", make([]byte, 6))),
		"no channels":      riff(format(1, 0, 16), data),
		"12 bits":          riff(format(1, 1, 12), data),
		"mu-law":           riff(format(7, 1, 8), data),
		"floats of 16":     riff(format(3, 1, 16), data),
		"a short format":   riff(chunk("fmt ", make([]byte, 14)), data),
		"another guid":     riff(chunk("fmt ", append(extensible(1, 1, 16)[8:47], 0)), data),
		"another align":    changed(32, 4),
		"another speed":    changed(28, 1),
	} {
		_, _, err := look(t, "stored:LIST", content, 0)
		require.Error(t, err, name)
	}
	for _, written := range []string{"", "stored", "int16:", "stored:LIS"} {
		_, err := wav.New(written)
		require.Error(t, err, written)
	}
}

// Whatever a file holds, it is refused or all of its frames can be read.
func FuzzHead(f *testing.F) {
	f.Add(riff(format(1, 1, 16), chunk("data", make([]byte, 4))))
	f.Add(riff(extensible(3, 2, 32), chunk("LIST", []byte("odd")), chunk("data", make([]byte, 16))))
	f.Add(riff(format(1, 1, 24), chunk("data", make([]byte, 3)), chunk("LIST", nil)))
	f.Fuzz(func(t *testing.T, content []byte) {
		text, _, err := look(t, "float64:LIST", content, 0)
		if err != nil {
			return
		}
		var encoding string
		var channels, rate, frames int
		_, err = fmt.Sscan(text, &encoding, &channels, &rate, &frames)
		require.NoError(t, err)
		_, _, err = look(t, "float64:LIST", content, 8*channels*frames)
		require.NoError(t, err, text)
	})
}
