package expr_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/expr"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/tensor"
)

func of(dtype tensor.DType, shape ...int) tensor.Spec {
	return tensor.Spec{DType: dtype, Shape: append(tensor.Shape{}, shape...)}
}

// whole is a value's items one after the other.
func whole(value int, shape tensor.Shape) plan.Place {
	strides := make([]int, len(shape))
	step := 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = step
		step *= shape[d]
	}
	return plan.Place{Value: value, Strides: strides}
}

// made is a source of one field that a program makes of rows of such memories.
func made(t *testing.T, samples int, row tensor.Spec, p *plan.Program, memories ...[]byte) (*expr.Source, error) {
	t.Helper()
	var inner []array.Field
	for k, in := range p.Inputs {
		spec := in.Spec
		strides := []int{spec.Bytes()}
		for _, stride := range whole(0, spec.Shape).Strides {
			strides = append(strides, stride*spec.DType.Size())
		}
		inner = append(inner, array.Field{Row: spec, Arrays: []array.Array{
			{Data: unsafe.Pointer(unsafe.SliceData(memories[k])), Rows: samples, Strides: strides},
		}})
	}
	rows, err := array.New(samples, inner)
	require.NoError(t, err)
	t.Cleanup(rows.Close)
	return expr.New([]plan.Field{{Spec: row, Program: p}}, rows, nil)
}

func int64s(numbers ...int64) []byte {
	var memory []byte
	for _, n := range numbers {
		memory = binary.LittleEndian.AppendUint64(memory, uint64(n))
	}
	return memory
}

func float64s(numbers ...float64) []byte {
	var memory []byte
	for _, x := range numbers {
		memory = binary.LittleEndian.AppendUint64(memory, math.Float64bits(x))
	}
	return memory
}

// Operations of which Go says the same.
var arithmetic = map[string]func(x, y int64) int64{
	"add": func(x, y int64) int64 { return x + y },
	"sub": func(x, y int64) int64 { return x - y },
	"mul": func(x, y int64) int64 { return x * y },
	"and": func(x, y int64) int64 { return x & y },
	"or":  func(x, y int64) int64 { return x | y },
	"xor": func(x, y int64) int64 { return x ^ y },
}

// view is some way to go over a value of 35 items by [5, 7]: as they are, backwards, turned, or the same one again and again.
func view(random *rand.Rand, value int) plan.Place {
	switch random.IntN(4) {
	case 0:
		return plan.Place{Value: value, Offset: 34, Strides: []int{-7, -1}}
	case 1:
		return plan.Place{Value: value, Strides: []int{1, 5}}
	case 2:
		return plan.Place{Value: value, Offset: random.IntN(7), Strides: []int{7, 0}}
	default:
		return plan.Place{Value: value, Strides: []int{7, 1}}
	}
}

func at(p plan.Place, i, j int) int { return p.Offset + i*p.Strides[0] + j*p.Strides[1] }

