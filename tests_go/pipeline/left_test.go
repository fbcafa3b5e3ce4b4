package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/faulty"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// soon is how long a call may take that must not wait for the storage. It is far below a test's patience, and far above what a
// busy machine takes.
const soon = 5 * time.Second

func requireSoon(t *testing.T, call func()) {
	t.Helper()
	begin := time.Now()
	call()
	require.Less(t, time.Since(begin), soon)
}

// hung is a loader whose sample 0 is not read before the gate opens, and a run that waits for it.
func hung(t *testing.T, o pipeline.Options) (l *pipeline.Loader, r *rig, gate *faulty.Gate) {
	photos, p := makePhotos(12, 1, good...), training(12)
	inner := store(t, photos)
	files := faulty.Wrap(inner)
	gate = faulty.NewGate(inner, 0)
	files.OnRead(0, gate.Read)
	l = openLoader(t, p, files)
	r = start(t, l, p, photos, o)
	r.submit(0, 1, 2, 3)
	r.submit(4, 5, 6, 7)
	<-gate.Arrived()
	files.OnRead(0, nil)
	return l, r, gate
}

func eventuallyNoneLeft(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return pipeline.LeftBehind() == 0 && pipeline.Serving() == 0 })
}

// As many reads hang as there are workers: those that are left are replaced.
func TestResetDoesNotWaitForAReadThatHangs(t *testing.T) {
	for name, o := range map[string]pipeline.Options{
		"read by its only worker": {Workers: 1, Streams: 1}, "read by a worker": {Workers: 3, Streams: 2},
		"read ahead": {Workers: 2, Streams: 1, SlowSource: true},
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			_, r, gate := hung(t, o)
			requireSoon(t, func() {
				left, err := r.run.Reset()
				require.NoError(t, err)
				require.Positive(t, left)
			})
			eventually(t, func() bool { return pipeline.LeftBehind() == 1 })
			r.submit(8, 9, 10)
			require.Equal(t, []int64{1008, 1009, 1010}, r.result(nil).labels)
			gate.Open()
			eventually(t, func() bool { return pipeline.LeftBehind() == 0 })
			r.submit(0, 1)
			require.Equal(t, []int64{1000, 1001}, r.result(nil).labels)
		})
	}
}

func TestCloseDoesNotWaitForAReadThatHangs(t *testing.T) {
	leakcheck.Check(t)
	l, r, gate := hung(t, pipeline.Options{Workers: 2, Streams: 1, HoldDirectory: true})
	requireSoon(t, func() {
		require.NoError(t, r.run.Close())
		require.Positive(t, r.run.Left())
		require.NoError(t, l.Close())
	})
	eventually(t, func() bool { return pipeline.Serving() == 1 }) // it is still in the read
	gate.Open()
	eventuallyNoneLeft(t)
}

// A sample in error ends its batch, though the file of another one hangs; later batches come, also where all workers there
// were hang.
func TestAnErrorDoesNotWaitForAReadThatHangs(t *testing.T) {
	for name, workers := range map[string]int{"its only worker": 1, "one of three workers": 3} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			photos, p := makePhotos(8, 1, good...), training(8)
			photos[0].file, photos[0].broken = cut(photos[0].file), true
			inner := store(t, photos)
			files := faulty.Wrap(inner)
			gate := faulty.NewGate(inner, 3)
			files.OnRead(3, gate.Read)
			r := start(t, openLoader(t, p, files), p, photos, pipeline.Options{Workers: workers, Streams: 1, Span: 1})
			r.submit(0, 1, 2, 3)
			r.submit(4, 5)
			<-gate.Arrived()
			requireSoon(t, func() {
				ask := r.question(pipeline.AskPixels)
				require.Zero(t, ask.Position)
				left, err := r.run.Reject()
				require.NoError(t, err)
				require.Positive(t, left)
				require.Equal(t, []int64{1004, 1005}, r.result(nil).labels)
			})
			gate.Open()
			eventually(t, func() bool { return pipeline.LeftBehind() == 0 })
		})
	}
}

// Options.SampleTimeout: the sample is asked about, and once it is rejected later batches come. What is read in time is not
// asked about.
func TestAReadThatTakesTooLongIsAskedAbout(t *testing.T) {
	leakcheck.Check(t)
	_, r, gate := hung(t, pipeline.Options{Workers: 2, Streams: 1, Span: 2, SampleTimeout: 50 * time.Millisecond})
	requireSoon(t, func() {
		var ask pipeline.Ask
		eventually(t, func() bool { // it is no news: whoever waits asks again
			news, _, asked, err := r.run.Next()
			ask = asked
			return err == nil && news == pipeline.Asked
		})
		require.Equal(t, pipeline.AskLate, ask.Kind)
		require.Zero(t, ask.Position)
		require.Zero(t, ask.Index)
		require.Regexp(t, r.photos[0].name+": not read within 0.05 s$", ask.Reason)
		left, err := r.run.Reject()
		require.NoError(t, err)
		require.Equal(t, 1, left)
		require.Equal(t, []int64{1004, 1005, 1006, 1007}, r.result(nil).labels)
	})
	gate.Open()
	eventually(t, func() bool { return pipeline.LeftBehind() == 0 })
}

