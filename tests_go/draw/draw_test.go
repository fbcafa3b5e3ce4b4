// Torchvision's own draws are the measure of core/draw: tests_py/draw holds both against each other. Here are the laws
// of the interface, which torchvision does not know.
package draw_test

import (
	"bytes"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

var square = plan.HeightWidth{Height: 224, Width: 224}

func training(api plan.API) []plan.Transform {
	return []plan.Transform{
		plan.RandomResizedCrop{Size: square, Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3},
			LogRatio: [2]float32{-0.28768209, 0.28768212}, Filter: plan.Bilinear, API: api},
		plan.RandomHorizontalFlip{P: 0.5},
	}
}

func compile(t testing.TB, r plan.RNG, transforms ...plan.Transform) *draw.Program {
	p, err := draw.Compile(plan.Part{Transforms: transforms}, r)
	require.NoError(t, err)
	return p
}

func source(seed uint64) *draw.Source {
	mt := rng.New(seed)
	return &draw.Source{MT: &mt, Exp: &draw.Answers{}}
}

func TestWhatComesOutIsAsLargeAsTheTransformsSay(t *testing.T) {
	resize := func(max int32, size ...int32) plan.Resize {
		return plan.Resize{Size: size, MaxSize: max, Filter: plan.Bilinear}
	}
	pad := plan.Pad{Padding: plan.Sides{Left: 1, Top: 2, Right: 3, Bottom: 4}, Fill: []uint8{0}, PaddingMode: plan.Edge}
	crop := plan.CenterCrop{Size: plan.HeightWidth{Height: 20, Width: 30}}
	flip := plan.RandomVerticalFlip{P: 1}
	for _, c := range []struct {
		transforms []plan.Transform
		want       recipe.Size
	}{
		{nil, recipe.Size{Width: 50, Height: 40}},
		{[]plan.Transform{flip, pad, plan.Grayscale{Channels: 3}}, recipe.Size{Width: 54, Height: 46}},
		{[]plan.Transform{resize(0, 10)}, recipe.Size{Width: 12, Height: 10}},
		{[]plan.Transform{resize(10)}, recipe.Size{Width: 10, Height: 8}},
		{[]plan.Transform{resize(0, 10, 11)}, recipe.Size{Width: 11, Height: 10}},
		{[]plan.Transform{resize(0, 256), crop}, recipe.Size{Width: 30, Height: 20}},
		{[]plan.Transform{crop, flip, pad}, recipe.Size{Width: 34, Height: 26}},
		{[]plan.Transform{crop, resize(0, 10)}, recipe.Size{Width: 15, Height: 10}},
		{[]plan.Transform{crop, resize(14, 10)}, recipe.Size{Width: 14, Height: 9}},
		{[]plan.Transform{crop, resize(60)}, recipe.Size{Width: 60, Height: 40}},
		{training(plan.V1), recipe.Size{Width: 224, Height: 224}},
	} {
		p := compile(t, plan.RNG{}, c.transforms...)
		steps, out, err := p.Draw(nil, recipe.Size{Width: 50, Height: 40}, source(1))
		require.NoError(t, err)
		require.LessOrEqual(t, len(steps), p.StepsMax())
		require.Equal(t, c.want, out, "%v", c.transforms)
	}
}

func TestOnlyRandomTransformsTouchTheGenerator(t *testing.T) {
	still := []plan.Transform{plan.Resize{Size: []int32{5}, Filter: plan.Box}, plan.CenterCrop{Size: square},
		plan.Grayscale{Channels: 1}}
	for _, transforms := range [][]plan.Transform{still, training(plan.V2)} {
		p := compile(t, plan.RNG{}, transforms...)
		r := source(4)
		before := *r.MT
		_, _, err := p.Draw(nil, recipe.Size{Width: 30, Height: 40}, r)
		require.NoError(t, err)
		require.Equal(t, p.Random(), before != *r.MT)
	}
}

