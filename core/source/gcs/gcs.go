// Package gcs is the store of Google Cloud Storage: gs://bucket/object. Its bytes are read by package http.
//
// An object's version is its generation, which lists and answers both have.
//
// Source: https://cloud.google.com/storage/docs/json_api, and gcsfs for the names.
package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/goloader/goloader/core/source"
	httpstore "github.com/goloader/goloader/core/source/http"
)

const (
	// Scheme is what the names of containers begin with.
	Scheme = "gs://"
	// Endpoint is where the buckets are, unless it is told otherwise.
	Endpoint = "https://storage.googleapis.com"

	scope = "https://www.googleapis.com/auth/devstorage.read_only"
	// tokenWithin bounds one request for an access token.
	tokenWithin = 10 * time.Second
)

// Config says where the buckets are, and who asks.
type Config struct {
	Endpoint string `json:"endpoint"` // "": Endpoint
	// Who asks: an access token, else what a file of credentials says (of a service account, a login, a workload). Without
	// both, Endpoint is asked as the machine's account if the machine is one of Google's, else as nobody in particular.
	Token       string `json:"token"`
	Credentials string `json:"credentials"`
}

// Store implements source.Remote. To be made by New.
type Store struct {
	*httpstore.Store
	mu     sync.Mutex
	config Config
	who    *who // as the config has it
}

// who gives access tokens.
type who struct {
	once   sync.Once
	tokens oauth2.TokenSource // nil: nobody in particular
	err    error
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New(config Config) *Store {
	s := &Store{}
	s.Use(config)
	s.Store = httpstore.New(s.request, nil)
	s.Answered = answered
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
		s.config, s.who = config, &who{}
	}
}

var errName = errors.New("want gs://bucket/object")

func split(name string) (bucket, object string, err error) {
	rest, ok := strings.CutPrefix(name, Scheme)
	bucket, object, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return "", "", errName
	}
	return bucket, object, nil
}

func (s *Store) request(ctx context.Context, name string) (*http.Request, error) {
	bucket, object, err := split(name)
	if err == nil && object == "" {
		err = errName
	}
	if err != nil {
		return nil, err
	}
	return s.get(ctx, "/download/storage/v1/b/"+url.PathEscape(bucket)+"/o/"+url.PathEscape(object)+"?alt=media")
}

func (s *Store) get(ctx context.Context, path string) (*http.Request, error) {
	s.mu.Lock()
	config, who := s.config, s.who
	s.mu.Unlock()
	if at, err := url.Parse(config.Endpoint); err != nil || at.Host == "" {
		return nil, fmt.Errorf("STORAGE_EMULATOR_HOST %q is no URL", httpstore.Name(config.Endpoint))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Endpoint+path, nil)
	if err != nil {
		return nil, err
	}
	token, err := who.token(ctx, config)
	if token != nil {
		token.SetAuthHeader(r)
	}
	return r, err
}

// token gives an access token, nil for nobody in particular.
func (w *who) token(ctx context.Context, config Config) (*oauth2.Token, error) {
	if config.Token != "" {
		return &oauth2.Token{AccessToken: config.Token}, nil
	}
	var token *oauth2.Token
	var err error
	done := make(chan struct{})
	go func() { // callers may leave; the answer serves the next one
		defer close(done)
		w.once.Do(func() { w.tokens, w.err = tokens(config) })
		if err = w.err; err == nil && w.tokens != nil {
			token, err = w.tokens.Token()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var refused *oauth2.RetrieveError
	var broken *url.Error
	switch {
	case err == nil:
		return token, nil
	case errors.As(err, &refused): // its text has the whole answer
		kind := fs.ErrPermission
		if refused.Response.StatusCode >= 500 {
			kind = source.ErrTransient
		}
		return nil, fmt.Errorf("%w: no access token: %s", kind, refused.Response.Status)
	case errors.As(err, &broken):
		return nil, fmt.Errorf("%w: no access token: %w", source.ErrTransient, broken.Err)
	default:
		return nil, fmt.Errorf("%w: no access token: %w", fs.ErrPermission, err)
	}
}

// tokens is what a config gives access tokens by; nil if nobody in particular asks.
func tokens(config Config) (oauth2.TokenSource, error) {
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: tokenWithin})
	if config.Credentials != "" {
		var file struct{ Type google.CredentialsType }
		err := json.Unmarshal([]byte(config.Credentials), &file)
		if err == nil {
			var found *google.Credentials
			if found, err = google.CredentialsFromJSONWithType(ctx, []byte(config.Credentials), file.Type, scope); err == nil {
				return found.TokenSource, nil
			}
		}
		return nil, fmt.Errorf("the file of Google's credentials: %w", err)
	}
	if config.Endpoint == Endpoint && metadata.OnGCEWithContext(ctx) {
		return oauth2.ReuseTokenSource(nil, google.ComputeTokenSource("", scope)), nil
	}
	return nil, nil
}

// answered gives an answer the ETag that its object's list has.
func answered(_ string, answer *http.Response) {
	if generation := answer.Header.Get("X-Goog-Generation"); generation != "" {
		answer.Header.Set("ETag", `"`+generation+`"`)
	}
}

// page is an answer to objects.list.
type page struct {
	Items         []struct{ Name, Generation string }
	Prefixes      []string
	NextPageToken string
}

// List implements source.Remote.
func (s *Store) List(ctx context.Context, folder string, each func(url, version string)) error {
	bucket, _, _ := split(folder)
	return s.pages(ctx, folder, "", func(p page) {
		for _, item := range p.Items {
			version := source.Stamp{ModifiedNs: httpstore.TagNumber(`"` + item.Generation + `"`)}.Version()
			each(Scheme+bucket+"/"+item.Name, version)
		}
	})
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = s.pages(ctx, folder, "/", func(p page) {
		for _, prefix := range p.Prefixes {
			if !strings.HasSuffix(prefix, "//") {
				names = append(names, path.Base(prefix))
			}
		}
	})
	return names, err
}

func (s *Store) pages(ctx context.Context, folder, delimiter string, each func(page)) error {
	bucket, prefix, err := split(folder)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", folder, source.ErrUnreadable, err)
	}
	query := url.Values{"prefix": {prefix}, "fields": {"items(name,generation),prefixes,nextPageToken"}}
	if delimiter != "" {
		query.Set("delimiter", delimiter)
	}
	for {
		body, _, err := s.Get(ctx, folder, func(ctx context.Context) (*http.Request, error) {
			return s.get(ctx, "/storage/v1/b/"+url.PathEscape(bucket)+"/o?"+query.Encode())
		})
		if err != nil {
			return err
		}
		var p page
		if err := json.Unmarshal(body, &p); err != nil {
			return fmt.Errorf("%s: %w: the list of its objects is not readable: %w", folder, source.ErrUnreadable, err)
		}
		each(p)
		if p.NextPageToken == "" {
			return nil
		}
		query.Set("pageToken", p.NextPageToken)
	}
}
