// Package webp decodes WebP files to the bytes that Pillow gives: still images, with and without loss.
//
// The work is done by the libwebp that the process has loaded, Pillow's; this package finds nothing by itself, but is told
// where that library's functions are. The C contract is ../decoder.h.
package webp

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -ldeflate
#include "webp.h"

static int use(void *init_config, void *get_features, void *decode) {
	const gl_libwebp functions = {init_config, get_features, decode};
	return gl_webp_use(&functions);
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// ErrLibrary says that what Use was given is not libwebp, or not one that is known.
var ErrLibrary = errors.New("no libwebp is there")

// Decoder returns the decoder, a const gl_decoder * of C that lives as long as the program. It refuses all files before Use.
func Decoder() unsafe.Pointer { return unsafe.Pointer(&C.gl_webp) }

// Use tells where libwebp's WebPInitDecoderConfigInternal, WebPGetFeaturesInternal and WebPDecode are; they are tried.
func Use(initConfig, getFeatures, decode unsafe.Pointer) error {
	if C.use(initConfig, getFeatures, decode) == 0 {
		return ErrLibrary
	}
	return nil
}
