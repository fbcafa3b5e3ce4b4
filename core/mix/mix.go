// Package mix is what is done to all images of a batch in the memory that they lie in: torchvision's MixUp and CutMix,
// of which somebody else has drawn the numbers. What it makes has torch's bits.
package mix

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#include "mix.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrShape says that a batch has not the shape that its memory or a box needs.
var ErrShape = errors.New("no such batch of images")

// Up makes each of n images share of itself and rest of the one before it, the first one of the last; each product
// and each sum is rounded.
//
//	images  [n, ...], contiguous
func Up[T float32 | float64](images []T, n int, rest, share T) error {
	if n < 0 || (n == 0 && len(images) > 0) || (n > 0 && len(images)%n != 0) {
		return fmt.Errorf("%d items of %d images: %w", len(images), n, ErrShape)
	}
	if len(images) == 0 {
		return nil
	}
	items := C.int64_t(len(images) / n)
	switch first := any(&images[0]).(type) {
	case *float32:
		C.gl_mix_up_float32((*C.float)(first), C.int64_t(n), items, C.float(rest), C.float(share))
	case *float64:
		C.gl_mix_up_float64((*C.double)(first), C.int64_t(n), items, C.double(rest), C.double(share))
	}
	return nil
}

// Box is a part of an image, in pixels: Right and Bottom are behind its end.
type Box struct{ Left, Top, Right, Bottom int64 }

// Cut makes a box of each image that of the one before it, and of the first one that of the last.
//
//	images  the bytes of [n, planes, height, width] items, contiguous
//	shape   these four numbers
func Cut(images []byte, shape [4]int64, item int64, box Box) error {
	want := item
	for _, extent := range shape {
		want *= extent
	}
	inside := box.Left >= 0 && box.Top >= 0 && box.Right <= shape[3] && box.Bottom <= shape[2]
	if min(shape[0], shape[1], shape[2], shape[3], item) < 1 || int64(len(images)) != want || !inside {
		return fmt.Errorf("%d bytes of %v items of %d bytes, box %v: %w", len(images), shape, item, box, ErrShape)
	}
	sides := [4]C.int64_t{C.int64_t(box.Left), C.int64_t(box.Top), C.int64_t(box.Right), C.int64_t(box.Bottom)}
	C.gl_mix_box((*C.uint8_t)(unsafe.Pointer(&images[0])), C.int64_t(shape[0]), C.int64_t(shape[1]),
		C.int64_t(shape[2]), C.int64_t(shape[3]), C.int64_t(item), &sides[0])
	return nil
}
