package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// randomResizedCrop is torchvision's RandomResizedCrop: get_params in torchvision/transforms/transforms.py, which v2
// repeats.
type randomResizedCrop struct {
	size               recipe.Size
	scale, logRatio    [2]float32
	ratioMin, ratioMax float64
	filter             recipe.Filter
	fma, exact         bool
}

func compileRandomResizedCrop(t plan.RandomResizedCrop, r plan.RNG) (transform, error) {
	if t.API != plan.V1 && t.API != plan.V2 {
		return nil, fmt.Errorf("unknown api %q", t.API)
	}
	filter, err := filterOf(t.Filter)
	return &randomResizedCrop{
		size:     sizeFrom(t.Size),
		scale:    [2]float32{float32(t.Scale[0]), float32(t.Scale[1])},
		logRatio: t.LogRatio,
		ratioMin: t.Ratio[0],
		ratioMax: t.Ratio[1],
		filter:   filter,
		fma:      r.FMA,
		exact:    r.CorrectlyRoundedExp,
	}, err
}

func (t *randomResizedCrop) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	left, top, width, height, err := t.window(in, r)
	if err != nil {
		return dst, in, err
	}
	if width == 0 || height == 0 {
		// The central crop of an image much narrower than any ratio can round to nothing. Pillow crops that, and
		// resizes nothing to black.
		dst, in, err = padding{}.add(dst, in, plan.Sides{Right: 1})
		if err != nil {
			return dst, in, err
		}
		left, top, width, height = in.Width-1, 0, 1, 1
	}
	dst, in = crop(dst, in, left, top, width, height)
	dst, in = resized(dst, in, t.size, t.filter)
	return dst, in, nil
}

func (t *randomResizedCrop) random() bool                        { return true }
func (t *randomResizedCrop) stepsMax() int                       { return 3 }
func (t *randomResizedCrop) out(recipe.Size) (recipe.Size, bool) { return t.size, true }

func (t *randomResizedCrop) window(in recipe.Size, r *Source) (left, top, width, height int32, err error) {
	area := float64(int64(in.Width) * int64(in.Height))
	for range 10 {
		target := area * float64(r.MT.Uniform(t.scale[0], t.scale[1], t.fma))
		log := r.MT.Uniform(t.logRatio[0], t.logRatio[1], t.fma)
		w, h, err := t.extents(target, log, in, r)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		if w > 0 {
			top = offset(r, in.Height-h)
			left = offset(r, in.Width-w)
			return left, top, w, h, nil
		}
	}
	width, height = in.Width, in.Height
	switch ratio := float64(in.Width) / float64(in.Height); {
	case ratio < t.ratioMin:
		height = int32(math.RoundToEven(float64(width) / t.ratioMin))
	case ratio > t.ratioMax:
		width = int32(math.RoundToEven(float64(height) * t.ratioMax))
	}
	return (in.Width - width) / 2, (in.Height - height) / 2, width, height, nil
}

// extents are the crop's for one try, both 0 if it does not fit into the image.
func (t *randomResizedCrop) extents(area float64, log float32, in recipe.Size, r *Source) (w, h int32, err error) {
	ratio := exp32(log)
	width, height := math.Sqrt(area*float64(ratio)), math.Sqrt(area/float64(ratio))
	w, h = fit(width, height, in)
	if t.exact || !(nearHalf(width) || nearHalf(height)) {
		return w, h, nil
	}
	below, above := math.Nextafter32(ratio, 0), math.Nextafter32(ratio, math.MaxFloat32)
	for _, other := range [2]float32{below, above} {
		if ow, oh := extentsFor(area, other, in); ow != w || oh != h {
			answer, known := r.Exp.find(log)
			if !known {
				return 0, 0, &NeedExp{log}
			}
			w, h = extentsFor(area, answer, in)
			return w, h, nil
		}
	}
	return w, h, nil
}

func extentsFor(area float64, ratio float32, in recipe.Size) (w, h int32) {
	return fit(math.Sqrt(area*float64(ratio)), math.Sqrt(area/float64(ratio)), in)
}

// fit rounds, and gives zeros for a window that is empty or larger than the image.
func fit(width, height float64, in recipe.Size) (w, h int32) {
	width, height = math.RoundToEven(width), math.RoundToEven(height)
	if 0 < width && width <= float64(in.Width) && 0 < height && height <= float64(in.Height) {
		return int32(width), int32(height)
	}
	return 0, 0
}

// nearHalf says whether x might round otherwise had the ratio under its root been 1 ulp off: that moves x by less than
// x * 2^-24, since a float32's ulp is at most 2^-23 of it; twice that covers the float64 roundings.
func nearHalf(x float64) bool {
	return math.Abs(x-math.Floor(x)-0.5) <= x*0x1p-23
}
