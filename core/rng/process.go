package rng

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// SeedPython starts over, as Python's random.seed(seed) does (init_by_array in Modules/_randommodule.c).
func (m *MT19937) SeedPython(seed uint64) {
	m.Seed(19650218)
	key := []uint32{uint32(seed), uint32(seed >> 32)}
	if key[1] == 0 {
		key = key[:1]
	}
	state, i, j := &m.state, 1, 0
	next := func() {
		if i++; i == words {
			state[0], i = state[words-1], 1
		}
	}
	for range words {
		before := state[i-1]
		state[i] = (state[i] ^ (before^before>>30)*1664525) + key[j] + uint32(j)
		next()
		j = (j + 1) % len(key)
	}
	for range words - 1 {
		before := state[i-1]
		state[i] = (state[i] ^ (before^before>>30)*1566083941) - uint32(i)
		next()
	}
	state[0] = 1 << 31
}

// PythonStateBytes is the size of what LoadPython takes.
const PythonStateBytes = 4 * (words + 1)

// LoadPython takes over random.getstate()[1]: 625 words, little endian, of which the last is the place in the others.
func (m *MT19937) LoadPython(state []byte) error {
	if len(state) != PythonStateBytes {
		return fmt.Errorf("state of Python's generator: %d bytes, want %d", len(state), PythonStateBytes)
	}
	next := binary.LittleEndian.Uint32(state[4*words:])
	if next > words {
		return fmt.Errorf("state of Python's generator: its place is %d, want at most %d", next, words)
	}
	left := int32(words-next) + 1
	*m = MT19937{first: left, left: left, next: int32(next)}
	for i := range m.state {
		m.state[i] = binary.LittleEndian.Uint32(state[4*i:])
	}
	return nil
}

// Random draws as random.random() and numpy.random.random_sample() do: a multiple of 2^-53 in [0, 1).
func (m *MT19937) Random() float64 { return random(m.Uint32(), m.Uint32()) }

func random(first, second uint32) float64 {
	return (float64(first>>5)*(1<<26) + float64(second>>6)) / (1 << 53)
}

// RandomFill writes the bits of Random each to dst.
func (m *MT19937) RandomFill(dst []uint64) {
	for k := 0; k < len(dst); {
		words := m.ahead()
		n := min(len(words)/2, len(dst)-k)
		for i := range n {
			dst[k+i] = math.Float64bits(random(temper(words[2*i]), temper(words[2*i+1])))
		}
		m.take(2 * n)
		if k += n; k < len(dst) && len(words)%2 != 0 { // the last word before a refill
			dst[k] = math.Float64bits(m.Random())
			k++
		}
	}
}

// PythonBelow draws as the random module's _randbelow(n) does, which randint, randrange and choice call. It panics if n is
// 0 or more than 2^32 - 1.
func (m *MT19937) PythonBelow(n uint64) uint64 {
	width := bits.Len64(n)
	if width == 0 || width > 32 {
		panic("rng: a range that is empty, or more than 32 bits wide")
	}
	for {
		if drawn := uint64(m.Uint32() >> (32 - width)); drawn < n {
			return drawn
		}
	}
}

// NumPyBelow draws as numpy.random.randint(n) does, of numpy's old generator: 0 ... n-1. It panics if n is 0 or more than
// 2^32 - 1.
func (m *MT19937) NumPyBelow(n uint64) uint64 {
	mask := numpyMask(n)
	if mask == 0 {
		return 0 // without a draw
	}
	for {
		if drawn := uint64(m.Uint32()) & mask; drawn < n {
			return drawn
		}
	}
}

// numpyMask are the bits that numpy takes of a word for 0 ... n-1, before it refuses what is too large.
func numpyMask(n uint64) uint64 {
	if n == 0 || n > 1<<32-1 {
		panic("rng: a range that is empty, or more than 32 bits wide")
	}
	return uint64(1)<<bits.Len64(n-1) - 1
}

// NumPyPermute writes numpy.random.permutation(len(dst)) to dst, of numpy's old generator.
func (m *MT19937) NumPyPermute(dst []int64) {
	for i := range dst {
		dst[i] = int64(i)
	}
	for i := len(dst) - 1; i > 0; {
		mask := 1<<bits.Len(uint(i)) - 1
		words, drawn := m.ahead(), 0
		for ; drawn < len(words) && i > mask/2; drawn++ {
			// Of what is drawn up to half is refused: without a branch, which nobody could foresee.
			j := int(temper(words[drawn])) & mask
			at, done := i, 0
			if j <= i {
				at, done = j, 1
			}
			dst[i], dst[at] = dst[at], dst[i]
			i -= done
		}
		m.take(drawn)
	}
}

// NumPyFill writes numpy.random.randint(n, size=len(dst)) to dst: NumPyBelow each.
func (m *MT19937) NumPyFill(dst []int64, n uint64) {
	mask := numpyMask(n)
	if mask == 0 {
		clear(dst) // without a draw
		return
	}
	for k := 0; k < len(dst); {
		words, drawn := m.ahead(), 0
		for ; drawn < len(words) && k < len(dst); drawn++ {
			value := uint64(temper(words[drawn])) & mask
			dst[k] = int64(value)
			if value < n {
				k++
			}
		}
		m.take(drawn)
	}
}

// Since says how many words were drawn from one state to reach another, at most limit; -1 if it is further, or not there at
// all.
func (m *MT19937) Since(from MT19937, limit int64) int64 {
	drawn := int64(0)
	for drawn <= limit {
		if from.state == m.state && m.next >= from.next {
			return drawn + int64(m.next-from.next)
		}
		left := int64(max(from.left-1, 0))
		from.Discard(left + 1)
		drawn += left + 1
	}
	return -1
}
