// Package remote is the store of all that has a URL: one store a scheme, and one for each client of the caller's.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/azure"
	"github.com/goloader/goloader/core/source/gcs"
	"github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/source/hub"
	"github.com/goloader/goloader/core/source/s3"
)

// server is a store of the URLs of a scheme.
type server interface {
	source.Remote
	// Configure has read decode the store's settings. The store knows these and nothing else once use is called.
	Configure(read func(config any) error) (use func(), err error)
	SetStall(longest time.Duration)
	SetHedging(on bool)
	CloseIdle()
}

// schemes are what URLs begin with, and who reads them: a row a store. The first of a row, without its "://", names its settings.
var schemes = []struct {
	begin []string
	store func() server
}{
	{[]string{s3.Scheme}, func() server { return s3.New(s3.Config{}) }},
	{[]string{gcs.Scheme}, func() server { return gcs.New(gcs.Config{}) }},
	{[]string{azure.Scheme}, func() server { return azure.New(azure.Config{}) }},
	{[]string{hub.Scheme}, func() server { return hub.New(hub.Config{}) }},
	{[]string{"http://", "https://"}, func() server { return http.New(nil, nil) }},
}

// Store implements source.Remote. To be made by New.
type Store struct {
	servers []server // of each row of schemes
	mu      sync.RWMutex
	clients map[string]*s3.Store // of buckets, as clients of the caller's reach them, by their names
}

// clientScheme is what URLs of a client's buckets begin with: s3+name://bucket/key.
const clientScheme = "s3+"

// clientOf is the name of the client that a URL is for.
func clientOf(url string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(url, clientScheme)
	if !ok {
		return "", false
	}
	name, _, ok = strings.Cut(rest, "://")
	return name, ok
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New() *Store {
	s := &Store{}
	for _, scheme := range schemes {
		s.servers = append(s.servers, scheme.store())
	}
	return s
}

// rowOf is the row of a URL's scheme; -1 if there is none.
func rowOf(url string) int {
	for i, scheme := range schemes {
		if slices.ContainsFunc(scheme.begin, func(begin string) bool { return strings.HasPrefix(url, begin) }) {
			return i
		}
	}
	return -1
}

// Is says that a name is a URL of a scheme that there is a store for.
func Is(name string) bool {
	_, ok := clientOf(name)
	return ok || rowOf(name) >= 0
}

// of is who reads a URL. What is of no scheme fails as a URL of the web does.
func (s *Store) of(url string) source.Remote {
	if name, ok := clientOf(url); ok {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if client, ok := s.clients[name]; ok {
			return client
		}
		return s3.New(s3.Config{Endpoint: "no client " + name}) // which is no URL
	}
	row := rowOf(url)
	if row < 0 {
		row = rowOf("http://")
	}
	return s.servers[row]
}

// Use changes what is known, from now on. The settings are JSON:
//
//	{"timeout_ms": 500, "no_hedging": true, "stores": {"s3": {"endpoint": "http://host:9000"}},
//	 "clients": {"1": {"endpoint": "http://host:9001"}}}
//
// timeout_ms is the longest that a server may take for a byte: http.Stall if it is 0 or left out. With no_hedging no second
// request is sent where an answer is slow. A store's settings are its package's Config, a client's those of package s3; what is
// left out is not known. Nothing changes if it fails.
func (s *Store) Use(settings []byte) error {
	var all struct {
		TimeoutMs int64                      `json:"timeout_ms"`
		NoHedging bool                       `json:"no_hedging"`
		Stores    map[string]json.RawMessage `json:"stores"`
		Clients   map[string]s3.Config       `json:"clients"`
	}
	if err := decode(settings, &all); err != nil {
		return fmt.Errorf("settings of remote stores: %w", err)
	}
	stall := http.Stall
	if all.TimeoutMs != 0 {
		stall = time.Duration(all.TimeoutMs) * time.Millisecond
	}
	uses := make([]func(), len(schemes))
	for i, scheme := range schemes {
		name := strings.TrimSuffix(scheme.begin[0], "://")
		own, ok := all.Stores[name]
		if !ok {
			own = json.RawMessage("{}")
		}
		delete(all.Stores, name)
		var err error
		if uses[i], err = s.servers[i].Configure(func(config any) error { return decode(own, config) }); err != nil {
			return fmt.Errorf("settings of %s: %w", scheme.begin[0], err)
		}
	}
	for name := range all.Stores {
		return fmt.Errorf("settings of remote stores: there is no %q", name)
	}
	for _, use := range uses {
		use()
	}
	s.use(all.Clients)
	for _, server := range s.all() {
		server.SetStall(stall)
		server.SetHedging(!all.NoHedging)
	}
	return nil
}

// use has exactly these clients.
func (s *Store) use(configs map[string]s3.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clients := make(map[string]*s3.Store, len(configs))
	for name, config := range configs {
		if clients[name] = s.clients[name]; clients[name] == nil {
			clients[name] = s3.New(config)
		}
		clients[name].Use(config)
	}
	for name, client := range s.clients {
		if clients[name] == nil {
			client.CloseIdle()
		}
	}
	s.clients = clients
}

// all are the stores of schemes and of clients.
func (s *Store) all() []server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := slices.Clone(s.servers)
	for _, client := range s.clients {
		all = append(all, client)
	}
	return all
}

// decode refuses names that are not known. Its errors contain no values.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// CloseIdle closes the connections that nobody uses.
func (s *Store) CloseIdle() {
	for _, server := range s.all() {
		server.CloseIdle()
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
