package rng_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/rng"
)

// torch.empty(2, 3, 3).permute(2, 0, 1).normal_(generator=torch.Generator().manual_seed(5489)), in memory's order.
var pairsOfTorch = []float64{
	-0x1.590d4c0000000p-2, -0x1.e84ff60000000p-4, 0x1.37d4720000000p+0, 0x1.20a8640000000p-1, 0x1.86dc060000000p+0, 0x1.7a5dfa0000000p-1,
	-0x1.ba10e40000000p-4, 0x1.f990700000000p-4, 0x1.bb2cfc0000000p-2, -0x1.2457000000000p-4, 0x1.c82d440000000p-2, -0x1.aa89680000000p+0,
	-0x1.c6a7a60000000p-5, 0x1.40b6d00000000p-2, 0x1.4e55080000000p+0, -0x1.b1ce9a0000000p-3, 0x1.cf6ebc0000000p-4, -0x1.0c557e0000000p+0,
}

func TestTorchsPairsOfDeviatesAreItsOwn(t *testing.T) {
	mt := rng.New(5489)
	got := make([]uint64, len(pairsOfTorch))
	mt.DrawAll(rng.Pairs, got)
	for k, want := range pairsOfTorch {
		require.Equal(t, want, math.Float64frombits(got[k]), "number %d", k)
	}
	require.EqualValues(t, 2*len(pairsOfTorch), mt.Drawn())
}

// Drawing for nobody leaves the generator where drawing word by word does, wherever words are made anew.
func TestNoiseIsSkipped(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	mt, single := rng.New(7), rng.New(7)
	for range 1000 {
		n := 16 + draw.Int64N(1<<draw.IntN(12))
		kind := []rng.NoiseKind{rng.Uniform, rng.Normals, rng.NormalsAVX2, rng.Pairs}[draw.IntN(4)]
		words := n
		switch {
		case kind == rng.Pairs:
			n &^= 1
			words = 2 * n
		case kind != rng.Uniform && n%16 != 0:
			words += 16
		}
		_, ok := mt.Draw(kind, n)
		require.True(t, ok)
		for range words {
			single.Uint32()
		}
		require.Equal(t, single.Drawn(), mt.Drawn())
		require.Equal(t, single.Uint64(), mt.Uint64())
	}
}

// What is made later is what is drawn now, also of a state that came from torch.
func TestNoiseIsMadeOfWhereTheGeneratorStood(t *testing.T) {
	first := rng.New(3)
	first.Discard(1000)
	state := make([]byte, rng.TorchStateBytes)
	require.NoError(t, first.StoreTorch(state))
	var mt rng.MT19937
	require.NoError(t, mt.LoadTorch(state))
	got, want := make([]uint64, 999), make([]uint64, 999)
	mt.DrawAll(rng.Uniform, got)
	first.RandFill(want)
	require.Equal(t, want, got)
	require.Equal(t, first.Uint64(), mt.Uint64())
}

func TestNoiseThatTorchDrawsInAnotherWayIsRefused(t *testing.T) {
	mt := rng.New(1)
	for kind, n := range map[rng.NoiseKind]int64{rng.Normals: 15, rng.NormalsAVX2: 1, rng.Pairs: 33} {
		_, ok := mt.Draw(kind, n)
		require.False(t, ok)
	}
	require.Zero(t, mt.Drawn())
	// torch keeps the second of two deviates of float64: a flag behind the words, and the numbers before it.
	state := make([]byte, rng.TorchStateBytes)
	require.NoError(t, mt.StoreTorch(state))
	state[5016+24] = 1
	require.NoError(t, mt.LoadTorch(state))
	_, ok := mt.Draw(rng.Pairs, 32)
	require.False(t, ok)
	_, ok = mt.Draw(rng.Normals, 32)
	require.True(t, ok)
}

func BenchmarkNoiseIsSkipped(b *testing.B) {
	mt := rng.New(3)
	for b.Loop() {
		mt.Draw(rng.NormalsAVX2, 3*224*224)
	}
}

func BenchmarkNoise(b *testing.B) {
	for name, kind := range map[string]rng.NoiseKind{"rand": rng.Uniform, "randn": rng.Normals, "avx2": rng.NormalsAVX2, "pairs": rng.Pairs} {
		b.Run(name, func(b *testing.B) {
			mt, numbers := rng.New(3), make([]uint64, 3*224*224)
			b.SetBytes(4 * 3 * 224 * 224)
			for b.Loop() {
				mt.DrawAll(kind, numbers)
			}
		})
	}
}
