package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// patience is how long anything may take before a test calls it a hang.
const patience = 20 * time.Second

// openLoader opens a plan over files, which the test's end closes.
func openLoader(t *testing.T, p *plan.Plan, files source.Files) *pipeline.Loader {
	t.Helper()
	l, err := pipeline.Open(p, files)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			require.ErrorIs(t, err, pipeline.ErrClosed)
		}
	})
	return l
}

// rig is a run, and a Python that answers its questions.
type rig struct {
	t      testing.TB
	run    *pipeline.Run
	plan   *plan.Plan
	photos []photo
	asks   []pipeline.Ask // answered
}

// start starts a run, which the test's end closes.
func start(t testing.TB, l *pipeline.Loader, p *plan.Plan, photos []photo, o pipeline.Options) *rig {
	t.Helper()
	run, err := l.Start(o)
	require.NoError(t, err)
	r := &rig{t: t, run: run, plan: p, photos: photos}
	t.Cleanup(func() { r.close() })
	return r
}

// newRig is the usual case: a loader with one run. It also holds the test to leaving nothing behind.
func newRig(t *testing.T, p *plan.Plan, photos []photo, o pipeline.Options) *rig {
	t.Helper()
	leakcheck.Check(t)
	return start(t, openLoader(t, p, store(t, photos)), p, photos, o)
}

// second is the error of a call that also says how many reads it has left.
func second(_ int, err error) error { return err }

func (r *rig) close() {
	if err := r.run.Close(); err != nil {
		require.ErrorIs(r.t, err, pipeline.ErrClosed)
	}
}

func (r *rig) submit(indices ...int64) {
	r.t.Helper()
	require.NoError(r.t, r.run.Submit(indices, nil, nil, 0))
}

// wait waits as gl_wait does: until the event descriptor is readable, and takes the event.
func (r *rig) wait() {
	r.t.Helper()
	watched := []unix.PollFd{{Fd: int32(r.run.Events()), Events: unix.POLLIN}}
	for deadline := time.Now().Add(patience); ; {
		n, err := unix.Poll(watched, 1000)
		if n > 0 {
			var count [8]byte
			_, err = unix.Read(r.run.Events(), count[:])
			require.NoError(r.t, err)
			return
		}
		if err != unix.EINTR {
			require.NoError(r.t, err)
		}
		require.True(r.t, time.Now().Before(deadline), "no news: the run hangs")
	}
}

// next waits for news: a lease, a question or an error.
func (r *rig) next() (pipeline.Lease, pipeline.Ask, error) {
	r.t.Helper()
	for {
		news, lease, ask, err := r.run.Next()
		if err != nil || news == pipeline.Delivered {
			return lease, pipeline.Ask{}, err
		}
		if news == pipeline.Asked {
			return pipeline.Lease{}, ask, nil
		}
		r.wait()
	}
}

// question waits for news that has to be a question.
func (r *rig) question(kind pipeline.AskKind) pipeline.Ask {
	r.t.Helper()
	lease, ask, err := r.next()
	require.NoError(r.t, err)
	require.Equal(r.t, kind, ask.Kind, "%+v", ask)
	require.Equal(r.t, pipeline.Lease{}, lease)
	return ask
}

// deliver waits for news that has to be a batch.
func (r *rig) deliver() pipeline.Lease {
	r.t.Helper()
	lease, ask, err := r.next()
	require.NoError(r.t, err)
	require.Zero(r.t, ask)
	return lease
}

