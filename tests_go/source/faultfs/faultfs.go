// Package faultfs is a file system that fails on cue: a real one, mounted by FUSE over a directory.
package faultfs

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// Fault is what happens to opening or reading a file before it is done.
type Fault struct {
	Delay time.Duration
	Hang  <-chan struct{} // wait until this is closed, if not nil
	Errno syscall.Errno   // fail
	Times int             // only so often; 0: always
	Bytes int64           // the file ends here for whoever reads it, if not 0
}

// FS is a mounted file system.
type FS struct {
	Path string // where it is mounted

	mu      sync.Mutex
	open    map[string]Fault // by a file's name; "" is every file's
	read    map[string]Fault
	arrived chan string   // names of files that hang, as they begin to
	over    chan struct{} // closed at the end: a process that ends in a read of its own file system never ends
	busy    atomic.Int32
	most    atomic.Int32
	handles atomic.Int32 // open ones
}

// Mount mounts a file system over a directory until the test ends. The test is skipped where none can be mounted.
func Mount(t *testing.T, directory string) *FS {
	t.Helper()
	f, unmount, err := MountAt(directory, t.TempDir())
	if err != nil {
		t.Skipf("no FUSE here: %v", err)
	}
	t.Cleanup(func() {
		close(f.over)
		// The kernel tells of a file that is closed later, and of none once nothing is mounted: it would stay open here.
		for end := time.Now().Add(2 * time.Second); f.handles.Load() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, unmount())
	})
	return f
}

// MountAt mounts a file system over a directory at a point.
func MountAt(directory, point string) (f *FS, unmount func() error, err error) {
	f = &FS{Path: point, open: map[string]Fault{}, read: map[string]Fault{}, arrived: make(chan string, 1000), over: make(chan struct{})}
	root := &fs.LoopbackRoot{Path: directory}
	root.NewNode = func(data *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return &node{fs.LoopbackNode{RootData: data}, f}
	}
	none := time.Duration(0)
	server, err := fs.Mount(f.Path, root.NewNode(root, nil, "", nil), &fs.Options{
		EntryTimeout: &none, AttrTimeout: &none,
		// Pipes that go-fuse splices through would stay open.
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "faultfs", DisableSplice: true},
	})
	if err != nil {
		return nil, nil, err
	}
	return f, server.Unmount, nil
}

// OnOpen makes opening a file go wrong; "" is every file.
func (f *FS) OnOpen(name string, fault Fault) { f.set(f.open, name, fault) }

// OnRead does the same to reading it.
func (f *FS) OnRead(name string, fault Fault) { f.set(f.read, name, fault) }

func (f *FS) set(faults map[string]Fault, name string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	faults[name] = fault
}

// Arrived gives the names of files whose opening or reading has begun to hang.
func (f *FS) Arrived() <-chan string { return f.arrived }

// Most is how many openings and readings were under way at once at most.
func (f *FS) Most() int { return int(f.most.Load()) }

// meet lets a file's fault happen.
func (f *FS) meet(ctx context.Context, faults map[string]Fault, name string) (Fault, syscall.Errno) {
	busy := f.busy.Add(1)
	defer f.busy.Add(-1)
	for most := f.most.Load(); busy > most && !f.most.CompareAndSwap(most, busy); most = f.most.Load() {
	}
	f.mu.Lock()
	key := name
	fault, ok := faults[key]
	if !ok {
		key = ""
		fault, ok = faults[key]
	}
	if ok && fault.Times == 1 {
		delete(faults, key)
	} else if ok && fault.Times > 1 {
		left := fault
		left.Times--
		faults[key] = left
	}
	f.mu.Unlock()
	time.Sleep(fault.Delay)
	if fault.Hang != nil {
		f.arrived <- name
		select {
		case <-fault.Hang:
		case <-f.over:
		case <-ctx.Done():
			return fault, syscall.EINTR
		}
	}
	return fault, fault.Errno
}

type node struct {
	fs.LoopbackNode
	f *FS
}

// Open implements fs.NodeOpener.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	name := filepath.Base(n.Path(n.Root()))
	if _, errno := n.f.meet(ctx, n.f.open, name); errno != 0 {
		return nil, 0, errno
	}
	inner, _, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	n.f.handles.Add(1)
	return &handle{inner.(fs.FileReader), n.f, name}, fuse.FOPEN_DIRECT_IO, 0
}

// OpendirHandle implements fs.NodeOpendirHandler: a directory that is listed.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if _, errno := n.f.meet(ctx, n.f.open, filepath.Base(n.Path(n.Root()))); errno != 0 {
		return nil, 0, errno
	}
	return n.LoopbackNode.OpendirHandle(ctx, flags)
}

type handle struct {
	inner fs.FileReader
	f     *FS
	name  string
}

// Read implements fs.FileReader.
func (h *handle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	fault, errno := h.f.meet(ctx, h.f.read, h.name)
	if errno != 0 {
		return nil, errno
	}
	if fault.Bytes > 0 {
		dest = dest[:max(0, min(int64(len(dest)), fault.Bytes-off))]
	}
	return h.inner.Read(ctx, dest, off)
}

// Release implements fs.FileReleaser.
func (h *handle) Release(ctx context.Context) syscall.Errno {
	defer h.f.handles.Add(-1)
	return h.inner.(fs.FileReleaser).Release(ctx)
}
