package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/faulty"
)

// eventually waits for something that workers do by themselves.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it never happens")
	}
}

// One slow file delays its own batch: later batches are finished meanwhile, and still come behind it.
func TestASlowFileDelaysItsOwnBatchOnly(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(8, 1, good...), training(8)
	inner := store(t, photos)
	slow := faulty.Wrap(inner)
	gate := faulty.NewGate(inner, 1)
	slow.OnRead(1, gate.Read)
	l := openLoader(t, p, slow)
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 4, Span: 1})
	m := newModel(p, photos, 4, 0)
	batches := [][]int64{{0, 1}, {2, 3}, {4, 5}, {6, 7}}
	for _, indices := range batches {
		r.submit(indices...)
	}
	<-gate.Arrived()
	eventually(t, func() bool { return l.Stats.Samples.Load() >= 6 })
	news, _, _, err := r.run.Next()
	require.NoError(t, err)
	require.Equal(t, pipeline.Empty, news, "the first batch is not ready, so none is")
	gate.Open()
	for k, indices := range batches {
		requireOutcome(t, m.batch(indices), r.result(nil), "batch %d", k)
	}
}

// A file far larger than the rest, and than a buffer starts with.
func TestAHugeFileKeepsItsPlace(t *testing.T) {
	photos := makePhotos(6, 1, "png")
	s := size(1000, 720)
	rgb := noise(s, rand.New(rand.NewPCG(1, 1)))
	photos[2] = photo{name: "huge", file: pngOf(s, rgb), size: s, rgb: rgb}
	require.Greater(t, len(photos[2].file), 2<<20)
	p := training(6)
	p.Pillow.MaxPixels = 0
	againstModel(t, p, photos, pipeline.Options{Workers: 3, Streams: 2}, []int64{0, 1, 2, 3}, []int64{4, 5}, []int64{2, 2})
}

func TestABatchOfNothingKeepsItsPlace(t *testing.T) {
	photos := makePhotos(4, 1, "png", "bmp")
	r := againstModel(t, training(4), photos, pipeline.Options{Workers: 2, Streams: 2},
		[]int64{}, []int64{0, 1}, []int64{}, []int64{2}, []int64{})
	require.NoError(t, r.run.Submit(nil, nil, address(lend(t, 64)), 64))
	lease := r.deliver()
	require.Equal(t, pipeline.Lease{Sequence: 5}, lease, "it has no slot, not even if memory is lent")
}

func TestAnIndexOutsideTheSourceIsRefusedAndNothingElse(t *testing.T) {
	photos, p := makePhotos(3, 1, good...), training(3)
	r := newRig(t, p, photos, pipeline.Options{Workers: 1, Streams: 2})
	m := newModel(p, photos, 2, 0)
	r.submit(0)
	require.EqualError(t, r.run.Submit([]int64{1, 3}, nil, nil, 0), "index 3 at position 1: the source has 3 samples: index out of range")
	require.Error(t, r.run.Submit([]int64{-1}, nil, nil, 0))
	require.Error(t, r.run.Submit([]int64{1 << 62}, nil, nil, 0))
	r.submit(2, 2)
	for _, indices := range [][]int64{{0}, {2, 2}} {
		requireOutcome(t, m.batch(indices), r.result(nil))
	}
}

func TestIndicesAreCopied(t *testing.T) {
	photos := makePhotos(3, 1, good...)
	r := newRig(t, still(3), photos, pipeline.Options{Workers: 1, Streams: 1})
	indices := []int64{0, 1, 2}
	r.submit(indices...)
	copy(indices, []int64{9, 9, 9})
	require.Equal(t, []int64{1000, 1001, 1002}, r.result(nil).labels)
}

