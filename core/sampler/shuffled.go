package sampler

import "fmt"

// Shuffled draws each of n indices once, in random order, and then in another one. It keeps no order: draw number i depends on
// the seed and on i alone, and can be had at once.
type Shuffled struct{ n int64 }

// NewShuffled makes a sampler of n indices.
func NewShuffled(n int64) (Shuffled, error) {
	if n < 1 {
		return Shuffled{}, fmt.Errorf("shuffled sampler: %d samples: %w", n, ErrSources)
	}
	return Shuffled{n}, nil
}

// Draw writes draws number first, first+step, ... of a seed.
func (s Shuffled) Draw(seed uint64, first, step int64, dst []int64) {
	pass, order := int64(-1), Bijection{}
	for i := range dst {
		number := first + int64(i)*step
		if number/s.n != pass {
			pass = number / s.n
			order = NewBijection(seed, uint64(pass), s.n)
		}
		dst[i] = order.At(number % s.n)
	}
}

// Close does nothing.
func (Shuffled) Close() error { return nil }
