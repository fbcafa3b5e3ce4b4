package array_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func bytesOf(n int) tensor.Spec { return tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{n}} }

// lying is a field of rows of n bytes one after the other.
func lying(n, rows int, memory []byte) array.Field {
	return array.Field{Row: bytesOf(n), Arrays: []array.Array{
		{Data: unsafe.Pointer(unsafe.SliceData(memory)), Rows: rows, Strides: []int{n, 1}},
	}}
}

// ending is the same of rows at each byte, in arrays that end there.
func ending(n int, memory []byte, ends ...int64) array.Field {
	made := lying(n, len(memory), memory)
	made.Arrays[0].Strides, made.Arrays[0].Ends = []int{1, 1}, array.EndList(ends)
	return made
}

func opened(t *testing.T, samples int, fields ...array.Field) *array.Source {
	t.Helper()
	s, err := array.New(samples, fields)
	require.NoError(t, err)
	return s
}

func TestAnArrayIsASourceOfRows(t *testing.T) {
	sourcetest.Rows(t, func(t *testing.T, n int, fields [][]byte) source.Rows {
		var described []array.Field
		for _, f := range fields {
			described = append(described, lying(len(f)/n, n, f))
		}
		return opened(t, n, described...)
	})
}

// Cut into arrays of any lengths, in any order, with an index that puts the rows right.
func TestArraysOneAfterTheOtherAreASourceOfRows(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	sourcetest.Rows(t, func(t *testing.T, n int, fields [][]byte) source.Rows {
		var described []array.Field
		for _, f := range fields {
			width := len(f) / n
			cuts := []int{0, 0, 7, 8, 30, n}
			made := array.Field{Row: bytesOf(width), Index: make([]int64, n)}
			row := int64(0)
			for _, k := range random.Perm(len(cuts) - 1) {
				part := f[cuts[k]*width : cuts[k+1]*width]
				made.Arrays = append(made.Arrays, lying(width, cuts[k+1]-cuts[k], part).Arrays[0])
				for i := cuts[k]; i < cuts[k+1]; i++ {
					made.Index[i] = row
					row++
				}
			}
			described = append(described, made)
		}
		return opened(t, n, described...)
	})
}

// Any shape, any order of dimensions in memory, any of them reversed, repeated or with gaps, any item size.
func TestItemsAreFoundWhereverStridesPutThem(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	for _, dtype := range []tensor.DType{
		tensor.Uint8, tensor.Float16, tensor.Float32, tensor.Int64, tensor.Complex128,
	} {
		for range 200 {
			item := dtype.Size()
			shape := make([]int, 1+random.IntN(5)) // rows first
			for k := range shape {
				shape[k] = random.IntN(5)
			}
			shape[0]++
			strides, offset, size := make([]int, len(shape)), 0, item
			for _, k := range random.Perm(len(shape)) {
				switch random.IntN(6) {
				case 0: // repeated
				case 1: // reversed
					strides[k] = -size
					offset += size * max(shape[k]-1, 0)
					size *= max(shape[k], 1)
				case 2: // with gaps
					strides[k] = 2 * size
					size *= 2 * max(shape[k], 1)
				default:
					strides[k] = size
					size *= max(shape[k], 1)
				}
			}
			memory := sourcetest.Noise(size, random.Uint64())
			row := tensor.Spec{DType: dtype, Shape: shape[1:]}
			s := opened(t, shape[0], array.Field{Row: row, Arrays: []array.Array{
				{Data: unsafe.Pointer(&memory[offset]), Rows: shape[0], Strides: strides},
			}})
			for i := range shape[0] {
				var want strings.Builder
				var walk func(at, k int)
				walk = func(at, k int) {
					if k == len(shape) {
						want.Write(memory[at : at+item])
						return
					}
					for j := range shape[k] {
						walk(at+j*strides[k], k+1)
					}
				}
				walk(offset+i*strides[0], 1)
				got := make([]byte, row.Bytes())
				require.NoError(t, s.CopyRows(t.Context(), 0, []int64{int64(i)}, got))
				require.Equal(t, want.String(), string(got), "row %d of %v, strides %v of %v", i, shape, strides, dtype)
			}
		}
	}
}

// A row at any item of arrays that follow each other, or lie apart: what is of the array, and zeros.
func TestARowGoesNoFurtherThanItsArray(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		var ends array.EndList
		end := int64(0)
		for range 1 + random.IntN(6) {
			end += int64(1 + random.IntN(9))
			ends = append(ends, end)
		}
		memory := sourcetest.Noise(int(end), random.Uint64())
		width := 1 + random.IntN(12)
		s := opened(t, int(end), ending(width, memory, ends...))
		for i := range end {
			want := make([]byte, width)
			copy(want, memory[i:ends.End(i)])
			got := sourcetest.Noise(width, random.Uint64())
			require.NoError(t, s.CopyRows(t.Context(), 0, []int64{i}, got))
			require.Equal(t, want, got, "row %d of %d bytes, arrays end at %v", i, width, ends)
		}
	}
}

func TestSamplesThatAreNotThereAreNamed(t *testing.T) {
	sourcetest.OutOfRange(t, opened(t, 5, lying(3, 5, make([]byte, 15))))
	sourcetest.OutOfRange(t, opened(t, 0, lying(3, 0, nil)))
	indexed := lying(3, 5, make([]byte, 15))
	indexed.Index = []int64{4, 5, 0, -1}
	s := opened(t, 4, indexed)
	require.NoError(t, s.Check([]int64{0, 2, 0}))
	require.ErrorContains(t, s.Check([]int64{0, 1}), "index 1 at position 1: field 0 has no row 5")
	require.ErrorIs(t, s.Check([]int64{3}), source.ErrRange)
}

func TestArraysWithoutRowsNeedNoMemory(t *testing.T) {
	s := opened(t, 0, lying(8, 0, nil))
	require.Zero(t, s.Len())
	require.NoError(t, s.CopyRows(t.Context(), 0, nil, nil))
}

func TestArraysThatCannotBeAreRefused(t *testing.T) {
	memory := make([]byte, 8)
	good := lying(8, 1, memory)
	for name, c := range map[string]struct {
		samples int
		field   array.Field
	}{
		"a negative number of samples":     {-1, good},
		"a negative number of rows":        {1, lying(8, -1, memory)},
		"rows without memory":              {1, lying(8, 1, nil)},
		"fewer rows than samples":          {2, good},
		"an index that is too short":       {2, array.Field{Row: good.Row, Arrays: good.Arrays, Index: []int64{0}}},
		"a stride too few":                 {1, array.Field{Row: bytesOf(8), Arrays: []array.Array{{Data: good.Arrays[0].Data, Rows: 1, Strides: []int{8}}}}},
		"a row that no memory can hold":    {1, lying(-1, 1, memory)},
		"rows of items that do not exist":  {0, array.Field{}},
		"no arrays, though there are rows": {1, array.Field{Row: bytesOf(8)}},
		"arrays that end before a row":     {1, ending(8, memory, 2, 7)},
		"arrays in no order":               {1, ending(8, memory, 8, 2)},
	} {
		_, err := array.New(c.samples, []array.Field{c.field})
		require.Error(t, err, name)
	}
}
