package pipeline

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/source"
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

// rows is the kind of work of rows of arrays, a field each.
type rows struct {
	noImages
	l       *Loader
	rows    source.Rows
	columns []*collate.Field
	// copyField copies the rows of samples lo ... hi-1 of a field to dst.
	copyField func(ctx context.Context, b *batch, field, lo, hi int, dst []byte) error
	// computes says whether programs make any field.
	computes bool
}

// OpenRows compiles a plan over a source of rows.
func OpenRows(p *plan.Plan, from source.Rows) *Loader {
	l := &Loader{plan: p, ring: ring.New(slotsHeld), views: 1}
	k := &rows{l: l, rows: from}
	k.copyField = func(ctx context.Context, b *batch, field, lo, hi int, dst []byte) error {
		return from.CopyRows(ctx, field, b.indices[lo:hi], dst)
	}
	for _, f := range p.Source.Fields {
		k.columns = append(k.columns, collate.New(f))
		k.computes = k.computes || f.Program != nil
	}
	l.kind = k
	return l
}

// noImages is what kinds of work have in common that read no images.
type noImages struct{}

func (noImages) pictures() bool { return false }

func (noImages) shares(*batch, int) bool { return false }

func (noImages) laid(*batch) {}

func (noImages) read(context.Context, *worker, *reading, int) {}

func (k *rows) len() int { return k.rows.Len() }

func (k *rows) check(indices []int64) error { return k.rows.Check(indices) }

func (k *rows) name(*batch, int64) string { return "rows" }

func (k *rows) close() { k.rows.Close() }

func (k *rows) spanLength(n int, o *Options) int { return max(1, (n+o.Workers-1)/o.Workers) }

func (k *rows) setUp(_ *Run, b *batch, indices []int64, span int) {
	b.indices = append(b.indices, indices...)
	b.cut(len(indices), span)
	b.drawn, b.unread = len(indices), 0
	for i := range b.spans {
		b.spans[i].phase, b.spans[i].next = ready, b.spans[i].hi
	}
}

func (k *rows) fields(b *batch) ([]Field, int) { return b.fields, b.bytes }

// enter gives a batch its slot, and fills it if that is quickly done.
func (k *rows) enter(r *Run, b *batch) error {
	if len(b.indices) == 0 {
		return nil
	}
	l := k.l
	size, err := k.lay(b)
	if err != nil {
		return fmt.Errorf("batch %d: %w", b.sequence, err)
	}
	if err := b.reserve(l, size); err != nil {
		return err
	}
	if !k.rows.InMemory() {
		if k.rows.Waits() && !b.scripted {
			k.expect(r, slices.Clone(b.indices))
		}
		return nil
	}
	most := atOnceMax
	if len(r.batches) == 1 && !k.computes {
		most = atOnceAloneMax
	}
	if b.bytes > most {
		return nil
	}
	b.undone = 0
	return guard(func() error {
		e := r.event(stats.Gather, b, stats.Now())
		err := k.copy(r.ctx, b, 0, len(b.indices))
		e.TookNs, e.Count = stats.Now()-e.BeginNs, int32(len(b.indices))
		l.Stats.Did(&e)
		return err
	})
}

// expect tells the storage which samples will be read, which may take as long as a read.
func (k *rows) expect(r *Run, samples []int64) {
	r.expects++
	r.spawn(func() error {
		err := guard(func() error { k.rows.Expect(samples); return nil })
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

// work gathers a span of rows. Of rows that are not in memory it is a read, which may be left, and which readers take part in
// while reading is slow.
func (k *rows) work(r *Run, w *worker, b *batch, sp *span) (left bool) {
	if k.rows.InMemory() {
		r.runSpan(w, b, sp)
		return false
	}
	t := r.takeInHand(&reading{batch: b, span: sp, lo: sp.lo, hi: sp.hi, reader: w.track.Role == stats.Reader})
	sp.phase = running
	r.addReader()
	ctx := r.ctx
	took, err := r.without(w, b, func() error { return k.gather(ctx, w, b, sp.lo, sp.hi) })
	if r.comeBack(t) {
		return true
	}
	if err == nil {
		r.tookRead(sp.hi-sp.lo, 0, k.waited(took, (sp.hi-sp.lo)*b.bytes/len(b.indices)))
	}
	r.finishRun(b, sp, sp.hi, err)
	r.putDown(b)
	return false
}

// copied is how long a byte of a row may take that nobody had to wait for, also where others use the memory as well.
const copied = time.Nanosecond

// waited is how much of the time that some bytes took was spent waiting for the storage.
func (k *rows) waited(took time.Duration, bytes int) time.Duration {
	if !k.rows.Waits() {
		return 0
	}
	return max(0, took-time.Duration(bytes)*copied)
}

// make gathers rows that are in memory.
func (k *rows) make(w *worker, b *batch, sp *span, hi int, _ []recipe.Step) error {
	return k.gather(w.run.ctx, w, b, sp.lo, hi)
}

// lay says where everything in a batch goes, and how large its slot should be.
func (k *rows) lay(b *batch) (size int, err error) {
	specs, ragged := make([]tensor.Spec, 0, len(k.columns)), false
	b.rows = b.rows[:0]
	for i, f := range k.columns {
		var lengths []int64
		if k.l.plan.Source.Fields[i].Ragged {
			ragged, lengths = true, make([]int64, len(b.indices))
			k.rows.Lengths(i, b.indices, lengths)
		}
		rows, err := f.Batch(len(b.indices), lengths)
		if err != nil {
			return 0, err
		}
		b.rows = append(b.rows, rows)
		specs = append(specs, rows.Specs...)
	}
	b.fields, b.bytes = place(append(specs, k.l.columnSpecs(len(b.indices))...)...)
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

// gather is a worker's copy.
func (k *rows) gather(ctx context.Context, w *worker, b *batch, lo, hi int) error {
	w.track.Begin(stats.Gather, b.sequence, b.indices[lo])
	defer w.track.End(hi - lo)
	return k.copy(ctx, b, lo, hi)
}

// copy gathers some rows of a batch, field by field.
func (k *rows) copy(ctx context.Context, b *batch, lo, hi int) error {
	slot := b.slot.Bytes()
	var parts [][]byte
	first := 0
	for i, rows := range b.rows {
		parts = parts[:0]
		for _, f := range b.fields[first : first+len(rows.Specs)] {
			parts = append(parts, slot[f.Offset:f.Offset+f.Spec.Bytes()])
		}
		first += len(rows.Specs)
		read := func(lo, hi int, dst []byte) error { return k.copyField(ctx, b, i, lo, hi, dst) }
		if err := rows.Fill(parts, lo, hi, collate.Read(read)); err != nil {
			return err
		}
	}
	k.l.Stats.Samples.Add(int64(hi - lo))
	return nil
}
