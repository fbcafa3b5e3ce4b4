package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/tensor"
)

// Arithmetic on a finished image: of noise here only the state is kept in which torch's generator draws it.

var noiseKinds = map[plan.DrawKind]rng.NoiseKind{
	plan.TorchRand: rng.Uniform, plan.TorchRandn: rng.Normals, plan.TorchRandnAVX2: rng.NormalsAVX2, plan.TorchRandnPairs: rng.Pairs,
}

func (c *scriptCompiler) noise(t plan.DrawNoise) (instruction, error) {
	extents, err := compileNumbers(compileInt, []plan.Expr{t.Width, t.Height})
	c.drawn[0] = true
	kind := noiseKinds[t.Kind]
	return func(f *Frame) error {
		width, height := int64(extents[0](f)), int64(extents[1](f))
		if width < 1 || height < 1 || width > plan.SizeMax || height > plan.SizeMax {
			f.fail(fmt.Sprintf("noise of %dx%d pixels", width, height))
		}
		if f.failed != "" {
			return nil
		}
		drawn, ok := f.source.MT.Draw(kind, int64(t.Channels)*width*height)
		if !ok {
			f.fail(fmt.Sprintf("noise of %dx%d pixels, which torch draws in another way", width, height))
		}
		f.noises[t.Noise] = &recipe.Noise{
			Noise: drawn, Size: recipe.Size{Width: int32(width), Height: int32(height)}, Channels: t.Channels, Pixels: t.Pixels,
		}
		return nil
	}, err
}

// terms are what a plan's do.
var terms = map[plan.TermName]recipe.TermKind{
	plan.PushSample: recipe.PushSample, plan.PushNoise: recipe.PushNoise,
	plan.AddTwo: recipe.Add, plan.SubtractTwo: recipe.Subtract, plan.MultiplyTwo: recipe.Multiply, plan.DivideTwo: recipe.Divide,
	plan.AddWith: recipe.AddWith, plan.SubtractWith: recipe.SubtractWith, plan.SubtractFrom: recipe.SubtractFrom,
	plan.MultiplyWith: recipe.MultiplyWith, plan.DivideWith: recipe.DivideWith,
	plan.AtLeast: recipe.AtLeast, plan.AtMost: recipe.AtMost, plan.SetSample: recipe.Set,
}

type arithmeticTo struct {
	terms  []recipe.Term // but for their numbers
	values [][]number
	noises []int // registers of those that PushNoise counts
}

func compileArithmeticTo(t plan.ArithmeticTo) (transform, error) {
	made := arithmeticTo{}
	check := recipe.Step{Kind: recipe.Arithmetic, Finish: &recipe.Finish{}}
	for _, each := range t.Terms {
		term := recipe.Term{Does: terms[each.Does]}
		if each.Does == plan.PushNoise {
			term.Noise = int32(len(made.noises))
			made.noises = append(made.noises, each.Noise)
		}
		values, err := compileNumbers(compileFloat, each.Values)
		if err != nil {
			return nil, err
		}
		made.terms, made.values = append(made.terms, term), append(made.values, values)
	}
	check.Finish.Terms, check.Finish.Noises = made.terms, make([]*recipe.Noise, len(made.noises))
	return made, check.Check()
}

func (t arithmeticTo) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	f := r.frame
	if f == nil {
		return dst, in, fmt.Errorf("noise of a script where there is none")
	}
	finish := &recipe.Finish{Terms: make([]recipe.Term, len(t.terms))}
	copy(finish.Terms, t.terms)
	for i, values := range t.values {
		for c := range finish.Terms[i].Values {
			if len(values) == 0 {
				break
			}
			v := floatOf(values[min(c, len(values)-1)](f))
			if !(math.Abs(v) < floatMax) {
				f.fail(fmt.Sprintf("%v where an image is changed", v))
			}
			finish.Terms[i].Values[c] = float32(v)
		}
	}
	for _, register := range t.noises {
		noise := f.noises[register]
		if noise == nil || noise.Size != in {
			f.fail("noise of another size than its image")
			return dst, in, nil
		}
		finish.Noises = append(finish.Noises, noise)
	}
	if f.failed != "" {
		return dst, in, nil
	}
	return append(dst, recipe.Step{Kind: recipe.Arithmetic, Finish: finish}), in, nil
}

func (t arithmeticTo) random() bool  { return false }
func (t arithmeticTo) stepsMax() int { return 1 }

// checkFinish says what is wrong with the arithmetic that a given image ends with.
func checkFinish(finish []recipe.Step, size recipe.Size, g give) error {
	if len(finish) == 0 {
		return nil
	}
	terms, noises := 0, 0
	for _, step := range finish {
		terms, noises = terms+len(step.Finish.Terms), noises+len(step.Finish.Noises)
		for _, noise := range step.Finish.Noises {
			if noise.Size != size || noise.Channels != g.channels {
				return fmt.Errorf("noise of %d channels, %v pixels for %d channels, %v", noise.Channels, noise.Size, g.channels, size)
			}
		}
	}
	if terms > recipe.TermsMax || noises > recipe.NoisesMax || g.dtype != tensor.Float32 {
		return fmt.Errorf("arithmetic of %d terms and %d noises on numbers of %v", terms, noises, g.dtype)
	}
	return nil
}
