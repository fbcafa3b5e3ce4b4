package tables_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/decoded"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/source/tables"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// header is that of a page, in Thrift's compact protocol: type, sizes, and numbers of the data page's own header.
func header(kind, plain, packed int, own int, numbers ...int) []byte {
	number := func(b []byte, field byte, x int) []byte {
		return binary.AppendUvarint(append(b, field<<4|5), uint64(x)<<1)
	}
	b := number(nil, 1, kind)
	b = number(b, 1, plain)
	b = number(b, 1, packed)
	b = append(b, byte(own-3)<<4|12)
	for _, x := range numbers {
		b = number(b, 1, x)
	}
	return append(b, 0, 0)
}

// dataPage is one of so many values of the first version, without levels.
func dataPage(compress func([]byte) []byte, values, encoding int, content []byte) []byte {
	packed := compress(content)
	return append(header(0, len(content), len(packed), 5, values, encoding, 3, 3), packed...)
}

func dictionaryPage(compress func([]byte) []byte, values int, content []byte) []byte {
	packed := compress(content)
	return append(header(2, len(content), len(packed), 7, values, 0), packed...)
}

func plain(b []byte) []byte { return b }

func inSnappy(b []byte) []byte { return snappy.Encode(nil, b) }

func opened(t testing.TB, item int, encoding string, size int, parts ...[]byte) (source.Container, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table")
	c := tables.Column{Name: "x", Item: item, Paths: []string{path}, Encodings: []string{encoding}}
	file := sourcetest.Noise(13, 1)
	for _, part := range parts {
		c.Parts = append(c.Parts, tables.Part{Offset: int64(len(file)), Length: int64(len(part)), Bytes: int64(size / len(parts))})
		file = append(file, part...)
	}
	require.NoError(t, os.WriteFile(path, file, 0o600))
	made, err := tables.New(c, tables.NewFiles(local.Store{}), decoded.NewCache(rand.IntN(2)*2000))
	if err == nil {
		t.Cleanup(made.Close)
	}
	return made, err
}

// compressed is a buffer as Arrow has it.
func compressed(name string, content []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	if name == "zstd" {
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll(content, out)
	}
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	_, _ = w.Write(content)
	_ = w.Close()
	return append(out, frame.Bytes()...)
}

// Whatever pieces are read, by several at once, they are those of the values in one piece.
func TestAColumnReadsAsOneInOnePiece(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 30 {
		want := sourcetest.Noise(8*(10+random.IntN(300)), random.Uint64())
		half := len(want) / 16 * 8
		want = want[:2*half]
		columns := map[string][][]byte{"plain": {want[:half], want[half:]}}
		for _, name := range []string{"lz4", "zstd"} {
			columns[name+" plain"] = [][]byte{compressed(name, want[:half]), compressed(name, want[half:])}
		}
		for name, compress := range map[string]func([]byte) []byte{"UNCOMPRESSED": plain, "SNAPPY": inSnappy} {
			var parts [][]byte
			for _, content := range [][]byte{want[:half], want[half:]} {
				var part []byte
				for len(content) > 0 {
					n := 8 * (1 + random.IntN(len(content)/8))
					part = append(part, dataPage(compress, n/8, 0, content[:n])...)
					content = content[n:]
				}
				parts = append(parts, part)
			}
			columns["parquet "+name+" INT64 0 0 even"] = parts
		}
		for encoding, parts := range columns {
			c, err := opened(t, 8, encoding, len(want), parts...)
			require.NoError(t, err)
			require.EqualValues(t, len(want), c.Bytes())
			var wait sync.WaitGroup
			for range 4 {
				var pieces []source.Piece
				for range 1 + random.IntN(5) {
					at := random.IntN(len(want) + 1)
					pieces = append(pieces, source.Piece{At: int64(at), Into: make([]byte, random.IntN(len(want)-at+1))})
				}
				wait.Go(func() {
					c.Expect(pieces[0].At, len(pieces[0].Into))
					if err := c.Read(t.Context(), pieces...); err != nil {
						t.Error(err)
					}
					for _, p := range pieces {
						if !bytes.Equal(want[p.At:][:len(p.Into)], p.Into) {
							t.Errorf("%q at %d", encoding, p.At)
						}
					}
				})
			}
			wait.Wait()
		}
	}
}