// answer answers as Python would. It says what became of the batch if the answer ends it.
func (r *rig) answer(ask pipeline.Ask) (ended bool, o outcome) {
	r.t.Helper()
	r.asks = append(r.asks, ask)
	switch ask.Kind {
	case pipeline.AskExp:
		require.NoError(r.t, r.run.AnswerExp(ask.X, torchExp(ask.X)))
		return false, outcome{}
	case pipeline.AskSample:
		require.NoError(r.t, second(r.run.Reject()))
		return true, outcome{kind: refused, position: ask.Position, text: ask.Reason}
	default:
		require.Equal(r.t, pipeline.AskPixels, ask.Kind)
		p := r.photos[ask.Index]
		if p.broken {
			require.NoError(r.t, second(r.run.Reject()))
			return true, outcome{kind: broken, position: ask.Position}
		}
		require.NoError(r.t, r.run.Supply(p.rgb, p.size))
		return false, outcome{}
	}
}

// result answers questions until the next batch has ended, and says how. A delivered batch is released if keep is nil.
func (r *rig) result(keep *[]pipeline.Lease) outcome {
	r.t.Helper()
	for {
		lease, ask, err := r.next()
		if err != nil {
			require.ErrorIs(r.t, err, pipeline.ErrShape)
			return outcome{kind: uneven, text: err.Error()}
		}
		if ask.Kind == 0 {
			o := r.read(lease)
			if keep != nil {
				*keep = append(*keep, lease)
			} else if lease.Slot.Valid() {
				lease.Slot.Release()
			}
			return o
		}
		if ended, o := r.answer(ask); ended {
			return o
		}
	}
}

// read copies a delivered batch.
func (r *rig) read(lease pipeline.Lease) outcome {
	r.t.Helper()
	o := outcome{kind: delivered}
	if len(lease.Fields) == 0 {
		require.False(r.t, lease.Slot.Valid())
		return o
	}
	require.Len(r.t, lease.Fields, 2)
	images, labels := lease.Fields[0], lease.Fields[1]
	shape := images.Spec.Shape
	require.Equal(r.t, tensor.Spec{
		DType: r.plan.Output.DType, Shape: tensor.Shape{shape[0], r.plan.Output.Channels, shape[2], shape[3]},
	}, images.Spec)
	require.Equal(r.t, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{shape[0]}}, labels.Spec)
	all := lease.Slot.Bytes()
	require.LessOrEqual(r.t, lease.Bytes, len(all))
	for _, f := range lease.Fields {
		require.Zero(r.t, f.Offset%64)
		require.LessOrEqual(r.t, f.Offset+f.Spec.Bytes(), lease.Bytes)
	}
	o.pixels = bytes.Clone(all[images.Offset : images.Offset+images.Spec.Bytes()])
	for i := range shape[0] {
		o.labels = append(o.labels, int64(binary.LittleEndian.Uint64(all[labels.Offset+8*i:])))
	}
	o.out = size(shape[3], shape[2])
	return o
}

// requireOutcome compares without printing megabytes.
func requireOutcome(t testing.TB, want, got outcome, about ...any) {
	t.Helper()
	short := func(o outcome) outcome { o.pixels = nil; return o }
	require.Equal(t, short(want), short(got), about...)
	require.True(t, bytes.Equal(want.pixels, got.pixels), about...)
}

// randomBatches are count batches of up to most of n samples each.
func randomBatches(random *rand.Rand, n, count, most int) [][]int64 {
	batches := make([][]int64, count)
	for k := range batches {
		for range random.IntN(most + 1) {
			batches[k] = append(batches[k], int64(random.IntN(n)))
		}
	}
	return batches
}

// epoch submits batches ahead of taking them and says what became of each.
func (r *rig) epoch(batches [][]int64, ahead int, keep *[]pipeline.Lease) []outcome {
	r.t.Helper()
	var outcomes []outcome
	for k := 0; len(outcomes) < len(batches); {
		for ; k < len(batches) && k < len(outcomes)+ahead; k++ {
			r.submit(batches[k]...)
		}
		outcomes = append(outcomes, r.result(keep))
	}
	return outcomes
}

// lend is memory of the caller, as torch's pinned memory is.
func lend(t testing.TB, n int) []byte {
	t.Helper()
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	return memory
}

func address(memory []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(memory)) }
