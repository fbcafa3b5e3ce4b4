// Package http is the store of what servers give by HTTP: a container is a URL, and its bytes are asked for whole or by
// ranges.
//
// A body that is cut is asked for again from the byte at which it was cut, on the condition that it is still the same
// version (If-Range with its ETag). A container that is read by pieces is named with its version, which is demanded of each
// (If-Match): an archive that is replaced gives an error, never the bytes of two.
package http

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

const (
	// connections to one server, as many as a run has readers at most (core/pipeline/reading.go).
	connectionsMax = 256
	idleFor        = 30 * time.Second
	// Stall is how long a server may take for the next byte, unless it is told otherwise.
	Stall = 10 * time.Second
	// resumes of one body, each of which brought bytes; then it is asked for anew.
	resumesMax = 8
	// fileMax bounds one sample, as local.Store's does.
	fileMax = 1 << 30
	// chunk is what is read at a time of a body whose length nobody knows.
	chunk = 256 << 10
)

// Store reads by GET. It implements source.Remote but for lists. To be made by New.
type Store struct {
	transport *http.Transport
	client    http.Client
	stall     atomic.Int64
	pace      pace // of answers' heads; second requests are counted here
	bodies    pace // of the next bytes of a body
	// Request makes the request for a container, to which a range and conditions are added.
	request func(ctx context.Context, name string) (*http.Request, error)
	// moved says that the same request is to be made again, since what stood in its way is known now.
	moved func(name string, refused *http.Response) bool
	// Answered, if there is one, is shown the head of each answer, and may put another ETag into it. Versions are compared with
	// answers' alone then, never demanded: who is asked may know them by other names.
	Answered func(name string, answer *http.Response)
}

var _ source.Remote = (*Store)(nil)

// New gives a store.
//
//	request  makes the request for a container's bytes; nil: its name is the URL
//	moved    whether a request that was refused is to be made again, by what the answer says; may be nil
func New(request func(ctx context.Context, name string) (*http.Request, error), moved func(name string, refused *http.Response) bool) *Store {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 0, connectionsMax, connectionsMax
	transport.IdleConnTimeout = idleFor
	// Bytes come as they are stored, and each reader has a connection of its own: streams of one would share its bandwidth.
	transport.DisableCompression = true
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	s := &Store{transport: transport, client: http.Client{Transport: transport}, request: request, moved: moved}
	if request == nil {
		s.request = func(ctx context.Context, name string) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
		}
	}
	s.SetStall(Stall)
	return s
}

// Configure takes no settings.
func (s *Store) Configure(read func(config any) error) (use func(), err error) {
	return func() {}, read(&struct{}{})
}

// SetStall says how long a server may take for the next byte.
func (s *Store) SetStall(longest time.Duration) { s.stall.Store(int64(longest)) }

// SetHedging says whether a second request is sent where an answer is slow, as it is unless this says otherwise.
func (s *Store) SetHedging(on bool) {
	s.pace.off.Store(!on)
	s.bodies.off.Store(!on)
}

// CloseIdle closes the connections that nobody uses.
func (s *Store) CloseIdle() { s.transport.CloseIdleConnections() }

// Get gives the body of a request, whole, that request makes, and the head of its answer; for what is no container.
func (s *Store) Get(ctx context.Context, name string, request func(context.Context) (*http.Request, error)) (body []byte, header http.Header, err error) {
	get := func() error { return s.get(ctx, name, request, &body, &header) }
	err = source.Again(ctx, source.RemotePauses, get(), get)
	return body, header, err
}

func (s *Store) get(ctx context.Context, name string, request func(context.Context) (*http.Request, error), body *[]byte, header *http.Header) error {
	a, err := s.ask(ctx, name, request, 0, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	if a.StatusCode != http.StatusOK {
		return a.refusal()
	}
	*header = a.Header
	if *body, err = io.ReadAll(a); err != nil {
		return s.broken(ctx, name, 0, err)
	}
	return nil
}

// Read implements source.Store: of a whole container, or of a range of a version.
func (s *Store) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	name, version := source.CutVersion(string(key.Container[:max(0, len(key.Container)-1)]))
	if key.Length != source.Whole {
		room, err := buf.Room(int(key.Length))
		if err != nil {
			return source.Stamp{}, err
		}
		stamp, err := s.piece(ctx, name, version, source.Piece{At: key.Offset, Into: room})
		if err == nil {
			buf.Add(len(room))
		}
		return stamp, err
	}
	begin := buf.Len()
	stamp, err := s.whole(ctx, name, buf)
	if err != nil {
		buf.Cut(begin)
	}
	return stamp, err
}

