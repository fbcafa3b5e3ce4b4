package collate_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// table is rows of a field, as they are read.
type table struct {
	field   plan.Field
	rows    [][]byte
	lengths []int64 // nil unless they are ragged
}

func newTable(random *rand.Rand, dtype tensor.DType, ragged bool) table {
	item := tensor.Shape{}
	for range random.IntN(3) {
		item = append(item, random.IntN(4))
	}
	n, even := 1+random.IntN(9), 3+random.IntN(9)
	t := table{field: plan.Field{Spec: tensor.Spec{DType: dtype, Shape: item}, Ragged: ragged}}
	size := t.field.Bytes()
	if !ragged {
		t.field.Shape = append(tensor.Shape{even}, item...)
	}
	for i := range n {
		length := even
		if ragged {
			length = random.IntN(12)
			t.lengths = append(t.lengths, int64(length))
		}
		t.rows = append(t.rows, sourcetest.Noise(length*size, uint64(i)))
	}
	return t
}

func (t table) itemBytes() int {
	if t.field.Ragged {
		return t.field.Bytes()
	}
	return t.field.Bytes() / t.field.Shape[0]
}

// filled lays the rows out, in spans of any lengths and any order, on memory that is not zero.
func (t table) filled(tt *testing.T, random *rand.Rand) (specs []tensor.Spec, fields [][]byte) {
	tt.Helper()
	batch, err := collate.New(t.field).Batch(len(t.rows), t.lengths)
	require.NoError(tt, err)
	for _, spec := range batch.Specs {
		words := make([]uint64, spec.Bytes()/8+1)
		field := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:spec.Bytes()]
		copy(field, sourcetest.Noise(len(field), 99))
		fields = append(fields, field)
	}
	read := func(lo, hi int, dst []byte) error {
		require.Equal(tt, copy(dst, bytes.Join(t.rows[lo:hi], nil)), len(dst))
		require.Len(tt, dst, len(bytes.Join(t.rows[lo:hi], nil)))
		return nil
	}
	var cuts []int
	for at := 0; at < len(t.rows); at += 1 + random.IntN(4) {
		cuts = append(cuts, at)
	}
	for _, k := range random.Perm(len(cuts)) {
		end := len(t.rows)
		if k+1 < len(cuts) {
			end = cuts[k+1]
		}
		require.NoError(tt, batch.Fill(fields, cuts[k], end, read))
	}
	return batch.Specs, fields
}

// cut is the rows of a view.
func (t table) cut(v plan.View) (rows [][]byte, lengths []int64) {
	size := t.itemBytes()
	for i, row := range t.rows {
		length := t.field.Shape
		items := 0
		if t.field.Ragged {
			items = int(t.lengths[i])
		} else {
			items = length[0]
		}
		begin, end := min(v.Skip, items), max(items-v.Drop, min(v.Skip, items))
		rows = append(rows, slices.Concat(v.Front, row[begin*size:end*size], v.Back))
		lengths = append(lengths, int64(end-begin+(len(v.Front)+len(v.Back))/max(1, size)))
	}
	return rows, lengths
}

