package tar

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/stream"
)

const (
	// A file of a sample, and all files of one, may have so many bytes; a sample so many files. What says that it has more is
	// refused before room is made for it.
	sampleMax = 1 << 30
	partsMax  = 1 << 12
	// Files of at most so many bytes are read along with their headers.
	small = 16 << 10
	// growth is by how much room is made at first for a file whose archive is not known to be as long.
	growth = 1 << 20
	// windowMax bounds the memory of a zstd stream, as zstd itself does by default.
	windowMax = 128 << 20
)

// Shards are tar archives that are read from their beginning to their end, plain or compressed by gzip or zstd: files of a
// store, or what a shell's command writes ("pipe:cat a.tar"). It implements stream.Source.
type Shards struct {
	Local, Remote source.Store
	IsRemote      func(name string) bool
}

var _ stream.Source = (*Shards)(nil)

// Read implements stream.Source.
func (s *Shards) Read(ctx context.Context, part *stream.Part, buf *source.Buffer) (source.Stamp, error) {
	if part.Key.Container != nil {
		return s.Local.Read(ctx, part.Key, buf)
	}
	room, err := buf.Room(len(part.Data))
	if err == nil {
		buf.Add(copy(room, part.Data))
	}
	return source.Stamp{}, err
}

// Open implements stream.Source.
func (s *Shards) Open(ctx context.Context, name string, at int64) (stream.Reader, error) {
	r := &reader{ctx: ctx, name: name}
	if command, ok := strings.CutPrefix(name, "pipe:"); ok {
		pipe, err := start(ctx, command)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, source.ErrUnreadable, err)
		}
		return r.begin(pipe, at)
	}
	store := s.Local
	if s.IsRemote(name) {
		store = s.Remote
	}
	container, err := store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	in := newBytesOf(ctx, container, s.IsRemote(name))
	if !s.IsRemote(name) {
		r.plain = append([]byte(name), 0)
	}
	return r.begin(in, at)
}

// reader reads an archive. It implements stream.Reader.
type reader struct {
	ctx   context.Context
	name  string
	plain []byte // its name for the store if pieces of it can be read there; else nil
	in    io.Closer
	total int64 // bytes of the archive; -1 if nobody knows
	walk  *Walk
	ahead *Member // of the next sample
	data  []byte  // its bytes, if they were read
	over  error
}

// begin finds out how an archive is compressed, and goes to a place in what it is then.
func (r *reader) begin(in io.ReadCloser, at int64) (stream.Reader, error) {
	r.in, r.total = in, -1
	fail := func(err error) (stream.Reader, error) {
		r.Close()
		return nil, r.wrong(err)
	}
	buffered := bufio.NewReaderSize(in, 4096)
	head, err := buffered.Peek(6)
	if err != nil && err != io.EOF {
		return fail(err)
	}
	compression := compressionOf(head)
	seekable, ok := in.(*bytesOf)
	if compression == "" && ok {
		r.total = seekable.of.Bytes()
		seekable.at = at
		r.walk = NewWalk(seekable, at)
		return r, r.look()
	}
	r.plain = nil
	opened, err := decompress(compression, buffered)
	if err != nil {
		return fail(err)
	}
	r.in = closers{opened, in}
	on := &forward{from: opened}
	if _, err := on.Seek(at, io.SeekCurrent); err != nil {
		return fail(err)
	}
	r.walk = NewWalk(on, at)
	return r, r.look()
}

// look reads the first header, so that what is no archive is no shard.
func (r *reader) look() error {
	if r.ahead, r.over = r.next(); r.over != nil && r.over != io.EOF {
		r.Close()
		return r.over
	}
	return nil
}

func compressionOf(head []byte) string {
	for magic, name := range compressions {
		if bytes.HasPrefix(head, []byte(magic)) {
			return name
		}
	}
	return ""
}

func decompress(compression string, in io.Reader) (io.ReadCloser, error) {
	switch compression {
	case "":
		return io.NopCloser(in), nil
	case "gzip":
		return gzip.NewReader(in)
	case "zstd":
		d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowMax), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	default:
		return nil, fmt.Errorf("%w: it is compressed by %s; gzip and zstd are read", ErrDamaged, compression)
	}
}

// wrong says of an error where it is.
func (r *reader) wrong(err error) error {
	if errors.Is(err, source.ErrUnreadable) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", r.name, source.ErrUnreadable, err)
}

