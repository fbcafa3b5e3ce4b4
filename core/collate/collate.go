// Package collate says how the rows of one field of the samples lie in a batch: stacked, padded to the longest of them,
// or one after the other. It moves bytes, and knows neither where rows come from nor where batches go.
package collate

import (
	"slices"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/tensor"
)

// Field is a field of the samples. Its methods may be called from any goroutine.
type Field struct {
	item   tensor.Spec // of an item of a row; of a row if rows are numbers
	length int         // items of every row; -1 if they differ
	views  []view
}

// view is one of the things that a row is handed out as: the row, or a part of it.
type view struct {
	skip, drop  int    // items of the row in front of it and behind it
	front, back []byte // items that are the same for all rows, which it begins and ends with
	more        int    // how many these are
	layout      layout
}

// layout is how rows of a batch lie in fields of it.
type layout interface {
	// specs says what fields they make.
	specs(r *rows) []tensor.Spec
	// run is where rows lo to below hi go, if they follow each other there as they are read, else nil.
	run(r *rows, fields [][]byte, lo, hi int) []byte
	// put writes row i, if run has no place for it alone.
	put(r *rows, fields [][]byte, i int, row []byte)
	// finish writes what belongs to rows lo to below hi beside their items.
	finish(r *rows, fields [][]byte, lo, hi int)
}

// New makes a Field of one that plan.Parse lets pass.
func New(f plan.Field) *Field {
	made := &Field{item: f.Spec, length: -1}
	if !f.Ragged {
		made.length = 1
		if len(f.Shape) > 0 {
			made.item.Shape, made.length = f.Shape[1:], f.Shape[0]
		}
	}
	for _, v := range f.Views {
		more := (len(v.Front) + len(v.Back)) / max(1, made.item.Bytes())
		made.views = append(made.views, view{v.Skip, v.Drop, v.Front, v.Back, more, layoutOf(f, v.Layout)})
	}
	return made
}

func layoutOf(f plan.Field, l plan.RowLayout) layout {
	switch l := l.(type) {
	case plan.PadRows:
		return newPad(l)
	case plan.JaggedRows:
		return jagged{}
	case plan.PackRows:
		return pack{}
	case plan.DocumentRows:
		return documents(l)
	default:
		return stack{number: !f.Ragged && len(f.Shape) == 0}
	}
}

// Read writes the rows of a batch from number lo to below hi, one after the other.
type Read func(lo, hi int, dst []byte) error

// Batch is a field's part of one batch. Its methods may be called from any goroutine, for rows that are its own.
type Batch struct {
	// Specs are of the fields of the batch that the rows make.
	Specs []tensor.Spec

	size    int // bytes of an item
	length  int
	lengths []int64 // of the rows as they are read; nil if all have the same
	views   []rows
}

// rows are those of a batch in one view.
type rows struct {
	view
	item    tensor.Spec
	n       int
	lengths []int64 // of each
	starts  []int64 // items in front of each, and of all
	longest int
	fields  int // that they make
}

// Batch lays out n rows. lengths are those of a ragged field's rows, and are kept; nil for others.
// It fails if the batch would be larger than anything can be.
func (f *Field) Batch(n int, lengths []int64) (*Batch, error) {
	b := &Batch{size: f.item.Bytes(), length: f.length, lengths: lengths, views: make([]rows, len(f.views))}
	for k, v := range f.views {
		r := &b.views[k]
		*r = rows{view: v, item: f.item, n: n, longest: f.length}
		if _, plain := v.layout.(stack); !plain || lengths != nil {
			r.measure(b)
		} else {
			r.longest += v.more - v.skip - v.drop
		}
		specs := v.layout.specs(r)
		r.fields = len(specs)
		b.Specs = append(b.Specs, specs...)
	}
	for _, spec := range b.Specs {
		if err := spec.Check(); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// measure finds how long the rows are.
func (r *rows) measure(b *Batch) {
	r.lengths, r.starts, r.longest = make([]int64, r.n), make([]int64, r.n+1), 0
	for i := range r.lengths {
		length := max(b.rowLength(i)-r.skip-r.drop, 0) + r.more
		r.lengths[i] = int64(length)
		// More than lengthMax is refused with the Spec.
		r.starts[i+1] = min(r.starts[i]+int64(length), lengthMax)
		r.longest = max(r.longest, length)
	}
}

const lengthMax = 1 << 61

func (b *Batch) rowLength(i int) int {
	if b.lengths == nil {
		return b.length
	}
	return int(b.lengths[i])
}

// Fill writes rows lo to below hi into the fields that Specs describes.
func (b *Batch) Fill(fields [][]byte, lo, hi int, read Read) error {
	if err := b.copyRows(fields, lo, hi, read); err != nil {
		return err
	}
	for k := range b.views {
		r := &b.views[k]
		r.layout.finish(r, fields[:r.fields], lo, hi)
		fields = fields[r.fields:]
	}
	return nil
}

func (b *Batch) copyRows(fields [][]byte, lo, hi int, read Read) error {
	r := &b.views[0]
	whole := len(b.views) == 1 && r.skip == 0 && r.drop == 0 && r.more == 0
	if whole {
		if run := r.layout.run(r, fields, lo, hi); run != nil {
			return read(lo, hi, run)
		}
	}
	room := takeScratch()
	defer putScratch(room)
	for i := lo; i < hi; i++ {
		if whole {
			if run := r.layout.run(r, fields, i, i+1); run != nil {
				if err := read(i, i+1, run); err != nil {
					return err
				}
				continue
			}
		}
		row := room.bytes(b.rowLength(i) * b.size)
		if err := read(i, i+1, row); err != nil {
			return err
		}
		b.put(fields, i, row)
	}
	return nil
}

// put writes a row that was read in each view.
func (b *Batch) put(fields [][]byte, i int, row []byte) {
	items := b.rowLength(i)
	for k := range b.views {
		r := &b.views[k]
		part := row[min(r.skip, items)*b.size:]
		part = part[:max(items-r.skip-r.drop, 0)*b.size]
		if r.more > 0 {
			part = slices.Concat(r.front, part, r.back)
		}
		r.layout.put(r, fields[:r.fields], i, part)
		fields = fields[r.fields:]
	}
}
