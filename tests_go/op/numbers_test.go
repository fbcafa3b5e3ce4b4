package op_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

// plane is one channel of numbers.
type plane struct {
	size    recipe.Size
	numbers []float32
}

// moved is what a step that moves pixels makes of a plane: at says where an output comes from, or that it is fill.
func (p plane) moved(size recipe.Size, fill float32, at func(x, y int) (int, int)) plane {
	made := plane{size, make([]float32, size.Pixels())}
	for y := range int(size.Height) {
		for x := range int(size.Width) {
			v := fill
			if fromX, fromY := at(x, y); fromX >= 0 && fromX < int(p.size.Width) && fromY >= 0 && fromY < int(p.size.Height) {
				v = p.numbers[fromY*int(p.size.Width)+fromX]
			}
			made.numbers[y*int(size.Width)+x] = v
		}
	}
	return made
}

// after is what a step over numbers makes of channel c; noise is what an Erase draws for it.
func (p plane) after(s recipe.Step, c int, noise []float32) plane {
	w, h := int(p.size.Width), int(p.size.Height)
	left, top := int(s.Left), int(s.Top)
	switch s.Kind {
	case recipe.Crop:
		return p.moved(s.Out(p.size), 0, func(x, y int) (int, int) { return x + left, y + top })
	case recipe.HorizontalFlip:
		return p.moved(p.size, 0, func(x, y int) (int, int) { return w - 1 - x, y })
	case recipe.VerticalFlip:
		return p.moved(p.size, 0, func(x, y int) (int, int) { return x, h - 1 - y })
	case recipe.Pad:
		return p.moved(s.Out(p.size), s.Numbers[0][c], func(x, y int) (int, int) {
			if s.Mode == recipe.Edge {
				return min(max(x-left, 0), w-1), min(max(y-top, 0), h-1)
			}
			return x - left, y - top
		})
	}
	made := plane{p.size, slices.Clone(p.numbers)}
	for i := range made.numbers {
		x, y := i%w-left, i/w-top
		inside := x >= 0 && x < int(s.Width) && y >= 0 && y < int(s.Height)
		switch {
		case s.Kind == recipe.Normalize:
			made.numbers[i] = float32(made.numbers[i]-s.Numbers[0][c]) / s.Numbers[1][c]
		case inside && noise != nil:
			made.numbers[i] = noise[(c*int(s.Height)+y)*int(s.Width)+x]
		case inside:
			made.numbers[i] = s.Numbers[0][c]
		}
	}
	return made
}

