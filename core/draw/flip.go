package draw

import "github.com/goloader/goloader/core/recipe"

// flip is torchvision's RandomHorizontalFlip or RandomVerticalFlip.
type flip struct {
	kind recipe.Kind
	p    float32 // torch compares float32 with float32
}

func (t flip) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.MT.Rand() < t.p {
		dst = append(dst, recipe.Step{Kind: t.kind})
	}
	return dst, in, nil
}

func (t flip) random() bool  { return true }
func (t flip) stepsMax() int { return 1 }
