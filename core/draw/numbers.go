package draw

import (
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// overNumbers is a transform behind ToNumbers: what it fills with are numbers.
type overNumbers struct {
	transform
	fill [3]float32
}

func compileOverNumbers(t plan.OverNumbers, r plan.RNG, channels *uint8) (transform, error) {
	inner, err := compile(t.Transform, r, channels)
	return overNumbers{inner, t.Fill}, err
}

func (t overNumbers) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	done := len(dst)
	dst, in, err := t.transform.draw(dst, in, r)
	for i := range dst[done:] {
		dst[done+i].Numbers[0] = t.fill
	}
	return dst, in, err
}
