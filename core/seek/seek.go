// Package seek keeps what decoders learned of files from epoch to epoch: seek indexes, by which a decoder gets to a
// window of a file sooner (core/decode/decoder.h). What is inside an entry is its decoder's matter, and so is not to
// believe one that is damaged or was made of other bytes.
//
// What always holds: entries lie outside the Go heap and never take more than the bytes they are allowed; nothing is
// evicted, since in epochs over a whole dataset the entry that was used last is the one that is needed last; an entry is
// handed out only for a file of the size and time of modification that it was made of. Ranks of a machine have one index
// together (core/node).
package seek

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/node"
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
	at    int32  // offset into the chunks, in grains
	turn  uint32 // odd while somebody changes the record or its entry, or if a process was killed at that
	size  int32  // 0: no entry
	room  int32  // bytes at that offset; 0: none
}

// head stands in front of the records.
type head struct {
	used    int64 // offset behind the last entry
	entries int64
	changes int64 // entries put, ever
	saved   int64 // of these, at the last Save
	opened  int64 // 1 once somebody has
	_       [3]int64
}

const (
	headSize   = int64(unsafe.Sizeof(head{}))
	recordSize = int64(unsafe.Sizeof(record{}))
	// bytesLimit is what a record's offset can say.
	bytesLimit = grain << 31
)

// Index is the entries of a source of files, by their numbers. Any goroutine may call its methods.
//
// Its memory may be that of several processes. Then nobody waits for another: a record has a turn, and who finds it odd does
// without the entry.
type Index struct {
	entry    int   // most bytes an entry may take
	chunk    int64 // bytes of a chunk
	bytesMax int64
	shared   *node.Memory // nil: the memory is this process's

	mu        sync.Mutex // among this process's goroutines
	directory mem.Block
	head      *head // changed by atomics
	records   []record
	chunks    []mem.Block // invalid until this process needs them
	disk      os.FileInfo
}

// New makes an empty index of n files that takes bytesMax at most. The fewer bytes there are a file, the sparser are
// its entries; ErrTooSmall says that there are too few for any.
func New(n int, bytesMax int64) (*Index, error) { return Open(n, bytesMax, "") }

// Open is New for ranks of a machine that give the same name: they have one index in memory. Where they cannot, which is no
// error, this process has one of its own.
func Open(n int, bytesMax int64, name string) (*Index, error) {
	bytesMax = min(bytesMax, bytesLimit)
	directory := headSize + recordSize*int64(n)
	// A sixteenth for the ends of chunks, which nothing fits into.
	room := (bytesMax - directory) / int64(max(n, 1))
	entry := min(room-room/16, entryMax) / grain * grain
	if entry < entryMin {
		return nil, fmt.Errorf("%d bytes for %d files: %w", bytesMax, n, ErrTooSmall)
	}
	x := &Index{entry: int(entry), chunk: min(chunkMax, bytesMax-directory), bytesMax: bytesMax}
	x.chunks = make([]mem.Block, (bytesMax-directory+x.chunk-1)/x.chunk)
	if name != "" {
		x.share(name, directory)
	}
	if !x.directory.Valid() {
		var err error
		if x.directory, err = mem.New(mem.Seek, int(directory)); err != nil {
			return nil, fmt.Errorf("seek index: %w", err)
		}
	}
	x.head = (*head)(x.directory.Data())
	x.records = unsafe.Slice((*record)(unsafe.Add(x.directory.Data(), headSize)), n)
	return x, nil
}

// First reports whether nobody else had the index before, and is so at its first call only.
func (x *Index) First() bool { return atomic.SwapInt64(&x.head.opened, 1) == 0 }

// share has the directory in memory that other ranks have as well.
func (x *Index) share(name string, directory int64) {
	memory, err := node.Named("seek-"+name, x.place(len(x.chunks), directory), nil)
	if err != nil {
		return
	}
	if err = memory.Reserve(0, directory); err == nil {
		x.directory, err = mem.Map(mem.Seek, memory.FD(), 0, int(directory), true)
	}
	if err != nil {
		memory.Close()
		return
	}
	x.shared = memory
}

// place is where in shared memory a chunk begins, behind a directory of so many bytes.
func (x *Index) place(chunk int, directory int64) int64 {
	page := int64(os.Getpagesize())
	up := func(n int64) int64 { return (n + page - 1) / page * page }
	return up(directory) + int64(chunk)*up(x.chunk)
}

// Close frees the entries, unless other processes have them.
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.chunks {
		if c.Valid() {
			c.Free()
		}
	}
	x.directory.Free()
	if x.shared != nil {
		x.shared.Close()
	}
	x.chunks, x.records, x.shared = nil, nil, nil
}

// EntryMax is the most bytes an entry may have.
func (x *Index) EntryMax() int { return x.entry }

