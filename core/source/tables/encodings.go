package tables

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/goloader/goloader/core/source/codec"
)

// decoder decodes the values of a page.
// Source: parquet-format/Encodings.md.
type decoder struct {
	item       int
	kind       physical
	values     int
	dictionary []byte // items, or texts behind their lengths
	out        []byte // what was decoded is appended to it,
	most       int    // so many bytes
	w          *work
}

// valuesMax bounds the numbers of a page, each of which takes a few bytes for a while.
const valuesMax = 1 << 26

func (d *decoder) decode(encoding int, content []byte) ([]byte, error) {
	if d.values > valuesMax {
		return nil, fmt.Errorf("a page of %d values", d.values)
	}
	if d.kind.width > 0 && d.values*d.item > d.most {
		return nil, codec.TooLong(d.most)
	}
	if d.values == 0 {
		return d.out, nil
	}
	switch {
	case encoding == plainEncoding && d.kind.name == "BOOLEAN":
		if len(content) < (d.values+7)/8 {
			return nil, codec.ErrDamaged
		}
		unpackBools(d.grow(d.values), content)
		return d.out, nil
	case encoding == plainEncoding && d.kind.width > 0:
		return d.plain(content)
	case encoding == plainEncoding:
		return d.plainBytes(content)
	case encoding == plainDictionary || encoding == dictionaryEncoding:
		return d.ofDictionary(content)
	case encoding == runLength && d.kind.name == "BOOLEAN":
		n, err := prefixed(content, runLength)
		if err != nil {
			return nil, err
		}
		numbers, err := d.runs(content[4:4+n], 1)
		if err != nil {
			return nil, err
		}
		into := d.grow(d.values)
		for k, x := range numbers {
			into[k] = byte(x)
		}
		return d.out, nil
	case encoding == deltaBinaryPacked && (d.kind.name == "INT32" || d.kind.name == "INT64"):
		numbers, _, err := d.deltas(content)
		if err != nil {
			return nil, err
		}
		into := d.grow(d.values * d.item)
		for k, x := range numbers {
			for n := range d.item {
				into[k*d.item+n] = byte(x >> (8 * n))
			}
		}
		return d.out, nil
	case encoding == deltaLengthBytes && d.kind.width == 0:
		return d.lengthBytes(content)
	case encoding == deltaBytes && (d.kind.width == 0 || d.kind.name == "FIXED_LEN_BYTE_ARRAY"):
		return d.prefixedBytes(content)
	case encoding == byteStreamSplit && d.kind.width > 0 && d.kind.name != "BOOLEAN":
		if len(content) < d.values*d.kind.width {
			return nil, codec.ErrDamaged
		}
		into := d.grow(d.values * d.item)
		for k := range d.item {
			for i, x := range content[k*d.values:][:d.values] {
				into[i*d.item+k] = x
			}
		}
		return d.out, nil
	}
	return nil, fmt.Errorf("encoding %d of %s, which is not known", encoding, d.kind.name)
}

// grow makes room for so many bytes.
func (d *decoder) grow(n int) []byte {
	at := len(d.out)
	d.out = slices.Grow(d.out, n)[:at+n]
	return d.out[at:]
}

// add appends bytes of a text.
func (d *decoder) add(text []byte) error {
	if len(text) > d.most-len(d.out) {
		return codec.TooLong(d.most)
	}
	d.out = append(d.out, text...)
	return nil
}

// plain takes numbers as they are, or of each the lower bytes: Parquet has no shorter integers than of 32 bits.
func (d *decoder) plain(content []byte) ([]byte, error) {
	width := d.kind.width
	if len(content) < d.values*width {
		return nil, codec.ErrDamaged
	}
	if width == d.item {
		d.out = append(d.out, content[:d.values*width]...)
		return d.out, nil
	}
	into := d.grow(d.values * d.item)
	for k := range d.values {
		copy(into[k*d.item:][:d.item], content[k*width:])
	}
	return d.out, nil
}

// plainBytes takes texts, each behind its length.
func (d *decoder) plainBytes(content []byte) ([]byte, error) {
	for range d.values {
		text, rest, err := cut(content)
		if err != nil {
			return nil, err
		}
		if err := d.add(text); err != nil {
			return nil, err
		}
		content = rest
	}
	return d.out, nil
}

