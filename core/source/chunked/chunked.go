// Package chunked gives the bytes of an array that lies in chunks, of a file or a file each, compressed or not, as if they
// lay in a file one after the other: what reads arrays in files then reads HDF5 and Zarr.
package chunked

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/decoded"
)

// Place is where a chunk is.
type Place struct {
	Offset  int64
	Length  int64 // source.Whole: to the end of its file; 0: it was never written
	Skipped int64 // a bit for each filter that was not applied to it, the first filter's lowest
}

// Array is an array in chunks. All chunks have the same extents; those at the array's end are filled up.
type Array struct {
	Shape, Chunk []int   // items along each dimension
	Item         int     // bytes of one
	Fill         []byte  // an item of chunks that were never written
	Filters      string  // as they were applied when chunks were written: "shuffle:4 zlib"
	Places       []Place // of each chunk, those along the last dimension one after the other. Kept, not copied
	Shard        []int   // chunks along each dimension that lie in one file; nil: one
	// The file that all chunks are in, closed with the array; or nil: they lie in files of the store, whose names are Path and
	// the numbers of the chunk, or of the shard, along each dimension with Separator between them.
	File            source.Container
	Store           source.Store
	Path, Separator string
}

// chunked implements source.Container.
type chunked struct {
	Array
	cache   *decoded.Cache
	filters []filter
	grid    []int // chunks along each dimension
	across  int   // chunks that a row of the array lies in
	row     int   // bytes of one
	rowHere int   // bytes of what of a row is in one chunk
	same    int   // from this dimension on, a chunk goes as far as the array
	size    int   // bytes of a chunk
}

// sizeMax bounds the bytes of an array and of a chunk, far below where sums of them would wrap round.
const sizeMax = math.MaxInt64 / 64

// New opens an array, whose decoded chunks are kept in a cache.
func New(a Array, cache *decoded.Cache) (source.Container, error) {
	c := &chunked{Array: a, cache: cache}
	if len(a.Shape) == 0 || len(a.Shape) != len(a.Chunk) || a.Item <= 0 || len(a.Fill) != a.Item {
		return nil, fmt.Errorf("%s: chunks %v of an array %v, items of %d bytes, filled with %d", c.Name(), a.Chunk, a.Shape, a.Item, len(a.Fill))
	}
	chunks, bytes := 1, a.Item
	c.size = a.Item
	for k, extent := range a.Shape {
		if extent < 0 || a.Chunk[k] <= 0 || a.Chunk[k] > sizeMax/c.size || bytes > 0 && extent > sizeMax/bytes {
			return nil, fmt.Errorf("%s: chunks %v of an array %v", c.Name(), a.Chunk, a.Shape)
		}
		c.grid = append(c.grid, (extent+a.Chunk[k]-1)/a.Chunk[k])
		c.size, bytes, chunks = c.size*a.Chunk[k], bytes*extent, chunks*c.grid[k]
	}
	if a.Shard != nil && (len(a.Shard) != len(a.Shape) || slices.Min(a.Shard) < 1) {
		return nil, fmt.Errorf("%s: shards of %v chunks of an array %v", c.Name(), a.Shard, a.Shape)
	}
	if chunks != len(a.Places) {
		return nil, fmt.Errorf("%s: %d chunks of an array of %d", c.Name(), len(a.Places), chunks)
	}
	if chunks > 0 {
		c.row, c.across = bytes/a.Shape[0], chunks/c.grid[0]
	}
	c.rowHere = c.size / a.Chunk[0]
	for c.same = len(a.Shape); c.same > 0 && a.Chunk[c.same-1] == a.Shape[c.same-1]; {
		c.same--
	}
	var err error
	if c.filters, err = parse(a.Filters); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return c, nil
}

// Name implements source.Container.
func (c *chunked) Name() string {
	if c.File != nil {
		return c.File.Name()
	}
	return c.Path
}

// Bytes implements source.Container.
func (c *chunked) Bytes() int64 { return int64(c.row) * int64(c.Shape[0]) }

// Waits implements source.Container.
func (c *chunked) Waits() bool { return c.File != nil && c.File.Waits() }

// Expect implements source.Container.
func (c *chunked) Expect(at int64, bytes int) {
	if c.File == nil || bytes == 0 {
		return
	}
	rows := c.row * c.Chunk[0] // bytes of the array that a row of chunks holds
	for k := int(at) / rows * c.across; k < min(len(c.Places), (int(at)+bytes-1)/rows*c.across+c.across); k++ {
		c.File.Expect(c.Places[k].Offset, int(c.Places[k].Length))
	}
}

// Close implements source.Container.
func (c *chunked) Close() {
	c.cache.Drop(c)
	if c.File != nil {
		c.File.Close()
	}
}

// part is rows of the array that one row of chunks holds, and where they go.
type part struct {
	chunks int // the row of chunks
	first  int // row in it
	into   []byte
}

