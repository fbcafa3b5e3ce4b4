// Package faulty is a source that fails on cue, so that a test can see what becomes of everything around it.
package faulty

import (
	"context"
	"sync"

	"github.com/goloader/goloader/core/source"
)

// Files is a source around another. Its hooks may be changed at any time.
type Files struct {
	source.Files
	mu    sync.Mutex
	read  map[int]func(buf *source.Buffer) error
	label map[int]func() int64
	reads map[int]int
}

// Wrap makes a source that does as inner does until it is told otherwise.
func Wrap(inner source.Files) *Files {
	return &Files{
		Files: inner, read: map[int]func(*source.Buffer) error{}, label: map[int]func() int64{}, reads: map[int]int{},
	}
}

// OnRead makes reading sample i do something else; nil makes it do again as the inner source does.
func (f *Files) OnRead(i int, do func(buf *source.Buffer) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read[i] = do
}

// OnLabel is OnRead for the label.
func (f *Files) OnLabel(i int, do func() int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.label[i] = do
}

// Reads is how many readings of sample i have ended.
func (f *Files) Reads(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads[i]
}

// Read implements source.Files.
func (f *Files) Read(ctx context.Context, i int, buf *source.Buffer) (source.Stamp, error) {
	f.mu.Lock()
	do := f.read[i]
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reads[i]++
	}()
	if do != nil {
		return source.Stamp{}, do(buf)
	}
	return f.Files.Read(ctx, i, buf)
}

// Label implements source.Files.
func (f *Files) Label(i int) int64 {
	f.mu.Lock()
	do := f.label[i]
	f.mu.Unlock()
	if do != nil {
		return do()
	}
	return f.Files.Label(i)
}

// Panic is a hook that panics.
func Panic(*source.Buffer) error { panic("a source that panics") }

// Return is a hook that fails.
func Return(err error) func(*source.Buffer) error {
	return func(*source.Buffer) error { return err }
}

// Give is a hook that reads other bytes than are stored.
func Give(b []byte) func(*source.Buffer) error {
	return func(buf *source.Buffer) error {
		room, err := buf.Room(len(b))
		if err != nil {
			return err
		}
		buf.Add(copy(room, b))
		return nil
	}
}

// Gate is a hook that waits for a signal before each reading.
type Gate struct {
	arrived chan struct{} // closed at the first reading
	open    chan struct{}
	once    sync.Once
	inner   source.Files
	sample  int
}

// NewGate makes a closed gate in front of sample i of inner.
func NewGate(inner source.Files, i int) *Gate {
	return &Gate{arrived: make(chan struct{}), open: make(chan struct{}), inner: inner, sample: i}
}

// Read is the hook.
func (g *Gate) Read(buf *source.Buffer) error {
	g.once.Do(func() { close(g.arrived) })
	<-g.open
	_, err := g.inner.Read(context.Background(), g.sample, buf)
	return err
}

// Arrived is closed once somebody waits at the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Open lets everybody through, for good. To be called once.
func (g *Gate) Open() { close(g.open) }