func TestWhatIsWaitedForIsNamed(t *testing.T) {
	leakcheck.Check(t)
	_, r, gate := hung(t, pipeline.Options{Workers: 2, Streams: 1})
	const took = `[0-9.e+]+ m?s`
	lines := strings.Split(r.run.Doing(), "\n")
	require.Regexp(t, "^batch 0 is next: 0 of its [0-9]+ parts are done$", lines[0])
	require.Regexp(t, "^worker [01] has been reading .*/"+r.photos[0].name+" for "+took+` \(batch 0\)$`, lines[1])
	_, _, _, err := r.run.Next()
	require.NoError(t, err)
	require.Regexp(t, "^batch 0 has been waited for "+took+": 0 of", r.run.Doing())
	eventually(t, func() bool {
		idle := "^worker [01] has been idle for " + took + "; before, it (read|decoded) .* in " + took
		return regexp.MustCompile(idle).MatchString(strings.Join(strings.Split(r.run.Doing(), "\n")[2:], "\n"))
	})
	gate.Open()
	r.result(nil)
	r.result(nil)
	require.Empty(t, r.run.Doing())
}

// Events are those of the stages, and add up to what these count.
func TestEventsAreWhatTheStagesCount(t *testing.T) {
	leakcheck.Check(t)
	_, from, _ := stats.Recorded.Read(-1, nil)
	photos, p := makePhotos(12, 1, good...), training(12)
	l := openLoader(t, p, store(t, photos))
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	for range 3 {
		r.submit(0, 1, 2, 3)
		r.submit(4, 5, 6)
	}
	for range 6 {
		r.result(nil)
	}
	number := l.Stats.Number()
	events := make([]stats.Event, stats.EventsMax)
	n, _, lost := stats.Recorded.Read(from, events)
	require.Zero(t, lost)
	var took, count [stats.Wait + 1]int64
	for _, e := range events[:n] {
		if e.Loader != number {
			continue
		}
		took[e.Stage] += e.TookNs
		count[e.Stage] += int64(e.Count)
		require.LessOrEqual(t, e.BeginNs+e.TookNs, stats.Now())
		require.GreaterOrEqual(t, e.BeginNs, int64(0))
		require.Contains(t, []int64{0, 1, 2, 3, 4, 5}, e.Batch)
		require.Equal(t, e.Stage == stats.Wait, e.Role == stats.Caller)
	}
	for _, stage := range []stats.Stage{stats.Read, stats.Decode, stats.Op} {
		d := l.Stats.Stages[stage].Distribution()
		require.LessOrEqual(t, count[stage], int64(21), stage)
		brief := 21 - count[stage] // each took less than a microsecond
		require.InDelta(t, d.SumNs, took[stage], float64(d.SumNs)/50+21*16+float64(brief)*1000, stage)
	}
}

// slowRows is a container whose reads wait for a signal.
type slowRows struct {
	source.Container
	arrived, open chan struct{}
}

func (s slowRows) Read(ctx context.Context, pieces ...source.Piece) error {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	<-s.open
	return s.Container.Read(ctx, pieces...)
}

func TestRowsOfAStorageThatHangsAreLeft(t *testing.T) {
	for _, readers := range []bool{false, true} {
		t.Run(fmt.Sprint("readers ", readers), func(t *testing.T) { rowsThatHangAreLeft(t, readers) })
	}
}

func rowsThatHangAreLeft(t *testing.T, readers bool) {
	leakcheck.Check(t)
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("12345678"), 100), 0o600))
	file, err := local.Store{}.Open(t.Context(), path)
	require.NoError(t, err)
	slow := slowRows{file, make(chan struct{}, 1), make(chan struct{})}
	row := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{8}}
	rows, err := array.New(100, []array.Field{{Row: row, Arrays: []array.Array{{File: slow, Rows: 100, Strides: []int{8, 1}}}}})
	require.NoError(t, err)
	p := &plan.Plan{Source: plan.Source{Kind: plan.Array, Fields: stacked(row)}, Parts: []plan.Part{{Count: 100}}}
	l := pipeline.OpenRows(p, rows)
	r := start(t, l, p, nil, pipeline.Options{Workers: 1, Streams: 1, SlowSource: readers})
	lent := lend(t, 4096)
	require.NoError(t, r.run.Submit([]int64{5, 1, 7}, nil, address(lent), len(lent)))
	r.submit(2, 3)
	<-slow.arrived
	requireSoon(t, func() {
		require.NoError(t, r.run.Close())
		require.Positive(t, r.run.Left())
		require.NoError(t, l.Close())
	})
	close(slow.open)
	eventuallyNoneLeft(t)
}

// together is a container of which a read ends when so many are under way.
type together struct {
	source.Container
	missing *atomic.Int32
	all     chan struct{}
}

