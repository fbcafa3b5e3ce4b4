package rng

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ldl -lm
#include "noise.h"
*/
import "C"

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// NoiseKind is what torch draws many of, as float32.
type NoiseKind int32

// The kinds.
const (
	Uniform     NoiseKind = C.GL_NOISE_UNIFORM      // torch.rand
	Normals     NoiseKind = C.GL_NOISE_NORMALS      // torch.randn of contiguous memory, NormalsMin numbers and more
	NormalsAVX2 NoiseKind = C.GL_NOISE_NORMALS_AVX2 // the same by torch's kernels for AVX2
	Pairs       NoiseKind = C.GL_NOISE_PAIRS        // torch.randn of other memory, an even count
)

// NormalsMin is the fewest numbers that torch draws as Normals.
const NormalsMin = C.GL_NOISE_NORMALS_MIN

// spareThereTorch is where torch's state says, in its cached normal deviates, that there is one of float64.
const spareThereTorch = 24

// Noise is a generator's state in which it draws some numbers; they are made of it later, by whoever needs them.
type Noise struct{ c C.gl_noise }

// Draw draws n numbers for nobody, and says how they are made. It does neither where torch draws so many in another way.
func (m *MT19937) Draw(kind NoiseKind, n int64) (*Noise, bool) {
	drawn := n
	switch kind {
	case Normals, NormalsAVX2:
		if n < NormalsMin {
			return nil, false
		}
		if n%NormalsMin != 0 {
			drawn += NormalsMin // the last ones are drawn again
		}
	case Pairs:
		if n%2 != 0 || binary.LittleEndian.Uint32(m.normal[spareThereTorch:]) != 0 {
			return nil, false // one of a pair is kept for the next call
		}
		drawn *= 2
	}
	made := &Noise{}
	made.c.fill = (*[0]byte)(C.gl_noise_fill)
	made.c.kind, made.c.next, made.c.left = C.int32_t(kind), C.int32_t(m.next), C.int32_t(m.left-1)
	*(*[words]uint32)(unsafe.Pointer(&made.c.state)) = m.state
	m.Discard(drawn)
	return made, true
}

// C is a gl_noise (noise.h), to be copied.
func (n *Noise) C() unsafe.Pointer { return unsafe.Pointer(&n.c) }

// DrawAll draws as torch does, and gives float32 as the bits of a float64. It does nothing where Draw does not.
func (m *MT19937) DrawAll(kind NoiseKind, dst []uint64) {
	noise, ok := m.Draw(kind, int64(len(dst)))
	if !ok || len(dst) == 0 {
		return
	}
	numbers := make([]float32, len(dst))
	C.gl_noise_fill(&noise.c, (*C.float)(&numbers[0]), C.size_t(len(numbers)))
	for k, each := range numbers {
		dst[k] = math.Float64bits(float64(each))
	}
}