// Whatever the steps, the views and the number of samples, which go through in blocks: item by item it is what Go makes.
func TestAProgramMakesWhatItsStepsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	row := of(tensor.Int64, 5, 7)
	var names []string
	for name := range arithmetic {
		names = append(names, name)
	}
	for range 60 {
		samples := 1 + random.IntN(400)
		values := make([]tensor.Spec, random.IntN(4))
		p := &plan.Program{Inputs: []plan.Input{{Spec: row, Vector: -1}, {Spec: row, Vector: -1}}, Values: values}
		constant := make([]int64, 35)
		for i := range constant {
			constant[i] = int64(random.Uint64())
		}
		p.Constants = []plan.Const{{Spec: row, Data: int64s(constant...)}}
		for k := range values {
			values[k] = row
		}
		for k := range len(values) + 1 {
			s := plan.Step{Op: names[random.IntN(len(names))], Shape: row.Shape, Into: whole(3+k, row.Shape)}
			s.From = []plan.Place{view(random, random.IntN(3+k)), view(random, random.IntN(3+k))}
			p.Steps = append(p.Steps, s)
		}
		numbers := make([][]int64, 2)
		memories := make([][]byte, 2)
		for k := range numbers {
			for range 35 * samples {
				numbers[k] = append(numbers[k], int64(random.Uint64()))
			}
			memories[k] = int64s(numbers[k]...)
		}
		rows, err := made(t, samples, row, p, memories...)
		require.NoError(t, err)
		asked := make([]int64, samples)
		for k := range asked {
			asked[k] = random.Int64N(int64(samples))
		}
		got := make([]byte, samples*row.Bytes())
		require.NoError(t, rows.CopyRows(t.Context(), 0, asked, got))
		var want []int64
		for _, sample := range asked {
			known := [][]int64{numbers[0][35*sample : 35*sample+35], numbers[1][35*sample : 35*sample+35], constant}
			for _, s := range p.Steps {
				of := make([]int64, 35)
				for i := range 5 {
					for j := range 7 {
						x, y := known[s.From[0].Value][at(s.From[0], i, j)], known[s.From[1].Value][at(s.From[1], i, j)]
						of[7*i+j] = arithmetic[s.Op](x, y)
					}
				}
				known = append(known, of)
			}
			want = append(want, known[len(known)-1]...)
		}
		require.Equal(t, int64s(want...), got)
	}
}

// one is a program of a single step over single numbers.
func one(op string, watch bool, from []tensor.DType) *plan.Program {
	p := &plan.Program{Steps: []plan.Step{{Op: op, Watch: watch, Into: plan.Place{Value: len(from)}}}}
	for k, dtype := range from {
		p.Inputs = append(p.Inputs, plan.Input{Spec: of(dtype), Vector: -1})
		p.Steps[0].From = append(p.Steps[0].From, plan.Place{Value: k})
	}
	return p
}

// A script says which rows a sample is made of, each input's by itself, and has vectors of numbers for it.
func TestRowsAndVectorsThatAScriptSays(t *testing.T) {
	const samples, rows = 5000, 7
	pair := of(tensor.Int64, 2)
	inner, err := array.New(array.Named, []array.Field{
		{Row: of(tensor.Int64), Arrays: []array.Array{{Data: unsafe.Pointer(unsafe.SliceData(int64s(1, 2, 3))), Rows: 3, Strides: []int{8}}}},
		{Row: pair, Arrays: []array.Array{{
			Data: unsafe.Pointer(unsafe.SliceData(int64s(10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140))), Rows: rows,
			Strides: []int{16, 8},
		}}},
	})
	require.NoError(t, err)
	t.Cleanup(inner.Close)
	sum := &plan.Program{
		Inputs: []plan.Input{{Spec: of(tensor.Int64, 1), Vector: 1}, {Spec: pair, Vector: -1}, {Spec: pair, Vector: 0}},
		Values: []tensor.Spec{pair},
		Steps: []plan.Step{
			{Op: "add", Shape: tensor.Shape{2}, Into: whole(3, pair.Shape), From: []plan.Place{{Value: 0, Strides: []int{0}}, whole(1, pair.Shape)}},
			{Op: "add", Shape: tensor.Shape{2}, Into: whole(4, pair.Shape), From: []plan.Place{whole(3, pair.Shape), whole(2, pair.Shape)}},
		},
	}
	script := plan.Script{
		Numbers: []plan.Type{plan.Int, plan.Float, plan.Int}, Vectors: []plan.Vector{{Of: plan.Int, Count: 2}, {Of: plan.Int, Count: 1}},
	}
	starts, numbers := script.VectorStarts()
	require.Equal(t, 6, numbers)
	s, err := expr.New([]plan.Field{{Spec: of(tensor.Int64)}, {Spec: pair, Program: sum}}, inner, starts)
	require.NoError(t, err)

	drawn := expr.Drawn{Samples: samples, Rows: make([]int64, 2*samples)}
	var firsts, sums []int64
	for k := range int64(samples) {
		drawn.Rows[k], drawn.Rows[samples+k] = k%3, k*k%rows
		drawn.Numbers = append(drawn.Numbers, 0, 0, 0, uint64(k), uint64(2*k), uint64(1000*k))
		firsts = append(firsts, 1+k%3)
		for i := range int64(2) {
			sums = append(sums, 1000*k+10+20*(k*k%rows)+10*i+k+i*k)
		}
	}
	for _, span := range [][2]int{{0, samples}, {0, 1}, {17, 18}, {17, samples - 3}} {
		lo, hi := span[0], span[1]
		got := make([]byte, 8*(hi-lo))
		require.NoError(t, s.CopyDrawn(t.Context(), 0, drawn, lo, hi, got))
		require.Equal(t, int64s(firsts[lo:hi]...), got)
		got = make([]byte, 16*(hi-lo))
		require.NoError(t, s.CopyDrawn(t.Context(), 1, drawn, lo, hi, got))
		require.Equal(t, int64s(sums[2*lo:2*hi]...), got)
	}
}

