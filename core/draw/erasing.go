package draw

import (
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// randomErasing is torchvision's RandomErasing: get_params in torchvision/transforms/transforms.py, which v2 repeats.
type randomErasing struct {
	areaDraw
	p     float32
	table int32
}

func compileRandomErasing(t plan.RandomErasing, r plan.RNG) transform {
	return randomErasing{newAreaDraw(t.Scale, t.LogRatio, r, fitInside), float32(t.P), t.Table}
}

func (t randomErasing) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.MT.Rand() >= t.p {
		return dst, in, nil
	}
	for range areaTries {
		height, width, fits, err := t.extents(in, r)
		if err != nil {
			return dst, in, err
		}
		if !fits {
			continue
		}
		top := offset(r, in.Height-height)
		left := offset(r, in.Width-width)
		if width > 0 && height > 0 {
			dst = append(dst, recipe.Step{
				Kind: recipe.Patch, Left: left, Top: top, Width: width, Height: height, Number: t.table,
			})
		}
		break
	}
	return dst, in, nil
}

func (t randomErasing) random() bool  { return true }
func (t randomErasing) stepsMax() int { return 1 }

// fitInside rounds, and says whether a rectangle, which may be empty, is smaller than the image both ways.
func fitInside(height, width float64, in recipe.Size) (h, w int32, fits bool) {
	height, width = math.RoundToEven(height), math.RoundToEven(width)
	if height < float64(in.Height) && width < float64(in.Width) {
		return int32(height), int32(width), true
	}
	return 0, 0, false
}
