// Package azure is the store of Azure Blob Storage: az://container/blob of the account that the settings name. Its bytes are
// read by package http.
//
// Source: https://learn.microsoft.com/rest/api/storageservices, and adlfs for the names.
package azure

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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

const (
	// Scheme is what the names of containers begin with.
	Scheme = "az://"

	// apiVersion of the requests and of what is signed.
	apiVersion = "2021-08-06"
	// A signature is made for so long, and used for half of it. Clocks may differ by early.
	signedFor = 24 * time.Hour
	early     = 15 * time.Minute
)

// Config says where the containers are, and who asks.
type Config struct {
	Account  string `json:"account"`
	Endpoint string `json:"endpoint"` // "https://host" or "https://host/account"; "": the account's
	// Who asks: the account by its key, who was given a shared access signature or an access token, or nobody in particular.
	Key   string `json:"key"`
	SAS   string `json:"sas"`
	Token string `json:"token"`
}

// Store implements source.Remote. To be made by New.
type Store struct {
	*httpstore.Store
	mu     sync.Mutex
	config Config
	signed map[string]signature // by container
}

// signature is a shared access signature of ours, as a query.
type signature struct {
	query string
	until time.Time // it is used
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
func New(config Config) *Store {
	s := &Store{}
	s.Use(config)
	s.Store = httpstore.New(s.request, nil)
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
	if config.Endpoint == "" && config.Account != "" {
		config.Endpoint = "https://" + config.Account + ".blob.core.windows.net"
	}
	config.Endpoint = strings.TrimSuffix(config.Endpoint, "/")
	config.SAS = strings.TrimPrefix(config.SAS, "?")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config != config {
		s.config, s.signed = config, map[string]signature{}
	}
}

var errName = errors.New("want az://container/blob")

func split(name string) (container, blob string, err error) {
	rest, ok := strings.CutPrefix(name, Scheme)
	container, blob, _ = strings.Cut(rest, "/")
	if !ok || container == "" {
		return "", "", errName
	}
	return container, blob, nil
}

func (s *Store) request(ctx context.Context, name string) (*http.Request, error) {
	container, blob, err := split(name)
	if err == nil && blob == "" {
		err = errName
	}
	if err != nil {
		return nil, err
	}
	parts := strings.Split(blob, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return s.get(ctx, container, "/"+strings.Join(parts, "/"), nil)
}

func (s *Store) get(ctx context.Context, container, path string, query url.Values) (*http.Request, error) {
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	if config.Endpoint == "" {
		return nil, errors.New("of which account? Set AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_CONNECTION_STRING")
	}
	if at, err := url.Parse(config.Endpoint); err != nil || at.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is no URL", httpstore.Name(config.Endpoint))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Endpoint+"/"+url.PathEscape(container)+path, nil)
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = query.Encode()
	r.Header.Set("X-Ms-Version", apiVersion)
	switch {
	case config.Key != "":
		return r, s.sign(r, config, container)
	case config.SAS != "":
		add(r, config.SAS)
	case config.Token != "":
		r.Header.Set("Authorization", "Bearer "+config.Token)
	}
	return r, nil
}

func add(r *http.Request, signature string) {
	r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+signature, "&")
}

// sign adds a signature that lets read and list a container, made by the account's key: one serves all requests of hours.
// Source: https://learn.microsoft.com/rest/api/storageservices/create-service-sas.
func (s *Store) sign(r *http.Request, config Config, container string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, now := s.signed[container], time.Now()
	if now.After(known.until) {
		key, err := base64.StdEncoding.DecodeString(config.Key)
		if err != nil {
			return errors.New("the account's key is not base64")
		}
		const permissions, kind = "rl", "c" // read and list; a container
		expiry := now.Add(signedFor).UTC().Format(time.RFC3339)
		begin := now.Add(-early).UTC().Format(time.RFC3339)
		text := strings.Join([]string{
			permissions, begin, expiry, "/blob/" + config.Account + "/" + container,
			"", "", "", apiVersion, kind, "", "", "", "", "", "", "",
		}, "\n")
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		known = signature{url.Values{
			"sp": {permissions}, "st": {begin}, "se": {expiry}, "sv": {apiVersion}, "sr": {kind},
			"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
		}.Encode(), now.Add(signedFor / 2)}
		s.signed[container] = known
	}
	add(r, known.query)
	return nil
}

// byteOrderMark is what answers begin with.
var byteOrderMark = []byte("\ufeff")

// page is an answer to List Blobs.
type page struct {
	Blobs struct {
		Blob       []entry
		BlobPrefix []entry
	}
	NextMarker string
}

type entry struct {
	Name struct {
		Text    string `xml:",chardata"`
		Encoded bool   `xml:",attr"` // what XML cannot say is written as %XX
	}
	Properties struct{ Etag, ResourceType string }
}

func (e entry) name() string {
	if e.Name.Encoded {
		if plain, err := url.PathUnescape(e.Name.Text); err == nil {
			return plain
		}
	}
	return e.Name.Text
}

// List implements source.Remote.
func (s *Store) List(ctx context.Context, folder string, each func(url, version string)) error {
	container, _, _ := split(folder)
	return s.pages(ctx, folder, "", func(p page) {
		for _, blob := range p.Blobs.Blob {
			if blob.Properties.ResourceType == "directory" { // of an account that has such
				continue
			}
			tag := `"` + strings.Trim(blob.Properties.Etag, `"`) + `"`
			each(Scheme+container+"/"+blob.name(), source.Stamp{ModifiedNs: httpstore.TagNumber(tag)}.Version())
		}
	})
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = s.pages(ctx, folder, "/", func(p page) {
		for _, prefix := range p.Blobs.BlobPrefix {
			if name := prefix.name(); !strings.HasSuffix(name, "//") {
				names = append(names, path.Base(name))
			}
		}
	})
	return names, err
}

func (s *Store) pages(ctx context.Context, folder, delimiter string, each func(page)) error {
	container, prefix, err := split(folder)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", folder, source.ErrUnreadable, err)
	}
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}}
	if delimiter != "" {
		query.Set("delimiter", delimiter)
	}
	for {
		body, _, err := s.Get(ctx, folder, func(ctx context.Context) (*http.Request, error) { return s.get(ctx, container, "", query) })
		if err != nil {
			return err
		}
		var p page
		if err := xml.Unmarshal(bytes.TrimPrefix(body, byteOrderMark), &p); err != nil {
			return fmt.Errorf("%s: %w: the list of its blobs is not readable: %w", folder, source.ErrUnreadable, err)
		}
		each(p)
		if p.NextMarker == "" {
			return nil
		}
		query.Set("marker", p.NextMarker)
	}
}
