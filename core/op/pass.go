package op

/*
#include "op.h"
*/
import "C"

import (
	"unsafe"

	"github.com/goloader/goloader/core/recipe"
)

// PassKind says what a Pass does.
type PassKind int32

// The passes.
const (
	Resample     PassKind = C.GL_RESAMPLE      // crop to Src, resize to Width x Height, crop to Out, flip
	Pad          PassKind = C.GL_PAD           // add a border, crop to Out, flip
	Grey         PassKind = C.GL_GREY          // luma, as Planes equal planes; Mode says whose
	Lookup       PassKind = C.GL_LOOKUP        // replace bytes as Table says
	Contrast     PassKind = C.GL_CONTRAST      // blend with the mean luma by Factor
	Saturation   PassKind = C.GL_SATURATION    // blend with the luma by Factor
	Sharpness    PassKind = C.GL_SHARPNESS     // blend with the smoothed image by Factor
	Hue          PassKind = C.GL_HUE           // add Shift to the hue
	Autocontrast PassKind = C.GL_AUTOCONTRAST  // stretch each plane to 0 ... 255
	Equalize     PassKind = C.GL_EQUALIZE      // equalize each plane's histogram
	Affine       PassKind = C.GL_AFFINE        // transform by Matrix to Width x Height with Filter
	Perspective  PassKind = C.GL_PERSPECTIVE   // the same with a perspective Matrix
	Turn         PassKind = C.GL_TURN          // by 90 degrees counter-clockwise; flip
	ToHSV        PassKind = C.GL_TO_HSV        // RGB to OpenCV's HSV
	FromHSV      PassKind = C.GL_FROM_HSV      // and back
	Select       PassKind = C.GL_SELECT        // the Planes planes that Fill names
	BoxBlur      PassKind = C.GL_BOX_BLUR      // with Radius, Times times
	Convolve     PassKind = C.GL_CONVOLVE      // with Width x Height weights
	Stencil      PassKind = C.GL_STENCIL       // with Width x Width weights
	TorchColour  PassKind = C.GL_TORCH_COLOUR  // Mode (a recipe.Colour) says which, with Factor, Rest and Fused
	Rank         PassKind = C.GL_RANK          // number Shift of 3 x 3 pixels, by their size
	ToYCbCr      PassKind = C.GL_TO_YCBCR      // RGB or grey to Pillow's YCbCr
	ConvolveUnit PassKind = C.GL_CONVOLVE_UNIT // with Height weights and then Width
	Zoom         PassKind = C.GL_ZOOM          // scikit-image's resize to Width x Height; crop to Out, flip

	TorchAffine      PassKind = C.GL_TORCH_AFFINE      // torch's of a tensor by Matrix with Filter; Mode is a recipe.Outside
	TorchPerspective PassKind = C.GL_TORCH_PERSPECTIVE // the same with a perspective Matrix

	Normalize PassKind = C.GL_NORMALIZE // over numbers: less Numbers[0], divided by Numbers[1]
	Erase     PassKind = C.GL_ERASE     // over numbers: Out becomes Numbers[0], or noise
)

// Modes of Grey: whose weights.
const (
	GreyPillow = C.GL_GREY_PILLOW
	GreyOpenCV = C.GL_GREY_OPENCV
)

// Bits of Fused, of TorchAffine and TorchPerspective.
const (
	FusedSample = C.GL_FUSED_SAMPLE
	FusedGrid   = C.GL_FUSED_GRID
)

// Flip says which ways a pass mirrors its result.
type Flip int32

// The flips; both together turn the image by half.
const (
	FlipHorizontal Flip = C.GL_FLIP_HORIZONTAL
	FlipVertical   Flip = C.GL_FLIP_VERTICAL
)

// Window is a rectangle of pixels.
type Window struct{ X, Y, Width, Height int32 }

// Pass is gl_pass (passes.h), field by field.
type Pass struct {
	Kind                           PassKind
	Src                            Window
	Width, Height, Filter          int32
	Out                            Window
	Flip                           Flip
	Left, Top, Right, Bottom, Mode int32
	Fill                           [4]uint8
	Planes                         int32
	Factor                         float32
	Shift                          int32
	Radius                         [2]float32
	Times                          int32
	Weights                        [2][recipe.TapsMax]float32
	Rest                           float32
	Fused                          int32
	OverNumbers                    int32
	Numbers                        [2][3]float32
	Noise                          int32
	Matrix                         [8]float64
	Smooth                         [2][recipe.SmoothMax]float64
	Table                          [3][256]uint8
}

