// Package jpeg decodes JPEG files to the bytes that Pillow gives, whole or only a window of them.
//
// The work is done in C, behind the contract of ../decoder.h; this file only hands the decoder on. There are two
// engines: our own (engine.c), for the kinds of files that are common, and libjpeg-turbo (turbo.c), which Pillow itself
// uses, for all others and for whatever is not plainly sound.
package jpeg

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ljpeg
#include "engine.h"
*/
import "C"

import (
	"os"
	"unsafe"
)

// Decoder returns the decoder, a const gl_decoder * of C that lives as long as the program. GOLOADER_JPEG=turbo in the
// environment asks for libjpeg-turbo alone (tests).
func Decoder() unsafe.Pointer {
	// Without vector instructions libjpeg-turbo is the faster one, unless somebody wants to see ours.
	slow := C.GoString(C.gl_jpeg_kernels_chosen().name) == "plain" && os.Getenv("GOLOADER_KERNELS") == ""
	if slow || os.Getenv("GOLOADER_JPEG") == "turbo" {
		return unsafe.Pointer(&C.gl_jpeg_turbo)
	}
	return unsafe.Pointer(&C.gl_jpeg_own)
}