func cut(content []byte) (text, rest []byte, err error) {
	if len(content) < 4 {
		return nil, nil, codec.ErrDamaged
	}
	n := int(binary.LittleEndian.Uint32(content))
	if n > len(content)-4 {
		return nil, nil, codec.ErrDamaged
	}
	return content[4 : 4+n], content[4+n:], nil
}

// ofDictionary looks numbers up in the dictionary, behind a byte that says how many bits each has.
func (d *decoder) ofDictionary(content []byte) ([]byte, error) {
	if len(content) == 0 || content[0] > 32 {
		return nil, codec.ErrDamaged
	}
	numbers, err := d.runs(content[1:], int(content[0]))
	if err != nil {
		return nil, err
	}
	if d.kind.width == 0 {
		return d.textsOfDictionary(numbers)
	}
	count := uint32(len(d.dictionary) / d.item)
	for _, k := range numbers {
		if k >= count {
			return nil, fmt.Errorf("value %d of a dictionary of %d", k, count)
		}
	}
	into := d.grow(d.values * d.item)
	switch d.item {
	case 4:
		for i, k := range numbers {
			binary.LittleEndian.PutUint32(into[4*i:], binary.LittleEndian.Uint32(d.dictionary[4*k:]))
		}
	case 8:
		for i, k := range numbers {
			binary.LittleEndian.PutUint64(into[8*i:], binary.LittleEndian.Uint64(d.dictionary[8*int(k):]))
		}
	default:
		for i, k := range numbers {
			copy(into[i*d.item:][:d.item], d.dictionary[int(k)*d.item:])
		}
	}
	return d.out, nil
}

func (d *decoder) textsOfDictionary(numbers []uint32) ([]byte, error) {
	places := d.w.places[:0]
	for rest := d.dictionary; len(rest) > 0; {
		places = append(places, uint32(len(d.dictionary)-len(rest)))
		var err error
		if _, rest, err = cut(rest); err != nil {
			return nil, err
		}
	}
	d.w.places = places
	for _, k := range numbers {
		if int(k) >= len(places) {
			return nil, fmt.Errorf("value %d of a dictionary of %d", k, len(places))
		}
		text, _, _ := cut(d.dictionary[places[k]:])
		if err := d.add(text); err != nil {
			return nil, err
		}
	}
	return d.out, nil
}

// runs decodes a number for each value.
func (d *decoder) runs(content []byte, width int) ([]uint32, error) {
	numbers := room(&d.w.numbers, d.values)
	return numbers, unpackRuns(numbers, content, width)
}

// unpackRuns fills numbers of runs.
func unpackRuns(numbers []uint32, content []byte, width int) error {
	return walkRuns(len(numbers), content, width, func(value uint32, n int) {
		for k := range n {
			numbers[k] = value
		}
		numbers = numbers[n:]
	}, func(packed []byte, n int) {
		unpack(numbers[:n], packed, width)
		numbers = numbers[n:]
	})
}

// walkRuns goes through runs of so many numbers: of equal ones, and of ones that are packed, eight by eight.
func walkRuns(count int, content []byte, width int, same func(value uint32, n int), packed func(content []byte, n int)) error {
	for count > 0 {
		head, n := binary.Uvarint(content)
		if n <= 0 || head > math.MaxUint32 || head>>1 == 0 {
			return codec.ErrDamaged
		}
		content = content[n:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if bytes > len(content) {
				return codec.ErrDamaged
			}
			var value uint32
			for k, x := range content[:bytes] {
				value |= uint32(x) << (8 * k)
			}
			run := min(int(head>>1), count)
			same(value, run)
			count, content = count-run, content[bytes:]
			continue
		}
		groups := int(head >> 1)
		run := min(groups*8, count)
		if (run*width+7)/8 > len(content) {
			return codec.ErrDamaged
		}
		packed(content, run)
		count, content = count-run, content[min(groups*width, len(content)):]
	}
	return nil
}

