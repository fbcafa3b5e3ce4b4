package draw

import (
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// colorJitter is torchvision's ColorJitter; v1 and v2 draw alike.
type colorJitter struct {
	factors [4]*[2]float32 // by torchvision's numbers; nil where nothing is drawn
	fma     bool
	tensor  bool
	fused   bool
}

var (
	jitters      = [4]recipe.Kind{recipe.Brightness, recipe.Contrast, recipe.Saturation, recipe.Hue}
	torchJitters = [4]recipe.Colour{1: recipe.TorchContrast, 2: recipe.TorchSaturation, 3: recipe.TorchHue}
)

func compileColorJitter(t plan.ColorJitter, r plan.RNG) transform {
	j := colorJitter{fma: r.FMA, tensor: t.Tensor, fused: t.Fused}
	for i, factor := range [4]*[2]float64{t.Brightness, t.Contrast, t.Saturation, t.Hue} {
		if factor != nil {
			j.factors[i] = &[2]float32{float32(factor[0]), float32(factor[1])}
		}
	}
	return j
}

func (t colorJitter) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	var order [4]int64
	r.MT.Permute(order[:])
	var drawn [4]float32
	for i, factor := range t.factors {
		if factor != nil {
			drawn[i] = r.MT.Uniform(factor[0], factor[1], t.fma)
		}
	}
	for _, i := range order {
		if t.factors[i] == nil {
			continue
		}
		step := recipe.Step{Kind: jitters[i], Factor: drawn[i]}
		if t.tensor && step.Kind != recipe.Brightness { // which is alike
			step.Kind, step.Colour, step.Fused = recipe.TorchColour, torchJitters[i], t.fused
			if step.Colour != recipe.TorchHue {
				step.Rest = float32(1 - float64(drawn[i]))
			}
		} else if step.Kind == recipe.Hue {
			step.Shift, step.Factor = uint8(int32(float64(drawn[i])*255)), 0
		}
		dst = append(dst, step)
	}
	return dst, in, nil
}

func (t colorJitter) random() bool  { return true }
func (t colorJitter) stepsMax() int { return len(t.factors) }
