// Package succession is a storage of streams whose samples a function makes up: all that a new one needs.
package succession

import (
	"context"
	"fmt"
	"io"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/stream"
)

// Source gives the samples that a function makes of a shard's name; nil says that there is no such shard. A sample without
// parts is a place where the shard is damaged.
type Source func(shard string) []stream.Sample

var _ stream.Source = Source(nil)

// Open implements stream.Source.
func (s Source) Open(ctx context.Context, shard string, at int64) (stream.Reader, error) {
	samples := s(shard)
	if samples == nil {
		return nil, fmt.Errorf("%s: %w: nobody makes it up", shard, source.ErrUnreadable)
	}
	return &reader{shard, samples, at}, ctx.Err()
}

// Read implements stream.Source.
func (s Source) Read(_ context.Context, part *stream.Part, buf *source.Buffer) (source.Stamp, error) {
	return source.Stamp{}, buf.Append(string(part.Data))
}

type reader struct {
	shard   string
	samples []stream.Sample
	at      int64
}

// Next implements stream.Reader.
func (r *reader) Next(ctx context.Context) (stream.Sample, error) {
	if r.at >= int64(len(r.samples)) {
		return stream.Sample{}, io.EOF
	}
	s := r.samples[r.at]
	if len(s.Parts) == 0 {
		return s, fmt.Errorf("%s: %w: sample %d", r.shard, source.ErrUnreadable, r.at)
	}
	s.At = r.at
	r.at++
	return s, ctx.Err()
}

// At implements stream.Reader.
func (r *reader) At() int64 { return r.at }

// Close implements stream.Reader.
func (r *reader) Close() {}
