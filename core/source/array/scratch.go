package array

import (
	"sync"
	"unsafe"
)

// scratch is memory for rows on their way.
type scratch struct {
	words []uint64 // aligned for every item
	bytes []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch(n int) *scratch {
	s := scratches.Get().(*scratch)
	if cap(s.bytes) < n {
		s.words = make([]uint64, (n+7)/8)
		s.bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), 8*len(s.words))
	}
	s.bytes = s.bytes[:n]
	return s
}

func putScratch(s *scratch) { scratches.Put(s) }
