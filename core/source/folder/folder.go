// Package folder reads samples that are files of their own: an image folder. Paths and labels are kept outside the Go
// heap, so that millions of them cost the garbage collector nothing.
package folder

import (
	"bytes"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
)

// fileMax bounds one sample. A larger file is left to Pillow, which may well read it in pieces.
const fileMax = 1 << 30

// Folder is a list of files with their labels. It implements source.Files.
type Folder struct {
	owners  atomic.Int32
	block   mem.Block
	paths   []byte  // each path ends in NUL, as the kernel wants it
	offsets []int64 // n+1; path i is paths[offsets[i]:offsets[i+1]-1]
	labels  []int64 // n
}

var _ source.Files = (*Folder)(nil)

// New copies a list of files.
//
//	paths    the paths one after the other, each followed by a NUL
//	offsets  n+1 offsets into paths, ascending, from 0 to len(paths)
//	labels   n class numbers
func New(paths []byte, offsets, labels []int64) (*Folder, error) {
	if err := check(paths, offsets, labels); err != nil {
		return nil, err
	}
	f, err := allocate(len(labels), len(paths))
	if err != nil {
		return nil, err
	}
	copy(f.offsets, offsets)
	copy(f.labels, labels)
	copy(f.paths, paths)
	return f, nil
}

// check says what is wrong with a list of files, if anything.
func check(paths []byte, offsets, labels []int64) error {
	n := len(labels)
	if len(offsets) != n+1 || offsets[0] != 0 || offsets[n] != int64(len(paths)) {
		return fmt.Errorf("folder: %d labels and %d path bytes do not fit %d offsets", n, len(paths), len(offsets))
	}
	for i := range n {
		if offsets[i+1] <= offsets[i] || offsets[i+1] > int64(len(paths)) || paths[offsets[i+1]-1] != 0 {
			return fmt.Errorf("folder: path %d does not end in NUL where the next begins (byte %d)", i, offsets[i+1])
		}
		if path := paths[offsets[i] : offsets[i+1]-1]; bytes.IndexByte(path, 0) >= 0 {
			return fmt.Errorf("folder: path %d, %q, holds a NUL", i, path)
		}
	}
	return nil
}

// allocate gives a list of n files with nothing in it yet.
func allocate(n, pathBytes int) (*Folder, error) {
	const word = int(unsafe.Sizeof(int64(0)))
	words := 2*n + 1
	block, err := mem.New(mem.Indexes, words*word+pathBytes)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	numbers := unsafe.Slice((*int64)(block.Data()), words)
	f := &Folder{block: block, offsets: numbers[:n+1], labels: numbers[n+1:], paths: block.Bytes()[words*word : words*word+pathBytes]}
	f.owners.Store(1)
	return f, nil
}

// Share makes one more owner, who also has to close it.
func (f *Folder) Share() *Folder {
	f.owners.Add(1)
	return f
}

// Close ends one owner's interest; the last one's frees the list.
func (f *Folder) Close() {
	if f.owners.Add(-1) == 0 {
		f.block.Free()
	}
}

// Paths is all paths, each followed by a NUL; good until the list is closed, as are Offsets and Labels.
func (f *Folder) Paths() []byte { return f.paths }

// Offsets is where in Paths each path begins, and at last its length.
func (f *Folder) Offsets() []int64 { return f.offsets }

// Labels is the class number of each file.
func (f *Folder) Labels() []int64 { return f.labels }

// Len is the number of files.
func (f *Folder) Len() int { return len(f.labels) }

// Label is a file's class number.
func (f *Folder) Label(i int) int64 { return f.labels[i] }

// Name is a file's path.
func (f *Folder) Name(i int) string { return string(f.paths[f.offsets[i] : f.offsets[i+1]-1]) }

// Read appends the whole file to buf: open, fstat, read and close, and nothing on the Go heap. Anything that is not a
// regular file is refused before it is read, since a pipe or a device could block for ever.
func (f *Folder) Read(i int, buf *source.Buffer) (source.Stamp, error) {
	fd, errno := open(&f.paths[f.offsets[i]])
	if errno != 0 {
		return source.Stamp{}, f.unreadable(i, errno)
	}
	var stat syscall.Stat_t
	err := syscall.Fstat(fd, &stat)
	if err != nil {
		err = f.unreadable(i, err)
	} else {
		err = f.readAll(i, fd, &stat, buf)
	}
	// A read-only descriptor has nothing to lose at close.
	_ = syscall.Close(fd)
	return source.Stamp{Bytes: stat.Size, ModifiedNs: stat.Mtim.Nano()}, err
}

func (f *Folder) readAll(i, fd int, stat *syscall.Stat_t, buf *source.Buffer) error {
	if stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fmt.Errorf("%s is not a regular file: %w", f.Name(i), source.ErrUnreadable)
	}
	if stat.Size > fileMax {
		return fmt.Errorf("%s has %d bytes, more than %d: %w", f.Name(i), stat.Size, int64(fileMax), source.ErrUnreadable)
	}
	room, err := buf.Room(int(stat.Size))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(i), err)
	}
	got := 0
	for got < len(room) {
		n, err := syscall.Read(fd, room[got:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return f.unreadable(i, err)
		}
		if n == 0 {
			break // cut while it was read: the decoder will say what is missing
		}
		got += n
	}
	buf.Add(got)
	return nil
}

func (f *Folder) unreadable(i int, err error) error {
	return fmt.Errorf("%s: %w: %w", f.Name(i), source.ErrUnreadable, err)
}

// open is openat without the copy of the path that package syscall makes. O_NONBLOCK keeps a named pipe from waiting
// for its writer.
func open(path *byte) (int, syscall.Errno) {
	const atFDCWD = math.MaxUint64 - 99 // AT_FDCWD is -100
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, atFDCWD, uintptr(unsafe.Pointer(path)),
			syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0, 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}
