package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/recipe"
)

// Whether a file is decoded once shows in no batch.
func TestAFileIsDecodedOnceWhereItsImagesTakeMoreThanItHas(t *testing.T) {
	resize := recipe.Step{Kind: recipe.Resize, Width: 40, Height: 40}
	crop := func(left, side int32) recipe.Step {
		return recipe.Step{Kind: recipe.Crop, Left: left, Width: side, Height: side}
	}
	flip, patch := recipe.Step{Kind: recipe.HorizontalFlip}, recipe.Step{Kind: recipe.Patch}
	for _, each := range []struct {
		what   string
		of     [][]recipe.Step
		begin  int
		shared bool
	}{
		{"a FiveCrop", [][]recipe.Step{{resize, crop(0, 32)}, {resize, crop(8, 32)}, {resize, crop(4, 32)}}, 1, true},
		{"a TenCrop", [][]recipe.Step{{resize, crop(0, 20)}, {resize, flip, crop(0, 36)}, {resize, flip, flip}}, 1, true},
		{"the same twice", [][]recipe.Step{{resize, flip, patch}, {resize, flip, patch}}, 2, true},
		{"small parts", [][]recipe.Step{{crop(0, 20)}, {crop(8, 20)}, {crop(9, 20)}}, 0, false},
		{"all of it", [][]recipe.Step{{}, {}}, 0, true},
		{"one image", [][]recipe.Step{{resize, crop(0, 32)}}, 0, false},
	} {
		var steps []recipe.Step
		f := family{size: recipe.Size{Width: 40, Height: 40}, planes: 3}
		for _, of := range each.of {
			first := int32(len(steps))
			steps = append(steps, of...)
			f.of = append(f.of, sample{steps: [2]int32{first, int32(len(steps))}})
		}
		if len(f.of) > 1 {
			f.begin(steps)
		}
		require.Len(t, f.steps, each.begin, each.what)
		require.Equal(t, each.shared, f.isShared(steps), each.what)
	}
}
