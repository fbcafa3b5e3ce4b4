// Package local is the store of the file systems that the kernel knows.
package local

import (
	"context"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
)

// Store reads files by their paths. A relative path begins at the context's directory (In), else at the process's.
type Store struct {
	Direct bool // containers are read past the page cache
}

var _ source.Stater = Store{}

// Stat implements source.Stater.
func (s Store) Stat(ctx context.Context, path string) (source.Stamp, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(directoryOf(ctx).at(), path, &stat, 0); err != nil {
		return source.Stamp{}, fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err)
	}
	return source.Stamp{Bytes: stat.Size, ModifiedNs: stat.Mtim.Nano()}, nil
}

// fileMax bounds one sample. A larger file is left to Pillow, which may well read it in pieces.
const fileMax = 1 << 30

// Read implements source.Store: open, fstat, read and close, and nothing on the Go heap. Anything that is not a regular
// file is refused before it is read, since a pipe or a device could block for ever. Signals interrupt a file system that
// lets them (FUSE): between two tries the context is looked at.
func (s Store) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	fd, err := open(ctx, &key.Container[0])
	if err != nil {
		return source.Stamp{}, unreadable(key, err)
	}
	var stat syscall.Stat_t
	if err = syscall.Fstat(fd, &stat); err != nil {
		err = unreadable(key, err)
	} else {
		err = readAll(ctx, key, fd, &stat, buf)
	}
	// A read-only descriptor has nothing to lose at close.
	_ = syscall.Close(fd)
	return source.Stamp{Bytes: stat.Size, ModifiedNs: stat.Mtim.Nano()}, err
}

func readAll(ctx context.Context, key source.Key, fd int, stat *syscall.Stat_t, buf *source.Buffer) error {
	if stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fmt.Errorf("%s is not a regular file: %w", key.Name(), source.ErrUnreadable)
	}
	want := key.Length
	if want == source.Whole {
		want = max(0, stat.Size-key.Offset)
	}
	if want > fileMax {
		return fmt.Errorf("%s has %d bytes, more than %d: %w", key.Name(), want, int64(fileMax), source.ErrUnreadable)
	}
	room, err := buf.Room(int(want))
	if err != nil {
		return fmt.Errorf("%s: %w", key.Name(), err)
	}
	got := 0
	for got < len(room) {
		var n int
		if key.Offset == 0 {
			n, err = syscall.Read(fd, room[got:])
		} else {
			n, err = syscall.Pread(fd, room[got:], key.Offset+int64(got))
		}
		if err == syscall.EINTR && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return unreadable(key, err)
		}
		if n == 0 {
			break
		}
		got += n
	}
	// A whole file that was cut while it was read is the decoder's to refuse: it says what is missing.
	if got < len(room) && key.Length != source.Whole {
		return fmt.Errorf("%s: %w: the file has %d bytes", key.Name(), source.ErrUnreadable, stat.Size)
	}
	buf.Add(got)
	return nil
}

func unreadable(key source.Key, err error) error {
	return fmt.Errorf("%s: %w: %w", key.Name(), source.ErrUnreadable, err)
}

// open is openat without the copy of the path that package syscall makes. O_NONBLOCK keeps a named pipe from waiting
// for its writer.
func open(ctx context.Context, path *byte) (int, error) {
	directory := directoryOf(ctx).at()
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(directory), uintptr(unsafe.Pointer(path)),
			syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0, 0, 0)
		switch {
		case errno == 0:
			return int(fd), nil
		case errno != syscall.EINTR || ctx.Err() != nil:
			return 0, errno
		}
	}
}
