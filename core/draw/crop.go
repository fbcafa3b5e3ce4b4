package draw

import (
	"fmt"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
)

// centerCrop is torchvision's CenterCrop: center_crop in torchvision/transforms/functional.py.
type centerCrop struct{ size plan.HeightWidth }

func (t centerCrop) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	width, height := t.size.Width, t.size.Height
	lackX, lackY := max(width-in.Width, 0), max(height-in.Height, 0)
	dst, in, err := padding{}.add(dst, in,
		plan.Sides{Left: lackX / 2, Top: lackY / 2, Right: (lackX + 1) / 2, Bottom: (lackY + 1) / 2})
	if err != nil {
		return dst, in, err
	}
	dst, in = crop(dst, in, halfToEven(in.Width-width), halfToEven(in.Height-height), width, height)
	return dst, in, nil
}

func (t centerCrop) random() bool  { return false }
func (t centerCrop) stepsMax() int { return 2 }

func sizeFrom(s plan.HeightWidth) recipe.Size { return recipe.Size{Width: s.Width, Height: s.Height} }

// halfToEven is Python's round(n / 2.0) for n >= 0.
func halfToEven(n int32) int32 {
	half := n >> 1
	return half + half&n&1
}

// randomCrop is torchvision's RandomCrop. v1 and v2 differ in three things: v2 pads once where v1 pads up to three
// times (which shows with mode reflect), v2 draws no offset along an edge that already fits, and they word the refusal
// differently.
type randomCrop struct {
	size     plan.HeightWidth
	sides    plan.Sides
	padded   bool // padding is not None
	ifNeeded bool
	padding  padding
}

func compileRandomCrop(t plan.RandomCrop, channels uint8) (transform, error) {
	c := randomCrop{size: t.Size, ifNeeded: t.PadIfNeeded}
	if t.Padding != nil {
		c.sides, c.padded = *t.Padding, true
	}
	var err error
	if c.padding, err = newPadding(t.Fill, t.PaddingMode, channels); err != nil {
		return nil, err
	}
	switch t.API {
	case plan.V1:
		return randomCropV1{c}, nil
	case plan.V2:
		return randomCropV2{c}, nil
	default:
		return nil, fmt.Errorf("unknown api %q", t.API)
	}
}

func (t randomCrop) random() bool { return true }

func offset(r *Source, room int32) int32 { return int32(r.MT.Randint(uint64(room) + 1)) }

type randomCropV1 struct{ randomCrop }

func (t randomCropV1) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	width, height := t.size.Width, t.size.Height
	dst, in, err := t.padding.add(dst, in, t.sides)
	if lack := width - in.Width; err == nil && t.ifNeeded && lack > 0 {
		dst, in, err = t.padding.add(dst, in, plan.Sides{Left: lack, Right: lack})
	}
	if lack := height - in.Height; err == nil && t.ifNeeded && lack > 0 {
		dst, in, err = t.padding.add(dst, in, plan.Sides{Top: lack, Bottom: lack})
	}
	if err != nil {
		return dst, in, err
	}
	if in.Height < height || in.Width < width {
		return dst, in, &Refused{plan.RandomCrop{}.Op(), fmt.Sprintf(
			"Required crop size (%d, %d) is larger than input image size (%d, %d)", height, width, in.Height, in.Width)}
	}
	if in.Width == width && in.Height == height {
		return dst, in, nil
	}
	top := offset(r, in.Height-height)
	left := offset(r, in.Width-width)
	dst, in = crop(dst, in, left, top, width, height)
	return dst, in, nil
}

func (t randomCropV1) stepsMax() int { return 4 }

type randomCropV2 struct{ randomCrop }

func (t randomCropV2) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	width, height := int64(t.size.Width), int64(t.size.Height)
	sides := t.sides
	paddedWidth := int64(in.Width) + int64(sides.Left) + int64(sides.Right)
	paddedHeight := int64(in.Height) + int64(sides.Top) + int64(sides.Bottom)
	if lack := height - paddedHeight; t.ifNeeded && lack > 0 {
		sides.Top += int32(lack)
		sides.Bottom += int32(lack)
		paddedHeight += 2 * lack
	}
	if lack := width - paddedWidth; t.ifNeeded && lack > 0 {
		sides.Left += int32(lack)
		sides.Right += int32(lack)
		paddedWidth += 2 * lack
	}
	if paddedHeight < height || paddedWidth < width {
		kind := ""
		if t.padded {
			kind = "padded "
		}
		return dst, in, &Refused{plan.RandomCrop{}.Op(), fmt.Sprintf(
			"Required crop size (%d, %d) is larger than %sinput image size (%d, %d).", height, width, kind,
			paddedHeight, paddedWidth)}
	}
	dst, in, err := t.padding.add(dst, in, sides)
	if err != nil {
		return dst, in, err
	}
	var left, top int32
	if paddedHeight > height {
		top = offset(r, in.Height-t.size.Height)
	}
	if paddedWidth > width {
		left = offset(r, in.Width-t.size.Width)
	}
	dst, in = crop(dst, in, left, top, t.size.Width, t.size.Height)
	return dst, in, nil
}

func (t randomCropV2) stepsMax() int { return 2 }
