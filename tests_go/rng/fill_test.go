package rng_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/rng"
)

// What is drawn in one go is what is drawn one by one, wherever the words are made anew, and leaves the generator there.
func TestManyNumbersAreThoseOfOneByOne(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	many, single := rng.New(7), rng.New(7)
	for range 3000 {
		count := draw.IntN(1 << draw.IntN(11))
		limit := 1 + draw.Uint64N(1<<draw.IntN(32))
		got, want := make([]uint64, count), make([]uint64, count)
		ints, wanted := make([]int64, count), make([]int64, count)
		kind := draw.IntN(4)
		switch kind {
		case 0:
			many.RandomFill(got)
		case 1:
			many.RandFill(got)
		case 2:
			many.NumPyFill(ints, limit)
		case 3:
			many.NumPyPermute(ints)
		}
		for k := range want {
			switch kind {
			case 0:
				want[k] = math.Float64bits(single.Random())
			case 1:
				want[k] = math.Float64bits(float64(single.Rand()))
			case 2:
				wanted[k] = int64(single.NumPyBelow(limit))
			case 3:
				wanted[k] = int64(k)
			}
		}
		for k := count - 1; kind == 3 && k > 0; k-- {
			other := single.NumPyBelow(uint64(k + 1))
			wanted[k], wanted[other] = wanted[other], wanted[k]
		}
		require.Equal(t, want, got)
		require.Equal(t, wanted, ints)
		require.Equal(t, single.Drawn(), many.Drawn())
	}
	require.Equal(t, single.Uint64(), many.Uint64())
}

func BenchmarkRandomFill(b *testing.B) {
	m, numbers := rng.New(3), make([]uint64, 1024)
	for b.Loop() {
		m.RandomFill(numbers)
	}
}

func BenchmarkRandFill(b *testing.B) {
	m, numbers := rng.New(3), make([]uint64, 1024)
	for b.Loop() {
		m.RandFill(numbers)
	}
}
