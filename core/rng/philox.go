package rng

import "math/bits"

// Philox is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the words of a key and a
// counter, with no state, so that draw number a billion is as near as the first.
type Philox struct{ key [2]uint32 }

// NewPhilox keys a generator.
func NewPhilox(seed uint64) Philox { return Philox{[2]uint32{uint32(seed), uint32(seed >> 32)}} }

// At is the four words of a counter, which is two numbers here, as two.
func (p Philox) At(low, high uint64) (uint64, uint64) {
	c := [4]uint32{uint32(low), uint32(low >> 32), uint32(high), uint32(high >> 32)}
	k := p.key
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return uint64(c[1])<<32 | uint64(c[0]), uint64(c[3])<<32 | uint64(c[2])
}

// Below maps a word to 0 ... n-1, each as likely as the others to within n in 2^64.
func Below(word, n uint64) uint64 {
	hi, _ := bits.Mul64(word, n)
	return hi
}
