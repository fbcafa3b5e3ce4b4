package tables

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/goloader/goloader/core/source"
)

// Files are the files of some columns, each opened once for all of them.
type Files struct {
	store   source.Store
	waiting atomic.Bool // reads had to wait lately

	mu     sync.Mutex
	opened map[string]source.Container
	users  int
}

// filesKept stay open; others are opened for each part that is read. A process may have a thousand, mostly.
const filesKept = 128

// NewFiles are those of a store.
func NewFiles(store source.Store) *Files {
	return &Files{store: store, opened: map[string]source.Container{}}
}

// with calls f with an opened file.
func (s *Files) with(ctx context.Context, path string, f func(source.Container) error) error {
	file, kept, err := s.open(ctx, path)
	if err != nil {
		return err
	}
	if !kept {
		defer file.Close()
	}
	err = f(file)
	s.waiting.Store(file.Waits())
	return err
}

func (s *Files) open(ctx context.Context, path string) (file source.Container, kept bool, err error) {
	s.mu.Lock()
	file = s.opened[path]
	s.mu.Unlock()
	if file != nil {
		return file, true, nil
	}
	if file, err = s.store.Open(ctx, path); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users > 0 && len(s.opened) < filesKept && s.opened[path] == nil {
		s.opened[path] = file
		return file, true, nil
	}
	return file, false, nil
}

// expect tells a file that is open which bytes will be read.
func (s *Files) expect(path string, at int64, bytes int) {
	s.mu.Lock()
	file := s.opened[path]
	s.mu.Unlock()
	if file != nil {
		file.Expect(at, bytes)
	}
}

func (s *Files) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// drop closes all files once nobody uses them.
func (s *Files) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		for path, file := range s.opened {
			file.Close()
			delete(s.opened, path)
		}
	}
}