// Get copies file i's entry into dst, of EntryMax bytes, and says how many they are; 0 if there is none, or one of
// another version of the file.
func (x *Index) Get(i int, stamp source.Stamp, dst []byte) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.get(&x.records[i], func(of source.Stamp) bool { return of == stamp }, dst)
}

// get copies the entry of a record, if it is of a version that is wanted.
func (x *Index) get(r *record, wanted func(source.Stamp) bool, dst []byte) int {
	turn := atomic.LoadUint32(&r.turn)
	copied := *r
	if turn&1 == 1 || copied.size <= 0 || !wanted(copied.stamp) {
		return 0
	}
	entry := x.bytes(&copied)
	n := copy(dst, entry)
	// As an exchange it comes behind all these reads, on every processor.
	if !atomic.CompareAndSwapUint32(&r.turn, turn, turn) {
		return 0
	}
	return n
}

// Put keeps a copy of file i's entry, in place of an earlier one, if there is room. An empty one takes the earlier away.
func (x *Index) Put(i int, stamp source.Stamp, entry []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &x.records[i]
	turn := atomic.LoadUint32(&r.turn)
	if turn&1 == 1 || !atomic.CompareAndSwapUint32(&r.turn, turn, turn+1) {
		return
	}
	defer atomic.StoreUint32(&r.turn, turn+2)
	if r.size > 0 && r.stamp == stamp && len(entry) > 0 && int(r.size) >= len(entry) {
		return // another worker has seen more of the file
	}
	if r.size > 0 {
		r.size = 0
		atomic.AddInt64(&x.head.entries, -1)
	}
	if len(entry) == 0 || len(entry) > x.entry {
		return
	}
	if int(r.room) < len(entry) && !x.settle(r, len(entry)) {
		return
	}
	size := int32(len(entry))
	to := x.bytes(&record{at: r.at, size: size})
	if to == nil {
		return // an entry is a convenience: without one a file is read from its beginning
	}
	copy(to, entry)
	r.stamp, r.size = stamp, size
	atomic.AddInt64(&x.head.entries, 1)
	atomic.AddInt64(&x.head.changes, 1)
}

// bytes is a record's entry; nil if there is no memory for it here.
func (x *Index) bytes(r *record) []byte {
	at := int64(r.at) * grain
	k, begin := at/x.chunk, at%x.chunk
	if at < 0 || k >= int64(len(x.chunks)) || begin+int64(r.size) > x.sizeOf(k) || !x.hold(k) {
		return nil
	}
	return x.chunks[k].Bytes()[begin:][:r.size]
}

// sizeOf is the bytes of a chunk: the last one is what is left of those allowed.
func (x *Index) sizeOf(k int64) int64 {
	return min(x.chunk, x.bytesMax-int64(x.directory.Size())-k*x.chunk)
}

// hold maps a chunk, if this process has not needed it before.
func (x *Index) hold(k int64) bool {
	if x.chunks[k].Valid() {
		return true
	}
	var err error
	size := x.sizeOf(k)
	if x.shared == nil {
		x.chunks[k], err = mem.New(mem.Seek, int(size))
		return err == nil
	}
	at := x.place(int(k), int64(x.directory.Size()))
	if err = x.shared.Reserve(at, size); err == nil {
		x.chunks[k], err = mem.Map(mem.Seek, x.shared.FD(), at, int(size), true)
	}
	return err == nil
}

// settle finds room for an entry behind the others, and for what it may grow by: a visit that looks further down than all
// before adds to it. Room that an entry has outgrown is lost.
func (x *Index) settle(r *record, size int) bool {
	room := int64(min((size+size/4+grain-1)/grain*grain, x.entry))
	for {
		used := atomic.LoadInt64(&x.head.used)
		k, at := used/x.chunk, used
		if k < int64(len(x.chunks)) && used%x.chunk+room > x.sizeOf(k) {
			k++
			at = k * x.chunk
		}
		if k >= int64(len(x.chunks)) || at%x.chunk+room > x.sizeOf(k) || !x.hold(k) {
			return false
		}
		if atomic.CompareAndSwapInt64(&x.head.used, used, at+room) {
			r.at, r.room = int32(at/grain), int32(room)
			return true
		}
	}
}

// Usage is what an index holds at one moment, in all processes together.
type Usage struct {
	Entries int64 // files that have one
	Bytes   int64 // all memory of the index
}

// Usage counts.
func (x *Index) Usage() Usage {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.records == nil {
		return Usage{}
	}
	used := atomic.LoadInt64(&x.head.used)
	bytes := min(int64(x.directory.Size())+(used+x.chunk-1)/x.chunk*x.chunk, x.bytesMax)
	return Usage{Entries: atomic.LoadInt64(&x.head.entries), Bytes: bytes}
}
