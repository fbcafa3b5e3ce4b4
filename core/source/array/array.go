// Package array reads samples that are rows of arrays in memory: sample i of a field is a row of one of its arrays.
package array

import (
	"fmt"
	"sort"
	"unsafe"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/tensor"
)

// Array is one array in memory: Rows rows, Strides[0] bytes from one to the next; items of a row are Strides[1], ...
// bytes apart, a stride for each dimension. A stride may be 0 or negative. The memory is the caller's and stays alive
// as long as the source.
type Array struct {
	Data    unsafe.Pointer
	Rows    int
	Strides []int
}

// Field is where one field's rows are: in arrays, counted one after the other.
type Field struct {
	Row    tensor.Spec
	Arrays []Array
	Index  []int64 // sample -> row; nil: sample i is row i. Kept, not copied
}

// Source is a set of fields. It implements source.Rows.
type Source struct {
	samples int
	fields  []field
}

var _ source.Rows = (*Source)(nil)

type field struct {
	bytes  int // of a row
	rows   int64
	pieces []piece
	index  []int64
}

// piece is one array, its rows cut into runs of bytes that lie together.
type piece struct {
	data   unsafe.Pointer
	end    int64 // first row behind it
	first  int64
	stride int
	run    int
	dims   []dim // outermost first; none if a row is one run
}

type dim struct{ extent, stride int }

// New makes a source of samples samples.
func New(samples int, fields []Field) (*Source, error) {
	if samples < 0 {
		return nil, fmt.Errorf("array: %d samples", samples)
	}
	s := &Source{samples: samples}
	for k, f := range fields {
		made, err := newField(samples, f)
		if err != nil {
			return nil, fmt.Errorf("array: field %d: %w", k, err)
		}
		s.fields = append(s.fields, made)
	}
	return s, nil
}

func newField(samples int, f Field) (field, error) {
	if err := f.Row.Check(); err != nil {
		return field{}, err
	}
	made := field{bytes: f.Row.Bytes(), index: f.Index}
	for i, a := range f.Arrays {
		if a.Rows < 0 || len(a.Strides) != len(f.Row.Shape)+1 {
			return field{}, fmt.Errorf("array %d has %d rows and %d strides for rows %s", i, a.Rows, len(a.Strides), f.Row.Shape)
		}
		if a.Data == nil && a.Rows > 0 && made.bytes > 0 {
			return field{}, fmt.Errorf("array %d has no memory for %d rows of %d bytes", i, a.Rows, made.bytes)
		}
		p := piece{data: a.Data, first: made.rows, stride: a.Strides[0]}
		p.run, p.dims = runs(f.Row, a.Strides[1:])
		made.rows += int64(a.Rows)
		p.end = made.rows
		made.pieces = append(made.pieces, p)
	}
	switch {
	case f.Index == nil && made.rows != int64(samples):
		return field{}, fmt.Errorf("%d rows for %d samples", made.rows, samples)
	case f.Index != nil && len(f.Index) != samples:
		return field{}, fmt.Errorf("an index of %d rows for %d samples", len(f.Index), samples)
	}
	return made, nil
}

// runs finds the bytes of a row that lie together, and the dimensions around them, joined where one goes on where
// another ends.
func runs(row tensor.Spec, strides []int) (run int, dims []dim) {
	run = row.DType.Size()
	for k := len(strides) - 1; k >= 0; k-- {
		d := dim{row.Shape[k], strides[k]}
		switch {
		case d.extent == 1:
		case len(dims) == 0 && d.stride == run:
			run *= d.extent
		case len(dims) > 0 && d.stride == dims[0].extent*dims[0].stride:
			dims[0].extent *= d.extent
		default:
			dims = append([]dim{d}, dims...)
		}
	}
	return run, dims
}

// Len is the number of samples.
func (s *Source) Len() int { return s.samples }

// Check refuses samples that are not there, and those whose index names no row.
func (s *Source) Check(samples []int64) error {
	for k, i := range samples {
		if i < 0 || i >= int64(s.samples) {
			return fmt.Errorf("index %d at position %d: the source has %d samples: %w", i, k, s.samples, source.ErrRange)
		}
	}
	for n, f := range s.fields {
		if f.index == nil {
			continue
		}
		for k, i := range samples {
			if row := f.index[i]; row < 0 || row >= f.rows {
				return fmt.Errorf("index %d at position %d: field %d has no row %d: %w", i, k, n, row, source.ErrRange)
			}
		}
	}
	return nil
}

// CopyRows gathers rows of one field into dst.
func (s *Source) CopyRows(number int, samples []int64, dst []byte) {
	f := &s.fields[number]
	if f.bytes == 0 || len(samples) == 0 {
		return
	}
	p := &f.pieces[0]
	to := unsafe.Pointer(unsafe.SliceData(dst[:len(samples)*f.bytes]))
	for k, row := range samples {
		if f.index != nil {
			row = f.index[row]
		}
		if row < p.first || row >= p.end {
			p = f.piece(row)
		}
		p.copyRow(unsafe.Add(to, k*f.bytes), int(row-p.first))
	}
}

// piece finds the array that holds a row.
func (f *field) piece(row int64) *piece {
	return &f.pieces[sort.Search(len(f.pieces), func(i int) bool { return row < f.pieces[i].end })]
}

func (p *piece) copyRow(dst unsafe.Pointer, row int) {
	src := unsafe.Add(p.data, row*p.stride)
	if len(p.dims) == 0 {
		copyRun(dst, src, p.run)
		return
	}
	p.copyDims(dst, src, p.dims)
}

// copyDims writes the items of some dimensions one after the other and returns their bytes. Places are reckoned from
// the first item on: one step behind the last item, or before the first, may be outside the memory.
func (p *piece) copyDims(dst, src unsafe.Pointer, dims []dim) int {
	d := dims[0]
	if len(dims) > 1 {
		bytes := 0
		for i := range d.extent {
			bytes += p.copyDims(unsafe.Add(dst, bytes), unsafe.Add(src, i*d.stride), dims[1:])
		}
		return bytes
	}
	switch p.run {
	case 1:
		copyItems[uint8](dst, src, d)
	case 2:
		copyItems[uint16](dst, src, d)
	case 4:
		copyItems[uint32](dst, src, d)
	case 8:
		copyItems[uint64](dst, src, d)
	default:
		for i := range d.extent {
			copyRun(unsafe.Add(dst, i*p.run), unsafe.Add(src, i*d.stride), p.run)
		}
	}
	return d.extent * p.run
}

// copyItems moves items that stand alone. They need not be aligned.
func copyItems[T uint8 | uint16 | uint32 | uint64](dst, src unsafe.Pointer, d dim) {
	var item T
	for i := range d.extent {
		*(*T)(unsafe.Add(dst, i*int(unsafe.Sizeof(item)))) = *(*T)(unsafe.Add(src, i*d.stride))
	}
}

func copyRun(dst, src unsafe.Pointer, n int) {
	if n == 8 { // labels, and one call less for each
		*(*uint64)(dst) = *(*uint64)(src)
		return
	}
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}
