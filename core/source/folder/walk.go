package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
)

// Tree is a folder of class folders to be listed.
type Tree struct {
	Root       string
	Classes    []string // folders in Root; files of Classes[i] get label i
	Extensions []string // in small letters, with their dots; others are left out
	// Remote is where Root is a URL; nil: Root is a path.
	Remote source.Remote
}

// Progress is what Walk has found so far; any goroutine may read it.
type Progress struct {
	Files, Directories atomic.Int64
}

// Directory is one that Walk has listed, as it was just before.
type Directory struct {
	Path    string
	ModTime int64 // ns since 1970
}

// Walk lists the files below each class folder, in the order of torchvision.datasets.folder.make_dataset: class by
// class, then sorted(os.walk(class, followlinks=True)), then the sorted names. As there, symbolic links are followed, and
// what cannot be listed counts as empty. All cores take part, a directory at a time. Of a remote store there are no
// directories to look at again, and what cannot be listed is an error.
//
// Ends early with the context's error. Classes without a file are no error; Counts tells.
func Walk(ctx context.Context, tree Tree, progress *Progress) (*Folder, []Directory, error) {
	if tree.Remote != nil {
		return walkRemote(ctx, tree, progress)
	}
	w := walker{tree: tree, progress: progress, classes: make([]class, len(tree.Classes))}
	w.work.L = &w.mu
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.work.Broadcast()
	})
	defer stop()
	for label, name := range tree.Classes {
		w.queue = append(w.queue, job{label, join([]byte(tree.Root), []byte(name))})
	}
	// Directories are put in last and taken out last, so that the queue stays as short as the tree is deep.
	slices.Reverse(w.queue)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error { return w.run(ctx) })
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return w.gather()
}

// listing is one directory's part of the result.
type listing struct {
	path    []byte // without a slash at its end
	modTime int64
	names   []byte // of its files, one after the other, in order
	ends    []uint32
}

type class struct {
	mu       sync.Mutex
	listings []listing
}

type job struct {
	label int
	path  []byte
}

type walker struct {
	tree     Tree
	progress *Progress
	classes  []class

	mu    sync.Mutex
	work  sync.Cond // the queue has grown, or nobody works any more
	queue []job
	busy  int
}

// run lists directories until there is none left and nobody can find more.
func (w *walker) run(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("folder: a walker panicked: %v", r)
		}
	}()
	var lister lister
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && w.busy > 0 && ctx.Err() == nil {
			w.work.Wait()
		}
		if len(w.queue) == 0 || ctx.Err() != nil {
			w.mu.Unlock()
			return ctx.Err()
		}
		next := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.busy++
		w.mu.Unlock()

		found, below, err := lister.list(ctx, next.path, w.tree.Extensions)
		if err != nil {
			return err
		}
		if found != nil {
			w.progress.Directories.Add(1)
			w.progress.Files.Add(int64(len(found.ends)))
			c := &w.classes[next.label]
			c.mu.Lock()
			c.listings = append(c.listings, *found)
			c.mu.Unlock()
		}

		w.mu.Lock()
		for _, name := range below {
			w.queue = append(w.queue, job{next.label, join(next.path, name)})
		}
		w.busy--
		w.work.Broadcast()
		w.mu.Unlock()
	}
}

// gather puts the parts together, and gives their memory back while it does so.
func (w *walker) gather() (*Folder, []Directory, error) {
	files, size := 0, 0
	var directories []Directory
	for label := range w.classes {
		listings := w.classes[label].listings
		slices.SortFunc(listings, func(a, b listing) int { return compareNames(a.path, b.path) })
		for _, l := range listings {
			files += len(l.ends)
			size += len(l.names) + len(l.ends)*(len(l.path)+len("/\x00"))
			directories = append(directories, Directory{string(l.path), l.modTime})
		}
	}
	f, err := allocate(storeOf(w.tree.Remote), files, size, false)
	if err != nil {
		return nil, nil, err
	}
	// The list grows as the parts go: without a word from us Go would keep their memory for a while.
	defer debug.FreeOSMemory()
	file, at, freed := 0, 0, 0
	for label := range w.classes {
		if file-freed >= freedFiles {
			debug.FreeOSMemory()
			freed = file
		}
		for _, l := range w.classes[label].listings {
			begin := uint32(0)
			for _, end := range l.ends {
				f.offsets[file], f.labels[file] = int64(at), int64(label)
				at += copy(f.paths[at:], l.path)
				at += copy(f.paths[at:], "/")
				at += copy(f.paths[at:], l.names[begin:end])
				f.paths[at] = 0
				at++
				file++
				begin = end
			}
		}
		w.classes[label].listings = nil
	}
	f.offsets[files] = int64(at)
	return f, directories, nil
}

