package op_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
)

// picture is a planar image, and its methods the laws of every step in the plainest form: one step at a time, every pixel
// by itself, as Pillow defines it (tests_py/kernels compares core/op with Pillow itself).
type picture struct {
	size   recipe.Size
	planes [][]byte
}

func blank(size recipe.Size, planes int) picture {
	p := picture{size, make([][]byte, planes)}
	for i := range p.planes {
		p.planes[i] = make([]byte, int(size.Width)*int(size.Height))
	}
	return p
}

// noise is random RGB, in some pictures only of 0 and 255: ringing filters then clip.
func noise(rng *rand.Rand, size recipe.Size) picture {
	p := blank(size, 3)
	harsh := rng.IntN(3) == 0
	for _, plane := range p.planes {
		for i := range plane {
			plane[i] = byte(rng.Uint32())
			if harsh {
				plane[i] = byte(int8(plane[i]) >> 7)
			}
		}
	}
	return p
}

// interleaved is the picture as SetRaw takes it.
func (p picture) interleaved() []byte {
	n := len(p.planes)
	raw := make([]byte, n*len(p.planes[0]))
	for i := range p.planes[0] {
		for c := range n {
			raw[n*i+c] = p.planes[c][i]
		}
	}
	return raw
}

// moved builds a picture of another size whose pixel (x, y) is what from says: an input pixel, or the fill.
func (p picture) moved(size recipe.Size, fill [3]uint8, from func(x, y int32) (int32, int32, bool)) picture {
	out := blank(size, len(p.planes))
	for c := range p.planes {
		for y := range size.Height {
			for x := range size.Width {
				value := fill[c]
				if sx, sy, ok := from(x, y); ok {
					value = p.planes[c][sy*p.size.Width+sx]
				}
				out.planes[c][y*size.Width+x] = value
			}
		}
	}
	return out
}

func (p picture) apply(step recipe.Step, order op.PassOrder) picture {
	size := step.Out(p.size)
	switch step.Kind {
	case recipe.Crop:
		return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) { return x + step.Left, y + step.Top, true })
	case recipe.HorizontalFlip:
		return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) { return size.Width - 1 - x, y, true })
	case recipe.VerticalFlip:
		return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) { return x, size.Height - 1 - y, true })
	case recipe.Pad:
		return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) {
			sx, okX := padded(step.Mode, x-step.Left, p.size.Width)
			sy, okY := padded(step.Mode, y-step.Top, p.size.Height)
			return sx, sy, okX && okY
		})
	case recipe.Grayscale:
		return p.luma(int(step.Channels))
	case recipe.OpenCVGray:
		return p.grey(int(step.Channels), [3]uint32{9798, 19235, 3735}, 15)
	case recipe.Select:
		chosen := picture{size: p.size}
		for _, plane := range step.Fill[:step.Channels] {
			chosen.planes = append(chosen.planes, p.planes[plane])
		}
		return chosen
	case recipe.Lookup:
		return p.pointwise(func(c int, v byte) byte { return step.Table[256*c+int(v)] })
	case recipe.Brightness:
		return p.pointwise(func(_ int, v byte) byte { return blend(0, v, step.Factor) })
	case recipe.Contrast:
		mean := p.meanLuma()
		return p.pointwise(func(_ int, v byte) byte { return blend(mean, v, step.Factor) })
	case recipe.Saturation:
		return p.blended(p.luma(len(p.planes)), step.Factor)
	case recipe.Sharpness:
		return p.blended(p.smoothed(), step.Factor)
	case recipe.Hue:
		return p.turned(step.Shift)
	case recipe.Autocontrast:
		return p.levelled(stretch)
	case recipe.Equalize:
		return p.levelled(spread)
	case recipe.Rotate90:
		return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) { return p.size.Width - 1 - y, x, true })
	case recipe.BoxBlur:
		return p.blurred(step)
	case recipe.Stencil:
		return p.stencilled(step)
	case recipe.Convolve:
		return p.convolved(step)
	case recipe.ConvolveUnit:
		return p.convolvedByAxes(step)
	case recipe.Rank:
		return p.pixelwise(func(plane []byte, x, y int) byte {
			var around []byte
			for i := range 9 {
				ax, ay := min(max(x+i%3-1, 0), int(p.size.Width)-1), min(max(y+i/3-1, 0), int(p.size.Height)-1)
				around = append(around, plane[ay*int(p.size.Width)+ax])
			}
			slices.Sort(around)
			return around[step.Shift]
		})
	case recipe.ToYCbCr:
		return p.yCbCr()
	case recipe.OpenCVToHSV:
		return p.byPixel(openCVHSV)
	case recipe.OpenCVFromHSV:
		cut := p.size.Width - p.size.Width%32
		return p.byPixel(func(x int32, hsv [3]byte) [3]byte { return fromOpenCVHSV(hsv, x >= cut) })
	case recipe.Affine, recipe.Perspective:
		return p.transformed(step)
	case recipe.TorchAffine, recipe.TorchPerspective:
		return p.sampled(step)
	default:
		return p.resized(size, step.Filter, order)
	}
}

// luma is Pillow's.
func (p picture) luma(channels int) picture {
	return p.grey(channels, [3]uint32{19595, 38470, 7471}, 16)
}

