package rng

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goloader/goloader/core/libm"
)

// The random module makes two normal deviates at once, of two floats, and keeps the second one for the next call (gauss in
// Lib/random.py); so does numpy's old generator, of the first two that are good for it (legacy_gauss in
// numpy/random/src/legacy/legacy-distributions.c). Here it is kept where torch's generators have theirs, so that it goes with a
// state in torch's form:
//
//	0  float64 the spare deviate
//	8  byte    1 if there is one
const (
	spareValue = 0
	spareThere = 8
)

// A place says where a generator stands: the words drawn in the low bits; above them, if there is a spare deviate, how many
// words were drawn since it was made, plus 1.
const (
	placeBits   = 40
	placeMask   = 1<<placeBits - 1
	spareWords  = 4             // that two floats take, the last ones before it was made
	spareBehind = 1<<22 - 1     // it came with the state
	noPlace     = math.MinInt64 // of a spare deviate that came with the state
)

// Gauss draws as random.gauss(0, 1) does. The logarithm and the like are the C library's, which are Python's.
func (m *MT19937) Gauss() float64 {
	if z, ok := m.takeSpare(); ok {
		return z
	}
	angle := float64(m.Random() * (2 * math.Pi))
	radius := math.Sqrt(float64(-2 * libm.Log(1-m.Random())))
	m.keepSpare(float64(libm.Sin(angle) * radius))
	return float64(libm.Cos(angle) * radius)
}

// NumPyGauss draws as numpy.random.standard_normal() does, of numpy's old generator. The conversions keep Go from fusing.
func (m *MT19937) NumPyGauss() float64 {
	if z, ok := m.takeSpare(); ok {
		return z
	}
	for {
		x := float64(2*m.Random()) - 1
		y := float64(2*m.Random()) - 1
		r := float64(x*x) + float64(y*y)
		if r >= 1 || r == 0 {
			continue
		}
		factor := math.Sqrt(float64(-2*libm.Log(r)) / r)
		m.keepSpare(float64(factor * x))
		return float64(factor * y)
	}
}

func (m *MT19937) takeSpare() (z float64, ok bool) {
	if m.normal[spareThere] == 0 {
		return 0, false
	}
	z = math.Float64frombits(binary.LittleEndian.Uint64(m.normal[spareValue:]))
	m.clearSpare()
	return z, true
}

func (m *MT19937) keepSpare(z float64) {
	binary.LittleEndian.PutUint64(m.normal[spareValue:], math.Float64bits(z))
	m.normal[spareThere], m.spareAt = 1, m.Drawn()
}

func (m *MT19937) clearSpare() {
	clear(m.normal[:spareThere+1])
	m.spareAt = 0
}

// TakeSpare takes over the spare deviate of another state, so many words behind one that it came from: which of these made it is
// found out by drawing it again.
func (m *MT19937) TakeSpare(from, began *MT19937, drawn int64, gauss func(m *MT19937) float64) {
	if m.normal == from.normal {
		return
	}
	m.normal, m.spareAt = from.normal, noPlace
	for since := int64(0); m.normal[spareThere] != 0 && since < spareLookMax && since+spareWords <= drawn; since++ {
		again := *began
		again.clearSpare()
		again.Discard(drawn - since - spareWords)
		gauss(&again)
		if again.normal == m.normal {
			m.spareAt = m.Drawn() - since
			return
		}
	}
}

// TakeNormal takes over torch's cached normal deviate.
func (m *MT19937) TakeNormal(from *MT19937) { m.normal = from.normal }

// spareLookMax is how many words after it a deviate is looked for.
const spareLookMax = 1 << 10

// Place says where Python's or numpy's generator stands, for GoTo; negative if that is not known.
func (m *MT19937) Place() int64 {
	drawn := m.Drawn()
	switch {
	case m.normal[spareThere] == 0:
		return drawn
	case m.spareAt == noPlace:
		return drawn | spareBehind<<placeBits
	case drawn-m.spareAt+1 >= spareBehind:
		return -1
	}
	return drawn | (drawn-m.spareAt+1)<<placeBits
}

// GoTo puts a generator that stands where it was loaded or seeded to a place. Its normal deviates are drawn by gauss.
func (m *MT19937) GoTo(place int64, gauss func(m *MT19937) float64) error {
	drawn, since := place&placeMask, place>>placeBits
	switch {
	case place < 0:
		return fmt.Errorf("a place that is not known")
	case since == 0:
		m.clearSpare()
		m.Discard(drawn)
	case since == spareBehind:
		if m.normal[spareThere] == 0 {
			return fmt.Errorf("a place that follows a normal deviate which is not known")
		}
		m.Discard(drawn)
	case drawn < since-1+spareWords:
		return fmt.Errorf("a place of %d words, with a normal deviate of %d before", drawn, since-1+spareWords)
	default:
		m.clearSpare()
		m.Discard(drawn - (since - 1) - spareWords)
		gauss(m)
		m.Discard(since - 1)
	}
	return nil
}
