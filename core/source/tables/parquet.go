package tables

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/codec"
	"github.com/goloader/goloader/core/source/decoded"
)

// parquetEncoding is what column chunks of Parquet are: "CODEC TYPE DEFINITION REPETITION even", in the words of
// parquet.thrift, where the two numbers are the highest levels, and "even" says that each level has a value.
type parquetEncoding struct {
	codec      parquetCodec
	kind       physical
	definition int
	repetition int
	even       bool
}

// parquetCodec undoes what a page was compressed by.
type parquetCodec struct {
	decode func(dst, src []byte) ([]byte, error) // nil if pages are not compressed
	most   int                                   // bytes that one byte may become, about
}

// Snappy copies 64 bytes by 3, LZ4 255 by one, deflate 258 by two bits, Zstandard 128 KiB by four.
var codecs = map[string]parquetCodec{
	"UNCOMPRESSED": {nil, 1},
	"SNAPPY":       {codec.Snappy, 32},
	"GZIP":         {codec.Inflate, 1100},
	"ZSTD":         {codec.Zstd, 1 << 15},
	"LZ4":          {codec.LZ4, 256}, // as pyarrow calls LZ4_RAW
}

// physical is a type of Parquet's; its width is 0 for bytes, of which each value has its own length.
type physical struct {
	name  string
	width int // -1: that of the column's items
}

var physicals = map[string]physical{
	"BOOLEAN": {"BOOLEAN", 1}, "INT32": {"INT32", 4}, "INT64": {"INT64", 8}, "FLOAT": {"FLOAT", 4}, "DOUBLE": {"DOUBLE", 8},
	"BYTE_ARRAY": {"BYTE_ARRAY", 0}, "FIXED_LEN_BYTE_ARRAY": {"FIXED_LEN_BYTE_ARRAY", -1},
}

func parseParquet(words string, item int) (*parquetEncoding, error) {
	given := strings.Fields(words)
	if len(given) < 4 {
		return nil, fmt.Errorf("an encoding %q", words)
	}
	e := &parquetEncoding{even: len(given) == 5 && given[4] == "even"}
	known, ok := codecs[given[0]]
	kind, is := physicals[given[1]]
	definition, err := strconv.Atoi(given[2])
	repetition, err2 := strconv.Atoi(given[3])
	if !ok || !is || err != nil || err2 != nil || definition < 0 || definition > 255 || repetition < 0 || repetition > 255 {
		return nil, fmt.Errorf("an encoding %q", words)
	}
	if kind.width < 0 {
		kind.width = item
	}
	if kind.width > 0 && item > kind.width || kind.width == 0 && item != 1 {
		return nil, fmt.Errorf("items of %d bytes, of %s", item, kind.name)
	}
	e.codec, e.kind, e.definition, e.repetition = known, kind, definition, repetition
	return e, nil
}

// pages are those of a column chunk. They are looked for when the first is needed.
type pages struct {
	mu         sync.Mutex
	found      bool
	dictionary page
	data       []page
	ends       []int64 // of each, in bytes of the part's values
}

// page is a page's header.
// Source: parquet.thrift, PageHeader.
type page struct {
	at       int64 // in the file, of its header
	head     int   // bytes of that
	kind     int
	packed   int // bytes that it takes
	plain    int // bytes that it has if it is not compressed
	checksum int64
	values   int // levels, if there are some
	encoding int
	levels   [2]int // encodings of definition and repetition levels
	bytes    [2]int // of these, in the second version
	second   bool   // the second version's, whose levels are not compressed; and
	stored   bool   // nor are its values
}

const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	secondPage     = 3

	headerMin = 256     // are read at first, and
	headerMax = 1 << 20 // at most. Statistics may hold long texts
	pageMax   = 1 << 30 // bytes of a page
	pageBits  = 24      // of a page's number in the cache's keys
)