// Steps follow each other: a crop lies inside what the steps before it left, and the size that comes out is the last
// step's.
func TestRecipesAreSound(t *testing.T) {
	transforms := append(training(plan.V1),
		plan.Pad{Padding: plan.Sides{Left: 3}, Fill: []uint8{7}, PaddingMode: plan.Constant},
		plan.RandomCrop{Size: plan.HeightWidth{Height: 100, Width: 300}, PadIfNeeded: true, Fill: []uint8{1, 2, 3},
			PaddingMode: plan.Constant, API: plan.V2})
	p := compile(t, plan.RNG{CorrectlyRoundedExp: true}, transforms...)
	r := source(8)
	for i := range int32(3000) {
		in := recipe.Size{Width: 1 + i%701, Height: 1 + i*7%503}
		steps, out, err := p.Draw(nil, in, r)
		require.NoError(t, err)
		for _, s := range steps {
			if s.Kind == recipe.Crop {
				require.True(t, s.Left >= 0 && s.Top >= 0 && s.Width > 0 && s.Height > 0, "%+v", s)
				require.True(t, s.Left+s.Width <= in.Width && s.Top+s.Height <= in.Height, "%+v of %v", s, in)
			}
			in = s.Out(in)
		}
		require.Equal(t, out, in)
	}
}

func TestARefusalKeepsWhatWasDrawn(t *testing.T) {
	for api, text := range map[plan.API]string{
		plan.V1: "Required crop size (50, 60) is larger than input image size (40, 30)",
		plan.V2: "Required crop size (50, 60) is larger than input image size (40, 30).",
	} {
		p := compile(t, plan.RNG{}, plan.RandomHorizontalFlip{P: 0.5},
			plan.RandomCrop{Size: plan.HeightWidth{Height: 50, Width: 60},
				Fill: []uint8{0}, PaddingMode: plan.Constant, API: api})
		r := source(1)
		want := *r.MT
		want.Uint32()
		_, _, err := p.Draw(nil, recipe.Size{Width: 30, Height: 40}, r)
		var refused *draw.Refused
		require.ErrorAs(t, err, &refused)
		require.EqualError(t, err, text)
		require.Equal(t, "random_crop", refused.Op)
		require.Equal(t, want, *r.MT)
	}
}

func TestImagesThatCannotBeAreErrors(t *testing.T) {
	p := compile(t, plan.RNG{}, plan.Resize{Size: []int32{1 << 20}, Filter: plan.Box})
	for _, in := range []recipe.Size{{}, {Width: 5}, {Height: -5, Width: 5}} {
		_, _, err := p.Draw(nil, in, source(1))
		require.ErrorContains(t, err, "image of")
	}
	_, _, err := p.Draw(nil, recipe.Size{Width: 1, Height: math.MaxInt32}, source(1))
	require.ErrorContains(t, err, "too large")
	p = compile(t, plan.RNG{}, plan.Resize{Size: []int32{10}, MaxSize: 20, Filter: plan.Box})
	_, _, err = p.Draw(nil, recipe.Size{Width: 1, Height: 1000}, source(1))
	require.EqualError(t, err, "height and width must be > 0")
	p = compile(t, plan.RNG{}, plan.Pad{Padding: plan.Sides{Left: 1}, Fill: []uint8{0}, PaddingMode: plan.Edge})
	_, _, err = p.Draw(nil, recipe.Size{Width: math.MaxInt32, Height: 1}, source(1))
	require.ErrorContains(t, err, "too large")
}

