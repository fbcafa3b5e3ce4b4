package sampler_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/sampler"
)

// golden is what torch's samplers gave (testdata/generate_rng.py).
type golden struct {
	Samplers []struct {
		Kind           string
		N, Count, Len  int64
		Take           int
		Seed, Epoch    int64
		Replicas, Rank int64
		Shuffle        bool
		DropLast       bool `json:"drop_last"`
		Indices        []int64
		Taken          [][]int64
		States         []string // of the generator after each take
	}
	Batches []struct {
		N        int64
		Size     int
		DropLast bool `json:"drop_last"`
		Batches  [][]int64
		Len      int64
	}
}

func load(t *testing.T) (g golden) {
	text, err := os.ReadFile("../testdata/sampler.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &g))
	require.NotEmpty(t, g.Samplers)
	return g
}

func TestSamplersAreTorchs(t *testing.T) {
	for _, c := range load(t).Samplers {
		r := rng.New(uint64(c.Seed))
		var s sampler.Sampler
		var err error
		switch c.Kind {
		case "random":
			s, err = sampler.NewRandom(&r, c.N, c.Count)
		case "with_replacement":
			s, err = sampler.NewWithReplacement(&r, c.N, c.Count)
		case "subset_random":
			s = sampler.NewSubsetRandom(&r, c.Indices)
		case "distributed":
			s, err = sampler.NewDistributed(c.N, sampler.Sharing{Replicas: c.Replicas, Rank: c.Rank, Shuffle: c.Shuffle,
				Seed: c.Seed, Epoch: c.Epoch, DropLast: c.DropLast})
		default:
			t.Fatalf("unknown kind %q", c.Kind)
		}
		require.NoError(t, err)
		require.Equal(t, c.Len, s.Len())
		for i, want := range c.Taken {
			got := make([]int64, c.Take)
			got = got[:s.Next(got)]
			require.Equal(t, want, got, "%+v", c)
			if c.States[i] != "" {
				require.Equal(t, c.States[i], digest(t, &r), "take %d of %+v", i, c)
			}
		}
		require.Zero(t, s.Next(make([]int64, 3)), "a pass that is over stays over")
	}
}

func digest(t *testing.T, r *rng.MT19937) string {
	b := make([]byte, rng.TorchStateBytes)
	require.NoError(t, r.StoreTorch(b))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestBatchesAreTorchs(t *testing.T) {
	for _, c := range load(t).Batches {
		b, err := sampler.NewBatch(sampler.NewSequential(c.N), c.Size, c.DropLast)
		require.NoError(t, err)
		require.Equal(t, c.Len, b.Len())
		for _, want := range c.Batches {
			require.Equal(t, want, b.Next(), "%+v", c)
		}
		require.Nil(t, b.Next(), "%+v", c)
		require.Nil(t, b.Next(), "%+v", c)
	}
}

func TestArgumentsThatTorchRefuses(t *testing.T) {
	r := rng.New(1)
	_, err := sampler.NewRandom(&r, 0, 5)
	require.ErrorContains(t, err, "nothing to draw from")
	_, err = sampler.NewWithReplacement(&r, 5, 0)
	require.EqualError(t, err, "num_samples should be a positive integer value, but got num_samples=0")
	_, err = sampler.NewDistributed(5, sampler.Sharing{Replicas: 2, Rank: 2})
	require.EqualError(t, err, "Invalid rank 2, rank should be in the interval [0, 1]")
	_, err = sampler.NewDistributed(-1, sampler.Sharing{Replicas: 2})
	require.Error(t, err)
	_, err = sampler.NewBatch(sampler.NewSequential(5), 0, false)
	require.EqualError(t, err, "batch_size should be a positive integer value, but got batch_size=0")
	require.Zero(t, sampler.NewSequential(-3).Len())
}

func BenchmarkPermutation(b *testing.B) {
	r := rng.New(1)
	order := make([]int64, 1_281_167)
	for b.Loop() {
		sampler.Permute(&r, order)
	}
}
