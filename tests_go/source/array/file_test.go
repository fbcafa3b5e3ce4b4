package array_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// stored writes bytes behind a header of `offset` other bytes, and opens the file.
func stored(t *testing.T, offset int, memory []byte, direct bool) source.Container {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, append(sourcetest.Noise(offset, 77), memory...), 0o600))
	f, err := local.Store{Direct: direct}.Open(t.Context(), path)
	if direct && errors.Is(err, unix.EINVAL) {
		t.Skip("this file system has no O_DIRECT")
	}
	require.NoError(t, err)
	return f
}

func TestFilesAreASourceOfRows(t *testing.T) {
	for name, direct := range map[string]bool{"through the page cache": false, "past it": true} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Rows(t, func(t *testing.T, n int, fields [][]byte) source.Rows {
				var described []array.Field
				for k, f := range fields {
					width := len(f) / n
					described = append(described, array.Field{Row: bytesOf(width), Arrays: []array.Array{
						{File: stored(t, 100+k, f, direct), Offset: int64(100 + k), Rows: n, Strides: []int{width, 1}},
					}})
				}
				s := opened(t, n, described...)
				require.False(t, s.InMemory())
				s.Expect([]int64{0, 1, 5, int64(n) - 1})
				return s
			})
		})
	}
}

// Rows of a file and of memory in one field, rows that overlap, rows backwards, rows with gaps between their items.
func TestRowsOfAFileLieAsThoseOfMemory(t *testing.T) {
	memory := sourcetest.Noise(1<<16, 9)
	random := rand.New(rand.NewPCG(9, 9))
	f := stored(t, 7, memory, false)
	defer f.Close()
	for range 300 {
		row := tensor.Spec{DType: tensor.Uint16, Shape: tensor.Shape{random.IntN(4), 1 + random.IntN(5)}}
		strides := []int{random.IntN(400) - 200, random.IntN(40) - 20, random.IntN(40) - 20}
		if random.IntN(3) == 0 {
			strides[2] = 2 // runs
		}
		array := func(in array.Array) array.Array {
			in.Rows, in.Strides = 50, strides
			return in
		}
		at := 1 << 15
		both := opened(t, 100, sourceField(row, array(fromFile(f, 7+at)), array(fromMemory(memory[at:]))))
		samples := []int64{3, 4, 5, 6, 49, 50, 0, 99, 53, 54}
		got := make([]byte, len(samples)*row.Bytes())
		both.Expect(samples)
		require.NoError(t, both.CopyRows(t.Context(), 0, samples, got))
		for k, i := range samples {
			want := make([]byte, row.Bytes())
			require.NoError(t, both.CopyRows(t.Context(), 0, []int64{i%50 + 50}, want)) // of memory
			require.Equal(t, want, got[k*row.Bytes():(k+1)*row.Bytes()], "row %d, strides %v, shape %v", i, strides, row.Shape)
		}
	}
}

func TestGoroutinesReadAFileSideBySide(t *testing.T) {
	memory := sourcetest.Noise(1000*64, 3)
	s := opened(t, 1000, array.Field{Row: bytesOf(64), Arrays: []array.Array{
		{File: stored(t, 0, memory, false), Rows: 1000, Strides: []int{64, 1}},
	}})
	defer s.Close()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 0))
			got := make([]byte, 64)
			for range 500 {
				i := random.Int64N(1000)
				s.Expect([]int64{i})
				if err := s.CopyRows(t.Context(), 0, []int64{i}, got); err != nil || string(got) != string(memory[64*i:64*i+64]) {
					t.Errorf("row %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
}

func TestAFileThatEndsEarlyIsNamedWithTheByte(t *testing.T) {
	for name, direct := range map[string]bool{"through the page cache": false, "past it": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rows")
			require.NoError(t, os.WriteFile(path, make([]byte, 9000), 0o600))
			open := func() source.Container {
				f, err := local.Store{Direct: direct}.Open(t.Context(), path)
				if errors.Is(err, unix.EINVAL) {
					t.Skip("this file system has no O_DIRECT")
				}
				require.NoError(t, err)
				return f
			}
			field := array.Field{Row: bytesOf(90), Arrays: []array.Array{{File: open(), Rows: 100, Strides: []int{90, 1}}}}
			s := opened(t, 100, field)
			defer s.Close()
			require.NoError(t, os.Truncate(path, 8950))
			got := make([]byte, 180)
			require.NoError(t, s.CopyRows(t.Context(), 0, []int64{97, 98}, got))
			err := s.CopyRows(t.Context(), 0, []int64{98, 99}, got)
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "180 bytes at byte 8820 wanted, but the file has 8950")

			short := open()
			defer short.Close()
			field.Arrays[0].File = short
			_, err = array.New(100, []array.Field{field})
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorContains(t, err, "rows up to byte 9000, but the file has 8950")
		})
	}
}

func TestFilesThatCannotBeAreRefused(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		_, err := local.Store{Direct: false}.Open(t.Context(), path)
		require.ErrorIs(t, err, source.ErrUnreadable)
		require.ErrorContains(t, err, path)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	_, err := local.Store{Direct: false}.Open(t.Context(), fifo)
	require.ErrorContains(t, err, "not a regular file")

	f := stored(t, 0, make([]byte, 1<<20), false)
	defer f.Close()
	for complaint, a := range map[string]array.Array{
		"rows from byte -1":  {File: f, Offset: 15, Rows: 3, Strides: []int{-8, 1}},
		"but the file has":   {File: f, Offset: 1<<20 - 7, Rows: 1, Strides: []int{8, 1}},
		"is scattered over":  {File: f, Rows: 1, Strides: []int{8, 1 << 16}},
		"from one to the ne": {File: f, Rows: 1 << 60, Strides: []int{1 << 60, 1}},
		"8 items, 263524915": {File: f, Rows: 1, Strides: []int{8, 2635249153387078803}}, // seven of them are 2^64 + 5
	} {
		_, err := array.New(a.Rows, []array.Field{{Row: bytesOf(8), Arrays: []array.Array{a}}})
		require.ErrorContains(t, err, complaint)
	}
}

func fromFile(f source.Container, at int) array.Array { return array.Array{File: f, Offset: int64(at)} }
func fromMemory(memory []byte) array.Array            { return array.Array{Data: pointer(memory)} }

func sourceField(row tensor.Spec, arrays ...array.Array) array.Field {
	return array.Field{Row: row, Arrays: arrays}
}
