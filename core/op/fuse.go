package op

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/goloader/goloader/core/recipe"
)

// Fuse writes a recipe's steps over an image of size in as few passes as possible, appended to dst, and says the size
// that comes out. Each pass reads and writes all its pixels, so fewer are faster; the bits are the same:
//
//   - crops, one resize, crops and flips are one pass, and so are padding, or a zoom, with crops and flips behind it;
//   - grey, look-ups, saturation, hue, YCbCr and selections of planes change each pixel by itself, so a crop or flip behind them
//     moves in front;
//   - look-ups that follow each other are one, and brightness is a look-up;
//   - a resize of a flipped image is a pass of its own: Pillow's weights are not exactly mirror images;
//   - steps that change nothing vanish; if none is left over bytes, one pass copies.
//
// Fuse does not allocate if dst has room for the passes. It fails with ErrTooLarge where Pillow would run out of memory.
func Fuse(dst []Pass, in recipe.Size, steps []recipe.Step) ([]Pass, recipe.Size, error) {
	if err := fits(int64(in.Width), int64(in.Height)); err != nil {
		return dst, in, fmt.Errorf("fuse: %w", err)
	}
	f := fuser{passes: dst, start: len(dst), begin: len(dst), in: in, size: in}
	for i, step := range steps {
		if err := f.add(step); err != nil {
			return dst, in, fmt.Errorf("fuse: step %d, on %v pixels: %w", i, f.size, err)
		}
	}
	if len(f.passes) == f.start {
		f.passes = append(f.passes, copying(f.size))
	}
	if n := len(f.passes) - f.start; n > PassesMax {
		return dst, in, fmt.Errorf("fuse: %d passes, at most %d are possible", n, PassesMax)
	}
	for i := f.start; i < len(f.passes); i++ {
		if p := &f.passes[i]; p.Kind == Resample && int64(p.Out.Width)*int64(p.Src.Height) > PixelsMax {
			return dst, in, fmt.Errorf("fuse: between the passes of a resize: %dx%d: %w", p.Out.Width, p.Src.Height, ErrTooLarge)
		}
	}
	return f.passes, f.size, nil
}

// fits says what is wrong with the size of an image, if anything.
func fits(width, height int64) error {
	switch {
	case width < 1 || height < 1:
		return fmt.Errorf("an image of %dx%d pixels", width, height)
	case width > PixelsMax || height > PixelsMax || width*height > PixelsMax:
		return fmt.Errorf("%dx%d: %w", width, height, ErrTooLarge)
	default:
		return nil
	}
}

// outOf is the size that a step leaves, whose sides may not fit an int32.
func outOf(step recipe.Step, in recipe.Size) (width, height int64) {
	if step.Kind == recipe.Pad {
		return int64(in.Width) + int64(step.Left) + int64(step.Right), int64(in.Height) + int64(step.Top) + int64(step.Bottom)
	}
	out := step.Out(in)
	return int64(out.Width), int64(out.Height)
}

type fuser struct {
	passes []Pass
	start  int         // of ours in passes
	begin  int         // of those over what steps are over now: bytes, or numbers
	over   int32       // 1: numbers
	noises int32       // of steps so far
	in     recipe.Size // before them
	size   recipe.Size // after the passes
}

func whole(s recipe.Size) Window { return Window{Width: s.Width, Height: s.Height} }

// copying is the pass that changes nothing.
func copying(s recipe.Size) Pass {
	return Pass{Kind: Resample, Src: whole(s), Width: s.Width, Height: s.Height, Out: whole(s)}
}

// resizes says whether a Resample pass has a resize in it: none yet means another may come.
func (p *Pass) resizes() bool { return p.Width != p.Src.Width || p.Height != p.Src.Height }

