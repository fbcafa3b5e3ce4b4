package op_test

import (
	"math"

	"github.com/goloader/goloader/core/recipe"
)

// The laws of colour, as Pillow has them in Python and C; see reference_test.go.

// blend is Image.blend of one byte with another.
func blend(from, to byte, factor float32) byte {
	part := float32(factor * float32(int(to)-int(from)))
	value := float32(float32(from) + part)
	return byte(min(max(value, 0), 255))
}

func (p picture) pointwise(becomes func(c int, v byte) byte) picture {
	out := blank(p.size, len(p.planes))
	for c, plane := range p.planes {
		for i, v := range plane {
			out.planes[c][i] = becomes(c, v)
		}
	}
	return out
}

func (p picture) blended(from picture, factor float32) picture {
	out := blank(p.size, len(p.planes))
	for c, plane := range p.planes {
		for i, v := range plane {
			out.planes[c][i] = blend(from.planes[c][i], v, factor)
		}
	}
	return out
}

func (p picture) meanLuma() byte {
	grey, sum := p.luma(1).planes[0], 0
	for _, v := range grey {
		sum += int(v)
	}
	return byte(float64(sum)/float64(len(grey)) + 0.5)
}

// smoothed is ImageFilter.SMOOTH.
func (p picture) smoothed() picture {
	return p.pixelwise(func(plane []byte, x, y int) byte {
		width, height := int(p.size.Width), int(p.size.Height)
		if x == 0 || y == 0 || x == width-1 || y == height-1 {
			return plane[y*width+x]
		}
		sum := 4 * float64(plane[y*width+x])
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				sum += float64(plane[(y+dy)*width+x+dx])
			}
		}
		return byte(sum/13 + 0.5)
	})
}

func (p picture) pixelwise(at func(plane []byte, x, y int) byte) picture {
	out := blank(p.size, len(p.planes))
	for c, plane := range p.planes {
		for i := range plane {
			out.planes[c][i] = at(plane, i%int(p.size.Width), i/int(p.size.Width))
		}
	}
	return out
}

// blurred is ImageFilter.BoxBlur, each axis Times times: of a box, the inner pixels and the two at its ends.
func (p picture) blurred(step recipe.Step) picture {
	for axis, radius := range step.Radius {
		if radius == 0 {
			continue
		}
		whole := int(radius)
		inner := uint32(float32(1<<24) / (radius*2 + 1))
		outer := (1<<24 - uint32(2*whole+1)*inner) / 2
		for range step.Times {
			p = p.pixelwise(func(plane []byte, x, y int) byte {
				at := func(d int) uint32 {
					place := [2]int{x, y}
					place[axis] += d
					return uint32(plane[min(max(place[1], 0), int(p.size.Height)-1)*int(p.size.Width)+min(max(place[0], 0), int(p.size.Width)-1)])
				}
				sum := (at(-whole-1) + at(whole+1)) * outer
				for d := -whole; d <= whole; d++ {
					sum += at(d) * inner
				}
				return byte((sum + 1<<23) >> 24)
			})
		}
	}
	return p
}

// stencilled is ImageFilter.Kernel (src/libImaging/Filter.c).
func (p picture) stencilled(step recipe.Step) picture {
	side, margin := int(step.Width), int(step.Width)/2
	return p.pixelwise(func(plane []byte, x, y int) byte {
		width, height := int(p.size.Width), int(p.size.Height)
		if x < margin || y < margin || x >= width-margin || y >= height-margin {
			return plane[y*width+x]
		}
		sum := step.Factor + 0.5
		for i := range side {
			part := float32(0)
			for j := range side {
				term := float32(float32(plane[(y+margin-i)*width+x+j-margin]) * step.Weights[0][i*side+j])
				if part += term; j == 0 {
					part = term
				}
			}
			sum += part
		}
		return byte(min(max(sum, 0), 255))
	})
}

