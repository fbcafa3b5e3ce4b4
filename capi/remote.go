package main

/*
#include "goloader.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/cache"
	"github.com/goloader/goloader/core/source/remote"
)

//export go_remote_use
func go_remote_use(settings *C.char, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if err := remotes.Use([]byte(C.GoString(settings))); err != nil {
		return report(fmt.Errorf("%w: %w", err, errArgument), errOut)
	}
	return C.GL_OK
}

//export go_fetch
func go_fetch(name *C.char, offset, length C.int64_t, kept C.gl_handle, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	place := C.GoString(name)
	switch {
	case offset < 0, length < source.Whole, length == source.Whole && offset != 0, kept == 0 && !remote.Is(place):
		return report(fmt.Errorf("%d bytes from byte %d on of %q: %w", length, offset, place, errArgument), errOut)
	case length == 0 && kept == 0 && strings.HasSuffix(place, "/"):
		*out = C.gl_handle(handles.put(remotes.FetchFolders(place)))
		return C.GL_OK
	}
	store, err := storeOf(remote.Is(place), kept)
	if err != nil {
		return report(err, errOut)
	}
	key := source.Key{Container: []byte(place + "\x00"), Offset: int64(offset), Length: int64(length)}
	*out = C.gl_handle(handles.put(remote.Begin(func(ctx context.Context, buf *source.Buffer) error {
		_, err := store.Read(ctx, key, buf)
		return err
	})))
	return C.GL_OK
}

// storeOf is what reads URLs, or else files, by way of a cache if there is one.
func storeOf(remotely bool, kept C.gl_handle) (source.Store, error) {
	store := localFiles
	if remotely {
		store = remotes.Patient()
	}
	if kept == 0 {
		return store, nil
	}
	keeps, err := get[*cache.Cache](&handles, int64(kept))
	if err != nil {
		return nil, err
	}
	return keeps.Wrap(store), nil
}

//export go_cache_open
func go_cache_open(o *C.gl_cache, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	options := cache.Options{
		RAM: int64(o.ram_bytes_max), Disk: optional(o.disk), DiskLimit: int64(o.disk_bytes_max), Decoded: o.decoded != 0,
	}
	if min(options.RAM, options.DiskLimit) < cache.NoLimit || options.RAM == 0 && options.Disk == "" {
		return report(fmt.Errorf("a cache of %+v: %w", options, errArgument), errOut)
	}
	made := cache.Open(options)
	*out = C.gl_handle(handles.put(made))
	warn(made.Warnings(), errOut)
	return C.GL_OK
}

//export go_cache_stats
func go_cache_stats(h C.gl_handle, text *C.char, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	kept, err := get[*cache.Cache](&handles, int64(h))
	if err == nil {
		err = writeJSON(text, n, kept.Usage())
	}
	if err != nil {
		return report(err, errOut)
	}
	warn(kept.Warnings(), errOut)
	return C.GL_OK
}

//export go_cache_look
func go_cache_look(folder *C.char, what C.int32_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if what < cache.List || what > cache.Remove {
		return report(fmt.Errorf("%d: %w", what, errArgument), errOut)
	}
	path := C.GoString(folder)
	*out = C.gl_handle(handles.put(remote.Begin(func(ctx context.Context, buf *source.Buffer) error {
		found, err := cache.Look(ctx, path, int(what))
		if err != nil {
			return err
		}
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		return buf.Append(string(text))
	})))
	return C.GL_OK
}

//export go_fetch_wait
func go_fetch_wait(h C.gl_handle, timeoutMs C.int32_t, data *unsafe.Pointer, bytes *C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	fetch, err := get[*remote.Fetch](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	got, done, err := fetch.Wait(time.Duration(timeoutMs) * time.Millisecond)
	if err != nil {
		return report(err, errOut)
	}
	if !done {
		return C.GL_EMPTY
	}
	*data, *bytes = unsafe.Pointer(unsafe.SliceData(got)), C.int64_t(len(got))
	return C.GL_OK
}
