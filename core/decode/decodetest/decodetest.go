// Package decodetest runs decoders for tests: it collects the strips of one window into interleaved RGB and checks on
// the way that the decoder keeps its contract (decoder.h).
package decodetest

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "collect.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Status is what a decoder returned.
type Status int

// The statuses of decoder.h.
const (
	Decoded  Status = C.GL_DECODED
	Refused  Status = C.GL_REFUSED
	NoMemory Status = C.GL_NO_MEMORY
)

// Window is a rectangle of pixels.
type Window struct{ X, Y, Width, Height int }

// State is what one worker keeps of a decoder. One goroutine at a time.
type State struct {
	decoder *C.gl_decoder
	state   unsafe.Pointer
}

// Open makes the state of a decoder, a const gl_decoder *.
func Open(decoder unsafe.Pointer) (*State, error) {
	s := &State{decoder: (*C.gl_decoder)(decoder)}
	if s.state = C.gl_test_open(s.decoder); s.state == nil {
		return nil, fmt.Errorf("decoder %s: out of memory", C.GoString(s.decoder.name))
	}
	return s, nil
}

// Close frees the state.
func (s *State) Close() {
	C.gl_test_close(s.decoder, s.state)
	s.state = nil
}

// Decode gives the window of the image in data as interleaved RGB, len = 3 * width * height. size is what the
// header said. Pixels are nil unless the status is Decoded; why is the reason of a refusal. A decoder that breaks its
// contract (strips out of order, missing rows, a write to the file's bytes) is an error.
func (s *State) Decode(data []byte, width, height int, want Window) (
	pixels []byte, status Status, why string, err error,
) {
	// In C memory of exactly this size, so that a sanitizer or a guard sees the first byte read beyond it.
	file := C.CBytes(data)
	defer C.free(file)
	pixels = make([]byte, 3*want.Width*want.Height+1) // +1: never empty
	window := C.gl_window{
		x: C.int32_t(want.X), y: C.int32_t(want.Y), width: C.int32_t(want.Width), height: C.int32_t(want.Height),
	}
	var reason [C.GL_WHY_BYTES]C.char
	var rows C.int32_t
	result := C.gl_test_decode(s.decoder, s.state, (*C.uint8_t)(file), C.size_t(len(data)),
		C.int32_t(width), C.int32_t(height), window, nil, (*C.uint8_t)(unsafe.Pointer(&pixels[0])), &rows, &reason[0])
	status, why = Status(result), C.GoString(&reason[0])
	switch {
	case rows < 0:
		return nil, status, why, fmt.Errorf("strips out of order or beyond the window")
	case status == Decoded && int(rows) != want.Height:
		return nil, status, why, fmt.Errorf("decoded, but %d of %d rows were handed over", rows, want.Height)
	case status == Refused && why == "":
		return nil, status, why, fmt.Errorf("refused without a reason")
	case string(C.GoBytes(file, C.int(len(data)))) != string(data):
		return nil, status, why, fmt.Errorf("the file's bytes were written to")
	case status != Decoded:
		return nil, status, why, nil
	}
	return pixels[:len(pixels)-1], status, "", nil
}
