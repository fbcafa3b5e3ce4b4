package main

/*
#include "goloader.h"
*/
import "C"

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

// augmentation is transforms that a handle stands for.
type augmentation struct {
	program *draw.Program
	free    *sync.Pool // of *drawn
}

// drawn is what one draw needs.
type drawn struct {
	before, mt rng.MT19937
	steps      []recipe.Step
}

// Close has nothing to give back.
func (augmentation) Close() error { return nil }

// Warnings are none.
func (augmentation) Warnings() error { return nil }

//export go_augmentation_open
func go_augmentation_open(text *C.char, n C.size_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	parsed, err := plan.ParseAugmentation(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n)))
	if err != nil {
		return report(err, errOut)
	}
	program, err := draw.CompileAugmentation(parsed)
	if err != nil {
		return report(fmt.Errorf("%w: %w", errArgument, err), errOut)
	}
	*out = C.gl_handle(handles.put(augmentation{program, &sync.Pool{New: func() any { return new(drawn) }}}))
	return C.GL_OK
}

//export go_augmentation_draw
func go_augmentation_draw(h C.gl_handle, state unsafe.Pointer, in *C.gl_drawn, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	a, err := get[augmentation](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	if state == nil && a.program.Random() {
		return report(fmt.Errorf("no state for transforms that draw: %w", errArgument), errOut)
	}
	d := a.free.Get().(*drawn)
	defer a.free.Put(d)
	if a.program.Random() {
		if err := d.mt.LoadTorch(unsafe.Slice((*byte)(state), rng.TorchStateBytes)); err != nil {
			return report(fmt.Errorf("%w: %w", errArgument, err), errOut)
		}
		d.before = d.mt
	}
	size := recipe.Size{Width: int32(in.width), Height: int32(in.height)}
	// What torchvision refuses, and what only torch can tell, is the caller's own code's.
	d.steps, size, err = a.program.Draw(d.steps[:0], size, &draw.Source{MT: &d.mt})
	words := 0
	if a.program.Random() {
		words = int(d.mt.Drawn())
	}
	if err != nil || len(d.steps) > C.GL_STEPS_MAX || words > C.GL_WORDS_MAX {
		return C.GL_EMPTY
	}
	for i := range words {
		in.word[i] = C.uint32_t(d.before.Uint32() & math.MaxInt32)
	}
	wire := unsafe.Slice((*byte)(unsafe.Pointer(&in.steps[0])), len(in.steps))[:0]
	for i, step := range d.steps {
		wire = recipe.AppendStep(wire, step)
		in.ends[i] = C.int32_t(len(wire))
	}
	in.width, in.height, in.count, in.words = C.int32_t(size.Width), C.int32_t(size.Height), C.int32_t(len(d.steps)), C.int32_t(words)
	return C.GL_OK
}

//export go_use_mkl
func go_use_mkl(vmsexp unsafe.Pointer, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if vmsexp == nil {
		return report(fmt.Errorf("no MKL: %w", errArgument), errOut)
	}
	draw.UseMKL(vmsexp)
	return report(nil, errOut)
}
