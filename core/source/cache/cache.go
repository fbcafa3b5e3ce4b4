// Package cache keeps what was read from a store, as it was read: in memory (ram.go), on a disk (disk.go), or both.
//
// An entry is the bytes of one source.Key: an object or a file whole, or a file of an archive. Samples are asked for by the
// same keys in each epoch, so that an entry is a sample: in blocks of a fixed size most of a block would be other samples',
// which a shuffled epoch wants at other times.
//
// An entry counts for one version of its container. A Remote's key names it (source.WithVersion); a file is looked at
// each time. What has no version, and what is not of the version that was asked for, is read and not kept.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goloader/goloader/core/source"
)

// NoLimit is a size without a limit.
const NoLimit = -1

// Options say where entries are kept, and how many bytes of them.
type Options struct {
	RAM       int64  // 0: not in memory
	Disk      string // a folder, made if there is none; "": not on a disk
	DiskLimit int64
	// Decoded: what is kept is what was made of files (Decoded), and not their bytes.
	Decoded bool
}

// entry names what is kept: hashes, so that no URL's secrets are on a disk.
type entry struct {
	id      [16]byte // of the container's name and the place in it
	version [16]byte
}

// next reads an entry that a tier lacks, from the tier behind it: appends it to the buffer, and says whether it is of the
// version that was asked for.
type next func() (stamp source.Stamp, keep bool, err error)

// tier keeps entries.
type tier interface {
	read(ctx context.Context, e entry, buf *source.Buffer, next next) (source.Stamp, bool, error)
}

// Cache is tiers that any number of stores may share. To be made by Open.
type Cache struct {
	ram     *ram
	disk    *disk
	tiers   []tier
	kept    []tier // those that keep something
	misses  atomic.Int64
	decoded bool
}

// Open makes a cache. A disk that cannot be used is no error, but a warning.
func Open(o Options) *Cache {
	c := &Cache{tiers: []tier{&flights{under: map[entry]*flight{}}}, decoded: o.Decoded}
	if o.RAM != 0 {
		c.ram = newRAM(o.RAM)
		c.tiers = append(c.tiers, c.ram)
	}
	if o.Disk != "" {
		c.disk = openDisk(o.Disk, o.DiskLimit)
		c.tiers = append(c.tiers, c.disk)
	}
	c.kept = c.tiers[1:]
	return c
}

// Close gives the memory back. Stores that still use the cache then read without it.
func (c *Cache) Close() error {
	if c.ram != nil {
		c.ram.close()
	}
	return nil
}

// Warnings are what a user should know of that changes no byte; each is given once.
func (c *Cache) Warnings() error {
	if c.disk == nil {
		return nil
	}
	return c.disk.takeNotice()
}

// Usage is what a cache did since it was opened, and holds now.
type Usage struct {
	RAMHits   int64 `json:"ram_hits"`
	RAMBytes  int64 `json:"ram_bytes"`
	DiskHits  int64 `json:"disk_hits"`
	DiskBytes int64 `json:"disk_bytes"` // of all processes together
	Misses    int64 `json:"misses"`
}

// Usage reads the counters.
func (c *Cache) Usage() Usage {
	u := Usage{Misses: c.misses.Load()}
	if c.ram != nil {
		u.RAMHits, u.RAMBytes = c.ram.hits.Load(), c.ram.bytes()
	}
	if c.disk != nil {
		u.DiskHits, u.DiskBytes = c.disk.hits.Load(), c.disk.counted()
	}
	return u
}

// Wrap gives a store whose reads go through the cache, if it keeps files' bytes. Containers that are opened do not: an archive
// is listed once.
func (c *Cache) Wrap(store source.Store) source.Store {
	if c.decoded {
		return store
	}
	stater, _ := source.Innermost(store).(source.Stater)
	return &cached{store, c, source.IsRemote(store), stater}
}

type cached struct {
	source.Store
	cache  *Cache
	remote bool
	stater source.Stater // nil: the store knows no versions
}

// Unwrap implements source.Wrapper.
func (s *cached) Unwrap() source.Store { return s.Store }

