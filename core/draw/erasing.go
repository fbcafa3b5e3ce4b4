package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// randomErasing is torchvision's RandomErasing: get_params in torchvision/transforms/transforms.py, which v2 repeats.
type randomErasing struct {
	areaDraw
	p        float32
	table    int32 // 0 over numbers
	noise    plan.DrawKind
	channels uint8
}

func compileRandomErasing(t plan.RandomErasing, r plan.RNG, channels uint8) transform {
	return randomErasing{newAreaDraw(t.Scale, t.LogRatio, r, fitInside), float32(t.P), t.Table, t.Noise, channels}
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
		step := recipe.Step{Kind: recipe.Patch, Width: width, Height: height, Number: t.table}
		if t.table == 0 {
			step.Kind = recipe.Erase
		}
		if t.noise != "" && width > 0 && height > 0 {
			noise, ok := r.MT.Draw(noiseKinds[t.noise], int64(t.channels)*int64(width)*int64(height))
			if !ok {
				return dst, in, fmt.Errorf("noise of %dx%d pixels, which torch draws in another way", width, height)
			}
			step.Noise = &recipe.Noise{Noise: noise, Size: recipe.Size{Width: width, Height: height}, Channels: int(t.channels)}
		}
		step.Top, step.Left = offset(r, in.Height-height), offset(r, in.Width-width)
		if width > 0 && height > 0 {
			dst = append(dst, step)
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