func TestCompileNamesWhatItDoesNotKnow(t *testing.T) {
	for text, transform := range map[string]plan.Transform{
		`resize: unknown filter "cubic"`:                   plan.Resize{Size: []int32{3}, Filter: "cubic"},
		`resize: size [] with max_size 0`:                  plan.Resize{Filter: plan.Box},
		`pad: unknown padding_mode "wrap"`:                 plan.Pad{Fill: []uint8{0}, PaddingMode: "wrap"},
		`pad: fill of 0 values for an image of 3 channels`: plan.Pad{PaddingMode: plan.Edge},
		`random_crop: unknown api ""`:                      plan.RandomCrop{Fill: []uint8{0}, PaddingMode: plan.Edge},
		`random_resized_crop: unknown api "v3"`:            plan.RandomResizedCrop{Filter: plan.Box, API: "v3"},
	} {
		_, err := draw.Compile(plan.Part{Transforms: []plan.Transform{transform}}, plan.RNG{})
		require.EqualError(t, err, "transforms[0], "+text)
	}
}

// The first draw that hangs on torch.exp says so; put back and told the answer, it goes on, and either neighbour of the
// nearest float32 is taken at its word.
func TestADrawThatNeedsExpIsDrawnAgain(t *testing.T) {
	p := compile(t, plan.RNG{FMA: true}, training(plan.V1)...)
	in := recipe.Size{Width: 500, Height: 375}
	r := source(2)
	var before rng.MT19937
	var need *draw.NeedExp
	for range 200_000 {
		before = *r.MT
		if _, _, err := p.Draw(nil, in, r); err != nil {
			require.ErrorAs(t, err, &need)
			break
		}
	}
	require.NotNil(t, need, "no draw asked")

	nearest := float32(math.Exp(float64(need.X)))
	recipes := map[recipe.Step]bool{}
	for _, y := range []float32{math.Nextafter32(nearest, 0), nearest, math.Nextafter32(nearest, 9)} {
		*r.MT = before
		require.NoError(t, r.Exp.Learn(need.X, y))
		steps, _, err := p.Draw(nil, in, r)
		require.NoError(t, err)
		recipes[steps[0]] = true
	}
	require.Greater(t, len(recipes), 1, "the answer matters")

	*r.MT = before
	exact := compile(t, plan.RNG{FMA: true, CorrectlyRoundedExp: true}, training(plan.V1)...)
	_, _, err := exact.Draw(nil, in, &draw.Source{MT: r.MT})
	require.NoError(t, err, "a torch whose exp is correctly rounded is never asked")
}

// One Program and one Answers serve many goroutines, each with a generator of its own.
func TestGoroutinesShareAProgram(t *testing.T) {
	p := compile(t, plan.RNG{FMA: true}, training(plan.V2)...)
	answers := &draw.Answers{}
	var states [4]rng.MT19937
	var group sync.WaitGroup
	for i := range states {
		group.Go(func() {
			states[i] = rng.New(3)
			steps := make([]recipe.Step, 0, p.StepsMax())
			for range 20_000 {
				before := states[i]
				r := &draw.Source{MT: &states[i], Exp: answers}
				_, _, err := p.Draw(steps, recipe.Size{Width: 500, Height: 375}, r)
				if need, ok := err.(*draw.NeedExp); ok {
					states[i] = before
					if err := answers.Learn(need.X, float32(math.Exp(float64(need.X)))); err != nil {
						panic(err)
					}
				}
			}
		})
	}
	group.Wait()
}

