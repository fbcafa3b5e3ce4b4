// Package folder reads samples that are files: those of an image folder, or in tar archives. Paths and labels are kept
// outside the Go heap, so that millions of them cost the garbage collector nothing.
package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/node"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/local"
)

// Folder is a list of a store's files with their labels. It implements source.Files.
type Folder struct {
	store   source.Store
	owners  atomic.Int32
	block   mem.Block    // that they are in; not valid if they are the caller's
	shared  *node.Memory // of which the block is, if other ranks of this machine may have it
	paths   []byte       // each path ends in NUL, as the kernel wants it
	offsets []int64      // n+1; path i is paths[offsets[i]:offsets[i+1]-1]
	labels  []int64      // n
	// n times where a file begins in its archive, and its bytes; a path is then that of the archive, a NUL, and the name
	// in it. Nil if each file is one of its own.
	spans []int64
}

var _ source.Files = (*Folder)(nil)

// New makes a folder of a list of a store's files, which it keeps as they are: they stay until the folder is closed.
//
//	paths    the paths one after the other, each followed by a NUL
//	offsets  n+1 offsets into paths, ascending, from 0 to len(paths)
//	labels   n class numbers
//	spans    nil; or for files in archives n times the offset there, and how many bytes. A path is then the archive's, a
//	         NUL, and the file's name in it
func New(store source.Store, paths []byte, offsets, labels, spans []int64) (*Folder, error) {
	f := &Folder{store: store, paths: paths, offsets: offsets, labels: labels, spans: spans}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.owners.Store(1)
	return f, nil
}

// check says what is wrong with a list of files, if anything.
func (f *Folder) check() error {
	n := len(f.labels)
	if len(f.offsets) != n+1 || f.offsets[0] != 0 || f.offsets[n] != int64(len(f.paths)) {
		return fmt.Errorf("folder: %d labels and %d path bytes do not fit %d offsets", n, len(f.paths), len(f.offsets))
	}
	if f.spans != nil && len(f.spans) != 2*n {
		return fmt.Errorf("folder: %d numbers say where %d files are", len(f.spans), n)
	}
	for i := range n {
		begin, end := f.offsets[i], f.offsets[i+1]
		if end <= begin || end > int64(len(f.paths)) || f.paths[end-1] != 0 {
			return fmt.Errorf("folder: path %d does not end in NUL where the next begins (byte %d)", i, end)
		}
		path := f.paths[begin : end-1]
		nul := bytes.IndexByte(path, 0)
		if f.spans == nil {
			if nul >= 0 {
				return fmt.Errorf("folder: path %d, %q, holds a NUL", i, path)
			}
			continue
		}
		if nul < 0 || bytes.IndexByte(path[nul+1:], 0) >= 0 {
			return fmt.Errorf("folder: path %d, %q, is not that of an archive and a name in it", i, path)
		}
		if at, size := f.spans[2*i], f.spans[2*i+1]; at < 0 || size < 0 || at > math.MaxInt64-size {
			return fmt.Errorf("folder: file %d, %q, has %d bytes at byte %d", i, path, size, at)
		}
	}
	return nil
}

// storeOf is what reads the files of a list: of a remote store, or of the local file system if there is none.
func storeOf(remote source.Remote) source.Store {
	if remote == nil {
		return source.Retry(local.Store{})
	}
	return source.Retry(remote, source.RemotePauses...)
}

// allocate gives a list of n files of a store with nothing in it yet.
func allocate(store source.Store, n, pathBytes int, archived bool) (*Folder, error) {
	words := 2*n + 1
	if archived {
		words += 2 * n
	}
	block, err := mem.New(mem.Indexes, words*word+pathBytes)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	f := &Folder{store: store}
	f.lay(block, n, words)
	f.owners.Store(1)
	return f, nil
}

const word = int(unsafe.Sizeof(int64(0)))

// lay says where in a block the list is: so many numbers, of n files, and the paths behind them.
func (f *Folder) lay(block mem.Block, n, words int) {
	numbers := unsafe.Slice((*int64)(block.Data()), words)
	f.block, f.offsets, f.labels, f.paths = block, numbers[:n+1], numbers[n+1:2*n+1], block.Bytes()[words*word:]
	if words > 2*n+1 {
		f.spans = numbers[2*n+1:]
	}
}

// share puts a list that nobody uses yet into memory that ranks of this machine have together, if they have the same. Where
// that cannot be, which is no error, it stays where it is.
func (f *Folder) share() {
	if !node.Shares() || f.Len() == 0 {
		return
	}
	own := f.block.Bytes()
	sum := sha256.Sum256(own)
	memory, err := node.Named("list-"+hex.EncodeToString(sum[:16]), int64(len(own)), func(to []byte) { copy(to, own) })
	if err != nil {
		return
	}
	block, err := mem.Map(mem.Indexes, memory.FD(), 0, len(own), false)
	if err != nil {
		memory.Close()
		return
	}
	if !bytes.Equal(block.Bytes(), own) { // somebody else's idea of this name
		block.Free()
		memory.Close()
		return
	}
	words := len(f.offsets) + len(f.labels) + len(f.spans)
	f.block.Free()
	f.lay(block, f.Len(), words)
	f.shared = memory
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
		if f.shared != nil {
			f.shared.Close()
		}
	}
}

// Paths is all paths, each followed by a NUL; good until the list is closed, as are Offsets and Labels.
func (f *Folder) Paths() []byte { return f.paths }

// Offsets is where in Paths each path begins, and at last its length.
func (f *Folder) Offsets() []int64 { return f.offsets }

// Labels is the class number of each file.
func (f *Folder) Labels() []int64 { return f.labels }

// Spans is where in its archive each file begins, and how many bytes it has; nil if the files are in none.
func (f *Folder) Spans() []int64 { return f.spans }

// Len is the number of files.
func (f *Folder) Len() int { return len(f.labels) }

// Label is a file's class number.
func (f *Folder) Label(i int) int64 { return f.labels[i] }

// Name is a file's path; of one in an archive, the archive's path and its name there.
func (f *Folder) Name(i int) string {
	container, name, found := strings.Cut(string(f.path(i)), "\x00")
	if source.IsRemote(f.store) {
		container, _ = source.CutVersion(container)
	}
	if !found {
		return container
	}
	return container + "/" + name
}

// path is a file's, without the NUL behind it.
func (f *Folder) path(i int) []byte { return f.paths[f.offsets[i] : f.offsets[i+1]-1] }

// Key is what a file is asked for by.
func (f *Folder) Key(i int) source.Key {
	key := source.Key{Container: f.paths[f.offsets[i]:f.offsets[i+1]], Length: source.Whole}
	if f.spans != nil {
		key.Container = key.Container[:bytes.IndexByte(key.Container, 0)+1]
		key.Offset, key.Length = f.spans[2*i], f.spans[2*i+1]
	}
	return key
}

// Read appends the whole file to buf.
func (f *Folder) Read(ctx context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	return f.store.Read(ctx, f.Key(i), buf)
}
