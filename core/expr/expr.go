// Package expr makes rows of fields by arithmetic over other rows, as a user's own class does for each sample. What it makes
// is what numpy or torch makes, to the bit; where these would warn or fail, a batch is theirs to make (source.ErrLeft).
package expr

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo LDFLAGS: -lm
#include <stdlib.h>
#include "expr.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/tensor"
)

// Source is a source.Rows some of whose fields are made by programs. The rows that these are made of are fields of another.
type Source struct {
	source.Rows
	fields []field
}

type field struct {
	first   int      // of its rows, a field of the inner source
	program *program // nil for a row as it is
	ragged  bool     // it makes one item of a row each time
}

// New makes a Source. inner has the fields that plan.Source.Rows says. vectors is where a script's begin among its numbers
// (plan.Script.VectorStarts).
func New(fields []plan.Field, inner source.Rows, vectors []int) (*Source, error) {
	s := &Source{Rows: inner}
	first := 0
	for k, f := range fields {
		made := field{first: first, ragged: f.Ragged}
		if f.Program == nil {
			first++
		} else {
			var err error
			if made.program, err = compile(f); err != nil {
				return nil, fmt.Errorf("field %d: %w", k, err)
			}
			for i, in := range f.Program.Inputs {
				if in.IsVector() {
					made.program.inputs[i].number = vectors[in.Vector]
					continue
				}
				made.program.inputs[i].field = first
				first++
			}
		}
		s.fields = append(s.fields, made)
	}
	return s, nil
}

// Drawn is what a script says of a batch's samples.
type Drawn struct {
	Samples int
	Rows    []int64  // for each field of the inner source the row of each sample
	Numbers []uint64 // for each sample the script's numbers
}

// Lengths implements source.Rows.
func (s *Source) Lengths(number int, samples []int64, lengths []int64) {
	s.Rows.Lengths(s.fields[number].first, samples, lengths)
}

// CopyRows implements source.Rows. It fails with source.ErrLeft, too.
func (s *Source) CopyRows(ctx context.Context, number int, samples []int64, dst []byte) error {
	f := &s.fields[number]
	switch {
	case f.program == nil:
		return s.Rows.CopyRows(ctx, f.first, samples, dst)
	case f.ragged:
		return s.copyRagged(ctx, f, samples, dst)
	default:
		return f.program.make(dst, 0, len(samples), func(in input, lo, hi int, to []byte) error {
			return s.Rows.CopyRows(ctx, in.field, samples[lo:hi], to)
		})
	}
}

// CopyDrawn is CopyRows of samples lo ... hi-1 of a batch, as a script says.
func (s *Source) CopyDrawn(ctx context.Context, number int, d Drawn, lo, hi int, dst []byte) error {
	f := &s.fields[number]
	rows := func(field, lo, hi int, to []byte) error {
		return s.Rows.CopyRows(ctx, field, d.Rows[field*d.Samples+lo:field*d.Samples+hi], to)
	}
	if f.program == nil {
		return rows(f.first, lo, hi, dst)
	}
	each := len(d.Numbers) / d.Samples
	return f.program.make(dst, lo, hi, func(in input, lo, hi int, to []byte) error {
		if in.number < 0 {
			return rows(in.field, lo, hi, to)
		}
		for k := lo; k < hi; k++ {
			from := d.Numbers[k*each+in.number:][:in.bytes/8]
			copy(to[(k-lo)*in.bytes:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(from))), in.bytes))
		}
		return nil
	})
}

// make makes rows lo ... hi-1 of a batch, whose inputs it is given.
func (p *program) make(dst []byte, lo, hi int, given func(in input, lo, hi int, to []byte) error) error {
	if p.out == 0 {
		return nil
	}
	room := scratches.Get().(*scratch)
	defer scratches.Put(room)
	bytes := room.take(p.scratch)
	for lo < hi {
		n := min(p.block, hi-lo)
		for _, in := range p.inputs {
			if in.bytes == 0 {
				continue
			}
			if err := given(in, lo, lo+n, bytes[in.offset:in.offset+n*in.bytes]); err != nil {
				return err
			}
		}
		if err := p.run(bytes, dst, n); err != nil {
			return err
		}
		lo, dst = lo+n, dst[n*p.out:]
	}
	return nil
}

// copyRagged makes rows of as many items as there are in those of a program's input.
func (s *Source) copyRagged(ctx context.Context, f *field, samples []int64, dst []byte) error {
	p, length := f.program, make([]int64, 1)
	if p.out == 0 {
		return nil
	}
	room, rows := scratches.Get().(*scratch), scratches.Get().(*scratch)
	defer scratches.Put(room)
	defer scratches.Put(rows)
	bytes, in := room.take(p.scratch), p.inputs[0]
	for k := range samples {
		s.Rows.Lengths(in.field, samples[k:k+1], length)
		items := int(length[0])
		row := rows.take(items * in.bytes)[:items*in.bytes]
		if err := s.Rows.CopyRows(ctx, in.field, samples[k:k+1], row); err != nil {
			return err
		}
		for items > 0 {
			n := min(p.block, items)
			copy(bytes[in.offset:in.offset+n*in.bytes], row)
			if err := p.run(bytes, dst, n); err != nil {
				return err
			}
			items, row, dst = items-n, row[n*in.bytes:], dst[n*p.out:]
		}
	}
	return nil
}

// scratch is memory for the values of some samples, aligned for every item.
type scratch struct{ words []uint64 }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) take(n int) []byte {
	if words := (n + 7) / 8; len(s.words) < words {
		s.words = make([]uint64, words)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.words))), 8*len(s.words))
}

