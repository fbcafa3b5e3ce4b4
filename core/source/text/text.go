// Package text is files of numbers in lines, each with as many, as numpy's savetxt writes them and spreadsheets export them.
//
// A file has to have nothing but decimal numbers, in two lines or more. Whatever else libraries take (comments, quotes, blank
// lines, nan, other white space) is for their own code to read, and to refuse.
package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Format implements arrayfiles.Format: an array [lines, columns]. The text of a header is LINES COLUMNS.
type Format struct {
	single    bool // float32; else float64
	skip      int  // lines at the beginning that do not count
	delimiter byte // 0: any number of blanks and tabs
}

// New reads how a format is written: "float32" or "float64", how many lines are passed over, and the delimiter, if it is not
// white space, with a colon between them.
func New(written string) (*Format, error) {
	parts := strings.SplitN(written, ":", 3)
	if len(parts) != 3 || len(parts[2]) > 1 || (parts[0] != "float32" && parts[0] != "float64") {
		return nil, fmt.Errorf("text: %q is no format", written)
	}
	skip, err := strconv.Atoi(parts[1])
	if err != nil || skip < 0 {
		return nil, fmt.Errorf("text: %q is no format", written)
	}
	f := &Format{single: parts[0] == "float32", skip: skip}
	if parts[2] != "" {
		f.delimiter = parts[2][0]
	}
	return f, nil
}

var contents = sync.Pool{New: func() any { return new([]byte) }}

// Head implements arrayfiles.Format. All of a file has to be read to see what it has.
func (f *Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	content, made := contents.Get().(*[]byte), contents.Get().(*[]byte)
	defer contents.Put(content)
	n := int(file.Bytes())
	*content = slices.Grow((*content)[:0], n)[:n]
	err := file.Read(ctx, source.Piece{At: 0, Into: *content})
	var lines, columns int
	if err == nil {
		*made, lines, columns, err = f.parse((*made)[:0], *content)
	}
	if err != nil {
		contents.Put(made)
		return nil, arrayfiles.Place{}, err
	}
	return fmt.Appendf(room[:0], "%d %d", lines, columns), arrayfiles.Place{Made: made}, nil
}

// Read implements arrayfiles.Format.
func (f *Format) Read(_ context.Context, _ source.Container, place arrayfiles.Place, skip int64, into []byte) error {
	defer contents.Put(place.Made)
	copy(into, (*place.Made)[skip:])
	return nil
}

// parse appends the numbers of a file to made.
func (f *Format) parse(made, content []byte) (_ []byte, lines, columns int, err error) {
	for number := 1; len(content) > 0; number++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		line, content = bytes.TrimSuffix(line, []byte{'\r'}), rest
		if number <= f.skip {
			if k := bytes.IndexFunc(line, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }); k >= 0 {
				return made, 0, 0, fmt.Errorf("line %d: byte %d is %q", number, k, line[k])
			}
			continue
		}
		count := 0
		for more := true; more; count++ {
			var field []byte
			if field, line, more = f.field(line); len(field) == 0 {
				return made, 0, 0, fmt.Errorf("line %d: no number in column %d", number, count+1)
			}
			x, ok := parseNumber(field)
			if ok && f.single {
				made = binary.NativeEndian.AppendUint32(made, math.Float32bits(float32(x)))
				ok = !math.IsInf(float64(float32(x)), 0)
			} else if ok {
				made = binary.NativeEndian.AppendUint64(made, math.Float64bits(x))
			}
			if !ok {
				return made, 0, 0, fmt.Errorf("line %d: %.40q is not read here", number, field)
			}
		}
		if lines == 0 {
			columns = count
		}
		if lines++; count != columns {
			return made, 0, 0, fmt.Errorf("line %d: %d numbers in place of %d", number, count, columns)
		}
	}
	if lines < 2 { // of which libraries make arrays of another dimension
		return made, 0, 0, fmt.Errorf("%d lines", lines)
	}
	return made, lines, columns, nil
}

// field cuts the first field off a line. It may be followed by more of them.
func (f *Format) field(line []byte) (field, rest []byte, more bool) {
	if f.delimiter == 0 {
		line = bytes.Trim(line, " \t")
		for k, c := range line {
			if c == ' ' || c == '\t' {
				return line[:k], line[k:], true
			}
		}
		return line, nil, false
	}
	field, rest, more = bytes.Cut(line, []byte{f.delimiter})
	if f.delimiter == ' ' {
		return field, rest, more
	}
	return bytes.Trim(field, " "), rest, more
}

// Powers of ten that a float64 is equal to, and integers up to which it is.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

const exact = 1 << 53

// parseNumber reads a decimal number: digits, with or without a sign, a point and an exponent. It is rounded to the nearest one.
// Of two numbers that are equal to themselves a product or a quotient is, too; the others take longer.
func parseNumber(field []byte) (x float64, ok bool) {
	k, digits, shift := 0, 0, 0
	if k < len(field) && (field[k] == '-' || field[k] == '+') {
		k++
	}
	var mantissa uint64
	point := false
	for ; k < len(field); k++ {
		switch c := field[k]; {
		case c >= '0' && c <= '9':
			if mantissa < exact {
				mantissa = 10*mantissa + uint64(c-'0')
			} else {
				digits = -len(field) // too many to count on
			}
			digits++
			if point {
				shift--
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		case c != 'e' && c != 'E':
			return 0, false
		}
		break
	}
	if digits == 0 {
		return 0, false
	}
	if k < len(field) {
		exponent, sign := field[k+1:], 1
		if len(exponent) > 0 && (exponent[0] == '-' || exponent[0] == '+') {
			if exponent[0] == '-' {
				sign = -1
			}
			exponent = exponent[1:]
		}
		if len(exponent) == 0 || len(exponent) > 4 {
			return 0, false
		}
		e := 0
		for _, c := range exponent {
			if c < '0' || c > '9' {
				return 0, false
			}
			e = 10*e + int(c-'0')
		}
		shift += sign * e
	}
	if digits < 0 || mantissa > exact || shift < -22 || shift > 22 {
		x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(field), len(field)), 64)
		return x, err == nil
	}
	x = float64(mantissa)
	if shift < 0 {
		x /= powers[-shift]
	} else {
		x *= powers[shift]
	}
	if field[0] == '-' {
		x = -x
	}
	return x, true
}