// After so many files of the result, parts that are done with give their memory back.
const freedFiles = 1 << 20

func join(path, name []byte) []byte {
	joined := make([]byte, 0, len(path)+1+len(name))
	joined = append(joined, path...)
	if len(path) > 0 && path[len(path)-1] != '/' {
		joined = append(joined, '/')
	}
	return append(joined, name...)
}

// lister reads directories, one after the other.
type lister struct {
	buffer []byte
	names  []byte
	ends   []uint32
	sorter names
}

// list gives a directory's files that have one of the extensions, sorted, and the names of its subdirectories; nil if
// it cannot be read, or not to its end, and that does not pass.
func (r *lister) list(ctx context.Context, path []byte, extensions []string) (*listing, [][]byte, error) {
	found, below, err := r.try(ctx, path, extensions)
	err = source.Again(ctx, source.FilePauses, err, func() error {
		found, below, err = r.try(ctx, path, extensions)
		return err
	})
	if errors.Is(err, source.ErrUnreadable) {
		return nil, nil, nil
	}
	return found, below, err
}

func (r *lister) try(ctx context.Context, path []byte, extensions []string) (*listing, [][]byte, error) {
	unreadable := func(err error) (*listing, [][]byte, error) {
		return nil, nil, fmt.Errorf("%s: %w: %w", path, source.ErrUnreadable, err)
	}
	fd, err := unix.Open(string(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unreadable(err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return unreadable(err)
	}
	if r.buffer == nil {
		r.buffer = make([]byte, 256<<10)
	}
	r.names, r.ends = r.names[:0], r.ends[:0]
	var below [][]byte
	for {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		n, err := unix.Getdents(fd, r.buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return unreadable(err)
		}
		if n == 0 {
			break
		}
		for at := 0; at < n; {
			kind, name, length := entry(r.buffer[at:n])
			at += length
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if isDirectory(path, kind, name) {
				below = append(below, bytes.Clone(name))
			} else if hasExtension(name, extensions) {
				r.names = append(r.names, name...)
				r.ends = append(r.ends, uint32(len(r.names)))
			}
		}
		if len(r.names) > maxNames {
			return nil, nil, fmt.Errorf("folder: the names in %s take more than %d bytes", path, maxNames)
		}
	}
	found := &listing{path: path, modTime: stat.Mtim.Nano()}
	found.names, found.ends = r.sorter.sort(r.names, r.ends)
	return found, below, nil
}

// maxNames keeps the ends of names within 32 bits.
const maxNames = 1<<32 - 1<<20

// entry reads a struct linux_dirent64: inode, offset (8 bytes each), length (2), kind (1), the name and a NUL.
func entry(b []byte) (kind byte, name []byte, length int) {
	const head = 19
	length = int(b[16]) | int(b[17])<<8
	name = b[head:length]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return b[18], name, length
}

// isDirectory follows symbolic links, as os.DirEntry.is_dir does: what cannot be looked at is not a directory. It looks
// at the whole path, so that a loop of links ends where the kernel says so, as it does for Python.
func isDirectory(path []byte, kind byte, name []byte) bool {
	switch kind {
	case unix.DT_DIR:
		return true
	case unix.DT_LNK, unix.DT_UNKNOWN:
		var stat unix.Stat_t
		return unix.Stat(string(join(path, name)), &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR
	default:
		return false
	}
}

// hasExtension is name.lower().endswith(extensions): only ASCII letters become those of an extension.
func hasExtension(name []byte, extensions []string) bool {
	for _, extension := range extensions {
		if n := len(name) - len(extension); n >= 0 && equalsLower(name[n:], extension) {
			return true
		}
	}
	return false
}

func equalsLower(a []byte, lower string) bool {
	for i, c := range a {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
