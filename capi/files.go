package main

/*
#include "goloader.h"
*/
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/source/remote"
)

//export go_files_list
func go_files_list(tree *C.gl_tree, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if tree.nclasses < 0 || tree.nextensions < 0 {
		return report(fmt.Errorf("%d classes, %d extensions: %w", tree.nclasses, tree.nextensions, errArgument), errOut)
	}
	*out = C.gl_handle(handles.put(folder.Start(folder.Tree{
		Root:       C.GoString(tree.root),
		Classes:    texts(tree.classes, tree.nclasses),
		Extensions: texts(tree.extensions, tree.nextensions),
		Remote:     remoteOf(C.GoString(tree.root)),
	}, optional(tree.index))))
	return C.GL_OK
}

//export go_shards_list
func go_shards_list(shards *C.gl_shards, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if shards.npaths < 0 || shards.nimages < 0 {
		return report(fmt.Errorf("%d archives, %d suffixes: %w", shards.npaths, shards.nimages, errArgument), errOut)
	}
	paths := texts(shards.paths, shards.npaths)
	var remotely source.Remote
	for i, path := range paths {
		if is := remoteOf(path); i == 0 {
			remotely = is
		} else if is != remotely {
			return report(fmt.Errorf("%s and %s: archives are all URLs, or none is: %w", paths[0], path, errArgument), errOut)
		}
	}
	*out = C.gl_handle(handles.put(folder.Start(folder.Shards{
		Paths:  paths,
		Remote: remotely,
		Images: texts(shards.images, shards.nimages),
		Target: optional(shards.target),
	}, optional(shards.index))))
	return C.GL_OK
}

// remoteOf is the store of what has a URL; nil for a path.
func remoteOf(name string) source.Remote {
	if remote.Is(name) {
		return remotes
	}
	return nil
}

// optional is a text; "" for none.
func optional(text *C.char) string {
	if text == nil {
		return ""
	}
	return C.GoString(text)
}

func texts(first **C.char, n C.int32_t) []string {
	list := make([]string, 0, n)
	for _, text := range unsafe.Slice(first, int(n)) {
		list = append(list, C.GoString(text))
	}
	return list
}

//export go_files_wait
func go_files_wait(h C.gl_handle, timeoutMs C.int32_t, out *C.gl_files, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	list, err := get[*folder.List](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	made, err := list.Wait(time.Duration(timeoutMs) * time.Millisecond)
	if err != nil {
		return report(err, errOut)
	}
	out.count = C.int64_t(list.Progress.Files.Load())
	if !made {
		return C.GL_EMPTY
	}
	files := list.Files()
	out.count = C.int64_t(files.Len())
	out.paths = (*C.char)(unsafe.Pointer(unsafe.SliceData(files.Paths())))
	out.offsets = (*C.int64_t)(unsafe.SliceData(files.Offsets()))
	out.labels = (*C.int64_t)(unsafe.SliceData(files.Labels()))
	out.spans = (*C.int64_t)(unsafe.SliceData(files.Spans()))
	indexed, notice := list.Indexed()
	out.indexed = 0
	if indexed {
		out.indexed = 1
	}
	fill(unsafe.Slice((*byte)(unsafe.Pointer(&out.notice[0])), C.GL_REASON_BYTES), notice)
	return C.GL_OK
}
