package pipeline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// Fewer workers work while their batches lie ready, and all of them again when they do not: within one epoch, whose batches are
// those of one worker.
func TestAsManyWorkAsTheCallerNeeds(t *testing.T) {
	const n, workers, ahead = 40, 4, 8
	leakcheck.Check(t)
	random := logSeed(t)
	photos, p := makePhotos(n, 1, good...), training(n)
	batches := randomBatches(random, n, 4000, 6)
	l := openLoader(t, p, store(t, photos))
	m := newModel(p, photos, 2, 7)
	r := start(t, l, p, photos, pipeline.Options{Workers: workers, Streams: 2, BaseSeed: 7})
	may := func() int64 { return l.Stats.Snapshot().Workers }
	require.EqualValues(t, workers, may())

	submitted, taken := 0, 0
	submit := func(until int) {
		for ; submitted < until; submitted++ {
			r.submit(batches[submitted]...)
		}
	}
	take := func() {
		require.Less(t, taken+ahead, len(batches), "it has not changed in a whole epoch")
		requireOutcome(t, m.batch(batches[taken]), r.result(nil), "batch %d", taken)
		taken++
		submit(taken + ahead)
	}
	submit(ahead)
	for may() > 1 {
		time.Sleep(2 * time.Millisecond) // as a training step
		take()
	}
	for may() < workers {
		submit(taken + 1)
		take()
		// Whoever takes everything at once has to wait for it.
		for submitted > taken {
			requireOutcome(t, m.batch(batches[taken]), r.result(nil), "batch %d", taken)
			taken++
		}
	}
	require.Greater(t, taken, workers)
}

// Workers that all may work do at once: a caller that always waits gets all of them.
func TestWhoWaitsHasAllWorkers(t *testing.T) {
	photos, p := makePhotos(8, 1, good...), still(8)
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 3, Streams: 1})
	for range 100 {
		r.submit(0, 1, 2, 3)
		requireOutcome(t, newModel(p, photos, 1, 0).batch([]int64{0, 1, 2, 3}), r.result(nil))
		require.EqualValues(t, 3, l.Stats.Snapshot().Workers)
	}
}
