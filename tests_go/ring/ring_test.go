package ring_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

const idleMax = 3

func newRing(t *testing.T) *ring.Ring {
	t.Helper()
	leakcheck.Check(t)
	r := ring.New(idleMax)
	t.Cleanup(r.Close)
	return r
}

func acquire(t *testing.T, r *ring.Ring, size int) ring.Slot {
	t.Helper()
	slot, err := r.Acquire(size)
	require.NoError(t, err)
	require.GreaterOrEqual(t, slot.Size(), size)
	return slot
}

func fill(slot ring.Slot, with byte) {
	all := slot.Bytes()
	for i := range all {
		all[i] = with
	}
}

func slots() int64 { return mem.InUse(mem.Slots).Blocks }

func TestALoopThatDropsEachBatchMapsOneSlot(t *testing.T) {
	r := newRing(t)
	first := acquire(t, r, 1000)
	ring.Lease(first)
	first.Release()
	mapped := slots()
	for range 100 {
		slot := acquire(t, r, 1000)
		require.Equal(t, first, slot)
		ring.Lease(slot)
		slot.Release()
	}
	require.Equal(t, mapped, slots())
}

func TestASmallerBatchMayUseALargerSlotAndNotTheReverse(t *testing.T) {
	r := newRing(t)
	small := acquire(t, r, 100)
	ring.Discard(small)
	large := acquire(t, r, 200)
	require.NotEqual(t, small, large)
	ring.Discard(large)
	again := acquire(t, r, 150)
	require.Equal(t, large, again)
	ring.Discard(again)
}

func TestKeptBatchesStayAsTheyAre(t *testing.T) {
	r := newRing(t)
	var kept []ring.Slot
	for k := range 20 {
		slot := acquire(t, r, 5000)
		fill(slot, byte(k+1))
		ring.Lease(slot)
		kept = append(kept, slot)
	}
	for k, slot := range kept {
		require.Equal(t, bytes.Repeat([]byte{byte(k + 1)}, slot.Size()), slot.Bytes())
		slot.Release()
	}
}

func TestADroppedHoardGivesItsMemoryBack(t *testing.T) {
	r := newRing(t)
	before := slots()
	var hoard []ring.Slot
	for range 20 {
		slot := acquire(t, r, 5000)
		ring.Lease(slot)
		hoard = append(hoard, slot)
	}
	require.Equal(t, before+20, slots())
	for _, slot := range hoard {
		slot.Release()
	}
	last := acquire(t, r, 5000)
	require.LessOrEqual(t, slots(), before+idleMax+1)
	ring.Discard(last)
}

func TestARingKeepsAsManyIdleSlotsAsAreExpectedInUse(t *testing.T) {
	r := newRing(t)
	const expected = 10
	r.Expect(expected)
	r.Expect(2) // more was expected before
	before := slots()
	for range 3 {
		var used []ring.Slot
		for range expected {
			used = append(used, acquire(t, r, 5000))
		}
		require.Equal(t, before+expected, slots(), "nothing is mapped again")
		for _, slot := range used {
			ring.Discard(slot)
		}
	}
}

func TestLookingForAnIdleSlotNeverCallsC(t *testing.T) {
	r := newRing(t)
	var held []ring.Slot
	for range 50 {
		slot := acquire(t, r, 1000)
		ring.Lease(slot)
		held = append(held, slot)
	}
	ring.Discard(acquire(t, r, 1000))
	before := runtime.NumCgoCall()
	for range 100 {
		slot, err := r.Acquire(1000)
		if err != nil {
			t.Fatal(err)
		}
		ring.Discard(slot)
	}
	require.Less(t, runtime.NumCgoCall()-before, int64(100), "a few may be the test's own")
	for _, slot := range held {
		slot.Release()
	}
}

func BenchmarkAcquire(b *testing.B) {
	for _, held := range []int{0, 20, 1000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			r := ring.New(idleMax)
			defer r.Close()
			for range held {
				slot, err := r.Acquire(64)
				require.NoError(b, err)
				ring.Lease(slot)
				defer slot.Release()
			}
			for b.Loop() {
				slot, err := r.Acquire(64)
				if err != nil {
					b.Fatal(err)
				}
				ring.Discard(slot)
			}
		})
	}
}

func TestALeaseOutlivesItsRing(t *testing.T) {
	leakcheck.Check(t)
	r := ring.New(idleMax)
	before := slots()
	leased, idle := acquire(t, r, 100), acquire(t, r, 100)
	fill(leased, 7)
	ring.Lease(leased)
	ring.Discard(idle)
	r.Close()
	require.Equal(t, before+1, slots(), "only the leased slot is left")
	require.Equal(t, bytes.Repeat([]byte{7}, leased.Size()), leased.Bytes())
	leased.Release()
	require.Equal(t, before, slots())
}

func TestLentMemoryBelongsToNoRing(t *testing.T) {
	leakcheck.Check(t)
	memory := make([]byte, 64)
	var pins runtime.Pinner
	pins.Pin(&memory[0])
	defer pins.Unpin()
	before := slots()
	for _, give := range []func(ring.Slot){
		ring.Discard,
		func(slot ring.Slot) { ring.Lease(slot); slot.Release() },
	} {
		slot, err := ring.Lend(unsafe.Pointer(&memory[0]), len(memory))
		require.NoError(t, err)
		fill(slot, 9)
		give(slot)
		require.Equal(t, before, slots())
		require.Equal(t, bytes.Repeat([]byte{9}, 64), memory)
		clear(memory)
	}
}

func TestPoisonConcernsSlotsMappedFromThenOn(t *testing.T) {
	r := newRing(t)
	clean := acquire(t, r, 100)
	r.SetPoison(true)
	poisoned := acquire(t, r, 100)
	for _, slot := range []ring.Slot{clean, poisoned} {
		fill(slot, 1)
		ring.Lease(slot)
		slot.Release()
	}
	require.Equal(t, byte(1), clean.Bytes()[0])
	require.Equal(t, bytes.Repeat([]byte{0xa5}, 100), poisoned.Bytes())
}

func TestARingWithoutMemoryStaysUsable(t *testing.T) {
	r := newRing(t)
	_, err := r.Acquire(1 << 60)
	require.ErrorIs(t, err, mem.ErrNoMemory)
	ring.Discard(acquire(t, r, 10))
}

// Workers acquire and fill, readers release in any order and in any thread: nobody ever sees another's bytes.
func TestManyGoroutinesShareARing(t *testing.T) {
	r := newRing(t)
	r.SetPoison(true)
	type leased struct {
		slot ring.Slot
		mark byte
	}
	finished := make(chan leased, 16)
	var fillers, readers sync.WaitGroup
	for g := range 4 {
		fillers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for k := range 300 {
				slot, err := r.Acquire(1 + random.IntN(4000))
				if err != nil {
					t.Error(err)
					return
				}
				if random.IntN(4) == 0 {
					ring.Discard(slot)
					continue
				}
				mark := byte(1 + (g*300+k)%160)
				fill(slot, mark)
				ring.Lease(slot)
				finished <- leased{slot, mark}
			}
		})
		readers.Go(func() {
			for l := range finished {
				if !bytes.Equal(l.slot.Bytes(), bytes.Repeat([]byte{l.mark}, l.slot.Size())) {
					t.Error("a leased slot was overwritten")
				}
				l.slot.Release()
			}
		})
	}
	fillers.Wait()
	close(finished)
	readers.Wait()
}
