package pipeline_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// slowNames is files whose names are told once goOn is closed: a save of the seek index needs them.
type slowNames struct {
	source.Files
	goOn         chan struct{}
	asking, most atomic.Int32
}

func (s *slowNames) Name(i int) string {
	if !bytes.Contains(debug.Stack(), []byte("(*Loader).save")) { // of a slow sample
		return s.Files.Name(i)
	}
	now := s.asking.Add(1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	<-s.goOn
	s.asking.Add(-1)
	return s.Files.Name(i)
}

// indexed is a plan over photos, large enough for entries, that saves its seek index.
func indexed(t *testing.T) (*plan.Plan, []photo, string) {
	random := rand.New(rand.NewPCG(1, 1))
	photos := make([]photo, 4)
	for i := range photos {
		photos[i] = kinds["jpeg"](size(200, 150), random)
		photos[i].name = fmt.Sprint(i)
	}
	p := training(len(photos))
	p.Pillow.MaxPixels = 0
	path := filepath.Join(t.TempDir(), "index")
	p.SeekIndex = &plan.SeekIndex{BytesMax: 1 << 20, Path: path}
	return p, photos, path
}

func epoch(t *testing.T, l *pipeline.Loader, p *plan.Plan, photos []photo) {
	t.Helper()
	r := start(t, l, p, photos, pipeline.Options{Workers: 1, Streams: 1})
	r.run1(0, 1, 2, 3)
	require.NoError(t, r.run.Close())
}

func TestClosingARunDoesNotWaitForTheSeekIndex(t *testing.T) {
	leakcheck.Check(t)
	p, photos, path := indexed(t)
	slow := &slowNames{Files: store(t, photos), goOn: make(chan struct{})}
	l := openLoader(t, p, slow)
	for range 3 { // none of which could end if it waited for names
		epoch(t, l, p, photos)
	}
	require.NotZero(t, l.Snapshot().SeekEntries)
	require.NoFileExists(t, path)
	close(slow.goOn)
	require.NoError(t, l.Close())
	require.NoError(t, l.Warnings())
	require.EqualValues(t, 1, slow.most.Load(), "one save at a time")

	again := openLoader(t, p, store(t, photos))
	require.NoError(t, again.Warnings())
	require.EqualValues(t, len(photos), again.Snapshot().SeekEntries)
}

func TestALoaderThatCannotSaveItsSeekIndexClosesInTime(t *testing.T) {
	leakcheck.Check(t)
	synctest.Test(t, func(t *testing.T) {
		p, photos, path := indexed(t)
		slow := &slowNames{Files: store(t, photos), goOn: make(chan struct{})}
		l := openLoader(t, p, slow)
		epoch(t, l, p, photos)
		before := time.Now()
		l.Settle(before.Add(time.Second))
		require.ErrorContains(t, l.Warnings(), "not saved yet")
		require.NoError(t, l.Close())
		require.Equal(t, time.Second+pipeline.SaveWait, time.Since(before))
		require.ErrorContains(t, l.Warnings(), "not saved yet")
		close(slow.goOn)
		synctest.Wait()
		require.FileExists(t, path, "it goes on by itself")
		left, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, left, 1)
	})
}
