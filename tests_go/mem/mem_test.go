package mem_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

func newBlock(t *testing.T, p mem.Purpose, size int) mem.Block {
	t.Helper()
	b, err := mem.New(p, size)
	require.NoError(t, err)
	return b
}

// lendable is memory that Lend can wrap: of the Go heap, but pinned.
func lendable(t *testing.T, size int) []byte {
	memory := make([]byte, size)
	var pins runtime.Pinner
	pins.Pin(&memory[0])
	t.Cleanup(pins.Unpin)
	return memory
}

func TestABlockIsZeroedWritableAndAsLargeAsAsked(t *testing.T) {
	leakcheck.Check(t)
	for _, size := range []int{1, 63, 4096, 4097, 3 << 20} {
		b := newBlock(t, mem.Files, size)
		require.True(t, b.Valid())
		require.False(t, b.Lent())
		require.Equal(t, size, b.Size())
		require.Equal(t, make([]byte, size), b.Bytes())
		for i := range b.Bytes() {
			b.Bytes()[i] = byte(i)
		}
		b.Free()
	}
}

func TestABlockOfNothingIsStillABlock(t *testing.T) {
	leakcheck.Check(t)
	b := newBlock(t, mem.Files, 0)
	require.True(t, b.Valid())
	require.NotNil(t, b.Data())
	b.Free()
	require.False(t, mem.Block{}.Valid())
}

func TestEachPurposeCountsItsOwn(t *testing.T) {
	leakcheck.Check(t)
	purposes := []mem.Purpose{mem.Slots, mem.Files, mem.Indexes, mem.Seek, mem.Cached}
	names := map[string]bool{}
	before := map[mem.Purpose]mem.Usage{}
	for _, p := range purposes {
		names[p.String()] = true
		before[p] = mem.InUse(p)
	}
	require.Len(t, names, len(purposes))
	for k, p := range purposes {
		b := newBlock(t, p, 100*(k+1))
		for _, q := range purposes {
			want := before[q]
			if p == q {
				want.Bytes += int64(100 * (k + 1))
				want.Blocks++
			}
			require.Equal(t, want, mem.InUse(q), "%v while a block of %v lives", q, p)
		}
		b.Free()
	}
}

func TestMemoryThatCannotBeHadIsAnError(t *testing.T) {
	leakcheck.Check(t)
	b, err := mem.New(mem.Slots, 1<<60)
	require.ErrorIs(t, err, mem.ErrNoMemory)
	require.ErrorContains(t, err, "1152921504606846976 bytes for slots")
	require.False(t, b.Valid())
	_, err = mem.New(mem.Slots, -1)
	require.ErrorIs(t, err, mem.ErrNoMemory, "a sum that was larger than an int")
}

// The states of a block and what each allows.
func TestOnlyAnIdleBlockCanBeTaken(t *testing.T) {
	leakcheck.Check(t)
	b := newBlock(t, mem.Slots, 10)
	require.False(t, b.Take(), "a new block is taken")
	b.Put()
	require.True(t, b.Take(), "put makes it idle")
	require.False(t, b.Take(), "and it is taken once")
	b.Lease()
	require.False(t, b.Take(), "a leased block is its reader's")
	b.Release()
	require.True(t, b.Take(), "release makes it idle")
	b.Free()
}

func TestAbandonFreesWhatNobodyReadsAndLeavesTheRestToItsRelease(t *testing.T) {
	leakcheck.Check(t)
	before := mem.InUse(mem.Slots)
	idle := newBlock(t, mem.Slots, 10)
	idle.Put()
	idle.Abandon()
	require.Equal(t, before, mem.InUse(mem.Slots))

	leased := newBlock(t, mem.Slots, 10)
	copy(leased.Bytes(), "still here")
	leased.Lease()
	leased.Abandon()
	require.Equal(t, before.Blocks+1, mem.InUse(mem.Slots).Blocks)
	require.Equal(t, "still here", string(leased.Bytes()))
	leased.Release()
	require.Equal(t, before, mem.InUse(mem.Slots))
}

