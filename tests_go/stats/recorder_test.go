package stats_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/stats"
)

// event is one whose members all follow from a number, so that parts of two are seen not to belong together.
func event(k int64) stats.Event {
	return stats.Event{
		BeginNs: k, TookNs: 2 * k, Batch: k, Sample: k - 1, Loader: int32(k), Run: int32(k + 1), Role: stats.Role(k % 3),
		Worker: int32(k % 1000), Stage: stats.Stage(k % 6), Count: int32(k%500 + 1),
	}
}

func TestEventsComeBackAsTheyWereAdded(t *testing.T) {
	var r stats.Recorder
	extreme := []stats.Event{
		{Sample: -1, Batch: 1<<40 - 1, Worker: 1<<14 - 1, Role: stats.Reader, Stage: stats.HandOut, Count: 1<<16 - 1, Run: 1<<31 - 1},
		{Sample: 1<<39 - 1, Loader: 1<<31 - 1, BeginNs: 1 << 62, TookNs: 1 << 62, Count: 1},
		event(7),
	}
	for i := range extreme {
		r.Add(&extreme[i])
	}
	to := make([]stats.Event, 2)
	n, next, lost := r.Read(0, to)
	require.Equal(t, extreme[:2], to[:n])
	require.Zero(t, lost)
	n, next, lost = r.Read(next, to)
	require.Equal(t, extreme[2:], to[:n])
	require.Equal(t, []int64{3, 0}, []int64{next, lost})
	n, next, lost = r.Read(-1, to)
	require.Equal(t, []int64{0, 3, 0}, []int64{int64(n), next, lost})
	n, next, lost = r.Read(99, to)
	require.Equal(t, []int64{0, 3, 0}, []int64{int64(n), next, lost}, "from beyond the last one")
}

func TestTheOldestEventsGoFirst(t *testing.T) {
	var r stats.Recorder
	for k := range int64(stats.EventsMax + 10) {
		e := event(k)
		r.Add(&e)
	}
	to := make([]stats.Event, stats.EventsMax+10)
	n, next, lost := r.Read(3, to)
	require.Equal(t, []int64{stats.EventsMax, stats.EventsMax + 10, 7}, []int64{int64(n), next, lost})
	for i, e := range to[:n] {
		require.Equal(t, event(int64(i+10)), e)
	}
}

// What is read is whole while writers run around the ring, and what is not read is counted.
func TestEventsAreReadWholeWhileTheRingTurns(t *testing.T) {
	var r stats.Recorder
	const writers, each = 4, 5 * stats.EventsMax
	var all sync.WaitGroup
	var done atomic.Bool
	for range writers {
		all.Go(func() {
			for k := range int64(each) {
				e := event(k)
				r.Add(&e)
			}
		})
	}
	go func() {
		all.Wait()
		done.Store(true)
	}()
	to := make([]stats.Event, 1000)
	read, next, lost := int64(0), int64(0), int64(0)
	for {
		last := done.Load()
		n, after, gone := r.Read(next, to)
		require.Equal(t, after-next, int64(n)+gone)
		for _, e := range to[:n] {
			require.Equal(t, event(e.BeginNs), e)
		}
		read, next, lost = read+int64(n), after, lost+gone
		if last && n == 0 && gone == 0 {
			break
		}
	}
	require.Positive(t, read)
	require.LessOrEqual(t, read+lost, int64(writers*each))
	require.Greater(t, read+lost, int64(writers*each-stats.EventsMax))
}

func TestTheClockIsTheKernels(t *testing.T) {
	var kernel unix.Timespec
	before := stats.Now()
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &kernel))
	after := stats.Now()
	const skew = int64(5 * time.Millisecond)
	require.LessOrEqual(t, before-skew, kernel.Nano())
	require.GreaterOrEqual(t, after+skew, kernel.Nano())
}

func TestATrackTellsWhatIsDoneAndWhatWas(t *testing.T) {
	var l stats.Loader
	track := stats.Track{Of: &l, Run: 3, Role: stats.Reader, Number: 2}
	_, known := track.Now()
	require.False(t, known)
	track.Begin(stats.Decode, 5, 40)
	now, known := track.Now()
	require.True(t, known)
	require.Equal(t, int64(-1), now.TookNs)
	require.Equal(t, []int64{5, 40}, []int64{now.Batch, now.Sample})
	time.Sleep(5 * time.Millisecond)
	track.EndTwo(4, stats.Op, time.Millisecond)
	was, _ := track.Now()
	require.GreaterOrEqual(t, was.TookNs, int64(5*time.Millisecond))
	decode, op := l.Stages[stats.Decode].Distribution(), l.Stages[stats.Op].Distribution()
	require.Equal(t, []int64{4, 4, int64(time.Millisecond)}, []int64{decode.Count, op.Count, op.SumNs})
	require.InDelta(t, was.TookNs, decode.SumNs+op.SumNs, 8)
}

func BenchmarkRecorderAdd(b *testing.B) {
	var r stats.Recorder
	e := event(5)
	b.ReportAllocs()
	for b.Loop() {
		r.Add(&e)
	}
}

func BenchmarkTrack(b *testing.B) {
	track := stats.Track{Of: new(stats.Loader)}
	b.ReportAllocs()
	for b.Loop() {
		track.Begin(stats.Read, 1, 2)
		track.End(1)
	}
}