// unpack takes numbers of so many bits each, at most 32, the lowest bits of each byte first.
func unpack(numbers []uint32, content []byte, width int) {
	mask := uint64(1)<<width - 1
	for k := range numbers {
		bit := k * width
		numbers[k] = uint32(word(content, bit>>3) >> (bit & 7) & mask)
	}
}

// word is eight bytes from a place on; zeros for those that are not there.
func word(content []byte, at int) uint64 {
	if at+8 <= len(content) {
		return binary.LittleEndian.Uint64(content[at:])
	}
	var last [8]byte
	copy(last[:], content[min(at, len(content)):])
	return binary.LittleEndian.Uint64(last[:])
}

// deltas decodes integers of which each is told by the difference from the one before, a number for each value; they wrap
// round.
func (d *decoder) deltas(content []byte) (numbers []int64, rest []byte, err error) {
	var head [4]uint64
	for k := range head {
		x, n := binary.Uvarint(content)
		if n <= 0 {
			return nil, nil, codec.ErrDamaged
		}
		head[k], content = x, content[n:]
	}
	block, minis, count := head[0], head[1], head[2]
	if count != uint64(d.values) {
		return nil, nil, fmt.Errorf("%d numbers for %d values", count, d.values)
	}
	if minis == 0 || minis > 1<<16 || block == 0 || block > 1<<31 || block%minis != 0 || block/minis%8 != 0 {
		return nil, nil, codec.ErrDamaged
	}
	each := int(block / minis)
	numbers = room(&d.w.long, d.values)
	last := unzigzag(head[3])
	numbers[0] = last
	for at := 1; at < len(numbers); {
		x, n := binary.Uvarint(content)
		if n <= 0 || int(minis) > len(content)-n {
			return nil, nil, codec.ErrDamaged
		}
		least := unzigzag(x)
		widths := content[n : n+int(minis)]
		content = content[n+int(minis):]
		for k := 0; k < len(widths) && at < len(numbers); k++ {
			width := int(widths[k])
			here := min(each, len(numbers)-at)
			if width > 64 || (here*width+7)/8 > len(content) {
				return nil, nil, codec.ErrDamaged
			}
			for i := range here {
				last += least + int64(wide(content, i*width, width))
				numbers[at+i] = last
			}
			at += here
			content = content[min(each/8*width, len(content)):]
		}
	}
	return numbers, content, nil
}

// wide is a number of up to 64 bits.
func wide(content []byte, bit, width int) uint64 {
	x := word(content, bit>>3) >> (bit & 7)
	if bit&7+width > 64 {
		x |= word(content, bit>>3+8) << (64 - bit&7)
	}
	if width == 64 {
		return x
	}
	return x & (1<<width - 1)
}

func unzigzag(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }

// lengthBytes takes texts behind the lengths of all.
func (d *decoder) lengthBytes(content []byte) ([]byte, error) {
	lengths, content, err := d.deltas(content)
	if err != nil {
		return nil, err
	}
	sum := int64(0)
	for _, n := range lengths {
		if n < 0 || n > int64(len(content))-sum {
			return nil, codec.ErrDamaged
		}
		sum += n
	}
	err = d.add(content[:sum])
	return d.out, err
}

// prefixedBytes takes texts of which each goes on where the one before was the same.
func (d *decoder) prefixedBytes(content []byte) ([]byte, error) {
	found, content, err := d.deltas(content)
	if err != nil {
		return nil, err
	}
	same := slices.Clone(found)
	lengths, content, err := d.deltas(content)
	if err != nil {
		return nil, err
	}
	before, after := 0, len(d.out) // of the last text
	for k, n := range lengths {
		if n < 0 || n > int64(len(content)) || same[k] < 0 || same[k] > int64(after-before) {
			return nil, codec.ErrDamaged
		}
		if d.kind.width > 0 && same[k]+n != int64(d.kind.width) {
			return nil, codec.ErrDamaged
		}
		begin := len(d.out)
		if err := d.add(d.out[before : before+int(same[k])]); err != nil {
			return nil, err
		}
		if err := d.add(content[:n]); err != nil {
			return nil, err
		}
		before, after, content = begin, len(d.out), content[n:]
	}
	return d.out, nil
}
