package sampler_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/sampler"
)

// The known answers of Random123 (kat_vectors, philox4x32 10).
func TestPhiloxIsPhilox(t *testing.T) {
	for _, c := range []struct{ key, low, high, wantLow, wantHigh uint64 }{
		{0, 0, 0, 0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c},
		{math.MaxUint64, math.MaxUint64, math.MaxUint64, 0x41c83b0e408f276d, 0x6d5451fda20bc7c6},
	} {
		low, high := rng.NewPhilox(c.key).At(c.low, c.high)
		require.Equal(t, c.wantLow, low)
		require.Equal(t, c.wantHigh, high)
	}
}

func alias(t *testing.T, weights []float64) *sampler.Alias {
	a, err := sampler.NewAlias(weights)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestWeightsThatNothingCanBeDrawnByAreRefused(t *testing.T) {
	for _, weights := range [][]float64{nil, {0}, {0, 0}, {-1, 2}, {math.NaN()}, {math.Inf(1)}, {1, math.Inf(-1)}, {1e308, 1e308}} {
		_, err := sampler.NewAlias(weights)
		require.ErrorIs(t, err, sampler.ErrWeights, "%v", weights)
	}
}

// Draws are spread as the table says (chi-squared, so wide that a right table fails once in 10^9 seeds), and each depends
// on its number alone.
func TestAliasDrawsByWeight(t *testing.T) {
	weights := []float64{1, 2, 3, 4, 0, 90, 0.5, 0, 7}
	a := alias(t, weights)
	const n = 1 << 17
	draws := make([]int64, n)
	a.Draw(7, 0, 1, draws)
	counts := make([]float64, len(weights))
	for _, i := range draws {
		counts[i]++
	}
	spread := 0.0
	for i, w := range weights {
		want := n * w / 107.5
		if w == 0 {
			require.Zero(t, counts[i])
			continue
		}
		spread += (counts[i] - want) * (counts[i] - want) / want
	}
	require.Less(t, spread, 55.0) // 6 degrees of freedom

	third := make([]int64, 100)
	a.Draw(7, 5, 3, third)
	for i, got := range third {
		require.Equal(t, draws[5+3*i], got)
	}
	other := make([]int64, n)
	a.Draw(8, 0, 1, other)
	require.NotEqual(t, draws, other)
}

func TestBalancedDrawsClassesAlike(t *testing.T) {
	labels := make([]int64, 1000)
	for i := range labels {
		labels[i] = []int64{7, -3, 1 << 40}[min(i%100, 2)] // ten, ten and 980 members
	}
	b, err := sampler.NewBalanced(labels)
	require.NoError(t, err)
	const n = 90_000
	draws := make([]int64, n)
	b.Draw(1, 0, 1, draws)
	classes, members := map[int64]float64{}, map[int64]int{}
	for _, i := range draws {
		classes[labels[i]]++
		members[i]++
	}
	for _, count := range classes {
		require.InDelta(t, n/3, count, 6*math.Sqrt(n*2/9.0))
	}
	require.Len(t, members, 1000, "every member comes")
	_, err = sampler.NewBalanced(nil)
	require.ErrorIs(t, err, sampler.ErrLabels)
}

func TestABijectionIsAPermutation(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 1000, 4097} {
		seen := make([]bool, n)
		b := sampler.NewBijection(3, uint64(n), n)
		for i := range n {
			at := b.At(i)
			require.False(t, seen[at])
			seen[at] = true
		}
	}
}

// Of three numbers all six orders are about as likely.
func TestBijectionsAreSpreadOverAllOrders(t *testing.T) {
	counts := map[[3]int64]int{}
	for salt := range uint64(6000) {
		b := sampler.NewBijection(9, salt, 3)
		counts[[3]int64{b.At(0), b.At(1), b.At(2)}]++
	}
	require.Len(t, counts, 6)
	for order, count := range counts {
		require.InDelta(t, 1000, count, 200, "%v", order)
	}
}

