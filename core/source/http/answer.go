package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

var (
	errStalled = errors.New("no byte came")
	// errSlow says that the rest of a body is to be asked for anew, since its next byte is long in coming.
	errSlow = errors.New("slower than usual")
)

// answer is a server's, on its way. Reading fails where no byte comes for a while.
type answer struct {
	*http.Response
	name  string
	at    int64 // the byte that was asked for
	stall time.Duration
	alarm *time.Timer
	stop  context.CancelCauseFunc
	leave context.CancelFunc // of the context in which the request was made; may be nil
	ctx   context.Context
	count *stats.Remote
	// When bytes of the body were asked for last (ns since 1970), how long they took at the longest, and after how long rush may
	// end that; nil: nothing does.
	asked            atomic.Int64
	waited, patience time.Duration
	rush             *time.Timer
}

// ask makes a request and waits for the head of its answer, whatever it says.
//
//	request  nil: the container's
//	at       the first byte that is wanted, for messages
//	add      adds to the request's header; may be nil
func (s *Store) ask(ctx context.Context, name string, request func(context.Context) (*http.Request, error), at int64, add func(http.Header)) (*answer, error) {
	container := request == nil
	if container {
		request = func(ctx context.Context) (*http.Request, error) { return s.request(ctx, name) }
	}
	return s.pace.hedged(ctx, func(ctx context.Context) (*answer, error) {
		for again := false; ; again = true {
			a, err := s.send(ctx, name, request, at, add)
			if err != nil {
				return nil, err
			}
			if s.Answered != nil && container {
				s.Answered(name, a.Response)
			}
			if again || s.moved == nil || a.StatusCode < 300 || !s.moved(name, a.Response) {
				return a, nil
			}
			a.Close()
		}
	})
}

// send makes a request, once.
func (s *Store) send(ctx context.Context, name string, request func(context.Context) (*http.Request, error), at int64, add func(http.Header)) (*answer, error) {
	a := &answer{name: name, at: at, stall: time.Duration(s.stall.Load()), count: stats.RemoteOf(ctx)}
	a.ctx, a.stop = context.WithCancelCause(ctx)
	r, err := request(a.ctx)
	if err != nil {
		a.stop(nil)
		return nil, fmt.Errorf("%s: %w: %w", Name(name), source.ErrUnreadable, plain(err))
	}
	if add != nil {
		add(r.Header)
	}
	a.count.Requests.Add(1)
	a.alarm = time.AfterFunc(a.stall, func() { a.stop(errStalled) })
	if a.Response, err = s.client.Do(r); err != nil {
		if cause := context.Cause(a.ctx); cause != nil {
			err = cause
		}
		a.alarm.Stop()
		a.stop(nil)
		return nil, s.broken(ctx, name, at, err)
	}
	return a, nil
}

// Read reads of the body.
func (a *answer) Read(into []byte) (int, error) {
	begin := time.Now()
	a.asked.Store(begin.UnixNano())
	a.alarm.Reset(a.stall)
	if a.rush != nil {
		a.rush.Reset(a.patience)
	}
	n, err := a.Body.Read(into)
	a.waited = max(a.waited, time.Since(begin))
	a.count.Received.Add(int64(n))
	if cause := context.Cause(a.ctx); err != nil && err != io.EOF && cause != nil {
		err = cause
	}
	return n, err
}

// Close ends the request. What is left of a short body is read, so that its connection serves another one.
func (a *answer) Close() {
	if a.rush != nil {
		a.rush.Stop()
	}
	_, _ = io.CopyN(io.Discard, a.Body, 4096)
	_ = a.Body.Close()
	a.alarm.Stop()
	a.stop(nil)
	if a.leave != nil {
		a.leave()
	}
}

// covers says that a part begins where it was asked for, of a container with so many bytes (-1: any).
func (a *answer) covers(at, total int64) bool {
	begin, all, ok := contentRange(a.Header)
	return ok && begin == at && (total < 0 || all == total)
}

// ends is how many bytes the container of a part has.
func (a *answer) ends() int64 {
	_, total, _ := contentRange(a.Header)
	return total
}

// broken is the error for what nobody answered, or not to its end: it can pass, unless the caller has ended it, or who
// answers is not to be trusted.
func (s *Store) broken(ctx context.Context, name string, at int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return fmt.Errorf("%s: %w: %w", Name(name), source.ErrUnreadable, untrusted)
	}
	if errors.Is(err, errStalled) {
		err = fmt.Errorf("%w for %v", err, time.Duration(s.stall.Load()))
	}
	return fmt.Errorf("%s at byte %d: %w: %w: %v", Name(name), at, source.ErrUnreadable, source.ErrTransient, plain(err))
}

// plain is an error without the URL, which may hold a password, and which the message names already.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// refusal is an answer that is not what was asked for. It implements source.After.
type refusal struct {
	text  string
	kinds []error
	after time.Duration
}

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Unwrap() []error      { return r.kinds }
func (r *refusal) After() time.Duration { return r.after }

// passing are the statuses of a server that may do better the next time.
var passing = map[int]bool{
	http.StatusRequestTimeout: true, http.StatusTooManyRequests: true, http.StatusInternalServerError: true,
	http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
}

var kinds = map[int]error{
	http.StatusNotFound: fs.ErrNotExist, http.StatusGone: fs.ErrNotExist,
	http.StatusUnauthorized: fs.ErrPermission, http.StatusForbidden: fs.ErrPermission,
}

// refusal is the error for an answer, with what the server says.
func (a *answer) refusal() error {
	said := a.Status
	body, _ := io.ReadAll(io.LimitReader(a, 16<<10))
	code, message := detail(body)
	for _, more := range []string{code, strings.TrimSuffix(message, ".")} {
		if more != "" {
			said += ": " + more
		}
	}
	r := &refusal{kinds: []error{source.ErrUnreadable}}
	r.text = fmt.Sprintf("%s at byte %d: %v: %s", Name(a.name), a.at, source.ErrUnreadable, said)
	if kind, ok := kinds[a.StatusCode]; ok {
		r.kinds = append(r.kinds, kind)
	}
	if passing[a.StatusCode] || code == "RequestTimeout" {
		r.kinds = append(r.kinds, source.ErrTransient)
		r.after = retryAfter(a.Header.Get("Retry-After"))
	}
	return r
}

// detail is what the body of a refusal says: XML of stores that speak S3 and of Azure, JSON of Google's and of the Hub.
func detail(body []byte) (code, message string) {
	var asXML struct{ Code, Message string }
	if xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &asXML) == nil {
		message, _, _ = strings.Cut(asXML.Message, "\n") // Azure's has the request's number and time behind it
		return asXML.Code, strings.TrimSpace(message)
	}
	var asJSON struct{ Error json.RawMessage }
	var object struct{ Message string }
	if json.Unmarshal(body, &asJSON) == nil && json.Unmarshal(asJSON.Error, &message) != nil && json.Unmarshal(asJSON.Error, &object) == nil {
		message = object.Message
	}
	return "", message
}

// retryAfter reads seconds or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}
