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
	Rank                       // of 3 x 3 bytes, number Shift (0 to 8) in the order of their size (ImageFilter.RankFilter)
	ToYCbCr                    // RGB or grey to Pillow's YCbCr, in 3 planes (Image.convert)
	ConvolveUnit               // Height Weights down and then Width across, of float32 from 0 to 1; cut off (nn.Conv2d twice)
	Zoom                       // scikit-image's resize to Width x Height of bytes times Scale, smoothed by Smooth; numbers come out

	TorchAffine      // torchvision's affine of a tensor by Matrix, with Filter; Outside says what is there
	TorchPerspective // the same with a perspective Matrix

	// Steps that have no wire form.
	ToNumbers  // bytes become float32 by the sample's table, and steps behind it are over these
	Normalize  // over numbers: less Numbers[0], divided by Numbers[1]
	Erase      // over numbers: the Width x Height rectangle at (Left, Top) becomes Numbers[0], or Noise
	Arithmetic // of a finished sample's numbers: Finish
)

// kind is what a kind of step is, but for its pixels: those are core/op's (fuse.go).
type kind struct {
	bytes  int                          // behind the step in its wire form
	read   func(s *Step, more row)      // takes them
	write  func(s Step, more row)       // puts them
	check  func(s Step) error           // of numbers that do not depend on the image
	out    func(s Step, in Size) Size   // its size; nil: as it was
	planes func(s Step, planes int) int // its channels; nil: as many as it had
}

// kinds is the table of steps.
var kinds = [...]kind{
	Crop:           {out: resized},
	Resize:         {out: resized},
	HorizontalFlip: {},
	VerticalFlip:   {},
	Pad:            {out: padded},
	Grayscale:      {planes: named},
	OpenCVGray:     {planes: named},
	Lookup:         {bytes: 3 * 256, read: readTable, write: writeTable, check: checkTable},
	Brightness:     {bytes: 4, read: readFactor, write: writeFactor, check: checkFactor},
	Contrast:       {bytes: 4, read: readFactor, write: writeFactor, check: checkFactor},
	Saturation:     {bytes: 4, read: readFactor, write: writeFactor, check: checkFactor},
	Sharpness:      {bytes: 4, read: readFactor, write: writeFactor, check: checkFactor},
	Hue:            {},
	Autocontrast:   {},
	Equalize:       {},
	Affine:         {bytes: 6 * 8, read: readMatrix, write: writeMatrix, check: checkTransform, out: resized},
	Perspective:    {bytes: 8 * 8, read: readMatrix, write: writeMatrix, check: checkTransform, out: resized},
	Rotate90:       {out: turned},
	Select:         {planes: named},
	Patch:          {bytes: 4, read: readNumber, write: writeNumber, check: checkNumber},
	BoxBlur:        {bytes: 3 * 4, read: readBlur, write: writeBlur, check: checkBlur},
	Convolve:       {bytes: 2 * TapsMax * 4, read: readTaps, write: writeTaps, check: checkTaps},
	Stencil:        {bytes: (1 + 5*5) * 4, read: readStencil, write: writeStencil, check: checkStencil},
	OpenCVToHSV:    {},
	OpenCVFromHSV:  {},
	TorchColour:    {bytes: 3 * 4, read: readColour, write: writeColour, check: checkColour, planes: coloured},
	Rank:           {check: checkRank},
	ToYCbCr:        {planes: three},
	ConvolveUnit:   {bytes: 2 * TapsMax * 4, read: readTaps, write: writeTaps, check: checkTaps},
	Zoom:           {bytes: (1 + 2*SmoothMax) * 8, read: readZoom, write: writeZoom, check: checkZoom, out: resized},

	TorchAffine:      {bytes: 6*8 + 4, read: readGrid, write: writeGrid, check: checkGrid},
	TorchPerspective: {bytes: 8*8 + 4, read: readGrid, write: writeGrid, check: checkGrid},

	ToNumbers:  {},
	Normalize:  {},
	Erase:      {},
	Arithmetic: {check: checkFinish},
}

// Kinds is how many kinds there are, Wired how many of them have a wire form: the first ones.
const (
	Kinds = len(kinds)
	Wired = int(ToNumbers)
)

var unknown kind

// row is a kind's row of the table; an empty one if there is no such kind.
func (k Kind) row() *kind {
	if int(k) >= Kinds {
		return &unknown
	}
	return &kinds[k]
}

