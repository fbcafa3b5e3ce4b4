// Package leakcheck holds a test to the law that nothing outlives it: no byte outside the Go heap, no goroutine, no
// file descriptor.
package leakcheck

import (
	"maps"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
)

// alive is what a test must leave as it found it.
type alive struct {
	Memory      map[string]mem.Usage
	WorkerBytes int
	Goroutines  int
	Descriptors int
}

func look(t testing.TB) alive {
	t.Helper()
	a := alive{Memory: map[string]mem.Usage{}, WorkerBytes: op.LiveBytes(), Goroutines: runtime.NumGoroutine()}
	for p := mem.Slots; p <= mem.Cached; p++ {
		a.Memory[p.String()] = mem.InUse(p)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	a.Descriptors = len(open)
	return a
}

// within says that nothing has come. Goroutines may have gone: an earlier test's last ones.
func (a alive) within(before alive) bool {
	return maps.Equal(a.Memory, before.Memory) && a.WorkerBytes == before.WorkerBytes &&
		a.Goroutines <= before.Goroutines && a.Descriptors <= before.Descriptors
}

// Go opens descriptors of its own at the first use of a pipe or a socket; they are no test's.
func init() {
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
}

// Check is to be called first in a test, so that it looks last, after all other cleanups. Tests that call it do not
// run in parallel.
func Check(t testing.TB) {
	t.Helper()
	before := look(t)
	t.Cleanup(func() {
		t.Helper()
		var after alive
		// A goroutine whose end was waited for may still be counted for a moment.
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if after = look(t); after.within(before) {
				return
			}
		}
		stacks := make([]byte, 1<<20)
		t.Errorf("something is left\n before %+v\n after  %+v\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	})
}
