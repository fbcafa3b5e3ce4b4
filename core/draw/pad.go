package draw

import (
	"fmt"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

var padModes = map[plan.PadMode]recipe.PadMode{
	plan.Constant:  recipe.Constant,
	plan.Edge:      recipe.Edge,
	plan.Reflect:   recipe.Reflect,
	plan.Symmetric: recipe.Symmetric,
}

// padding is what is put around an image; the zero padding is black.
type padding struct {
	mode recipe.PadMode
	fill [3]uint8
}

func newPadding(fill []uint8, mode plan.PadMode, channels uint8) (padding, error) {
	m, ok := padModes[mode]
	if !ok {
		return padding{}, fmt.Errorf("unknown padding_mode %q", mode)
	}
	if len(fill) != 1 && len(fill) != int(channels) {
		return padding{}, fmt.Errorf("fill of %d values for an image of %d channels", len(fill), channels)
	}
	p := padding{mode: m}
	if m == recipe.Constant {
		for i := range channels {
			p.fill[i] = fill[min(int(i), len(fill)-1)]
		}
	}
	return p, nil
}

// add appends the padding of some sides, unless there is none.
func (p padding) add(dst []recipe.Step, in recipe.Size, s plan.Sides) ([]recipe.Step, recipe.Size, error) {
	if s == (plan.Sides{}) {
		return dst, in, nil
	}
	out, err := sizeOf(plan.Pad{}.Op(), int64(in.Width)+int64(s.Left)+int64(s.Right),
		int64(in.Height)+int64(s.Top)+int64(s.Bottom))
	if err != nil {
		return dst, in, err
	}
	return append(dst, recipe.Step{Kind: recipe.Pad, Mode: p.mode, Fill: p.fill,
		Left: s.Left, Top: s.Top, Right: s.Right, Bottom: s.Bottom}), out, nil
}

// pad is torchvision's Pad. The sizes it can reach are limited (in plan) to what numpy.pad takes too.
type pad struct {
	sides   plan.Sides
	padding padding
}

func compilePad(s plan.Sides, fill []uint8, mode plan.PadMode, channels uint8) (transform, error) {
	p, err := newPadding(fill, mode, channels)
	return pad{s, p}, err
}

func (t pad) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	return t.padding.add(dst, in, t.sides)
}

func (t pad) random() bool  { return false }
func (t pad) stepsMax() int { return 1 }

// zoomOut is v2's RandomZoomOut.
type zoomOut struct {
	p       float32
	sides   [2]float64
	padding padding
}

func compileZoomOut(t plan.RandomZoomOut, channels uint8) (transform, error) {
	p, err := newPadding(t.Fill, plan.Constant, channels)
	return zoomOut{float32(t.P), t.Sides, p}, err
}

func (t zoomOut) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.MT.Rand() >= t.p {
		return dst, in, nil
	}
	ratio := between(r, t.sides)
	whole, err := sizeOf(plan.RandomZoomOut{}.Op(), int64(float32(in.Width)*ratio), int64(float32(in.Height)*ratio))
	if err != nil {
		return dst, in, err
	}
	across, down := whole.Width-in.Width, whole.Height-in.Height
	left := int32(float32(across) * r.MT.Rand())
	top := int32(float32(down) * r.MT.Rand())
	return t.padding.add(dst, in, plan.Sides{Left: left, Top: top, Right: across - left, Bottom: down - top})
}

func (t zoomOut) random() bool  { return true }
func (t zoomOut) stepsMax() int { return 1 }