// A Pass is copied into C as it is, and a step's numbers are put into it as they are. Where C has another kind, field or
// number, one of these is false, and the same key twice does not compile.
var (
	_ = map[bool]string{false: "", Erase+1 == C.GL_PASS_KINDS: "a constant for each pass"}
	_ = map[bool]string{
		false: "",
		unsafe.Offsetof(Pass{}.Kind) == C.GL_AT_kind &&
			unsafe.Offsetof(Pass{}.Src) == C.GL_AT_src &&
			unsafe.Offsetof(Pass{}.Width) == C.GL_AT_width &&
			unsafe.Offsetof(Pass{}.Height) == C.GL_AT_height &&
			unsafe.Offsetof(Pass{}.Filter) == C.GL_AT_filter &&
			unsafe.Offsetof(Pass{}.Out) == C.GL_AT_out &&
			unsafe.Offsetof(Pass{}.Flip) == C.GL_AT_flip &&
			unsafe.Offsetof(Pass{}.Left) == C.GL_AT_left &&
			unsafe.Offsetof(Pass{}.Top) == C.GL_AT_top &&
			unsafe.Offsetof(Pass{}.Right) == C.GL_AT_right &&
			unsafe.Offsetof(Pass{}.Bottom) == C.GL_AT_bottom &&
			unsafe.Offsetof(Pass{}.Mode) == C.GL_AT_mode &&
			unsafe.Offsetof(Pass{}.Fill) == C.GL_AT_fill &&
			unsafe.Offsetof(Pass{}.Planes) == C.GL_AT_planes &&
			unsafe.Offsetof(Pass{}.Factor) == C.GL_AT_factor &&
			unsafe.Offsetof(Pass{}.Shift) == C.GL_AT_shift &&
			unsafe.Offsetof(Pass{}.Radius) == C.GL_AT_radius &&
			unsafe.Offsetof(Pass{}.Times) == C.GL_AT_times &&
			unsafe.Offsetof(Pass{}.Weights) == C.GL_AT_weight &&
			unsafe.Offsetof(Pass{}.Rest) == C.GL_AT_rest &&
			unsafe.Offsetof(Pass{}.Fused) == C.GL_AT_fused &&
			unsafe.Offsetof(Pass{}.OverNumbers) == C.GL_AT_over_numbers &&
			unsafe.Offsetof(Pass{}.Numbers) == C.GL_AT_number &&
			unsafe.Offsetof(Pass{}.Noise) == C.GL_AT_noise &&
			unsafe.Offsetof(Pass{}.Matrix) == C.GL_AT_matrix &&
			unsafe.Offsetof(Pass{}.Smooth) == C.GL_AT_smooth &&
			unsafe.Offsetof(Pass{}.Table) == C.GL_AT_table &&
			unsafe.Sizeof(Pass{}) == C.sizeof_gl_pass: "the fields",
	}
	_ = map[bool]string{
		false: "",
		recipe.Nearest == C.GL_NEAREST &&
			recipe.Lanczos == C.GL_LANCZOS &&
			recipe.Bilinear == C.GL_BILINEAR &&
			recipe.Bicubic == C.GL_BICUBIC &&
			recipe.Box == C.GL_BOX &&
			recipe.Hamming == C.GL_HAMMING &&
			recipe.TorchBilinear == C.GL_TORCH_BILINEAR &&
			recipe.TorchBicubic == C.GL_TORCH_BICUBIC &&
			recipe.TorchNearest == C.GL_TORCH_NEAREST &&
			recipe.TorchFloat == C.GL_TORCH_FLOAT &&
			recipe.TorchCast == C.GL_TORCH_CAST &&
			recipe.TorchGroups == C.GL_TORCH_GROUPS &&
			recipe.OpenCVNearest == C.GL_OPENCV_NEAREST &&
			recipe.OpenCVLinear == C.GL_OPENCV_LINEAR &&
			recipe.OpenCVArea == C.GL_OPENCV_AREA: "filters",
	}
	_ = map[bool]string{
		false: "",
		recipe.Constant == C.GL_CONSTANT &&
			recipe.Edge == C.GL_EDGE &&
			recipe.Reflect == C.GL_REFLECT &&
			recipe.Symmetric == C.GL_SYMMETRIC: "borders",
	}
	_ = map[bool]string{
		false: "",
		recipe.TorchGrey == C.GL_TORCH_GREY &&
			recipe.TorchContrast == C.GL_TORCH_CONTRAST &&
			recipe.TorchSaturation == C.GL_TORCH_SATURATION &&
			recipe.TorchSharpness == C.GL_TORCH_SHARPNESS &&
			recipe.TorchHue == C.GL_TORCH_HUE &&
			recipe.TorchAutocontrast == C.GL_TORCH_AUTOCONTRAST: "torch's colours",
	}
	_ = map[bool]string{
		false: "",
		recipe.OutsideZeros == C.GL_OUTSIDE_ZEROS &&
			recipe.OutsideV1 == C.GL_OUTSIDE_V1 &&
			recipe.OutsideV2 == C.GL_OUTSIDE_V2: "what is outside",
	}
	_ = map[bool]string{
		false: "",
		recipe.RadiusMax == C.GL_RADIUS_MAX &&
			recipe.TimesMax == C.GL_TIMES_MAX &&
			recipe.TapsMax == C.GL_TAPS_MAX &&
			recipe.SmoothMax == C.GL_SMOOTH_MAX &&
			recipe.StencilMax == C.GL_STENCIL_WEIGHT_MAX: "limits",
	}
)
