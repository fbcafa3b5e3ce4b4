package main

/*
#include "goloader.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"time"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/remote"
	"github.com/goloader/goloader/core/source/s3"
)

//export go_remote_use
func go_remote_use(c *C.gl_remote, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	remotes.Use(remote.Config{
		S3: s3.Config{
			Endpoint: optional(c.endpoint), Region: optional(c.region),
			AccessKey: optional(c.access_key), SecretKey: optional(c.secret_key), Token: optional(c.token),
		},
		Stall: time.Duration(c.timeout_ms) * time.Millisecond,
	})
	return C.GL_OK
}

//export go_fetch
func go_fetch(url *C.char, offset, length C.int64_t, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	name := C.GoString(url)
	switch {
	case !remote.Is(name), offset < 0, length < source.Whole, length == source.Whole && offset != 0:
		return report(fmt.Errorf("%d bytes from byte %d on of %q: %w", length, offset, name, errArgument), errOut)
	case length == 0 && strings.HasSuffix(name, "/"):
		*out = C.gl_handle(handles.put(remotes.FetchFolders(name)))
	default:
		key := source.Key{Container: []byte(name + "\x00"), Offset: int64(offset), Length: int64(length)}
		*out = C.gl_handle(handles.put(remotes.Fetch(key)))
	}
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
