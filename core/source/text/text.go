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
	"strconv"
	"strings"
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

// Head implements arrayfiles.Format. All of a file has to be read to see what it has.
func (f *Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	content, made := source.Scratch(int(file.Bytes())), source.Scratch(0)
	defer source.PutScratch(content)
	err := file.Read(ctx, source.Piece{At: 0, Into: *content})
	var lines, columns int
	if err == nil {
		*made, lines, columns, err = f.parse(*made, *content)
	}
	if err != nil {
		source.PutScratch(made)
		return nil, arrayfiles.Place{}, err
	}
	return fmt.Appendf(room[:0], "%d %d", lines, columns), arrayfiles.Place{Made: made}, nil
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
		for at := f.blanks(line, 0); ; count++ {
			x, n := parseNumber(line[at:])
			if n == 0 {
				return made, 0, 0, fmt.Errorf("line %d: no number in column %d", number, count+1)
			}
			if f.single {
				if made = binary.NativeEndian.AppendUint32(made, math.Float32bits(float32(x))); math.IsInf(float64(float32(x)), 0) {
					return made, 0, 0, fmt.Errorf("line %d: %g in column %d is no float32", number, x, count+1)
				}
			} else {
				made = binary.NativeEndian.AppendUint64(made, math.Float64bits(x))
			}
			end := at + n
			if at = f.blanks(line, end); at == len(line) {
				count++
				break
			}
			switch {
			case f.delimiter == 0 && at > end:
			case f.delimiter != 0 && line[at] == f.delimiter:
				at = f.blanks(line, at+1)
			default:
				return made, 0, 0, fmt.Errorf("line %d: %q behind column %d", number, line[at], count+1)
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

// blanks passes over those beside a number.
func (f *Format) blanks(line []byte, at int) int {
	for at < len(line) && f.delimiter != ' ' && (line[at] == ' ' || (line[at] == '\t' && f.delimiter == 0)) {
		at++
	}
	return at
}

// Powers of ten that a float64 is equal to, and integers up to which it is.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

const exact = 1 << 53

// Digits that fit a uint64, whatever they are, and those of an exponent that is read here.
const digitsMax, exponentMax = 19, 4

// moreDigits reads digits behind others: where they end, and what all of them are together.
func moreDigits(b []byte, k int, number uint64) (int, uint64) {
	for ; k < len(b) && b[k]-'0' <= 9; k++ {
		number = 10*number + uint64(b[k]-'0')
	}
	return k, number
}

// parseNumber reads the decimal number that a text begins with: digits, with or without a sign, a point and an exponent. It is
// rounded to the nearest float64. n are the bytes that it takes: none if there is no number, or one that is too large.
//
// Of two numbers that are equal to themselves as float64s a product or a quotient is rounded once; others take longer.
func parseNumber(b []byte) (x float64, n int) {
	k, digits, shift := 0, 0, 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		k = 1
	}
	begin := k
	k, mantissa := moreDigits(b, k, 0)
	digits = k - begin
	if k < len(b) && b[k] == '.' {
		begin = k + 1
		k, mantissa = moreDigits(b, begin, mantissa)
		digits, shift = digits+k-begin, begin-k
	}
	if digits == 0 {
		return 0, 0
	}
	if k < len(b) && (b[k] == 'e' || b[k] == 'E') {
		sign, exponent := 1, 0
		if k++; k < len(b) && (b[k] == '-' || b[k] == '+') {
			if b[k] == '-' {
				sign = -1
			}
			k++
		}
		begin := k
		for ; k < len(b) && b[k]-'0' <= 9 && k-begin < exponentMax; k++ {
			exponent = 10*exponent + int(b[k]-'0')
		}
		if k == begin {
			return 0, 0
		}
		shift += sign * exponent
	}
	if digits > digitsMax || mantissa > exact || shift < -22 || shift > 22 {
		x, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), k), 64)
		if err != nil {
			return 0, 0
		}
		return x, k
	}
	x = float64(mantissa)
	if shift < 0 {
		x /= powers[-shift]
	} else {
		x *= powers[shift]
	}
	if b[0] == '-' {
		x = -x
	}
	return x, k
}