// convolved adds a tap at a time, row by row, and rounds to float32 after each. Sums of products of bytes and such weights as
// the tests have are exact in float64.
func (p picture) convolved(step recipe.Step) picture {
	across, down := int(step.Width), int(step.Height)
	return p.pixelwise(func(plane []byte, x, y int) byte {
		var sum float32
		for i := range down {
			for j := range across {
				row, _ := padded(recipe.Reflect, int32(y+i-down/2), p.size.Height)
				column, _ := padded(recipe.Reflect, int32(x+j-across/2), p.size.Width)
				weight := step.Weights[1][i] * step.Weights[0][j]
				sum = float32(float64(weight)*float64(plane[row*p.size.Width+column]) + float64(sum))
			}
		}
		return byte(math.RoundToEven(float64(min(sum, 255))))
	})
}

// convolvedByAxes goes down and then across, in float32 of 0 to 1.
func (p picture) convolvedByAxes(step recipe.Step) picture {
	width, height := p.size.Width, p.size.Height
	out := blank(p.size, len(p.planes))
	for k, plane := range p.planes {
		numbers := make([]float32, len(plane))
		for i, v := range plane {
			numbers[i] = float32(v) / 255
		}
		for _, axis := range []int{1, 0} {
			made := make([]float32, len(numbers))
			for y := range height {
				for x := range width {
					var sum float32
					for i := range [2]int32{step.Width, step.Height}[axis] {
						row, column := y, x
						if axis == 1 {
							row, _ = padded(recipe.Reflect, y+i-step.Height/2, height)
						} else {
							column, _ = padded(recipe.Reflect, x+i-step.Width/2, width)
						}
						sum = float32(math.FMA(float64(step.Weights[axis][i]), float64(numbers[row*width+column]), float64(sum)))
					}
					made[y*width+x] = sum
				}
			}
			numbers = made
		}
		for i, v := range numbers {
			out.planes[k][i] = byte(min(float32(v*255), 255))
		}
	}
	return out
}

// turned goes to HSV and back as Pillow does (src/libImaging/Convert.c), in its types.
func (p picture) turned(shift byte) picture {
	out := blank(p.size, len(p.planes))
	if len(p.planes) == 1 {
		copy(out.planes[0], p.planes[0])
		return out
	}
	for i := range p.planes[0] {
		h, s, v := toHSV(p.planes[0][i], p.planes[1][i], p.planes[2][i])
		out.planes[0][i], out.planes[1][i], out.planes[2][i] = fromHSV(h+shift, s, v)
	}
	return out
}

func toHSV(r, g, b byte) (h, s, v byte) {
	high, low := max(r, g, b), min(r, g, b)
	if high == low {
		return 0, 0, high
	}
	chroma := float32(high - low)
	rc, gc, bc := float32(high-r)/chroma, float32(high-g)/chroma, float32(high-b)/chroma
	var hue float32
	switch high {
	case r:
		hue = bc - gc
	case g:
		hue = float32(2 + float64(rc) - float64(bc))
	default:
		hue = float32(4 + float64(gc) - float64(rc))
	}
	hue = float32(math.Mod(float64(hue)/6+1, 1))
	return byte(float64(hue) * 255), byte(float64(chroma/float32(high)) * 255), high
}

func fromHSV(h, s, v byte) (r, g, b byte) {
	if s == 0 {
		return v, v, v
	}
	sector := int(math.Floor(float64(h) * 6 / 255))
	rest := float32(float64(h)*6/255 - float64(sector))
	saturation := float32(float64(s) / 255)
	level := func(x float64) byte { return byte(math.Round(float64(v) * (1 - x))) }
	p := level(float64(saturation))
	q := level(float64(saturation * rest))
	t := level(float64(saturation) * (1 - float64(rest)))
	return [6]byte{v, q, p, p, t, v}[sector%6], [6]byte{t, v, v, q, p, p}[sector%6], [6]byte{p, p, t, v, v, q}[sector%6]
}

func (p picture) levelled(table func(histogram [256]int) [256]byte) picture {
	tables := make([][256]byte, len(p.planes))
	for c, plane := range p.planes {
		var histogram [256]int
		for _, v := range plane {
			histogram[v]++
		}
		tables[c] = table(histogram)
	}
	return p.pointwise(func(c int, v byte) byte { return tables[c][v] })
}

