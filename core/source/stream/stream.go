// Package stream gives samples one after the other, without an index: those of shards, which are read from their beginning to
// their end. An Order says which shards, and what is shuffled and left out on the way; a Lane goes through it, and can tell at
// any time where it stands, so that another Lane goes on from there.
//
// A new storage of streams implements Source, as tests_go/source/succession does in 60 lines.
package stream

import (
	"context"
	"errors"

	"github.com/goloader/goloader/core/source"
)

// Source is a storage of shards. Its methods may be called from any goroutine.
type Source interface {
	// Open begins to read the samples of a shard, from the one on that begins at a place (Reader.At); 0 is the first. It fails
	// with source.ErrUnreadable.
	Open(ctx context.Context, shard string, at int64) (Reader, error)
	// Read appends the bytes of a part to buf, and says of which version of what holds them they are, if that is known. It
	// fails with source.ErrUnreadable.
	Read(ctx context.Context, part *Part, buf *source.Buffer) (source.Stamp, error)
}

// Reader gives the samples of a shard. One goroutine at a time.
type Reader interface {
	// Next gives the next sample, or io.EOF. Beside another error it gives what there is of a sample, perhaps nothing. It fails
	// with source.ErrUnreadable, naming the shard, the part and its place; after that it has no more.
	Next(ctx context.Context) (Sample, error)
	// At is where the next sample begins, for Open.
	At() int64
	Close()
}

// Sample is what belongs together in a shard.
type Sample struct {
	Key   string
	Shard int   // number of its shard in the order
	At    int64 // where it begins there
	Parts []Part
}

// Part is one of a sample's files.
type Part struct {
	Suffix string
	Data   []byte     // its bytes, if they came with the sample; else nil
	Key    source.Key // where its bytes are, if they did not
}

// Find gives the part with the first of some suffixes that the sample has; nil if it has none.
func (s *Sample) Find(suffixes []string) *Part {
	for _, suffix := range suffixes {
		for i := range s.Parts {
			if s.Parts[i].Suffix == suffix {
				return &s.Parts[i]
			}
		}
	}
	return nil
}

type environment struct{}

// WithEnvironment makes a context tell of the environment of commands.
func WithEnvironment(ctx context.Context, of []string) context.Context {
	return context.WithValue(ctx, environment{}, of)
}

// Environment is what WithEnvironment was given.
func Environment(ctx context.Context) []string {
	of, _ := ctx.Value(environment{}).([]string)
	return of
}

// ErrEmpty says that shards had no samples, where an order wants some.
var ErrEmpty = errors.New("no samples")

// Damage is an error of a shard. What comes after it is of the next shard.
type Damage struct {
	Shard int
	Err   error
}

func (d *Damage) Error() string { return d.Err.Error() }

// Unwrap gives the error itself.
func (d *Damage) Unwrap() error { return d.Err }
