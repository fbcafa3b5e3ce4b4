package main

/*
#include "goloader.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/sampler"
)

// drawer is a sampler that a handle stands for.
type drawer struct {
	sampler interface {
		Draw(seed uint64, first, step int64, dst []int64)
		Close() error
	}
}

// Close gives the sampler's memory back.
func (d drawer) Close() error { return d.sampler.Close() }

// Warnings are none.
func (drawer) Warnings() error { return nil }

//export go_weighted_open
func go_weighted_open(weights unsafe.Pointer, wide C.int32_t, n C.int64_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 {
		return report(fmt.Errorf("%d weights: %w", n, errArgument), errOut)
	}
	var table *sampler.Alias
	var err error
	if wide != 0 {
		table, err = sampler.NewAlias(unsafe.Slice((*float64)(weights), int(n)))
	} else {
		table, err = sampler.NewAlias(unsafe.Slice((*float32)(weights), int(n)))
	}
	if err != nil {
		return report(err, errOut)
	}
	*out = C.gl_handle(handles.put(drawer{table}))
	return C.GL_OK
}

//export go_balanced_open
func go_balanced_open(labels *C.int64_t, n C.int64_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 {
		return report(fmt.Errorf("%d labels: %w", n, errArgument), errOut)
	}
	balanced, err := sampler.NewBalanced(unsafe.Slice((*int64)(labels), int(n)))
	if err != nil {
		return report(err, errOut)
	}
	*out = C.gl_handle(handles.put(drawer{balanced}))
	return C.GL_OK
}

//export go_shuffled_open
func go_shuffled_open(n C.int64_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	shuffled, err := sampler.NewShuffled(int64(n))
	if err != nil {
		return report(err, errOut)
	}
	*out = C.gl_handle(handles.put(drawer{shuffled}))
	return C.GL_OK
}

//export go_draw
func go_draw(h C.gl_handle, seed C.uint64_t, first, step C.int64_t, out *C.int64_t, n C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	d, err := get[drawer](&handles, int64(h))
	if err == nil && (first < 0 || step < 1 || n < 0) {
		err = fmt.Errorf("%d draws from %d on, every %d: %w", n, first, step, errArgument)
	}
	if err != nil {
		return report(err, errOut)
	}
	d.sampler.Draw(uint64(seed), int64(first), int64(step), unsafe.Slice((*int64)(out), int(n)))
	return C.GL_OK
}

//export go_mix
func go_mix(seed C.uint64_t, lengths *C.int64_t, weights *C.double, drawn *C.int64_t, sources C.int32_t,
	first, step C.int64_t, out *C.int64_t, n C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 || sources < 0 {
		return report(fmt.Errorf("%d draws from %d sources: %w", n, sources, errArgument), errOut)
	}
	if first < 0 || first >= step {
		return report(fmt.Errorf("draw %d of each %d: %w", first, step, errArgument), errOut)
	}
	k := int(sources)
	counts := unsafe.Slice((*int64)(drawn), k)
	mixture, err := sampler.NewMixture(uint64(seed), unsafe.Slice((*int64)(lengths), k), unsafe.Slice((*float64)(weights), k), counts)
	if err != nil {
		return report(err, errOut)
	}
	copy(counts, mixture.Draw(int64(first), int64(step), unsafe.Slice((*int64)(out), int(n))))
	return C.GL_OK
}
