// Package recipe holds one sample's work with every argument known: nothing random is left in it, so a recipe can be
// logged, replayed and compared with torchvision. Draws (core/draw) write recipes; core/op carries them out.
package recipe

import "fmt"

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

// torch's, of bytes, antialiased.
const (
	TorchBilinear Filter = 16
	TorchBicubic  Filter = 17
)

// OpenCV's: INTER_NEAREST, INTER_LINEAR and INTER_AREA.
const (
	OpenCVNearest Filter = 32
	OpenCVLinear  Filter = 33
	OpenCVArea    Filter = 34
)

// Known says whether there is such a filter.
func (f Filter) Known() bool {
	return f <= Hamming || f == TorchBilinear || f == TorchBicubic || (f >= OpenCVNearest && f <= OpenCVArea)
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

// Step is one op on a planar 8-bit image with its numbers. Fields a Kind does not name are zero.
type Step struct {
	Kind     Kind
	Filter   Filter   // Resize
	Mode     PadMode  // Pad
	Channels uint8    // Grayscale, OpenCVGray: planes that come out, 1 or 3
	Fill     [3]uint8 // Pad with Constant: a value a plane

	Left, Top, Right, Bottom int32 // Crop: Left, Top; Pad: all four
	Width, Height            int32 // Crop, Resize
}

// Out is the size of the image after the step.
func (s Step) Out(in Size) Size {
	switch s.Kind {
	case Crop, Resize:
		return Size{s.Width, s.Height}
	case Pad:
		return Size{in.Width + s.Left + s.Right, in.Height + s.Top + s.Bottom}
	default:
		return in
	}
}
