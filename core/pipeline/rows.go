package pipeline

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// A batch of rows of at most this many bytes is gathered by its caller: to wake a worker and to hear from it takes about
// as long as this copy (15 us), and nobody waits for a batch that is there at once. A caller with no other batch
// under way will wait for this one, and copies more: on cores that others use too, a worker is heard from after 400 us.
// Programs take longer than copies.
const (
	atOnceMax      = 128 << 10
	atOnceAloneMax = 512 << 10
)

// computes says whether programs make any field.
func (l *Loader) computes() bool {
	return slices.ContainsFunc(l.plan.Source.Fields, func(f plan.Field) bool { return f.Program != nil })
}

// placeRows gives a batch of rows its slot, and fills it if that is quickly done.
func (r *Run) placeRows(b *batch) error {
	l := r.loader
	size, err := l.layRows(b)
	if err != nil {
		return fmt.Errorf("batch %d: %w", b.sequence, err)
	}
	if err := b.reserve(l, size); err != nil {
		return err
	}
	if !l.rows.InMemory() {
		if !l.rows.Waits() {
			return nil
		}
		r.expect(slices.Clone(b.indices))
		return nil
	}
	most := atOnceMax
	if len(r.batches) == 1 && !l.computes() {
		most = atOnceAloneMax
	}
	if b.bytes > most {
		return nil
	}
	b.undone = 0
	return guard(func() error {
		e := r.event(stats.Gather, b, stats.Now())
		err := l.copyRows(r.ctx, b, 0, len(b.indices))
		e.TookNs, e.Count = stats.Now()-e.BeginNs, int32(len(b.indices))
		l.Stats.Did(&e)
		return err
	})
}

// expect tells the storage which samples will be read, which may take as long as a read.
func (r *Run) expect(samples []int64) {
	r.expects++
	r.spawn(func() error {
		err := guard(func() error { r.loader.rows.Expect(samples); return nil })
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.expects < 0 {
			return errLeft
		}
		r.expects--
		r.quiet.Broadcast()
		return err
	})
}

// leaveExpects leaves those who tell the storage what will be read, for good, and says how many.
func (r *Run) leaveExpects() int {
	n := r.expects
	r.alive -= n
	r.leaveBehind(n)
	r.expects = -1
	return n
}

// readRows gathers a span of rows that are not in memory, without the lock meanwhile, and reports whether they were left in the
// meantime, as read does.
func (r *Run) readRows(w *worker, b *batch, sp *span) (left bool) {
	t := r.takeReading(b, sp, sp.hi-sp.lo)
	sp.phase = running
	ctx := r.ctx
	_, err := r.without(w, b, func() error { return w.gather(ctx, b, sp.lo, sp.hi) })
	if r.comeBack(t) {
		return true
	}
	r.finishRun(b, sp, sp.hi, err)
	r.putDown(b)
	return false
}

// layRows says where everything in a batch goes, and how large its slot should be.
func (l *Loader) layRows(b *batch) (size int, err error) {
	specs, ragged := make([]tensor.Spec, 0, len(l.fields)), false
	b.rows = b.rows[:0]
	for k, f := range l.fields {
		var lengths []int64
		if l.plan.Source.Fields[k].Ragged {
			ragged, lengths = true, make([]int64, len(b.indices))
			l.rows.Lengths(k, b.indices, lengths)
		}
		rows, err := f.Batch(len(b.indices), lengths)
		if err != nil {
			return 0, err
		}
		b.rows = append(b.rows, rows)
		specs = append(specs, rows.Specs...)
	}
	b.fields, b.bytes = place(specs...)
	if !ragged || b.lent.Valid() {
		return b.bytes, nil
	}
	return roomy(b.bytes), nil
}

// roomy is a size that batches of about n bytes share, so that a slot fits the next one too: at most a quarter more.
func roomy(n int) int {
	if n < fieldAlign || n > 1<<60 {
		return n
	}
	step := 1 << (bits.Len(uint(n)) - 3)
	return (n + step - 1) &^ (step - 1)
}

// gather is copyRows of a worker.
func (w *worker) gather(ctx context.Context, b *batch, lo, hi int) error {
	w.track.Begin(stats.Gather, b.sequence, b.indices[lo])
	defer w.track.End(hi - lo)
	return w.run.loader.copyRows(ctx, b, lo, hi)
}

// copyRows gathers some rows of a batch, field by field.
func (l *Loader) copyRows(ctx context.Context, b *batch, lo, hi int) error {
	slot := b.slot.Bytes()
	var parts [][]byte
	first := 0
	for k, rows := range b.rows {
		parts = parts[:0]
		for _, f := range b.fields[first : first+len(rows.Specs)] {
			parts = append(parts, slot[f.Offset:f.Offset+f.Spec.Bytes()])
		}
		first += len(rows.Specs)
		read := func(lo, hi int, dst []byte) error { return l.rows.CopyRows(ctx, k, b.indices[lo:hi], dst) }
		if err := rows.Fill(parts, lo, hi, collate.Read(read)); err != nil {
			return err
		}
	}
	l.Stats.Samples.Add(int64(hi - lo))
	return nil
}
