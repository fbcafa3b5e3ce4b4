package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/faultfs"
)

// stored puts photos into a file system that can fail.
func stored(t *testing.T, photos []photo) (*faultfs.FS, *folder.Folder) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range photos {
		require.NoError(t, os.WriteFile(filepath.Join(dir, p.name), p.file, 0o600))
	}
	f := faultfs.Mount(t, dir)
	var paths []byte
	offsets, labels := []int64{0}, []int64{}
	for i, p := range photos {
		paths = append(append(paths, filepath.Join(f.Path, p.name)...), 0)
		offsets, labels = append(offsets, int64(len(paths))), append(labels, int64(1000+i))
	}
	files, err := folder.New(source.Retry(local.Store{}), paths, offsets, labels, nil)
	require.NoError(t, err)
	return f, files
}

func TestAFileSystemThatHangsDelaysNobody(t *testing.T) {
	for name, hang := range map[string]func(f *faultfs.FS, name string, until <-chan struct{}){
		"open": func(f *faultfs.FS, name string, until <-chan struct{}) { f.OnOpen(name, faultfs.Fault{Hang: until}) },
		"read": func(f *faultfs.FS, name string, until <-chan struct{}) { f.OnRead(name, faultfs.Fault{Hang: until}) },
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			photos, p := makePhotos(12, 1, good...), training(12)
			f, files := stored(t, photos)
			until := make(chan struct{})
			hang(f, photos[2].name, until)
			l := openLoader(t, p, files)
			r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1, Span: 1})
			r.submit(0, 1, 2, 3)
			r.submit(4, 5)
			<-f.Arrived()
			eventually(t, func() bool { return strings.Contains(r.run.Doing(), photos[2].name) })
			requireSoon(t, func() {
				left, err := r.run.Reset()
				require.NoError(t, err)
				require.Positive(t, left)
			})
			r.submit(4, 5)
			require.Equal(t, []int64{1004, 1005}, r.result(nil).labels)
			requireSoon(t, func() {
				require.NoError(t, r.run.Close())
				require.NoError(t, l.Close())
			})
			close(until)
			eventuallyNoneLeft(t)
		})
	}
}

func TestAFileSystemThatFailsForAMomentIsReadAgain(t *testing.T) {
	leakcheck.Check(t)
	photos, p := makePhotos(6, 1, good...), training(6)
	f, files := stored(t, photos)
	f.OnOpen(photos[1].name, faultfs.Fault{Errno: syscall.EIO, Times: 1})
	f.OnRead(photos[3].name, faultfs.Fault{Errno: syscall.EIO, Times: 2})
	l := openLoader(t, p, files)
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	m := newModel(p, photos, 1, 0)
	indices := []int64{0, 1, 2, 3, 4, 5}
	r.submit(indices...)
	requireOutcome(t, m.batch(indices), r.result(nil))
	require.EqualValues(t, 3, l.Stats.Remote.Retries.Load())

	f.OnRead(photos[4].name, faultfs.Fault{Errno: syscall.EIO})
	r.submit(4)
	ask := r.question(pipeline.AskPixels)
	require.Contains(t, ask.Reason, photos[4].name)
	require.Contains(t, ask.Reason, "input/output error")
	f.OnRead(photos[4].name, faultfs.Fault{})
	f.OnRead(photos[5].name, faultfs.Fault{Bytes: 40})
	require.NoError(t, second(r.run.Reject()))
	r.submit(5)
	require.Contains(t, r.question(pipeline.AskPixels).Reason, photos[5].name, "a file that is cut")
}

// 30 ms for each opening and reading: one after the other the files would take 12 s.
func TestASlowFileSystemIsReadAtManyPlacesAtOnce(t *testing.T) {
	const n = 200
	leakcheck.Check(t)
	photos, p := makePhotos(n, 1, good...), training(n)
	f, files := stored(t, photos)
	f.OnOpen("", faultfs.Fault{Delay: 30 * time.Millisecond})
	f.OnRead("", faultfs.Fault{Delay: 30 * time.Millisecond})
	r := start(t, openLoader(t, p, files), p, photos, pipeline.Options{Workers: 2, Streams: 1})
	m := newModel(p, photos, 1, 0)
	var batches [][]int64
	for from := 0; from < n; from += 50 {
		var indices []int64
		for i := from; i < from+50; i++ {
			indices = append(indices, int64(i))
		}
		batches = append(batches, indices)
	}
	for k, got := range r.epoch(batches, len(batches), nil) {
		requireOutcome(t, m.batch(batches[k]), got)
	}
	require.Greater(t, f.Most(), 32)
}
