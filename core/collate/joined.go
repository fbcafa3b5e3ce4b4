package collate

import (
	"math"

	"github.com/goloader/goloader/core/tensor"
)

// jagged is a nested tensor's: the rows one after the other, [all items, ...], and int64 offsets [rows + 1].
type jagged struct{}

func (jagged) specs(r *rows) []tensor.Spec {
	return []tensor.Spec{
		of(r.item, int(r.starts[r.n])),
		{DType: tensor.Int64, Shape: tensor.Shape{r.n + 1}},
	}
}

func (jagged) run(r *rows, fields [][]byte, lo, hi int) []byte { return joined(r, fields[0], lo, hi) }

func (jagged) put(r *rows, fields [][]byte, i int, row []byte) {
	copy(joined(r, fields[0], i, i+1), row)
}

func (jagged) finish(r *rows, fields [][]byte, lo, hi int) {
	copy(int64s(fields[1])[lo:hi], r.starts[lo:hi])
	if hi == r.n {
		int64s(fields[1])[hi] = r.starts[hi]
	}
}

// pack is the rows one after the other, [all items, ...], the place of each item in its row, int64 [all items], and where
// rows begin, int32 [rows + 1], as attention over sequences of different lengths wants it (cu_seqlens).
type pack struct{}

func (pack) specs(r *rows) []tensor.Spec {
	total := int(r.starts[r.n])
	begins := tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{r.n + 1}}
	if total > math.MaxInt32 {
		begins.DType = 0 // no such batch: it would not fit
	}
	return []tensor.Spec{of(r.item, total), {DType: tensor.Int64, Shape: tensor.Shape{total}}, begins}
}

func (pack) run(r *rows, fields [][]byte, lo, hi int) []byte { return joined(r, fields[0], lo, hi) }

func (pack) put(r *rows, fields [][]byte, i int, row []byte) { copy(joined(r, fields[0], i, i+1), row) }

func (pack) finish(r *rows, fields [][]byte, lo, hi int) {
	places, begins := int64s(fields[1]), int32s(fields[2])
	for i := lo; i < hi; i++ {
		begins[i] = int32(r.starts[i])
		count(places[r.starts[i]:r.starts[i+1]])
	}
	if hi == r.n {
		begins[hi] = int32(r.starts[hi])
	}
}

// joined is where rows lo to below hi go if all follow each other.
func joined(r *rows, values []byte, lo, hi int) []byte {
	size := r.item.Bytes()
	return values[int(r.starts[lo])*size : int(r.starts[hi])*size]
}

// count writes 0, 1, 2, ...
func count(places []int64) {
	for k := range places {
		places[k] = int64(k)
	}
}
