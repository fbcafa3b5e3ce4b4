package stats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/stats"
)

func TestASnapshotHasEachCounterUnderItsName(t *testing.T) {
	var l stats.Loader
	for k, counter := range []*atomic.Int64{
		&l.Batches, &l.Samples, &l.Pillow, &l.Failed, &l.Rewinds, &l.BytesRead,
		&l.ReadAhead, &l.SeekHits, &l.Remote.Retries, &l.Remote.Requests, &l.Remote.Hedged, &l.Remote.Received, &l.Workers,
	} {
		counter.Store(int64(k + 1))
	}
	l.Detours[stats.Foreign].Add(2)
	l.Stages[stats.Read].Observe(time.Microsecond, 3)
	const none = `{"count": 0, "sum_ns": 0, "max_ns": 0, "buckets": []}`
	text, err := json.Marshal(l.Snapshot())
	require.NoError(t, err)
	require.NotZero(t, l.Number())
	require.JSONEq(t, fmt.Sprintf(`{"number": %d, `, l.Number())+`"batches": 1, "samples": 2, "pillow_samples": 3, "failed_batches": 4, "rewinds": 5,
		"bytes_read": 6, "read_ahead": 7, "seek_hits": 8, "read_retries": 9, "requests": 10, "hedged_requests": 11, "received_bytes": 12, "workers": 13, "all_decoded": 0, "seek_entries": 0, "seek_bytes": 0, "slowest": [],
		"detours": {"unreadable": 0, "changed": 0, "unknown_format": 0, "too_large": 0, "no_decoder": 2, "decoder_refused": 0, "transform_refused": 0},
		"stages": {"read": {"count": 3, "sum_ns": 3000, "max_ns": 1000, "buckets": [[1024, 3]]}, "decode": `+none+`, "op": `+none+`,
			"gather": `+none+`, "wait": `+none+`, "hand_out": `+none+`}}`, string(text))
}

func TestCountersMayBeReadWhileTheyCount(t *testing.T) {
	var l stats.Loader
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			last := int64(0)
			for range 1000 {
				l.Samples.Add(1)
				if now := l.Snapshot().Samples; now < last {
					t.Error("a counter went back")
				} else {
					last = now
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(4000), l.Snapshot().Samples)
}

// Every duration is in the bucket around it, which is no wider than a quarter of its octave.
func TestAHistogramKnowsEachDurationToAQuarter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		ns := random.Int64N(1 << (1 + random.IntN(38)))
		var h stats.Histogram
		h.Observe(time.Duration(ns), 1+int(ns%3))
		got := h.Distribution()
		require.Equal(t, 1+ns%3, got.Count)
		require.Equal(t, ns*got.Count, got.SumNs)
		require.Equal(t, ns, got.MaxNs)
		require.Len(t, got.Buckets, 1)
		end := got.Buckets[0][0]
		require.Less(t, ns, end)
		if end > 256 {
			require.LessOrEqual(t, end-ns, end/4, "%d ns end at %d", ns, end)
		}
	}
}

func TestAHistogramTakesWhateverAClockSays(t *testing.T) {
	var h stats.Histogram
	h.Observe(-time.Second, 1)
	h.Observe(time.Hour, 1)
	got := h.Distribution()
	require.EqualValues(t, 2, got.Count)
	require.Equal(t, time.Hour.Nanoseconds(), got.MaxNs)
}