// isPointwise says whether the pass changes each pixel by itself. FromHSV does not: it rounds by columns.
func (p *Pass) isPointwise() bool {
	switch p.Kind {
	case Grey, Lookup, Saturation, Hue, Select, ToHSV, ToYCbCr, Normalize:
		return true
	case TorchColour:
		colour := recipe.Colour(p.Mode)
		return colour == recipe.TorchGrey || colour == recipe.TorchSaturation || colour == recipe.TorchHue
	default:
		return false
	}
}

// plain are the passes that are what a step of the recipe is, but for a factor or a shift.
var plain = map[recipe.Kind]PassKind{
	recipe.Contrast: Contrast, recipe.Saturation: Saturation, recipe.Sharpness: Sharpness, recipe.Hue: Hue,
	recipe.Autocontrast: Autocontrast, recipe.Equalize: Equalize, recipe.OpenCVToHSV: ToHSV, recipe.OpenCVFromHSV: FromHSV,
	recipe.Rank: Rank, recipe.ToYCbCr: ToYCbCr,
}

func (f *fuser) add(step recipe.Step) error {
	if err := step.Check(); err != nil {
		return err
	}
	if err := fits(outOf(step, f.size)); err != nil {
		return err
	}
	out := step.Out(f.size)
	switch step.Kind {
	case recipe.Crop:
		if step.Left < 0 || step.Top < 0 || int64(step.Left)+int64(step.Width) > int64(f.size.Width) ||
			int64(step.Top)+int64(step.Height) > int64(f.size.Height) {
			return fmt.Errorf("crop of %v at (%d, %d) leaves the image", out, step.Left, step.Top)
		}
		if out != f.size {
			f.passes[f.mover()].crop(Window{step.Left, step.Top, step.Width, step.Height})
		}
	case recipe.Resize:
		if !step.Filter.Known() {
			return fmt.Errorf("no filter %d", step.Filter)
		}
		if out != f.size {
			p := f.resizer()
			p.Width, p.Height, p.Filter = out.Width, out.Height, int32(step.Filter)
			p.Out = whole(out)
		}
	case recipe.HorizontalFlip:
		f.flip(FlipHorizontal)
	case recipe.VerticalFlip:
		f.flip(FlipVertical)
	case recipe.Pad:
		if step.Left < 0 || step.Top < 0 || step.Right < 0 || step.Bottom < 0 {
			return fmt.Errorf("negative padding")
		}
		if step.Mode > recipe.Symmetric {
			return fmt.Errorf("no padding mode %d", step.Mode)
		}
		if out != f.size {
			f.push(Pass{Kind: Pad, Left: step.Left, Top: step.Top, Right: step.Right, Bottom: step.Bottom,
				Mode: int32(step.Mode), Fill: [4]uint8{step.Fill[0], step.Fill[1], step.Fill[2]}, Numbers: step.Numbers, Out: whole(out)})
		}
	case recipe.Grayscale, recipe.OpenCVGray:
		if step.Channels != 1 && step.Channels != 3 {
			return fmt.Errorf("grey as %d channels, want 1 or 3", step.Channels)
		}
		mode := int32(GreyPillow)
		if step.Kind == recipe.OpenCVGray {
			mode = GreyOpenCV
		}
		// Grey of grey is the same: both libraries' weights add up to one.
		if p := f.last(); p != nil && p.Kind == Grey {
			p.Planes = int32(step.Channels)
		} else {
			f.push(Pass{Kind: Grey, Mode: mode, Planes: int32(step.Channels)})
		}
	case recipe.Lookup:
		f.lookup((*[3][256]byte)(unsafe.Pointer(step.Table)))
	case recipe.Brightness:
		table := brightness(step.Factor)
		f.lookup(&table)
	case recipe.TorchColour:
		f.push(Pass{Kind: TorchColour, Mode: int32(step.Colour), Factor: step.Factor, Rest: step.Rest, Fused: bit(step.Fused)})
	case recipe.TorchAffine, recipe.TorchPerspective:
		kind := TorchAffine
		if step.Kind == recipe.TorchPerspective {
			kind = TorchPerspective
		}
		f.push(Pass{Kind: kind, Filter: int32(step.Filter), Matrix: step.Matrix, Mode: int32(step.Outside),
			Fill: [4]uint8{step.Fill[0], step.Fill[1], step.Fill[2]}, Numbers: step.Numbers,
			Fused: bit(step.Fused)*FusedSample + bit(step.FusedGrid)*FusedGrid})
	case recipe.BoxBlur:
		f.push(Pass{Kind: BoxBlur, Radius: step.Radius, Times: int32(step.Times)})
	case recipe.Convolve, recipe.ConvolveUnit:
		if step.Width/2 >= f.size.Width || step.Height/2 >= f.size.Height {
			return fmt.Errorf("%dx%d weights", step.Width, step.Height)
		}
		kind := Convolve
		if step.Kind == recipe.ConvolveUnit {
			kind = ConvolveUnit
		}
		f.push(Pass{Kind: kind, Width: step.Width, Height: step.Height, Weights: *step.Weights})
	case recipe.Stencil:
		f.push(Pass{Kind: Stencil, Width: step.Width, Weights: *step.Weights, Factor: step.Factor})
	case recipe.Affine, recipe.Perspective:
		kind := Affine
		if step.Kind == recipe.Perspective {
			kind = Perspective
		}
		f.push(Pass{Kind: kind, Width: out.Width, Height: out.Height, Filter: int32(step.Filter), Matrix: step.Matrix,
			Mode: int32(step.Mode), Fill: [4]uint8{step.Fill[0], step.Fill[1], step.Fill[2]}})
	case recipe.Rotate90:
		f.push(Pass{Kind: Turn})
	case recipe.Zoom:
		if out != f.size { // else the sample's table is all
			f.push(Pass{Kind: Zoom, Width: out.Width, Height: out.Height, Out: whole(out), Matrix: [8]float64{step.Scale}, Smooth: *step.Smooth})
		}
	case recipe.ToNumbers:
		if f.over == 1 {
			return fmt.Errorf("numbers become numbers")
		}
		if len(f.passes) == f.start {
			f.push(copying(f.size))
		}
		f.begin, f.over = len(f.passes), 1
	case recipe.Normalize:
		f.push(Pass{Kind: Normalize, Numbers: step.Numbers})
	case recipe.Erase:
		p := Pass{Kind: Erase, Out: Window{step.Left, step.Top, step.Width, step.Height}, Numbers: step.Numbers}
		if step.Noise != nil {
			f.noises++
			p.Noise = f.noises
		}
		f.push(p)
	case recipe.Select:
		if step.Channels != 1 && step.Channels != 3 {
			return fmt.Errorf("a selection of %d channels, want 1 or 3", step.Channels)
		}
		if err := f.choose(step.Channels, step.Fill); err != nil {
			return err
		}
	default:
		kind, known := plain[step.Kind]
		if !known {
			return fmt.Errorf("no step of kind %d", step.Kind)
		}
		f.push(Pass{Kind: kind, Factor: step.Factor, Shift: int32(step.Shift)})
	}
	f.size = out
	return nil
}

