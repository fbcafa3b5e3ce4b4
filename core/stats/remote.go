package stats

import (
	"context"
	"sync/atomic"
)

// Remote counts what remote stores were asked for.
type Remote struct {
	Retries  atomic.Int64 // reads that failed for a reason that can pass, and were tried again; of local files too
	Requests atomic.Int64 // all that were sent
	Hedged   atomic.Int64 // of these, second ones, since the first was slow
	Received atomic.Int64 // bytes of answers
}

type remoteKey struct{}

// In gives a context whose reads are counted here.
func (r *Remote) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, remoteKey{}, r)
}

// RemoteOf is what counts a context's reads; never nil.
func RemoteOf(ctx context.Context) *Remote {
	if r, ok := ctx.Value(remoteKey{}).(*Remote); ok {
		return r
	}
	return &Remote{}
}
