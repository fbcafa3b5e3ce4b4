// Package tables gives the values of a column of tables in files, Parquet's and Arrow's, as if they lay in one file one
// after the other: what reads arrays in files then reads columns. Of texts and lists it gives what is in them.
//
// Whoever opens a column knows already where its parts are, and how many bytes of values each has; nothing is missing
// (null) in them. Parts that are compressed or encoded are decoded when they are first needed, Parquet's page by page.
package tables

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/codec"
	"github.com/goloader/goloader/core/source/decoded"
)

// Part is values of a column that lie together in a file: a buffer of one of Arrow's record batches, or a column chunk of
// one of Parquet's row groups.
type Part struct {
	File     int64 // number of the file
	Encoding int64 // number of the encoding
	Offset   int64
	Length   int64 // bytes in the file
	Bytes    int64 // of its values
}

// Column is a column of tables.
//
// An encoding is "plain", for values as they are; "bits", for bools of which eight are in a byte; one of these behind
// "lz4" or "zstd", for a buffer that Arrow has compressed; or Parquet's, as parquetEncoding has it.
type Column struct {
	Name      string
	Item      int // bytes of a value; 1 for bytes of texts
	Paths     []string
	Encodings []string
	Parts     []Part // kept, not copied
}

// column implements source.Container.
type column struct {
	Column
	files     *Files
	cache     *decoded.Cache
	encodings []encoding
	begins    []int64 // of each part, in bytes of values; and the end
	pages     []pages // of each part, of Parquet's only
}

// encoding is how parts are encoded.
type encoding struct {
	parquet    *parquetEncoding
	bits       bool
	compressed func(dst, src []byte) ([]byte, error) // nil if they are not
}

// sizeMax bounds sums of sizes far below where they would wrap round.
const sizeMax = math.MaxInt64 / 64

// New opens a column, of which what was decoded is kept in a cache.
func New(of Column, files *Files, cache *decoded.Cache) (source.Container, error) {
	c := &column{Column: of, files: files, cache: cache, begins: make([]int64, 1, len(of.Parts)+1)}
	if of.Item <= 0 || len(of.Paths) == 0 {
		return nil, fmt.Errorf("column %q: values of %d bytes in %d files", of.Name, of.Item, len(of.Paths))
	}
	for _, words := range of.Encodings {
		e, err := parse(words, of.Item)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", of.Name, err)
		}
		c.encodings = append(c.encodings, e)
	}
	for k, p := range of.Parts {
		if p.File < 0 || p.File >= int64(len(of.Paths)) || p.Encoding < 0 || p.Encoding >= int64(len(of.Encodings)) {
			return nil, fmt.Errorf("column %q: part %d of file %d in encoding %d", of.Name, k, p.File, p.Encoding)
		}
		end := c.begins[k] + p.Bytes
		if p.Offset < 0 || p.Length < 0 || p.Bytes < 0 || p.Bytes > sizeMax || p.Offset > sizeMax || p.Length > sizeMax || end > sizeMax {
			return nil, fmt.Errorf("column %q: part %d, %d bytes of values in %d bytes from byte %d on", of.Name, k, p.Bytes, p.Length, p.Offset)
		}
		c.begins = append(c.begins, end)
	}
	c.pages = make([]pages, len(of.Parts))
	files.use()
	return c, nil
}

func parse(words string, item int) (encoding, error) {
	var e encoding
	name, rest, _ := strings.Cut(words, " ")
	switch name {
	case "parquet":
		var err error
		e.parquet, err = parseParquet(rest, item)
		return e, err
	case "lz4":
		e.compressed, words = codec.LZ4Frame, rest
	case "zstd":
		e.compressed, words = codec.Zstd, rest
	}
	if e.bits = words == "bits"; words != "plain" && !(e.bits && item == 1) {
		return e, fmt.Errorf("an encoding %q", words)
	}
	return e, nil
}

// Name implements source.Container.
func (c *column) Name() string { return fmt.Sprintf("%s: column %q", c.Paths[0], c.Column.Name) }

// Bytes implements source.Container.
func (c *column) Bytes() int64 { return c.begins[len(c.Parts)] }

// Waits implements source.Container.
func (c *column) Waits() bool { return c.files.waiting.Load() }

// Expect implements source.Container. What has to be decoded may be there already, which is not looked up here.
func (c *column) Expect(at int64, bytes int) {
	for k := c.part(at); k < len(c.Parts) && bytes > 0; k++ {
		p, skip := c.Parts[k], at-c.begins[k]
		n := int(min(int64(bytes), p.Bytes-skip))
		if e := c.encodings[p.Encoding]; e.parquet == nil && e.compressed == nil && !e.bits {
			c.files.expect(c.Paths[p.File], p.Offset+skip, n)
		}
		at, bytes = at+int64(n), bytes-n
	}
}

// Close implements source.Container.
func (c *column) Close() {
	c.cache.Drop(c)
	c.files.drop()
}

// part is which part a byte is in; the number of parts for one behind them all.
func (c *column) part(at int64) int {
	return sort.Search(len(c.Parts), func(k int) bool { return c.begins[k+1] > at })
}

// held is what was decoded last, from byte begin of the column on.
type held struct {
	piece *decoded.Piece
	begin int64
}

func (h *held) has(at int64) bool {
	return h.piece != nil && at >= h.begin && at < h.begin+int64(len(h.piece.Bytes))
}

