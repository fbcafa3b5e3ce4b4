// Package recipe holds one sample's work with every argument known: nothing random is left in it, so a recipe can be
// logged, replayed and compared with torchvision. Draws (core/draw) write recipes; core/op carries them out.
package recipe

import (
	"fmt"
	"math"
)

// Kind says what a Step does.
type Kind uint8

// The steps, named as torchvision's functional API names them.
const (
	Crop           Kind = iota // keep the Width x Height rectangle at (Left, Top)
	Resize                     // resample to Width x Height with Filter
	HorizontalFlip             // mirror left and right
	VerticalFlip               // mirror top and bottom
	Pad                        // add Left, Top, Right, Bottom pixels of kind Mode
	Grayscale                  // ITU-R 601 luma, to Channels equal planes (1 or 3)
	OpenCVGray                 // OpenCV's luma of RGB, to Channels equal planes (1 or 3)
	Lookup                     // replace each byte as Table says
	Brightness                 // Image.blend with black, by Factor (ImageEnhance.Brightness)
	Contrast                   // Image.blend with the mean luma, by Factor (ImageEnhance.Contrast)
	Saturation                 // Image.blend with the luma, by Factor (ImageEnhance.Color)
	Sharpness                  // Image.blend with the smoothed image, by Factor (ImageEnhance.Sharpness)
	Hue                        // add Shift to H of Pillow's HSV, modulo 256
	Autocontrast               // stretch each channel to 0 ... 255 (ImageOps.autocontrast)
	Equalize                   // equalize each channel's histogram (ImageOps.equalize)
	Affine                     // Image.transform, or cv2.warpAffine, to Width x Height by Matrix, with Filter; Fill outside
	Perspective                // the same with a perspective Matrix
	Rotate90                   // by 90 degrees counter-clockwise (Image.transpose)
	Select                     // Channels planes (1 or 3): those that Fill names, in that order
	Patch                      // the Width x Height rectangle at (Left, Top) becomes what the sample's table Number says
	BoxBlur                    // Radius[0] across and Radius[1] down, each Times times (ImageFilter.BoxBlur and .GaussianBlur)
	Convolve                   // Width x Height Weights in float32, over a mirrored border (torchvision's gaussian_blur)
	Stencil                    // Width x Width (3 or 5) Weights[0], row by row, and the offset Factor (ImageFilter.Kernel)
	OpenCVToHSV                // RGB to OpenCV's HSV, with H in 0 ... 179
	OpenCVFromHSV              // and back
	TorchColour                // what torchvision does to the colours of a uint8 tensor: Colour says which
)

// Kinds is how many kinds there are.
const Kinds = int(TorchColour) + 1

// Colour is one of torchvision's transforms of a uint8 tensor's colours.
type Colour uint8

// The colours.
const (
	TorchGrey         Colour = iota // luma, to one plane
	TorchContrast                   // blend with the mean luma, by Factor and Rest
	TorchSaturation                 // blend with the luma, by Factor and Rest
	TorchSharpness                  // blend with the smoothed image, by Rest
	TorchHue                        // add Factor, -0.5 to 0.5
	TorchAutocontrast               // stretch each channel to 0 ... 255
)

// Filter is a resampling filter: Pillow's by its number (Image.Resampling), or one whose arithmetic is another library's.
type Filter uint8

// Pillow's filters.
const (
	Nearest  Filter = 0
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
	Box      Filter = 4
	Hamming  Filter = 5
)

// torch's: of bytes, antialiased; and the nearest neighbour, which rounds otherwise than Pillow's.
const (
	TorchBilinear Filter = 16
	TorchBicubic  Filter = 17
	TorchNearest  Filter = 18
)

// OpenCV's: INTER_NEAREST, INTER_LINEAR and INTER_AREA.
const (
	OpenCVNearest Filter = 32
	OpenCVLinear  Filter = 33
	OpenCVArea    Filter = 34
)

// Known says whether there is such a filter.
func (f Filter) Known() bool {
	return f <= Hamming || (f >= TorchBilinear && f <= TorchNearest) || (f >= OpenCVNearest && f <= OpenCVArea)
}

// PadMode says what Pad puts around an image, as numpy.pad and torchvision name it.
type PadMode uint8

// torchvision's padding modes.
const (
	Constant  PadMode = iota // Fill
	Edge                     // the nearest pixel
	Reflect                  // mirrored, the edge pixel once
	Symmetric                // mirrored, the edge pixel twice
)

// Size is an image's width and height in pixels.
type Size struct{ Width, Height int32 }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// Pixels is how many there are.
func (s Size) Pixels() int64 { return int64(s.Width) * int64(s.Height) }

