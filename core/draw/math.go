package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/libm"
	"github.com/goloader/goloader/core/plan"
)

// divisorMin: what numpy's exp has lost where its result is no normal float64, 2^-1022 at most, is nothing beside it.
const divisorMin = 0x1p-500

// lost is more than that, divided by divisorMin.
const lost = 0x1p-500

func divisor(v, _ float64) float64 {
	if v < divisorMin {
		return math.NaN()
	}
	return v
}

// settled is v, if v is the same float32 as all numbers within so many units in its last place, and 2^-500.
func settled(v, ulps float64) float64 {
	off := ulps*0x1p-52*math.Abs(v) + lost
	if near := float32(v); float32(v-off) != near || float32(v+off) != near {
		return math.NaN()
	}
	return v
}

// compileMath makes a number of one of the math module's functions, if it is one. What is no number there, or infinite, is an
// error in Python.
func compileMath(o plan.Operation) (made number, ok bool, err error) {
	of, ok := map[plan.OperationName]func(a, b float64) float64{
		plan.SquareRoot:  func(a, _ float64) float64 { return math.Sqrt(a) },
		plan.Exponential: func(a, _ float64) float64 { return libm.Exp(a) },
		plan.Logarithm:   func(a, _ float64) float64 { return libm.Log(a) },
		plan.Sine:        func(a, _ float64) float64 { return libm.Sin(a) },
		plan.Cosine:      func(a, _ float64) float64 { return libm.Cos(a) },
		plan.CopySign:    math.Copysign,
		plan.Settled:     settled,
		plan.Divisor:     divisor,
	}[o.Name]
	if !ok {
		return nil, false, nil
	}
	args := [2]number{1: func(*Frame) uint64 { return 0 }}
	for i, e := range o.Args {
		if args[i], err = compileFloat(e); err != nil {
			return nil, true, err
		}
	}
	return func(f *Frame) uint64 {
		a, b := floatOf(args[0](f)), floatOf(args[1](f))
		v := of(a, b)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			f.fail(fmt.Sprintf("the %s of %v", o.Name, a))
			return 0
		}
		return bitsOf(v)
	}, true, nil
}