// Read implements source.Container. Pieces are read in the column's order, so that each page is decoded once for them.
func (c *column) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		if p.At < 0 || p.At > c.Bytes()-int64(len(p.Into)) {
			return fmt.Errorf("%s: %w: %d bytes at byte %d wanted, but it has %d",
				c.Name(), source.ErrUnreadable, len(p.Into), p.At, c.Bytes())
		}
	}
	if !slices.IsSortedFunc(pieces, byPlace) {
		pieces = slices.Clone(pieces)
		slices.SortFunc(pieces, byPlace)
	}
	var last held
	defer func() {
		if last.piece != nil {
			c.cache.Release(last.piece)
		}
	}()
	for _, p := range pieces {
		for at, into := p.At, p.Into; len(into) > 0; {
			n, err := c.readSome(ctx, &last, at, into)
			if err != nil {
				return err
			}
			at, into = at+int64(n), into[n:]
		}
	}
	return nil
}

func byPlace(a, b source.Piece) int { return cmp.Compare(a.At, b.At) }

// readSome reads what one part, or page, has of the bytes from a place on.
func (c *column) readSome(ctx context.Context, last *held, at int64, into []byte) (int, error) {
	if !last.has(at) {
		k := c.part(at)
		p := c.Parts[k]
		e := c.encodings[p.Encoding]
		if e.parquet == nil && e.compressed == nil && !e.bits {
			skip := at - c.begins[k]
			n := int(min(int64(len(into)), p.Bytes-skip))
			return n, c.files.with(ctx, c.Paths[p.File], func(file source.Container) error {
				if p.Bytes > p.Length || p.Length > file.Bytes()-p.Offset {
					return c.where(k, p.Offset, fmt.Errorf("%d bytes of values in %d, but the file has %d", p.Bytes, p.Length, file.Bytes()))
				}
				return file.Read(ctx, source.Piece{At: p.Offset + skip, Into: into[:n]})
			})
		}
		if last.piece != nil {
			c.cache.Release(last.piece)
			last.piece = nil
		}
		var err error
		if e.parquet != nil {
			last.piece, last.begin, err = c.page(ctx, k, at-c.begins[k])
		} else {
			last.piece, err = c.cache.Get(ctx, decoded.Key{Owner: c, Number: k << pageBits}, int(p.Bytes), func(dst []byte) error {
				return c.decodeBuffer(ctx, k, e, dst)
			})
			last.begin = 0
		}
		if err != nil {
			return 0, err
		}
		last.begin += c.begins[k]
	}
	return copy(into, last.piece.Bytes[at-last.begin:]), nil
}

// where says which part of a column an error is of.
func (c *column) where(part int, at int64, err error) error {
	return fmt.Errorf("%s: column %q at byte %d: %w: %w", c.Paths[c.Parts[part].File], c.Column.Name, at, source.ErrUnreadable, err)
}

// spareMax is how much longer a buffer may be than its values: writers pad them, and some leave them as long as they grew.
func spareMax(bytes int64) int64 { return 16*bytes + 64<<10 }

// decodeBuffer decodes one of Arrow's buffers, which it fills dst with.
// Source: Message.fbs of Arrow's format, BodyCompression.
func (c *column) decodeBuffer(ctx context.Context, part int, e encoding, dst []byte) error {
	p := c.Parts[part]
	w := takeWork()
	defer works.Put(w)
	content, err := c.readAll(ctx, part, p.Offset, p.Length, &w.packed)
	if err != nil {
		return err
	}
	bytes := int64(len(dst))
	if e.bits {
		bytes = (bytes + 7) / 8
	}
	if e.compressed != nil {
		if len(content) < 8 {
			return c.where(part, p.Offset, codec.ErrDamaged)
		}
		size := int64(binary.LittleEndian.Uint64(content))
		content = content[8:]
		if size != -1 { // it was not compressed, as it would have become longer
			if size < bytes || size > spareMax(bytes) {
				return c.where(part, p.Offset, fmt.Errorf("a buffer of %d bytes, for %d of values", size, bytes))
			}
			if content, err = e.compressed(room(&w.plain, int(size)), content); err != nil {
				return c.where(part, p.Offset, err)
			}
		}
	}
	if int64(len(content)) < bytes {
		return c.where(part, p.Offset, fmt.Errorf("%d bytes, where its values have %d", len(content), bytes))
	}
	if e.bits {
		unpackBools(dst, content)
	} else {
		copy(dst, content)
	}
	return nil
}

// readAll reads bytes of a part's file into memory that is kept.
func (c *column) readAll(ctx context.Context, part int, at, bytes int64, kept *[]byte) (content []byte, err error) {
	p := c.Parts[part]
	err = c.files.with(ctx, c.Paths[p.File], func(file source.Container) error {
		if at < p.Offset || bytes < 0 || bytes > p.Offset+p.Length-at || bytes > file.Bytes()-at {
			return c.where(part, at, fmt.Errorf("%d bytes, but its part ends at byte %d, and the file at byte %d", bytes, p.Offset+p.Length, file.Bytes()))
		}
		content = room(kept, int(bytes))
		return file.Read(ctx, source.Piece{At: at, Into: content})
	})
	return content, err
}

// unpackBools makes bytes of bits, the lowest of each byte first.
func unpackBools(dst, bits []byte) {
	for i := range dst {
		dst[i] = bits[i>>3] >> (i & 7) & 1
	}
}

// work is memory for a page on its way.
type work struct {
	packed, plain, out []byte
	numbers            []uint32
	places             []uint32
	long               []int64
}

var works = sync.Pool{New: func() any { return new(work) }}

func takeWork() *work { return works.Get().(*work) }

// room is so many items of memory that is kept.
func room[T any](kept *[]T, n int) []T {
	if cap(*kept) < n {
		*kept = make([]T, n)
	}
	return (*kept)[:n]
}