func TestPoisonShowsAViewThatOutlivedItsLease(t *testing.T) {
	leakcheck.Check(t)
	b := newBlock(t, mem.Slots, 5000)
	defer b.Free()
	b.Lease()
	b.Release()
	require.Equal(t, make([]byte, 5000), b.Bytes(), "nothing is overwritten unasked")

	b.SetPoison(true)
	require.True(t, b.Take())
	b.Lease()
	b.Release()
	require.Equal(t, bytes.Repeat([]byte{0xa5}, 5000), b.Bytes())

	b.SetPoison(false)
	require.True(t, b.Take())
	clear(b.Bytes())
	b.Lease()
	b.Release()
	require.Equal(t, make([]byte, 5000), b.Bytes())
}

func TestLentMemoryIsCountedButNeverUnmappedOrPoisoned(t *testing.T) {
	leakcheck.Check(t)
	memory := lendable(t, 100)
	copy(memory, "mine")
	before := mem.InUse(mem.Slots)
	b, err := mem.Lend(mem.Slots, unsafe.Pointer(&memory[0]), len(memory))
	require.NoError(t, err)
	require.True(t, b.Lent())
	require.Equal(t, unsafe.Pointer(&memory[0]), b.Data())
	require.Equal(t, mem.Usage{Bytes: before.Bytes + 100, Blocks: before.Blocks + 1}, mem.InUse(mem.Slots))
	b.SetPoison(true)
	b.Lease()
	b.Abandon()
	b.Release()
	require.Equal(t, before, mem.InUse(mem.Slots))
	require.Equal(t, "mine", string(memory[:4]))
}

func TestAmongManyTakersOneGetsTheBlock(t *testing.T) {
	leakcheck.Check(t)
	b := newBlock(t, mem.Slots, 8)
	defer b.Free()
	b.Put()
	var inside, taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				if !b.Take() {
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two have taken the block")
				}
				taken.Add(1)
				inside.Add(-1)
				b.Lease()
				b.Release()
			}
		})
	}
	all.Wait()
	require.Positive(t, taken.Load())
}

// Release and Abandon may come at the same moment from two threads: whoever is second frees the block, once.
func TestReleaseAndAbandonTogetherFreeOnce(t *testing.T) {
	leakcheck.Check(t)
	before := mem.InUse(mem.Slots)
	for range 2000 {
		b := newBlock(t, mem.Slots, 64)
		b.Lease()
		var both sync.WaitGroup
		both.Go(b.Release)
		both.Go(b.Abandon)
		both.Wait()
		require.Equal(t, before, mem.InUse(mem.Slots))
	}
}

// inherited says whether a forked child would have the memory: VmFlags of its mapping, where "dc" is MADV_DONTFORK's.
func inherited(t *testing.T, b mem.Block) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	within := false
	for _, line := range strings.Split(string(maps), "\n") {
		var begin, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &begin, &end); n == 2 {
			within = begin <= uintptr(b.Data()) && uintptr(b.Data()) < end
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && within {
			return !strings.Contains(flags, " dc")
		}
	}
	require.Fail(t, "no such mapping")
	return false
}

func TestAForkedChildHasWhatIsLeasedAndIndexes(t *testing.T) {
	leakcheck.Check(t)
	for _, size := range []int{256 << 10, 3 << 20} {
		for purpose, always := range map[mem.Purpose]bool{mem.Slots: false, mem.Files: false, mem.Seek: false, mem.Cached: false, mem.Indexes: true} {
			b := newBlock(t, purpose, size)
			require.Equal(t, always, inherited(t, b), purpose)
			b.Free()
		}
		b := newBlock(t, mem.Slots, size)
		for range 2 {
			b.Lease()
			require.True(t, inherited(t, b))
			b.Release()
			require.False(t, inherited(t, b))
			require.True(t, b.Take())
		}
		b.Free()
	}
}
