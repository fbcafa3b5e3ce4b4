package stats_test

import (
	"encoding/json"
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
		&l.Batches, &l.Samples, &l.Pillow, &l.Failed, &l.Rewinds, &l.BytesRead, &l.ReadNs, &l.RunNs,
		&l.ReadAhead, &l.SeekHits, &l.Retries,
	} {
		counter.Store(int64(k + 1))
	}
	text, err := json.Marshal(l.Snapshot())
	require.NoError(t, err)
	require.JSONEq(t, `{"batches": 1, "samples": 2, "pillow_samples": 3, "failed_batches": 4, "rewinds": 5,
		"bytes_read": 6, "read_ns": 7, "run_ns": 8, "read_ahead": 9, "seek_hits": 10, "read_retries": 11, "seek_entries": 0, "seek_bytes": 0}`, string(text))
}

func TestSinceAddsTheTimeThatHasPassed(t *testing.T) {
	var counter atomic.Int64
	counter.Store(5)
	stats.Since(&counter, time.Now().Add(-time.Hour))
	require.GreaterOrEqual(t, counter.Load(), time.Hour.Nanoseconds()+5)
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