// next gives the next file of a sample, with its bytes if it is small or they cannot be had later.
func (r *reader) next() (*Member, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		m, err := r.walk.Next()
		if err == io.EOF {
			return nil, r.ended()
		}
		if err != nil {
			return nil, r.wrong(err)
		}
		if _, _, ok := Split(m.Name); !ok {
			continue
		}
		if m.Bytes > sampleMax || r.total >= 0 && m.Offset+m.Bytes > r.total {
			return nil, r.wrong(fmt.Errorf("%w: %q at byte %d has %d bytes by its header, of %d in all", ErrDamaged, m.Name, m.Offset, m.Bytes, min(r.total, sampleMax)))
		}
		r.data = nil
		if r.plain == nil || m.Bytes <= small {
			if r.data, err = r.read(m); err != nil {
				return nil, r.wrong(fmt.Errorf("%w: %q at byte %d: %w", ErrDamaged, m.Name, m.Offset, err))
			}
		}
		return &m, nil
	}
}

// ended makes sure that nothing went wrong behind the archive's end: a command that failed, a checksum.
func (r *reader) ended() error {
	if r.total >= 0 {
		return io.EOF
	}
	if _, err := io.Copy(io.Discard, r.walk.archive); err != nil {
		return r.wrong(err)
	}
	return io.EOF
}

// read reads the bytes of a file.
func (r *reader) read(m Member) ([]byte, error) {
	data := make([]byte, 0, min(m.Bytes, growth))
	for {
		if int64(len(data)) == m.Bytes {
			return data, nil
		}
		if len(data) == cap(data) {
			grown := make([]byte, len(data), min(m.Bytes, 2*int64(cap(data))))
			copy(grown, data)
			data = grown
		}
		n, err := r.walk.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF && int64(len(data)) == m.Bytes {
			return data, nil
		}
		if err == io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
}

// Next implements stream.Reader, as webdataset's group_by_keys puts files together.
func (r *reader) Next(ctx context.Context) (s stream.Sample, err error) {
	r.ctx = ctx
	if r.ahead == nil {
		return s, r.over
	}
	size := int64(0)
	for s.Key, _, _ = Split(r.ahead.Name); r.ahead != nil; {
		key, suffix, _ := Split(r.ahead.Name)
		if len(s.Parts) == 0 {
			s.At = r.ahead.Header
		} else if key != s.Key {
			return s, nil
		}
		m := r.ahead
		switch {
		case s.Find([]string{suffix}) != nil:
			r.ahead, r.over = nil, r.wrong(fmt.Errorf("%w: %q at byte %d: duplicate file name in tar file %s", ErrDamaged, m.Name, m.Offset, suffix))
			return s, r.over
		case len(s.Parts) == partsMax || size+m.Bytes > sampleMax:
			r.ahead, r.over = nil, r.wrong(fmt.Errorf("%w: %q at byte %d: sample %q has more than %d files or %d bytes", ErrDamaged, m.Name, m.Offset, s.Key, partsMax, sampleMax))
			return s, r.over
		}
		size += m.Bytes
		part := stream.Part{Suffix: suffix, Data: r.data}
		if r.data == nil {
			part.Key = source.Key{Container: r.plain, Offset: m.Offset, Length: m.Bytes}
		}
		s.Parts = append(s.Parts, part)
		r.ahead, r.over = r.next()
	}
	if r.over != io.EOF {
		return s, r.over
	}
	return s, nil
}

// At implements stream.Reader.
func (r *reader) At() int64 {
	if r.ahead == nil {
		return r.walk.At
	}
	return r.ahead.Header
}

// Close implements stream.Reader.
func (r *reader) Close() { _ = r.in.Close() }

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, each := range c {
		errs = append(errs, each.Close())
	}
	return errors.Join(errs...)
}

// forward counts what is read, and goes on by reading. It implements io.ReadSeeker as far as package archive/tar needs it.
type forward struct {
	from io.Reader
	at   int64
}

func (f *forward) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	f.at += int64(n)
	return n, err
}

func (f *forward) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent || offset < 0 {
		return f.at, errors.New("it is read from its beginning to its end")
	}
	n, err := io.CopyN(io.Discard, f.from, offset)
	f.at += n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return f.at, err
}
