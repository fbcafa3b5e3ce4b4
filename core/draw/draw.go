// Package draw is the random half of torchvision's transforms: from an image's size and torch's random numbers to a
// recipe, in which nothing is random any more. Every transform draws what torchvision's own code draws, in its order
// and under its conditions, so the generator is always left in the state that torchvision would leave it in.
package draw

import (
	"fmt"
	"math"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
)

// Source is where a Program's random numbers come from.
type Source struct {
	MT  *rng.MT19937
	Exp *Answers // what torch.exp gave where it had to be asked; nil knows nothing

	Python, NumPy *rng.MT19937  // nil but for scripts
	Own           []rng.MT19937 // those of the user's objects (plan.Script.Generators)

	frame *Frame // nil but for scripts
}

// Refused says that torchvision's transform raises an error for this image (or Pillow does on its behalf), and with
// which words. What was drawn before stays drawn, as in torchvision. In Python it is a ValueError.
type Refused struct {
	Op   string // the transform, by its name in the plan
	Text string
}

func (e *Refused) Error() string { return e.Text }

// Program draws for one part of a plan. It holds nothing that changes: any number of goroutines may use it.
type Program struct {
	transforms []transform
	random     bool
	stepsMax   int
}

// transform is one transform, its arguments worked out.
type transform interface {
	// draw appends what the transform does to an image of size in.
	draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error)
	// random says whether draw ever touches the generator.
	random() bool
	// stepsMax is the most steps that draw appends.
	stepsMax() int
}

// Compile makes the Program of a part's images.
func Compile(part plan.Part, r plan.RNG) (*Program, error) {
	channels := uint8(3)
	if part.Image != nil {
		channels = uint8(part.Image.Channels())
	}
	return compileAll(part.Transforms, channels, r)
}

// CompileTarget makes the Program of a part's targets.
func CompileTarget(target *plan.Target, r plan.RNG) (*Program, error) {
	return compileAll(target.Transforms, uint8(target.Mode.Channels()), r)
}

// CompileAugmentation makes the Program of transforms that belong to no plan.
func CompileAugmentation(a *plan.Augmentation) (*Program, error) {
	return compileAll(a.Transforms, uint8(a.Channels), a.RNG)
}

func compileAll(transforms []plan.Transform, channels uint8, r plan.RNG) (*Program, error) {
	p := &Program{}
	for i, t := range transforms {
		made, err := compile(t, r, &channels)
		if err != nil {
			return nil, fmt.Errorf("transforms[%d], %s: %w", i, t.Op(), err)
		}
		p.transforms = append(p.transforms, made)
		p.random = p.random || made.random()
		p.stepsMax += made.stepsMax()
	}
	return p, nil
}

