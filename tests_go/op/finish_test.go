package op_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

// numbers is a store of float32, and what it makes of each byte.
func (r *rig) numbers(channels int, draw *rand.Rand) (*op.Store, [][256]float32) {
	made := make([][256]float32, channels)
	var items []byte
	for c := range made {
		for v := range made[c] {
			made[c][v] = draw.Float32()*4 - 2
			items = binary.LittleEndian.AppendUint32(items, math.Float32bits(made[c][v]))
		}
	}
	return r.store(channels, 4, items), made
}

// randomTerms leave one number on the stack, which they set.
func randomTerms(draw *rand.Rand, noises int) (terms []recipe.Term) {
	depth := 0
	for depth != 1 || len(terms) < 6 {
		does := recipe.TermKind(draw.IntN(int(recipe.Set)))
		switch {
		case does <= recipe.PushNoise:
			if depth == recipe.StackMax {
				continue
			}
			depth++
		case does <= recipe.Divide:
			if depth < 2 {
				continue
			}
			depth--
		case depth == 0:
			continue
		}
		term := recipe.Term{Does: does, Noise: int32(draw.IntN(noises))}
		for c := range term.Values {
			term.Values[c] = draw.Float32()*3 - 1
		}
		terms = append(terms, term)
		if len(terms) > 40 {
			return randomTerms(draw, noises)
		}
	}
	return append(terms, recipe.Term{Does: recipe.Set})
}

// finished is what terms make of one number. The conversions keep Go from fusing.
func finished(terms []recipe.Term, sample float32, noise []float32, channel int) float32 {
	var stack []float32
	for _, t := range terms {
		v, top := t.Values[channel], len(stack)-1
		two := func(a, b float32) float32 {
			switch t.Does {
			case recipe.Add, recipe.AddWith:
				return a + b
			case recipe.Subtract, recipe.SubtractWith, recipe.SubtractFrom:
				return a - b
			case recipe.Multiply, recipe.MultiplyWith:
				return float32(a * b)
			default:
				return a / b
			}
		}
		switch {
		case t.Does == recipe.PushSample:
			stack = append(stack, sample)
		case t.Does == recipe.PushNoise:
			stack = append(stack, noise[t.Noise])
		case t.Does <= recipe.Divide:
			stack = append(stack[:top-1], two(stack[top-1], stack[top]))
		case t.Does == recipe.SubtractFrom:
			stack[top] = two(v, stack[top])
		case t.Does == recipe.AtLeast:
			stack[top] = max(stack[top], v)
		case t.Does == recipe.AtMost:
			stack[top] = min(stack[top], v)
		case t.Does == recipe.Set:
			sample, stack = stack[top], stack[:top]
		default:
			stack[top] = two(stack[top], v)
		}
	}
	return sample
}

// A finished sample goes through its terms number by number, each rounded by itself, and noise is what its generator draws, in its
// order.
func TestArithmeticOnAFinishedSample(t *testing.T) {
	draw := rand.New(rand.NewPCG(4, 5))
	r := newRig(t, op.ShrinkFirst, 1)
	for range 60 {
		channels := 1 + 2*draw.IntN(2)
		store, made := r.numbers(channels, draw)
		start := noise(draw, recipe.Size{Width: 2 * between(draw, 2, 60), Height: between(draw, 4, 60)})
		steps := []recipe.Step{{Kind: recipe.Grayscale, Channels: uint8(channels)}}
		passes, size, err := op.Fuse(nil, start.size, steps)
		require.NoError(t, err)
		plain := r.set(0, start, passes, channels*int(size.Pixels()), r.identity(channels))
		r.jobs.SetFinish(0, nil, nil)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))

		count, pixels := channels*int(size.Pixels()), int(size.Pixels())
		mt := rng.New(draw.Uint64())
		noises, numbers := make([]*recipe.Noise, 1+draw.IntN(recipe.NoisesMax/2)), [][]float32{}
		for k := range noises {
			kind := rng.NoiseKind(draw.IntN(4))
			before := mt
			drawn, ok := mt.Draw(kind, int64(count))
			require.True(t, ok)
			byPixels := kind == rng.Pairs || (kind == rng.Uniform && draw.IntN(2) == 0)
			noises[k] = &recipe.Noise{Noise: drawn, Size: size, Channels: channels, Pixels: byPixels}
			bits, planes := make([]uint64, count), make([]float32, count)
			before.DrawAll(kind, bits)
			for i, b := range bits {
				at := i
				if byPixels {
					at = i%channels*pixels + i/channels
				}
				planes[at] = float32(math.Float64frombits(b))
			}
			numbers = append(numbers, planes)
		}
		var finish []recipe.Step
		for range 1 + draw.IntN(2) {
			step := recipe.Step{Kind: recipe.Arithmetic, Finish: &recipe.Finish{Terms: randomTerms(draw, len(noises)), Noises: noises}}
			require.NoError(t, step.Check())
			finish = append(finish, step)
		}
		got := r.set(0, start, passes, 4*count, store)
		r.jobs.SetFinish(0, nil, finish)
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.Decoded, r.jobs.Status(0), r.jobs.Why(0))
		for i := range count {
			want := made[i/pixels][plain[i]]
			each := make([]float32, len(numbers))
			for k := range numbers {
				each[k] = numbers[k][i]
			}
			for _, step := range finish {
				want = finished(step.Finish.Terms, want, each, i/pixels)
			}
			if value := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); value != want && (value == value || want == want) {
				t.Fatalf("number %d is %v, not %v, by %v", i, value, want, finish)
			}
		}
	}
}

