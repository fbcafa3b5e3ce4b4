package rng

import (
	"encoding/binary"
	"fmt"
)

// The bytes of torch.get_rng_state(), little endian (CPUGeneratorImplState in ATen/CPUGeneratorImpl.cpp):
//
//	   0  uint64 seed
//	   8  int32  left, int32 seeded
//	  16  uint64 next
//	  24  uint64 state[624], a 32-bit word each
//	5016  the cached normal deviates
const (
	TorchStateBytes = 5056

	leftAt      = 8
	seededAt    = 12
	nextAt      = 16
	stateAt     = 24
	normalAt    = stateAt + words*8
	normalBytes = TorchStateBytes - normalAt
)

// LoadTorch takes over the state of a torch CPU generator: the bytes of its get_state(). A state that torch would
// refuse, or that would have it read past its own array, is refused, and m stays as it was.
func (m *MT19937) LoadTorch(state []byte) error {
	if len(state) != TorchStateBytes {
		return fmt.Errorf("torch generator state: %d bytes, want %d", len(state), TorchStateBytes)
	}
	left := int32(binary.LittleEndian.Uint32(state[leftAt:]))
	seeded := binary.LittleEndian.Uint32(state[seededAt:])
	next := binary.LittleEndian.Uint64(state[nextAt:])
	switch {
	case seeded != 1:
		return fmt.Errorf("torch generator state: seeded is %d, want 1", seeded)
	case left < 1 || left > words:
		return fmt.Errorf("torch generator state: left is %d, want 1 to %d", left, words)
	case next > words:
		return fmt.Errorf("torch generator state: next is %d, want at most %d", next, words)
	case left > 1 && int32(next)+left-1 > words:
		return fmt.Errorf("torch generator state: %d words left from %d on, but only %d in all", left-1, next, words)
	}
	loaded := MT19937{
		seed: binary.LittleEndian.Uint64(state), first: left, left: left, next: int32(next), spareAt: noPlace,
	}
	for i := range loaded.state {
		word := binary.LittleEndian.Uint64(state[stateAt+8*i:])
		if word>>32 != 0 {
			return fmt.Errorf("torch generator state: word %d is %#x, more than 32 bits", i, word)
		}
		loaded.state[i] = uint32(word)
	}
	copy(loaded.normal[:], state[normalAt:])
	*m = loaded
	return nil
}

// StoreTorch writes the state for torch's set_state(). After LoadTorch and no draw, the bytes are the same.
func (m *MT19937) StoreTorch(state []byte) error {
	if len(state) != TorchStateBytes {
		return fmt.Errorf("torch generator state: room for %d bytes, want %d", len(state), TorchStateBytes)
	}
	binary.LittleEndian.PutUint64(state, m.seed)
	binary.LittleEndian.PutUint32(state[leftAt:], uint32(m.left))
	binary.LittleEndian.PutUint32(state[seededAt:], 1)
	binary.LittleEndian.PutUint64(state[nextAt:], uint64(m.next))
	for i, word := range m.state {
		binary.LittleEndian.PutUint64(state[stateAt+8*i:], uint64(word))
	}
	copy(state[normalAt:], m.normal[:])
	return nil
}
