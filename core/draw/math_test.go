package draw

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// away is the float64 that lies so many places from v.
func away(v float64, places int64) float64 {
	return math.Float64frombits(uint64(int64(math.Float64bits(v)) + places))
}

func TestSettledNumbersAreOneFloat32WithAllAround(t *testing.T) {
	const ulps = 40
	pick := rand.New(rand.NewPCG(7, 8))
	refused := 0
	for range 20_000 {
		v := math.Exp(pick.Float64()*120 - 100)
		if pick.IntN(4) == 0 { // near the middle of two float32
			v = away(math.Float64frombits(math.Float64bits(v)&^(1<<29-1)|1<<28), pick.Int64N(200)-100)
		}
		if settled(v, ulps) != v {
			require.True(t, math.IsNaN(settled(v, ulps)))
			refused++
			continue
		}
		for _, places := range []int64{-ulps, -1, 1, ulps} {
			require.Equal(t, float32(v), float32(away(v, places)), "%v", v)
		}
	}
	require.Greater(t, refused, 1000)
	require.Less(t, refused, 4000)
	require.Zero(t, settled(0, ulps))
}

func TestDivisorsAreNormal(t *testing.T) {
	require.Equal(t, 0x1p-499, divisor(0x1p-499, 0))
	for _, v := range []float64{0, 5e-324, 0x1p-501, -1, math.NaN()} {
		require.True(t, math.IsNaN(divisor(v, 0)) || math.IsNaN(v), "%v", v)
	}
}
