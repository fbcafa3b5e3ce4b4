// Package folder reads samples that are files of their own: an image folder. Paths and labels are kept outside the Go
// heap, so that millions of them cost the garbage collector nothing.
package folder

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/local"
)

// Folder is a list of a store's files with their labels. It implements source.Files.
type Folder struct {
	store   source.Store
	owners  atomic.Int32
	block   mem.Block // that they are in; not valid if they are the caller's
	paths   []byte    // each path ends in NUL, as the kernel wants it
	offsets []int64   // n+1; path i is paths[offsets[i]:offsets[i+1]-1]
	labels  []int64   // n
}

var _ source.Files = (*Folder)(nil)

// New makes a folder of a list of a store's files, which it keeps as they are: they stay until the folder is closed.
//
//	paths    the paths one after the other, each followed by a NUL
//	offsets  n+1 offsets into paths, ascending, from 0 to len(paths)
//	labels   n class numbers
func New(store source.Store, paths []byte, offsets, labels []int64) (*Folder, error) {
	if err := check(paths, offsets, labels); err != nil {
		return nil, err
	}
	f := &Folder{store: store, paths: paths, offsets: offsets, labels: labels}
	f.owners.Store(1)
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

// allocate gives a list of n files of the local file system with nothing in it yet.
func allocate(n, pathBytes int) (*Folder, error) {
	const word = int(unsafe.Sizeof(int64(0)))
	words := 2*n + 1
	block, err := mem.New(mem.Indexes, words*word+pathBytes)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	numbers := unsafe.Slice((*int64)(block.Data()), words)
	f := &Folder{store: source.Retry(local.Store{}), block: block, offsets: numbers[:n+1], labels: numbers[n+1:], paths: block.Bytes()[words*word : words*word+pathBytes]}
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
	if f.owners.Add(-1) == 0 && f.block.Valid() {
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

// Read appends the whole file to buf.
func (f *Folder) Read(ctx context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	key := source.Key{Container: f.paths[f.offsets[i]:f.offsets[i+1]], Length: source.Whole}
	return f.store.Read(ctx, key, buf)
}
