package local

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
)

const (
	// After a read that had to wait, so many are announced to the kernel before they are made, which costs a call each.
	announced = 256
	// directAlign is what every disk's reads past the page cache may have to be multiples of.
	directAlign = 4096
)

// container is a file that is held open. It implements source.Container.
type container struct {
	path   string
	fd     int
	bytes  int64
	direct bool
	// waiting is above 0 if reads had to wait for the disk lately.
	waiting atomic.Int32
	// blind says that the file system cannot tell what is in the page cache.
	blind atomic.Bool
}

// Open implements source.Store.
func (s Store) Open(ctx context.Context, path string) (source.Container, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK // a FIFO is refused, not waited for
	if s.Direct {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Openat(directoryOf(ctx).at(), path, flags, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w: not a regular file", path, source.ErrUnreadable)
	}
	// Rows come in any order: what the kernel would read beyond them is another sample's, and what is next we tell it.
	// It is free not to listen.
	_ = unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM)
	return &container{path: path, fd: fd, bytes: stat.Size, direct: s.Direct}, nil
}

// Close ends all reading.
func (f *container) Close() { unix.Close(f.fd) }

// Name implements source.Container.
func (f *container) Name() string { return f.path }

// Bytes implements source.Container.
func (f *container) Bytes() int64 { return f.bytes }

// Read implements source.Container.
func (f *container) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		if err := ctx.Err(); err != nil {
			return err
		}
		read := f.read
		if f.direct {
			read = f.readDirect
		}
		if err := read(p.Into, p.At); err != nil {
			return err
		}
	}
	return nil
}

func (f *container) read(dst []byte, at int64) error {
	from := at
	if !f.blind.Load() {
		// What is in the page cache, without waiting for the rest.
		n, err := unix.Preadv2(f.fd, [][]byte{dst}, at, unix.RWF_NOWAIT)
		switch {
		case err == nil:
			dst, at = dst[n:], at+int64(n)
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			f.blind.Store(true)
		}
		if len(dst) == 0 {
			if waiting := f.waiting.Load(); waiting > 0 {
				f.waiting.CompareAndSwap(waiting, waiting-1)
			}
			return nil
		}
		f.waiting.Store(announced)
	}
	for len(dst) > 0 {
		n, err := unix.Pread(f.fd, dst, at)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("%s at byte %d: %w: %w", f.path, at, source.ErrUnreadable, err)
		case n == 0:
			return f.short(from, len(dst)+int(at-from))
		default:
			dst, at = dst[n:], at+int64(n)
		}
	}
	return nil
}

// short says that the file has become too short for a read.
func (f *container) short(at int64, bytes int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(f.fd, &stat); err != nil {
		return fmt.Errorf("%s: %w: %w", f.path, source.ErrUnreadable, err)
	}
	return fmt.Errorf("%s: %w: %d bytes at byte %d wanted, but the file has %d", f.path, source.ErrUnreadable, bytes, at, stat.Size)
}

// readDirect reads whole blocks around the place.
func (f *container) readDirect(dst []byte, at int64) error {
	begin := at &^ (directAlign - 1)
	end := (at + int64(len(dst)) + directAlign - 1) &^ (directAlign - 1)
	room := source.Scratch(int(end-begin) + directAlign)
	defer source.PutScratch(room)
	blocks := (*room)[:cap(*room)]
	blocks = blocks[-uintptr(unsafe.Pointer(unsafe.SliceData(blocks)))%directAlign:][:end-begin]
	for have := 0; begin+int64(have) < at+int64(len(dst)); {
		n, err := unix.Pread(f.fd, blocks[have:], begin+int64(have))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("%s at byte %d, past the page cache: %w: %w", f.path, begin, source.ErrUnreadable, err)
		default:
			have += n
			// A part of a block is the file's end: to read on from there would not be aligned.
			if short := n == 0 || have%directAlign != 0; short && begin+int64(have) < at+int64(len(dst)) {
				return f.short(at, len(dst))
			}
		}
	}
	copy(dst, blocks[at-begin:])
	return nil
}

// Waits implements source.Container: reads had to wait lately, or the kernel cannot say.
func (f *container) Waits() bool { return !f.direct && (f.waiting.Load() > 0 || f.blind.Load()) }

// Expect implements source.Container: it tells the kernel, if reads had to wait lately.
func (f *container) Expect(at int64, bytes int) {
	if f.Waits() {
		_ = unix.Fadvise(f.fd, at, int64(bytes), unix.FADV_WILLNEED)
	}
}