func bit(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

// lookup puts every byte through a table.
func (f *fuser) lookup(table *[3][256]byte) {
	p := f.last()
	if p == nil || p.Kind != Lookup {
		f.push(Pass{Kind: Lookup, Table: *table})
		return
	}
	for c := range p.Table {
		for v, between := range p.Table[c] {
			p.Table[c][v] = table[c][between]
		}
	}
}

// brightness is Image.blend with black (src/libImaging/Blend.c): in float32, cut off and clipped.
func brightness(factor float32) (table [3][256]byte) {
	for v := range 256 {
		table[0][v] = byte(min(max(factor*float32(v), 0), 255))
	}
	table[1], table[2] = table[0], table[0]
	return table
}

// last is the last pass over what steps are over now; nil if there is none.
func (f *fuser) last() *Pass {
	if len(f.passes) == f.begin {
		return nil
	}
	return &f.passes[len(f.passes)-1]
}

func (f *fuser) push(p Pass) *Pass {
	p.OverNumbers = f.over
	f.passes = append(f.passes, p)
	return f.last()
}

// copying is the pass that changes nothing of a size.
func (f *fuser) copying(s recipe.Size) Pass {
	p := copying(s)
	p.OverNumbers = f.over
	return p
}

// mover is where the pass is that the next crop or flip goes into: the last one that does not change each pixel by
// itself, if it can, or else a new one behind that.
func (f *fuser) mover() int {
	at := len(f.passes)
	for at > f.begin && f.passes[at-1].isPointwise() {
		at--
	}
	if at > f.begin && slices.Contains([]PassKind{Resample, Pad, Zoom}, f.passes[at-1].Kind) {
		return at - 1
	}
	f.passes = slices.Insert(f.passes, at, f.copying(f.size))
	return at
}

// choose selects planes, of those that a selection right before it left.
func (f *fuser) choose(planes uint8, which [3]uint8) error {
	p := f.last()
	if p == nil || p.Kind != Select {
		p = f.push(Pass{Kind: Select, Planes: 3, Fill: [4]uint8{0, 1, 2}})
	}
	before := *p
	*p = Pass{Kind: Select, Planes: int32(planes)}
	for i, plane := range which[:planes] {
		if int32(plane) >= before.Planes {
			return fmt.Errorf("channel %d of %d is selected", plane, before.Planes)
		}
		p.Fill[i] = before.Fill[plane]
	}
	if p.Planes == 3 && p.Fill == [4]uint8{0, 1, 2} {
		f.passes = f.passes[:len(f.passes)-1]
	}
	return nil
}

// resizer is the pass that the next resize goes into.
func (f *fuser) resizer() *Pass {
	if p := f.last(); p != nil && p.Kind == Resample && p.Flip == 0 && !p.resizes() {
		return p
	}
	return f.push(copying(f.size))
}

// flip mirrors, and drops a pass that a second flip has turned into a copy.
func (f *fuser) flip(which Flip) {
	if p := f.last(); p != nil && p.Kind == Turn {
		p.Flip ^= which
		return
	}
	at := f.mover()
	f.passes[at].Flip ^= which
	in := f.in
	for _, before := range f.passes[f.start:at] {
		in = before.after(in)
	}
	if f.passes[at] == f.copying(in) {
		f.passes = slices.Delete(f.passes, at, at+1)
	}
}

// after is the size that the pass leaves of an image of size in.
func (p *Pass) after(in recipe.Size) recipe.Size {
	switch p.Kind {
	case Resample, Pad, Zoom:
		return recipe.Size{Width: p.Out.Width, Height: p.Out.Height}
	case Affine, Perspective:
		return recipe.Size{Width: p.Width, Height: p.Height}
	case Turn:
		return recipe.Size{Width: in.Height, Height: in.Width}
	default:
		return in
	}
}

// crop keeps a window of what the pass gives now, after its flips.
func (p *Pass) crop(w Window) {
	if p.Flip&FlipHorizontal != 0 {
		w.X = p.Out.Width - w.X - w.Width
	}
	if p.Flip&FlipVertical != 0 {
		w.Y = p.Out.Height - w.Y - w.Height
	}
	if p.Kind == Resample && !p.resizes() {
		p.Src = Window{p.Src.X + w.X, p.Src.Y + w.Y, w.Width, w.Height}
		p.Width, p.Height = w.Width, w.Height
		p.Out = Window{0, 0, w.Width, w.Height}
		return
	}
	p.Out = Window{p.Out.X + w.X, p.Out.Y + w.Y, w.Width, w.Height}
}
