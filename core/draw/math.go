package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
)

// compileMath makes a number of one of the math module's functions, if it is one. What is no number there, or infinite, is an
// error in Python.
func compileMath(o plan.Operation) (made number, ok bool, err error) {
	of, ok := map[plan.OperationName]func(a, b float64) float64{
		plan.SquareRoot:  func(a, _ float64) float64 { return math.Sqrt(a) },
		plan.Exponential: func(a, _ float64) float64 { return exp(a) },
		plan.Logarithm:   func(a, _ float64) float64 { return log(a) },
		plan.Sine:        func(a, _ float64) float64 { return sin(a) },
		plan.Cosine:      func(a, _ float64) float64 { return cos(a) },
		plan.CopySign:    math.Copysign,
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
