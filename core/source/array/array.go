// Package array reads samples that are rows of arrays, in memory or in files: sample i of a field is a row of one of its
// arrays.
package array

// #include "gather.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/tensor"
)

// Array is one array: Rows rows, Strides[0] bytes from one to the next; items of a row are Strides[1], ... bytes apart, a
// stride for each dimension. A stride may be 0 or negative. Memory is the caller's and stays alive as long as the source,
// so do the lists below.
type Array struct {
	Data    unsafe.Pointer   // of the first item; nil if the array is in File
	File    source.Container // the file that the array is in; nil if it is in memory
	Offset  int64            // of the first item in File
	Rows    int
	Strides []int
	Begins  []int64 // bytes from the first item to each row, where they lie anyhow; nil: Strides[0] says it
	Lengths []int64 // of each row, in items of Field.Row; nil unless the field is ragged
	Bytes   int64   // that there are from Data on, for rows that have Begins
	Counts  bool    // no memory: row i is the number i, int64
	// Ends says that a row goes no further than the array in which it begins: zeros are behind it. nil if none does so.
	Ends Ending
}

// Together says that the items of a field's rows lie one after the other.
func (a *Array) Together(f Field) bool {
	if len(a.Strides) != len(f.Row.Shape)+1 {
		return false
	}
	_, dims := runs(f.stored(), a.Strides[1:])
	return len(dims) == 0
}

// Ending is what arrays lie in, in a file or in memory.
type Ending interface {
	// End is where the array ends in which a byte is.
	End(at int64) int64
}

// EndList are the ends of arrays in memory, in bytes from Array.Data on, which ascend. None of the arrays is in another.
type EndList []int64

// End implements Ending.
func (e EndList) End(at int64) int64 {
	n, _ := slices.BinarySearch(e, at+1)
	return e[n]
}

// Field is where one field's rows are: in arrays, counted one after the other.
type Field struct {
	Row    tensor.Spec  // as it is handed out; of an item of a row if they are ragged
	Stored tensor.DType // of the arrays' items, which are cast; 0 if it is the same
	Ragged bool         // rows differ in length. Their items lie one after the other
	Arrays []Array
	Index  []int64 // sample -> row; nil: sample i is row i. Kept, not copied
}

func (f *Field) stored() tensor.Spec {
	stored := f.Row
	if f.Stored != 0 {
		stored.DType = f.Stored
	}
	return stored
}

// Source is a set of fields. It implements source.Rows.
type Source struct {
	samples int
	fields  []field
	files   []source.Container // each once
}

var _ source.Rows = (*Source)(nil)

type field struct {
	ragged bool
	bytes  int  // of a row as it is stored, of an item of it if they are ragged; so are the next three
	items  int  // numbers in it
	cast   cast // nil if rows are handed out as they are stored
	out    int  // bytes as it is handed out
	rows   int64
	pieces []piece
	index  []int64
}

// piece is one array, its rows cut into runs of bytes that lie together.
type piece struct {
	data   unsafe.Pointer
	file   source.Container
	offset int64
	// From the first item of a row in a file: bytes in front of it, and from it to the row's end.
	before, behind int
	end            int64 // first row behind it
	first          int64
	stride         int
	begins         []int64 // in place of the stride, if not nil
	ends           Ending  // where rows end before they are whole; nil if none do
	lengths        []int64 // ragged only
	counts         bool
	run            int
	dims           []dim // outermost first; none if a row is one run
}

type dim struct{ extent, stride int }

// Named is in place of a number of samples, where rows are asked for by their own numbers.
const Named = math.MinInt

// New makes a source of samples samples, or of Named ones.
func New(samples int, fields []Field) (*Source, error) {
	if samples < 0 && samples != Named {
		return nil, fmt.Errorf("array: %d samples", samples)
	}
	s := &Source{samples: samples}
	for k, f := range fields {
		made, err := newField(samples, f)
		if err != nil {
			return nil, fmt.Errorf("array: field %d: %w", k, err)
		}
		s.fields = append(s.fields, made)
		for _, a := range f.Arrays {
			if a.File != nil && !slices.Contains(s.files, a.File) {
				s.files = append(s.files, a.File)
			}
		}
	}
	return s, nil
}

