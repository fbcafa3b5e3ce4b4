package pipeline

import (
	"context"
	"errors"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/expr"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

// drawnRows is the kind of work of rows that a script names, as random crops of sounds are: all of it is drawn as a batch is
// submitted.
type drawnRows struct{ rows }

// OpenDrawnRows compiles a plan of a script over a source of rows.
func OpenDrawnRows(p *plan.Plan, from *expr.Source) (*Loader, error) {
	l := OpenRows(p, from)
	k := &drawnRows{*l.kind.(*rows)}
	k.copyField = func(ctx context.Context, b *batch, field, lo, hi int, dst []byte) error {
		return from.CopyDrawn(ctx, field, expr.Drawn{Samples: len(b.indices), Rows: b.picked, Numbers: b.numbers}, lo, hi, dst)
	}
	l.kind = k
	script, err := draw.CompileScript(p.Parts[0].Script, nil, p.RNG)
	if err != nil {
		return nil, err
	}
	l.addScript(scriptPart{Script: script, plan: p.Parts[0].Script})
	l.random, l.drawsFirst = true, allGenerators
	return l, nil
}

func (k *drawnRows) len() int { return int(k.l.plan.Parts[0].Count) }

// check also lets noSample pass.
func (k *drawnRows) check(indices []int64) error { return within(indices, noSample, k.len()) }

func (k *drawnRows) setUp(r *Run, b *batch, indices []int64, span int) {
	k.rows.setUp(r, b, indices, span)
	b.scripted = true
	r.openFiles(b)
	if b.unopened || b.lost {
		b.drawn = 0
		return
	}
	b.after, b.drew = b.first, true
}

// enter gives a batch its slot, and writes the script's numbers into it.
func (k *drawnRows) enter(r *Run, b *batch) error {
	if b.unopened || b.lost {
		return nil
	}
	err := k.rows.enter(r, b)
	if r.leaveRead(b, 0, err) {
		return nil
	}
	if err != nil || len(b.indices) == 0 {
		return err
	}
	columns := k.l.plan.Parts[0].Script.Columns
	count := len(b.numbers) / len(b.indices)
	for c, field := range b.fields[len(b.fields)-len(columns):] {
		for n := range b.indices {
			*(*uint64)(unsafe.Add(b.slot.Data(), field.Offset+8*n)) = b.numbers[n*count+columns[c]]
		}
	}
	return nil
}

// leaveRead leaves a batch of rows that a script named to the user's own code, if that alone knows what is read, or made of it,
// from a place on. It reports whether it does.
func (r *Run) leaveRead(b *batch, place int, err error) bool {
	if !b.scripted || !errors.Is(err, source.ErrLeft) {
		return false
	}
	b.stall = Ask{
		Kind: AskBatch, Sequence: b.sequence, Position: place, Index: b.indices[place], Reason: err.Error(),
		Detour: stats.Unreadable,
	}
	return true
}
