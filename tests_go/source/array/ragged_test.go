package array_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// uneven is a ragged field of items of n bytes.
func uneven(n int, a array.Array) array.Field {
	a.Rows, a.Strides = len(a.Begins), []int{0, 1}
	return array.Field{Row: bytesOf(n), Ragged: true, Arrays: []array.Array{a}}
}

func TestRowsOfAnyLengthAreReadWhereverTheyBegin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	memory := sourcetest.Noise(5000, 1)
	for _, item := range []int{0, 1, 3} {
		var begins, lengths, index []int64
		for range 50 {
			length := random.Int64N(20)
			lengths = append(lengths, length)
			begins = append(begins, random.Int64N(5000-length*int64(item)))
			index = append(index, random.Int64N(50))
		}
		data := unsafe.Pointer(unsafe.SliceData(memory))
		inMemory := uneven(item, array.Array{Data: data, Begins: begins, Lengths: lengths, Bytes: 5000})
		inMemory.Index = index
		inFile := uneven(item, array.Array{File: stored(t, 9, memory, false), Offset: 9, Begins: begins, Lengths: lengths})
		s := opened(t, 50, inMemory, inFile)
		require.False(t, s.InMemory())
		samples := []int64{7, 0, 49, 7, 20}
		for field, rows := range [][]int64{index, nil} {
			want := []byte{}
			long := make([]int64, len(samples))
			s.Lengths(field, samples, long)
			for k, i := range samples {
				if rows != nil {
					i = rows[i]
				}
				require.Equal(t, lengths[i], long[k])
				want = append(want, memory[begins[i]:begins[i]+lengths[i]*int64(item)]...)
			}
			got := make([]byte, len(want))
			s.Expect(samples)
			require.NoError(t, s.CopyRows(t.Context(), field, samples, got))
			require.Equal(t, want, got)
		}
		s.Close()
	}
}

// Rows of one length that lie anyhow, with gaps between their items.
func TestEvenRowsMayLieAnyhow(t *testing.T) {
	memory := sourcetest.Noise(400, 2)
	begins := []int64{300, 0, 77, 300}
	f := array.Field{Row: tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{5, 2}}, Arrays: []array.Array{{
		Data: unsafe.Pointer(unsafe.SliceData(memory)), Rows: 4, Strides: []int{0, 4, 1}, Begins: begins, Bytes: 400,
	}}}
	s := opened(t, 4, f)
	got := make([]byte, 40)
	require.NoError(t, s.CopyRows(t.Context(), 0, []int64{0, 1, 2, 3}, got))
	for i, begin := range begins {
		for k := range 10 {
			require.Equal(t, memory[int(begin)+k/2*4+k%2], got[10*i+k])
		}
	}
}

func TestRaggedRowsAreCast(t *testing.T) {
	var memory []byte
	for k := range 100 {
		memory = binary.NativeEndian.AppendUint16(memory, uint16(k*600))
	}
	f := array.Field{Row: tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}, Stored: tensor.Uint16, Ragged: true,
		Arrays: []array.Array{{Rows: 2, Strides: []int{0}, Begins: []int64{20, 0}, Lengths: []int64{90, 3}}}}
	file := f
	file.Arrays = []array.Array{f.Arrays[0]}
	file.Arrays[0].File = stored(t, 0, memory, false)
	f.Arrays[0].Data, f.Arrays[0].Bytes = unsafe.Pointer(unsafe.SliceData(memory)), 200
	s := opened(t, 2, f, file)
	defer s.Close()
	for field := range 2 {
		got := make([]int64, 93)
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(got))), 8*len(got))
		require.NoError(t, s.CopyRows(t.Context(), field, []int64{0, 1}, bytes))
		for k, value := range got {
			require.EqualValues(t, (k+10)%100*600*b2i(k < 90)+(k-90)*600*b2i(k >= 90), value)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestRaggedArraysThatLieAreRefused(t *testing.T) {
	memory := make([]byte, 100)
	data := unsafe.Pointer(unsafe.SliceData(memory))
	for name, a := range map[string]array.Array{
		"a row behind the end":   {Begins: []int64{0, 101}, Lengths: []int64{1, 0}},
		"a row over the end":     {Begins: []int64{0, 90}, Lengths: []int64{1, 4}},
		"a row before the begin": {Begins: []int64{-1}, Lengths: []int64{1}},
		"a length below 0":       {Begins: []int64{0}, Lengths: []int64{-1}},
		"an absurd length":       {Begins: []int64{0}, Lengths: []int64{math.MaxInt64}},
		"an absurd product":      {Begins: []int64{50}, Lengths: []int64{math.MaxInt64 / 3}},
		"too few lengths":        {Begins: []int64{0, 1}, Lengths: []int64{1}},
		"no lengths":             {Begins: []int64{0}},
		"no begins":              {Lengths: []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			a.Data, a.Bytes = data, 100
			_, err := array.New(len(a.Begins), []array.Field{uneven(3, a)})
			require.Error(t, err)
			a.Data, a.File = nil, stored(t, 0, memory, false)
			defer a.File.Close()
			_, err = array.New(len(a.Begins), []array.Field{uneven(3, a)})
			require.Error(t, err)
		})
	}
}

// What is taken can be read, and is what lies there; what is not inside is refused.
func FuzzRaggedRows(f *testing.F) {
	f.Add([]byte{0, 0, 5, 0, 0, 0, 0, 0}, uint8(3), int64(0), int64(7), int64(90), int64(3))
	f.Add([]byte{1}, uint8(0), int64(math.MaxInt64), int64(1), int64(-1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, memory []byte, item uint8, b0, l0, b1, l1 int64) {
		if len(memory) == 0 {
			return
		}
		path := filepath.Join(t.TempDir(), "rows")
		require.NoError(t, os.WriteFile(path, memory, 0o600))
		file, err := local.Store{Direct: false}.Open(t.Context(), path)
		require.NoError(t, err)
		defer file.Close()
		begins, lengths := []int64{b0, b1}, []int64{l0, l1}
		fits := true
		for i, begin := range begins {
			// Each in turn, so that no product overflows.
			room := int64(len(memory)) - begin
			fits = fits && begin >= 0 && room >= 0 && lengths[i] >= 0 &&
				(item == 0 && lengths[i] <= math.MaxInt64/2 || item > 0 && lengths[i] <= room/int64(item))
		}
		for _, a := range []array.Array{
			{Data: unsafe.Pointer(unsafe.SliceData(memory)), Bytes: int64(len(memory)), Begins: begins, Lengths: lengths},
			{File: file, Begins: begins, Lengths: lengths},
		} {
			s, err := array.New(2, []array.Field{uneven(int(item), a)})
			if !fits {
				if item > 0 {
					require.ErrorIs(t, err, source.ErrUnreadable)
				}
				continue
			}
			require.NoError(t, err)
			want := append(append([]byte{}, memory[b0:][:l0*int64(item)]...), memory[b1:][:l1*int64(item)]...)
			got := make([]byte, len(want))
			require.NoError(t, s.CopyRows(t.Context(), 0, []int64{0, 1}, got))
			require.Equal(t, want, got)
		}
	})
}
