package draw

import "github.com/goloader/goloader/core/recipe"

// grayscale is torchvision's Grayscale. Of an image with one channel it makes the same image, or three times that.
type grayscale struct{ from, to uint8 }

func (t grayscale) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	if t.from == 1 && t.to == 1 {
		return dst, in, nil
	}
	return append(dst, recipe.Step{Kind: recipe.Grayscale, Channels: t.to}), in, nil
}

func (t grayscale) random() bool  { return false }
func (t grayscale) stepsMax() int { return 1 }

// torchGrayscale is v2's of a uint8 tensor.
type torchGrayscale struct {
	grayscale
	fused bool
}

func (t torchGrayscale) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	if t.from == 3 {
		dst = append(dst, recipe.Step{Kind: recipe.TorchColour, Colour: recipe.TorchGrey, Fused: t.fused})
	}
	if t.to == 3 {
		dst = append(dst, recipe.Step{Kind: recipe.Select, Channels: 3})
	}
	return dst, in, nil
}

func (t torchGrayscale) stepsMax() int { return 2 }
