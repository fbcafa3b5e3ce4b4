package draw

import (
	"math"
	"strconv"

	"github.com/goloader/goloader/core/libm"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// radian is what Python's math.radians multiplies with: the quotient of two float64, which no constant is.
var radian = func(pi float64) float64 { return pi / 180 }(math.Pi)

func radians(degrees float64) float64 { return degrees * radian }

// randomRotation is torchvision's RandomRotation.
type randomRotation struct {
	warp
	degrees [2]float32
	expand  bool
	fma     bool
}

func compileRandomRotation(t plan.RandomRotation, r plan.RNG, channels uint8) (transform, error) {
	w, err := newWarp(t.Placed, channels)
	return &randomRotation{w, narrowed(t.Degrees), t.Expand, r.FMA}, err
}

func (t *randomRotation) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	return t.rotate(dst, in, float64(r.MT.Uniform(t.degrees[0], t.degrees[1], t.fma)), t.expand)
}

func (t *randomRotation) random() bool  { return true }
func (t *randomRotation) stepsMax() int { return 3 }

// rotate is Image.rotate of Pillow's.
func (w warp) rotate(dst []recipe.Step, in recipe.Size, degrees float64, expand bool) ([]recipe.Step, recipe.Size, error) {
	angle := math.Mod(degrees, 360)
	if angle < 0 {
		angle += 360
	}
	if w.center == nil && (angle == 0 || angle == 180 || (angle == 90 || angle == 270) && (expand || in.Width == in.Height)) {
		dst, in = turn(dst, in, int(angle)/90)
		return dst, in, nil
	}
	x, y := w.centerOf(in)
	angle = -radians(angle)
	c, s := round15(libm.Cos(angle)), round15(libm.Sin(angle))
	m := [6]float64{c, s, 0, -s, c, 0}
	m[2], m[5] = moved(m, -x, -y)
	m[2] += x
	m[5] += y
	out := in
	if expand {
		left, right, top, bottom := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		across, down := float64(in.Width), float64(in.Height)
		for _, corner := range [4][2]float64{{0, 0}, {across, 0}, {across, down}, {0, down}} {
			x, y := moved(m, corner[0], corner[1])
			left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
		}
		width, height := math.Ceil(right)-math.Floor(left), math.Ceil(bottom)-math.Floor(top)
		m[2], m[5] = moved(m, -(width-across)/2, -(height-down)/2)
		var err error
		if out, err = sizeOf(plan.RandomRotation{}.Op(), int64(width), int64(height)); err != nil {
			return dst, in, err
		}
	}
	return append(dst, w.step(m, out)), out, nil
}

// turn appends quarter turns, counter-clockwise.
func turn(dst []recipe.Step, in recipe.Size, quarters int) ([]recipe.Step, recipe.Size) {
	if quarters%2 == 1 {
		dst = append(dst, recipe.Step{Kind: recipe.Rotate90})
		in = recipe.Size{Width: in.Height, Height: in.Width}
	}
	if quarters >= 2 {
		dst = append(dst, recipe.Step{Kind: recipe.HorizontalFlip}, recipe.Step{Kind: recipe.VerticalFlip})
	}
	return dst, in
}

// moved is where Pillow's matrix leads. The conversions keep Go from rounding a product and a sum at once.
func moved(m [6]float64, x, y float64) (float64, float64) {
	return float64(m[0]*x) + float64(m[1]*y) + m[2], float64(m[3]*x) + float64(m[4]*y) + m[5]
}

// round15 is Python's round(x, 15): the float64 nearest to its decimals, cut by rounding.
func round15(x float64) float64 {
	var text [32]byte
	rounded, _ := strconv.ParseFloat(string(strconv.AppendFloat(text[:0], x, 'f', 15, 64)), 64) // of |x| <= 1
	return rounded
}

func narrowed(v [2]float64) [2]float32 { return [2]float32{float32(v[0]), float32(v[1])} }

// warp makes the step of a matrix.
type warp struct {
	filter recipe.Filter
	center *[2]float64
	fill   [3]uint8
}

func newWarp(p plan.Placed, channels uint8) (warp, error) {
	filter, err := filterOf(p.Filter)
	if err != nil {
		return warp{}, err
	}
	padding, err := newPadding(p.Fill, plan.Constant, channels)
	return warp{filter, p.Center, padding.fill}, err
}

func (w warp) centerOf(in recipe.Size) (x, y float64) {
	if w.center != nil {
		return w.center[0], w.center[1]
	}
	return float64(in.Width) / 2, float64(in.Height) / 2
}

func (w warp) step(m [6]float64, out recipe.Size) recipe.Step {
	s := recipe.Step{Kind: recipe.Affine, Filter: w.filter, Fill: w.fill, Width: out.Width, Height: out.Height}
	copy(s.Matrix[:], m[:])
	return s
}
