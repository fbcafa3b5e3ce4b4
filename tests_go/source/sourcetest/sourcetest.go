// Package sourcetest is the law that every storage of samples keeps. A storage's own test makes it hold what is asked
// for, and runs the law.
package sourcetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// File is one sample of a source of files.
type File struct {
	Bytes []byte
	Label int64
}

// Noise is n random bytes, the same for the same seed.
func Noise(n int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// Files runs the law of source.Files. open makes a source that holds the files; the law closes it.
func Files(t *testing.T, open func(t *testing.T, files []File) source.Files) {
	files := []File{
		{Noise(1000, 1), 0},
		{nil, 7},
		{Noise(1, 2), -1},
		{Noise(5<<20, 3), 1 << 40}, // more than a buffer starts with
		{[]byte("the same"), 3},
		{[]byte("the same"), 4},
		{Noise(64, 4), 0},
	}
	use := func(name string, law func(t *testing.T, s source.Files)) {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			s := open(t, files)
			t.Cleanup(s.Close)
			law(t, s)
		})
	}
	use("it has the samples it was made of", func(t *testing.T, s source.Files) {
		require.Equal(t, len(files), s.Len())
		for i, f := range files {
			require.Equal(t, f.Label, s.Label(i))
			require.NotEmpty(t, s.Name(i))
		}
	})
	use("reading gives a sample's bytes, in any order and again", func(t *testing.T, s source.Files) {
		var buf source.Buffer
		defer buf.Free()
		for _, i := range []int{6, 0, 3, 1, 3, 2, 5, 4, 0} {
			buf.Reset(64 << 20)
			stamp, err := s.Read(context.Background(), i, &buf)
			require.NoError(t, err)
			require.EqualValues(t, len(files[i].Bytes), stamp.Bytes)
			require.True(t, bytes.Equal(files[i].Bytes, buf.Slice(0, buf.Len())), "sample %d", i)
		}
	})
	use("reading appends, whatever is read already stays", func(t *testing.T, s source.Files) {
		var buf source.Buffer
		defer buf.Free()
		var want []byte
		for range 2 {
			for i, f := range files {
				_, err := s.Read(context.Background(), i, &buf)
				require.NoError(t, err)
				want = append(want, f.Bytes...)
				require.Equal(t, len(want), buf.Len())
			}
		}
		require.True(t, bytes.Equal(want, buf.Slice(0, buf.Len())))
	})
	use("goroutines read side by side", func(t *testing.T, s source.Files) {
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				var buf source.Buffer
				defer buf.Free()
				for k := range 20 {
					i := (g + k) % len(files)
					from := buf.Len()
					if _, err := s.Read(context.Background(), i, &buf); err != nil {
						t.Error(err)
						return
					}
					if !bytes.Equal(files[i].Bytes, buf.Slice(from, buf.Len())) {
						t.Errorf("sample %d is not what was stored", i)
					}
					if k%7 == 0 {
						buf.Reset(1 << 20)
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("an empty source is a source", func(t *testing.T) {
		leakcheck.Check(t)
		s := open(t, nil)
		require.Zero(t, s.Len())
		s.Close()
	})
	t.Run("closing frees all it took", func(t *testing.T) {
		leakcheck.Check(t)
		before := mem.InUse(mem.Indexes)
		open(t, files).Close()
		require.Equal(t, before, mem.InUse(mem.Indexes))
	})
}

// Unreadable runs the law for a sample that cannot be had: the error has its kind and names the place, and the buffer
// is as it was.
func Unreadable(t *testing.T, s source.Files, i int) {
	t.Helper()
	var buf source.Buffer
	defer buf.Free()
	room, err := buf.Room(5)
	require.NoError(t, err)
	copy(room, "first")
	buf.Add(5)
	_, err = s.Read(context.Background(), i, &buf)
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, s.Name(i))
	require.Equal(t, "first", string(buf.Slice(0, buf.Len())))
}

// Rows runs the law of source.Rows. open makes a source of n rows whose field k is fields[k], n rows one after the
// other.
func Rows(t *testing.T, open func(t *testing.T, n int, fields [][]byte) source.Rows) {
	const n = 50
	widths := []int{1, 8, 300, 0}
	var fields [][]byte
	for k, width := range widths {
		fields = append(fields, Noise(n*width, uint64(k)))
	}
	for name, samples := range map[string][]int64{
		"one row":         {17},
		"no row":          {},
		"all rows":        all(n),
		"a row twice":     {3, 3, 49, 0, 3},
		"in any order":    {49, 0, 48, 1, 25},
		"more than there": append(all(n), all(n)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, n, fields)
			defer s.Close()
			require.Equal(t, n, s.Len())
			require.NoError(t, s.Check(samples))
			for k, width := range widths {
				var want []byte
				for _, i := range samples {
					want = append(want, fields[k][int(i)*width:int(i+1)*width]...)
				}
				const guard = 3
				got := bytes.Repeat([]byte{0xee}, len(want)+guard)
				require.NoError(t, s.CopyRows(t.Context(), k, samples, got[:len(want):len(want)]))
				require.Equal(t, string(want), string(got[:len(want)]))
				require.Equal(t, []byte{0xee, 0xee, 0xee}, got[len(want):])
			}
		})
	}
}

// OutOfRange runs the law for samples that are not there: Check names them.
func OutOfRange(t *testing.T, s source.Rows) {
	t.Helper()
	n := int64(s.Len())
	for _, bad := range []int64{-1, n, n + 1, math.MinInt64, math.MaxInt64} {
		samples := append(all(s.Len()), bad)
		require.ErrorIs(t, s.Check(samples), source.ErrRange)
		require.ErrorContains(t, s.Check(samples), fmt.Sprintf("index %d at position %d", bad, n))
	}
}

func all(n int) []int64 {
	indices := make([]int64, n)
	for i := range indices {
		indices[i] = int64(i)
	}
	return indices
}
