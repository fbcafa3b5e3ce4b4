// Package libm has the C library's cosines and the like, which are Python's: Go's own differ in the last bit.
package libm

/*
#cgo LDFLAGS: -ldl -lm
#include "libm.h"
*/
import "C"

// Cos is math.cos of Python.
func Cos(x float64) float64 { return float64(C.gl_cos(C.double(x))) }

// Exp is math.exp of Python.
func Exp(x float64) float64 { return float64(C.gl_exp(C.double(x))) }

// Log is math.log of Python.
func Log(x float64) float64 { return float64(C.gl_log(C.double(x))) }

// Sin is math.sin of Python.
func Sin(x float64) float64 { return float64(C.gl_sin(C.double(x))) }

// Tan is math.tan of Python.
func Tan(x float64) float64 { return float64(C.gl_tan(C.double(x))) }
