package pipeline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/node"
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

// A run takes the cores that other ranks leave, and gives them back, in the middle of an epoch; its batches are those of one
// worker.
func TestARunBorrowsWhatOtherRanksLeave(t *testing.T) {
	const n, ranks, cores, share = 40, 3, 6, 2
	leakcheck.Check(t)
	random := logSeed(t)
	photos, p := makePhotos(n, 1, good...), training(n)
	l := openLoader(t, p, store(t, photos))
	m := newModel(p, photos, 2, 7)
	name := fmt.Sprintf("crew-%d-%d", os.Getpid(), random.Uint64())
	var tables []*node.Cores
	for rank := range ranks {
		c, err := node.OpenCores(name, rank, ranks, cores)
		require.NoError(t, err)
		defer c.Close()
		tables = append(tables, c)
	}
	r := start(t, l, p, photos, pipeline.Options{Workers: share, Streams: 2, BaseSeed: 7, Span: 1, Cores: tables[0]})
	defer r.close()
	workers := func() (n int) { // there may be readers as well, as on a busy machine every source looks slow
		for _, each := range r.run.Statements() {
			if strings.HasPrefix(each.Who, "worker ") {
				n++
			}
		}
		return n
	}
	need := make([]node.Need, ranks)
	others := func(said node.Need) {
		for rank := 1; rank < ranks; rank++ {
			tables[rank].Tell(&need[rank], said)
		}
	}
	most := 0 // workers that there were
	// until takes batches, some at a time, until so many workers may work, while the other ranks need something.
	until := func(want int64, need node.Need) {
		t.Helper()
		for range 1000 {
			batches := randomBatches(random, n, 8, 9)
			for _, indices := range batches {
				r.submit(indices...)
			}
			for _, indices := range batches {
				others(need)
				requireOutcome(t, m.batch(indices), r.result(nil))
				most = max(most, workers())
			}
			if l.Stats.Snapshot().Workers == want {
				return
			}
		}
		require.Fail(t, "never so many", "%d", want)
	}
	greedy := node.Need{Busy: share, Wants: share, Greedy: true}
	for range 100 { // a few may do it all by chance
		if until(cores, node.Need{}); most > share {
			break
		}
	}
	require.Greater(t, most, share)
	until(share, greedy)
	until(cores-2, node.Need{Wants: 1})
	require.LessOrEqual(t, most, cores)
	r.close()
	others(node.Need{})
	require.Equal(t, cores, tables[1].Tell(&need[1], greedy)) // the run that is over needs none
}

// Fewer workers than the share are as many as were asked for.
func TestARunWithLessThanItsShareBorrowsNothing(t *testing.T) {
	photos, p := makePhotos(8, 1, good...), still(8)
	l := openLoader(t, p, store(t, photos))
	c, err := node.OpenCores(fmt.Sprintf("less-%d", os.Getpid()), 0, 2, 6)
	require.NoError(t, err)
	defer c.Close()
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1, Cores: c})
	defer r.close()
	for range 100 {
		r.submit(0, 1, 2, 3)
		requireOutcome(t, newModel(p, photos, 1, 0).batch([]int64{0, 1, 2, 3}), r.result(nil))
		require.EqualValues(t, 2, l.Stats.Snapshot().Workers)
	}
}
