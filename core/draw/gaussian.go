package draw

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "gaussian.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// Does not compile where the two differ.
var _ [C.GL_GAUSSIAN_MAX - recipe.TapsMax]struct{} = [recipe.TapsMax - C.GL_GAUSSIAN_MAX]struct{}{}

// UseMKL takes MKL's VMSEXP, a C function of Fortran's form, whose exponentials are torch's where torch was built with it.
func UseMKL(vmsexp unsafe.Pointer) { C.gl_gaussian_use(vmsexp) }

// torchBlur is torchvision's GaussianBlur.
type torchBlur struct {
	across, down C.gl_gaussian
	same         bool
	sigma        [2]float32
	fma          bool
}

func compileTorchBlur(t plan.TorchBlur, r plan.RNG) (transform, error) {
	if t.MKL && C.gl_gaussian_has_mkl() == 0 {
		return nil, errors.New("nobody has said where MKL is")
	}
	made := torchBlur{
		across: gaussian(t, t.Across), down: gaussian(t, t.Down),
		sigma: [2]float32{float32(t.Sigma[0]), float32(t.Sigma[1])}, fma: r.FMA,
	}
	made.same = made.across == made.down
	return made, nil
}

func gaussian(t plan.TorchBlur, at []float32) C.gl_gaussian {
	law := C.gl_gaussian{lanes: C.int32_t(t.Lanes), n: C.int32_t(len(at))}
	if t.API == plan.V2 {
		law.softmax = 1
	}
	if t.MKL {
		law.mkl = 1
	}
	for k, place := range at {
		law.at[k] = C.float(place)
	}
	return law
}

func (t torchBlur) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	sigma := C.float(r.MT.Uniform(t.sigma[0], t.sigma[1], t.fma))
	step := recipe.Step{
		Kind: recipe.Convolve, Width: int32(t.across.n), Height: int32(t.down.n), Weights: new([2][recipe.TapsMax]float32),
	}
	if step.Width/2 >= in.Width || step.Height/2 >= in.Height {
		return dst, in, &Refused{plan.TorchBlur{}.Op(), "a border that is mirrored beyond the image"}
	}
	C.gl_gaussian_weights(&t.across, sigma, (*C.float)(unsafe.Pointer(&step.Weights[0][0])))
	if t.same {
		step.Weights[1] = step.Weights[0]
	} else {
		C.gl_gaussian_weights(&t.down, sigma, (*C.float)(unsafe.Pointer(&step.Weights[1][0])))
	}
	return append(dst, step), in, nil
}

func (t torchBlur) random() bool  { return true }
func (t torchBlur) stepsMax() int { return 1 }
