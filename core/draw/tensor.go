package draw

import (
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// grid makes the step of a matrix for a tensor, which torchvision counts from the middle of the image.
type grid struct {
	outside recipe.Outside
	plan.Sampled
}

func newGrid(api plan.API, s plan.Sampled) grid {
	g := grid{recipe.OutsideV1, s}
	switch {
	case s.Zeros:
		g.outside = recipe.OutsideZeros
	case api == plan.V2:
		g.outside = recipe.OutsideV2
	}
	return g
}

func (g grid) step(w warp, m [6]float64) recipe.Step {
	s := recipe.Step{
		Kind: recipe.TorchAffine, Filter: w.filter, Fill: w.fill, Outside: g.outside, Fused: g.Fused, FusedGrid: g.FusedGrid,
	}
	copy(s.Matrix[:], m[:])
	return s
}

func (w warp) fromMiddle(in recipe.Size) (center [2]float64) {
	if w.center == nil {
		return center
	}
	return [2]float64{w.center[0] - float64(in.Width)*0.5, w.center[1] - float64(in.Height)*0.5}
}

// tensorRotation is torchvision's RandomRotation of a tensor.
type tensorRotation struct {
	warp
	grid
	degrees [2]float32
	fma     bool
	turns   bool // v2 has quarter turns for quarters of a circle
	inverse inverse
}

func compileTensorRotation(t plan.TensorRotation, r plan.RNG, channels uint8) (transform, error) {
	w, err := newWarp(t.Placed, channels)
	return &tensorRotation{w, newGrid(t.API, t.Sampled), narrowed(t.Degrees), r.FMA, t.API == plan.V2, inverseOf(t.API)}, err
}

func (t *tensorRotation) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	angle := float64(r.MT.Uniform(t.degrees[0], t.degrees[1], t.fma))
	if t.turns {
		if angle = math.Mod(angle, 360); angle < 0 {
			angle += 360
		}
		if t.center == nil && (angle == 0 || angle == 180 || (angle == 90 || angle == 270) && in.Width == in.Height) {
			dst, in = turn(dst, in, int(angle)/90)
			return dst, in, nil
		}
	}
	m := t.inverse(radians(-angle), 0, 0, 1, t.fromMiddle(in), [2]float64{})
	return append(dst, t.grid.step(t.warp, m)), in, nil
}

func (t *tensorRotation) random() bool  { return true }
func (t *tensorRotation) stepsMax() int { return 3 }

// tensorAffine is torchvision's RandomAffine of a tensor.
type tensorAffine struct {
	*randomAffine
	grid
}

func compileTensorAffine(t plan.TensorAffine, r plan.RNG, channels uint8) (transform, error) {
	a, err := compileRandomAffine(t.RandomAffine, r, channels)
	return tensorAffine{a, newGrid(t.API, t.Sampled)}, err
}

func (t tensorAffine) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	return append(dst, t.grid.step(t.warp, t.drawn(in, t.fromMiddle(in), r))), in, nil
}
