package local

import (
	"context"

	"golang.org/x/sys/unix"
)

// Directory is where relative paths begin. Its zero value is the process's working directory of the moment.
type Directory struct {
	fd   int
	held bool
}

// HoldDirectory holds on to the process's working directory, wherever the process goes. One that must not be opened, in
// which no relative path leads anywhere, gives ErrUnreadable for each. To be closed.
func HoldDirectory() Directory {
	fd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1 // openat says EBADF
	}
	return Directory{fd, true}
}

func (d Directory) at() int {
	if d.held {
		return d.fd
	}
	return unix.AT_FDCWD
}

// Close lets go of a directory.
func (d Directory) Close() {
	if d.held && d.fd >= 0 {
		_ = unix.Close(d.fd)
	}
}

type directoryKey struct{}

// In makes relative paths of reads with the context begin at a directory.
func In(ctx context.Context, d Directory) context.Context {
	return context.WithValue(ctx, directoryKey{}, d)
}

func directoryOf(ctx context.Context) Directory {
	d, _ := ctx.Value(directoryKey{}).(Directory)
	return d
}
