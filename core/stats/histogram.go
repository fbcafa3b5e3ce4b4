package stats

import (
	"encoding/json"
	"math/bits"
	"sync/atomic"
	"time"
)

// A Histogram counts durations in buckets of a quarter of an octave: a bucket's ends are within 25% of each other. Observing is
// a few atomic additions; the zero value is ready.
type Histogram struct {
	buckets [bucketCount]atomic.Int64
	sumNs   atomic.Int64
	maxNs   atomic.Int64
}

const (
	firstBits   = 8 // the first bucket ends at 256 ns
	bucketCount = 4*(38-firstBits) + 1
)

// Observe counts a duration n times: of what was done n times in one go, each takes the mean.
func (h *Histogram) Observe(each time.Duration, n int) {
	ns := max(int64(each), 0)
	h.buckets[bucketOf(ns)].Add(int64(n))
	h.sumNs.Add(ns * int64(n))
	for {
		known := h.maxNs.Load()
		if ns <= known || h.maxNs.CompareAndSwap(known, ns) {
			return
		}
	}
}

func bucketOf(ns int64) int {
	octave := bits.Len64(uint64(ns)) - 1
	if octave < firstBits {
		return 0
	}
	quarter := int(ns>>(octave-2)) & 3
	return min(4*(octave-firstBits)+quarter+1, bucketCount-1)
}

// bucketEnd is the first duration behind a bucket, but for the last one, which has no end.
func bucketEnd(i int) int64 { return int64(4+i%4) << (firstBits - 2 + i/4) }

// Distribution is a Histogram at one moment.
type Distribution struct {
	Count int64 `json:"count"`
	SumNs int64 `json:"sum_ns"`
	MaxNs int64 `json:"max_ns"`
	// Buckets has a pair for each bucket that is not empty: where it ends, in nanoseconds, and how many durations are in it.
	Buckets [][2]int64 `json:"buckets"`
}

// Distribution reads the buckets, each for itself.
func (h *Histogram) Distribution() Distribution {
	d := Distribution{SumNs: h.sumNs.Load(), MaxNs: h.maxNs.Load(), Buckets: [][2]int64{}}
	for i := range h.buckets {
		if n := h.buckets[i].Load(); n > 0 {
			d.Count += n
			d.Buckets = append(d.Buckets, [2]int64{bucketEnd(i), n})
		}
	}
	return d
}

// Stage is something that takes time.
type Stage int32

// The stages of a batch.
const (
	Read    Stage = iota // one file or its part, from opening to the last byte
	Decode               // one image, ops aside
	Op                   // one image's ops: from decoded pixels to the slot
	Gather               // one sample of rows
	Wait                 // one batch: how long its taker waited
	HandOut              // one batch: how long it was ready before it was taken
	stageCount
)

var stageNames = [stageCount]string{"read", "decode", "op", "gather", "wait", "hand_out"}

func (s Stage) String() string { return stageNames[s] }

// Stages has a Histogram for each Stage.
type Stages [stageCount]Histogram

// MarshalJSON writes the distributions by the stages' names.
func (s *Stages) MarshalJSON() ([]byte, error) {
	named := map[string]Distribution{}
	for i := range s {
		named[stageNames[i]] = s[i].Distribution()
	}
	return json.Marshal(named)
}

// Detour is why Python had to make an image, or to say what is wrong with it.
type Detour uint8

// The detours.
const (
	Unreadable    Detour = iota // its bytes could not be read
	Changed                     // its file is not the one that was opened
	Unknown                     // its header is of no format that we know, or damaged
	TooLarge                    // it has more pixels than we take
	Foreign                     // we have no decoder for its format
	Refused                     // its decoder leaves it to Pillow: damaged, or of a rare kind
	Untransformed               // its transforms refuse it
	detourCount
)

var detourNames = [detourCount]string{
	"unreadable", "changed", "unknown_format", "too_large", "no_decoder", "decoder_refused", "transform_refused",
}

// Detours counts images by Detour.
type Detours [detourCount]atomic.Int64

// MarshalJSON writes the counts by the detours' names.
func (d *Detours) MarshalJSON() ([]byte, error) {
	named := map[string]int64{}
	for i := range d {
		named[detourNames[i]] = d[i].Load()
	}
	return json.Marshal(named)
}
