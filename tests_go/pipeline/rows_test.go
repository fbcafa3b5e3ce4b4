package pipeline_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// table is arrays with as many rows each.
type table struct {
	plan   *plan.Plan
	fields [][]byte
	source *array.Source
}

func newTable(t *testing.T, rows int, specs ...tensor.Spec) table {
	t.Helper()
	made := table{plan: &plan.Plan{
		Source: plan.Source{Kind: plan.Array, Fields: stacked(specs...)}, Parts: []plan.Part{{Count: int64(rows)}},
	}}
	var described []array.Field
	for k, spec := range specs {
		field := sourcetest.Noise(rows*spec.Bytes(), uint64(k))
		made.fields = append(made.fields, field)
		described = append(described, rowField(spec, rows, field))
	}
	var err error
	made.source, err = array.New(rows, described)
	require.NoError(t, err)
	return made
}

// stacked are fields whose rows are stacked.
func stacked(specs ...tensor.Spec) (fields []plan.Field) {
	for _, spec := range specs {
		fields = append(fields, plan.Field{Spec: spec, Stored: spec.DType, Views: []plan.View{{Layout: plan.StackRows{}}}})
	}
	return fields
}

// rowField is an array of rows one after the other.
func rowField(spec tensor.Spec, rows int, memory []byte) array.Field {
	strides := []int{spec.DType.Size()}
	for k := len(spec.Shape) - 1; k >= 0; k-- {
		strides = append([]int{strides[0] * spec.Shape[k]}, strides...)
	}
	data := unsafe.Pointer(unsafe.SliceData(memory))
	return array.Field{Row: spec, Arrays: []array.Array{{Data: data, Rows: rows, Strides: strides}}}
}

// gathered is what a batch's fields hold.
func (m table) gathered(indices []int64) (want []string) {
	for k, spec := range m.plan.Source.Fields {
		n, field := spec.Bytes(), []byte{}
		for _, i := range indices {
			field = append(field, m.fields[k][int(i)*n:(int(i)+1)*n]...)
		}
		want = append(want, string(field))
	}
	return want
}

func (m table) got(t *testing.T, lease pipeline.Lease, n int) (got []string) {
	t.Helper()
	require.Len(t, lease.Fields, len(m.fields))
	for k, f := range lease.Fields {
		spec := m.plan.Source.Fields[k]
		require.Equal(t, tensor.Spec{DType: spec.DType, Shape: append(tensor.Shape{n}, spec.Shape...)}, f.Spec)
		require.Zero(t, f.Offset%64)
		got = append(got, string(lease.Slot.Bytes()[f.Offset:f.Offset+f.Spec.Bytes()]))
	}
	return got
}

var rowSpecs = []tensor.Spec{
	{DType: tensor.Float32, Shape: tensor.Shape{3, 5}},
	{DType: tensor.Int64, Shape: tensor.Shape{}},
	{DType: tensor.Uint8, Shape: tensor.Shape{0, 4}},
	{DType: tensor.Bool, Shape: tensor.Shape{7}},
}

func TestRowsAreGathered(t *testing.T) {
	leakcheck.Check(t)
	random := logSeed(t)
	for _, o := range []pipeline.Options{
		{Workers: 1, Streams: 1}, {Workers: 4, Streams: 3}, {Workers: 3, Streams: 1, Span: 2},
	} {
		const n = 100
		m := newTable(t, n, rowSpecs...)
		l := pipeline.OpenRows(m.plan, m.source)
		require.Equal(t, n, l.Len())
		r := start(t, l, m.plan, nil, o)
		batches := append(randomBatches(random, n, 40, 70), randomBatches(random, n, 10, 4000)...) // small, large
		for k := 0; k < len(batches); k += 8 {
			group := batches[k:min(k+8, len(batches))]
			for _, indices := range group {
				r.submit(indices...)
			}
			for _, indices := range group {
				lease := r.deliver()
				if len(indices) == 0 {
					require.Empty(t, lease.Fields)
					continue
				}
				require.Equal(t, m.gathered(indices), m.got(t, lease, len(indices)))
				lease.Slot.Release()
			}
		}
		r.close()
		require.NoError(t, l.Close())
	}
}

