package chunked_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/chunked"
	"github.com/goloader/goloader/core/source/decoded"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// written is an array of noise in chunks of a file, a few of them never written.
type written struct {
	chunked.Array
	want []byte // all its bytes
}

func product(numbers []int) int {
	n := 1
	for _, x := range numbers {
		n *= x
	}
	return n
}

// number is which item one at some numbers is.
func number(at, extents []int) int {
	n := 0
	for k := range at {
		n = n*extents[k] + at[k]
	}
	return n
}

// next counts `at` on, the last dimension first; false behind the last one.
func next(at, extents []int) bool {
	for k := len(at) - 1; k >= 0; k-- {
		if at[k]++; at[k] < extents[k] {
			return true
		}
		at[k] = 0
	}
	return false
}

func write(t *testing.T, random *rand.Rand, filters string) written {
	t.Helper()
	a := chunked.Array{Item: 1 + random.IntN(9), Filters: filters}
	var grid []int
	for range 1 + random.IntN(4) {
		a.Shape = append(a.Shape, 1+random.IntN(8))
		extent := a.Shape[len(a.Shape)-1]
		a.Chunk = append(a.Chunk, 1+random.IntN(extent+2))
		grid = append(grid, (extent+a.Chunk[len(grid)]-1)/a.Chunk[len(grid)])
	}
	a.Fill = sourcetest.Noise(a.Item, random.Uint64())
	want := sourcetest.Noise(product(a.Shape)*a.Item, random.Uint64())
	file := sourcetest.Noise(13, 1)
	for c := make([]int, len(grid)); ; {
		chunk := bytes.Repeat([]byte{77}, product(a.Chunk)*a.Item)
		missing := random.IntN(5) == 0
		for in := make([]int, len(grid)); ; {
			at, inside := make([]int, len(grid)), true
			for k := range at {
				at[k] = c[k]*a.Chunk[k] + in[k]
				inside = inside && at[k] < a.Shape[k]
			}
			if inside {
				item := want[number(at, a.Shape)*a.Item:][:a.Item]
				if missing {
					copy(item, a.Fill)
				}
				copy(chunk[number(in, a.Chunk)*a.Item:], item)
			}
			if !next(in, a.Chunk) {
				break
			}
		}
		place := chunked.Place{Offset: int64(len(file))}
		if !missing {
			for k, name := range strings.Fields(filters) {
				if random.IntN(4) == 0 {
					place.Skipped |= 1 << k
				} else {
					chunk = encoders[name](chunk)
				}
			}
			file = append(file, chunk...)
			place.Length = int64(len(chunk))
		}
		a.Places = append(a.Places, place)
		if !next(c, grid) {
			break
		}
	}
	a.File = opened(t, file)
	return written{a, want}
}

func opened(t *testing.T, content []byte) source.Container {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chunks")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := local.Store{}.Open(t.Context(), path)
	require.NoError(t, err)
	return f
}

var encoders = map[string]func([]byte) []byte{
	"zlib": func(b []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	},
	"gzip": func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	},
	"zstd": func(b []byte) []byte {
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll(b, nil)
	},
	"shuffle:4": func(b []byte) []byte { return shuffled(b, 4) },
	"shuffle:3": func(b []byte) []byte { return shuffled(b, 3) },
}

func shuffled(b []byte, item int) []byte {
	out, n := bytes.Clone(b), len(b)/item
	for i := range n * item {
		out[i%item*n+i/item] = b[i]
	}
	return out
}

func TestAnArrayInChunksReadsAsOneInOnePiece(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, filters := range []string{"", "zlib", "shuffle:4 zlib", "shuffle:3", "shuffle:3 zstd", "zstd zlib shuffle:4"} {
		for range 40 {
			a := write(t, random, filters)
			c, err := chunked.New(a.Array, decoded.NewCache(random.IntN(2)*random.IntN(1000)))
			require.NoError(t, err)
			require.EqualValues(t, len(a.want), c.Bytes())
			var wait sync.WaitGroup
			for range 4 {
				var pieces []source.Piece
				for range 1 + random.IntN(5) {
					at := random.IntN(len(a.want) + 1)
					pieces = append(pieces, source.Piece{At: int64(at), Into: make([]byte, random.IntN(len(a.want)-at+1))})
				}
				wait.Go(func() {
					c.Expect(pieces[0].At, len(pieces[0].Into))
					if err := c.Read(t.Context(), pieces...); err != nil {
						t.Error(err)
					}
					for _, p := range pieces {
						if !bytes.Equal(a.want[p.At:][:len(p.Into)], p.Into) {
							t.Errorf("%q, array %v, chunks %v, at %d", filters, a.Shape, a.Chunk, p.At)
						}
					}
				})
			}
			wait.Wait()
			c.Close()
		}
	}
}

// one is an array of one chunk of 1000 bytes, which is stored as given.
func one(t *testing.T, filters string, content []byte) source.Container {
	t.Helper()
	c, err := chunked.New(chunked.Array{
		Shape: []int{1000}, Chunk: []int{1000}, Item: 1, Fill: []byte{0}, Filters: filters, File: opened(t, content),
		Places: []chunked.Place{{Length: int64(len(content))}},
	}, decoded.NewCache(1<<20))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// bloscOf is a frame that says what it likes of itself.
func bloscOf(flags, item byte, bytes, block uint32, rest ...byte) []byte {
	frame := []byte{2, 1, flags, item}
	frame = binary.LittleEndian.AppendUint32(frame, bytes)
	frame = binary.LittleEndian.AppendUint32(frame, block)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(16+len(rest)))
	return append(frame, rest...)
}

