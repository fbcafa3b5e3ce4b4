// Package ring keeps the slots of a loader: memory for one batch each, filled, leased to a reader, and taken again once
// the last view of it is gone. It knows nothing of what is in a slot.
//
// A ring never waits: if the user keeps batches it maps more slots, so list(loader) ends with as many slots as batches
// and nothing overwritten. It keeps few idle ones, so that memory goes back when a hoard is dropped.
package ring

import (
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
)

// Slot is memory for one batch.
type Slot = mem.Block

// Ring is a set of slots. Its methods may be called from any goroutine.
type Ring struct {
	mu      sync.Mutex
	slots   []mem.Block // all owned ones, in any state
	idleMax int
	poison  bool
}

// New makes a ring that keeps at most idleMax idle slots.
func New(idleMax int) *Ring { return &Ring{idleMax: idleMax} }

// Expect makes the ring keep at least n idle slots: as many as may be in use at once. Mapping a fresh slot for 40 MB of
// images takes longer than a copy of them.
func (r *Ring) Expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idleMax = max(r.idleMax, n)
}

// SetPoison makes slots mapped from now on be overwritten when they are returned, so that a view that outlived its
// lease shows.
func (r *Ring) SetPoison(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poison = on
}

// Acquire takes an idle slot of at least size bytes, or maps a new one.
func (r *Ring) Acquire(size int) (Slot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slot, ok := r.reuse(size); ok {
		return slot, nil
	}
	slot, err := mem.New(mem.Slots, size)
	if err != nil {
		return Slot{}, err
	}
	slot.SetPoison(r.poison)
	r.slots = append(r.slots, slot)
	return slot, nil
}

// reuse takes the first idle slot that fits (the last, smaller batch of an epoch may use a larger one), and frees idle
// slots beyond idleMax.
func (r *Ring) reuse(size int) (found Slot, ok bool) {
	kept, idle := r.slots[:0], 0
	for _, slot := range r.slots {
		if !slot.Take() {
			kept = append(kept, slot)
			continue
		}
		switch {
		case !ok && slot.Size() >= size:
			found, ok = slot, true
		case idle < r.idleMax:
			idle++
			slot.Put()
		default:
			slot.Free()
			continue
		}
		kept = append(kept, slot)
	}
	clear(r.slots[len(kept):])
	r.slots = kept
	return found, ok
}

// Lend wraps memory of the caller as a slot that belongs to no ring: it is freed (not unmapped) by its release.
func Lend(data unsafe.Pointer, size int) (Slot, error) { return mem.Lend(mem.Slots, data, size) }

// Discard gives back a taken slot that nobody reads.
func Discard(slot Slot) {
	if slot.Lent() {
		slot.Free()
		return
	}
	slot.Put()
}

// Lease hands a filled slot to its reader, who ends the lease with mem.Block.Release (from C: gl_block_release).
func Lease(slot Slot) {
	slot.Lease()
	if slot.Lent() {
		slot.Abandon()
	}
}

// Close frees idle slots; leased ones are freed by their release. No slot may be taken.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, slot := range r.slots {
		slot.Abandon()
	}
	r.slots = nil
}
