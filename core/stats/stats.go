// Package stats counts what a loader did and where its time went. Counters are single atomic words: always on, read at
// any time.
package stats

import (
	"sync/atomic"
	"time"
)

// Loader counts for one loader, over all its epochs. The zero value is ready.
type Loader struct {
	Batches atomic.Int64 // delivered
	Samples atomic.Int64 // finished
	Pillow  atomic.Int64 // of these, whose pixels Pillow had to supply
	Failed  atomic.Int64 // batches that ended in an error
	Rewinds atomic.Int64 // draws taken back since a sample turned out otherwise than its header said

	BytesRead atomic.Int64

	Remote    Remote
	ReadAhead atomic.Int64 // files read by goroutines that only read, since their storage is slow

	Decoded      atomic.Int64 // images whose pixels a cache could keep
	DecodedBytes atomic.Int64 // what it would keep of these

	SeekHits atomic.Int64 // files of which a seek index was there

	Workers atomic.Int64 // that may work at once now, of the run that said so last

	Stages  Stages  // how long each took
	Detours Detours // images that Python was asked for
	Slowest Slowest

	number atomic.Int32
}

var loaders atomic.Int32

// Number tells a loader from all others of the process, by its events.
func (l *Loader) Number() int32 {
	if l.number.Load() == 0 {
		l.number.CompareAndSwap(0, loaders.Add(1))
	}
	return l.number.Load()
}

// Did counts what was done, and keeps it as an event, if it was not too brief for one.
func (l *Loader) Did(e *Event) {
	l.Stages[e.Stage].Observe(time.Duration(e.TookNs)/time.Duration(e.Count), int(e.Count))
	if Recorded.keeps(e) {
		Recorded.Add(e)
	}
}

// Snapshot is a Loader's counters at one moment, by the names that reach Python.
type Snapshot struct {
	Number    int32 `json:"number"`
	Workers   int64 `json:"workers"`
	Batches   int64 `json:"batches"`
	Samples   int64 `json:"samples"`
	Pillow    int64 `json:"pillow_samples"`
	Failed    int64 `json:"failed_batches"`
	Rewinds   int64 `json:"rewinds"`
	BytesRead int64 `json:"bytes_read"`

	Retries   int64 `json:"read_retries"`
	Requests  int64 `json:"requests"`
	Hedged    int64 `json:"hedged_requests"`
	Received  int64 `json:"received_bytes"`
	ReadAhead int64 `json:"read_ahead"`

	SeekHits    int64 `json:"seek_hits"`
	AllDecoded  int64 `json:"all_decoded"`  // bytes that the pixels of all files would take, to judge by those that were decoded
	SeekEntries int64 `json:"seek_entries"` // files that have a seek index now
	SeekBytes   int64 `json:"seek_bytes"`   // memory of the seek index

	Stages  *Stages  `json:"stages"`  // as they are when they are written
	Detours *Detours `json:"detours"` // the same
	Slowest []Slow   `json:"slowest"`
}

// Snapshot reads the counters, each for itself.
func (l *Loader) Snapshot() Snapshot {
	return Snapshot{
		Number: l.Number(), Workers: l.Workers.Load(), Batches: l.Batches.Load(), Samples: l.Samples.Load(), Pillow: l.Pillow.Load(), Failed: l.Failed.Load(),
		Rewinds: l.Rewinds.Load(), BytesRead: l.BytesRead.Load(),
		Retries: l.Remote.Retries.Load(), Requests: l.Remote.Requests.Load(), Hedged: l.Remote.Hedged.Load(),
		Received: l.Remote.Received.Load(), ReadAhead: l.ReadAhead.Load(), SeekHits: l.SeekHits.Load(),
		Stages: &l.Stages, Detours: &l.Detours, Slowest: l.Slowest.List(),
	}
}
