package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/goloader/goloader/core/stats"
)

// Retry makes a store try again what failed for a reason that can pass: a server that was busy, a file handle that went
// stale, a connection that broke off. All other errors come at once.
//
//	pauses  before each try, of which up to a half is left out by chance, so that readers which failed together do not
//	        come back together; FilePauses if there are none. A server that names a time (After) is given that, at most
//	        afterMax
func Retry(store Store, pauses ...time.Duration) Store {
	if len(pauses) == 0 {
		pauses = FilePauses
	}
	return &retrying{store, pauses}
}

// FilePauses are Retry's for file systems.
var FilePauses = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond}

// RemotePauses are Retry's for a Remote: 11 s in all at the longest. A store that asks for less traffic (503 Slow Down)
// wants seconds.
var RemotePauses = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
	1600 * time.Millisecond, 3200 * time.Millisecond, 5 * time.Second,
}

// After is an error that says when it is worth trying again.
type After interface{ After() time.Duration }

// afterMax is the longest that a server's word is taken for.
const afterMax = 30 * time.Second

type retrying struct {
	Store
	pauses []time.Duration
}

// Unwrap implements Wrapper.
func (r *retrying) Unwrap() Store { return r.Store }

func (r *retrying) Read(ctx context.Context, key Key, buf *Buffer) (Stamp, error) {
	begin := buf.Len()
	stamp, err := r.Store.Read(ctx, key, buf)
	if err == nil || !passes(err) {
		return stamp, err
	}
	err = Again(ctx, r.pauses, err, func() error {
		buf.Cut(begin)
		stamp, err = r.Store.Read(ctx, key, buf)
		return err
	})
	return stamp, err
}

func (r *retrying) Open(ctx context.Context, name string) (Container, error) {
	c, err := r.Store.Open(ctx, name)
	if err != nil {
		err = Again(ctx, r.pauses, err, func() error {
			c, err = r.Store.Open(ctx, name)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return &patient{c, r.pauses}, nil
}

type patient struct {
	Container
	pauses []time.Duration
}

func (p *patient) Read(ctx context.Context, pieces ...Piece) error {
	err := p.Container.Read(ctx, pieces...)
	if err == nil {
		return nil
	}
	return Again(ctx, p.pauses, err, func() error { return p.Container.Read(ctx, pieces...) })
}

// Again tries once more what has failed with err, after each of the pauses, for as long as that can pass. err may be nil.
func Again(ctx context.Context, pauses []time.Duration, err error, try func() error) error {
	for _, pause := range pauses {
		if err == nil || !passes(err) {
			return err
		}
		stats.RemoteOf(ctx).Retries.Add(1)
		pause -= time.Duration(rand.Int64N(int64(pause)/2 + 1))
		var named After
		if errors.As(err, &named) {
			pause = max(pause, min(named.After(), afterMax))
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
