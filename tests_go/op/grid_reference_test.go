package op_test

import (
	"math"

	"github.com/goloader/goloader/core/recipe"
)

// added is sum + a*b in float32: with one rounding, or with two.
func added(sum, a, b float32, fused bool) float32 {
	if !fused {
		return sum + float32(a*b)
	}
	product := float64(a) * float64(b) // exact
	total := product + float64(sum)
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return float32(total)
	}
	// Where float64 has not all of it the last bit becomes 1, so that rounding it to float32 rounds the whole sum.
	back := total - product
	rest := (product - (total - back)) + (float64(sum) - back)
	if bits := math.Float64bits(total); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (total > 0) {
			bits++
		} else {
			bits--
		}
		total = math.Float64frombits(bits)
	}
	return float32(total)
}

// sampled is what torchvision makes of a uint8 tensor (_apply_grid_transform): its grid, and torch's grid_sample.
func (p picture) sampled(step recipe.Step) picture {
	width, height := p.size.Width, p.size.Height
	deep := step.Kind == recipe.TorchPerspective
	fusedGrid := step.FusedGrid && 6*width*height >= 400
	line := func(m []float64, half float32, x, y float32) float32 {
		a, b, c := float32(m[0])/half, float32(m[1])/half, float32(m[2])/half
		return added(float32(x*a), y, b, fusedGrid) + c
	}
	source := func(grid float32, side int32) float32 { return added(-0.5, grid+1, float32(side)/2, step.Fused) }
	position := func(x, y int32) (float32, float32) {
		column, row := float32(x)-float32(width-1)/2, float32(y)-float32(height-1)/2
		if deep {
			column, row = float32(x)+0.5, float32(y)+0.5
		}
		across := line(step.Matrix[:3], float32(width)*0.5, column, row)
		down := line(step.Matrix[3:6], float32(height)*0.5, column, row)
		if deep {
			depth := line([]float64{step.Matrix[6], step.Matrix[7], 1}, 1, column, row)
			across, down = across/depth-1, down/depth-1
		}
		return source(across, width), source(down, height)
	}
	inside := func(x, y float64) bool { return 0 <= x && x < float64(width) && 0 <= y && y < float64(height) }
	if step.Filter == recipe.Nearest {
		fill := step.Fill
		if step.Outside == recipe.OutsideZeros {
			fill = [3]uint8{}
		}
		return p.moved(p.size, fill, func(x, y int32) (int32, int32, bool) {
			fx, fy := position(x, y)
			nx, ny := math.RoundToEven(float64(fx)), math.RoundToEven(float64(fy))
			if !inside(nx, ny) {
				return 0, 0, false
			}
			return int32(nx), int32(ny), true
		})
	}
	out := blank(p.size, len(p.planes))
	for c, plane := range p.planes {
		fill := float32(step.Fill[c])
		for i := range out.planes[c] {
			x, y := position(int32(i)%width, int32(i)/width)
			column, row := float32(math.Floor(float64(x))), float32(math.Floor(float64(y)))
			right, below := x-column, y-row
			left, above := 1-right, 1-below
			sum := func(of func(at int) float32) (sum float32) {
				for k, weight := range [4]float32{float32(above * left), float32(above * right), float32(below * left), float32(below * right)} {
					value, atX, atY := float32(0), float64(column)+float64(k%2), float64(row)+float64(k/2)
					if inside(atX, atY) {
						value = of(int(atY)*int(width) + int(atX))
					}
					if k == 0 {
						sum = float32(value * weight)
					} else {
						sum = added(sum, value, weight, step.Fused)
					}
				}
				return sum
			}
			value, mask := sum(func(at int) float32 { return float32(plane[at]) }), sum(func(int) float32 { return 1 })
			switch step.Outside {
			case recipe.OutsideV1:
				value = float32(value*mask) + float32((1-mask)*fill)
			case recipe.OutsideV2:
				value = float32((value-fill)*mask) + fill
			}
			if value == value {
				out.planes[c][i] = byte(math.RoundToEven(float64(value)))
			}
		}
	}
	return out
}
