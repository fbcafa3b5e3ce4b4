package array

import (
	"math"
	"unsafe"

	"github.com/goloader/goloader/core/tensor"
)

// cast writes n items of one type as another, both aligned for their types.
type cast func(dst, src unsafe.Pointer, n int)

type integer interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64
}

type number interface {
	integer | float32 | float64
}

// castOf is the cast from one type to another as torch's Tensor.to does it; nil if there is none. Integers wrap round,
// floats round to the nearest, by way of float32 if they become shorter than that. No float becomes an integer, since what
// becomes of one that does not fit is not defined.
func castOf(from, to tensor.DType) cast {
	switch from {
	case tensor.Uint8, tensor.Bool:
		return ofInteger[uint8](to)
	case tensor.Int8:
		return ofInteger[int8](to)
	case tensor.Uint16:
		return ofInteger[uint16](to)
	case tensor.Int16:
		return ofInteger[int16](to)
	case tensor.Uint32:
		return ofInteger[uint32](to)
	case tensor.Int32:
		return ofInteger[int32](to)
	case tensor.Uint64:
		return ofInteger[uint64](to)
	case tensor.Int64:
		return ofInteger[int64](to)
	case tensor.Float32:
		return toFloat(to, func(x float32) float32 { return x }, func(x float32) float64 { return float64(x) })
	case tensor.Float64:
		return toFloat(to, func(x float64) float32 { return float32(x) }, func(x float64) float64 { return x })
	case tensor.Float16:
		return toFloat(to, floatOfHalf, func(x uint16) float64 { return float64(floatOfHalf(x)) })
	case tensor.BFloat16:
		return toFloat(to, floatOfBrain, func(x uint16) float64 { return float64(floatOfBrain(x)) })
	default:
		return nil
	}
}

func ofInteger[S integer](to tensor.DType) cast {
	switch to {
	case tensor.Uint8:
		return plain[S, uint8]
	case tensor.Int8:
		return plain[S, int8]
	case tensor.Uint16:
		return plain[S, uint16]
	case tensor.Int16:
		return plain[S, int16]
	case tensor.Uint32:
		return plain[S, uint32]
	case tensor.Int32:
		return plain[S, int32]
	case tensor.Uint64:
		return plain[S, uint64]
	case tensor.Int64:
		return plain[S, int64]
	default:
		return toFloat(to, func(x S) float32 { return float32(x) }, func(x S) float64 { return float64(x) })
	}
}

// toFloat casts by way of a float32, or of a float64 if that is wanted.
func toFloat[S any](to tensor.DType, short func(S) float32, long func(S) float64) cast {
	switch to {
	case tensor.Float32:
		return through(short)
	case tensor.Float64:
		return through(long)
	case tensor.Float16:
		return through(func(x S) uint16 { return halfOf(short(x)) })
	case tensor.BFloat16:
		return through(func(x S) uint16 { return brainOf(short(x)) })
	default:
		return nil
	}
}

func plain[S integer, D number](dst, src unsafe.Pointer, n int) {
	from, to := unsafe.Slice((*S)(src), n), unsafe.Slice((*D)(dst), n)
	for i, x := range from {
		to[i] = D(x)
	}
}

func through[S, D any](convert func(S) D) cast {
	return func(dst, src unsafe.Pointer, n int) {
		from, to := unsafe.Slice((*S)(src), n), unsafe.Slice((*D)(dst), n)
		for i, x := range from {
			to[i] = convert(x)
		}
	}
}

// brainOf rounds to the nearest bfloat16, ties to even (c10/util/BFloat16.h, round_to_nearest_even).
func brainOf(x float32) uint16 {
	if x != x {
		return 0x7fc0
	}
	bits := math.Float32bits(x)
	return uint16((bits + 0x7fff + (bits>>16)&1) >> 16)
}

func floatOfBrain(x uint16) float32 { return math.Float32frombits(uint32(x) << 16) }

// halfOf rounds to the nearest float16, ties to even (IEEE 754).
func halfOf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65520, from which on the nearest is infinity
		return sign | 0x7c00
	case magnitude < 0x38800000: // below 2^-14: a multiple of 2^-24, which the sum with 0.5 rounds to
		sum := math.Float32frombits(magnitude) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	default:
		rounded := magnitude + 0xfff + (magnitude>>13)&1
		return sign | uint16((rounded-0x38000000)>>13)
	}
}

func floatOfHalf(x uint16) float32 {
	sign, magnitude := uint32(x&0x8000)<<16, uint32(x&0x7fff)
	switch {
	case magnitude >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | (magnitude&0x3ff)<<13)
	case magnitude < 0x400: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(magnitude)*0x1p-24))
	default:
		return math.Float32frombits(sign | (magnitude<<13 + 0x38000000))
	}
}
