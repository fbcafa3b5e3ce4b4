package array

import (
	"errors"
	"fmt"
	"math"
	"sync"
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

// File is a file that arrays are in. Its methods may be called from any goroutine.
type File struct {
	path   string
	fd     int
	bytes  int64
	direct bool
	// waiting is above 0 if reads had to wait for the disk lately.
	waiting atomic.Int32
	// blind says that the file system cannot tell what is in the page cache.
	blind atomic.Bool
}

// OpenFile opens a file for the arrays of a source, which closes it. direct reads past the page cache.
func OpenFile(path string, direct bool) (*File, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK // a FIFO is refused, not waited for
	if direct {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Open(path, flags, 0)
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
	return &File{path: path, fd: fd, bytes: stat.Size, direct: direct}, nil
}

// Close ends all reading.
func (f *File) Close() { unix.Close(f.fd) }

// read fills dst from a place in the file.
func (f *File) read(dst []byte, at int64) error {
	if f.direct {
		return f.readDirect(dst, at)
	}
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
func (f *File) short(at int64, bytes int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(f.fd, &stat); err != nil {
		return fmt.Errorf("%s: %w: %w", f.path, source.ErrUnreadable, err)
	}
	return fmt.Errorf("%s: %w: %d bytes at byte %d wanted, but the file has %d", f.path, source.ErrUnreadable, bytes, at, stat.Size)
}

// readDirect reads whole blocks around the place.
func (f *File) readDirect(dst []byte, at int64) error {
	begin := at &^ (directAlign - 1)
	end := (at + int64(len(dst)) + directAlign - 1) &^ (directAlign - 1)
	room := takeScratch(int(end-begin) + directAlign)
	defer putScratch(room)
	blocks := room.bytes[:cap(room.bytes)]
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

// waits says whether the kernel should be told of reads: they had to wait lately, or it cannot say.
func (f *File) waits() bool { return !f.direct && (f.waiting.Load() > 0 || f.blind.Load()) }

// expect tells the kernel of a read that will come, if reads had to wait lately.
func (f *File) expect(at int64, bytes int) {
	if f.waits() {
		_ = unix.Fadvise(f.fd, at, int64(bytes), unix.FADV_WILLNEED)
	}
}

// holds says whether all rows of an array are inside the file.
func (f *File) holds(offset int64, rows, stride int, before, behind int) error {
	if rows == 0 {
		return nil
	}
	last := 0
	if rows > 1 {
		if stride != 0 && rows-1 > math.MaxInt64/4/max(stride, -stride) {
			return fmt.Errorf("%s: %d rows, %d bytes from one to the next", f.path, rows, stride)
		}
		last = (rows - 1) * stride
	}
	if lowest := offset + int64(min(0, last)-before); lowest < 0 {
		return fmt.Errorf("%s: rows from byte %d on", f.path, lowest)
	}
	if end := offset + int64(max(0, last)+behind); end > f.bytes {
		return fmt.Errorf("%s: rows up to byte %d, but the file has %d: %w", f.path, end, f.bytes, source.ErrUnreadable)
	}
	return nil
}

// scratch is memory for rows on their way.
type scratch struct {
	words []uint64 // aligned for every item
	bytes []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch(n int) *scratch {
	s := scratches.Get().(*scratch)
	if cap(s.bytes) < n {
		s.words = make([]uint64, (n+7)/8)
		s.bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), 8*len(s.words))
	}
	s.bytes = s.bytes[:n]
	return s
}

func putScratch(s *scratch) { scratches.Put(s) }
