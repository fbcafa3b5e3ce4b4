package op_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
)

// recipeOf reads steps from bytes: eight for each.
func recipeOf(data []byte) []recipe.Step {
	var steps []recipe.Step
	for ; len(data) >= 8; data = data[8:] {
		number := func(i int) int32 { return int32(data[i]) - 2 }
		steps = append(steps, recipe.Step{
			Kind: recipe.Kind(int(data[0]) % (recipe.Kinds + 1)), Filter: recipe.Filter(data[1] % 40), Mode: recipe.PadMode(data[1] >> 4 % 5),
			Channels: data[2] % 4, Fill: [3]uint8{data[2], data[3], data[4]},
			Left: number(3), Top: number(4), Right: number(5) % 9, Bottom: number(6) % 9,
			Width: number(5), Height: number(6), Shift: data[1], Times: uint32(data[2] % 4), Radius: [2]float32{float32(number(3)) / 8, float32(number(4))}, Factor: float32(number(2)) / 64,
			Matrix: [8]float64{1, float64(number(3)) / 64, 3, float64(number(4)) / 64, 1, 2, float64(number(5)) / 4096, 0},
		})
		if data[7]%2 == 0 {
			steps[len(steps)-1].Weights = &[2][recipe.TapsMax]float32{{float32(number(3)) / 8}, {1, float32(number(4)) / 8}}
			steps[len(steps)-1].Table = &[3 * 256]byte{1, 2, data[1], 255: 7, 512: data[2]}
		}
	}
	return steps
}

// Whatever the steps are, Fuse says no or says the size that they say themselves, with passes that fit together.
func FuzzFuseRefusesARecipeOrKeepsItsSize(f *testing.F) {
	f.Add(uint16(50), uint16(40), []byte{0, 0, 0, 5, 6, 30, 20, 0, 1, 2, 0, 0, 0, 18, 18, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint16(9), uint16(7), []byte{4, 0x20, 0, 3, 4, 5, 6, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, width, height uint16, data []byte) {
		size := recipe.Size{Width: int32(width), Height: int32(height)}
		steps := recipeOf(data)
		passes, out, err := op.Fuse(nil, size, steps)
		if err != nil {
			return
		}
		for _, step := range steps {
			size = step.Out(size)
		}
		require.Equal(t, size, out)
		require.NotEmpty(t, passes)
		require.LessOrEqual(t, len(passes), op.PassesMax)
	})
}
