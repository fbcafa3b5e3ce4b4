// Package jpeg decodes JPEG files to the bytes that Pillow gives, whole or only a window of them.
//
// The work is done in C, behind the contract of ../decoder.h; this file only hands the decoder on. One engine exists:
// libjpeg-turbo (turbo.c), which Pillow itself uses.
package jpeg

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ljpeg
#include "jpeg.h"
*/
import "C"

import "unsafe"

// Decoder returns the decoder, a const gl_decoder * of C that lives as long as the program.
func Decoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_jpeg_turbo) }
