package cache

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
)

const (
	// Entries lie in slabs: a mapping for each would be more than the kernel allows a process (vm.max_map_count).
	slabMax, slabMin = 16 << 20, 4 << 10
	// A limit is at least so many slabs, and an entry that takes more than such a part of one has a slab of its own, so
	// that little is left over at a slab's end.
	slabParts = 8
	// Where no entry was found, so many lookups for each say that nobody wants them any more.
	lookupsMax = 64
)

// ram keeps entries in memory, outside the Go heap. What is in stays: an epoch asks for each sample once, so that all are
// equally far from their next use on average, and to evict one for another would only lose the time of reading (MinIO in
// CoorDL, Mohan et al. 2021). When it is full, slabs of which nothing was used during a whole epoch are given back (sweep).
type ram struct {
	limit    int64
	slabSize int
	hits     atomic.Int64
	missed   atomic.Int64 // since the last sweep

	mu     sync.RWMutex
	places map[[16]byte]place // without pointers: the garbage collector does not look into it
	slabs  map[int32]*slab
	last   int32 // the slab that is being filled
	used   int64
	full   int // entries refused since the last sweep
	closed bool
}

type place struct {
	version   [16]byte
	stamp     source.Stamp
	slab      int32
	at, bytes int64
}

type slab struct {
	block   mem.Block
	used    int
	entries int64
	writers int
	fresh   bool         // made since the last sweep
	hits    atomic.Int64 // since then
}

func newRAM(limit int64) *ram {
	size := slabMax
	if limit != NoLimit {
		size = int(min(slabMax, limit, max(slabMin, limit/slabParts)))
	}
	return &ram{limit: limit, slabSize: size, places: map[[16]byte]place{}, slabs: map[int32]*slab{}}
}

func (r *ram) bytes() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.used
}

func (r *ram) read(_ context.Context, e entry, buf *source.Buffer, next next) (source.Stamp, bool, error) {
	if stamp, found, err := r.get(e, buf); found || err != nil {
		return stamp, true, err
	}
	r.missed.Add(1)
	begin := buf.Len()
	stamp, keep, err := next()
	if err == nil && keep {
		r.put(e, stamp, buf.Slice(begin, buf.Len()))
	}
	return stamp, keep, err
}

func (r *ram) get(e entry, buf *source.Buffer) (source.Stamp, bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	p, found := r.places[e.id]
	if !found || p.version != e.version {
		return source.Stamp{}, false, nil
	}
	room, err := buf.Room(int(p.bytes))
	if err != nil {
		return source.Stamp{}, false, err
	}
	s := r.slabs[p.slab]
	buf.Add(copy(room, s.block.Bytes()[p.at:p.at+p.bytes]))
	s.hits.Add(1)
	r.hits.Add(1)
	return p.stamp, true, nil
}

// refuses says that an entry of so many bytes finds no room, as far as is known without a sweep; now and then it says otherwise,
// so that one takes place.
func (r *ram) refuses(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slabs[r.last]; r.closed || s != nil && s.used+bytes <= s.block.Size() || r.limit == NoLimit {
		return r.closed
	}
	if r.used+int64(bytes) <= r.limit {
		return false
	}
	r.full++
	return r.full%(len(r.places)/slabParts+1) != 0
}

// put keeps an entry, if there is room.
func (r *ram) put(e entry, stamp source.Stamp, bytes []byte) {
	r.mu.Lock()
	number, s := r.room(len(bytes))
	if s == nil {
		r.mu.Unlock()
		return
	}
	at := s.used
	s.used += len(bytes)
	s.writers++
	r.mu.Unlock()
	copy(s.block.Bytes()[at:], bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.writers--
	if r.closed {
		if s.writers == 0 {
			s.block.Free()
		}
		return
	}
	if old, had := r.places[e.id]; had {
		r.slabs[old.slab].entries--
	}
	s.entries++
	r.places[e.id] = place{e.version, stamp, number, int64(at), int64(len(bytes))}
}

// room gives a slab with so many bytes left; nil if there is none. Under the lock.
func (r *ram) room(bytes int) (int32, *slab) {
	if r.closed {
		return 0, nil
	}
	size, own := r.slabSize, bytes > r.slabSize/slabParts
	if own {
		size = bytes
	} else if s := r.slabs[r.last]; s != nil && s.used+bytes <= s.block.Size() {
		return r.last, s
	}
	if r.limit != NoLimit && r.used+int64(max(bytes, 1)) > r.limit {
		r.full++
		if r.full%(len(r.places)/slabParts+1) == 0 { // a sweep looks at all entries
			r.sweep()
		}
		if r.used+int64(max(bytes, 1)) > r.limit {
			return 0, nil
		}
	}
	if r.limit != NoLimit {
		size = int(min(int64(size), r.limit-r.used))
	}
	block, err := mem.New(mem.Cached, size)
	if err != nil {
		return 0, nil
	}
	number := r.last + 1
	for r.slabs[number] != nil {
		number++
	}
	s := &slab{block: block, fresh: true}
	r.slabs[number] = s
	r.used += int64(block.Size())
	if !own {
		r.last = number
	}
	return number, s
}

// sweep gives back the slabs of which nothing was used during a whole epoch, if one has passed since the last sweep. In an
// epoch each entry that is still wanted is found once, so that two have begun when those of the slabs in use were found
// twice on average, and one was whole. Under the lock.
func (r *ram) sweep() {
	var hits, wanted int64
	for _, s := range r.slabs {
		if n := s.hits.Load(); n > 0 {
			hits, wanted = hits+n, wanted+s.entries
		}
	}
	over := hits > 0 && hits >= 2*wanted || hits == 0 && r.missed.Load() >= lookupsMax*int64(len(r.places))
	if !over {
		return
	}
	dead := map[int32]bool{}
	for number, s := range r.slabs {
		dead[number] = s.hits.Swap(0) == 0 && s.writers == 0 && !s.fresh
		s.fresh = false
		if dead[number] {
			r.used -= int64(s.block.Size())
			s.block.Free()
			delete(r.slabs, number)
		}
	}
	for id, p := range r.places {
		if dead[p.slab] {
			delete(r.places, id)
		}
	}
	r.missed.Store(0)
	r.full = 0
}

// close gives the memory back, that of entries being written as soon as they are.
func (r *ram) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for _, s := range r.slabs {
		if s.writers == 0 {
			s.block.Free()
		}
	}
	r.closed, r.places, r.slabs, r.used = true, nil, nil, 0
}