// Steps behind ToNumbers are done to float32, in their order.
func TestStepsOverNumbers(t *testing.T) {
	draw := rand.New(rand.NewPCG(6, 7))
	r := newRig(t, op.ShrinkFirst, 1)
	mt := rng.New(3)
	for range 200 {
		channels := 1 + 2*draw.IntN(2)
		store, table := r.numbers(channels, draw)
		start := noise(draw, recipe.Size{Width: between(draw, 4, 60), Height: between(draw, 4, 60)})
		steps := []recipe.Step{{Kind: recipe.Grayscale, Channels: uint8(channels)}, {Kind: recipe.ToNumbers}}
		passes, size, err := op.Fuse(nil, start.size, steps[:1])
		require.NoError(t, err)
		bytes := r.set(0, start, passes, channels*int(size.Pixels()), r.identity(channels))
		r.jobs.SetFinish(0, nil, nil)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		want := make([]plane, channels)
		for c := range want {
			want[c] = plane{size, make([]float32, size.Pixels())}
			for i := range want[c].numbers {
				want[c].numbers[i] = table[c][bytes[c*int(size.Pixels())+i]]
			}
		}
		noises := 0
		for range draw.IntN(7) {
			s := recipe.Step{Kind: []recipe.Kind{
				recipe.Crop, recipe.HorizontalFlip, recipe.VerticalFlip, recipe.Pad, recipe.Normalize, recipe.Erase,
			}[draw.IntN(6)]}
			for c := range channels {
				s.Numbers[0][c], s.Numbers[1][c] = draw.Float32()-0.5, draw.Float32()+0.1
			}
			var drawn []float32
			in := want[0].size
			switch s.Kind {
			case recipe.Crop, recipe.Erase:
				s.Width, s.Height = between(draw, 1, in.Width), between(draw, 1, in.Height)
				s.Left, s.Top = between(draw, 0, in.Width-s.Width), between(draw, 0, in.Height-s.Height)
				if count := channels * int(s.Width) * int(s.Height); s.Kind == recipe.Erase && count >= rng.NormalsMin && noises < op.NoisesMax {
					before := mt
					made, ok := mt.Draw(rng.Normals, int64(count))
					require.True(t, ok)
					bits := make([]uint64, count)
					before.DrawAll(rng.Normals, bits)
					for _, b := range bits {
						drawn = append(drawn, float32(math.Float64frombits(b)))
					}
					s.Noise = &recipe.Noise{Noise: made, Size: recipe.Size{Width: s.Width, Height: s.Height}, Channels: channels}
					noises++
				}
			case recipe.Pad:
				s.Mode = []recipe.PadMode{recipe.Constant, recipe.Edge}[draw.IntN(2)]
				s.Left, s.Top, s.Right, s.Bottom = between(draw, 0, 9), between(draw, 0, 9), between(draw, 0, 9), between(draw, 0, 9)
			}
			steps = append(steps, s)
			for c := range want {
				want[c] = want[c].after(s, c, drawn)
			}
		}
		passes, size, err = op.Fuse(nil, start.size, steps)
		require.NoError(t, err)
		require.Equal(t, want[0].size, size)
		got := r.set(0, start, passes, 4*channels*int(size.Pixels()), store)
		r.jobs.SetFinish(0, steps, nil)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		for c := range want {
			for i, number := range want[c].numbers {
				made := math.Float32frombits(binary.LittleEndian.Uint32(got[4*(c*int(size.Pixels())+i):]))
				require.Equal(t, math.Float32bits(number), math.Float32bits(made), "%v: channel %d, number %d", steps, c, i)
			}
		}
	}
}

// What is not known over numbers is a mistake of the caller, and nothing is touched.
func TestPassesOverNumbersThatAreNone(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	draw := rand.New(rand.NewPCG(1, 1))
	floats, _ := r.numbers(3, draw)
	start := noise(draw, recipe.Size{Width: 6, Height: 5})
	first := op.Pass{Kind: op.Resample, Src: op.Window{Width: 6, Height: 5}, Width: 6, Height: 5, Out: op.Window{Width: 6, Height: 5}}
	over := func(p op.Pass) op.Pass { p.OverNumbers = 1; return p }
	for name, c := range map[string]struct {
		passes []op.Pass
		store  *op.Store
		why    string
	}{
		"of no bytes":     {[]op.Pass{over(first)}, floats, "no bytes become numbers"},
		"of bytes":        {[]op.Pass{first, over(first)}, r.store(3, 1, make([]byte, 3*256)), "no bytes become numbers"},
		"bytes again":     {[]op.Pass{first, over(first), first}, floats, "not known over numbers"},
		"not over":        {[]op.Pass{first, {Kind: op.Normalize}}, floats, "known over numbers alone"},
		"another kind":    {[]op.Pass{first, over(op.Pass{Kind: op.Equalize})}, floats, "not known over numbers"},
		"a resize":        {[]op.Pass{first, over(op.Pass{Kind: op.Resample, Src: first.Src, Width: 3, Height: 5, Out: op.Window{Width: 3, Height: 5}})}, floats, "not known over numbers"},
		"outside":         {[]op.Pass{first, over(op.Pass{Kind: op.Erase, Out: op.Window{X: 3, Width: 4, Height: 1}})}, floats, "not inside the image"},
		"noise of no job": {[]op.Pass{first, over(op.Pass{Kind: op.Erase, Out: first.Src, Noise: 1})}, floats, "no such noise"},
	} {
		r.set(0, start, c.passes, 4*3*6*5, c.store)
		r.jobs.SetFinish(0, nil, nil)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.BadJob, r.jobs.Status(0), name)
		require.Contains(t, r.jobs.Why(0), c.why, name)
	}
}