// After every single draw each source was drawn from as often as its weight says, to within 1; each goes through its
// samples once before any comes again; and a mixture goes on where another stood.
func TestAMixtureKeepsItsProportions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		k := 1 + random.IntN(6)
		lengths, weights, sum := make([]int64, k), make([]float64, k), 0.0
		for i := range k {
			lengths[i], weights[i] = 1+random.Int64N(40), random.Float64()
			if i > 0 && random.IntN(5) == 0 {
				lengths[i], weights[i] = random.Int64N(2), 0
			}
			sum += weights[i]
		}
		m, err := sampler.NewMixture(5, lengths, weights, nil)
		require.NoError(t, err)
		const n = 500
		all := make([]int64, n)
		drawn := make([]int64, k)
		seen := make([]map[int64]int, k)
		for i := range n {
			drawn = m.Draw(0, 1, all[i:i+1])
			total := int64(0)
			for j, d := range drawn {
				require.InDelta(t, weights[j]/sum*float64(i+1), float64(d), 1, "%v after %d", weights, i+1)
				total += d
			}
			require.EqualValues(t, i+1, total)
			source, at := 0, all[i]
			for at >= lengths[source] {
				at -= lengths[source]
				source++
			}
			if seen[source] == nil {
				seen[source] = map[int64]int{}
			}
			seen[source][at]++
			low, high := math.MaxInt, 0
			for j := range lengths[source] {
				low, high = min(low, seen[source][j]), max(high, seen[source][j])
			}
			require.LessOrEqual(t, high-low, 1)
		}
		cut := random.IntN(n)
		first, err := sampler.NewMixture(5, lengths, weights, nil)
		require.NoError(t, err)
		state := first.Draw(0, 1, make([]int64, cut))
		second, err := sampler.NewMixture(5, lengths, weights, state)
		require.NoError(t, err)
		rest := make([]int64, n-cut)
		require.Equal(t, drawn, second.Draw(0, 1, rest))
		require.Equal(t, all[cut:], rest)
		ranks := 1 + random.IntN(5)
		for rank := range ranks {
			one, err := sampler.NewMixture(5, lengths, weights, nil)
			require.NoError(t, err)
			part := make([]int64, n/ranks)
			one.Draw(int64(rank), int64(ranks), part)
			for i, got := range part {
				require.Equal(t, all[i*ranks+rank], got)
			}
		}
	}
}

func TestSourcesThatCannotBeMixedAreRefused(t *testing.T) {
	for _, c := range []struct {
		lengths []int64
		weights []float64
		drawn   []int64
		want    error
	}{
		{[]int64{1}, []float64{1, 1}, nil, sampler.ErrWeights},
		{[]int64{1, 1}, []float64{1, -1}, nil, sampler.ErrWeights},
		{[]int64{1, 1}, []float64{0, 0}, nil, sampler.ErrWeights},
		{[]int64{1}, []float64{math.NaN()}, nil, sampler.ErrWeights},
		{[]int64{1}, []float64{1}, []int64{1, 2}, sampler.ErrWeights},
		{[]int64{1, 0}, []float64{1, 1}, nil, sampler.ErrSources},
		{nil, nil, nil, sampler.ErrWeights},
	} {
		_, err := sampler.NewMixture(0, c.lengths, c.weights, c.drawn)
		require.ErrorIs(t, err, c.want, "%v", c)
	}
}

// BenchmarkARankOfAThousand draws 256 numbers of one rank in the middle of an epoch: every 1,000th of the job's.
func BenchmarkARankOfAThousand(b *testing.B) {
	const ranks, at, samples = 1000, 123_456_789, 1_000_000
	weights, labels := make([]float64, samples), make([]int64, samples)
	for i := range weights {
		weights[i], labels[i] = float64(1+i%7), int64(i%1000)
	}
	weighted, err := sampler.NewAlias(weights)
	require.NoError(b, err)
	defer weighted.Close()
	balanced, err := sampler.NewBalanced(labels)
	require.NoError(b, err)
	shuffled, err := sampler.NewShuffled(10_000_000_000)
	require.NoError(b, err)
	for name, draw := range map[string]func(seed uint64, first, step int64, dst []int64){
		"weighted": weighted.Draw, "balanced": balanced.Draw, "shuffled": shuffled.Draw,
	} {
		b.Run(name, func(b *testing.B) {
			drawn := make([]int64, 256)
			for i := range b.N {
				draw(7, at+int64(i)*ranks*int64(len(drawn)), ranks, drawn)
			}
		})
	}
	// A mixture has no draw number i without those before it: each rank draws for all.
	b.Run("mixture", func(b *testing.B) {
		mixture, err := sampler.NewMixture(7, []int64{samples, 2 * samples}, []float64{1, 3}, nil)
		require.NoError(b, err)
		drawn := make([]int64, 256)
		for range b.N {
			mixture.Draw(5, ranks, drawn)
		}
	})
}
