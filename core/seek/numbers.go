package seek

import (
	"hash/maphash"
	"sync"
)

// Numbers gives files numbers for an Index, where they come by their paths: in the order in which they are first seen. It
// keeps 12 bytes a file, a hash in place of its path: two files that share one share an entry, which an Index hands out to
// neither as long as their sizes or times differ, and which a decoder does not believe if it was made of other bytes. Any
// goroutine may call its method.
type Numbers struct {
	seed maphash.Seed
	max  int

	mu sync.Mutex
	of map[uint64]int32
}

// NewNumbers has numbers for at most max files.
func NewNumbers(max int) *Numbers {
	return &Numbers{seed: maphash.MakeSeed(), max: max, of: make(map[uint64]int32)}
}

// Of is a file's number; false if there are no more.
func (n *Numbers) Of(path []byte) (int, bool) {
	hash := maphash.Bytes(n.seed, path)
	n.mu.Lock()
	defer n.mu.Unlock()
	number, known := n.of[hash]
	if !known {
		if len(n.of) >= n.max {
			return 0, false
		}
		number = int32(len(n.of))
		n.of[hash] = number
	}
	return int(number), true
}
