package rng

import "math/bits"

// Generators are those of a process that draw by Mersenne Twisters: torch's for the CPU, the random module's, and numpy's
// old one (numpy.random.*).
type Generators struct{ Torch, Python, NumPy MT19937 }

// Random draws as random.random() and numpy.random.random_sample() do: a multiple of 2^-53 in [0, 1).
func (m *MT19937) Random() float64 {
	high, low := m.Uint32()>>5, m.Uint32()>>6
	return (float64(high)*(1<<26) + float64(low)) / (1 << 53)
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
	if n == 0 || n > 1<<32-1 {
		panic("rng: a range that is empty, or more than 32 bits wide")
	}
	if n == 1 {
		return 0 // without a draw
	}
	mask := uint64(1)<<bits.Len64(n-1) - 1
	for {
		if drawn := uint64(m.Uint32()) & mask; drawn < n {
			return drawn
		}
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
