// Package s3 is the store of buckets: s3://bucket/key of Amazon S3 and of what speaks its protocol. Its bytes are read by
// package http, by requests that are signed here.
package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/goloader/goloader/core/source"
	httpstore "github.com/goloader/goloader/core/source/http"
)

// Scheme is what the names of containers begin with.
const Scheme = "s3://"

// Config says where the buckets are, and who asks.
type Config struct {
	Endpoint string `json:"endpoint"` // "https://host:port", with a bucket's name as the first part of the path; "": Amazon's
	Region   string `json:"region"`   // "": us-east-1
	// Who asks. If there is no key the machine's role, else nobody in particular.
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Token     string `json:"token"`
	// Metadata is "http://host" in place of the address that a machine's role is asked of, which is never asked if NoRole is
	// "true".
	Metadata string `json:"metadata"`
	NoRole   string `json:"no_role"`
}

// Store implements source.Remote. To be made by New.
type Store struct {
	*httpstore.Store
	mu      sync.RWMutex
	config  Config
	role    *role             // as the config has it
	regions map[string]string // of buckets that are elsewhere
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New(config Config) *Store {
	s := &Store{}
	s.Use(config)
	s.Store = httpstore.New(s.request, s.moved)
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
	if config.Region == "" {
		config.Region = "us-east-1"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config != config {
		s.config, s.role, s.regions = config, &role{}, map[string]string{}
	}
}

var errName = errors.New("want s3://bucket/key")

func split(name string) (bucket, key string, err error) {
	_, rest, ok := strings.Cut(name, "://") // behind Scheme, or what a client's URLs begin with
	bucket, key, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return "", "", errName
	}
	return bucket, key, nil
}

func (s *Store) request(ctx context.Context, name string) (*http.Request, error) {
	bucket, key, err := split(name)
	if err == nil && key == "" {
		err = errName
	}
	if err != nil {
		return nil, err
	}
	return s.signed(ctx, bucket, key, nil)
}

// signed is a GET.
func (s *Store) signed(ctx context.Context, bucket, key string, query url.Values) (*http.Request, error) {
	s.mu.RLock()
	config, role := s.config, s.role
	if region := s.regions[bucket]; region != "" {
		config.Region = region
	}
	s.mu.RUnlock()
	if at, err := url.Parse(config.Endpoint); err != nil || config.Endpoint != "" && at.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is no URL", httpstore.Name(config.Endpoint))
	}
	to, err := url.Parse(config.base(bucket) + "/" + escape(key, true))
	if err != nil {
		return nil, err
	}
	to.RawQuery = canonical(query)
	r := (&http.Request{Method: http.MethodGet, URL: to, Host: to.Host, Header: http.Header{}}).WithContext(ctx)
	if config.AccessKey == "" {
		if err := role.keys(ctx, &config); err != nil {
			return nil, err
		}
	}
	if config.AccessKey != "" {
		sign(r, to.EscapedPath(), config, time.Now())
	}
	return r, nil
}

// base is the URL of a bucket.
func (c Config) base(bucket string) string {
	switch {
	case c.Endpoint != "":
		return strings.TrimSuffix(c.Endpoint, "/") + "/" + escape(bucket, false)
	case strings.Contains(bucket, "."): // no certificate is for names with more dots
		return "https://s3." + c.Region + ".amazonaws.com/" + bucket
	default:
		return "https://" + bucket + ".s3." + c.Region + ".amazonaws.com"
	}
}

// moved takes note of where a bucket is, if an answer says that it is in another region.
func (s *Store) moved(name string, refused *http.Response) bool {
	bucket, _, err := split(name)
	region := refused.Header.Get("X-Amz-Bucket-Region")
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || region == "" || region == s.config.Region || s.regions[bucket] == region {
		return false
	}
	s.regions[bucket] = region
	return true
}

// page is an answer to ListObjectsV2.
type page struct {
	EncodingType          string
	NextContinuationToken string
	Contents              []struct{ Key, ETag string }
	CommonPrefixes        []struct{ Prefix string }
}

// List implements source.Remote.
func (s *Store) List(ctx context.Context, folder string, each func(url, version string)) error {
	bucket, _, _ := split(folder)
	return s.pages(ctx, folder, "", func(p page) {
		for _, c := range p.Contents {
			version := ""
			if c.ETag != "" {
				version = source.Stamp{ModifiedNs: httpstore.TagNumber(`"` + strings.Trim(c.ETag, `"`) + `"`)}.Version()
			}
			each(Scheme+bucket+"/"+p.text(c.Key), version)
		}
	})
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = s.pages(ctx, folder, "/", func(p page) {
		for _, c := range p.CommonPrefixes {
			prefix := p.text(c.Prefix)
			if name := path.Base(prefix); !strings.HasSuffix(prefix, "//") {
				names = append(names, name)
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
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}
	if delimiter != "" {
		query.Set("delimiter", delimiter)
	}
	for {
		body, _, err := s.Get(ctx, folder, func(ctx context.Context) (*http.Request, error) { return s.signed(ctx, bucket, "", query) })
		if err != nil {
			return err
		}
		var p page
		if err := xml.Unmarshal(body, &p); err != nil {
			return fmt.Errorf("%s: %w: the list of its objects is not readable: %w", folder, source.ErrUnreadable, err)
		}
		each(p)
		if p.NextContinuationToken == "" {
			return nil
		}
		query.Set("continuation-token", p.NextContinuationToken)
	}
}

// text is a name of a list, which may be encoded.
func (p page) text(name string) string {
	if p.EncodingType == "url" {
		if plain, err := url.QueryUnescape(name); err == nil {
			return plain
		}
	}
	return name
}
