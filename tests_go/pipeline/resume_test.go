package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// A run is left after any number of batches, with others under way; another run that is put to its position goes on as
// the first would have, whatever errors came before and come behind.
func TestARunGoesOnWhereAnotherStood(t *testing.T) {
	const n, count = 36, 14
	for at, make := range []func(int) *plan.Plan{training, cropping, flipping, still, joined} {
		t.Run(fmt.Sprint("plan ", at), func(t *testing.T) {
			leakcheck.Check(t)
			random := rand.New(rand.NewPCG(uint64(at), 7))
			photos, p := makePhotos(n, uint64(at), mixed(good, good, asked, bad)...), make(n)
			l := openLoader(t, p, store(t, photos))
			for range 6 {
				o := pipeline.Options{
					Workers: 1 + random.IntN(3), Streams: 1 + random.IntN(4), BaseSeed: random.Uint64(), Span: random.IntN(5),
				}
				batches := randomBatches(random, n, count, 6)
				m := newModel(p, photos, o.Streams, o.BaseSeed)
				if random.IntN(2) == 0 {
					for w := range o.Streams {
						o.Seeds = append(o.Seeds, random.Uint64())
						m.streams[w] = rng.New(o.Seeds[w])
					}
				}
				want := []outcome{}
				for _, indices := range batches {
					want = append(want, m.batch(indices))
				}
				first, left := start(t, l, p, photos, o), random.IntN(count+1)
				ahead := random.IntN(count - left + 1)
				for _, indices := range batches[:left+ahead] {
					first.submit(indices...)
				}
				for k := range left {
					requireOutcome(t, want[k], first.result(nil))
				}
				drawn := positionOf(t, first, o.Streams)
				first.close()

				o.Workers = 1 + random.IntN(3)
				second := start(t, l, p, photos, o)
				require.NoError(t, second.run.Resume(int64(left), drawn))
				require.Equal(t, drawn, positionOf(t, second, o.Streams))
				for k, got := range second.epoch(batches[left:], 1+random.IntN(6), nil) {
					requireOutcome(t, want[left+k], got, "left after %d, batch %d", left, left+k)
				}
				for w, stream := range m.streams {
					require.Equal(t, stream.Drawn(), positionOf(t, second, o.Streams)[w], "stream %d", w)
				}
			}
		})
	}
}

func positionOf(t *testing.T, r *rig, streams int) []int64 {
	t.Helper()
	drawn := make([]int64, streams)
	require.NoError(t, r.run.Position(drawn))
	return drawn
}

func TestResumeWantsANewRunAndItsStreams(t *testing.T) {
	r := newRig(t, training(4), makePhotos(4, 1, good...), pipeline.Options{Workers: 1, Streams: 2})
	require.Error(t, r.run.Resume(0, []int64{0}))
	require.Error(t, r.run.Resume(-1, []int64{0, 0}))
	require.Error(t, r.run.Resume(0, []int64{0, -1}))
	require.Error(t, r.run.Position(make([]int64, 3)))
	r.submit(0)
	require.ErrorIs(t, r.run.Resume(0, []int64{0, 0}), pipeline.ErrState)
	r.result(nil)
}

// With a seed a sample, what a sample becomes is a matter of its seed alone: not of its batch, its place, its stream,
// its run, or of errors beside it.
func TestASeededSampleIsTheSameAnywhere(t *testing.T) {
	const n = 24
	for at, make := range []func(int) *plan.Plan{training, cropping, flipping, joined} {
		t.Run(fmt.Sprint("plan ", at), func(t *testing.T) {
			leakcheck.Check(t)
			random := rand.New(rand.NewPCG(uint64(at), 8))
			photos, p := makePhotos(n, uint64(at), mixed(good, good, asked, bad)...), make(n)
			l := openLoader(t, p, store(t, photos))
			seedOf := func(index int64) uint64 { return uint64(index)*977 + 5 }
			alone := func(index int64) outcome {
				return newModel(p, photos, 1, seedOf(index)).batch([]int64{index})
			}
			for range 4 {
				o := pipeline.Options{Workers: 1 + random.IntN(3), Streams: 1 + random.IntN(3), Span: random.IntN(5)}
				r := start(t, l, p, photos, o)
				batches := randomBatches(random, n, 12, 6)
				for _, indices := range batches {
					seeds := []uint64{}
					for _, index := range indices {
						seeds = append(seeds, seedOf(index))
					}
					require.NoError(t, r.run.Submit(indices, seeds, nil, 0))
				}
				for _, indices := range batches {
					got, pixels := r.result(nil), []byte{}
					for position, index := range indices {
						one := alone(index)
						if one.kind != delivered {
							require.Equal(t, one.kind, got.kind)
							require.Equal(t, position, got.position)
							break
						}
						pixels = append(pixels, one.pixels...)
					}
					if got.kind == delivered {
						require.Equal(t, len(pixels), len(got.pixels))
						require.True(t, string(pixels) == string(got.pixels))
					}
				}
			}
			r := start(t, l, p, photos, pipeline.Options{Workers: 1, Streams: 1})
			require.Error(t, r.run.Submit([]int64{0, 1}, []uint64{1}, nil, 0))
		})
	}
}

// Whoever takes a batch may draw from its stream before the stream's next batch does, at every batch or at some, said
// ahead or not.
func TestACallerDrawsBetweenTheBatchesOfAStream(t *testing.T) {
	const n, count = 36, 14
	for at, make := range []func(int) *plan.Plan{training, cropping, flipping, joined} {
		t.Run(fmt.Sprint("plan ", at), func(t *testing.T) {
			leakcheck.Check(t)
			random := rand.New(rand.NewPCG(uint64(at), 9))
			photos, p := makePhotos(n, uint64(at), mixed(good, good, asked, bad)...), make(n)
			l := openLoader(t, p, store(t, photos))
			for range 8 {
				o := pipeline.Options{
					Workers: 1 + random.IntN(3), Streams: 1 + random.IntN(4), BaseSeed: random.Uint64(), Span: random.IntN(5),
				}
				batches, ahead := randomBatches(random, n, count, 6), 1+random.IntN(count)
				m := newModel(p, photos, o.Streams, o.BaseSeed)
				r := start(t, l, p, photos, o)
				require.NoError(t, second(r.run.Follow(0, nil, random.IntN(2) == 0)))
				for _, indices := range batches[:ahead] {
					r.submit(indices...)
				}
				for k, indices := range batches {
					stream := k % o.Streams
					requireOutcome(t, m.batch(indices), r.result(nil), "batch %d", k)
					var state []byte
					if random.IntN(3) > 0 {
						m.streams[stream].Discard(random.Int64N(700))
						state = append(state, torchState(t, &m.streams[stream])...)
						require.NoError(t, m.streams[stream].LoadTorch(state))
					}
					require.NoError(t, second(r.run.Follow(stream, state, random.IntN(2) == 0)))
					if ahead < count {
						r.submit(batches[ahead]...)
						ahead++
					}
				}
				for w, stream := range m.streams {
					require.Equal(t, stream.Drawn(), positionOf(t, r, o.Streams)[w], "stream %d", w)
				}
				r.close()
			}
		})
	}
}

func torchState(t *testing.T, generator *rng.MT19937) []byte {
	t.Helper()
	state := make([]byte, rng.TorchStateBytes)
	require.NoError(t, generator.StoreTorch(state))
	return state
}