// whole reads a container from its first byte to its last.
func (s *Store) whole(ctx context.Context, name string, buf *source.Buffer) (stamp source.Stamp, err error) {
	begin, version, total := buf.Len(), "", int64(-1)
	hurried := false
	for tries := 0; ; tries++ {
		had := buf.Len() - begin
		a, err := s.ask(ctx, name, nil, int64(had), func(h http.Header) {
			if had > 0 {
				h.Set("Range", fmt.Sprintf("bytes=%d-", had))
				if s.Answered == nil {
					h.Set("If-Range", version)
				}
			}
		})
		if err != nil {
			return stamp, err
		}
		switch {
		case a.StatusCode == http.StatusOK: // the whole: the first time, or of another version, or since there are no ranges
			buf.Cut(begin)
			version, total, stamp = validator(a.Header), a.ContentLength, stampOf(a.Header, a.ContentLength)
		case a.StatusCode == http.StatusPartialContent && had > 0 && validator(a.Header) != version: // the server overlooks If-Range
			a.Close()
			return stamp, s.broken(ctx, name, int64(had), errors.New("it was replaced as it was read"))
		case a.StatusCode == http.StatusPartialContent && had > 0 && a.covers(int64(had), total):
		default:
			defer a.Close()
			return stamp, a.refusal()
		}
		if !hurried && total >= 0 && version != "" {
			s.hurry(a)
		}
		err = a.append(buf, begin, total)
		a.Close()
		if s.came(a, err) {
			hurried = true
			continue
		}
		got := buf.Len() - begin
		switch {
		case max(total, int64(got)) > fileMax:
			return stamp, fmt.Errorf("%s: %w: it has more than %d bytes", Name(name), source.ErrUnreadable, int64(fileMax))
		case errors.Is(err, mem.ErrNoMemory):
			return stamp, fmt.Errorf("%s: %w", Name(name), err)
		case err == nil && (total < 0 || int64(got) == total):
			stamp.Bytes = int64(got)
			return stamp, nil
		case err == nil:
			err = io.ErrUnexpectedEOF
		}
		if total < 0 || version == "" || got <= had || tries == resumesMax || ctx.Err() != nil {
			return stamp, s.broken(ctx, name, int64(got), err)
		}
		stats.RemoteOf(ctx).Retries.Add(1)
	}
}

