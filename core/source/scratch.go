package source

import (
	"slices"
	"sync"
)

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Scratch is memory on Go's heap for a moment, n bytes of whatever was there before. PutScratch takes it back, longer perhaps.
func Scratch(n int) *[]byte {
	room := scratches.Get().(*[]byte)
	*room = slices.Grow((*room)[:0], n)[:n]
	return room
}

// PutScratch ends the use of such memory.
func PutScratch(room *[]byte) { scratches.Put(room) }