func TestMemoryIsBoundedWhateverAPageSays(t *testing.T) {
	huge := compressed("zstd", make([]byte, 64<<20))[8:]
	for name, c := range map[string]struct {
		encoding string
		content  []byte
	}{
		"a page that grows": {"parquet SNAPPY INT64 0 0 even", append(header(0, 1<<30, 8, 5, 100, 0, 3, 3), make([]byte, 8)...)},
		"zstd":              {"parquet ZSTD INT64 0 0 even", append(header(0, 800, len(huge), 5, 100, 0, 3, 3), huge...)},
		"values":            {"parquet UNCOMPRESSED INT64 0 0 even", append(header(0, 8, 8, 5, 1<<30, 0, 3, 3), make([]byte, 8)...)},
		"texts":             {"parquet UNCOMPRESSED BYTE_ARRAY 0 0", append(header(0, 8, 8, 5, 1<<30, 0, 3, 3), make([]byte, 8)...)},
		"a dictionary":      {"parquet SNAPPY INT64 0 0 even", append(header(2, 1<<30, 8, 7, 1<<27, 0), dataPage(plain, 100, 8, []byte{1, 200, 1, 0})...)},
		"no dictionary":     {"parquet UNCOMPRESSED INT64 0 0 even", dataPage(plain, 100, 8, []byte{1, 200, 1, 0})},
		"levels":            {"parquet UNCOMPRESSED INT64 1 0 even", dataPage(plain, 100, 0, []byte{200, 0, 0, 0, 1})},
		"a run of levels":   {"parquet UNCOMPRESSED INT64 1 0", dataPage(plain, 1<<27, 0, []byte{5, 0, 0, 0, 255, 255, 255, 255, 1})},
		"no pages":          {"parquet UNCOMPRESSED INT64 0 0 even", nil},
		"a long page":       {"parquet UNCOMPRESSED INT64 0 0 even", header(0, 800, 800, 5, 100, 0, 3, 3)},
		"no header":         {"parquet UNCOMPRESSED INT64 0 0 even", bytes.Repeat([]byte{0x1c}, 3000)},
		"deltas":            {"parquet UNCOMPRESSED INT64 0 0 even", dataPage(plain, 100, 5, []byte{128, 1, 1, 100, 0, 0, 64})},
		"a buffer":          {"zstd plain", append(binary.LittleEndian.AppendUint64(nil, 1<<40), huge...)},
		"a longer buffer":   {"zstd plain", append(binary.LittleEndian.AppendUint64(nil, 800), huge...)},
		"a short buffer":    {"lz4 plain", compressed("lz4", make([]byte, 700))},
		"nothing":           {"lz4 plain", nil},
	} {
		t.Run(name, func(t *testing.T) {
			item := 8
			if name == "texts" {
				item = 1
			}
			made, err := opened(t, item, c.encoding, 800, c.content)
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = made.Read(t.Context(), source.Piece{Into: make([]byte, 800)})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorContains(t, err, `column "x" at byte `)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12<<20)) // a decoder of Zstandard's own tables
		})
	}
}

func TestColumnsThatCannotBeAreRefused(t *testing.T) {
	for _, encoding := range []string{
		"", "raw", "gzip plain", "bits", "parquet", "parquet SNAPPY INT96 0 0", "parquet LZO INT64 0 0", "parquet SNAPPY INT32 0 0",
		"parquet SNAPPY INT64 -1 0", "parquet SNAPPY BYTE_ARRAY 0 0",
	} {
		_, err := opened(t, 8, encoding, 8, make([]byte, 8))
		require.ErrorContains(t, err, `column "x": `, encoding)
	}
	for _, p := range []tables.Part{{File: 1}, {Encoding: 1}, {Offset: -1}, {Length: -1}, {Bytes: 1 << 62}, {Encoding: -1}} {
		c := tables.Column{Name: "x", Item: 1, Paths: []string{"x"}, Encodings: []string{"plain"}, Parts: []tables.Part{p}}
		_, err := tables.New(c, tables.NewFiles(local.Store{}), decoded.NewCache(0))
		require.Error(t, err)
	}
}

// FuzzPages reads column chunks of any bytes: an error, or values. Seeds are of the encodings that are known.
func FuzzPages(f *testing.F) {
	texts := []byte("\x02\x00\x00\x00ab\x00\x00\x00\x00\x01\x00\x00\x00c")
	for kind, content := range [][]byte{
		dataPage(plain, 3, 0, make([]byte, 24)),
		dataPage(inSnappy, 3, 0, make([]byte, 24)),
		append(dictionaryPage(plain, 2, make([]byte, 16)), dataPage(plain, 3, 8, []byte{1, 3, 5})...),
		dataPage(plain, 3, 0, texts),
		append(dictionaryPage(plain, 3, texts), dataPage(plain, 3, 8, []byte{2, 6, 1})...),
		dataPage(plain, 3, 5, []byte{128, 1, 4, 3, 10, 2, 3, 0, 0, 0, 1, 2, 3}),
		dataPage(plain, 3, 6, []byte{128, 1, 4, 3, 2, 2, 1, 0, 0, 0, 1, 'a', 'b', 'c'}),
		dataPage(plain, 3, 7, []byte{128, 1, 4, 3, 0, 0, 0, 0, 0, 0, 128, 1, 4, 3, 2, 0, 0, 0, 0, 0, 'a', 'b', 'c'}),
		dataPage(plain, 3, 9, make([]byte, 24)),
		dataPage(plain, 3, 3, []byte{2, 0, 0, 0, 6, 1}),
		append(header(3, 27, 27, 8, 3, 0, 3, 0, 2, 0), append([]byte{6, 1}, make([]byte, 25)...)...),
	} {
		f.Add(kind, 24, content)
	}
	f.Fuzz(func(t *testing.T, kind, size int, content []byte) {
		encodings := []struct {
			item  int
			words string
		}{
			{8, "parquet UNCOMPRESSED INT64 0 0 even"}, {8, "parquet SNAPPY INT64 0 0 even"}, {8, "parquet UNCOMPRESSED DOUBLE 0 0"},
			{1, "parquet UNCOMPRESSED BYTE_ARRAY 0 0"}, {1, "parquet UNCOMPRESSED BYTE_ARRAY 0 0"}, {2, "parquet UNCOMPRESSED INT32 0 0"},
			{1, "parquet UNCOMPRESSED BYTE_ARRAY 1 1"}, {1, "parquet ZSTD BYTE_ARRAY 0 0"}, {8, "parquet UNCOMPRESSED FIXED_LEN_BYTE_ARRAY 0 0"},
			{1, "parquet UNCOMPRESSED BOOLEAN 0 0"}, {8, "parquet UNCOMPRESSED INT64 1 0 even"}, {8, "lz4 plain"}, {1, "zstd bits"},
		}
		e := encodings[uint(kind)%uint(len(encodings))]
		size = int(uint(size)%4096) / e.item * e.item
		c, err := opened(t, e.item, e.words, size, content)
		require.NoError(t, err)
		if err := c.Read(t.Context(), source.Piece{Into: make([]byte, size)}); err != nil {
			require.ErrorIs(t, err, source.ErrUnreadable)
		}
	})
}
