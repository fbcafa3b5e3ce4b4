package draw

import (
	"math"

	"github.com/goloader/goloader/core/libm"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// randomAffine is torchvision's RandomAffine. v1 and v2 draw alike and reckon with it in orders of their own: see
// _get_inverse_affine_matrix in torchvision/transforms/functional.py and in v2/functional/_geometry.py.
type randomAffine struct {
	warp
	degrees   [2]float32
	translate *[2]float64
	scale     *[2]float32
	shear     [][2]float32
	fma       bool
	inverse   inverse
}

// inverse is the matrix from output to input.
type inverse func(rotation, shearX, shearY, scale float64, center, to [2]float64) [6]float64

func inverseOf(api plan.API) inverse {
	if api == plan.V2 {
		return inverseV2
	}
	return inverseV1
}

func compileRandomAffine(t plan.RandomAffine, r plan.RNG, channels uint8) (*randomAffine, error) {
	w, err := newWarp(t.Placed, channels)
	a := &randomAffine{warp: w, degrees: narrowed(t.Degrees), translate: t.Translate, fma: r.FMA, inverse: inverseOf(t.API)}
	if t.Scale != nil {
		scale := narrowed(*t.Scale)
		a.scale = &scale
	}
	for _, each := range t.Shear {
		a.shear = append(a.shear, narrowed(each))
	}
	return a, err
}

func (t *randomAffine) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	x, y := t.centerOf(in)
	return append(dst, t.step(t.drawn(in, [2]float64{x, y}, r), in)), in, nil
}

// drawn is the matrix that leaves a center where it is.
func (t *randomAffine) drawn(in recipe.Size, center [2]float64, r *Source) [6]float64 {
	drawn := func(of [2]float32) float64 { return float64(r.MT.Uniform(of[0], of[1], t.fma)) }
	rotation, scale := radians(drawn(t.degrees)), 1.0
	var to, shear [2]float64
	if t.translate != nil {
		for i, extent := range [2]int32{in.Width, in.Height} {
			most := float32(t.translate[i] * float64(extent))
			to[i] = math.RoundToEven(drawn([2]float32{-most, most}))
		}
	}
	if t.scale != nil {
		scale = drawn(*t.scale)
	}
	for i, each := range t.shear {
		shear[i] = radians(drawn(each))
	}
	return t.inverse(rotation, shear[0], shear[1], scale, center, to)
}

func (t *randomAffine) random() bool  { return true }
func (t *randomAffine) stepsMax() int { return 1 }

// In both, conversions keep Go from rounding a product and a sum at once.

func inverseV1(rotation, shearX, shearY, scale float64, center, to [2]float64) [6]float64 {
	a := libm.Cos(rotation-shearY) / libm.Cos(shearY)
	b := float64(-libm.Cos(rotation-shearY)*libm.Tan(shearX)/libm.Cos(shearY)) - libm.Sin(rotation)
	c := libm.Sin(rotation-shearY) / libm.Cos(shearY)
	d := float64(-libm.Sin(rotation-shearY)*libm.Tan(shearX)/libm.Cos(shearY)) + libm.Cos(rotation)
	m := [6]float64{d / scale, -b / scale, 0, -c / scale, a / scale, 0}
	x, y := -center[0]-to[0], -center[1]-to[1]
	m[2] += float64(m[0]*x) + float64(m[1]*y)
	m[5] += float64(m[3]*x) + float64(m[4]*y)
	m[2] += center[0]
	m[5] += center[1]
	return m
}

func inverseV2(rotation, shearX, shearY, scale float64, center, to [2]float64) [6]float64 {
	cosY, tanX := libm.Cos(shearY), libm.Tan(shearX)
	a := libm.Cos(rotation-shearY) / cosY
	b := -(float64(a*tanX) + libm.Sin(rotation))
	c := libm.Sin(rotation-shearY) / cosY
	d := libm.Cos(rotation) - float64(c*tanX)
	m := [6]float64{d / scale, -b / scale, 0, -c / scale, a / scale, 0}
	x, y := center[0]+to[0], center[1]+to[1]
	m[2] = center[0] - float64(m[0]*x) - float64(m[1]*y)
	m[5] = center[1] - float64(m[3]*x) - float64(m[4]*y)
	return m
}