// Read implements source.Store.
func (s *cached) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	e, is, known := s.entry(ctx, key)
	if !known {
		s.cache.misses.Add(1)
		return s.Store.Read(ctx, key, buf)
	}
	if s.cache.ram != nil { // what is in memory is nobody's flight
		if stamp, found, err := s.cache.ram.get(e, buf); found || err != nil {
			return stamp, err
		}
	}
	read := func() (source.Stamp, bool, error) {
		s.cache.misses.Add(1)
		stamp, err := s.Store.Read(ctx, key, buf)
		return stamp, err == nil && is(stamp), err
	}
	stamp, _, err := through(ctx, s.cache.tiers, e, buf, read)
	return stamp, err
}

func through(ctx context.Context, tiers []tier, e entry, buf *source.Buffer, last next) (source.Stamp, bool, error) {
	if len(tiers) == 0 {
		return last()
	}
	return tiers[0].read(ctx, e, buf, func() (source.Stamp, bool, error) { return through(ctx, tiers[1:], e, buf, last) })
}

// A file system may stamp two changes this far apart with the same time: a file that was changed so shortly ago may change
// again unseen.
const timeGrain = 2 * time.Second

// entry gives the entry of a key, and tells whether what was read is of its version; not known: there is no version.
func (s *cached) entry(ctx context.Context, key source.Key) (e entry, is func(source.Stamp) bool, known bool) {
	name := string(key.Container[:max(0, len(key.Container)-1)])
	version := ""
	switch {
	case s.remote:
		name, version = source.CutVersion(name)
		// Pieces are never of another version. An object is whole, and may have been replaced since it was listed.
		is = func(got source.Stamp) bool { return key.Length != source.Whole || got.Version() == version }
	case s.stater != nil:
		stamp, err := s.stater.Stat(ctx, name)
		if err != nil || time.Since(time.Unix(0, stamp.ModifiedNs)) < timeGrain {
			return e, nil, false
		}
		is = func(got source.Stamp) bool { return got == stamp }
		version = string(binary.LittleEndian.AppendUint64([]byte(stamp.Version()), uint64(stamp.Bytes)))
	}
	if version == "" {
		return e, nil, false
	}
	text := binary.LittleEndian.AppendUint64(nil, uint64(key.Offset))
	text = append(binary.LittleEndian.AppendUint64(text, uint64(key.Length)), name...)
	id, of := sha256.Sum256(text), sha256.Sum256([]byte(version))
	copy(e.id[:], id[:])
	copy(e.version[:], of[:])
	return e, is, true
}

// flights is a tier that keeps nothing: readers of an entry that is being read wait for it. Not singleflight, whose first
// caller's context would end the reads of all, and whose result would be a copy of each entry.
type flights struct {
	mu    sync.Mutex
	under map[entry]*flight
}

type flight struct {
	done    chan struct{}
	waiting int
	// To be read once done is closed.
	bytes []byte
	stamp source.Stamp
	keep  bool
	err   error
}

// errStopped says that whoever read an entry was stopped, so that another has to.
var errStopped = errors.New("its reader was stopped")

func (f *flights) read(ctx context.Context, e entry, buf *source.Buffer, next next) (source.Stamp, bool, error) {
	for {
		f.mu.Lock()
		under := f.under[e]
		if under == nil {
			under = &flight{done: make(chan struct{}), err: errStopped}
			f.under[e] = under
			f.mu.Unlock()
			return f.lead(ctx, e, under, buf, next)
		}
		under.waiting++
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return source.Stamp{}, false, ctx.Err()
		case <-under.done:
		}
		if under.err == errStopped {
			continue
		}
		if under.err != nil {
			return source.Stamp{}, false, under.err
		}
		room, err := buf.Room(len(under.bytes))
		if err != nil {
			return source.Stamp{}, false, err
		}
		buf.Add(copy(room, under.bytes))
		return under.stamp, under.keep, nil
	}
}

func (f *flights) lead(ctx context.Context, e entry, under *flight, buf *source.Buffer, next next) (source.Stamp, bool, error) {
	begin := buf.Len()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.under, e)
		if under.err == nil && under.waiting > 0 {
			under.bytes = append([]byte(nil), buf.Slice(begin, buf.Len())...)
		}
		close(under.done)
	}()
	stamp, keep, err := next()
	if err == nil || ctx.Err() == nil {
		under.stamp, under.keep, under.err = stamp, keep, err
	}
	return stamp, keep, err
}