// Step is one op on a planar 8-bit image with its numbers. Fields a Kind does not name are zero.
type Step struct {
	Kind     Kind
	Filter   Filter   // Resize; Affine and Perspective: Nearest, Bilinear or Bicubic; Affine: OpenCV...; Torch...: the first two
	Mode     PadMode  // Pad; Affine by OpenCV's filters: what is outside
	Channels uint8    // Grayscale, OpenCVGray, Select: planes that come out, 1 or 3
	Fill     [3]uint8 // Pad with Constant, (Torch)Affine, (Torch)Perspective: a value a plane; Select: a plane's number each
	Shift    uint8    // Hue, Rank

	Left, Top, Right, Bottom int32 // Crop, Patch: Left, Top; Pad: all four
	Width, Height            int32 // Crop, Resize, Affine, Perspective, Patch; Convolve..., Stencil: how many weights, odd
	Number                   int32 // Patch: of tables; 0 is the whole sample's

	Colour Colour // TorchColour
	Fused  bool   // TorchColour: torch adds a multiple with one rounding; TorchAffine, TorchPerspective: its grid_sample does

	Outside   Outside // TorchAffine, TorchPerspective
	FusedGrid bool    // the same: torch's bmm adds products with one rounding

	Factor  float32              // Brightness, Contrast, Saturation, Sharpness, Stencil, TorchColour; finite
	Rest    float32              // TorchColour: 1 - Factor, which torch rounds by itself; finite
	Radius  [2]float32           // BoxBlur: 0 to RadiusMax
	Times   uint32               // BoxBlur: 1 to TimesMax
	Weights *[2][TapsMax]float32 // Convolve...: Width of them across, Height down; 0 to 1. Stencil
	Matrix  [8]float64           // Affine: 6 numbers, Perspective: 8; from output to input as in Image.transform; finite. Torch...
	Table   *[3 * 256]byte       // Lookup: a row of 256 for each plane

	Scale  float64                // Zoom: 0 to 1
	Smooth *[2][SmoothMax]float64 // Zoom: weights across and down, the middle one first, then those to either side; 0 to 1

	// Without a wire form.
	Numbers [2][3]float32 // over numbers: a fill for each plane; Normalize, Erase
	Noise   *Noise        // Erase: as many as it has numbers; or nil
	Finish  *Finish       // Arithmetic
}

// Limits of core/op's: of a BoxBlur, and of the weights of a Convolve each way.
const (
	RadiusMax = 1 << 20
	TimesMax  = 16
	TapsMax   = 31
	SmoothMax = 32
	// StencilMax is the most that a Stencil's weights and its offset can be.
	StencilMax = 1 << 20
)

// Check says what is wrong with numbers of the step that do not depend on the image.
func (s Step) Check() error {
	if check := s.Kind.row().check; check != nil {
		return check(s)
	}
	return nil
}

// Out is the size of the image after the step.
func (s Step) Out(in Size) Size {
	if out := s.Kind.row().out; out != nil {
		return out(s, in)
	}
	return in
}

// PlanesAfter is how many channels steps leave of an image.
func PlanesAfter(planes int, steps []Step) int {
	for _, s := range steps {
		if after := s.Kind.row().planes; after != nil {
			planes = after(s, planes)
		}
	}
	return planes
}

// PatchesMax is the most patches that a sample can have: core/op's.
const PatchesMax = 8

// Cut splits steps before the patches that they end with, which are laid on a finished sample, and before the arithmetic on
// that.
func Cut(steps []Step) (before, patches, finish []Step) {
	end := lastOf(steps, Arithmetic)
	n := lastOf(steps[:end], Patch)
	return steps[:n], steps[n:end], steps[end:]
}

// lastOf is where those of a kind begin that steps end with.
func lastOf(steps []Step, kind Kind) int {
	n := len(steps)
	for n > 0 && steps[n-1].Kind == kind {
		n--
	}
	return n
}

func resized(s Step, _ Size) Size { return Size{s.Width, s.Height} }

func padded(s Step, in Size) Size {
	return Size{in.Width + s.Left + s.Right, in.Height + s.Top + s.Bottom}
}

func turned(_ Step, in Size) Size { return Size{in.Height, in.Width} }

func named(s Step, _ int) int { return int(s.Channels) }

func three(Step, int) int { return 3 }

func coloured(s Step, planes int) int {
	if s.Colour == TorchGrey {
		return 1
	}
	return planes
}

func readTable(s *Step, more row) { s.Table = (*[3 * 256]byte)(more) }

func writeTable(s Step, more row) { copy(more, s.Table[:]) }

func checkTable(s Step) error {
	if s.Table == nil {
		return fmt.Errorf("no table to look up in")
	}
	return nil
}

func isFinite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

func readFactor(s *Step, more row) { s.Factor = more.f32(0) }

func writeFactor(s Step, more row) { more.putF32(0, s.Factor) }

func checkFactor(s Step) error {
	if !isFinite(s.Factor) {
		return fmt.Errorf("a factor of %v", s.Factor)
	}
	return nil
}

func readColour(s *Step, more row) {
	s.Factor, s.Rest = more.f32(0), more.f32(4)
	s.Colour, s.Fused = Colour(more[8]), more[9] != 0
}