// augments are transforms of each kind that leave an image's size.
func augments() []plan.Transform {
	equalize := make([]byte, 32)
	equalize[0] = byte(recipe.Equalize)
	two := append(bytes.Clone(equalize), equalize...)
	about := plan.Placed{Filter: plan.Bilinear, Fill: []uint8{0}}
	jitter := plan.ColorJitter{Brightness: &[2]float64{0, 2}, Hue: &[2]float64{-0.5, 0.5}}
	return []plan.Transform{
		plan.RandomPhotometricDistort{P: 0.5, Contrast: [2]float64{0, 2}, Hue: [2]float64{-0.5, 0.5}, Tensor: true},
		plan.RandomChannelPermutation{},
		plan.ColorJitter{Contrast: &[2]float64{0, 2}, Hue: &[2]float64{-0.5, 0.5}, Tensor: true},
		plan.RandomApply{P: 0.5, Transforms: []plan.Transform{jitter, plan.Steps{Wire: equalize}}},
		plan.Augment{Rounds: 3, API: plan.V1, Choices: []plan.Choice{
			{Up: [][]byte{{}}}, {Leveled: true, Up: [][]byte{equalize, two}, Down: [][]byte{{}, equalize}}}},
		plan.AutoAugment{API: plan.V2, Policies: [][2]plan.PolicyStep{
			{{P: 0.5, Signed: true, Up: two}, {P: 1, Up: equalize}}}},
		plan.RandomRotation{Degrees: [2]float64{-30, 30}, Placed: about},
		plan.RandomRotation{Degrees: [2]float64{270, 270}, Placed: about},
		plan.RandomAffine{Translate: &[2]float64{0.1, 0.2}, Shear: [][2]float64{{-5, 5}}, API: plan.V2, Placed: about},
		plan.TensorRotation{Degrees: [2]float64{-30, 30}, API: plan.V1, Placed: about},
		plan.TensorRotation{Degrees: [2]float64{-90, -90}, API: plan.V2, Placed: about},
		plan.TensorAffine{RandomAffine: plan.RandomAffine{Scale: &[2]float64{1, 2}, API: plan.V2, Placed: about}},
	}
}

func TestAugmentsLeaveTheSizeAndSayHowManyStepsTheyTake(t *testing.T) {
	blur := plan.TorchBlur{API: plan.V1, Lanes: 8, Across: []float32{-1, 0, 1}, Down: []float32{0}, Sigma: [2]float64{0.1, 2}}
	p := compile(t, plan.RNG{FMA: true}, append([]plan.Transform{plan.CenterCrop{Size: square}, blur}, augments()...)...)
	most, r := 0, source(3)
	for range 2000 {
		steps, out, err := p.Draw(nil, recipe.Size{Width: 50, Height: 60}, r)
		require.NoError(t, err)
		require.Equal(t, recipe.Size{Width: square.Width, Height: square.Height}, out)
		require.LessOrEqual(t, len(steps), p.StepsMax())
		most = max(most, len(steps))
	}
	require.Greater(t, most, 8)
}

func TestStepsThatChangeAnImagesShapeAreRefused(t *testing.T) {
	for _, wire := range [][]byte{make([]byte, 32), make([]byte, 31), {0: byte(recipe.Lookup), 31: 0}} {
		_, err := draw.Compile(plan.Part{Transforms: []plan.Transform{plan.Steps{Wire: wire}}}, plan.RNG{})
		require.ErrorContains(t, err, "transforms[0], steps: ")
	}
}

func TestDrawAllocatesNothing(t *testing.T) {
	p := compile(t, plan.RNG{FMA: true, CorrectlyRoundedExp: true}, append(append(training(plan.V1),
		plan.RandomCrop{Size: plan.HeightWidth{Height: 200, Width: 300}, PadIfNeeded: true, Fill: []uint8{1},
			PaddingMode: plan.Reflect, API: plan.V1}, plan.Resize{Size: []int32{99}, Filter: plan.Bicubic},
		plan.CenterCrop{Size: square}, plan.Grayscale{Channels: 3}), augments()...)...)
	r := source(1)
	steps := make([]recipe.Step, 0, p.StepsMax())
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if _, _, err := p.Draw(steps, recipe.Size{Width: 500, Height: 375}, r); err != nil {
			panic(err)
		}
	}))
}

func BenchmarkRandomResizedCropAndFlip(b *testing.B) {
	p := compile(b, plan.RNG{FMA: true}, training(plan.V1)...)
	r := source(1)
	steps := make([]recipe.Step, 0, p.StepsMax())
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = p.Draw(steps, recipe.Size{Width: 500, Height: 375}, r)
	}
}