// Where numpy, torch or Python would warn or fail, the samples are left to them.
func TestNumbersThatLibrariesWarnOfAreLeftToThem(t *testing.T) {
	floats, ints := []tensor.DType{tensor.Float64, tensor.Float64}, []tensor.DType{tensor.Int64, tensor.Int64}
	large := math.MaxFloat64
	for _, c := range []struct {
		op    string
		watch bool
		from  []tensor.DType
		to    tensor.DType
		x, y  []byte
		left  bool
		want  []byte
	}{
		{"div", true, floats, tensor.Float64, float64s(1), float64s(0), true, nil},
		{"div", false, floats, tensor.Float64, float64s(1), float64s(0), false, float64s(math.Inf(1))},
		{"div", true, floats, tensor.Float64, float64s(1), float64s(3), false, float64s(1.0 / 3)},
		{"mul", true, floats, tensor.Float64, float64s(large), float64s(2), true, nil},
		{"mul", false, floats, tensor.Float64, float64s(large), float64s(2), false, float64s(math.Inf(1))},
		{"floordiv", false, ints, tensor.Int64, int64s(-7), int64s(2), false, int64s(-4)},
		{"floordiv", false, ints, tensor.Int64, int64s(7), int64s(0), true, nil},
		{"floordiv", false, ints, tensor.Int64, int64s(math.MinInt64), int64s(-1), true, nil},
		{"mod", false, ints, tensor.Int64, int64s(-7), int64s(2), false, int64s(1)},
		{"add_checked", false, ints, tensor.Int64, int64s(math.MaxInt64), int64s(1), true, nil},
		{"add", false, ints, tensor.Int64, int64s(math.MaxInt64), int64s(1), false, int64s(math.MinInt64)},
		{"cast", false, floats[:1], tensor.Uint8, float64s(255.9), nil, false, []byte{255}},
		{"cast", false, floats[:1], tensor.Uint8, float64s(256), nil, true, nil},
		{"cast", false, floats[:1], tensor.Int64, float64s(math.NaN()), nil, true, nil},
		{"cast", false, ints[:1], tensor.Uint8, int64s(257), nil, false, []byte{1}},
	} {
		rows, err := made(t, 1, of(c.to), one(c.op, c.watch, c.from), c.x, c.y)
		require.NoError(t, err)
		got := make([]byte, c.to.Size())
		err = rows.CopyRows(t.Context(), 0, []int64{0}, got)
		if c.left {
			require.ErrorIs(t, err, source.ErrLeft, c.op)
			continue
		}
		require.NoError(t, err, c.op)
		require.Equal(t, c.want, got, c.op)
	}
}

