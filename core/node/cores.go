package node

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Cores is how the ranks of a node tell each other how many cores they need, so that one may use more than its share while
// others use less. Each rank has a word in shared memory that it alone writes:
//
//	ms since boot << 17 | greedy << 16 | cores that it needs; 0: none
//
// A word counts for a moment only: a rank that was killed or stopped needs none.
type Cores struct {
	words  []byte // mapped
	rank   int
	ranks  int
	cores  int
	share  int
	memory *Memory

	mu                  sync.Mutex
	busy, wants, greedy int // of all runs of this process
}

// Need is what a run needs.
type Need struct {
	Busy   int  // workers with something in hand
	Wants  int  // workers that it has use for
	Greedy bool // it has use for any number of them
}

const (
	// Words are in cache lines of their own: each rank writes its word some hundred times a second.
	line = 64
	// A word counts for so long. It is written at each span, which takes milliseconds; a rank that is at one for longer
	// may be taken for idle, and then shares cores with those who borrowed them.
	freshMs = 1000

	wantsBits, greedyBit = 16, 1 << 16
	wantsMax             = greedyBit - 1
)

// OpenCores takes a rank's place among the ranks that share so many cores. The name is that of their table.
func OpenCores(name string, rank, ranks, cores int) (*Cores, error) {
	if rank < 0 || rank >= ranks || cores < 1 {
		return nil, fmt.Errorf("rank %d of %d, on %d cores", rank, ranks, cores)
	}
	memory, err := Named(fmt.Sprintf("%s-%d", name, cores), int64(line*ranks), nil)
	if err != nil {
		return nil, err
	}
	if err = memory.Reserve(0, int64(line*ranks)); err == nil {
		c := &Cores{rank: rank, ranks: ranks, cores: cores, share: max(1, cores/ranks), memory: memory}
		if c.words, err = unix.Mmap(memory.FD(), 0, line*ranks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			return c, nil
		}
	}
	memory.Close()
	return nil, err
}

// Close ends the rank's part. No run may use it any more.
func (c *Cores) Close() {
	atomic.StoreInt64(c.word(c.rank), 0)
	_ = unix.Munmap(c.words)
	c.memory.Close()
}

// Share is the cores that a rank always has.
func (c *Cores) Share() int { return c.share }

// Tell says what a run needs now, in place of what it said before (last, which is changed to it), and returns how many of its
// workers may be busy. Where it is greedy that is at least the share, less what other runs of this process keep busy.
func (c *Cores) Tell(last *Need, now Need) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(*last, -1)
	c.count(now, 1)
	*last = now
	ms, mine := milliseconds(), int64(0)
	if c.wants > 0 {
		mine = ms<<(wantsBits+1) | int64(min(c.wants, wantsMax))
	}
	if c.greedy > 0 {
		mine |= greedyBit
	}
	atomic.StoreInt64(c.word(c.rank), mine)
	if !now.Greedy {
		return now.Wants
	}
	return c.level(ms) - (c.busy - now.Busy)
}

func (c *Cores) count(need Need, sign int) {
	c.busy += sign * need.Busy
	c.wants += sign * need.Wants
	if need.Greedy {
		c.greedy += sign
	}
}

// level is how many cores each greedy rank may have: its share, and its part of what others leave of theirs.
func (c *Cores) level(ms int64) int {
	spare, greedy := c.cores, 0
	for rank := range c.ranks {
		word := atomic.LoadInt64(c.word(rank))
		if age := ms - word>>(wantsBits+1); age > freshMs || age < -freshMs {
			continue
		}
		spare -= min(int(word&wantsMax), c.share)
		if word&greedyBit != 0 {
			greedy++
		}
	}
	return c.share + max(0, spare)/max(1, greedy)
}

func (c *Cores) word(rank int) *int64 { return (*int64)(unsafe.Pointer(&c.words[line*rank])) }

// milliseconds is a clock that all processes of a machine share.
func milliseconds() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails for no clock that there is
	return now.Nano() / 1e6
}
