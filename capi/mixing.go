package main

/*
#include "goloader.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/mix"
)

//export go_mix_up
func go_mix_up(images unsafe.Pointer, n, items C.int64_t, wide C.int32_t, lam C.double, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 1 || items < 1 {
		return report(fmt.Errorf("%d images of %d items: %w", n, items, errArgument), errOut)
	}
	// torch rounds both factors to the dtype.
	rest, share := float64(1-lam), float64(lam)
	var err error
	if wide != 0 {
		err = mix.Up(unsafe.Slice((*float64)(images), int(n*items)), int(n), rest, share)
	} else {
		err = mix.Up(unsafe.Slice((*float32)(images), int(n*items)), int(n), float32(rest), float32(share))
	}
	if err != nil {
		return report(fmt.Errorf("%w: %w", errArgument, err), errOut)
	}
	return C.GL_OK
}

//export go_cut_mix
func go_cut_mix(images unsafe.Pointer, shape *C.int64_t, item C.int32_t, box *C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	extents := [4]int64(unsafe.Slice((*int64)(shape), 4))
	sides := unsafe.Slice((*int64)(box), 4)
	bytes := int64(item)
	for _, extent := range extents {
		bytes *= max(0, extent)
	}
	err := mix.Cut(unsafe.Slice((*byte)(images), int(max(0, bytes))), extents, int64(item), mix.Box{Left: sides[0], Top: sides[1], Right: sides[2], Bottom: sides[3]})
	if err != nil {
		return report(fmt.Errorf("%w: %w", errArgument, err), errOut)
	}
	return C.GL_OK
}