// Along either axis, or both, of whatever view; each goes on with what there is.
func TestSeveralItemsBecomeOne(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	row := of(tensor.Int64, 5, 7)
	for _, into := range []plan.Place{{Strides: []int{1, 0}}, {Strides: []int{0, 1}}, {Strides: []int{0, 0}}} {
		for op, of := range map[string]func(x, y int64) int64{
			"sum_each": func(x, y int64) int64 { return x + y },
			"max":      func(x, y int64) int64 { return max(x, y) },
			"min":      func(x, y int64) int64 { return min(x, y) },
		} {
			from := view(random, 0)
			first := plan.Place{Value: 0, Offset: 17, Strides: []int{0}}
			p := &plan.Program{Inputs: []plan.Input{{Spec: row, Vector: -1}}, Steps: []plan.Step{
				{Op: "copy", Shape: tensor.Shape{7}, Into: whole(1, tensor.Shape{7}), From: []plan.Place{first}},
				{Op: op, Shape: row.Shape, Into: plan.Place{Value: 1, Strides: into.Strides}, From: []plan.Place{from}},
			}}
			const samples = 30
			var numbers []int64
			for range samples * 35 {
				numbers = append(numbers, int64(random.Uint64()))
			}
			rows, err := made(t, samples, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{7}}, p, int64s(numbers...))
			require.NoError(t, err)
			got := make([]byte, samples*7*8)
			asked := make([]int64, samples)
			var want []int64
			for k := range asked {
				asked[k] = int64(samples - 1 - k)
				own := numbers[asked[k]*35:][:35]
				sums := []int64{own[17], own[17], own[17], own[17], own[17], own[17], own[17]}
				for i := range 5 {
					for j := range 7 {
						place := i*into.Strides[0] + j*into.Strides[1]
						sums[place] = of(sums[place], own[at(from, i, j)])
					}
				}
				want = append(want, sums...)
			}
			require.NoError(t, rows.CopyRows(t.Context(), 0, asked, got))
			require.Equal(t, int64s(want...), got, op)
		}
	}
}

// The largest is left to the library where there is what is not a number, and where it is one of two zeros.
func TestExtremesThatDependOnTheLibraryAreLeftToIt(t *testing.T) {
	below := math.Copysign(0, -1)
	for _, c := range []struct {
		numbers []float64
		want    float64
		left    bool
	}{
		{[]float64{1, 2, math.NaN(), 3, 4, 5, 6, 7, 8, 9}, 0, true},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, math.NaN()}, 0, true},
		{[]float64{-1, 0, -2, -3, -4, -5, -6, -7, -8, below}, 0, true},
		{[]float64{below, 0, 3, 2, 1, below, 0, 1, 2, 0}, 3, false},
		{[]float64{-1, -2, below, -3, -4, -5, -6, -7, -8, below}, below, false},
		{[]float64{-1, -2, -3, math.Inf(-1), -5, -6, -7, -8, -9, -0.5}, -0.5, false},
	} {
		p := &plan.Program{Inputs: []plan.Input{{Spec: of(tensor.Float64, 10), Vector: -1}}, Steps: []plan.Step{
			{Op: "copy", Into: plan.Place{Value: 1}, From: []plan.Place{{Value: 0}}},
			{Op: "max", Shape: tensor.Shape{10}, Into: plan.Place{Value: 1, Strides: []int{0}}, From: []plan.Place{whole(0, tensor.Shape{10})}},
		}}
		rows, err := made(t, 1, of(tensor.Float64), p, float64s(c.numbers...))
		require.NoError(t, err)
		got := make([]byte, 8)
		err = rows.CopyRows(t.Context(), 0, []int64{0}, got)
		if c.left {
			require.ErrorIs(t, err, source.ErrLeft)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, float64s(c.want), got)
	}
}

func TestAProgramWithoutAKernelIsRefused(t *testing.T) {
	for _, c := range []struct {
		op   string
		from []tensor.DType
		to   tensor.DType
	}{
		{"frob", []tensor.DType{tensor.Int64, tensor.Int64}, tensor.Int64},
		{"add", []tensor.DType{tensor.Int64}, tensor.Int64},
		{"add", []tensor.DType{tensor.Int32, tensor.Int64}, tensor.Int64},
		{"add", []tensor.DType{tensor.Float16, tensor.Float16}, tensor.Float16},
		{"lt", []tensor.DType{tensor.Int64, tensor.Int64}, tensor.Int64},
		{"where", []tensor.DType{tensor.Int64, tensor.Int64, tensor.Int64}, tensor.Int64},
	} {
		memory := make([]byte, 8)
		_, err := made(t, 1, of(c.to), one(c.op, false, c.from), memory, memory, memory)
		require.Error(t, err, c.op)
	}
}
