package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/goloader/goloader/core/source"
)

const (
	// So many lists, or archives, are asked for at once.
	remoteAtOnce = 32
	// windowBytes are read of a remote archive at a time: in them are some headers of archives of photos, and where a
	// file is larger, what is left of it is not read.
	windowBytes = 1 << 20
	// versionMark is what source.WithVersion has between its parts.
	versionMark = '#'
)

// walkRemote lists the objects below each class folder, in the order in which Walk lists the files of a copy.
func walkRemote(ctx context.Context, tree Tree, progress *Progress) (*Folder, []Directory, error) {
	w := walker{tree: tree, progress: progress, classes: make([]class, len(tree.Classes))}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(remoteAtOnce)
	for label, name := range tree.Classes {
		group.Go(func() (err error) {
			w.classes[label].listings, err = listRemote(ctx, tree, name, progress)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return w.gather()
}

// listRemote gives what would be in the directories of a class if its objects were files.
func listRemote(ctx context.Context, tree Tree, name string, progress *Progress) ([]listing, error) {
	type directory struct {
		names []byte
		ends  []uint32
	}
	directories := map[string]*directory{}
	root := string(join([]byte(tree.Root), []byte(name)))
	var wrong error
	err := tree.Remote.List(ctx, root+"/", func(url, version string) {
		slash := strings.LastIndexByte(url, '/')
		path, file := url[:slash], []byte(url[slash+1:])
		if bytes.IndexByte(file, 0) >= 0 || strings.IndexByte(path, 0) >= 0 {
			wrong = fmt.Errorf("%q: %w: its name holds a NUL", url, source.ErrUnreadable)
			return
		}
		if !hasExtension(file, tree.Extensions) { // folders among them: objects whose names end in a slash
			return
		}
		d := directories[path]
		if d == nil {
			d = &directory{}
			directories[path] = d
		}
		// A NUL, since it sorts before what may go on there.
		d.names = append(append(append(d.names, file...), 0), version...)
		d.ends = append(d.ends, uint32(len(d.names)))
		progress.Files.Add(1)
	})
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	var found []listing
	var sorter names
	for path, d := range directories {
		l := listing{path: []byte(path)}
		l.names, l.ends = sorter.sort(d.names, d.ends)
		for at, c := range l.names {
			if c == 0 {
				l.names[at] = versionMark
			}
		}
		found = append(found, l)
	}
	return found, nil
}

// openRemote opens an archive of which nothing is listed yet.
func openRemote(ctx context.Context, remote source.Remote, url string) (*shard, io.ReadSeekCloser, error) {
	c, err := storeOf(remote).Open(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	stamp := source.StampOf(c)
	made := &shard{Directory: Directory{Path: url, ModTime: versionOf(stamp)}, archive: source.WithVersion(url, source.VersionOf(c))}
	return made, &window{ctx: ctx, of: c}, nil
}

// unchangedRemote looks whether an archive is as it was.
func unchangedRemote(ctx context.Context, remote source.Remote, url string, then int64) error {
	stamp, err := remote.Stat(ctx, url)
	if err != nil {
		return err
	}
	if versionOf(stamp) != then {
		return fmt.Errorf("%w: %s", ErrStale, url)
	}
	return nil
}

// versionOf is a number that changes with an archive.
func versionOf(stamp source.Stamp) int64 { return stamp.ModifiedNs ^ stamp.Bytes<<20 }

// window reads a container, a block at a time. It implements io.ReadSeekCloser.
type window struct {
	ctx   context.Context
	of    source.Container
	at    int64
	block []byte
	begin int64 // of block in the container
}

func (w *window) Read(into []byte) (int, error) {
	left := w.of.Bytes() - w.at
	if left <= 0 {
		return 0, io.EOF
	}
	if w.at < w.begin || w.at >= w.begin+int64(len(w.block)) {
		block := w.block[:0]
		if block == nil {
			block = make([]byte, 0, windowBytes)
		}
		block = block[:min(windowBytes, left)]
		w.block = nil
		if err := w.of.Read(w.ctx, source.Piece{At: w.at, Into: block}); err != nil {
			return 0, err
		}
		w.block, w.begin = block, w.at
	}
	n := copy(into, w.block[w.at-w.begin:])
	w.at += int64(n)
	return n, nil
}

func (w *window) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += w.at
	case io.SeekEnd:
		offset += w.of.Bytes()
	}
	if offset < 0 {
		return 0, fmt.Errorf("%s: byte %d", w.of.Name(), offset)
	}
	w.at = offset
	return offset, nil
}

func (w *window) Close() error {
	w.of.Close()
	return nil
}