// Close closes the files of all arrays.
func (s *Source) Close() {
	for _, f := range s.files {
		f.Close()
	}
}

// InMemory implements source.Rows.
func (s *Source) InMemory() bool { return len(s.files) == 0 }

func newField(samples int, f Field) (field, error) {
	if err := f.Row.Check(); err != nil {
		return field{}, err
	}
	stored := f.stored()
	made := field{ragged: f.Ragged, bytes: stored.Bytes(), out: f.Row.Bytes(), items: f.Row.Shape.Items(), index: f.Index}
	if stored.DType != f.Row.DType {
		if err := stored.Check(); err != nil {
			return field{}, err
		}
		if made.cast = castOf(stored.DType, f.Row.DType); made.cast == nil {
			return field{}, fmt.Errorf("%s cannot be cast to %s", stored.DType, f.Row.DType)
		}
	}
	for i, a := range f.Arrays {
		if a.Rows < 0 || len(a.Strides) != len(f.Row.Shape)+1 {
			return field{}, fmt.Errorf("array %d has %d rows and %d strides for rows %s", i, a.Rows, len(a.Strides), f.Row.Shape)
		}
		if a.Counts && (f.Ragged || stored.DType != tensor.Int64 || len(stored.Shape) > 0) {
			return field{}, fmt.Errorf("array %d counts, but its rows are %s", i, stored)
		}
		if a.Data == nil && a.File == nil && a.Begins == nil && !a.Counts && a.Rows > 0 && made.bytes > 0 {
			return field{}, fmt.Errorf("array %d has no memory for %d rows of %d bytes", i, a.Rows, made.bytes)
		}
		p := piece{data: a.Data, file: a.File, offset: a.Offset, first: made.rows, stride: a.Strides[0],
			begins: a.Begins, lengths: a.Lengths, counts: a.Counts}
		p.run, p.dims = runs(stored, a.Strides[1:])
		if a.File != nil {
			var err error
			if p.before, p.behind, err = extent(p.run, p.dims); err != nil {
				return field{}, fmt.Errorf("array %d: %w", i, err)
			}
		}
		if a.Ends != nil {
			if p.ends = a.Ends; f.Ragged || a.Begins != nil || a.Counts || len(p.dims) > 0 || p.stride < 1 {
				return field{}, fmt.Errorf("array %d: rows that end with an array, but lie in another way", i)
			}
			if last, inMemory := a.Ends.(EndList); inMemory {
				if !slices.IsSorted(last) || a.Rows > 0 && (len(last) == 0 || last[len(last)-1] <= int64(a.Rows-1)*int64(p.stride)) {
					return field{}, fmt.Errorf("array %d: %d rows in arrays that end before them", i, a.Rows)
				}
			}
		} else if err := made.holds(a, &p); err != nil {
			return field{}, fmt.Errorf("array %d: %w", i, err)
		}
		made.rows += int64(a.Rows)
		p.end = made.rows
		made.pieces = append(made.pieces, p)
	}
	switch {
	case samples == Named:
	case f.Index == nil && made.rows != int64(samples):
		return field{}, fmt.Errorf("%d rows for %d samples", made.rows, samples)
	case f.Index != nil && len(f.Index) != samples:
		return field{}, fmt.Errorf("an index of %d rows for %d samples", len(f.Index), samples)
	}
	return made, nil
}

// holds says whether all rows of an array are where they are said to be.
func (f *field) holds(a Array, p *piece) error {
	if f.ragged != (a.Lengths != nil) || f.ragged && a.Begins == nil {
		return fmt.Errorf("ragged rows have a begin and a length each, others no length")
	}
	if a.Begins == nil {
		if a.File == nil || f.bytes == 0 {
			return nil
		}
		return p.within(a.File.Bytes(), a.Rows)
	}
	if len(a.Begins) != a.Rows || f.ragged && len(a.Lengths) != a.Rows {
		return fmt.Errorf("%d begins and %d lengths for %d rows", len(a.Begins), len(a.Lengths), a.Rows)
	}
	if f.ragged && len(p.dims) > 0 {
		return fmt.Errorf("items of ragged rows do not lie one after the other")
	}
	room := a.Bytes
	if a.File != nil {
		room = a.File.Bytes() - a.Offset
	}
	if a.Offset < 0 || room < 0 {
		return fmt.Errorf("rows from byte %d on, %d bytes: %w", a.Offset, room, source.ErrUnreadable)
	}
	return withinRoom(a, f.bytes, int64(p.before), int64(p.behind), room)
}

