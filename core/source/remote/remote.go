// Package remote is the store of all that has a URL: one store a scheme.
package remote

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/source/hub"
	"github.com/goloader/goloader/core/source/s3"
)

// Config is what a process knows of remote stores.
type Config struct {
	S3    s3.Config
	Hub   hub.Config
	Stall time.Duration // the longest that a server may take for a byte; 0: http.Stall
}

// Store implements source.Remote. To be made by New.
type Store struct {
	web     *http.Store
	buckets *s3.Store
	hub     *hub.Store
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New() *Store { return &Store{http.New(nil, nil), s3.New(s3.Config{}), hub.New(hub.Config{})} }

// server is a store of the URLs of a scheme.
type server interface {
	source.Remote
	SetStall(longest time.Duration)
	CloseIdle()
}

// schemes are what URLs begin with, and who reads them.
var schemes = []struct {
	begin string
	store func(s *Store) server
}{
	{s3.Scheme, func(s *Store) server { return s.buckets }},
	{hub.Scheme, func(s *Store) server { return s.hub }},
	{"http://", func(s *Store) server { return s.web }},
	{"https://", func(s *Store) server { return s.web }},
}

// Is says that a name is a URL of a scheme that there is a store for.
func Is(name string) bool {
	for _, scheme := range schemes {
		if strings.HasPrefix(name, scheme.begin) {
			return true
		}
	}
	return false
}

// of is who reads a URL. What is of no scheme fails as a URL of the web does.
func (s *Store) of(url string) source.Remote {
	for _, scheme := range schemes {
		if strings.HasPrefix(url, scheme.begin) {
			return scheme.store(s)
		}
	}
	return s.web
}

// Use changes what is known, from now on.
func (s *Store) Use(config Config) {
	if config.Stall == 0 {
		config.Stall = http.Stall
	}
	s.buckets.Use(config.S3)
	s.hub.Use(config.Hub)
	for _, scheme := range schemes {
		scheme.store(s).SetStall(config.Stall)
	}
}

// CloseIdle closes the connections that nobody uses.
func (s *Store) CloseIdle() {
	for _, scheme := range schemes {
		scheme.store(s).CloseIdle()
	}
}

// Patient is the store with source.Retry around it.
func (s *Store) Patient() source.Store { return source.Retry(s, source.RemotePauses...) }

// Read implements source.Store.
func (s *Store) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	return s.of(string(key.Container)).Read(ctx, key, buf)
}

// Open implements source.Store.
func (s *Store) Open(ctx context.Context, url string) (source.Container, error) {
	return s.of(url).Open(ctx, url)
}

// Stat implements source.Remote.
func (s *Store) Stat(ctx context.Context, url string) (source.Stamp, error) {
	return s.of(url).Stat(ctx, url)
}

// List implements source.Remote.
func (s *Store) List(ctx context.Context, folder string, each func(url, version string)) error {
	return s.of(folder).List(ctx, folder, each)
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) ([]string, error) {
	return s.of(folder).Folders(ctx, folder)
}

// Fetch is bytes on their way, in the background.
type Fetch struct {
	cancel context.CancelFunc
	done   chan struct{}
	buf    source.Buffer // to be read once done is closed
	err    error         // the same
}

// Begin begins to append bytes to a buffer.
func Begin(fetch func(ctx context.Context, buf *source.Buffer) error) *Fetch {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fetch{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer func() {
			if r := recover(); r != nil {
				f.err = fmt.Errorf("remote: a fetch panicked: %v", r)
			}
		}()
		f.err = fetch(ctx, &f.buf)
	}()
	return f
}

// FetchFolders begins to read the names of the folders directly below one, each followed by a NUL.
func (s *Store) FetchFolders(folder string) *Fetch {
	return Begin(func(ctx context.Context, buf *source.Buffer) error {
		names, err := s.Folders(ctx, folder)
		for _, name := range names {
			if failed := buf.Append(name + "\x00"); failed != nil {
				return failed
			}
		}
		return err
	})
}

// Wait waits for the bytes, at most for a while, and says if they are there. They are good until Close.
func (f *Fetch) Wait(longest time.Duration) ([]byte, bool, error) {
	select {
	case <-f.done:
	case <-time.After(longest):
		return nil, false, nil
	}
	if f.err != nil || f.buf.Len() == 0 {
		return nil, true, f.err
	}
	return f.buf.Slice(0, f.buf.Len()), true, nil
}

// Close stops the fetch and frees what it got.
func (f *Fetch) Close() error {
	f.cancel()
	<-f.done
	f.buf.Free()
	return nil
}
