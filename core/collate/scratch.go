package collate

import (
	"sync"
	"unsafe"
)

// scratch is memory for a row on its way, aligned for every item.
type scratch struct{ words []uint64 }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

func putScratch(s *scratch) { scratches.Put(s) }

func (s *scratch) bytes(n int) []byte {
	if words := (n + 7) / 8; len(s.words) < words {
		s.words = make([]uint64, words)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), 8*len(s.words))[:n]
}

// int64s are those that bytes hold, which are aligned for them.
func int64s(b []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

func int32s(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