// program is a plan.Program laid out for blocks of samples: each input and each value has room for a block.
type program struct {
	block     int // samples that are made at once
	inputs    []input
	scratch   int // bytes
	out       int // of a row
	constants []byte
	steps     []C.gl_expr_step
	ops       []string // of each step, for messages
}

type input struct {
	offset, bytes int // in the block
	field         int // of the inner source, or
	number        int // the first of a script's; -1 for rows
}

// blockBytes of values are worked on at once: they stay in the second cache, and a block is worth its crossing into C.
const blockBytes = 64 << 10

// valuesMax limits the bytes of one sample's values.
const valuesMax = 1 << 40

func compile(f plan.Field) (*program, error) {
	from := f.Program
	p := &program{out: f.Bytes()}
	perSample := 0
	values := slices.Clone(from.Values)
	for _, in := range from.Inputs {
		values = append(values, in.Spec)
	}
	for _, s := range values {
		if perSample += mem.Aligned(s.Bytes()); perSample > valuesMax {
			return nil, fmt.Errorf("values of %d bytes and more a sample", perSample)
		}
	}
	p.block = max(1, blockBytes/max(perSample, 1))
	rooms := make([]C.gl_expr_place, 0, len(from.Inputs)+len(from.Constants)+len(from.Values)+1)
	place := func(room C.int32_t, offset int, spec tensor.Spec, batch int) {
		at := C.gl_expr_place{room: room, offset: C.int64_t(offset)}
		at.stride[0] = C.int64_t(batch)
		rooms = append(rooms, at)
	}
	keep := func(s tensor.Spec) int {
		offset := p.scratch
		p.scratch += mem.Aligned(s.Bytes() * p.block)
		place(C.GL_EXPR_SCRATCH, offset, s, s.Bytes())
		return offset
	}
	for _, in := range from.Inputs {
		p.inputs = append(p.inputs, input{offset: keep(in.Spec), bytes: in.Bytes(), number: -1})
	}
	for _, c := range from.Constants {
		place(C.GL_EXPR_CONSTANTS, len(p.constants), c.Spec, 0)
		p.constants = append(p.constants, c.Data...)
		p.constants = append(p.constants, make([]byte, mem.Aligned(len(p.constants))-len(p.constants))...)
	}
	for _, s := range from.Values {
		keep(s)
	}
	place(C.GL_EXPR_OUT, 0, f.Spec, f.Bytes())
	for k, s := range from.Steps {
		step, err := compileStep(from, s, f.Spec, rooms)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", k, err)
		}
		p.steps, p.ops = append(p.steps, step), append(p.ops, s.Op)
	}
	return p, nil
}

func compileStep(from *plan.Program, s plan.Step, row tensor.Spec, rooms []C.gl_expr_place) (C.gl_expr_step, error) {
	of := from.Of(s.From[len(s.From)-1].Value, row).DType
	to := from.Of(s.Into.Value, row).DType
	made := C.gl_expr_step{ndim: C.int32_t(len(s.Shape) + 1), operands: C.int32_t(len(s.From))}
	if s.Watch {
		made.watch = 1
	}
	if s.Taken != nil {
		size := to.Size()
		made.kernel = C.GL_EXPR_TAKE
		made.taken = C.gl_expr_taken{axis: C.int32_t(s.Taken.Axis + 1), extent: C.int64_t(s.Taken.Extent),
			stride: C.int64_t(s.Taken.Stride * size), item: C.int64_t(size)}
	} else if err := findKernel(&made, from, s, row, of, to); err != nil {
		return made, err
	}
	for d, extent := range s.Shape {
		made.shape[d+1] = C.int64_t(extent)
	}
	set := func(at *C.gl_expr_place, place plan.Place) {
		*at = rooms[place.Value]
		size := from.Of(place.Value, row).DType.Size()
		at.offset += C.int64_t(place.Offset * size)
		for d, stride := range place.Strides {
			at.stride[d+1] = C.int64_t(stride * size)
		}
	}
	set(&made.into, s.Into)
	for k, place := range s.From {
		set(&made.from[k], place)
	}
	return made, nil
}

func findKernel(made *C.gl_expr_step, from *plan.Program, s plan.Step, row tensor.Spec, of, to tensor.DType) error {
	names := []*C.char{C.CString(s.Op), C.CString(of.String()), C.CString(to.String())}
	var operands C.int32_t
	made.kernel = C.gl_expr_kernel(names[0], names[1], names[2], &operands)
	for _, name := range names {
		C.free(unsafe.Pointer(name))
	}
	if made.kernel < 0 || operands != made.operands {
		return fmt.Errorf("no operation %q makes %s of %d %s", s.Op, to, len(s.From), of)
	}
	if len(s.From) == 3 && from.Of(s.From[0].Value, row).DType != tensor.Bool {
		return fmt.Errorf("%q needs a condition", s.Op)
	}
	if len(s.From) == 2 && from.Of(s.From[0].Value, row).DType != of {
		return fmt.Errorf("operands of %q differ in type", s.Op)
	}
	return nil
}

// run makes the rows of n samples whose inputs are in scratch.
func (p *program) run(scratch, dst []byte, n int) error {
	bytes := func(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))) }
	failed := C.gl_expr_run(unsafe.SliceData(p.steps), C.int32_t(len(p.steps)), bytes(scratch), bytes(p.constants), bytes(dst),
		C.int64_t(n))
	if failed != 0 {
		return fmt.Errorf("%s: %w", p.ops[failed-1], source.ErrLeft)
	}
	return nil
}
