package rng

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// torch shuffles inside out from permuteTwoWords on: 1.7 GB of indices, too much for a test. There, n = 214748363 and
// 214748364, both ways gave torch.randperm's indices and state. Here the large way runs on few: Fisher and Yates's
// numbers taken from the same words.
func TestLargePermutationsDrawTwoWordsAnIndex(t *testing.T) {
	require.EqualValues(t, 214748364, permuteTwoWords)
	r := New(7)
	again := r
	got := make([]int64, 100)
	r.shuffleInsideOut(got)
	var want []int64
	for i := range int64(100) {
		j := int64(again.Uint64() % uint64(i+1))
		want = append(want, i)
		want[i], want[j] = want[j], i
	}
	require.Equal(t, want, got)
	require.Equal(t, again, r)
}