// within says whether all rows of an array lie inside a file of so many bytes.
func (p *piece) within(bytes int64, rows int) error {
	if rows == 0 {
		return nil
	}
	last := 0
	if rows > 1 {
		if p.stride != 0 && rows-1 > math.MaxInt64/4/max(p.stride, -p.stride) {
			return fmt.Errorf("%s: %d rows, %d bytes from one to the next", p.file.Name(), rows, p.stride)
		}
		last = (rows - 1) * p.stride
	}
	if lowest := p.offset + int64(min(0, last)-p.before); lowest < 0 {
		return fmt.Errorf("%s: rows from byte %d on", p.file.Name(), lowest)
	}
	if end := p.offset + int64(max(0, last)+p.behind); end > bytes {
		return fmt.Errorf("%s: rows up to byte %d, but the file has %d: %w", p.file.Name(), end, bytes, source.ErrUnreadable)
	}
	return nil
}

// withinRoom says which row is not wholly inside its array's bytes.
func withinRoom(a Array, itemBytes int, before, behind, room int64) error {
	for i, begin := range a.Begins {
		if a.Lengths != nil {
			length := a.Lengths[i]
			if length < 0 || itemBytes > 0 && length > math.MaxInt64/2/int64(itemBytes) {
				return fmt.Errorf("row %d has a length of %d: %w", i, length, source.ErrUnreadable)
			}
			before, behind = 0, length*int64(itemBytes)
		}
		if begin < before || begin > room || behind > room-begin {
			return fmt.Errorf("row %d, %d bytes from byte %d on: the array has %d bytes: %w",
				i, before+behind, begin-before, room, source.ErrUnreadable)
		}
	}
	return nil
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

// CopyRows gathers rows of one field into dst. An error is of reading a file.
func (s *Source) CopyRows(ctx context.Context, number int, samples []int64, dst []byte) error {
	f := &s.fields[number]
	if f.out == 0 || len(samples) == 0 {
		return nil
	}
	if f.ragged {
		return f.copyRagged(ctx, samples, dst)
	}
	if f.cast == nil {
		return f.gather(ctx, samples, dst)
	}
	for step := max(1, castBytes/f.bytes); len(samples) > 0; {
		n := min(step, len(samples))
		if err := f.castRows(ctx, samples[:n], dst[:n*f.out]); err != nil {
			return err
		}
		samples, dst = samples[n:], dst[n*f.out:]
	}
	return nil
}

// castBytes are cast in one go: they are still in the first cache when they are read again.
const castBytes = 16 << 10

func (f *field) castRows(ctx context.Context, samples []int64, dst []byte) error {
	room := takeScratch(len(samples) * f.bytes)
	defer putScratch(room)
	if err := f.gather(ctx, samples, room.bytes); err != nil {
		return err
	}
	f.cast(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(room.bytes)), len(samples)*f.items)
	return nil
}

// Lengths implements source.Rows.
func (s *Source) Lengths(number int, samples []int64, lengths []int64) {
	f := &s.fields[number]
	p := &f.pieces[0]
	for k, sample := range samples {
		row := f.row(sample)
		if row < p.first || row >= p.end {
			p = f.piece(row)
		}
		lengths[k] = p.lengths[row-p.first]
	}
}

// copyRagged writes rows that differ in length one after the other.
func (f *field) copyRagged(ctx context.Context, samples []int64, dst []byte) error {
	p := &f.pieces[0]
	for _, sample := range samples {
		row := f.row(sample)
		if row < p.first || row >= p.end {
			p = f.piece(row)
		}
		items := int(p.lengths[row-p.first])
		if err := f.copyRow(ctx, p, row-p.first, items, dst[:items*f.out]); err != nil {
			return err
		}
		dst = dst[items*f.out:]
	}
	return nil
}