// stretch is ImageOps.autocontrast.
func stretch(histogram [256]int) (table [256]byte) {
	low, high := 0, 255
	for low < 255 && histogram[low] == 0 {
		low++
	}
	for high > 0 && histogram[high] == 0 {
		high--
	}
	for v := range table {
		table[v] = byte(v)
		if high > low {
			scale := 255 / float64(high-low)
			offset := float64(-low) * scale
			scaled := float64(float64(v) * scale)
			table[v] = byte(min(max(int(scaled+offset), 0), 255))
		}
	}
	return table
}

// spread is ImageOps.equalize.
func spread(histogram [256]int) (table [256]byte) {
	total, last := 0, 0
	for _, n := range histogram {
		total += n
		if n != 0 {
			last = n
		}
	}
	step := (total - last) / 255
	sum := step / 2
	for v := range table {
		table[v] = byte(v)
		if step != 0 {
			table[v] = byte(min(sum/step, 255))
		}
		sum += histogram[v]
	}
	return table
}

// transformed is Image.transform (src/libImaging/Geometry.c) with the general arithmetic, and with the 16.16 bits that
// Pillow uses for the nearest neighbours of what is rotated or sheared.
func (p picture) transformed(step recipe.Step) picture {
	a, size := step.Matrix, step.Out(p.size)
	inside := func(x, y float64) bool {
		return 0 <= x && x < float64(p.size.Width) && 0 <= y && y < float64(p.size.Height)
	}
	position := func(x, y int32) (float64, float64) {
		column, line := float64(x)+0.5, float64(y)+0.5
		px := float64(a[0]*column) + float64(a[1]*line) + a[2]
		py := float64(a[3]*column) + float64(a[4]*line) + a[5]
		if step.Kind == recipe.Perspective {
			depth := float64(a[6]*column) + float64(a[7]*line) + 1
			return px / depth, py / depth
		}
		return px, py
	}
	if step.Filter != recipe.Nearest {
		out := p.moved(size, step.Fill, func(int32, int32) (int32, int32, bool) { return 0, 0, false })
		for c, plane := range p.planes {
			for i := range out.planes[c] {
				x, y := position(int32(i)%size.Width, int32(i)/size.Width)
				if inside(x, y) {
					out.planes[c][i] = p.neighbourhood(plane, x-0.5, y-0.5, step.Filter)
				}
			}
		}
		return out
	}
	fixed := func(v float64) int32 { return int32(int64(math.Floor(float64(v*65536) + 0.5))) }
	return p.moved(size, step.Fill, func(x, y int32) (int32, int32, bool) {
		if step.Kind == recipe.Affine && (a[1] != 0 || a[3] != 0) {
			column := fixed(a[2]+float64(a[0]*0.5)+float64(a[1]*0.5)) + x*fixed(a[0]) + y*fixed(a[1])
			line := fixed(a[5]+float64(a[3]*0.5)+float64(a[4]*0.5)) + x*fixed(a[3]) + y*fixed(a[4])
			column, line = column>>16, line>>16
			return column, line, inside(float64(column), float64(line))
		}
		px, py := position(x, y)
		if step.Kind == recipe.Affine {
			px, py = a[2]+float64(a[0]*0.5), a[5]+float64(a[4]*0.5)
			for range x {
				px += a[0]
			}
			for range y {
				py += a[4]
			}
		}
		return int32(px), int32(py), inside(px, py)
	})
}