func TestArithmeticThatIsNone(t *testing.T) {
	r := newRig(t, op.ShrinkFirst, 1)
	draw := rand.New(rand.NewPCG(6, 7))
	start := noise(draw, recipe.Size{Width: 5, Height: 3})
	passes, _, err := op.Fuse(nil, start.size, nil)
	require.NoError(t, err)
	store, _ := r.numbers(3, draw)
	mt := rng.New(1)
	some, _ := mt.Draw(rng.Normals, 45)
	pairs, _ := mt.Draw(rng.Pairs, 44)
	set, sample := recipe.Term{Does: recipe.Set}, recipe.Term{Does: recipe.PushSample}
	for name, finish := range map[string]recipe.Finish{
		"nothing to set":  {Terms: []recipe.Term{set}},
		"one of two":      {Terms: []recipe.Term{sample, {Does: recipe.Add}, set}},
		"left over":       {Terms: []recipe.Term{sample, sample, set}},
		"never set":       {Terms: []recipe.Term{sample}},
		"no noise":        {Terms: []recipe.Term{{Does: recipe.PushNoise}, set}},
		"no such term":    {Terms: []recipe.Term{{Does: recipe.TermKinds}, set}},
		"too deep":        {Terms: []recipe.Term{sample, sample, sample, sample, sample}},
		"too many":        {Terms: make([]recipe.Term, recipe.TermsMax+1)},
		"too many noises": {Terms: []recipe.Term{sample, set}, Noises: make([]*recipe.Noise, recipe.NoisesMax+1)},
		"by pixels":       {Terms: []recipe.Term{{Does: recipe.PushNoise}, set}, Noises: []*recipe.Noise{{Noise: some, Pixels: true}}},
		"half a pair":     {Terms: []recipe.Term{{Does: recipe.PushNoise}, set}, Noises: []*recipe.Noise{{Noise: pairs, Pixels: true}}},
	} {
		for k := range finish.Noises {
			if finish.Noises[k] == nil {
				finish.Noises[k] = &recipe.Noise{Noise: some}
			}
		}
		r.set(0, start, passes, 4*45, store)
		r.jobs.SetFinish(0, nil, []recipe.Step{{Kind: recipe.Arithmetic, Finish: &finish}})
		r.worker.Run(r.jobs, 1, nil)
		require.Equal(t, op.BadJob, r.jobs.Status(0), name)
		require.NotEmpty(t, r.jobs.Why(0), name)
	}
	// Bytes have none.
	r.set(0, start, passes, 45, r.identity(3))
	r.jobs.SetFinish(0, nil, []recipe.Step{{Kind: recipe.Arithmetic, Finish: &recipe.Finish{Terms: []recipe.Term{sample, set}}}})
	r.worker.Run(r.jobs, 1, nil)
	require.Equal(t, op.BadJob, r.jobs.Status(0))
}