// Read implements source.Container. A chunk is decoded once for all pieces.
func (c *chunked) Read(ctx context.Context, pieces ...source.Piece) error {
	parts := make([]part, 0, len(pieces))
	for _, p := range pieces {
		if p.At < 0 || p.At > c.Bytes()-int64(len(p.Into)) {
			return fmt.Errorf("%s: %w: %d bytes at byte %d wanted, but the array has %d",
				c.Name(), source.ErrUnreadable, len(p.Into), p.At, c.Bytes())
		}
		if len(p.Into) == 0 {
			continue
		}
		first, end := int(p.At)/c.row, (int(p.At)+len(p.Into)+c.row-1)/c.row
		if (end-first)*c.row != len(p.Into) { // parts of rows
			rows := make([]byte, (end-first)*c.row)
			if err := c.Read(ctx, source.Piece{At: int64(first * c.row), Into: rows}); err != nil {
				return err
			}
			copy(p.Into, rows[int(p.At)-first*c.row:])
			continue
		}
		for into := p.Into; first < end; {
			n := min(end-first, c.Chunk[0]-first%c.Chunk[0])
			parts = append(parts, part{first / c.Chunk[0], first % c.Chunk[0], into[:n*c.row]})
			first, into = first+n, into[n*c.row:]
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.chunks, b.chunks) })
	for n := 0; len(parts) > 0; parts = parts[n:] {
		n = 1
		for n < len(parts) && parts[n].chunks == parts[0].chunks {
			n++
		}
		for k := range c.across {
			if err := c.readChunk(ctx, parts[0].chunks*c.across+k, parts[:n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// readChunk copies what is in one chunk into parts.
func (c *chunked) readChunk(ctx context.Context, number int, parts []part) error {
	if p := c.Places[number]; c.same <= 1 && c.File != nil && len(c.filters) == 0 && p.Length == int64(c.size) {
		// Rows lie in the file as they are.
		for _, each := range parts {
			if err := c.File.Read(ctx, source.Piece{At: p.Offset + int64(each.first*c.row), Into: each.into}); err != nil {
				return fmt.Errorf("chunk %v: %w", c.at(number), err)
			}
		}
		return nil
	}
	kept, err := c.cache.Get(ctx, decoded.Key{Owner: c, Number: number}, c.size, func(dst []byte) error { return c.decode(ctx, number, dst) })
	if err != nil {
		return err
	}
	defer c.cache.Release(kept)
	at := c.at(number)
	for _, each := range parts {
		if c.same <= 1 {
			copy(each.into, kept.Bytes[each.first*c.row:])
			continue
		}
		for r := range len(each.into) / c.row {
			c.copyPart(each.into[r*c.row:][:c.row], kept.Bytes[(each.first+r)*c.rowHere:][:c.rowHere], at, 1)
		}
	}
	return nil
}

// copyPart copies what a chunk holds of some rows of dimension `axis`, `dst` as it lies in the array, `src` in the chunk.
func (c *chunked) copyPart(dst, src []byte, at []int, axis int) {
	if axis == len(c.Shape) {
		copy(dst, src)
		return
	}
	begin := at[axis] * c.Chunk[axis]
	n := min(c.Chunk[axis], c.Shape[axis]-begin)
	wide, narrow := len(dst)/c.Shape[axis], len(src)/c.Chunk[axis]
	if axis+1 >= c.same {
		copy(dst[begin*wide:], src[:n*narrow])
		return
	}
	for i := range n {
		c.copyPart(dst[(begin+i)*wide:][:wide], src[i*narrow:][:narrow], at, axis+1)
	}
}

// at is the numbers of a chunk along each dimension.
func (c *chunked) at(number int) []int {
	at := make([]int, len(c.grid))
	for k := len(at) - 1; k >= 0; k-- {
		at[k], number = number%c.grid[k], number/c.grid[k]
	}
	return at
}

// decode reads a chunk and undoes its filters.
func (c *chunked) decode(ctx context.Context, number int, dst []byte) error {
	place := c.Places[number]
	if place.Length == 0 {
		for n := copy(dst, c.Fill); n > 0 && n < len(dst); n *= 2 {
			copy(dst[n:], dst[:n])
		}
		return nil
	}
	file, name := c.File, c.Name()
	if file == nil {
		var words []string
		for k, n := range c.at(number) {
			if c.Shard != nil {
				n /= c.Shard[k]
			}
			words = append(words, strconv.Itoa(n))
		}
		opened, err := c.Store.Open(ctx, c.Path+strings.Join(words, c.Separator))
		if err != nil {
			return err
		}
		defer opened.Close()
		file, name = opened, opened.Name()
	}
	where := func(err error) error {
		return fmt.Errorf("%s: chunk %v at byte %d: %w: %w", name, c.at(number), place.Offset, source.ErrUnreadable, err)
	}
	if place.Length == source.Whole {
		place.Length = file.Bytes() - place.Offset
	}
	// No filter makes more of a chunk than that, so that memory does not depend on what a file says.
	if most := int64(limit(c.size)); place.Offset < 0 || place.Length < 0 || place.Length > most {
		return where(fmt.Errorf("%d bytes, at most %d are possible", place.Length, most))
	}
	if place.Length > file.Bytes()-place.Offset {
		return where(fmt.Errorf("%d bytes, but the file has %d", place.Length, file.Bytes()))
	}
	w := takeWork()
	defer works.Put(w)
	w.encoded = slices.Grow(w.encoded[:0], int(place.Length))[:place.Length]
	if err := file.Read(ctx, source.Piece{At: place.Offset, Into: w.encoded}); err != nil {
		return fmt.Errorf("chunk %v: %w", c.at(number), err)
	}
	if err := w.undo(c.filters, place.Skipped, dst); err != nil {
		return where(err)
	}
	return nil
}