// append reads a body up to its end, or more than fileMax of it.
func (a *answer) append(buf *source.Buffer, begin int, total int64) error {
	for total <= fileMax && buf.Len()-begin <= fileMax {
		want := chunk
		if total >= 0 {
			want = int(total) - (buf.Len() - begin)
		}
		room, err := buf.Room(want)
		if err != nil || want == 0 {
			return err
		}
		n, err := a.Read(room)
		buf.Add(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Stat implements source.Remote.
func (s *Store) Stat(ctx context.Context, name string) (source.Stamp, error) {
	var stamp source.Stamp
	c, err := source.Retry(s, source.RemotePauses...).Open(ctx, name)
	if err == nil {
		stamp = source.StampOf(c)
		c.Close()
	}
	return stamp, err
}

// List implements source.Remote: HTTP has no lists.
func (s *Store) List(_ context.Context, folder string, _ func(url, version string)) error {
	return fmt.Errorf("%s: %w: a web server has no list of its files", Name(folder), source.ErrUnreadable)
}

// Folders implements source.Remote.
func (s *Store) Folders(ctx context.Context, folder string) ([]string, error) {
	return nil, s.List(ctx, folder, nil)
}

// Open implements source.Store.
func (s *Store) Open(ctx context.Context, name string) (source.Container, error) {
	a, err := s.ask(ctx, name, nil, 0, func(h http.Header) { h.Set("Range", "bytes=0-0") })
	if err != nil {
		return nil, err
	}
	defer a.Close()
	c := &container{store: s, name: name}
	switch a.StatusCode {
	case http.StatusOK: // a server without ranges, whose containers can be had whole only
		c.stamp = stampOf(a.Header, a.ContentLength)
	case http.StatusRequestedRangeNotSatisfiable: // there is no first byte
		c.stamp = stampOf(a.Header, 0)
	case http.StatusPartialContent:
		_, total, ok := contentRange(a.Header)
		if !ok {
			return nil, a.refusal()
		}
		c.stamp = stampOf(a.Header, total)
	default:
		return nil, a.refusal()
	}
	c.version = versionOf(a.Header, c.stamp.Bytes)
	return c, nil
}

// container is one that is read by pieces.
type container struct {
	store         *Store
	name, version string
	stamp         source.Stamp
}

func (c *container) Name() string        { return Name(c.name) }
func (c *container) Bytes() int64        { return c.stamp.Bytes }
func (c *container) Stamp() source.Stamp { return c.stamp }
func (c *container) Version() string     { return c.version }
func (c *container) Waits() bool         { return false }
func (c *container) Expect(int64, int)   {}
func (c *container) Close()              {}

// Read implements source.Container.
func (c *container) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		if _, err := c.store.piece(ctx, c.name, c.version, p); err != nil {
			return err
		}
	}
	return nil
}

// piece reads a range of one version.
func (s *Store) piece(ctx context.Context, name, version string, p source.Piece) (source.Stamp, error) {
	hurried := false
	for got, tries := 0, 0; ; tries++ {
		n, stamp, err := s.part(ctx, name, version, p.At+int64(got), p.Into[got:], !hurried)
		got += n
		if errors.Is(err, errSlow) {
			hurried = true
			continue
		}
		if err == nil || n == 0 || tries == resumesMax || ctx.Err() != nil {
			return stamp, err
		}
		stats.RemoteOf(ctx).Retries.Add(1)
	}
}

// part reads of a range as much as comes; some bytes and an error if it is cut. Who is in a hurry may get errSlow.
func (s *Store) part(ctx context.Context, name, version string, at int64, into []byte, hurry bool) (int, source.Stamp, error) {
	if len(into) == 0 {
		return 0, source.Stamp{}, nil
	}
	a, err := s.ask(ctx, name, nil, at, func(h http.Header) {
		h.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+int64(len(into))-1))
		if strings.HasPrefix(version, `"`) && s.Answered == nil { // a time is compared below: servers have fractions of a second, which it has not
			h.Set("If-Match", version)
		}
	})
	if err != nil {
		return 0, source.Stamp{}, err
	}
	defer a.Close()
	switch {
	case a.StatusCode == http.StatusPreconditionFailed,
		a.StatusCode == http.StatusPartialContent && version != "" && versionOf(a.Header, a.ends()) != version:
		return 0, source.Stamp{}, fmt.Errorf("%s at byte %d: %w: it is not the version that was listed: list it again",
			Name(name), at, source.ErrUnreadable)
	case a.StatusCode == http.StatusOK:
		return 0, source.Stamp{}, fmt.Errorf("%s: %w: the server gives no ranges, and %d bytes from byte %d on were asked for",
			Name(name), source.ErrUnreadable, len(into), at)
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable, a.StatusCode == http.StatusPartialContent && a.ends() < at+int64(len(into)):
		return 0, source.Stamp{}, fmt.Errorf("%s at byte %d: %w: it ends within the %d bytes from there on that were listed",
			Name(name), at, source.ErrUnreadable, len(into))
	case a.StatusCode != http.StatusPartialContent || !a.covers(at, -1):
		return 0, source.Stamp{}, a.refusal()
	}
	if hurry {
		s.hurry(a)
	}
	n, err := io.ReadFull(a, into)
	if s.came(a, err) {
		return n, source.Stamp{}, errSlow
	}
	if err != nil {
		return n, source.Stamp{}, s.broken(ctx, name, at+int64(n), err)
	}
	return n, stampOf(a.Header, a.ends()), nil
}

// Name is a URL for messages: without what may be secret in it.
func Name(name string) string {
	if !strings.Contains(name, "@") && !strings.Contains(name, "?") || !strings.HasPrefix(name, "http") {
		return name
	}
	parsed, err := url.Parse(name)
	if err != nil {
		return "a URL that is none"
	}
	parsed.User, parsed.RawQuery = nil, ""
	return parsed.String()
}

// validator tells a version from others: a strong ETag, else a time; "" if there is neither.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return h.Get("Last-Modified")
}

// versionOf is the same for pieces, of which each is compared: two times within a second are one.
func versionOf(h http.Header, bytes int64) string {
	version := validator(h)
	if version == "" || strings.HasPrefix(version, `"`) {
		return version
	}
	return fmt.Sprintf("%s, %d bytes", version, bytes)
}

func stampOf(h http.Header, bytes int64) source.Stamp {
	stamp := source.Stamp{Bytes: bytes}
	if tag := h.Get("ETag"); tag != "" {
		stamp.ModifiedNs = TagNumber(tag)
	} else if modified, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		stamp.ModifiedNs = modified.UnixNano()
	}
	return stamp
}

// TagNumber is the Stamp.ModifiedNs of an ETag.
func TagNumber(tag string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(tag))
	return int64(hash.Sum64() >> 1)
}

// contentRange reads "bytes 3-7/9": where an answer begins (0 of "bytes */9"), and how many bytes there are.
func contentRange(h http.Header) (at, total int64, ok bool) {
	text, ok := strings.CutPrefix(h.Get("Content-Range"), "bytes ")
	span, all, found := strings.Cut(text, "/")
	if !ok || !found {
		return 0, 0, false
	}
	total, err := strconv.ParseInt(all, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	first, _, _ := strings.Cut(span, "-")
	if first != "*" {
		if at, err = strconv.ParseInt(first, 10, 64); err != nil {
			return 0, 0, false
		}
	}
	return at, total, true
}