func writeColour(s Step, more row) {
	more.putF32(0, s.Factor)
	more.putF32(4, s.Rest)
	more[8], more[9] = byte(s.Colour), bit(s.Fused)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func checkColour(s Step) error {
	for _, f := range [2]float32{s.Factor, s.Rest} {
		if !isFinite(f) {
			return fmt.Errorf("a factor of %v", f)
		}
	}
	if s.Colour > TorchAutocontrast || (s.Colour == TorchHue && (s.Factor < -0.5 || s.Factor > 0.5)) {
		return fmt.Errorf("no colour %d of torch's by %v", s.Colour, s.Factor)
	}
	return nil
}

func readNumber(s *Step, more row) { s.Number = more.i32(0) }

func writeNumber(s Step, more row) { more.putI32(0, s.Number) }

func checkNumber(s Step) error {
	if s.Number < 0 {
		return fmt.Errorf("a patch by table %d", s.Number)
	}
	return nil
}

func readBlur(s *Step, more row) {
	s.Radius, s.Times = [2]float32{more.f32(0), more.f32(4)}, more.u32(8)
}

func writeBlur(s Step, more row) {
	more.putF32(0, s.Radius[0])
	more.putF32(4, s.Radius[1])
	more.putI32(8, int32(s.Times))
}

func checkBlur(s Step) error {
	for _, r := range s.Radius {
		if !(r >= 0 && r <= RadiusMax) {
			return fmt.Errorf("a blur of radius %v", r)
		}
	}
	if s.Times < 1 || s.Times > TimesMax {
		return fmt.Errorf("a blur that is done %d times", s.Times)
	}
	return nil
}

func readTaps(s *Step, more row) {
	s.Weights = new([2][TapsMax]float32)
	for axis := range s.Weights {
		for k := range s.Weights[axis] {
			s.Weights[axis][k] = more.f32(4 * (axis*TapsMax + k))
		}
	}
}

func writeTaps(s Step, more row) {
	for axis := range s.Weights {
		for k, weight := range s.Weights[axis] {
			more.putF32(4*(axis*TapsMax+k), weight)
		}
	}
}

func checkTaps(s Step) error {
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
	return nil
}

func checkRank(s Step) error {
	if s.Shift > 8 {
		return fmt.Errorf("number %d of 9 pixels", s.Shift)
	}
	return nil
}

func readStencil(s *Step, more row) {
	s.Factor, s.Weights = more.f32(0), new([2][TapsMax]float32)
	for k := range 5 * 5 {
		s.Weights[0][k] = more.f32(4 + 4*k)
	}
}

func writeStencil(s Step, more row) {
	more.putF32(0, s.Factor)
	for k, weight := range s.Weights[0][:5*5] {
		more.putF32(4+4*k, weight)
	}
}

func checkStencil(s Step) error {
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
	return nil
}

func readMatrix(s *Step, more row) {
	for k := range len(more) / 8 {
		s.Matrix[k] = more.f64(8 * k)
	}
}

func writeMatrix(s Step, more row) {
	for k := range len(more) / 8 {
		more.putF64(8*k, s.Matrix[k])
	}
}

func checkTransform(s Step) error {
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
	return nil
}

func readGrid(s *Step, more row) {
	end := len(more) - 4
	readMatrix(s, more[:end])
	s.Outside, s.Fused, s.FusedGrid = Outside(more[end]), more[end+1] != 0, more[end+2] != 0
}

func writeGrid(s Step, more row) {
	end := len(more) - 4
	writeMatrix(s, more[:end])
	more[end], more[end+1], more[end+2] = byte(s.Outside), bit(s.Fused), bit(s.FusedGrid)
}

func checkGrid(s Step) error {
	if s.Filter != Nearest && s.Filter != Bilinear {
		return fmt.Errorf("no transform of a tensor with filter %d", s.Filter)
	}
	if s.Outside > OutsideV2 {
		return fmt.Errorf("no way %d to fill what is outside", s.Outside)
	}
	for _, v := range s.Matrix {
		if !(math.Abs(v) <= math.MaxFloat32) {
			return fmt.Errorf("a matrix with %v in it", v)
		}
	}
	return nil
}

func readZoom(s *Step, more row) {
	s.Scale, s.Smooth = more.f64(0), new([2][SmoothMax]float64)
	for axis := range s.Smooth {
		for k := range s.Smooth[axis] {
			s.Smooth[axis][k] = more.f64(8 * (1 + axis*SmoothMax + k))
		}
	}
}

func writeZoom(s Step, more row) {
	more.putF64(0, s.Scale)
	for axis := range s.Smooth {
		for k, weight := range s.Smooth[axis] {
			more.putF64(8*(1+axis*SmoothMax+k), weight)
		}
	}
}

func checkZoom(s Step) error {
	if s.Smooth == nil {
		return fmt.Errorf("no weights")
	}
	if !(s.Scale >= 0 && s.Scale <= 1) {
		return fmt.Errorf("a scale of %v", s.Scale)
	}
	for _, weights := range s.Smooth {
		for _, w := range weights {
			if !(w >= 0 && w <= 1) {
				return fmt.Errorf("a weight of %v", w)
			}
		}
	}
	return nil
}