// Numbers of encodings.
const (
	plainEncoding      = 0
	plainDictionary    = 2
	runLength          = 3
	deltaBinaryPacked  = 5
	deltaLengthBytes   = 6
	deltaBytes         = 7
	dictionaryEncoding = 8
	byteStreamSplit    = 9
)

// page gives the page that has a byte of a part, and where it begins there.
func (c *column) page(ctx context.Context, part int, at int64) (*decoded.Piece, int64, error) {
	p := &c.pages[part]
	if err := c.find(ctx, part); err != nil {
		return nil, 0, err
	}
	number := sort.Search(len(p.data), func(k int) bool { return p.ends[k] > at })
	begin := int64(0)
	if number > 0 {
		begin = p.ends[number-1]
	}
	piece, err := c.cache.Get(ctx, decoded.Key{Owner: c, Number: part<<pageBits | number + 1}, int(p.ends[number]-begin), func(dst []byte) error {
		w := takeWork()
		defer works.Put(w)
		out, err := c.decodePage(ctx, part, &p.data[number], w, dst[:0], len(dst))
		if err == nil && len(out) != len(dst) {
			err = c.where(part, p.data[number].at, fmt.Errorf("values of %d bytes, not %d", len(out), len(dst)))
		}
		return err
	})
	return piece, begin, err
}

