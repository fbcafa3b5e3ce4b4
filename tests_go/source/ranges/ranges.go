// Package ranges is a storage behind HTTP: a container is a path on a server, and its bytes are asked for by ranges.
package ranges

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/goloader/goloader/core/source"
)

// Store is a server.
type Store struct {
	URL    string
	Client *http.Client
}

// Read implements source.Store.
func (s Store) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	return source.ReadOpened(ctx, s, key, buf)
}

// Open implements source.Store.
func (s Store) Open(ctx context.Context, name string) (source.Container, error) {
	answer, err := s.ask(ctx, http.MethodHead, name, "", http.StatusOK)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	return container{s, name, answer.ContentLength}, nil
}

// ask makes a request. That nobody answers, or no longer, can pass; a server's refusal stays.
func (s Store) ask(ctx context.Context, method, name, bytes string, want int) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL+name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, source.ErrUnreadable, err)
	}
	if bytes != "" {
		request.Header.Set("Range", bytes)
	}
	answer, err := s.Client.Do(request)
	if err != nil {
		return nil, passing(ctx, name, err)
	}
	if answer.StatusCode != want {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("%s: %w: %s", name, source.ErrUnreadable, answer.Status)
	}
	return answer, nil
}

func passing(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w: %w", name, source.ErrUnreadable, errors.Join(source.ErrTransient, err))
}

type container struct {
	store Store
	name  string
	bytes int64
}

func (c container) Name() string      { return c.name }
func (c container) Bytes() int64      { return c.bytes }
func (c container) Waits() bool       { return true }
func (c container) Expect(int64, int) {}
func (c container) Close()            {}

// Read implements source.Container.
func (c container) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		end := p.At + int64(len(p.Into)) - 1
		answer, err := c.store.ask(ctx, http.MethodGet, c.name, fmt.Sprintf("bytes=%d-%d", p.At, end), http.StatusPartialContent)
		if err != nil {
			return err
		}
		n, err := io.ReadFull(answer.Body, p.Into)
		_ = answer.Body.Close()
		if err != nil {
			return passing(ctx, fmt.Sprintf("%s at byte %d", c.name, p.At+int64(n)), err)
		}
	}
	return nil
}
