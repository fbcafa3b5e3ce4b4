package draw

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// expExact is e^x to 300 bits: a Taylor series at x/2^20, squared 20 times.
func expExact(x float32) *big.Float {
	const halvings = 20
	small := new(big.Float).SetPrec(400).SetFloat64(float64(x))
	small.SetMantExp(small, -halvings)
	sum, term := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
	for n := 1; n < 40; n++ {
		term.Mul(term, small)
		term.Quo(term, big.NewFloat(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestExp32IsTheNearestFloat32(t *testing.T) {
	pick := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		x := float32(pick.Float64()*160 - 80)
		if pick.IntN(2) == 0 {
			x = float32(pick.Float64()*2 - 1)
		}
		want, _ := expExact(x).Float32()
		require.Equal(t, want, exp32(x), "exp(%v)", x)
	}
	for _, x := range []float32{0, 1, -1, 80, -80, 1e-30, -1e-30, math.SmallestNonzeroFloat32} {
		want, _ := expExact(x).Float32()
		require.Equal(t, want, exp32(x), "exp(%v)", x)
	}
}

func TestDoubleDoubleKeeps90Bits(t *testing.T) {
	pick := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		x := float32(pick.Float64()*160 - 80)
		got := expDoubleDouble(float64(x))
		want := expExact(x)
		off := new(big.Float).SetPrec(400).SetFloat64(got.hi)
		off.Add(off, new(big.Float).SetFloat64(got.lo))
		off.Sub(off, want)
		off.Quo(off, want)
		relative, _ := off.Float64()
		require.Less(t, math.Abs(relative), 0x1p-90, "exp(%v)", x)
		near, _ := want.Float32()
		require.Equal(t, near, got.float32(), "exp(%v)", x)
	}
}

// Where rounding hi alone would go the wrong way, lo decides.
func TestAPairIsRoundedOnce(t *testing.T) {
	middle := 1 + 0x1p-24 // between 1 and the next float32
	require.EqualValues(t, 1, pair{middle, 0}.float32())
	require.EqualValues(t, 1, pair{middle, -0x1p-80}.float32())
	require.EqualValues(t, float32(1+0x1p-23), pair{middle, 0x1p-80}.float32())
}

func TestAnswersMustBeNear(t *testing.T) {
	var a Answers
	x := float32(0.25)
	nearest := exp32(x)
	above := math.Nextafter32(nearest, 9)
	require.NoError(t, a.Learn(x, nearest))
	require.NoError(t, a.Learn(x, math.Nextafter32(nearest, 0)))
	require.NoError(t, a.Learn(x, above))
	require.ErrorContains(t, a.Learn(x, math.Nextafter32(above, 9)), "more than 1 ulp")
	require.Error(t, a.Learn(x, float32(math.NaN())))
	y, known := a.find(x)
	require.True(t, known)
	require.Equal(t, above, y)
	_, known = (*Answers)(nil).find(x)
	require.False(t, known)
}
