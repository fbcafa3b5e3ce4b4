package pipeline

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/tensor"
)

// A batch of rows of at most this many bytes is gathered by its caller: to wake a worker and to hear from it takes about
// as long as this copy (15 us), and nobody waits for a batch that is there at once.
const atOnceMax = 128 << 10

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
		expected := slices.Clone(b.indices)
		r.spawn(func() error { l.rows.Expect(expected); return nil })
		return nil
	}
	if b.bytes > atOnceMax {
		return nil
	}
	b.left = 0
	return guard(func() error { return l.copyRows(b, 0, len(b.indices)) })
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

// copyRows gathers some rows of a batch, field by field.
func (l *Loader) copyRows(b *batch, lo, hi int) error {
	slot := b.slot.Bytes()
	var parts [][]byte
	first := 0
	for k, rows := range b.rows {
		parts = parts[:0]
		for _, f := range b.fields[first : first+len(rows.Specs)] {
			parts = append(parts, slot[f.Offset:f.Offset+f.Spec.Bytes()])
		}
		first += len(rows.Specs)
		read := func(lo, hi int, dst []byte) error { return l.rows.CopyRows(k, b.indices[lo:hi], dst) }
		if err := rows.Fill(parts, lo, hi, collate.Read(read)); err != nil {
			return err
		}
	}
	l.Stats.Samples.Add(int64(hi - lo))
	return nil
}