// copyRow writes the items of one ragged row.
func (f *field) copyRow(ctx context.Context, p *piece, row int64, items int, dst []byte) error {
	if items == 0 {
		return nil
	}
	if p.file == nil {
		src := unsafe.Add(p.data, p.begins[row])
		if f.cast == nil {
			copy(dst, unsafe.Slice((*byte)(src), len(dst)))
		} else {
			f.cast(unsafe.Pointer(unsafe.SliceData(dst)), src, items*f.items)
		}
		return nil
	}
	if f.cast == nil {
		return p.read(ctx, dst, p.place(row))
	}
	room := takeScratch(items * f.bytes)
	defer putScratch(room)
	if err := p.read(ctx, room.bytes, p.place(row)); err != nil {
		return err
	}
	f.cast(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(room.bytes)), items*f.items)
	return nil
}

// gather writes rows as they are stored.
func (f *field) gather(ctx context.Context, samples []int64, dst []byte) error {
	p := &f.pieces[0]
	to := unsafe.Pointer(unsafe.SliceData(dst[:len(samples)*f.bytes]))
	var reads []source.Piece // of p's file
	for k := 0; k < len(samples); {
		row := f.row(samples[k])
		if row < p.first || row >= p.end {
			if err := p.readAll(ctx, reads); err != nil {
				return err
			}
			p, reads = f.piece(row), reads[:0]
		}
		n, into := 1, dst[k*f.bytes:]
		switch {
		case p.ends != nil:
			if err := p.copyUpToEnd(ctx, into[:f.bytes], row-p.first); err != nil {
				return err
			}
		case p.file == nil:
			n = f.inPiece(p, samples[k:])
			p.copyRows(unsafe.Add(to, k*f.bytes), f, samples[k:k+n])
		case len(p.dims) > 0:
			if err := p.readScattered(ctx, into[:f.bytes], row-p.first); err != nil {
				return err
			}
		default:
			n = p.together(f, samples[k:])
			if reads == nil {
				reads = make([]source.Piece, 0, len(samples)-k)
			}
			reads = append(reads, source.Piece{At: p.place(row - p.first), Into: into[:n*f.bytes]})
		}
		k += n
	}
	return p.readAll(ctx, reads)
}

// readAll reads pieces of a file, side by side if reads had to wait lately.
func (p *piece) readAll(ctx context.Context, reads []source.Piece) error {
	if len(reads) == 0 {
		return nil
	}
	if len(reads) == 1 || !p.file.Waits() {
		return p.file.Read(ctx, reads...)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i := range reads {
		group.Go(func() error { return p.file.Read(ctx, reads[i]) })
	}
	return group.Wait()
}

// readsAtOnce rows of a batch are read side by side: a server that takes 10 ms for each then gives 6,400 rows a second.
const readsAtOnce = 64

// inPiece is how many of the samples, the first of which is in p, are rows of p.
func (f *field) inPiece(p *piece, samples []int64) int {
	if len(f.pieces) == 1 {
		return len(samples)
	}
	n := 1
	for ; n < len(samples); n++ {
		if row := f.row(samples[n]); row < p.first || row >= p.end {
			break
		}
	}
	return n
}

// copyRows writes rows of an array in memory.
func (p *piece) copyRows(dst unsafe.Pointer, f *field, samples []int64) {
	if p.counts {
		for k, sample := range samples {
			*(*int64)(unsafe.Add(dst, k*f.bytes)) = f.row(sample) - p.first
		}
		return
	}
	if len(p.dims) > 0 || p.begins != nil || len(samples) < crossingMin {
		for k, sample := range samples {
			p.copyRow(unsafe.Add(dst, k*f.bytes), int(f.row(sample)-p.first))
		}
		return
	}
	var index *C.int64_t
	if f.index != nil {
		index = (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(f.index)))
	}
	C.gl_gather((*C.uint8_t)(dst), (*C.uint8_t)(p.data), C.int64_t(p.first), C.int64_t(p.stride),
		(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(samples))), index, C.int64_t(len(samples)), C.int64_t(f.bytes))
}

// crossingMin rows make up for the crossing into C.
const crossingMin = 4