// Step is one op on a planar 8-bit image with its numbers. Fields a Kind does not name are zero.
type Step struct {
	Kind     Kind
	Filter   Filter   // Resize; Affine and Perspective: Nearest, Bilinear or Bicubic; Affine: OpenCVNearest, OpenCVLinear
	Mode     PadMode  // Pad; Affine by OpenCV's filters: what is outside
	Channels uint8    // Grayscale, OpenCVGray, Select: planes that come out, 1 or 3
	Fill     [3]uint8 // Pad with Constant, Affine, Perspective: a value a plane; Select: a plane's number each
	Shift    uint8    // Hue

	Left, Top, Right, Bottom int32 // Crop, Patch: Left, Top; Pad: all four
	Width, Height            int32 // Crop, Resize, Affine, Perspective, Patch; Convolve, Stencil: how many weights, odd
	Number                   int32 // Patch: of tables; 0 is the whole sample's

	Colour Colour // TorchColour
	Fused  bool   // TorchColour: torch adds a multiple with one rounding

	Factor  float32              // Brightness, Contrast, Saturation, Sharpness, Stencil, TorchColour; finite
	Rest    float32              // TorchColour: 1 - Factor, which torch rounds by itself; finite
	Radius  [2]float32           // BoxBlur: 0 to RadiusMax
	Times   uint32               // BoxBlur: 1 to TimesMax
	Weights *[2][TapsMax]float32 // Convolve: Width of them across, Height down; 0 to 1. Stencil
	Matrix  [8]float64           // Affine: 6 numbers, Perspective: 8; from output to input as in Image.transform; finite
	Table   *[3 * 256]byte       // Lookup: a row of 256 for each plane
}

// Limits of core/op's: of a BoxBlur, and of the weights of a Convolve each way.
const (
	RadiusMax = 1 << 20
	TimesMax  = 16
	TapsMax   = 31
	// StencilMax is the most that a Stencil's weights and its offset can be.
	StencilMax = 1 << 20
)

// Check says what is wrong with numbers of the step that do not depend on the image.
func (s Step) Check() error {
	switch s.Kind {
	case Lookup:
		if s.Table == nil {
			return fmt.Errorf("no table to look up in")
		}
	case Brightness, Contrast, Saturation, Sharpness:
		if f := float64(s.Factor); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("a factor of %v", f)
		}
	case TorchColour:
		for _, f := range [2]float32{s.Factor, s.Rest} {
			if f := float64(f); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("a factor of %v", f)
			}
		}
		if s.Colour > TorchAutocontrast || (s.Colour == TorchHue && (s.Factor < -0.5 || s.Factor > 0.5)) {
			return fmt.Errorf("no colour %d of torch's by %v", s.Colour, s.Factor)
		}
	case Patch:
		if s.Number < 0 {
			return fmt.Errorf("a patch by table %d", s.Number)
		}
	case BoxBlur:
		for _, r := range s.Radius {
			if !(r >= 0 && r <= RadiusMax) {
				return fmt.Errorf("a blur of radius %v", r)
			}
		}
		if s.Times < 1 || s.Times > TimesMax {
			return fmt.Errorf("a blur that is done %d times", s.Times)
		}
	case Stencil:
		if s.Weights == nil || (s.Width != 3 && s.Width != 5) {
			return fmt.Errorf("no 3x3 or 5x5 weights")
		}
		if !(s.Factor >= -StencilMax && s.Factor <= StencilMax) {
			return fmt.Errorf("an offset of %v", s.Factor)
		}
		for _, w := range s.Weights[0][:s.Width*s.Width] {
			if !(w >= -StencilMax && w <= StencilMax) {
				return fmt.Errorf("a weight of %v", w)
			}
		}
	case Convolve:
		if s.Weights == nil {
			return fmt.Errorf("no weights")
		}
		for axis, n := range [2]int32{s.Width, s.Height} {
			if n < 1 || n > TapsMax || n%2 == 0 {
				return fmt.Errorf("%d weights", n)
			}
			for _, w := range s.Weights[axis][:n] {
				if !(w >= 0 && w <= 1) {
					return fmt.Errorf("a weight of %v", w)
				}
			}
		}
	case Affine, Perspective:
		most := math.MaxFloat64
		switch {
		case s.Kind == Affine && (s.Filter == OpenCVNearest || s.Filter == OpenCVLinear):
			if s.Mode > Symmetric {
				return fmt.Errorf("no border of mode %d", s.Mode)
			}
			most = 1 << 31
		case s.Filter != Nearest && s.Filter != Bilinear && s.Filter != Bicubic:
			return fmt.Errorf("no transform with filter %d", s.Filter)
		}
		for _, v := range s.Matrix {
			if !(math.Abs(v) <= most) {
				return fmt.Errorf("a matrix with %v in it", v)
			}
		}
	}
	return nil
}

// Out is the size of the image after the step.
func (s Step) Out(in Size) Size {
	switch s.Kind {
	case Crop, Resize, Affine, Perspective:
		return Size{s.Width, s.Height}
	case Rotate90:
		return Size{in.Height, in.Width}
	case Pad:
		return Size{in.Width + s.Left + s.Right, in.Height + s.Top + s.Bottom}
	default:
		return in
	}
}

// CutPatches splits steps before the patches that they end with: these are laid on a finished sample.
func CutPatches(steps []Step) (before, patches []Step) {
	n := len(steps)
	for n > 0 && steps[n-1].Kind == Patch {
		n--
	}
	return steps[:n], steps[n:]
}
