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
	areaDraw
	size               recipe.Size
	ratioMin, ratioMax float64
	filter             recipe.Filter
}

func compileRandomResizedCrop(t plan.RandomResizedCrop, r plan.RNG) (transform, error) {
	if t.API != plan.V1 && t.API != plan.V2 {
		return nil, fmt.Errorf("unknown api %q", t.API)
	}
	filter, err := filterOf(t.Filter)
	return &randomResizedCrop{
		areaDraw: newAreaDraw(t.Scale, t.LogRatio, r, fit),
		size:     sizeFrom(t.Size),
		ratioMin: t.Ratio[0],
		ratioMax: t.Ratio[1],
		filter:   filter,
	}, err
}

func (t *randomResizedCrop) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	left, top, width, height, err := t.window(in, r)
	if err != nil {
		return dst, in, err
	}
	if width == 0 || height == 0 {
		if t.filter >= recipe.TorchBilinear {
			return dst, in, &Refused{plan.RandomResizedCrop{}.Op(), "torch resizes no empty tensor"}
		}
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

func (t *randomResizedCrop) random() bool  { return true }
func (t *randomResizedCrop) stepsMax() int { return 3 }

func (t *randomResizedCrop) window(in recipe.Size, r *Source) (left, top, width, height int32, err error) {
	for range areaTries {
		w, h, fits, err := t.extents(in, r)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		if fits {
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

// fit rounds, and says whether a window is neither empty nor larger than the image.
func fit(width, height float64, in recipe.Size) (w, h int32, fits bool) {
	width, height = math.RoundToEven(width), math.RoundToEven(height)
	if 0 < width && width <= float64(in.Width) && 0 < height && height <= float64(in.Height) {
		return int32(width), int32(height), true
	}
	return 0, 0, false
}
