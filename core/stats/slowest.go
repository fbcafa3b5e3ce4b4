package stats

import (
	"slices"
	"sync"
	"sync/atomic"
)

// slowestMax is how many samples a Slowest keeps.
const slowestMax = 8

// Slow is a sample that took long: of images that were decoded in one go, the first, and the mean time of these.
type Slow struct {
	Name   string `json:"name"`
	Stage  string `json:"stage"` // Read or Decode, which counts the ops too
	TookNs int64  `json:"took_ns"`
}

// Slowest keeps the samples that took longest. The zero value is ready.
type Slowest struct {
	least atomic.Int64 // what takes no longer is not kept
	mu    sync.Mutex
	kept  []Slow // the slowest first
}

func (s *Slowest) add(each Slow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(o Slow) bool { return o.Name == each.Name && o.Stage == each.Stage }
	if i := slices.IndexFunc(s.kept, same); i >= 0 {
		each.TookNs = max(each.TookNs, s.kept[i].TookNs)
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	at := len(s.kept)
	for at > 0 && s.kept[at-1].TookNs < each.TookNs {
		at--
	}
	s.kept = slices.Insert(s.kept, at, each)
	if len(s.kept) >= slowestMax {
		s.kept = s.kept[:slowestMax]
		s.least.Store(s.kept[slowestMax-1].TookNs)
	}
}

// List is what is kept, the slowest first.
func (s *Slowest) List() []Slow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Slow{}, s.kept...)
}
