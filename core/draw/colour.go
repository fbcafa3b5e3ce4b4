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
		dst = append(dst, jitter(int(i), drawn[i], t.tensor, t.fused))
	}
	return dst, in, nil
}

// jitter is one of torchvision's changes, by its number, of a tensor or not.
func jitter(i int, factor float32, tensor, fused bool) recipe.Step {
	step := recipe.Step{Kind: jitters[i], Factor: factor}
	if tensor && step.Kind != recipe.Brightness { // which is alike
		step.Kind, step.Colour, step.Fused = recipe.TorchColour, torchJitters[i], fused
		if step.Colour != recipe.TorchHue {
			step.Rest = float32(1 - float64(factor))
		}
	} else if step.Kind == recipe.Hue {
		step.Shift, step.Factor = uint8(int32(float64(factor)*255)), 0
	}
	return step
}

func (t colorJitter) random() bool  { return true }
func (t colorJitter) stepsMax() int { return len(t.factors) }

// photometricDistort is v2's RandomPhotometricDistort.
type photometricDistort struct {
	p             float32
	factors       [4][2]float32 // by torchvision's numbers
	fma           bool
	tensor, fused bool
	permutation   channelPermutation
}

func compilePhotometricDistort(t plan.RandomPhotometricDistort, r plan.RNG, channels uint8) transform {
	made := photometricDistort{float32(t.P), [4][2]float32{}, r.FMA, t.Tensor, t.Fused, channelPermutation(channels)}
	for i, of := range [4][2]float64{t.Brightness, t.Contrast, t.Saturation, t.Hue} {
		made.factors[i] = [2]float32{float32(of[0]), float32(of[1])}
	}
	return made
}

func (t photometricDistort) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	var drawn [4]float32
	var happens [4]bool
	for i, of := range t.factors {
		if happens[i] = r.MT.Rand() < t.p; happens[i] {
			drawn[i] = r.MT.Uniform(of[0], of[1], t.fma)
		}
	}
	order := [4]int{0, 2, 3, 1}
	if r.MT.Rand() < 0.5 { // contrast before saturation
		order = [4]int{0, 1, 2, 3}
	}
	permutes := r.MT.Rand() < t.p
	for _, i := range order {
		if happens[i] {
			dst = append(dst, jitter(i, drawn[i], t.tensor, t.fused))
		}
	}
	if permutes {
		return t.permutation.draw(dst, in, r)
	}
	return dst, in, nil
}

func (t photometricDistort) random() bool  { return true }
func (t photometricDistort) stepsMax() int { return len(t.factors) + 1 }

// channelPermutation is v2's RandomChannelPermutation of so many channels.
type channelPermutation uint8

func (t channelPermutation) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	var order [3]int64
	r.MT.Permute(order[:t])
	if t == 1 {
		return dst, in, nil
	}
	step := recipe.Step{Kind: recipe.Select, Channels: 3}
	for i, channel := range order {
		step.Fill[i] = uint8(channel)
	}
	return append(dst, step), in, nil
}

func (t channelPermutation) random() bool  { return true }
func (t channelPermutation) stepsMax() int { return 1 }