func (f *field) row(sample int64) int64 {
	if f.index == nil {
		return sample
	}
	return f.index[sample]
}

// Waits implements source.Rows.
func (s *Source) Waits() bool { return slices.ContainsFunc(s.files, source.Container.Waits) }

// Expect implements source.Rows.
func (s *Source) Expect(samples []int64) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.bytes == 0 {
			continue
		}
		for k := 0; k < len(samples); {
			row := f.row(samples[k])
			p := f.piece(row)
			if p.file == nil {
				k++
				continue
			}
			n, behind := p.together(f, samples[k:]), p.behind
			if f.ragged {
				behind = int(p.lengths[row-p.first]) * f.bytes
			}
			p.file.Expect(p.place(row-p.first)-int64(p.before), (n-1)*p.stride+p.before+behind)
			k += n
		}
	}
}

// together is how many of the samples, the first of which is in p, are rows that follow each other in p's file.
func (p *piece) together(f *field, samples []int64) int {
	n := 1
	if len(p.dims) > 0 || p.stride != p.run || p.begins != nil {
		return n
	}
	for first := f.row(samples[0]); n < len(samples) && n*p.run < togetherMax; n++ {
		if row := f.row(samples[n]); row != first+int64(n) || row >= p.end {
			break
		}
	}
	return n
}

// togetherMax bytes are read in one call at most, about: more would gain nothing.
const togetherMax = 4 << 20

// place is where a row's first item is in the file.
func (p *piece) place(row int64) int64 { return p.offset + p.begin(row) }

// begin is how far a row's first item is from the array's.
func (p *piece) begin(row int64) int64 {
	if p.begins != nil {
		return p.begins[row]
	}
	return row * int64(p.stride)
}

func (p *piece) read(ctx context.Context, dst []byte, at int64) error {
	return p.file.Read(ctx, source.Piece{At: at, Into: dst})
}

// copyUpToEnd gives one row up to where its array ends.
func (p *piece) copyUpToEnd(ctx context.Context, dst []byte, row int64) error {
	at := p.place(row)
	n := min(int64(len(dst)), p.ends.End(at)-at)
	clear(dst[n:])
	if p.file == nil {
		copy(dst[:n], unsafe.Slice((*byte)(unsafe.Add(p.data, at)), n))
		return nil
	}
	return p.read(ctx, dst[:n], at)
}

// readScattered reads one row whose items do not lie together.
func (p *piece) readScattered(ctx context.Context, dst []byte, row int64) error {
	room := takeScratch(p.before + p.behind)
	defer putScratch(room)
	if err := p.read(ctx, room.bytes, p.place(row)-int64(p.before)); err != nil {
		return err
	}
	p.copyDims(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(&room.bytes[p.before]), p.dims)
	return nil
}

// extent is how far a row goes in front of its first item and from there on.
func extent(run int, dims []dim) (before, behind int, err error) {
	behind = run
	row := run
	for _, d := range dims {
		if d.extent == 0 {
			return 0, 0, nil
		}
		row *= d.extent
		if steps := d.extent - 1; d.stride > reachMax/steps || d.stride < -reachMax/steps {
			return 0, 0, fmt.Errorf("%d items, %d bytes from one to the next", d.extent, d.stride)
		}
		reach := (d.extent - 1) * d.stride
		before, behind = before-min(reach, 0), behind+max(reach, 0)
	}
	if before+behind > scatterMax*row+scatterMin {
		return 0, 0, fmt.Errorf("a row of %d bytes is scattered over %d bytes of a file", row, before+behind)
	}
	return before, behind, nil
}

const (
	// A row in a file is read with what lies between its items: at most scatterMax times its bytes, or scatterMin.
	scatterMax = 16
	scatterMin = 64 << 10
	// No file is so long; sums of a few such reaches fit an int.
	reachMax = math.MaxInt / 64
)

// piece finds the array that holds a row.
func (f *field) piece(row int64) *piece {
	return &f.pieces[sort.Search(len(f.pieces), func(i int) bool { return row < f.pieces[i].end })]
}

func (p *piece) copyRow(dst unsafe.Pointer, row int) {
	src := unsafe.Add(p.data, p.begin(int64(row)))
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
