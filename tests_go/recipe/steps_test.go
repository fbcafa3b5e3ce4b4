// Package recipe_test has the laws of a recipe's wire form.
package recipe_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/recipe"
)

// anyStep is a step of a kind, with whatever numbers it takes.
func anyStep(r *rand.Rand, kind recipe.Kind) recipe.Step {
	s := recipe.Step{
		Kind: kind, Filter: recipe.Nearest, Mode: recipe.PadMode(r.IntN(4)), Channels: uint8(r.IntN(256)), Shift: uint8(r.IntN(256)),
		Fill: [3]uint8{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256))},
		Left: r.Int32(), Top: -r.Int32(), Right: r.Int32(), Bottom: r.Int32(), Width: r.Int32(), Height: r.Int32(),
	}
	switch kind {
	case recipe.Lookup:
		s.Table = new([3 * 256]byte)
		for i := range s.Table {
			s.Table[i] = byte(r.IntN(256))
		}
	case recipe.Brightness, recipe.Contrast, recipe.Saturation, recipe.Sharpness:
		s.Factor = r.Float32()
	case recipe.Affine, recipe.Perspective, recipe.TorchAffine, recipe.TorchPerspective:
		numbers := 6
		if kind == recipe.Perspective || kind == recipe.TorchPerspective {
			numbers = 8
		}
		for i := range numbers {
			s.Matrix[i] = r.NormFloat64()
		}
		if kind == recipe.TorchAffine || kind == recipe.TorchPerspective {
			s.Outside, s.Fused, s.FusedGrid = recipe.Outside(r.IntN(3)), r.IntN(2) == 1, r.IntN(2) == 1
		}
	case recipe.Rank:
		s.Shift = uint8(r.IntN(9))
	case recipe.Patch:
		s.Number = r.Int32()
	case recipe.BoxBlur:
		s.Radius, s.Times = [2]float32{r.Float32(), r.Float32()}, 1+r.Uint32N(recipe.TimesMax)
	case recipe.Convolve, recipe.ConvolveUnit, recipe.Stencil:
		s.Weights = new([2][recipe.TapsMax]float32)
		s.Width, s.Height = 5, 3
		for axis := range s.Weights {
			for k := range s.Weights[axis] {
				if kind != recipe.Stencil || (axis == 0 && k < 5*5) {
					s.Weights[axis][k] = r.Float32()
				}
			}
		}
		if kind == recipe.Stencil {
			s.Factor = -r.Float32()
		}
	case recipe.Zoom:
		s.Width, s.Height, s.Scale, s.Smooth = r.Int32(), r.Int32(), r.Float64(), new([2][recipe.SmoothMax]float64)
		for axis := range s.Smooth {
			for k := range s.Smooth[axis] {
				s.Smooth[axis][k] = r.Float64()
			}
		}
	case recipe.TorchColour:
		s.Factor, s.Rest, s.Fused = r.Float32()/2, r.Float32(), r.IntN(2) == 1
		s.Colour = recipe.Colour(r.IntN(int(recipe.TorchAutocontrast) + 1))
	}
	return s
}

func TestStepsThatAreWrittenAreRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var wire []byte
	var steps []recipe.Step
	for range 20 {
		for kind := range recipe.Wired {
			steps = append(steps, anyStep(r, recipe.Kind(kind)))
			wire = recipe.AppendStep(wire, steps[len(steps)-1])
		}
	}
	read, err := recipe.ReadSteps(wire)
	require.NoError(t, err)
	require.Equal(t, steps, read)
}

func TestTheLastKindsHaveNoWireForm(t *testing.T) {
	for kind := recipe.Wired; kind < recipe.Kinds; kind++ {
		_, err := recipe.ReadSteps(recipe.AppendStep(nil, recipe.Step{Kind: recipe.Kind(kind)}))
		require.ErrorIs(t, err, recipe.ErrWire)
	}
}

func TestCutSplitsStepsBeforeWhatIsDoneToAFinishedSample(t *testing.T) {
	kinds := func(steps []recipe.Step) (made []recipe.Kind) {
		for _, s := range steps {
			made = append(made, s.Kind)
		}
		return made
	}
	steps := []recipe.Step{{Kind: recipe.Crop}, {Kind: recipe.Patch}, {Kind: recipe.Resize}, {Kind: recipe.Patch}, {Kind: recipe.Arithmetic}}
	before, patches, finish := recipe.Cut(steps)
	require.Equal(t, []recipe.Kind{recipe.Crop, recipe.Patch, recipe.Resize}, kinds(before))
	require.Equal(t, []recipe.Kind{recipe.Patch}, kinds(patches))
	require.Equal(t, []recipe.Kind{recipe.Arithmetic}, kinds(finish))
	before, patches, finish = recipe.Cut(steps[:1])
	require.Len(t, before, 1)
	require.Empty(t, append(patches, finish...))
}