func (p picture) neighbourhood(plane []byte, x, y float64, filter recipe.Filter) byte {
	left, top := int32(math.Floor(x)), int32(math.Floor(y))
	dx, dy := x-float64(left), y-float64(top)
	at := func(column, line int32) float64 {
		column, line = min(max(column, 0), p.size.Width-1), min(max(line, 0), p.size.Height-1)
		return float64(plane[line*p.size.Width+column])
	}
	if filter == recipe.Bilinear {
		mix := func(a, b, d float64) float64 { return a + float64((b-a)*d) }
		return byte(mix(mix(at(left, top), at(left+1, top), dx), mix(at(left, top+1), at(left+1, top+1), dx), dy))
	}
	cubic := func(v [4]float64, d float64) float64 {
		p2, p3, p4 := -v[0]+v[2], 2*(v[0]-v[1])+v[2]-v[3], -v[0]+v[1]-v[2]+v[3]
		inner := p3 + float64(d*p4)
		inner = p2 + float64(d*inner)
		return v[1] + float64(d*inner)
	}
	var rows [4]float64
	for r := range rows {
		line := top + int32(r) - 1
		rows[r] = cubic([4]float64{at(left-1, line), at(left, line), at(left+1, line), at(left+2, line)}, dx)
	}
	return byte(min(max(cubic(rows, dy), 0), 255))
}

// byPixel makes each pixel of three planes of the pixel at its place, whose column is x.
func (p picture) byPixel(becomes func(x int32, pixel [3]byte) [3]byte) picture {
	if len(p.planes) == 1 {
		return p
	}
	out := blank(p.size, 3)
	for i := range p.planes[0] {
		made := becomes(int32(i)%p.size.Width, [3]byte{p.planes[0][i], p.planes[1][i], p.planes[2][i]})
		for c, v := range made {
			out.planes[c][i] = v
		}
	}
	return out
}

// openCVHSV is OpenCV's, with H in half degrees.
func openCVHSV(_ int32, rgb [3]byte) [3]byte {
	red, green, blue := int(rgb[0]), int(rgb[1]), int(rgb[2])
	high := max(red, green, blue)
	chroma := high - min(red, green, blue)
	turn := red - green + 4*chroma
	if high == red {
		turn = green - blue
	} else if high == green {
		turn = blue - red + 2*chroma
	}
	if chroma == 0 {
		return [3]byte{0, 0, byte(high)}
	}
	hue := (turn*int(math.RoundToEven(180*4096/(6*float64(chroma)))) + 2048) >> 12
	if hue < 0 {
		hue += 180
	}
	return [3]byte{byte(hue), byte((chroma*int(math.RoundToEven(255*4096/float64(high))) + 2048) >> 12), byte(high)}
}

// fromOpenCVHSV is OpenCV's: it cuts off, or rounds in columns behind the last whole vector.
func fromOpenCVHSV(hsv [3]byte, rounds bool) [3]byte {
	turn := float32(hsv[0]) * (6.0 / 180.0)
	s, v := float32(hsv[1])*(1.0/255.0), float32(hsv[2])*(1.0/255.0)
	part := turn - float32(int(turn))
	without := func(share float32) float32 { return v * float32(math.FMA(float64(-s), float64(share), 1)) }
	least, falling, rising := v*(1-s), without(part), without(1-part)
	colours := [6][3]float32{{v, rising, least}, {falling, v, least}, {least, v, rising},
		{least, falling, v}, {rising, least, v}, {v, least, falling}}
	var made [3]byte
	for c, level := range colours[int(turn)%6] {
		value := float64(level * 255)
		if rounds {
			value = math.RoundToEven(value)
		}
		made[c] = byte(value)
	}
	return made
}

// yCbCr is Pillow's, by tables of 64ths like its own.
func (p picture) yCbCr() picture {
	if len(p.planes) == 1 {
		out := blank(p.size, 3)
		for i, grey := range p.planes[0] {
			out.planes[0][i], out.planes[1][i], out.planes[2][i] = grey, 128, 128
		}
		return out
	}
	part := func(weight float64, v byte) int { return int(weight*64*float64(v) + 0.5) }
	return p.byPixel(func(_ int32, rgb [3]byte) [3]byte {
		r, g, b := rgb[0], rgb[1], rgb[2]
		return [3]byte{
			byte((part(0.299, r) + part(0.587, g) + part(0.114, b)) >> 6),
			byte((part(-0.16874, r)+part(-0.33126, g)+part(0.5, b))>>6 + 128),
			byte((part(0.5, r)+part(-0.41869, g)+part(-0.08131, b))>>6 + 128),
		}
	})
}
