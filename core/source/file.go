package source

import (
	"fmt"
	"syscall"
	"unsafe"

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

// fileMax bounds one sample. A larger file is left to Pillow, which may well read it in pieces.
const fileMax = 1 << 30

// ReadFile appends a whole file to buf: open, fstat, read and close, and nothing on the Go heap. path ends in NUL, as
// the kernel wants it; a relative one begins at buf.Directory. Anything that is not a regular file is refused before it is read, since a pipe or a device could
// block for ever.
func ReadFile(path []byte, buf *Buffer) (Stamp, error) {
	fd, errno := open(buf.Directory, &path[0])
	if errno != 0 {
		return Stamp{}, unreadable(path, errno)
	}
	var stat syscall.Stat_t
	err := syscall.Fstat(fd, &stat)
	if err != nil {
		err = unreadable(path, err)
	} else {
		err = readAll(path, fd, &stat, buf)
	}
	// A read-only descriptor has nothing to lose at close.
	_ = syscall.Close(fd)
	return Stamp{Bytes: stat.Size, ModifiedNs: stat.Mtim.Nano()}, err
}

func readAll(path []byte, fd int, stat *syscall.Stat_t, buf *Buffer) error {
	if stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fmt.Errorf("%s is not a regular file: %w", name(path), ErrUnreadable)
	}
	if stat.Size > fileMax {
		return fmt.Errorf("%s has %d bytes, more than %d: %w", name(path), stat.Size, int64(fileMax), ErrUnreadable)
	}
	room, err := buf.Room(int(stat.Size))
	if err != nil {
		return fmt.Errorf("%s: %w", name(path), err)
	}
	got := 0
	for got < len(room) {
		n, err := syscall.Read(fd, room[got:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return unreadable(path, err)
		}
		if n == 0 {
			break // cut while it was read: the decoder will say what is missing
		}
		got += n
	}
	buf.Add(got)
	return nil
}

func name(path []byte) string { return string(path[:len(path)-1]) }

func unreadable(path []byte, err error) error {
	return fmt.Errorf("%s: %w: %w", name(path), ErrUnreadable, err)
}

// open is openat without the copy of the path that package syscall makes. O_NONBLOCK keeps a named pipe from waiting
// for its writer.
func open(directory Directory, path *byte) (int, syscall.Errno) {
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(directory.at()), uintptr(unsafe.Pointer(path)),
			syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0, 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}
