package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever becomes of outstanding batches, those with something left to do are listed, in order.
func TestPendingBatchesAreThoseThatAreNotDone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := &Run{}
	for range 5000 {
		n := len(r.batches)
		switch at := random.IntN(n + 1); {
		case at == n || random.IntN(8) == 0: // another one, at the end or before one of them
			b := &batch{undone: random.IntN(2)}
			r.batches = slices.Insert(r.batches, at, b)
			r.relist(b)
		case random.IntN(n) > 20: // the first is taken
			r.pending.remove(r.batches[0])
			r.batches = slices.Delete(r.batches, 0, 1)
		default: // one is done, or has to be done again
			b := r.batches[at]
			b.undone = random.IntN(2)
			r.relist(b)
		}
		var want []*batch
		for _, b := range r.batches {
			if b.undone > 0 {
				want = append(want, b)
			}
		}
		var forth, back []*batch
		for b := r.pending.first; b != nil; b = b.later {
			forth = append(forth, b)
		}
		for b := r.pending.last; b != nil; b = b.earlier {
			back = append(back, b)
		}
		slices.Reverse(back)
		require.Len(t, want, r.pending.count)
		require.True(t, slices.Equal(want, forth) && slices.Equal(want, back))
	}
	require.Greater(t, len(r.batches), 10)
}
