package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// user is somebody who does whatever the interface allows, in any order, and always knows what should come of it.
type user struct {
	*rig
	random *rand.Rand
	model  *model
	want   []outcome // of the batches submitted and not taken
	kept   []keptLease
	log    []string
}

type keptLease struct {
	lease pipeline.Lease
	want  outcome
}

func (u *user) do(format string, args ...any) { u.log = append(u.log, fmt.Sprintf(format, args...)) }

// submit1 submits a random batch; what must come of it is known at once.
func (u *user) submit1() {
	indices := randomBatches(u.random, len(u.photos), 1, 7)[0]
	var memory []byte
	if u.random.IntN(4) == 0 {
		memory = lend(u.t, 1<<17)
	}
	u.do("submit %v lent %d", indices, len(memory))
	require.NoError(u.t, u.run.Submit(indices, nil, address(memory), len(memory)))
	u.want = append(u.want, u.model.batch(indices))
}

// step is one call of Next, and perhaps an answer.
func (u *user) step() {
	news, lease, ask, err := u.run.Next()
	u.do("next: %v %+v %v", news, ask, err)
	switch {
	case err != nil:
		require.ErrorIs(u.t, err, pipeline.ErrShape)
		u.took(outcome{kind: uneven, text: err.Error()})
	case news == pipeline.Delivered:
		got := u.read(lease)
		want := u.took(got)
		if lease.Slot.Valid() {
			u.kept = append(u.kept, keptLease{lease, want})
		}
	case news == pipeline.Asked && u.random.IntN(5) > 0: // else later
		if ended, got := u.answer(ask); ended {
			u.took(got)
		}
	}
}

func (u *user) took(got outcome) (want outcome) {
	want, u.want = u.want[0], u.want[1:]
	requireOutcome(u.t, want, got)
	return want
}

// drop looks at a kept batch and gives it back.
func (u *user) drop() {
	if len(u.kept) == 0 {
		return
	}
	k := u.random.IntN(len(u.kept))
	requireOutcome(u.t, u.kept[k].want, u.read(u.kept[k].lease), "a kept batch")
	u.kept[k].lease.Slot.Release()
	u.kept[k] = u.kept[len(u.kept)-1]
	u.kept = u.kept[:len(u.kept)-1]
}

// reset forgets everything. How far the streams had come by then is nobody's business, so stream 0 is set anew; with
// more streams everything is taken before.
func (u *user) reset() {
	if len(u.model.streams) > 1 {
		for len(u.want) > 0 {
			u.takeOne()
		}
	}
	u.do("reset")
	require.NoError(u.t, second(u.run.Reset()))
	u.want, u.model.sequence = nil, 0
	if len(u.model.streams) == 1 {
		u.model.streams[0] = rng.New(u.random.Uint64())
		state := make([]byte, rng.TorchStateBytes)
		require.NoError(u.t, u.model.streams[0].StoreTorch(state))
		require.NoError(u.t, u.run.LoadRNG(state))
	}
}

// takeOne takes the next batch for sure.
func (u *user) takeOne() {
	left := len(u.want)
	for deadline := time.Now().Add(patience); len(u.want) == left; {
		require.True(u.t, time.Now().Before(deadline), "the run hangs")
		u.step()
	}
}

func TestAnySequenceOfCallsDoesWhatTheModelDoes(t *testing.T) {
	const n = 36
	plans := []func(int) *plan.Plan{training, cropping, flipping, still, joined}
	seeds := []uint64{1, 2, 3, 4, 5, 6, uint64(time.Now().UnixNano()), uint64(time.Now().UnixNano()) + 1}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			leakcheck.Check(t)
			random := rand.New(rand.NewPCG(seed, 2))
			p := plans[random.IntN(len(plans))](n)
			photos := makePhotos(n, seed, mixed(good, good, good, asked, bad)...)
			random.Shuffle(n, func(i, k int) { photos[i], photos[k] = photos[k], photos[i] })
			l := openLoader(t, p, store(t, photos))
			for range 3 {
				o := pipeline.Options{
					Workers: 1 + random.IntN(4), Streams: 1 + random.IntN(3), BaseSeed: random.Uint64(), Span: random.IntN(5),
					Poison:     random.IntN(2) == 0,
					SlowSource: random.IntN(3) == 0, ReadAhead: random.IntN(3) * 1000,
				}
				u := &user{rig: start(t, l, p, photos, o), random: random, model: newModel(p, photos, o.Streams, o.BaseSeed)}
				u.do("start %+v", o)
				t.Cleanup(func() {
					if t.Failed() {
						for _, line := range u.log {
							t.Log(line)
						}
					}
				})
				for range 150 {
					switch what := random.IntN(100); {
					case what < 30 && len(u.want) < 8:
						u.submit1()
					case what < 80:
						u.step()
					case what < 88 && len(u.want) > 0:
						u.takeOne()
					case what < 97:
						u.drop()
					case what < 99:
						u.reset()
					default:
						time.Sleep(time.Millisecond)
					}
				}
				u.do("close")
				u.close() // with work in flight
				for len(u.kept) > 0 {
					u.drop()
				}
			}
		})
	}
}