func TestClosingStopsWorkInFlight(t *testing.T) {
	leakcheck.Check(t)
	random := logSeed(t)
	const n = 40
	photos, p := makePhotos(n, 1, mixed(good, asked, bad)...), training(n)
	l := openLoader(t, p, store(t, photos))
	for range 60 {
		r := start(t, l, p, photos, pipeline.Options{Workers: 1 + random.IntN(4), Streams: 1 + random.IntN(3)})
		for _, indices := range randomBatches(random, n, random.IntN(8), 20) {
			r.submit(indices...)
		}
		for range random.IntN(3) {
			if news, lease, _, err := r.run.Next(); err == nil && news == pipeline.Delivered && lease.Slot.Valid() {
				lease.Slot.Release()
			}
		}
		require.NoError(t, r.run.Close())
	}
	eventually(t, func() bool { return pipeline.Serving() == 0 }) // at once, but for reads on a busy machine
}

func TestALeaseOutlivesItsRunAndLoader(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(4, 1, good...), training(4)
	before := mem.InUse(mem.Slots).Blocks
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1, Poison: true})
	want := newModel(p, photos, 1, 0).batch([]int64{0, 1, 2, 3})
	r.submit(0, 1, 2, 3)
	lease := r.deliver()
	r.submit(1, 1, 1, 1)
	r.close()
	requireOutcome(t, want, r.read(lease))
	require.NoError(t, l.Close())
	requireOutcome(t, want, r.read(lease))
	require.Equal(t, before+1, mem.InUse(mem.Slots).Blocks, "of all slots only this one is left")
	lease.Slot.Release()
}

func TestWhatIsClosedSaysSo(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(4, 1, good...), training(4)
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	require.ErrorIs(t, l.Close(), pipeline.ErrState, "a loader outlives its runs")
	require.NoError(t, r.run.Close())
	_, _, _, err := r.run.Next()
	for what, err := range map[string]error{
		"next": err, "submit": r.run.Submit([]int64{0}, nil, nil, 0), "submit nothing": r.run.Submit(nil, nil, nil, 0),
		"supply": r.run.Supply(make([]byte, 3), size(1, 1)), "reject": second(r.run.Reject()), "exp": r.run.AnswerExp(1, 2.7182817),
		"reset": second(r.run.Reset()), "close": r.run.Close(),
	} {
		require.ErrorIs(t, err, pipeline.ErrClosed, what)
	}
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), pipeline.ErrClosed)
	_, err = l.Start(pipeline.Options{Streams: 1})
	require.ErrorIs(t, err, pipeline.ErrClosed)
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	leakcheck.Check(t)
	photos := makePhotos(4, 1, good...)
	_, err := pipeline.Open(training(5), store(t, photos))
	require.ErrorContains(t, err, "the plan's parts have 5 samples, the source 4")
	unknown := training(4)
	unknown.Parts[0].Transforms = append(unknown.Parts[0].Transforms, plan.Resize{Size: []int32{5}, Filter: "psychic"})
	_, err = pipeline.Open(unknown, store(t, photos))
	require.ErrorContains(t, err, `part 0: transforms[2], resize: unknown filter "psychic"`)
	table := training(4)
	table.Parts[0].Table = table.Parts[0].Table[1:]
	_, err = pipeline.Open(table, store(t, photos))
	require.ErrorContains(t, err, "part 0: store: tables of 3071 bytes, want 3072 for each")
	l := openLoader(t, training(4), store(t, photos))
	for _, streams := range []int{0, -1} {
		_, err = l.Start(pipeline.Options{Streams: streams})
		require.Error(t, err)
	}
}

