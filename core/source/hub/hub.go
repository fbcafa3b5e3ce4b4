// Package hub is the store of the Hugging Face Hub: hf://datasets/owner/name@revision/path, and hf://owner/name/path of a
// model's repository. Its bytes are read by package http.
//
// The Hub answers for a large file with the place where it lies, which serves for a while: ranges of a file are asked for
// there at once. A file's version is what the Hub says of its content, in lists and in answers alike.
//
// Source: https://huggingface.co/docs/hub/api, and huggingface_hub.HfFileSystem for the names.
package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/goloader/goloader/core/source"
	httpstore "github.com/goloader/goloader/core/source/http"
)

const (
	// Scheme is what the names of containers begin with.
	Scheme = "hf://"
	// Endpoint is where the Hub is, unless it is told otherwise.
	Endpoint = "https://huggingface.co"

	// placesFor is how long a place is asked without asking the Hub first; it signs them for an hour.
	placesFor = 10 * time.Minute
	placesMax = 4096
)

// Config says where the Hub is, and who asks.
type Config struct {
	Endpoint string `json:"endpoint"` // "": Endpoint
	Token    string `json:"token"`    // "": nobody in particular
}

// Store implements source.Remote. To be made by New.
type Store struct {
	*httpstore.Store
	mu     sync.Mutex
	config Config
	places map[string]place // of containers
}

