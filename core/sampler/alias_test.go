package sampler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func openAlias(t *testing.T, weights []float64) *Alias {
	a, err := NewAlias(weights)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// shares is how often each index is drawn, as a part of 1.
func shares(a *Alias) []float64 {
	shares := make([]float64, len(a.cells))
	each := 1 / float64(len(a.cells))
	for i, c := range a.cells {
		own := float64(c.own) / (1 << 32)
		shares[i] += own * each
		shares[c.other] += (1 - own) * each
	}
	return shares
}

// What the table says is what the weights say, whatever they are.
func TestAliasTableHoldsTheWeights(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cases := [][]float64{{1}, {0, 1}, {1, 0}, {1, 1, 1}, {5, 0, 0, 0}, {0, 0, 0, 5}, {1e300, 1e-300}, {1e-320, 2e-320}, {3, 1}}
	for range 300 {
		weights := make([]float64, 1+random.IntN(60))
		for i := range weights {
			switch random.IntN(4) {
			case 0:
			case 1:
				weights[i] = math.Exp(20 * random.NormFloat64())
			default:
				weights[i] = random.Float64()
			}
		}
		weights[random.IntN(len(weights))] += 0.1
		cases = append(cases, weights)
	}
	for _, weights := range cases {
		a := openAlias(t, weights)
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		for i, got := range shares(a) {
			require.InDelta(t, weights[i]/sum, got, 1e-9, "weight %d of %v", i, weights)
			if weights[i] == 0 {
				require.Zero(t, got, "weight %d of %v", i, weights)
			}
		}
	}
}

func TestWideAndNarrowWeightsMakeOneTable(t *testing.T) {
	narrow, wide := make([]float32, 1000), make([]float64, 1000)
	for i := range narrow {
		narrow[i] = rand.Float32()
		wide[i] = float64(narrow[i])
	}
	a, err := NewAlias(narrow)
	require.NoError(t, err)
	defer a.Close()
	require.Equal(t, shares(openAlias(t, wide)), shares(a))
}
