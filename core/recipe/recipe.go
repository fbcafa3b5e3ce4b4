// Package recipe holds one sample's work with every argument known: nothing random is left in it, so a recipe can be
// logged, replayed and compared with torchvision. Draws (core/draw) write recipes; core/op carries them out.
package recipe

import "fmt"

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

// Outside is what torchvision's transforms of a tensor have beyond its edges.
type Outside uint8

// The ways. They differ where a pixel comes from the edge, in part from outside: both blends show zeros there as well.
const (
	OutsideZeros Outside = iota // fill=None
	OutsideV1                   // the Fill, blended in as v1 does
	OutsideV2                   // the Fill, blended in as v2 does
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

// torch's of bytes' numbers, bilinear and antialiased by sums of float32: of the numbers that bytes become, as the last step,
// and of bytes, which the sums are rounded to. There is one for each power of two of products that torch rounds at a time:
// TorchFloat + 3 is for 8.
const (
	TorchFloat  Filter = 64
	TorchCast   Filter = 96
	TorchGroups        = 21
)

// LeavesBytes says whether bytes come out of a resize by it.
func (f Filter) LeavesBytes() bool { return f < TorchFloat || f >= TorchCast }

// Known says whether there is such a filter.
func (f Filter) Known() bool {
	return f <= Hamming || (f >= TorchBilinear && f <= TorchNearest) || (f >= OpenCVNearest && f <= OpenCVArea) ||
		(f >= TorchFloat && f < TorchFloat+TorchGroups) || (f >= TorchCast && f < TorchCast+TorchGroups)
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