func int64Bytes(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func int32Bytes(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// model is what a layout makes of rows, item by item.
func model(l plan.RowLayout, rows [][]byte, lengths []int64, size int) (fields [][]byte) {
	offsets, longest := []int64{0}, int64(0)
	for _, length := range lengths {
		offsets = append(offsets, offsets[len(offsets)-1]+length)
		longest = max(longest, length)
	}
	switch l := l.(type) {
	case plan.PadRows:
		for longest%int64(l.MultipleOf) > 0 {
			longest++
		}
		var values []byte
		add := func(i int, k int64) {
			if l.Left {
				k -= longest - lengths[i]
			}
			if 0 <= k && k < lengths[i] {
				values = append(values, rows[i][int(k)*size:int(k+1)*size]...)
				return
			}
			values = append(values, bytes.Repeat(l.Value, size/len(l.Value))...)
		}
		if l.BatchFirst {
			for i := range rows {
				for k := range longest {
					add(i, k)
				}
			}
		} else {
			for k := range longest {
				for i := range rows {
					add(i, k)
				}
			}
		}
		fields = [][]byte{values}
		if l.Lengths {
			fields = append(fields, int64Bytes(lengths...))
		}
	case plan.JaggedRows:
		fields = [][]byte{bytes.Join(rows, nil), int64Bytes(offsets...)}
	case plan.PackRows:
		var places []int64
		for _, length := range lengths {
			for k := range length {
				places = append(places, k)
			}
		}
		fields = [][]byte{bytes.Join(rows, nil), int64Bytes(places...), int32Bytes(offsets...)}
	default:
		fields = [][]byte{bytes.Join(rows, nil)}
	}
	return fields
}

// An array of [strips, length] is padded as that many rows of its length are.
func TestStripsArePaddedAsRowsAre(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		strips, n := 2+random.IntN(4), 1+random.IntN(6)
		whole := table{field: plan.Field{Spec: tensor.Spec{DType: tensor.Int16}, Ragged: true}}
		apart := table{field: whole.field}
		layout := plan.PadRows{BatchFirst: true, Value: []byte{7, 1}, MultipleOf: 1 + random.IntN(3), Lengths: true, Left: random.IntN(2) == 0}
		for i := range n {
			length := random.IntN(9)
			noise := sourcetest.Noise(2*strips*length, uint64(i))
			whole.rows, whole.lengths = append(whole.rows, noise), append(whole.lengths, int64(strips*length))
			for k := range strips {
				apart.rows = append(apart.rows, noise[2*k*length:2*(k+1)*length])
				apart.lengths = append(apart.lengths, int64(length))
			}
		}
		for _, each := range []struct {
			of     *table
			strips int
		}{{&whole, strips}, {&apart, 1}} {
			layout.Strips = each.strips
			each.of.field.Views = []plan.View{{Layout: layout}}
		}
		specs, got := whole.filled(t, random)
		other, want := apart.filled(t, random)
		require.Equal(t, want[0][:other[0].Bytes()], got[0][:specs[0].Bytes()])
		require.Equal(t, tensor.Shape{n, strips, other[0].Shape[1]}, specs[0].Shape)
		for i, length := range whole.lengths {
			require.Equal(t, int64Bytes(length/int64(strips)), got[1][8*i:8*i+8])
		}
	}
}

func TestRowsLieAsTheirLayoutSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	dtypes := []tensor.DType{tensor.Uint8, tensor.Int16, tensor.Float32, tensor.Int64, tensor.Complex128}
	for range 2000 {
		dtype := dtypes[random.IntN(len(dtypes))]
		made := newTable(random, dtype, random.IntN(3) > 0)
		layouts := []plan.RowLayout{
			plan.PadRows{BatchFirst: random.IntN(2) == 0, Value: sourcetest.Noise(dtype.Size(), 7),
				MultipleOf: 1 + random.IntN(5), Strips: 1, Lengths: random.IntN(2) == 0, Left: random.IntN(2) == 0},
			plan.JaggedRows{}, plan.PackRows{},
		}
		if !made.field.Ragged {
			layouts = append(layouts, plan.StackRows{})
		}
		made.field.Views = []plan.View{{Layout: layouts[random.IntN(len(layouts))]}}
		if random.IntN(2) == 0 {
			made.field.Views = []plan.View{
				{Drop: random.IntN(3), Layout: layouts[random.IntN(len(layouts))]},
				{Skip: random.IntN(3), Layout: layouts[random.IntN(len(layouts))]},
			}
		}
		if len(made.field.Views) > 1 || random.IntN(2) == 0 {
			for k := range made.field.Views {
				made.field.Views[k].Front = sourcetest.Noise(random.IntN(3)*made.itemBytes(), 3)
				made.field.Views[k].Back = sourcetest.Noise(random.IntN(3)*made.itemBytes(), 4)
			}
		}
		specs, got := made.filled(t, random)
		var want [][]byte
		for _, v := range made.field.Views {
			rows, lengths := made.cut(v)
			want = append(want, model(v.Layout, rows, lengths, made.itemBytes())...)
		}
		require.Len(t, got, len(want))
		for k := range want {
			require.True(t, bytes.Equal(want[k], got[k]), "field %d, %v of %v: %v", k, specs[k], made.field.Spec, made.field.Views)
		}
	}
}

func TestNumbersAreStacked(t *testing.T) {
	f := collate.New(plan.Field{Spec: tensor.Spec{DType: tensor.Int16, Shape: tensor.Shape{}},
		Views: []plan.View{{Layout: plan.StackRows{}}}})
	batch, err := f.Batch(3, nil)
	require.NoError(t, err)
	require.Equal(t, []tensor.Spec{{DType: tensor.Int16, Shape: tensor.Shape{3}}}, batch.Specs)
}

// Windows of tokens, and the same windows' documents given by where they begin.
func TestDocumentsBeginBehindTheirEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	eos := int64(0)
	for range 300 {
		n, tokens := 1+random.IntN(5), 1+random.IntN(9)
		var windows, marks table
		windows.field = plan.Field{Spec: tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{tokens}},
			Views: []plan.View{{Layout: plan.DocumentRows{Tokens: tokens, EOS: &eos}}}}
		marks.field = plan.Field{Spec: tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}, Ragged: true,
			Views: []plan.View{{Layout: plan.DocumentRows{Tokens: tokens}}}}
		var places, begins []int64
		for range n {
			var row, inside []int64
			first := []int64{0}
			for k := range tokens {
				row = append(row, int64(random.IntN(3)))
				places = append(places, int64(k)-first[len(first)-1])
				if row[k] == eos && k+1 < tokens {
					first = append(first, int64(k+1))
					inside = append(inside, int64(k+1))
				}
			}
			for len(first) <= tokens {
				first = append(first, int64(tokens))
			}
			begins = append(begins, first...)
			windows.rows = append(windows.rows, int64Bytes(row...))
			marks.rows = append(marks.rows, int64Bytes(inside...))
			marks.lengths = append(marks.lengths, int64(len(inside)))
		}
		for _, each := range []table{windows, marks} {
			_, got := each.filled(t, random)
			require.Equal(t, int64Bytes(places...), got[0])
			require.Equal(t, int32Bytes(begins...), got[1])
		}
	}
}

func TestBatchesThatAreTooLargeAreRefused(t *testing.T) {
	for _, l := range []plan.RowLayout{plan.PadRows{Value: make([]byte, 8), MultipleOf: 1, Strips: 1}, plan.JaggedRows{}, plan.PackRows{}} {
		f := collate.New(plan.Field{Spec: tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{}}, Ragged: true,
			Views: []plan.View{{Layout: l}}})
		_, err := f.Batch(3, []int64{1 << 59, 1 << 59, 1 << 59})
		require.Error(t, err)
	}
	packed := collate.New(plan.Field{Spec: tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{}}, Ragged: true,
		Views: []plan.View{{Layout: plan.PackRows{}}}})
	_, err := packed.Batch(2, []int64{1 << 30, 1 << 30})
	require.Error(t, err, "places do not fit an int32")
}