func (c together) Waits() bool { return true }

func (c together) Read(ctx context.Context, pieces ...source.Piece) error {
	for range pieces {
		if c.missing.Add(-1) == 0 {
			close(c.all)
		}
	}
	select {
	case <-c.all:
		return c.Container.Read(ctx, pieces...)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The rows of all batches that were submitted are read side by side, however few workers there are.
func TestRowsOfASlowStorageAreReadAtManyPlacesAtOnce(t *testing.T) {
	leakcheck.Check(t)
	const batches, each = 6, 8
	memory := sourcetest.Noise(100*8, 1)
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, memory, 0o600))
	file, err := local.Store{}.Open(t.Context(), path)
	require.NoError(t, err)
	missing := new(atomic.Int32)
	missing.Store(batches * each)
	row := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{8}}
	rows, err := array.New(100, []array.Field{{Row: row, Arrays: []array.Array{{
		File: together{file, missing, make(chan struct{})}, Rows: 100, Strides: []int{8, 1},
	}}}})
	require.NoError(t, err)
	p := &plan.Plan{Source: plan.Source{Kind: plan.Array, Fields: stacked(row)}, Parts: []plan.Part{{Count: 100}}}
	l := pipeline.OpenRows(p, rows)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	r := start(t, l, p, nil, pipeline.Options{Workers: 2, Streams: 1, SlowSource: true})
	for b := range batches {
		var indices []int64
		for i := range each {
			indices = append(indices, int64(b+2*batches*i)%100)
		}
		r.submit(indices...)
	}
	for b := range batches {
		lease := r.deliver()
		for i := range each {
			from := 8 * ((b + 2*batches*i) % 100)
			require.Equal(t, memory[from:from+8], lease.Slot.Bytes()[8*i:8*i+8])
		}
		lease.Slot.Release()
	}
}

// Two images in one file: each is read from its range.
func TestAnOriginMayBeARangeOfAFile(t *testing.T) {
	leakcheck.Check(t)
	photos := makePhotos(5, 3, "png", "jpeg")
	dir := t.TempDir()
	var pack []byte
	begins := make([]int, len(photos))
	for i, p := range photos {
		begins[i] = len(pack)
		pack = append(pack, p.file...)
	}
	path := filepath.Join(dir, "pack")
	require.NoError(t, os.WriteFile(path, pack, 0o600))
	var buffer source.Buffer
	defer buffer.Free()
	for i := range photos {
		key := source.Key{Container: []byte(path + "\x00"), Offset: int64(begins[i]), Length: int64(len(photos[i].file))}
		from := buffer.Len()
		stamp, err := local.Store{}.Read(t.Context(), key, &buffer)
		require.NoError(t, err)
		require.EqualValues(t, len(pack), stamp.Bytes)
		require.Equal(t, photos[i].file, buffer.Slice(from, buffer.Len()))
	}
	_, err := local.Store{}.Read(t.Context(), source.Key{Container: []byte(path + "\x00"), Offset: 1, Length: int64(len(pack))}, &buffer)
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "bytes from byte 1 on")
}

// flaky is a store that fails so often.
type flaky struct {
	source.Store
	err   error
	fails *int
}

func (f flaky) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	if *f.fails > 0 {
		*f.fails--
		return source.Stamp{}, f.err
	}
	return f.Store.Read(ctx, key, buf)
}

func TestOnlyWhatCanPassIsReadAgainAndCounted(t *testing.T) {
	leakcheck.Check(t)
	photos := makePhotos(1, 1, "png")
	fields := []recipe.Field{{Count: 1, DType: tensor.Uint8, Channels: 3, Size: photos[0].size, Table: byteTable()}}
	for _, c := range []struct {
		err     error
		fails   int
		retries int64
		comes   bool
	}{
		{syscall.EIO, 1, 1, true}, {syscall.ESTALE, 2, 2, true}, {syscall.ETIMEDOUT, 1, 1, true},
		{syscall.EIO, 3, 2, false}, {syscall.EACCES, 1, 0, false}, {syscall.ENOENT, 1, 0, false},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, photos[0].name), photos[0].file, 0o600))
		fails := c.fails
		l, err := pipeline.OpenRecipes(recipePlan, source.Retry(flaky{local.Store{}, c.err, &fails}))
		require.NoError(t, err)
		r := start(t, l, recipePlan, photos, pipeline.Options{Workers: 1, Streams: 1})
		require.NoError(t, r.run.SubmitRecipes(message(dir, photos, fields, [][]wish{{{photo: 0}}}), 16, nil, 0))
		if c.comes {
			lease := r.deliver()
			requireFields(t, lease, photos, fields, [][]wish{{{photo: 0}}})
			lease.Slot.Release()
		} else {
			require.Contains(t, r.question(pipeline.AskPixels).Reason, c.err.Error())
		}
		require.Equal(t, c.retries, l.Stats.Remote.Retries.Load(), "%v, %d times", c.err, c.fails)
		r.close()
		require.NoError(t, l.Close())
	}
}