func TestResetForgetsWorkInFlight(t *testing.T) {
	const n = 30
	photos, p := makePhotos(n, 1, mixed(good, good, asked, bad)...), still(n)
	r := newRig(t, p, photos, pipeline.Options{Workers: 3, Streams: 2})
	random := logSeed(t)
	for range 25 {
		for _, indices := range randomBatches(random, n, random.IntN(8), 8) {
			r.submit(indices...)
		}
		for range random.IntN(3) {
			_, lease, _, _ := r.run.Next()
			if lease.Slot.Valid() {
				lease.Slot.Release()
			}
		}
		require.NoError(t, second(r.run.Reset()))
		m := newModel(p, photos, 2, 0)
		batches := randomBatches(random, n, 3, 5)
		for k, got := range r.epoch(batches, 2, nil) {
			requireOutcome(t, m.batch(batches[k]), got, "batch %d", k)
		}
		require.NoError(t, second(r.run.Reset()))
	}
}

// With num_workers=0 draws come from the process's own generator: its state goes in before a batch, and the position says by how
// many words the batch has moved it on.
func TestTheProcesssGeneratorGoesInAndItsPositionIsCounted(t *testing.T) {
	const n = 10
	photos, p := makePhotos(n, 1, mixed(good, asked, bad)...), training(n)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1, BaseSeed: 99})
	m := newModel(p, photos, 1, 5)
	mt := rng.New(5)
	state, drawn := make([]byte, rng.TorchStateBytes), make([]int64, 1)
	require.NoError(t, mt.StoreTorch(state))
	for _, indices := range randomBatches(rand.New(rand.NewPCG(1, 1)), n, 20, 4) {
		require.NoError(t, r.run.LoadRNG(state))
		r.submit(indices...)
		require.ErrorIs(t, r.run.LoadRNG(state), pipeline.ErrState, "not under a batch")
		requireOutcome(t, m.batch(indices), r.result(nil))
		require.NoError(t, r.run.Position(drawn))
		mt.Discard(drawn[0])
		require.NoError(t, mt.StoreTorch(state))
		want := make([]byte, rng.TorchStateBytes)
		require.NoError(t, m.streams[0].StoreTorch(want))
		require.Equal(t, want, state)
	}
	require.Error(t, r.run.LoadRNG(state[1:]))
}

// Memory of the caller takes the place of a slot.

func TestLentMemoryIsWhereTheBatchGoes(t *testing.T) {
	photos, p := makePhotos(6, 1, mixed(good, asked)...), training(6)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1, Poison: true})
	m := newModel(p, photos, 1, 0)
	batches := [][]int64{{0, 1, 2}, {3, 4, 5}, {5, 0}}
	memory := lend(t, 3*4096*4)
	for k, indices := range batches {
		require.NoError(t, r.run.Submit(indices, nil, address(memory[k*4*4096:]), 4*4096))
	}
	for k, indices := range batches {
		var kept []pipeline.Lease
		requireOutcome(t, m.batch(indices), r.result(&kept))
		require.Equal(t, address(memory[k*4*4096:]), kept[0].Slot.Data())
		mine := memory[k*4*4096:][:4*4096]
		before := bytes.Clone(mine)
		kept[0].Slot.Release()
		require.True(t, bytes.Equal(before, mine), "release neither poisons nor unmaps what is not ours")
	}
}

func TestLentMemoryThatIsTooSmallIsItsBatchsErrorAndStaysUntouched(t *testing.T) {
	photos, p := makePhotos(6, 1, good...), still(6)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	m := newModel(p, photos, 1, 0)
	memory := lend(t, 4096)
	require.NoError(t, r.run.Submit([]int64{0, 1, 2}, nil, address(memory), 3*3*9*11))
	r.submit(3, 4)
	_, _, err := r.next()
	require.ErrorIs(t, err, pipeline.ErrShape)
	require.ErrorContains(t, err, "lent for batch 0 has 891 bytes, 920 are needed")
	require.Equal(t, make([]byte, 4096), memory)
	requireOutcome(t, m.batch([]int64{3, 4}), r.result(nil))
}