// padded walks from outside into the image, mirror by mirror.
func padded(mode recipe.PadMode, i, n int32) (int32, bool) {
	for i < 0 || i >= n {
		switch {
		case mode == recipe.Constant:
			return 0, false
		case mode == recipe.Edge || n == 1:
			i = min(max(i, 0), n-1)
		case mode == recipe.Reflect && i < 0:
			i = -i
		case mode == recipe.Reflect:
			i = 2*(n-1) - i
		case i < 0:
			i = -1 - i
		default:
			i = 2*n - 1 - i
		}
	}
	return i, true
}

func (p picture) grey(channels int, weights [3]uint32, bits int) picture {
	out := blank(p.size, channels)
	for i := range p.planes[0] {
		value := p.planes[0][i]
		if len(p.planes) == 3 {
			sum := weights[0]*uint32(value) + weights[1]*uint32(p.planes[1][i]) + weights[2]*uint32(p.planes[2][i])
			value = byte((sum + 1<<(bits-1)) >> bits)
		}
		for c := range channels {
			out.planes[c][i] = value
		}
	}
	return out
}

func (p picture) resized(size recipe.Size, filter recipe.Filter, order op.PassOrder) picture {
	w, h, outW, outH := p.size.Width, p.size.Height, size.Width, size.Height
	if filter == recipe.Nearest {
		xs, ys := nearest(w, outW), nearest(h, outH)
		return p.moved(size, [3]uint8{}, func(x, y int32) (int32, int32, bool) { return xs[x], ys[y], true })
	}
	if filter == recipe.TorchNearest {
		return p.moved(size, [3]uint8{}, func(x, y int32) (int32, int32, bool) {
			return nearestTorch(x, w, outW), nearestTorch(y, h, outH), true
		})
	}
	verticalFirst := order == op.TallFirst && h > 100*w && outH < h ||
		order == op.ShrinkFirst && h > outH && h-outH > 2*(w-outW)
	if verticalFirst {
		return p.down(outH, filter).across(outW, filter)
	}
	return p.across(outW, filter).down(outH, filter)
}

func nearestTorch(place, in, out int32) int32 {
	scale := float32(in) / float32(out)
	return min(int32(math.Floor(float64(float32(place)*scale))), in-1)
}

func nearest(in, out int32) []int32 {
	step := float64(in) / float64(out)
	at := step * 0.5
	inputs := make([]int32, out)
	for i := range inputs {
		inputs[i] = int32(at)
		at += step
	}
	return inputs
}

func (p picture) across(width int32, filter recipe.Filter) picture {
	if width == p.size.Width {
		return p
	}
	out := blank(recipe.Size{Width: width, Height: p.size.Height}, len(p.planes))
	first, weights := axis(p.size.Width, width, filter)
	for c := range p.planes {
		for y := range p.size.Height {
			for x := range width {
				sum := int32(1 << 21)
				for j, weight := range weights[x] {
					sum += weight * int32(p.planes[c][y*p.size.Width+first[x]+int32(j)])
				}
				out.planes[c][y*width+x] = byte(min(max(sum>>22, 0), 255))
			}
		}
	}
	return out
}

// down is across for columns.
func (p picture) down(height int32, filter recipe.Filter) picture {
	return p.transposed().across(height, filter).transposed()
}

func (p picture) transposed() picture {
	size := recipe.Size{Width: p.size.Height, Height: p.size.Width}
	return p.moved(size, [3]uint8{}, func(x, y int32) (int32, int32, bool) { return y, x, true })
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(x*math.Pi) / (x * math.Pi)
}

var filters = map[recipe.Filter]struct {
	support float64
	weight  func(float64) float64
}{
	recipe.Bilinear: {1, func(x float64) float64 { return max(1-math.Abs(x), 0) }},
	recipe.Bicubic: {2, func(x float64) float64 {
		x = math.Abs(x)
		switch {
		case x < 1:
			return float64(float64(float64(1.5*x)-2.5)*x*x) + 1
		case x < 2:
			return float64(float64(float64(float64(x-5)*x+8)*x)-4) * -0.5
		default:
			return 0
		}
	}},
	recipe.Lanczos: {3, func(x float64) float64 {
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
	recipe.Box: {0.5, func(x float64) float64 {
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	}},
	recipe.Hamming: {1, func(x float64) float64 {
		x = math.Abs(x)
		if x >= 1 {
			return 0
		}
		return sinc(x) * float64(float64(float32(0.54))+float64(float64(float32(0.46))*math.Cos(x*math.Pi)))
	}},
}

// axis is, for each output, its first input and the weights of that and the following.
func axis(in, out int32, filter recipe.Filter) ([]int32, [][]int32) {
	scale := float64(in) / float64(out)
	filterScale := max(scale, 1)
	support := filters[filter].support * filterScale
	first, weights := make([]int32, out), make([][]int32, out)
	for i := range first {
		centre := (float64(i) + 0.5) * scale
		low := max(int32(math.Trunc(float64(centre-support)+0.5)), 0)
		high := min(int32(math.Trunc(float64(centre+support)+0.5)), in)
		var sum float64
		exact := make([]float64, high-low)
		for j := range exact {
			exact[j] = filters[filter].weight((float64(int32(j)+low) - centre + 0.5) * (1 / filterScale))
			sum += exact[j]
		}
		first[i], weights[i] = low, make([]int32, high-low)
		for j, weight := range exact {
			if sum != 0 {
				weight /= sum
			}
			weights[i][j] = int32(math.Copysign(0.5, weight) + float64(weight*(1<<22)))
		}
	}
	return first, weights
}
