package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goloader/goloader/core/plan"
)

// exactMax is the largest integer up to which a float64 has all of them: arithmetic stays within, so that it is Python's.
const exactMax = 1 << 53

// number computes what an expression is for a sample, as the bits of an int64 or a float64. Where it cannot, it says so to
// the frame, and what it gives means nothing.
type number func(f *Frame) uint64

func bitsOf(v float64) uint64  { return math.Float64bits(v) }
func floatOf(b uint64) float64 { return math.Float64frombits(b) }

func truth(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// compileNumber makes a number of an expression that has no Draw in it.
func compileNumber(e plan.Expr) (number, error) {
	switch e := e.(type) {
	case plan.IntValue:
		return func(*Frame) uint64 { return uint64(e) }, nil
	case plan.FloatValue:
		return func(*Frame) uint64 { return bitsOf(float64(e)) }, nil
	case plan.Index:
		return func(f *Frame) uint64 { return uint64(f.index) }, nil
	case plan.Number:
		return func(f *Frame) uint64 { return f.Numbers[e.Register] }, nil
	case plan.Extent:
		if e.Height {
			return func(f *Frame) uint64 { return uint64(f.Images[e.Image].Size.Height) }, nil
		}
		return func(f *Frame) uint64 { return uint64(f.Images[e.Image].Size.Width) }, nil
	case plan.Lookup:
		return compileLookup(e)
	case plan.Operation:
		return compileOperation(e)
	default:
		return nil, fmt.Errorf("no number: %T", e)
	}
}

// compileInt is compileNumber of an int.
func compileInt(e plan.Expr) (number, error) {
	if e.Type() != plan.Int {
		return nil, fmt.Errorf("want an int")
	}
	return compileNumber(e)
}

// compileNumbers compiles several numbers.
func compileNumbers(compile func(plan.Expr) (number, error), of []plan.Expr) ([]number, error) {
	made := make([]number, 0, len(of))
	for _, e := range of {
		n, err := compile(e)
		if err != nil {
			return nil, err
		}
		made = append(made, n)
	}
	return made, nil
}

// compileFloat is compileNumber of a float, or of an int that is taken as one.
func compileFloat(e plan.Expr) (number, error) {
	n, err := compileNumber(e)
	if err != nil || e.Type() == plan.Float {
		return n, err
	}
	return func(f *Frame) uint64 { return bitsOf(float64(int64(n(f)))) }, nil
}

func compileLookup(l plan.Lookup) (number, error) {
	args := make([]number, len(l.Args))
	for i, e := range l.Args {
		var err error
		if args[i], err = compileInt(e); err != nil {
			return nil, err
		}
	}
	starts, values := l.Table.Starts, l.Table.Values
	// within is a place in what has so many.
	within := func(f *Frame, at uint64, count int) (int, bool) {
		if at >= uint64(count) {
			f.fail(fmt.Sprintf("place %d of %d", int64(at), count))
		}
		return int(at), f.failed == ""
	}
	switch l.Kind {
	case plan.LookupItem:
		return func(f *Frame) uint64 {
			if row, ok := within(f, args[0](f), len(values)); ok {
				return values[row]
			}
			return 0
		}, nil
	case plan.LookupFind:
		return func(f *Frame) uint64 {
			wanted := int64(args[0](f))
			row, found := search(values, wanted)
			if !found {
				f.fail(fmt.Sprintf("no row of %d", wanted))
			}
			return uint64(row)
		}, nil
	case plan.LookupLength, plan.LookupMember, plan.LookupHas:
		return func(f *Frame) uint64 {
			row, ok := within(f, args[0](f), len(starts)-1)
			if !ok {
				return 0
			}
			list := values[starts[row]:starts[row+1]]
			switch l.Kind {
			case plan.LookupLength:
				return uint64(len(list))
			case plan.LookupHas:
				_, found := search(list, int64(args[1](f)))
				return truth(found)
			}
			if place, ok := within(f, args[1](f), len(list)); ok {
				return list[place]
			}
			return 0
		}, nil
	default:
		return nil, fmt.Errorf("unknown lookup %q", l.Kind)
	}
}

// search finds a number among integers that ascend.
func search(among []uint64, wanted int64) (place int, found bool) {
	return slices.BinarySearchFunc(among, wanted, func(value uint64, wanted int64) int {
		return cmp.Compare(int64(value), wanted)
	})
}

func compileOperation(o plan.Operation) (number, error) {
	if made, ok, err := compileMath(o); ok {
		return made, err
	}
	floats := o.Of == plan.Float
	for _, a := range o.Args {
		floats = floats || a.Type() == plan.Float
	}
	args := make([]number, len(o.Args))
	for i, a := range o.Args {
		var err error
		if floats {
			args[i], err = compileFloat(a)
		} else {
			args[i], err = compileNumber(a)
		}
		if err != nil {
			return nil, err
		}
	}
	a := args[0]
	if len(args) == 1 {
		return unary(o.Name, floats, a)
	}
	b := args[1]
	if floats {
		return floatBinary(o.Name, a, b)
	}
	return intBinary(o.Name, a, b)
}

func unary(name plan.OperationName, floats bool, a number) (number, error) {
	of, ok := map[bool]map[plan.OperationName]func(*Frame, uint64) uint64{
		false: {
			plan.Negative: func(_ *Frame, a uint64) uint64 { return -a },
			plan.Abs:      func(_ *Frame, a uint64) uint64 { return uint64(max(int64(a), -int64(a))) },
			plan.Not:      func(_ *Frame, a uint64) uint64 { return truth(a == 0) },
			plan.ToInt:    func(_ *Frame, a uint64) uint64 { return a },
			plan.Round:    func(_ *Frame, a uint64) uint64 { return a },
		},
		true: {
			plan.Negative:  func(_ *Frame, a uint64) uint64 { return bitsOf(-floatOf(a)) },
			plan.Abs:       func(_ *Frame, a uint64) uint64 { return bitsOf(math.Abs(floatOf(a))) },
			plan.Not:       func(_ *Frame, a uint64) uint64 { return truth(floatOf(a) == 0) },
			plan.ToFloat:   func(_ *Frame, a uint64) uint64 { return a },
			plan.ToFloat32: func(_ *Frame, a uint64) uint64 { return bitsOf(float64(float32(floatOf(a)))) },
			plan.ToInt:     func(f *Frame, a uint64) uint64 { return f.whole(math.Trunc(floatOf(a))) },
			plan.Round:     func(f *Frame, a uint64) uint64 { return f.whole(math.RoundToEven(floatOf(a))) },
		},
	}[floats][name]
	if !ok {
		return nil, fmt.Errorf("no operation %q of one such number", name)
	}
	return func(f *Frame) uint64 { return of(f, a(f)) }, nil
}

func intBinary(name plan.OperationName, a, b number) (number, error) {
	of, ok := map[plan.OperationName]func(*Frame, int64, int64) int64{
		plan.Add:         func(f *Frame, a, b int64) int64 { return f.exact(a+b, a, b) },
		plan.Subtract:    func(f *Frame, a, b int64) int64 { return f.exact(a-b, a, b) },
		plan.Multiply:    product,
		plan.FloorDivide: floorDivide,
		plan.Modulo:      func(f *Frame, a, b int64) int64 { return a - floorDivide(f, a, b)*b },
		plan.Less:        func(_ *Frame, a, b int64) int64 { return int64(truth(a < b)) },
		plan.LessEqual:   func(_ *Frame, a, b int64) int64 { return int64(truth(a <= b)) },
		plan.Equal:       func(_ *Frame, a, b int64) int64 { return int64(truth(a == b)) },
		plan.Minimum:     func(_ *Frame, a, b int64) int64 { return min(a, b) },
		plan.Maximum:     func(_ *Frame, a, b int64) int64 { return max(a, b) },
	}[name]
	if !ok {
		return nil, fmt.Errorf("no operation %q of two ints", name)
	}
	return func(f *Frame) uint64 { return uint64(of(f, int64(a(f)), int64(b(f)))) }, nil
}

func product(f *Frame, a, b int64) int64 {
	if a != 0 && b != 0 && math.Abs(float64(a))*math.Abs(float64(b)) >= exactMax {
		f.fail("a product is too large")
		return 0
	}
	return a * b
}

// floorDivide rounds down, as Python's //.
func floorDivide(f *Frame, a, b int64) int64 {
	if b == 0 {
		f.fail("a division by zero")
		return 0
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floatBinary(name plan.OperationName, a, b number) (number, error) {
	compare, ok := map[plan.OperationName]func(a, b float64) bool{
		plan.Less:      func(a, b float64) bool { return a < b },
		plan.LessEqual: func(a, b float64) bool { return a <= b },
		plan.Equal:     func(a, b float64) bool { return a == b },
	}[name]
	if ok {
		return func(f *Frame) uint64 { return truth(compare(floatOf(a(f)), floatOf(b(f)))) }, nil
	}
	// The conversions keep Go from fusing what follows.
	of, ok := map[plan.OperationName]func(*Frame, float64, float64) float64{
		plan.Add:      func(_ *Frame, a, b float64) float64 { return float64(a + b) },
		plan.Subtract: func(_ *Frame, a, b float64) float64 { return float64(a - b) },
		plan.Multiply: func(_ *Frame, a, b float64) float64 { return float64(a * b) },
		plan.Divide: func(f *Frame, a, b float64) float64 {
			if b == 0 {
				f.fail("a division by zero")
			}
			return a / b
		},
		plan.FloorDivide: func(f *Frame, a, b float64) float64 { q, _ := floatDivide(f, a, b); return q },
		plan.Modulo:      func(f *Frame, a, b float64) float64 { _, m := floatDivide(f, a, b); return m },
		plan.Minimum: func(_ *Frame, a, b float64) float64 { // the first, where neither is less
			if b < a {
				return b
			}
			return a
		},
		plan.Maximum: func(_ *Frame, a, b float64) float64 {
			if b > a {
				return b
			}
			return a
		},
	}[name]
	if !ok {
		return nil, fmt.Errorf("no operation %q of two floats", name)
	}
	return func(f *Frame) uint64 { return bitsOf(of(f, floatOf(a(f)), floatOf(b(f)))) }, nil
}

// floatDivide is Python's divmod of two floats (float_divmod in Objects/floatobject.c).
func floatDivide(f *Frame, a, b float64) (quotient, rest float64) {
	if b == 0 {
		f.fail("a division by zero")
		return 0, 0
	}
	rest = math.Mod(a, b)
	quotient = (a - rest) / b
	if rest == 0 {
		rest = math.Copysign(0, b)
	} else if (b < 0) != (rest < 0) {
		rest += b
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b), rest
	}
	down := math.Floor(quotient)
	if quotient-down > 0.5 {
		down++
	}
	return down, rest
}