func TestLentMemoryIsLetGoOfWhateverBecomesOfItsBatch(t *testing.T) {
	photos, p := makePhotos(4, 1, "missing", "bmp", "png"), still(4)
	memory := lend(t, 4*4096)
	before := mem.InUse(mem.Slots)
	r := newRig(t, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	submit := func(indices ...int64) {
		require.NoError(t, r.run.Submit(indices, nil, address(memory), len(memory)))
	}
	submit(0)
	require.Equal(t, broken, r.result(nil).kind)
	require.Equal(t, before, mem.InUse(mem.Slots))
	submit(1)
	submit(2)
	require.NoError(t, second(r.run.Reset()))
	require.Equal(t, before, mem.InUse(mem.Slots))
	submit(2)
	submit(1)
	r.untilQuestion()
	require.NoError(t, r.run.Close())
	require.Equal(t, before, mem.InUse(mem.Slots))
}

// untilQuestion takes batches until there is a question.
func (r *rig) untilQuestion() (ask pipeline.Ask, taken []outcome) {
	r.t.Helper()
	for {
		lease, ask, err := r.next()
		require.NoError(r.t, err)
		if ask.Kind != 0 {
			return ask, taken
		}
		taken = append(taken, r.read(lease))
		lease.Slot.Release()
	}
}

// Faults of a source.

func TestASourcesFaultIsItsBatchsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(f *faulty.Files)
		bug   bool // else Pillow is asked, and has the truth
	}{
		"read panics":  {func(f *faulty.Files) { f.OnRead(3, faulty.Panic) }, true},
		"label panics": {func(f *faulty.Files) { f.OnLabel(3, func() int64 { panic("no label") }) }, true},
		"read fails":   {func(f *faulty.Files) { f.OnRead(3, faulty.Return(errors.New("on cue"))) }, false},
		"no memory":    {func(f *faulty.Files) { f.OnRead(3, faulty.Return(mem.ErrNoMemory)) }, false},
		"garbage":      {func(f *faulty.Files) { f.OnRead(3, faulty.Give([]byte("not an image, whatever it says"))) }, false},
		"nothing":      {func(f *faulty.Files) { f.OnRead(3, faulty.Give(nil)) }, false},
		"grows the buffer, then fails": {func(f *faulty.Files) {
			f.OnRead(3, func(buf *source.Buffer) error {
				if _, err := buf.Room(5 << 20); err != nil {
					return err
				}
				return source.ErrUnreadable
			})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			photos, p := makePhotos(8, 1, good...), still(8)
			files := faulty.Wrap(store(t, photos))
			c.fault(files)
			l := openLoader(t, p, files)
			for _, o := range []pipeline.Options{
				{Workers: 1, Streams: 1, Span: 1}, {Workers: 4, Streams: 2}, {Workers: 2, Streams: 1, Span: 8},
			} {
				r := start(t, l, p, photos, o)
				m := newModel(p, photos, 1, 0)
				batches := [][]int64{{0, 1}, {2, 3, 4, 5, 6, 7}, {3}, {0, 4}, {1, 3}, {7}}
				for _, indices := range batches {
					r.submit(indices...)
				}
				for k, indices := range batches {
					if c.bug && (k == 1 || k == 2 || k == 4) {
						_, _, err := r.next()
						require.ErrorIs(t, err, pipeline.ErrBug, "batch %d", k)
						require.ErrorContains(t, err, "goroutine", "the text holds the stack")
						continue
					}
					requireOutcome(t, m.batch(indices), r.result(nil), "batch %d of %+v", k, o)
				}
				r.close()
			}
		})
	}
}

// With random transforms too, batches behind a panic come, and a file that is sound again is read again.
func TestARunGoesOnAfterManyPanics(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(8, 1, good...), training(8)
	files := faulty.Wrap(store(t, photos))
	l := openLoader(t, p, files)
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1, Span: 1})
	for k := range 50 {
		files.OnRead(k%8, faulty.Panic)
		r.submit(0, 1, 2, 3, 4, 5, 6, 7)
		_, _, err := r.next()
		require.ErrorIs(t, err, pipeline.ErrBug)
		files.OnRead(k%8, nil)
		require.Equal(t, delivered, r.run1(int64(k%8)).kind)
	}
	require.EqualValues(t, 50, l.Stats.Failed.Load())
}

