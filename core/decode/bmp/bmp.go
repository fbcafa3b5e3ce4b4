// Package bmp decodes BMP files to the bytes that Pillow gives: 1 to 32 bits a pixel, not run-length encoded.
//
// The work is done in C, behind the contract of ../decoder.h; this file only hands the decoder on.
package bmp

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#include "bmp.h"
*/
import "C"

import "unsafe"

// Decoder returns the decoder, a const gl_decoder * of C that lives as long as the program.
func Decoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_bmp) }

// PaletteDecoder returns the decoder whose one plane is the indices of an image of Pillow's mode P.
func PaletteDecoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_bmp_p) }

// GreyDecoder returns the decoder whose one plane is the grey of an image of Pillow's mode L.
func GreyDecoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_bmp_l) }
