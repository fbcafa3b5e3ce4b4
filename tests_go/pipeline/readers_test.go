package pipeline_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/faulty"
)

// meeting is a hook for readings that go on only when n of them are there at once.
type meeting struct {
	inner    source.Files
	n        int32
	there    atomic.Int32
	together chan struct{} // closed when n are there
	once     sync.Once
}

func (m *meeting) at(i int) func(*source.Buffer) error {
	return func(buf *source.Buffer) error {
		if m.there.Add(1) >= m.n {
			m.once.Do(func() { close(m.together) })
		}
		select {
		case <-m.together:
		case <-time.After(patience):
		}
		_, err := m.inner.Read(context.Background(), i, buf)
		return err
	}
}

// The hook makes no batch come without the meeting: two workers alone would wait for ever.
func TestASlowSourceIsReadAtMorePlacesThanThereAreWorkers(t *testing.T) {
	leakcheck.Check(t)
	const n = 16
	photos, p := makePhotos(n, 1, good...), still(n)
	inner := store(t, photos)
	files := faulty.Wrap(inner)
	together := &meeting{inner: inner, n: 12, together: make(chan struct{})}
	for i := range n {
		files.OnRead(i, together.at(i))
	}
	l := openLoader(t, p, files)
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1, Span: 1, SlowSource: true})
	m := newModel(p, photos, 1, 0)
	batches := [][]int64{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, {12, 13, 14, 15}}
	for k, got := range r.epoch(batches, len(batches), nil) {
		requireOutcome(t, m.batch(batches[k]), got)
	}
	select {
	case <-together.together:
	default:
		t.Fatalf("%d readings at once", together.there.Load())
	}
	require.EqualValues(t, n, l.Stats.ReadAhead.Load())
}

// Readings that take 3 ms bring readers, quick ones let them go.
func TestReadersComeAndGoWithTheTimeThatReadingTakes(t *testing.T) {
	leakcheck.Check(t)
	const n = 64
	photos, p := makePhotos(n, 1, good...), still(n)
	inner := store(t, photos)
	files := faulty.Wrap(inner)
	slow := func(i int) func(*source.Buffer) error {
		return func(buf *source.Buffer) error {
			time.Sleep(3 * time.Millisecond)
			_, err := inner.Read(context.Background(), i, buf)
			return err
		}
	}
	l := openLoader(t, p, files)
	before := pipeline.Serving()
	r := start(t, l, p, photos, pipeline.Options{Workers: 1, Streams: 1, Span: 2})
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	until := func(law func(serving int) bool, what string) {
		for deadline := time.Now().Add(patience); !law(pipeline.Serving() - before); {
			require.True(t, time.Now().Before(deadline), "%s: %d goroutines", what, pipeline.Serving()-before)
			r.submit(all...)
			r.deliver().Slot.Release()
		}
	}
	for i := range n {
		files.OnRead(i, slow(i))
	}
	until(func(serving int) bool { return serving > 8 }, "no readers for a slow source")
	for i := range n {
		files.OnRead(i, nil)
	}
	until(func(serving int) bool { return serving == 1 }, "readers stay with a quick source")
}

// However little may be read ahead, the batch that everybody waits for is read.
func TestTheFirstBatchIsReadWhateverTheLimit(t *testing.T) {
	const n = 24
	photos, p := makePhotos(n, 3, mixed(good, asked, bad)...), training(n)
	o := pipeline.Options{Workers: 2, Streams: 2, BaseSeed: 5, Span: 2, SlowSource: true, ReadAhead: 1}
	againstModel(t, p, photos, o, []int64{0, 1, 2, 3, 4, 5, 6, 7}, []int64{8, 9, 10, 11, 12, 13, 14, 15}, []int64{16, 17, 18, 19, 20, 21, 22, 23})
}
