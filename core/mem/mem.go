// Package mem gives memory outside the Go heap, counted by purpose: batch slots, file bytes, indexes, caches. Python reads such
// memory after Go has let go of it, C writes it, and the garbage collector never looks at it.
package mem

/*
#include "block.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Purpose says what memory is for; each purpose has a counter.
type Purpose int

// The purposes.
const (
	Slots   Purpose = iota // finished batches, leased ones included
	Files                  // encoded files between reading and decoding
	Indexes                // paths and labels of a dataset
	Seek                   // seek indexes of files, and a worker's copies of them
	Cached                 // what core/source/cache keeps of a store
	purposes
)

func (p Purpose) String() string {
	return [...]string{"slots", "files", "indexes", "seek", "cached"}[p]
}

// counters live in C memory: a block outlives the run that mapped it, and is freed from C.
var counters = (*[purposes]C.gl_counter)(C.calloc(C.size_t(purposes), C.sizeof_gl_counter))

// Usage is what is mapped for one purpose now.
type Usage struct {
	Bytes  int64
	Blocks int64
}

// InUse reads a purpose's counter.
func InUse(p Purpose) Usage {
	return Usage{
		Bytes:  atomic.LoadInt64((*int64)(unsafe.Pointer(&counters[p].bytes))),
		Blocks: atomic.LoadInt64((*int64)(unsafe.Pointer(&counters[p].blocks))),
	}
}

// Block is memory outside the Go heap. The zero Block is no memory.
type Block struct{ c *C.gl_block }

// New maps size bytes (at least 1), zeroed. The block is taken. Forked children have indexes, and what is leased then.
func New(p Purpose, size int) (Block, error) {
	if size < 0 { // a sum that was larger than an int
		return wrap(nil, p, size)
	}
	c := C.gl_block_new(C.size_t(max(size, 1)), nil, &counters[p])
	if c != nil && p != Indexes {
		C.gl_block_inherit(c, 0)
	}
	return wrap(c, p, size)
}

// Map maps size bytes of a file from an offset on, which is a multiple of a page, together with whoever else has it mapped. The
// block is taken. The file stays as long as it.
func Map(p Purpose, fd int, offset int64, size int, writable bool) (Block, error) {
	protection := C.int(C.PROT_READ)
	if writable {
		protection |= C.PROT_WRITE
	}
	c := C.gl_block_of(C.size_t(size), nil, &counters[p], protection, C.MAP_SHARED, C.int(fd), C.off_t(offset))
	if c != nil && p != Indexes {
		C.gl_block_inherit(c, 0)
	}
	return wrap(c, p, size)
}

// Lend wraps memory of the caller, who keeps it alive until the block is freed.
func Lend(p Purpose, data unsafe.Pointer, size int) (Block, error) {
	return wrap(C.gl_block_new(C.size_t(size), data, &counters[p]), p, size)
}

func wrap(c *C.gl_block, p Purpose, size int) (Block, error) {
	if c == nil {
		return Block{}, fmt.Errorf("%d bytes for %s: %w", size, p, ErrNoMemory)
	}
	return Block{c}, nil
}

// ErrNoMemory says that the kernel refused a mapping.
var ErrNoMemory = errors.New("out of memory")

// Valid reports whether b is a block at all.
func (b Block) Valid() bool { return b.c != nil }

// Data is the block's first byte.
func (b Block) Data() unsafe.Pointer { return unsafe.Pointer(b.c.data) }

// Size is the block's length in bytes.
func (b Block) Size() int { return int(b.c.size) }

// Bytes is the block as a slice, good until the block is freed.
func (b Block) Bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(b.c.data)), b.Size()) }

// Handle is the gl_block for whoever releases the lease from C.
func (b Block) Handle() unsafe.Pointer { return unsafe.Pointer(b.c) }

// Lent reports whether the memory is the caller's.
func (b Block) Lent() bool { return b.c.lent != 0 }

// SetPoison makes Release overwrite the block.
func (b Block) SetPoison(on bool) {
	b.c.poison = 0
	if on {
		b.c.poison = 1
	}
}

// state is the word that its reader's last call, in C, changes as well.
func (b Block) state() *int32 { return (*int32)(unsafe.Pointer(&b.c.state)) }

// Take takes the block if it is idle.
func (b Block) Take() bool { return atomic.CompareAndSwapInt32(b.state(), C.GL_IDLE, C.GL_TAKEN) }

// Put makes a taken block idle again, unread.
func (b Block) Put() { atomic.StoreInt32(b.state(), C.GL_IDLE) }

// Lease hands a taken block to a reader, who may be in a child that is forked later.
func (b Block) Lease() {
	if b.Size() >= C.GL_INHERIT_MIN {
		C.gl_block_inherit(b.c, 1)
	}
	atomic.StoreInt32(b.state(), C.GL_LEASED)
}

// Release ends a lease; any thread.
func (b Block) Release() { C.gl_block_release(b.c) }

// Abandon ends ownership: the block is freed now, or with its lease.
func (b Block) Abandon() { C.gl_block_abandon(b.c) }

// Free unmaps the block, whatever its state. Nobody may use it afterwards.
func (b Block) Free() { C.gl_block_free(b.c) }

// Aligned is n bytes and what is left of their last cache line.
func Aligned(n int) int { return (n + 63) &^ 63 }
