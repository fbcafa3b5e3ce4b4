package array_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
)

func pointer(memory []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(memory)) }

// castField is items that lie one after the other, a row each.
func castField(from, to tensor.DType, memory []byte) (int, array.Field) {
	n := len(memory) / from.Size()
	return n, array.Field{Row: tensor.Spec{DType: to, Shape: tensor.Shape{1}}, Stored: from, Arrays: []array.Array{
		{Data: pointer(memory), Rows: n, Strides: []int{from.Size(), from.Size()}},
	}}
}

func castAll(t *testing.T, from, to tensor.DType, memory []byte) []byte {
	t.Helper()
	n, field := castField(from, to, memory)
	s := opened(t, n, field)
	samples := make([]int64, n)
	for i := range samples {
		samples[i] = int64(n - 1 - i)
	}
	words := make([]uint64, (n*to.Size()+7)/8) // aligned, as slots are
	got := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n*to.Size())
	require.NoError(t, s.CopyRows(t.Context(), 0, samples, got))
	return got
}

// Every float16 becomes the float32 of its value and comes back as itself; between two neighbours the nearer one is taken,
// in the middle the even one.
func TestHalvesAreTheNearest(t *testing.T) {
	value := func(h uint16) float64 {
		sign := 1 - 2*float64(h>>15)
		exponent, fraction := int(h>>10&31), float64(h&1023)
		switch exponent {
		case 0:
			return sign * fraction * 0x1p-24
		case 31:
			return sign * math.Inf(1)
		default:
			return sign * math.Ldexp(1+fraction/1024, exponent-15)
		}
	}
	var halves, floats []byte
	for h := range 0x7c01 { // up to infinity
		halves = binary.LittleEndian.AppendUint16(halves, uint16(h))
		floats = binary.LittleEndian.AppendUint32(floats, math.Float32bits(float32(value(uint16(h)))))
	}
	last := 0x7c00
	got := castAll(t, tensor.Float16, tensor.Float32, halves)
	for h := range last + 1 {
		require.Equal(t, floats[4*h:4*h+4], got[4*(last-h):4*(last-h)+4], "%#x", h)
	}
	var between []byte
	want := []uint16{}
	for h := range last {
		low, high := value(uint16(h)), value(uint16(h+1))
		if h == last-1 {
			high = 65536 // what would come next
		}
		middle := float32((low + high) / 2)
		even := uint16(h + h&1)
		for x, to := range map[float32]uint16{
			middle:                          even,
			math.Nextafter32(middle, 0):     uint16(h),
			math.Nextafter32(middle, 1<<20): uint16(h + 1),
			-middle:                         even | 0x8000,
		} {
			between = binary.LittleEndian.AppendUint32(between, math.Float32bits(x))
			want = append(want, to)
		}
	}
	got = castAll(t, tensor.Float32, tensor.Float16, between)
	for i, to := range want {
		k := len(want) - 1 - i
		x := math.Float32frombits(binary.LittleEndian.Uint32(between[4*i:]))
		require.Equal(t, to, binary.LittleEndian.Uint16(got[2*k:]), "%v", x)
	}
}

func TestCastsThatAreNotDefinedAreRefused(t *testing.T) {
	for _, c := range [][2]tensor.DType{
		{tensor.Float32, tensor.Int64},
		{tensor.Int64, tensor.Bool},
		{tensor.Complex64, tensor.Float32},
		{tensor.Float32, tensor.Complex64},
	} {
		n, field := castField(c[0], c[1], make([]byte, 16))
		_, err := array.New(n, []array.Field{field})
		require.ErrorContains(t, err, fmt.Sprintf("%s cannot be cast to %s", c[0], c[1]))
	}
}
