// Package seek keeps what decoders learned of files from epoch to epoch: seek indexes, by which a decoder gets to a
// window of a file sooner (core/decode/decoder.h). What is inside an entry is its decoder's matter, and so is not to
// believe one that is damaged or was made of other bytes.
//
// What always holds: entries lie outside the Go heap and never take more than the bytes they are allowed; nothing is
// evicted, since in epochs over a whole dataset the entry that was used last is the one that is needed last; an entry is
// handed out only for a file of the size and time of modification that it was made of.
package seek

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
)

const (
	// entryMax is enough for places every 8 MCUs in photos of 6 megapixels, and sparser ones beyond.
	entryMax = 32 << 10
	// entryMin is less than any useful entry takes.
	entryMin = 64
	chunkMax = 1 << 20
	// grain is what entries are rounded up to: an entry grows with the rows that were seen.
	grain = 64
)

// ErrTooSmall says that the bytes allowed are too few for an entry a file.
var ErrTooSmall = errors.New("too few bytes for a seek index")

// record says where a file's entry is.
type record struct {
	stamp source.Stamp
	at    int64 // offset into the chunks
	size  int32 // 0: no entry
	room  int32 // bytes at that offset; 0: none
}

// Index is the entries of a source of files, by their numbers. Any goroutine may call its methods.
type Index struct {
	entry    int   // most bytes an entry may take
	chunk    int64 // bytes of a chunk
	bytesMax int64

	mu        sync.Mutex
	directory mem.Block
	records   []record
	chunks    []mem.Block
	used, end int64 // offsets behind the last entry and behind the last chunk
	mapped    int64
	entries   int64
	changes   int64 // entries put, ever
	saved     int64 // of these, at the last Save
	disk      os.FileInfo
}

// New makes an empty index of n files that takes bytesMax at most. The fewer bytes there are a file, the sparser are
// its entries; ErrTooSmall says that there are too few for any.
func New(n int, bytesMax int64) (*Index, error) {
	const each = int64(unsafe.Sizeof(record{}))
	// A sixteenth for the ends of chunks, which nothing fits into.
	room := (bytesMax - each*int64(n)) / int64(max(n, 1))
	entry := min(room-room/16, entryMax) / grain * grain
	if entry < entryMin {
		return nil, fmt.Errorf("%d bytes for %d files: %w", bytesMax, n, ErrTooSmall)
	}
	chunk := min(chunkMax, bytesMax-each*int64(n))
	directory, err := mem.New(mem.Seek, int(each)*n)
	if err != nil {
		return nil, fmt.Errorf("seek index: %w", err)
	}
	return &Index{
		entry: int(entry), chunk: chunk, bytesMax: bytesMax, directory: directory, mapped: int64(directory.Size()),
		records: unsafe.Slice((*record)(directory.Data()), n),
	}, nil
}

// Close frees the entries.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.chunks {
		c.Free()
	}
	x.directory.Free()
	x.chunks, x.records = nil, nil
}

// EntryMax is the most bytes an entry may have.
func (x *Index) EntryMax() int { return x.entry }

// Get copies file i's entry into dst, of EntryMax bytes, and says how many they are; 0 if there is none, or one of
// another version of the file.
func (x *Index) Get(i int, stamp source.Stamp, dst []byte) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &x.records[i]
	if r.size == 0 || r.stamp != stamp {
		return 0
	}
	return copy(dst, x.bytes(r))
}

// Put keeps a copy of file i's entry, in place of an earlier one, if there is room. An empty one takes the earlier away.
func (x *Index) Put(i int, stamp source.Stamp, entry []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &x.records[i]
	if r.size > 0 && r.stamp == stamp && len(entry) > 0 && int(r.size) >= len(entry) {
		return // another worker has seen more of the file
	}
	if r.size > 0 {
		r.size = 0
		x.entries--
	}
	if len(entry) == 0 || len(entry) > x.entry {
		return
	}
	if int(r.room) < len(entry) && !x.place(r, len(entry)) {
		return
	}
	r.stamp, r.size = stamp, int32(len(entry))
	copy(x.bytes(r), entry)
	x.entries++
	x.changes++
}

// bytes is a record's entry.
func (x *Index) bytes(r *record) []byte {
	return x.chunks[r.at/x.chunk].Bytes()[r.at%x.chunk:][:r.size]
}

// place finds room for an entry behind the others, and for what it may grow by: a visit that looks further down than all
// before adds to it. Room that an entry has outgrown is lost.
func (x *Index) place(r *record, size int) bool {
	room := int64(min((size+size/4+grain-1)/grain*grain, x.entry))
	if x.used+room > x.end {
		// The last chunk is what is left of the bytes.
		size := min(x.chunk, x.bytesMax-x.mapped)
		if size < room {
			return false
		}
		chunk, err := mem.New(mem.Seek, int(size))
		if err != nil {
			return false // an entry is a convenience: without one a file is read from its beginning
		}
		x.used = int64(len(x.chunks)) * x.chunk
		x.end = x.used + size
		x.chunks = append(x.chunks, chunk)
		x.mapped += size
	}
	r.at, r.room = x.used, int32(room)
	x.used += room
	return true
}

// Usage is what an index holds at one moment.
type Usage struct {
	Entries int64 // files that have one
	Bytes   int64 // all memory of the index
}

// Usage counts.
func (x *Index) Usage() Usage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Usage{Entries: x.entries, Bytes: x.mapped}
}
