package pipeline_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// Batches of ragged rows, small and large, beside rows that are stacked, are what core/collate makes of them in one go.
func TestRaggedRowsAreLaidOutWhateverTheSpans(t *testing.T) {
	leakcheck.Check(t)
	random := logSeed(t)
	const n, item = 60, 8
	item8 := tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}
	views := []plan.View{
		{Drop: 1, Layout: plan.PadRows{BatchFirst: true, Value: make([]byte, 8), MultipleOf: 4, Strips: 1, Lengths: true}},
		{Skip: 1, Layout: plan.PackRows{}},
	}
	p := &plan.Plan{Source: plan.Source{Kind: plan.Array, Fields: append(stacked(item8),
		plan.Field{Spec: item8, Stored: tensor.Int64, Ragged: true, Views: views})}, Parts: []plan.Part{{Count: n}}}
	var begins, lengths []int64
	end := int64(0)
	for range n {
		length := random.Int64N(900)
		begins, lengths, end = append(begins, end*item), append(lengths, length), end+length
	}
	memory := sourcetest.Noise(int(end)*item, 1)
	numbers := sourcetest.Noise(n*item, 2)
	rows, err := array.New(n, []array.Field{rowField(item8, n, numbers), {Row: item8, Ragged: true, Arrays: []array.Array{{
		Data: unsafe.Pointer(unsafe.SliceData(memory)), Rows: n, Strides: []int{0}, Begins: begins, Lengths: lengths, Bytes: end * item,
	}}}})
	require.NoError(t, err)
	l := pipeline.OpenRows(p, rows)
	for _, o := range []pipeline.Options{{Workers: 1, Streams: 1}, {Workers: 3, Streams: 1, Span: 2}, {Workers: 2, Streams: 1}} {
		r := start(t, l, p, nil, o)
		for _, indices := range append(randomBatches(random, n, 10, 5), randomBatches(random, n, 10, 90)...) {
			r.submit(indices...)
			lease := r.deliver()
			if len(indices) == 0 {
				continue
			}
			long := make([]int64, len(indices))
			rows.Lengths(1, indices, long)
			whole, err := collate.New(p.Source.Fields[1]).Batch(len(indices), long)
			require.NoError(t, err)
			var fields [][]byte
			for _, spec := range whole.Specs {
				words := make([]uint64, spec.Bytes()/8+1)
				fields = append(fields, unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), spec.Bytes()))
			}
			require.NoError(t, whole.Fill(fields, 0, len(indices), func(lo, hi int, dst []byte) error {
				return rows.CopyRows(t.Context(), 1, indices[lo:hi], dst)
			}))
			require.Len(t, lease.Fields, 1+len(fields))
			for k, f := range lease.Fields[1:] {
				require.Equal(t, whole.Specs[k], f.Spec)
				require.Equal(t, string(fields[k]), string(lease.Slot.Bytes()[f.Offset:f.Offset+f.Spec.Bytes()]))
			}
			lease.Slot.Release()
		}
		r.close()
	}
	require.NoError(t, l.Close())
}
