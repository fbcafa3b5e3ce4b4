package main

/*
#include <string.h>
#include "goloader.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"unsafe"

	"github.com/goloader/goloader/core/decode/webp"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/sampler"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/stream"
)

var (
	errHandle   = errors.New("closed, or never opened")
	errArgument = errors.New("not a valid argument")
)

// kinds is the one place where an error becomes a status; the first that fits counts. In Python _errors.py turns
// statuses into classes.
var kinds = []struct {
	err    error
	status C.gl_status
}{
	{errHandle, C.GL_BAD_HANDLE},
	{pipeline.ErrClosed, C.GL_BAD_HANDLE},
	{fs.ErrNotExist, C.GL_MISSING},
	{fs.ErrPermission, C.GL_DENIED},
	{source.ErrUnreadable, C.GL_UNREADABLE},
	{errArgument, C.GL_BAD_ARGUMENT},
	{stream.ErrState, C.GL_BAD_ARGUMENT},
	{sampler.ErrWeights, C.GL_BAD_ARGUMENT},
	{sampler.ErrLabels, C.GL_BAD_ARGUMENT},
	{sampler.ErrSources, C.GL_BAD_ARGUMENT},
	{pipeline.ErrState, C.GL_BAD_ARGUMENT},
	{webp.ErrLibrary, C.GL_BAD_ARGUMENT},
	{recipe.ErrWire, C.GL_BAD_ARGUMENT},
	{pipeline.ErrShape, C.GL_SHAPE},
	{source.ErrRange, C.GL_RANGE},
	{source.ErrLeft, C.GL_UNMADE},
	{pipeline.ErrBug, C.GL_BUG},
	{mem.ErrNoMemory, C.GL_MEMORY},
	{op.ErrNoMemory, C.GL_MEMORY},
	{op.ErrTooLarge, C.GL_MEMORY},
}

// report tells C what became of a call.
func report(err error, out *C.gl_error) C.gl_status {
	if err == nil {
		return C.GL_OK
	}
	say(out, err.Error())
	var wrong *plan.Error
	if errors.As(err, &wrong) {
		return C.GL_BAD_ARGUMENT
	}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			return kind.status
		}
	}
	return C.GL_ERROR
}

// warn tells C of what went wrong in a call that did what it was for; an empty text if nothing did.
func warn(warnings error, out *C.gl_error) {
	text := ""
	if warnings != nil {
		text = warnings.Error()
	}
	say(out, text)
}

// say writes a text into the caller's buffer, cut to fit.
func say(out *C.gl_error, text string) {
	if out != nil {
		fill(unsafe.Slice((*byte)(unsafe.Pointer(&out.text[0])), C.GL_ERROR_BYTES), text)
	}
}

func fill(dst []byte, text string) {
	n := copy(dst[:len(dst)-1], text)
	dst[n] = 0
}

// guard turns a panic into a status: an error in core must not end the user's process.
func guard(status *C.gl_status, out *C.gl_error) {
	if p := recover(); p != nil {
		say(out, fmt.Sprintf("%v: %v\n%s", pipeline.ErrBug, p, debug.Stack()))
		*status = C.GL_BUG
	}
}
