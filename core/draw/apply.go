package draw

import (
	"fmt"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// randomApply is whatever torchvision does at random: RandomApply, RandomGrayscale, RandomInvert ...
type randomApply struct {
	p       float32
	program *Program
}

func compileRandomApply(t plan.RandomApply, r plan.RNG, channels uint8) (transform, error) {
	program, err := compileAll(t.Transforms, channels, r)
	return randomApply{float32(t.P), program}, err
}

func (t randomApply) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.MT.Rand() < t.p {
		return t.program.Draw(dst, in, r)
	}
	return dst, in, nil
}

func (t randomApply) random() bool  { return true }
func (t randomApply) stepsMax() int { return t.program.StepsMax() }

// steps are fixed.
type steps []recipe.Step

// compileSteps reads steps that leave an image as large as it is. A warp's or a turn's are for images of the size that it
// was recorded for, which the plan's maker has to know; on others they are an error of their batch.
func compileSteps(wire []byte) (steps, error) {
	read, err := recipe.ReadSteps(wire)
	if err != nil {
		return nil, err
	}
	for i, step := range read {
		switch step.Kind {
		case recipe.Crop, recipe.Resize, recipe.Pad, recipe.Grayscale, recipe.OpenCVGray, recipe.Select:
			return nil, fmt.Errorf("steps[%d]: it changes an image's shape", i)
		}
	}
	return read, nil
}

func (t steps) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	return append(dst, t...), in, nil
}

func (t steps) random() bool  { return false }
func (t steps) stepsMax() int { return len(t) }
