package tar

import (
	"context"
	"errors"
	"io"

	"github.com/goloader/goloader/core/source"
)

const (
	// A remote container is read in pieces of so many bytes, of which one is always on its way: a server that takes 50 ms for an
	// answer then gives 160 MB a second.
	piece = 8 << 20
	// So far ahead the kernel is told of what will be read of a file, where it has to be waited for.
	expected = 4 << 20
)

// bytesOf reads a container from its beginning to its end. It implements io.ReadSeeker and io.Closer.
type bytesOf struct {
	ctx    context.Context
	of     source.Container
	at     int64 // the next byte
	remote bool
	told   int64 // of a file: up to where the kernel was told what will be read

	// Of a remote container:
	piece  []byte             // the bytes at hand
	from   int64              // where they begin
	coming chan arrived       // gives the piece behind them; nil if that was not asked for
	cancel context.CancelFunc // gives it up
}

type arrived struct {
	bytes []byte
	from  int64
	err   error
}

func newBytesOf(ctx context.Context, of source.Container, remote bool) *bytesOf {
	return &bytesOf{ctx: ctx, of: of, remote: remote}
}

func (b *bytesOf) Read(p []byte) (int, error) {
	left := b.of.Bytes() - b.at
	if left <= 0 {
		return 0, io.EOF
	}
	if b.remote {
		return b.readPiece(p)
	}
	if b.at+expected > b.told {
		b.told = b.at + 2*expected
		b.of.Expect(b.at, int(min(2*expected, left)))
	}
	p = p[:min(int64(len(p)), left)]
	if err := b.of.Read(b.ctx, source.Piece{At: b.at, Into: p}); err != nil {
		return 0, err
	}
	b.at += int64(len(p))
	return len(p), nil
}

// readPiece reads of the piece in hand, which is fetched while the one before it is used.
func (b *bytesOf) readPiece(p []byte) (int, error) {
	if b.at < b.from || b.at >= b.from+int64(len(b.piece)) {
		got, err := b.take()
		if err != nil {
			return 0, err
		}
		b.piece, b.from = got.bytes, got.from
		if next := b.from + int64(len(b.piece)); next < b.of.Bytes() {
			b.fetch(next)
		}
	}
	n := copy(p, b.piece[b.at-b.from:])
	b.at += int64(n)
	return n, nil
}

// take gives the piece that begins where it stands.
func (b *bytesOf) take() (arrived, error) {
	for {
		if b.coming == nil {
			b.fetch(b.at)
		}
		select {
		case got := <-b.coming:
			b.coming = nil
			if got.err != nil {
				return got, got.err
			}
			if b.at >= got.from && b.at < got.from+int64(len(got.bytes)) {
				return got, nil
			}
		case <-b.ctx.Done():
			return arrived{}, b.ctx.Err()
		}
	}
}

func (b *bytesOf) fetch(from int64) {
	ctx, cancel := context.WithCancel(b.ctx)
	coming := make(chan arrived, 1)
	b.coming, b.cancel = coming, cancel
	bytes := make([]byte, min(piece, b.of.Bytes()-from))
	go func() {
		defer cancel()
		err := b.of.Read(ctx, source.Piece{At: from, Into: bytes})
		coming <- arrived{bytes, from, err}
	}()
}

// Seek implements io.Seeker.
func (b *bytesOf) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent {
		return b.at, errors.New("it is read from its beginning to its end")
	}
	b.at += offset
	return b.at, nil
}

// Close implements io.Closer. What is on its way is given up.
func (b *bytesOf) Close() error {
	if b.coming != nil {
		b.cancel()
		<-b.coming
		b.coming = nil
	}
	b.of.Close()
	return nil
}
