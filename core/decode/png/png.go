// Package png decodes PNG files to the bytes that Pillow gives: all bit depths and colour types, interlaced or not.
//
// The work is done in C, behind the contract of ../decoder.h; this file only hands the decoder on. The zlib stream is
// libdeflate's to inflate; the rest (chunks, filters, passes) is here.
package png

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ldeflate
#include "png.h"
*/
import "C"

import "unsafe"

// Decoder returns the decoder, a const gl_decoder * of C that lives as long as the program.
func Decoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_png) }

// PaletteDecoder returns the decoder whose one plane is the indices of an image of Pillow's mode P.
func PaletteDecoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_png_p) }

// GreyDecoder returns the decoder whose one plane is the grey of an image of Pillow's mode L.
func GreyDecoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_png_l) }
