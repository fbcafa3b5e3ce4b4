package rng

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ldl -lm
#include "normals.h"
*/
import "C"

import (
	"math"
	"unsafe"
)

// NormalsMin is the fewest numbers that torch draws in this way.
const NormalsMin = 16

// Normals draws as torch.randn(len(dst)) does, of NormalsMin numbers and more, and gives float32 as the bits of a float64. wide says
// that torch uses its kernels for AVX2.
func (m *MT19937) Normals(dst []uint64, wide bool) {
	var block [NormalsMin]float32
	way := C.int(0)
	if wide {
		way = 1
	}
	fill := func(at int) {
		C.gl_rng_normals((*C.float)(unsafe.Pointer(&block[0])), way)
		for k, z := range block {
			dst[at+k] = math.Float64bits(float64(z))
		}
	}
	at := 0
	for ; at+NormalsMin <= len(dst); at += NormalsMin {
		for k := range block {
			block[k] = m.Rand()
		}
		fill(at)
	}
	if at < len(dst) {
		for range len(dst) - at {
			m.Uint32()
		}
		for k := range block {
			block[k] = m.Rand()
		}
		fill(len(dst) - NormalsMin)
	}
}