// find looks for the pages of a part, once. Where their headers do not say how many bytes their values have, all are
// decoded.
func (c *column) find(ctx context.Context, part int) error {
	p := &c.pages[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found {
		return nil
	}
	p.dictionary, p.data, p.ends = page{}, nil, nil
	of := c.Parts[part]
	e := c.encodings[of.Encoding].parquet
	w := takeWork()
	defer works.Put(w)
	end := int64(0)
	for at := of.Offset; at < of.Offset+of.Length && end < of.Bytes; {
		head, err := c.header(ctx, part, at)
		if err != nil {
			return err
		}
		at += int64(head.head) + int64(head.packed)
		switch head.kind {
		case dictionaryPage:
			p.dictionary = head
		case dataPage, secondPage:
			bytes := int64(head.values) * int64(c.Item)
			if e.kind.width == 0 || !e.even {
				out, err := c.decodePage(ctx, part, &head, w, w.out[:0], int(of.Bytes-end))
				if err != nil {
					return err
				}
				w.out, bytes = out, int64(len(out))
			}
			if bytes > of.Bytes-end {
				return c.where(part, head.at, fmt.Errorf("values of %d bytes, but there are %d more of its part", bytes, of.Bytes-end))
			}
			if bytes == 0 {
				continue
			}
			end += bytes
			p.data, p.ends = append(p.data, head), append(p.ends, end)
		}
		if len(p.data) >= 1<<pageBits-1 {
			return c.where(part, head.at, errors.New("too many pages"))
		}
	}
	if end != of.Bytes {
		return c.where(part, of.Offset, fmt.Errorf("values of %d bytes in its pages, not %d", end, of.Bytes))
	}
	p.data, p.ends, p.found = slices.Clip(p.data), slices.Clip(p.ends), true
	return nil
}

// header reads the header of a page.
func (c *column) header(ctx context.Context, part int, at int64) (page, error) {
	of := c.Parts[part]
	var kept []byte
	for size := int64(headerMin); ; size *= 4 {
		left := of.Offset + of.Length - at
		content, err := c.readAll(ctx, part, at, min(size, left), &kept)
		if err != nil {
			return page{}, err
		}
		t := thrift{bytes: content}
		head := parseHeader(&t)
		head.at, head.head = at, t.at
		switch {
		case t.short && !t.bad && size < min(left, headerMax):
			continue
		case t.failed():
			return page{}, c.where(part, at, errors.New("there is no header of a page"))
		case int64(head.packed) > left-int64(head.head):
			return page{}, c.where(part, at, fmt.Errorf("a page of %d bytes, but its part has %d", head.packed, left))
		}
		return head, nil
	}
}

func parseHeader(t *thrift) page {
	p := page{checksum: -1, kind: indexPage}
	// fields reads integers to where they go by their numbers.
	fields := func(of ...*int) {
		t.fields(func(number int, kind byte) {
			switch {
			case number > 0 && number <= len(of) && of[number-1] != nil && isInteger(kind):
				*of[number-1] = t.int()
			case number == 7 && kind <= 2: // whether values are compressed, of the second version
				p.stored = kind != thriftTrue
			default:
				t.skip(kind, 0)
			}
		})
	}
	t.fields(func(number int, kind byte) {
		switch {
		case number > 0 && number <= 3 && isInteger(kind):
			*[]*int{&p.kind, &p.plain, &p.packed}[number-1] = t.int()
		case number == 4 && isInteger(kind):
			x := t.uvarint()
			p.checksum = int64(uint32(int32(x>>1) ^ -int32(x&1)))
		case number == 5 && kind == thriftStruct:
			fields(&p.values, &p.encoding, &p.levels[0], &p.levels[1])
		case number == 7 && kind == thriftStruct:
			fields(&p.values, &p.encoding)
		case number == 8 && kind == thriftStruct:
			p.second, p.levels = true, [2]int{runLength, runLength}
			fields(&p.values, nil, nil, &p.encoding, &p.bytes[0], &p.bytes[1])
		default:
			t.skip(kind, 0)
		}
	})
	return p
}

// body reads a page and undoes its compression. What it gives is kept until the next page is read.
func (c *column) body(ctx context.Context, part int, p *page, w *work) ([]byte, error) {
	e := c.encodings[c.Parts[part].Encoding].parquet
	content, err := c.readAll(ctx, part, p.at+int64(p.head), int64(p.packed), &w.packed)
	if err != nil {
		return nil, err
	}
	if p.checksum >= 0 && int64(crc32.ChecksumIEEE(content)) != p.checksum {
		return nil, c.where(part, p.at, fmt.Errorf("%w: its checksum is another", codec.ErrDamaged))
	}
	if e.codec.decode == nil || p.second && p.stored {
		return content, nil
	}
	levels := 0
	if p.second {
		levels = p.bytes[0] + p.bytes[1]
	}
	if levels > len(content) || p.plain < levels || p.plain > pageMax || p.plain-levels > e.codec.most*(len(content)-levels)+1<<10 {
		return nil, c.where(part, p.at, fmt.Errorf("a page of %d bytes in %d", p.plain, p.packed))
	}
	into := room(&w.plain, p.plain)
	copy(into, content[:levels])
	if p.plain == levels {
		return into, nil
	}
	values, err := e.codec.decode(into[levels:], content[levels:])
	if err == nil && len(values) != p.plain-levels {
		err = fmt.Errorf("%d bytes come out of it, not %d", len(values), p.plain-levels)
	}
	if err != nil {
		return nil, c.where(part, p.at, err)
	}
	return into, nil
}

// decodePage appends the values of a page to memory, at most so many bytes of them.
func (c *column) decodePage(ctx context.Context, part int, p *page, w *work, out []byte, most int) ([]byte, error) {
	e := c.encodings[c.Parts[part].Encoding].parquet
	var dictionary []byte
	if p.encoding == plainDictionary || p.encoding == dictionaryEncoding {
		piece, err := c.dictionary(ctx, part)
		if err != nil {
			return nil, err
		}
		defer c.cache.Release(piece)
		dictionary = piece.Bytes
	}
	content, err := c.body(ctx, part, p, w)
	if err != nil {
		return nil, err
	}
	values, content, err := e.defined(p, content)
	if err == nil && values < p.values && e.even {
		err = fmt.Errorf("%d values are missing (null)", p.values-values)
	}
	if err == nil {
		d := decoder{item: c.Item, kind: e.kind, values: values, dictionary: dictionary, out: out, most: most, w: w}
		out, err = d.decode(p.encoding, content)
	}
	if err != nil {
		return nil, c.where(part, p.at, err)
	}
	return out, nil
}

// dictionary gives the values of a part's dictionary: items, or texts as they are in its page.
func (c *column) dictionary(ctx context.Context, part int) (*decoded.Piece, error) {
	p, e := &c.pages[part].dictionary, c.encodings[c.Parts[part].Encoding].parquet
	if p.kind != dictionaryPage || p.packed == 0 && p.values > 0 {
		return nil, c.where(part, c.Parts[part].Offset, errors.New("values of a dictionary, but there is none"))
	}
	bytes := p.plain
	if e.codec.decode == nil {
		bytes = p.packed
	}
	if e.kind.width > 0 {
		if p.values > bytes/max(1, e.kind.width) {
			return nil, c.where(part, p.at, fmt.Errorf("%d values in a dictionary of %d bytes", p.values, bytes))
		}
		bytes = p.values * c.Item
	}
	if bytes > pageMax || bytes > e.codec.most*p.packed+1<<10 {
		return nil, c.where(part, p.at, fmt.Errorf("a page of %d bytes in %d", bytes, p.packed))
	}
	return c.cache.Get(ctx, decoded.Key{Owner: c, Number: part << pageBits}, bytes, func(dst []byte) error {
		w := takeWork()
		defer works.Put(w)
		content, err := c.body(ctx, part, p, w)
		if err != nil {
			return err
		}
		if e.kind.width == 0 {
			copy(dst, content)
			return nil
		}
		d := decoder{item: c.Item, kind: e.kind, values: p.values, out: dst[:0], most: len(dst), w: w}
		if _, err = d.decode(plainEncoding, content); err != nil {
			return c.where(part, p.at, err)
		}
		return nil
	})
}

// defined is how many values of a page are there, and what is behind its levels.
func (e *parquetEncoding) defined(p *page, content []byte) (int, []byte, error) {
	repetition, definition := 0, 0
	if p.second {
		repetition, definition = p.bytes[1], p.bytes[0]
		if repetition > len(content) || definition > len(content)-repetition {
			return 0, nil, codec.ErrDamaged
		}
		content = content[repetition:]
	} else if e.repetition > 0 {
		var err error
		if repetition, err = prefixed(content, p.levels[1]); err != nil {
			return 0, nil, err
		}
		content = content[4+repetition:]
	}
	if e.definition == 0 {
		return p.values, content[definition:], nil
	}
	if !p.second {
		var err error
		if definition, err = prefixed(content, p.levels[0]); err != nil {
			return 0, nil, err
		}
		content = content[4:]
	}
	found, err := countOf(uint32(e.definition), p.values, content[:definition], bits.Len(uint(e.definition)))
	return found, content[definition:], err
}

// prefixed is how many bytes of levels follow the four that say so.
func prefixed(content []byte, encoding int) (int, error) {
	if encoding != runLength {
		return 0, fmt.Errorf("levels in encoding %d", encoding)
	}
	if len(content) < 4 {
		return 0, codec.ErrDamaged
	}
	n := int(binary.LittleEndian.Uint32(content))
	if n > len(content)-4 {
		return 0, codec.ErrDamaged
	}
	return n, nil
}

// countOf is how many of some levels are the highest.
func countOf(highest uint32, levels int, content []byte, width int) (found int, err error) {
	var room [512]uint32
	err = walkRuns(levels, content, width, func(value uint32, n int) {
		if value == highest {
			found += n
		}
	}, func(packed []byte, n int) {
		for at := 0; at < n; at += len(room) { // a multiple of eight: whole bytes
			part := room[:min(len(room), n-at)]
			unpack(part, packed[at*width/8:], width)
			for _, each := range part {
				if each == highest {
					found++
				}
			}
		}
	})
	return found, err
}

var _ source.Container = (*column)(nil)