func compile(t plan.Transform, r plan.RNG, channels *uint8) (transform, error) {
	switch t := t.(type) {
	case plan.Resize:
		return compileResize(t)
	case plan.CenterCrop:
		return centerCrop{t.Size}, nil
	case plan.RandomCrop:
		return compileRandomCrop(t, *channels)
	case plan.RandomResizedCrop:
		return compileRandomResizedCrop(t, r)
	case plan.RandomHorizontalFlip:
		return flip{recipe.HorizontalFlip, float32(t.P)}, nil
	case plan.RandomVerticalFlip:
		return flip{recipe.VerticalFlip, float32(t.P)}, nil
	case plan.Pad:
		return compilePad(t.Padding, t.Fill, t.PaddingMode, *channels)
	case plan.Grayscale:
		g := grayscale{from: *channels, to: uint8(t.Channels)}
		*channels = g.to
		return g, nil
	case plan.TorchGrayscale:
		g := torchGrayscale{grayscale{from: *channels, to: uint8(t.Channels)}, t.Fused}
		*channels = g.to
		return g, nil
	case plan.Steps:
		return compileSteps(t.Wire)
	case plan.RandomApply:
		return compileRandomApply(t, r, *channels)
	case plan.ColorJitter:
		return compileColorJitter(t, r), nil
	case plan.RandomPhotometricDistort:
		return compilePhotometricDistort(t, r, *channels), nil
	case plan.RandomChannelPermutation:
		return channelPermutation(*channels), nil
	case plan.TorchBlur:
		return compileTorchBlur(t, r)
	case plan.RandomResize:
		filter, err := filterOf(t.Filter)
		return randomResize{t.Sizes, filter}, err
	case plan.RandomShortestSize:
		filter, err := filterOf(t.Filter)
		return randomShortestSize{t.Sizes, t.MaxSize, filter}, err
	case plan.ScaleJitter:
		filter, err := filterOf(t.Filter)
		return scaleJitter{t, filter}, err
	case plan.RandomZoomOut:
		return compileZoomOut(t, *channels)
	case plan.Augment:
		return compileAugment(t)
	case plan.AutoAugment:
		return compileAutoAugment(t)
	case plan.RandomErasing:
		return compileRandomErasing(t, r, *channels), nil
	case plan.ToNumbers:
		return steps{{Kind: recipe.ToNumbers}}, nil
	case plan.Normalize:
		return steps{{Kind: recipe.Normalize, Numbers: [2][3]float32{t.Mean, t.Std}}}, nil
	case plan.OverNumbers:
		return compileOverNumbers(t, r, channels)
	case plan.RandomRotation:
		return compileRandomRotation(t, r, *channels)
	case plan.RandomAffine:
		return compileRandomAffine(t, r, *channels)
	case plan.TensorRotation:
		return compileTensorRotation(t, r, *channels)
	case plan.TensorAffine:
		return compileTensorAffine(t, r, *channels)
	case plan.CropTo:
		return compileCropTo(t)
	case plan.PatchTo:
		return compilePatchTo(t)
	case plan.ResizeTo:
		return compileResizeTo(t)
	case plan.PadTo:
		return compilePadTo(t, *channels)
	case plan.GaussianBlur:
		return compileGaussianBlur(t)
	case plan.ConvolveTo:
		return compileConvolveTo(t)
	case plan.WarpTo:
		return compileWarpTo(t, *channels)
	case plan.AffineTo:
		return compileAffineTo(t, *channels)
	case plan.RotateTo:
		return compileRotateTo(t, *channels)
	case plan.EnhanceTo:
		return compileEnhanceTo(t)
	case plan.PosterizeTo:
		return compilePosterizeTo(t)
	case plan.SolarizeTo:
		return compileSolarizeTo(t)
	case plan.MultiplyAddTo:
		return compileMultiplyAddTo(t)
	case plan.ShiftHSVTo:
		return compileShiftHSVTo(t)
	case plan.LookupTo:
		return compileLookupTo(t)
	case plan.ArithmeticTo:
		return compileArithmeticTo(t)
	case plan.Turn:
		return quarterTurn{}, nil
	case plan.OpenCVGrey:
		*channels = 1
		return steps{{Kind: recipe.OpenCVGray, Channels: 1}}, nil
	case plan.ReverseChannels:
		return steps{{Kind: recipe.Select, Channels: 3, Fill: [3]uint8{2, 1, 0}}}, nil
	default:
		return nil, fmt.Errorf("unknown transform %T", t)
	}
}

// Draw appends the steps for one image of size in to dst and returns the size after them. Steps that would change
// nothing are left out. It allocates only the weights of a blur, or if dst is too small (StepsMax), or on an error:
//
//   - *Refused: torchvision raises here.
//   - *NeedExp: torch.exp must be asked first. Put r.MT back as it was, tell r.Exp the answer, and draw again; since
//     answers last, a snapshot of r.MT from many draws ago is as good as one from just before.
func (p *Program) Draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if in.Width < 1 || in.Height < 1 {
		return dst, in, fmt.Errorf("draw: image of %v pixels", in)
	}
	var err error
	for _, t := range p.transforms {
		if dst, in, err = t.draw(dst, in, r); err != nil {
			return dst, in, err
		}
	}
	return dst, in, nil
}

// Fixed appends the steps of the first transforms, as far as they are the same for an image of size in whatever is drawn, and
// returns the size after them: what they make of an image may be kept. Draw begins with the same steps.
func (p *Program) Fixed(dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
	var err error
	for _, t := range p.fixed() {
		if dst, in, err = t.draw(dst, in, nil); err != nil {
			return dst, in, err
		}
	}
	return dst, in, nil
}

// FixedText tells what Fixed does from what other programs' do.
func (p *Program) FixedText() string {
	text := ""
	for _, t := range p.fixed() {
		text += fmt.Sprintf("%T%+v;", t, t)
	}
	return text
}

func (p *Program) fixed() []transform {
	for i, t := range p.transforms {
		if r, ok := t.(resize); ok && !r.filter.LeavesBytes() {
			return p.transforms[:i] // it leaves no bytes
		}
		switch t.(type) {
		case resize, centerCrop, pad:
		default:
			return p.transforms[:i]
		}
	}
	return p.transforms
}

