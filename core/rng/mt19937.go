// Package rng draws random numbers exactly as torch's CPU generator does: the same words, the same arithmetic, and a
// state that goes to torch and back without a trace.
package rng

/*
#include "twister.h"
*/
import "C"

import "math"

const words = C.GL_TWISTER_WORDS // of state

// torch draws two words for a range from here on, to keep the skew of the remainder small
// (ATen/core/DistributionsHelper.h, uniform_int_from_to_distribution).
const randintTwoWords = 1 << 28

// From here on torch's randperm shuffles inside out with two words an index (randperm_cpu in
// ATen/native/TensorFactories.cpp): the remainder of one word would be too skewed.
const permuteTwoWords = math.MaxUint32 / 20

// MT19937 is torch's CPU generator. A copy of the value is a snapshot. Use New: the zero value only ever draws zeros.
// One goroutine at a time.
type MT19937 struct {
	seed    uint64 // as given; only its low 32 bits count
	refills int64  // since Seed or LoadTorch
	first   int32  // left, at that time
	left    int32  // words until the next refill, plus 1
	next    int32  // index in state of the next word
	state   [words]uint32
	normal  [normalBytes]byte // torch's cached second normal deviate: ours to carry, not to use; Python's spare one (gauss.go)
	spareAt int64             // Drawn as the spare was made; noPlace if it came with LoadTorch
}

// New returns a generator in the state of torch.Generator().manual_seed(seed).
func New(seed uint64) MT19937 {
	var m MT19937
	m.Seed(seed)
	return m
}

// Seed starts over, as torch's manual_seed does, and numpy.random.seed (_legacy_seeding in numpy/random/_mt19937.pyx).
func (m *MT19937) Seed(seed uint64) {
	*m = MT19937{seed: seed, first: 1, left: 1}
	m.state[0] = uint32(seed)
	for i := uint32(1); i < words; i++ {
		before := m.state[i-1]
		m.state[i] = 1812433253*(before^before>>30) + i
	}
}

// Uint32 draws one word.
func (m *MT19937) Uint32() uint32 {
	if m.left <= 1 {
		m.refill()
	} else {
		m.left--
	}
	m.next++
	return temper(m.state[m.next-1])
}

func temper(y uint32) uint32 {
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// ahead are the words until the next refill, at least one, before temper. Whoever asks takes one at least.
func (m *MT19937) ahead() []uint32 {
	if m.left <= 1 {
		m.refill()
		m.left++
	}
	return m.state[m.next : m.next+m.left-1]
}

// take draws the first n words that are ahead.
func (m *MT19937) take(n int) {
	m.left -= int32(n)
	m.next += int32(n)
}

// Uint64 draws two words, the high one first.
func (m *MT19937) Uint64() uint64 {
	high := uint64(m.Uint32())
	return high<<32 | uint64(m.Uint32())
}

// Drawn is how many words were drawn since Seed or LoadTorch. With the seed it says the whole state.
func (m *MT19937) Drawn() int64 {
	return m.refills*words + int64(m.first-m.left)
}

// Discard draws n words for nobody, at the price of the refills alone.
func (m *MT19937) Discard(n int64) {
	for n > 0 {
		if m.left <= 1 {
			m.refill()
			m.next++
			n--
			continue
		}
		k := min(n, int64(m.left-1))
		m.left -= int32(k)
		m.next += int32(k)
		n -= k
	}
}

// Uniform draws as torch.empty(1).uniform_(lo, hi) does. fma says whether torch's build fuses the product and the sum
// (it does with AVX2 and better, and on ARM; not with ATEN_CPU_CAPABILITY=default).
func (m *MT19937) Uniform(lo, hi float32, fma bool) float32 {
	r, width := m.Rand(), hi-lo
	if fma {
		return fma32(r, width, lo)
	}
	return float32(r*width) + lo // the conversion keeps Go from fusing
}

// Rand draws as torch.rand(1) does: a multiple of 2^-24 in [0, 1).
func (m *MT19937) Rand() float32 { return rand(m.Uint32()) }

func rand(word uint32) float32 { return float32(word&(1<<24-1)) * 0x1p-24 }

// RandFill writes Rand each to dst, as the bits of a float64.
func (m *MT19937) RandFill(dst []uint64) {
	for len(dst) > 0 {
		words := m.ahead()
		n := min(len(words), len(dst))
		for i, word := range words[:n] {
			dst[i] = math.Float64bits(float64(rand(temper(word))))
		}
		m.take(n)
		dst = dst[n:]
	}
}

// Randint draws as torch.randint(0, n, (1,)) does. It panics if n is 0, which torch refuses.
func (m *MT19937) Randint(n uint64) uint64 {
	if n < randintTwoWords {
		return uint64(m.Uint32() % uint32(n))
	}
	return m.Uint64() % n
}

// Random63 draws as torch.empty((), dtype=torch.int64).random_() does: this is how torch makes seeds.
func (m *MT19937) Random63() int64 { return int64(m.Uint64() &^ (1 << 63)) }

// Permute writes torch.randperm(len(dst)) to dst.
func (m *MT19937) Permute(dst []int64) {
	if len(dst) < permuteTwoWords {
		m.shuffle(dst)
	} else {
		m.shuffleInsideOut(dst)
	}
}

func (m *MT19937) shuffle(dst []int64) {
	n := len(dst)
	for i := range dst {
		dst[i] = int64(i)
	}
	for i := range n - 1 {
		j := i + int(m.Uint32()%uint32(n-i))
		dst[i], dst[j] = dst[j], dst[i]
	}
}

func (m *MT19937) shuffleInsideOut(dst []int64) {
	for i := range dst {
		j := m.Uint64() % uint64(i+1)
		dst[i] = int64(i)
		dst[i] = dst[j]
		dst[j] = int64(i)
	}
}

// Multinomial draws a place as torch.multinomial(weights, 1) does: the largest of weight / exponential, in float32. It is not
// sure where two of these are so near that rounding decides. Some weight is above 0.
func (m *MT19937) Multinomial(weights []float64) (place int, sure bool) {
	best, second := -1.0, -1.0
	sure = true
	for k, weight := range weights {
		u := float64(m.Uint64()&(1<<53-1)) * 0x1p-53
		score := weight / -math.Log1p(-u)
		if u == 0 {
			sure = false
		}
		if score > best {
			place, best, second = k, score, best
		} else if score > second {
			second = score
		}
	}
	return place, sure && second < best*(1-multinomialNear)
}

// multinomialNear is more than what roundings to float32 come to.
const multinomialNear = 0x1p-20

// refill makes the next 624 words.
func (m *MT19937) refill() {
	C.gl_twister_refill((*C.uint32_t)(&m.state[0]))
	m.left, m.next = words, 0
	m.refills++
}

// fma32 is x*y + z rounded once. The product is exact in float64; where the sum is not, rounding it to odd keeps the
// second rounding, to float32, from going astray (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
func fma32(x, y, z float32) float32 {
	p, a := float64(float64(x)*float64(y)), float64(z)
	sum := p + a
	back := sum - p
	lost := (p - (sum - back)) + (a - back)
	if lost != 0 {
		if b := math.Float64bits(sum); b&1 == 0 {
			if (lost > 0) == (sum > 0) {
				b++
			} else {
				b--
			}
			sum = math.Float64frombits(b)
		}
	}
	return float32(sum)
}
