package sampler

import (
	"math/bits"

	"github.com/goloader/goloader/core/rng"
)

// feistelRounds: from 4 on a Feistel network of random functions is a random permutation to whoever sees few of its values
// (Luby and Rackoff 1988); small domains want some more.
const feistelRounds = 8

// Bijection is a permutation of 0 ... n-1 by a key, of which any value can be had at once: no memory, no order. A Feistel
// network over the next power of four, walked until it meets the domain (Black and Rogaway 2002).
type Bijection struct {
	n    uint64
	half uint // bits
	p    rng.Philox
	salt uint64
}

// NewBijection makes the permutation of n > 0 numbers that belongs to a seed and a number.
func NewBijection(seed, salt uint64, n int64) Bijection {
	return Bijection{n: uint64(n), half: uint(bits.Len64(uint64(n-1))+1) / 2, p: rng.NewPhilox(seed), salt: salt}
}

// At is where i goes.
func (b Bijection) At(i int64) int64 {
	x := uint64(i)
	if b.half == 0 {
		return 0
	}
	mask := uint64(1)<<b.half - 1
	for {
		left, right := x>>b.half, x&mask
		for round := range uint64(feistelRounds) {
			word, _ := b.p.At(right|round<<56, b.salt)
			left, right = right, left^word&mask
		}
		if x = left<<b.half | right; x < b.n {
			return int64(x)
		}
	}
}