func TestMemoryIsBoundedByTheChunkWhateverAStreamSays(t *testing.T) {
	huge := make([]byte, 16<<20)
	zlib := encoders["zlib"](huge)[:4000]
	for name, c := range map[string]struct {
		filters string
		content []byte
	}{
		"zlib":               {"zlib", zlib},
		"gzip":               {"zlib", encoders["gzip"](huge)[:4000]},
		"zstd":               {"zstd", encoders["zstd"](huge)},
		"zlib below shuffle": {"shuffle:4 zlib", zlib},
		"lzf":                {"lzf", bytes.Repeat([]byte{0xff, 0xff, 0, 0, 1}, 100)},
		"blosc":              {"blosc", bloscOf(0x21, 4, 1<<31, 1<<31)},
		"blosc of blocks":    {"blosc", bloscOf(0x21, 4, 1000, 1)},
		"blosc of a block":   {"blosc", bloscOf(0x21, 4, 1000, 1<<31, 20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)},
		"blosc without item": {"blosc", bloscOf(0x21, 0, 1000, 1000, 20, 0, 0, 0)},
		"a long chunk":       {"zlib", sourcetest.Noise(1<<20, 1)},
		"an empty stream":    {"zlib", encoders["zlib"](nil)},
		"one byte":           {"zstd", []byte{1}},
		"too short":          {"zlib", encoders["zlib"](huge[:999])},
		"a checksum":         {"crc32c", make([]byte, 1004)},
		"one of HDF5's":      {"fletcher32", append(make([]byte, 1003), 1)},
	} {
		t.Run(name, func(t *testing.T) {
			made := one(t, c.filters, c.content)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := made.Read(t.Context(), source.Piece{Into: make([]byte, 1000)})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorContains(t, err, made.Name()+": chunk [0] at byte 0: ")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20)) // a decoder of Zstandard's own tables
		})
	}
}

func TestDamagedStreamsAreNoPanic(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, filter := range []string{"zlib", "zstd", "lzf", "blosc"} {
		for range 300 {
			content := sourcetest.Noise(20+random.IntN(60), random.Uint64())
			if encode := encoders[filter]; encode != nil {
				content = encode(bytes.Repeat([]byte("chunk"), 200))
				content[random.IntN(len(content))] ^= byte(1 + random.IntN(255))
			} else if filter == "blosc" {
				copy(content[2:], bloscOf(byte(random.IntN(256))&^2, byte(1+random.IntN(9)), 1000, uint32(1+random.IntN(1000)))[2:])
			}
			if err := one(t, filter, content).Read(t.Context(), source.Piece{Into: make([]byte, 1000)}); err != nil {
				require.ErrorIs(t, err, source.ErrUnreadable)
			}
		}
	}
}

func TestChunksThatCannotBeAreRefused(t *testing.T) {
	good := chunked.Array{Shape: []int{4, 3}, Chunk: []int{2, 3}, Item: 1, Fill: []byte{0}, Path: "x", Places: make([]chunked.Place, 2)}
	for _, spoil := range []func(a *chunked.Array){
		func(a *chunked.Array) { a.Shape = nil },
		func(a *chunked.Array) { a.Shape = []int{-4, 3} },
		func(a *chunked.Array) { a.Shape = []int{1 << 40, 1 << 40} },
		func(a *chunked.Array) { a.Chunk = []int{0, 3} },
		func(a *chunked.Array) { a.Chunk = []int{1 << 40, 1 << 40} },
		func(a *chunked.Array) { a.Chunk = []int{2} },
		func(a *chunked.Array) { a.Item = 0 },
		func(a *chunked.Array) { a.Fill = nil },
		func(a *chunked.Array) { a.Places = a.Places[:1] },
		func(a *chunked.Array) { a.Filters = "szip" },
		func(a *chunked.Array) { a.Filters = "shuffle:0" },
	} {
		a := good
		spoil(&a)
		_, err := chunked.New(a, decoded.NewCache(0))
		require.Error(t, err)
	}
	c, err := chunked.New(good, decoded.NewCache(0))
	require.NoError(t, err)
	require.NoError(t, c.Read(t.Context(), source.Piece{Into: make([]byte, 12)}))
	require.ErrorIs(t, c.Read(t.Context(), source.Piece{At: 1, Into: make([]byte, 12)}), source.ErrUnreadable)
	require.ErrorIs(t, c.Read(t.Context(), source.Piece{At: -1, Into: make([]byte, 1)}), source.ErrUnreadable)
}

// A file that was cut, or that a chunk is said to be beyond.
func TestAChunkBeyondTheFilesEndIsNamed(t *testing.T) {
	for _, place := range []chunked.Place{{Offset: 90, Length: 20}, {Offset: -1, Length: 20}, {Offset: 200, Length: source.Whole}} {
		c, err := chunked.New(chunked.Array{
			Shape: []int{2}, Chunk: []int{1}, Item: 30, Fill: make([]byte, 30), File: opened(t, make([]byte, 100)),
			Places: []chunked.Place{{Length: 30}, place},
		}, decoded.NewCache(100))
		require.NoError(t, err)
		require.NoError(t, c.Read(t.Context(), source.Piece{Into: make([]byte, 30)}))
		err = c.Read(t.Context(), source.Piece{At: 30, Into: make([]byte, 30)})
		require.ErrorIs(t, err, source.ErrUnreadable)
		require.ErrorContains(t, err, c.Name()+": chunk [1] at byte ")
		c.Close()
	}
}