// A plan that Parse would refuse: a choice out of none.
func TestAPanicOfADrawIsItsBatchsAlone(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(8, 1, good...), still(4)
	p.Parts = append(p.Parts, p.Parts[0])
	p.Parts[1].Transforms = []plan.Transform{plan.Augment{Rounds: 1, API: plan.V1}, p.Parts[0].Transforms[0]}
	r := start(t, openLoader(t, p, store(t, photos)), p, photos, pipeline.Options{Workers: 2, Streams: 1, Span: 1})
	r.submit(0, 1)
	r.submit(2, 5, 3)
	r.submit(1, 3)
	r.deliver().Slot.Release()
	_, _, err := r.next()
	require.ErrorIs(t, err, pipeline.ErrBug)
	require.ErrorContains(t, err, "sample 5")
	r.deliver().Slot.Release()
}

// Images and batches that no memory can hold.

func TestImagesOfTooManyPixelsAreTheirBatchsError(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(2, 1, good...), still(2)
	p.Parts[0].Transforms = []plan.Transform{
		plan.Resize{Size: []int32{1 << 20, 1 << 20}, Filter: plan.Bicubic}, plan.CenterCrop{Size: plan.HeightWidth{Height: 8, Width: 8}}}
	r := start(t, openLoader(t, p, store(t, photos)), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	for range 2 {
		r.submit(0, 1)
		_, _, err := r.next()
		require.ErrorIs(t, err, op.ErrTooLarge)
	}
}

func TestBatchesOfMoreBytesThanAreCountedAreErrors(t *testing.T) {
	leakcheck.Check(t)
	random := rand.New(rand.NewPCG(1, 1))
	photos := []photo{kinds["png"](size(1, 2047), random)}
	photos[0].name = "tall"
	p := newPlan(floats, plan.Part{Count: 1, Table: floatTable(1),
		Transforms: []plan.Transform{plan.Resize{Size: []int32{1 << 20}, Filter: plan.Bicubic}}})
	r := start(t, openLoader(t, p, store(t, photos)), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	r.submit(make([]int64, 400)...) // of 2^54.6 bytes each: 2^63.2 together
	_, _, err := r.next()
	require.ErrorIs(t, err, mem.ErrNoMemory)
}

// A header may claim any size: what no image can have is for Pillow to find out.
func TestAHeaderOfTooManyPixelsIsAskedFor(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(1, 1, "png"), still(1)
	p.Pillow.MaxPixels = 0
	binary.BigEndian.PutUint32(photos[0].file[16:], 1<<20)
	binary.BigEndian.PutUint32(photos[0].file[20:], 1<<20)
	r := start(t, openLoader(t, p, store(t, photos)), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	r.submit(0)
	require.Contains(t, r.question(pipeline.AskPixels).Reason, op.ErrTooLarge.Error())
}

// The event descriptor is quiet unless Next has news, so that a waiter sleeps.
func TestTheDescriptorIsQuietWithoutNews(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(2, 1, good...), still(2)
	inner := store(t, photos)
	files := faulty.Wrap(inner)
	gate := faulty.NewGate(inner, 0)
	files.OnRead(0, gate.Read)
	r := start(t, openLoader(t, p, files), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	readable := func() bool {
		watched := []unix.PollFd{{Fd: int32(r.run.Events()), Events: unix.POLLIN}}
		n, err := unix.Poll(watched, 0)
		require.NoError(t, err)
		return n > 0
	}
	require.False(t, readable())
	r.submit(0)
	r.submit(1)
	<-gate.Arrived()
	require.False(t, readable(), "the second batch is no news before the first")
	gate.Open()
	for range 2 {
		r.deliver().Slot.Release()
	}
}
