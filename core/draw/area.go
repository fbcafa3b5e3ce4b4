package draw

import (
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// areaTries is how often torchvision draws a rectangle before it gives up.
const areaTries = 10

// areaDraw is how torchvision draws a rectangle's extents: an area, as a share of the image's, and an aspect ratio.
type areaDraw struct {
	scale, logRatio [2]float32
	fma, exact      bool
	// fit rounds two extents, of which the first grows with the ratio, and says whether they can be had; if not they are 0.
	fit func(long, short float64, in recipe.Size) (a, b int32, fits bool)
}

func newAreaDraw(
	scale [2]float64, logRatio [2]float32, r plan.RNG,
	fit func(long, short float64, in recipe.Size) (a, b int32, fits bool),
) areaDraw {
	return areaDraw{[2]float32{float32(scale[0]), float32(scale[1])}, logRatio, r.FMA, r.CorrectlyRoundedExp, fit}
}

// extents are the rectangle's for one try.
func (t areaDraw) extents(in recipe.Size, r *Source) (a, b int32, fits bool, err error) {
	area := float64(int64(in.Width)*int64(in.Height)) * float64(r.MT.Uniform(t.scale[0], t.scale[1], t.fma))
	log := r.MT.Uniform(t.logRatio[0], t.logRatio[1], t.fma)
	ratio := exp32(log)
	long, short := math.Sqrt(area*float64(ratio)), math.Sqrt(area/float64(ratio))
	a, b, fits = t.fit(long, short, in)
	if t.exact || !(nearHalf(long) || nearHalf(short)) {
		return a, b, fits, nil
	}
	for _, other := range [2]float32{math.Nextafter32(ratio, 0), math.Nextafter32(ratio, math.MaxFloat32)} {
		if oa, ob, of := t.extentsFor(area, other, in); oa != a || ob != b || of != fits {
			answer, known := r.Exp.find(log)
			if !known {
				return 0, 0, false, &NeedExp{log}
			}
			a, b, fits = t.extentsFor(area, answer, in)
			return a, b, fits, nil
		}
	}
	return a, b, fits, nil
}

func (t areaDraw) extentsFor(area float64, ratio float32, in recipe.Size) (a, b int32, fits bool) {
	return t.fit(math.Sqrt(area*float64(ratio)), math.Sqrt(area/float64(ratio)), in)
}

// nearHalf says whether x might round otherwise had the ratio under its root been 1 ulp off: that moves x by less than
// x * 2^-24, since a float32's ulp is at most 2^-23 of it; twice that covers the float64 roundings.
func nearHalf(x float64) bool {
	return math.Abs(x-math.Floor(x)-0.5) <= x*0x1p-23
}