// Touch draws as Draw does, up to the first transform that looks at pixels: there torchvision finds out that an image
// cannot be decoded.
func (p *Program) Touch(in recipe.Size, r *Source) error {
	var steps []recipe.Step
	for _, t := range p.transforms {
		var err error
		if steps, in, err = t.draw(steps, in, r); err != nil || len(steps) > 0 {
			return err
		}
	}
	return nil
}

// Random says whether Draw ever touches the generator.
func (p *Program) Random() bool { return p.random }

// Pairs draws for an image whose target, of another size, is to have the same numbers, and says whether it can: it is
// *Refused, in torchvision's words, at the first transform whose numbers depend on the size, unless both have one by then.
// What was drawn before stays drawn.
func (p *Program) Pairs(image, target recipe.Size, r *Source) error {
	var steps []recipe.Step
	for _, t := range p.transforms {
		same := image == target
		switch t.(type) {
		case flip:
		case pad, resize, centerCrop, grayscale: // which draw nothing
			_, target, _ = t.draw(steps[:0], target, r) // an error comes again where the target has its turn
		default:
			if !same {
				return &Refused{"pairs", fmt.Sprintf("Found multiple HxW dimensions in the sample: (%d, %d) and (%d, %d)",
					image.Height, image.Width, target.Height, target.Width)}
			}
		}
		var err error
		if steps, image, err = t.draw(steps[:0], image, r); err != nil {
			return err
		}
		if same {
			target = image
		}
	}
	return nil
}

// StepsMax is the most steps that Draw appends.
func (p *Program) StepsMax() int { return p.stepsMax }

var filters = map[plan.Filter]recipe.Filter{
	plan.Nearest:  recipe.Nearest,
	plan.Lanczos:  recipe.Lanczos,
	plan.Bilinear: recipe.Bilinear,
	plan.Bicubic:  recipe.Bicubic,
	plan.Box:      recipe.Box,
	plan.Hamming:  recipe.Hamming,

	plan.TorchBilinear: recipe.TorchBilinear,
	plan.TorchBicubic:  recipe.TorchBicubic,
	plan.TorchNearest:  recipe.TorchNearest,
	plan.TorchFloat:    recipe.TorchFloat,
	plan.TorchCast:     recipe.TorchCast,

	plan.OpenCVNearest: recipe.OpenCVNearest,
	plan.OpenCVLinear:  recipe.OpenCVLinear,
	plan.OpenCVArea:    recipe.OpenCVArea,
}

// Where plans have names for other filters, this is false, and the same key twice does not compile.
var _ = map[bool]string{false: "", plan.TorchGroups == recipe.TorchGroups: "filters by sums of float32"}

func filterOf(name plan.Filter) (recipe.Filter, error) {
	if first, group, ok := name.Group(); ok {
		return filters[first] + recipe.Filter(group), nil
	}
	f, ok := filters[name]
	if !ok {
		return 0, fmt.Errorf("unknown filter %q", name)
	}
	return f, nil
}

// crop appends a crop, unless it keeps everything.
func crop(dst []recipe.Step, in recipe.Size, left, top, width, height int32) ([]recipe.Step, recipe.Size) {
	if left == 0 && top == 0 && width == in.Width && height == in.Height {
		return dst, in
	}
	s := recipe.Step{Kind: recipe.Crop, Left: left, Top: top, Width: width, Height: height}
	return append(dst, s), s.Out(in)
}

// resized appends a resize, unless it keeps the size: torchvision then hands the image on as it is.
func resized(dst []recipe.Step, in, to recipe.Size, filter recipe.Filter) ([]recipe.Step, recipe.Size) {
	if in == to {
		return dst, in
	}
	return append(dst, recipe.Step{Kind: recipe.Resize, Filter: filter, Width: to.Width, Height: to.Height}), to
}

// sizeOf is a size computed in int64; refused if no image can have it.
func sizeOf(op string, width, height int64) (recipe.Size, error) {
	if width < 1 || height < 1 { // Pillow's words
		return recipe.Size{}, &Refused{op, "height and width must be > 0"}
	}
	if width > math.MaxInt32 || height > math.MaxInt32 {
		return recipe.Size{}, &Refused{op, fmt.Sprintf("an image of %d x %d pixels is too large", width, height)}
	}
	return recipe.Size{Width: int32(width), Height: int32(height)}, nil
}