// place is where the Hub has sent who asked for a container.
type place struct {
	url, tag string
	until    time.Time
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New(config Config) *Store {
	s := &Store{}
	s.Use(config)
	s.Store = httpstore.New(s.request, s.moved)
	s.Answered = s.answered
	return s
}

// Configure reads a Config for Use.
func (s *Store) Configure(read func(config any) error) (use func(), err error) {
	var config Config
	err = read(&config)
	return func() { s.Use(config) }, err
}

// Use changes where and by whom is asked from now on.
func (s *Store) Use(config Config) {
	if config.Endpoint == "" {
		config.Endpoint = Endpoint
	}
	config.Endpoint = strings.TrimSuffix(config.Endpoint, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config != config {
		s.config, s.places = config, map[string]place{}
	}
}

// repository is where a container or folder is.
type repository struct {
	name     string // "datasets/owner/name", "owner/name"
	revision string
	path     string
	root     string // its URL's part before the path
}

var errName = errors.New("want hf://datasets/owner/name/path")

// names are the parts of a URL behind its scheme: a repository, a revision, which may have slashes if it is one of the
// Hub's own, and a path.
var names = regexp.MustCompile(`^((?:(?:datasets|spaces)/)?[^/@]+/[^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/]+))?/(.*)$`)

func split(name string) (repository, error) {
	rest, ok := strings.CutPrefix(name, Scheme)
	found := names.FindStringSubmatch(rest)
	kind, _, _ := strings.Cut(rest, "/")
	if !ok || found == nil || (kind == "datasets" || kind == "spaces") && strings.Count(found[1], "/") < 2 {
		return repository{}, errName
	}
	r := repository{name: found[1], revision: found[2], path: found[3]}
	r.root = strings.TrimSuffix(name, r.path)
	if r.revision == "" {
		r.revision = "main"
	} else if plain, err := url.PathUnescape(r.revision); err == nil {
		r.revision = plain
	}
	return r, nil
}

// escaped is a path with its slashes as they are.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

func (s *Store) request(ctx context.Context, name string) (*http.Request, error) {
	r, err := split(name)
	if err == nil && (r.path == "" || strings.HasSuffix(r.path, "/")) {
		err = errName
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	known, config := s.places[name], s.config
	s.mu.Unlock()
	if time.Now().Before(known.until) {
		return http.NewRequestWithContext(ctx, http.MethodGet, known.url, nil)
	}
	return config.get(ctx, "/"+r.name+"/resolve/"+url.PathEscape(r.revision)+"/"+escaped(r.path))
}

// get is a request to the Hub itself. On the way to another host, the token is left out (net/http.Client).
func (c Config) get(ctx context.Context, path string) (*http.Request, error) {
	if at, err := url.Parse(c.Endpoint); err != nil || at.Host == "" {
		return nil, fmt.Errorf("HF_ENDPOINT %q is no URL", httpstore.Name(c.Endpoint))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Endpoint+path, nil)
	if err == nil && c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, err
}

// answered takes note of where a container lies, and gives its answer the ETag that the Hub has for it: the place has one of
// its own.
func (s *Store) answered(name string, answer *http.Response) {
	if answer.StatusCode >= 300 && answer.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, sent := s.places[name], answer.Request.Response
	if sent != nil && answer.Request.URL.Host != first(answer).URL.Host {
		known = place{answer.Request.URL.String(), linked(sent), time.Now().Add(placesFor)}
		if len(s.places) >= placesMax {
			clear(s.places)
		}
		s.places[name] = known
	}
	tag := known.tag
	if tag == "" {
		tag = linked(answer)
	}
	if tag != "" {
		answer.Header.Set("ETag", tag)
	}
}

// first is the request that was made, before its answers led elsewhere.
func first(answer *http.Response) *http.Request {
	r := answer.Request
	for r.Response != nil {
		r = r.Response.Request
	}
	return r
}

// linked is the ETag of a file's content, as an answer has it or the one that led to it; "" if neither has.
func linked(answer *http.Response) string {
	for ; answer != nil; answer = answer.Request.Response {
		if tag := answer.Header.Get("X-Linked-Etag"); tag != "" {
			return `"` + strings.Trim(tag, `"`) + `"`
		}
	}
	return ""
}

// moved says whether a place that was known refused, which no longer counts then.
func (s *Store) moved(name string, _ *http.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.places[name]
	delete(s.places, name)
	return known
}

// entry is one of a repository's tree.
type entry struct {
	Type, Path, OID string
	LFS             *struct{ OID string }
}

// List implements source.Remote.
func (s *Store) List(ctx context.Context, folder string, each func(url, version string)) error {
	return s.tree(ctx, folder, true, func(r repository, e entry) {
		if e.Type != "file" {
			return
		}
		tag := e.OID
		if e.LFS != nil {
			tag = e.LFS.OID
		}
		version := ""
		if tag != "" {
			version = source.Stamp{ModifiedNs: httpstore.TagNumber(`"` + tag + `"`)}.Version()
		}
		each(r.root+e.Path, version)
	})
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) (found []string, err error) {
	err = s.tree(ctx, folder, false, func(_ repository, e entry) {
		if e.Type == "directory" {
			found = append(found, path.Base(e.Path))
		}
	})
	return found, err
}

// next is the URL of the page behind one, in its Link header.
var next = regexp.MustCompile(`<([^>]+)>;\s*rel="next"`)

func (s *Store) tree(ctx context.Context, folder string, recursive bool, each func(repository, entry)) error {
	r, err := split(strings.TrimSuffix(folder, "/") + "/")
	if err != nil {
		return fmt.Errorf("%s: %w: %w", folder, source.ErrUnreadable, err)
	}
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	kind := "/api/"
	if !strings.HasPrefix(r.name, "datasets/") && !strings.HasPrefix(r.name, "spaces/") {
		kind = "/api/models/"
	}
	page := kind + r.name + "/tree/" + url.PathEscape(r.revision) + "/" + escaped(strings.TrimSuffix(r.path, "/"))
	page = fmt.Sprintf("%s?recursive=%t", strings.TrimSuffix(page, "/"), recursive)
	for page != "" {
		body, header, err := s.Get(ctx, folder, func(ctx context.Context) (*http.Request, error) { return config.get(ctx, page) })
		if err != nil {
			return err
		}
		var entries []entry
		if err := json.Unmarshal(body, &entries); err != nil {
			return fmt.Errorf("%s: %w: the list of its files is not readable: %w", folder, source.ErrUnreadable, err)
		}
		for _, e := range entries {
			each(r, e)
		}
		page = ""
		if found := next.FindStringSubmatch(header.Get("Link")); found != nil {
			at, err := url.Parse(found[1])
			if err != nil {
				return fmt.Errorf("%s: %w: the list's next page: %w", folder, source.ErrUnreadable, err)
			}
			page = at.RequestURI() // of the endpoint, which alone is given the token
		}
	}
	return nil
}
