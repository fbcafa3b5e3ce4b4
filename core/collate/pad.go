package collate

import (
	"bytes"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/tensor"
)

// pad is torch.nn.utils.rnn.pad_sequence's: [rows, longest, ...] or [longest, rows, ...], and the lengths if wanted.
// Of rows in strips it is [rows, strips, longest].
type pad struct {
	plan.PadRows
	value []byte // of an item's numbers, many times over
}

// paddingBytes are copied at once.
const paddingBytes = 4 << 10

func newPad(p plan.PadRows) pad {
	return pad{p, bytes.Repeat(p.Value, max(1, paddingBytes/len(p.Value)))}
}

// length is that of every row with its padding.
func (p pad) length(r *rows) int {
	longest := r.longest / p.Strips
	if over := longest % p.MultipleOf; over > 0 {
		return longest + p.MultipleOf - over
	}
	return longest
}

func (p pad) specs(r *rows) []tensor.Spec {
	specs := []tensor.Spec{of(r.item, p.length(r), r.n)}
	if p.BatchFirst {
		specs[0] = of(r.item, r.n, p.length(r))
	}
	if p.Strips > 1 {
		specs[0] = of(r.item, r.n, p.Strips, p.length(r))
	}
	if p.Lengths {
		specs = append(specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{r.n}})
	}
	return specs
}

// row is row i with its padding, where rows come first; or strip i, as strips do.
func (p pad) row(r *rows, values []byte, i int) []byte {
	size := p.length(r) * r.item.Bytes()
	return values[i*size : (i+1)*size]
}

func (p pad) run(r *rows, fields [][]byte, lo, hi int) []byte {
	if !p.BatchFirst || p.Strips > 1 || hi != lo+1 {
		return nil
	}
	begin := p.before(r, lo) * r.item.Bytes()
	return p.row(r, fields[0], lo)[begin:][:int(r.lengths[lo])*r.item.Bytes()]
}

// before is how much of the padding of row i, or of each of its strips, stands in front of it.
func (p pad) before(r *rows, i int) int {
	if !p.Left {
		return 0
	}
	return p.length(r) - int(r.lengths[i])/p.Strips
}

func (p pad) put(r *rows, fields [][]byte, i int, row []byte) {
	size, before := r.item.Bytes(), p.before(r, i)
	if p.BatchFirst {
		strip := len(row) / p.Strips
		for k := range p.Strips {
			copy(p.row(r, fields[0], i*p.Strips+k)[before*size:], row[k*strip:(k+1)*strip])
		}
		return
	}
	for k := range int(r.lengths[i]) {
		copy(fields[0][((before+k)*r.n+i)*size:], row[k*size:(k+1)*size])
	}
}

func (p pad) finish(r *rows, fields [][]byte, lo, hi int) {
	size := r.item.Bytes()
	for i := lo; i < hi; i++ {
		begin := p.before(r, i)
		end := begin + int(r.lengths[i])/p.Strips
		if p.BatchFirst {
			for k := range p.Strips {
				row := p.row(r, fields[0], i*p.Strips+k)
				p.fill(row[:begin*size])
				p.fill(row[end*size:])
			}
			continue
		}
		for k := range p.length(r) {
			if k < begin || k >= end {
				p.fill(fields[0][(k*r.n+i)*size:][:size])
			}
		}
	}
	if p.Lengths {
		for i := lo; i < hi; i++ {
			int64s(fields[1])[i] = r.lengths[i] / int64(p.Strips)
		}
	}
}

func (p pad) fill(place []byte) {
	for len(place) > 0 {
		place = place[copy(place, p.value):]
	}
}
