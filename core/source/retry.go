package source

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"
)

// Retry makes a store try again, after 10 and then after 100 ms, what failed for a reason that can pass: a server that was
// busy, a file handle that went stale, a time that ran out. All other errors come at once.
func Retry(store Store) Store { return retrying{store} }

// Retries makes a context count the tries that Retry makes again.
func Retries(ctx context.Context, count *atomic.Int64) context.Context {
	return context.WithValue(ctx, retriesKey{}, count)
}

type retriesKey struct{}

type retrying struct{ store Store }

func (r retrying) Read(ctx context.Context, key Key, buf *Buffer) (Stamp, error) {
	begin := buf.Len()
	stamp, err := r.store.Read(ctx, key, buf)
	if err == nil || !passes(err) {
		return stamp, err
	}
	err = again(ctx, err, func() error {
		buf.used = begin
		stamp, err = r.store.Read(ctx, key, buf)
		return err
	})
	return stamp, err
}

func (r retrying) Open(ctx context.Context, name string) (Container, error) {
	c, err := r.store.Open(ctx, name)
	if err != nil {
		err = again(ctx, err, func() error {
			c, err = r.store.Open(ctx, name)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return patient{c}, nil
}

type patient struct{ Container }

func (p patient) Read(ctx context.Context, pieces ...Piece) error {
	err := p.Container.Read(ctx, pieces...)
	if err == nil {
		return nil
	}
	return again(ctx, err, func() error { return p.Container.Read(ctx, pieces...) })
}

var pauses = [...]time.Duration{10 * time.Millisecond, 100 * time.Millisecond}

// again tries once more what has failed with err, for as long as that can pass.
func again(ctx context.Context, err error, try func() error) error {
	for _, pause := range pauses {
		if err == nil || !passes(err) {
			return err
		}
		if count, ok := ctx.Value(retriesKey{}).(*atomic.Int64); ok {
			count.Add(1)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = try()
	}
	return err
}

// passes says whether an error may be another's the next time.
func passes(err error) bool {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() { // ETIMEDOUT and EAGAIN, among others
		return !errors.Is(err, context.DeadlineExceeded)
	}
	return errors.Is(err, ErrTransient) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.EINTR)
}