func TestRowsGoToLentMemoryIfItIsLargeEnough(t *testing.T) {
	leakcheck.Check(t)
	m := newTable(t, 10, rowSpecs...)
	l := pipeline.OpenRows(m.plan, m.source)
	r := start(t, l, m.plan, nil, pipeline.Options{Workers: 2, Streams: 1})
	memory := lend(t, 4096)
	require.NoError(t, r.run.Submit([]int64{1, 2}, nil, address(memory), 64))
	require.NoError(t, r.run.Submit([]int64{3, 4}, nil, address(memory), len(memory)))
	_, _, err := r.next()
	require.ErrorIs(t, err, pipeline.ErrShape)
	lease := r.deliver()
	require.Equal(t, address(memory), lease.Slot.Data())
	require.Equal(t, m.gathered([]int64{3, 4}), m.got(t, lease, 2))
	lease.Slot.Release()
	r.close()
	require.NoError(t, l.Close())
}

func TestRowsThatTakeTooMuchMemoryAreTheirBatchsError(t *testing.T) {
	leakcheck.Check(t)
	huge := &plan.Plan{Source: plan.Source{Kind: plan.Array,
		Fields: stacked(tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{1 << 58}})}}
	memory := make([]byte, 1)
	rows, err := array.New(1, []array.Field{rowField(huge.Source.Fields[0].Spec, 1, memory)})
	require.NoError(t, err)
	l := pipeline.OpenRows(huge, rows)
	r := start(t, l, huge, nil, pipeline.Options{Workers: 2, Streams: 1})
	r.submit(0)
	r.submit()
	_, _, err = r.next()
	require.ErrorIs(t, err, mem.ErrNoMemory)
	require.Equal(t, pipeline.Lease{Sequence: 1}, r.deliver())
	r.close()
	require.NoError(t, l.Close())
}

func TestSmallBatchesAreThereAtOnceAndNeedNoWorkers(t *testing.T) {
	leakcheck.Check(t)
	m := newTable(t, 1000, rowSpecs...)
	l := pipeline.OpenRows(m.plan, m.source)
	r := start(t, l, m.plan, nil, pipeline.Options{Workers: 2, Streams: 1})
	for range 3 {
		r.submit(3, 4, 3)
	}
	require.Zero(t, pipeline.Serving())
	for range 3 {
		news, lease, _, err := r.run.Next()
		require.NoError(t, err)
		require.Equal(t, pipeline.Delivered, news)
		require.Equal(t, m.gathered([]int64{3, 4, 3}), m.got(t, lease, 3))
		lease.Slot.Release()
	}
	large := make([]int64, 5000) // of 75 bytes each
	for outstanding := range 2 { // one alone is waited for; of several a worker makes the others
		for range outstanding + 1 {
			r.submit(large...)
		}
		for range outstanding + 1 {
			lease := r.deliver()
			require.Equal(t, m.gathered(large), m.got(t, lease, len(large)))
			lease.Slot.Release()
		}
		require.Equal(t, outstanding > 0, pipeline.Serving() > 0)
	}
	r.close()
	require.NoError(t, l.Close())
}

func TestRowsThatAreNotThereAreNotAskedFor(t *testing.T) {
	leakcheck.Check(t)
	m := newTable(t, 10, rowSpecs...)
	l := pipeline.OpenRows(m.plan, m.source)
	r := start(t, l, m.plan, nil, pipeline.Options{Workers: 1, Streams: 1})
	require.ErrorIs(t, r.run.Submit([]int64{0, 10}, nil, nil, 0), source.ErrRange)
	require.ErrorIs(t, r.run.Submit([]int64{-1}, nil, nil, 0), source.ErrRange)
	news, _, _, err := r.run.Next()
	require.NoError(t, err)
	require.Equal(t, pipeline.Idle, news)
	r.close()
	require.NoError(t, l.Close())
}

func TestRowsCanBeForgotten(t *testing.T) {
	leakcheck.Check(t)
	m := newTable(t, 50, rowSpecs...)
	l := pipeline.OpenRows(m.plan, m.source)
	r := start(t, l, m.plan, nil, pipeline.Options{Workers: 3, Streams: 2})
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		for _, indices := range randomBatches(random, 50, 5, 30) {
			r.submit(indices...)
		}
		require.NoError(t, second(r.run.Reset()))
		r.submit(7, 8)
		lease := r.deliver()
		require.Equal(t, m.gathered([]int64{7, 8}), m.got(t, lease, 2))
		lease.Slot.Release()
		require.NoError(t, second(r.run.Reset()))
	}
	r.close()
	require.NoError(t, l.Close())
}
