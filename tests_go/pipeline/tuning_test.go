package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// logSeed gives a new seed each time, to be found in the log of a failure.
func logSeed(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func mixed(kindsOf ...[]string) (all []string) {
	for _, k := range kindsOf {
		all = append(all, k...)
	}
	return all
}

// Tuning may change how fast batches come, never which or what they are. Only the number of random streams counts. The
// measure is the model, which does one sample after the other.
func TestTuningNeverChangesBatches(t *testing.T) {
	const n = 40
	for name, make := range map[string]func(int) *plan.Plan{
		"training": training, "cropping": cropping, "flipping": flipping, "still": still, "joined": joined,
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			random := logSeed(t)
			photos := makePhotos(n, 1, mixed(good, good, asked)...)
			p := make(n)
			l := openLoader(t, p, store(t, photos))
			for _, streams := range []int{1, 3} {
				batches := randomBatches(random, n, 12, 9)
				seed := random.Uint64()
				m := newModel(p, photos, streams, seed)
				var want []outcome
				for _, indices := range batches {
					want = append(want, m.batch(indices))
				}
				for range 4 {
					ahead := 1 + random.IntN(2*len(batches))
					o := pipeline.Options{
						Workers: 1 + random.IntN(6), Streams: streams, BaseSeed: seed, Span: random.IntN(20), Poison: random.IntN(2) == 0,
						SlowSource: random.IntN(3) == 0, ReadAhead: random.IntN(3) * 1000,
					}
					about := fmt.Sprintf("%+v, %d ahead", o, ahead)
					r := start(t, l, p, photos, o)
					var kept []pipeline.Lease
					got := r.epoch(batches, ahead, &kept)
					for k := range batches {
						requireOutcome(t, want[k], got[k], "batch %d with %s", k, about)
					}
					// A kept batch stays as it is, whatever the run does.
					r.epoch(batches, ahead, nil)
					r.close()
					k := 0
					for _, lease := range kept {
						for ; want[k].kind != delivered; k++ {
						}
						requireOutcome(t, want[k], r.read(lease), "kept batch %d with %s", k, about)
						k++
						if lease.Slot.Valid() {
							lease.Slot.Release()
						}
					}
				}
			}
		})
	}
}

// A worker's generator goes on over epochs, as with persistent workers.
func TestStreamsGoOnAfterAResetWithNothingOutstanding(t *testing.T) {
	const n = 20
	photos, p := makePhotos(n, 2, good...), training(n)
	r := newRig(t, p, photos, pipeline.Options{Workers: 3, Streams: 2, BaseSeed: 7})
	m := newModel(p, photos, 2, 7)
	random := rand.New(rand.NewPCG(3, 3))
	for range 3 {
		batches := randomBatches(random, n, 5, 4)
		got := r.epoch(batches, 3, nil)
		for k, indices := range batches {
			requireOutcome(t, m.batch(indices), got[k])
		}
		require.NoError(t, second(r.run.Reset()))
		m.sequence = 0 // the next batch is the first worker's again
	}
}

func TestSequenceCountsBatchesSinceReset(t *testing.T) {
	r := newRig(t, still(4), makePhotos(4, 1, good...), pipeline.Options{Workers: 2, Streams: 2})
	for range 2 {
		for k := range 3 {
			r.submit(0, 1)
			lease := r.deliver()
			require.EqualValues(t, k, lease.Sequence)
			lease.Slot.Release()
		}
		require.NoError(t, second(r.run.Reset()))
	}
}

// Both runs take workers and buffers from the same loader, and draw from generators of their own.
func TestTwoRunsOfALoaderDoNotDisturbEachOther(t *testing.T) {
	leakcheck.Check(t)
	const n = 30
	photos, p := makePhotos(n, 4, mixed(good, good, asked, bad)...), training(n)
	l := openLoader(t, p, store(t, photos))
	batches := randomBatches(rand.New(rand.NewPCG(5, 5)), n, 25, 3)
	type ended struct {
		seed     uint64
		outcomes []outcome
	}
	results := make(chan ended)
	runs := []uint64{100, 200, 300}
	for _, seed := range runs {
		r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 2, BaseSeed: seed})
		go func() {
			var outcomes []outcome
			defer func() { results <- ended{seed, outcomes} }() // also if the rig gives up
			outcomes = r.epoch(batches, 4, nil)
		}()
	}
	for range runs {
		got := <-results
		require.Len(t, got.outcomes, len(batches))
		m := newModel(p, photos, 2, got.seed)
		for k, indices := range batches {
			requireOutcome(t, m.batch(indices), got.outcomes[k], "batch %d of seed %d", k, got.seed)
		}
	}
}

// slowToDraw is a plan whose draws take milliseconds a sample.
func slowToDraw(n int) *plan.Plan {
	p := still(n)
	for range 1 << 18 {
		p.Parts[0].Transforms = append(p.Parts[0].Transforms, plan.RandomVerticalFlip{})
	}
	return p
}

// drawing is how many goroutines draw at this moment.
func drawing() (n int) {
	stacks := make([]byte, 1<<20)
	for goroutine := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(goroutine, "draw.(*Program).Draw(") {
			n++
		}
	}
	return n
}

func TestStreamsAreDrawnFromAtTheSameTime(t *testing.T) {
	r := newRig(t, slowToDraw(2), makePhotos(2, 1, good...), pipeline.Options{Workers: 2, Streams: 2})
	eventually(t, func() bool {
		r.submit(0)
		r.submit(1)
		most := 0
		for delivered := 0; delivered < 2; {
			most = max(most, drawing())
			news, lease, _, err := r.run.Next()
			require.NoError(t, err)
			if news == pipeline.Delivered {
				lease.Slot.Release()
				delivered++
			}
		}
		return most == 2
	})
}

func TestWhoDrawsIsNotForgottenByAResetOrClose(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(4, 1, good...), slowToDraw(4)
	l := openLoader(t, p, store(t, photos))
	for _, o := range []pipeline.Options{{Workers: 2, Streams: 2}, {Workers: 2, Streams: 2, SlowSource: true}} {
		for range 5 {
			r := start(t, l, p, photos, o)
			untilItDraws := func() {
				for drawing() == 0 {
					news, lease, _, err := r.run.Next()
					require.NoError(t, err)
					switch news {
					case pipeline.Idle:
						r.submit(0, 1)
						r.submit(2, 3)
					case pipeline.Delivered:
						lease.Slot.Release()
					}
				}
			}
			for range 2 {
				untilItDraws()
				requireSoon(t, func() { require.NoError(t, second(r.run.Reset())) })
			}
			untilItDraws()
			requireSoon(t, func() { require.NoError(t, r.run.Close()) })
		}
	}
}
