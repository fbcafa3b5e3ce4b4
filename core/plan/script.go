package plan

import (
	"slices"

	"github.com/goloader/goloader/core/tensor"
)

// Script makes samples of several images, as a user's own code makes them: which files it opens, what it draws of which
// generator, and what it does to which image, in its order.
//
// Images and numbers are registers. Image k of the first len(Opens) is what Opens[k] reads; others are made of these.
//
// Of a source with Fields, samples are made of its Rows in place of images: Rows here says of which, and there is no Body.
type Script struct {
	Files   []int64 // how many files each of the source's lists has, which follow one another
	Opens   []Open
	Rows    []Expr // of each of the source's Rows, which one a sample has
	Images  int    // registers
	Numbers []Type // registers
	Vectors []Vector
	Tables  []*Table
	First   []Instruction
	Body    []Instruction
	Gives   []Give
	Columns []int // numbers that each sample has, beside its images: registers
	// Apart says that images of a batch may differ in size. Those of each of Gives lie one after the other then, and behind the
	// columns there is one more field for each: int64 [samples, 2], the heights and widths.
	Apart bool
	// Generators are how many of the user's own objects are drawn from, beside a worker's three: each a random.Random.
	Generators int
	// Followed says that a caller draws from a worker's generators between its batches, too.
	Followed bool
	Slots    int // for states of generators
	Noises   int // registers
}

// Seeds says whether it puts generators into states, or a caller does: how many words were drawn does not say then where they
// stand.
func (s *Script) Seeds() bool { return s.Followed || seeds(s.First) || seeds(s.Body) }

func seeds(list []Instruction) bool {
	return slices.ContainsFunc(list, func(each Instruction) bool {
		switch t := each.(type) {
		case If:
			return seeds(t.Then) || seeds(t.Else)
		case Repeat:
			return seeds(t.Turn)
		case Seed, Restore:
			return true
		default:
			return false
		}
	})
}

// givesAs reports whether another part's script makes samples of the same fields, and draws from as many generators.
func (s *Script) givesAs(other *Script) bool {
	return s.Apart == other.Apart && s.Followed == other.Followed && s.Generators == other.Generators &&
		slices.EqualFunc(s.Gives, other.Gives, func(a, b Give) bool { return a.Output == b.Output }) &&
		slices.EqualFunc(s.Columns, other.Columns, func(a, b int) bool { return s.Numbers[a] == other.Numbers[b] })
}

// VectorStarts is where each vector begins among a sample's numbers, which are behind its registers, and how many these are in all.
func (s *Script) VectorStarts() (starts []int, numbers int) {
	numbers = len(s.Numbers)
	for _, each := range s.Vectors {
		starts = append(starts, numbers)
		numbers += each.Count
	}
	return starts, numbers
}

// Vector is numbers that a sample's fields are made of, all of a type.
type Vector struct {
	Of    Type
	Count int
}

// GeneratorsMax is the most that a script draws from beside a worker's three.
const GeneratorsMax = 29

// Open is a file that a sample reads.
type Open struct {
	List int  // of Script.Files
	Row  Expr // of the list; it is known after Script.First
	Mode Mode
	// Plain says that code takes the file's image as it is: files of other modes than Mode are left to it.
	Plain bool
	// Reader is what reads it. Files of which that makes something else than Pillow's Image.open are left to the code.
	Reader Reader
}

// Reader is a function that reads images.
type Reader string

// The readers.
const (
	ImageOpen     Reader = ""               // Pillow's
	OpenCV        Reader = "opencv"         // cv2.imread or cv2.imdecode; by IMREAD_UNCHANGED it is Plain as well
	ImageIO       Reader = "imageio"        // its imread, and scikit-image's
	Matplotlib    Reader = "matplotlib"     // its imread of files that are no PNG: bytes
	MatplotlibPNG Reader = "matplotlib_png" // and of those that are: floats, of which the table is made

	// torchvision's decode_image, decode_jpeg and decode_png; by ImageReadMode.UNCHANGED they are Plain as well.
	TorchvisionAny  Reader = "torchvision"
	TorchvisionJPEG Reader = "torchvision_jpeg"
	TorchvisionPNG  Reader = "torchvision_png"
)

// converts says whether it makes RGB of files of other modes.
func (r Reader) converts() bool {
	switch r {
	case ImageOpen, OpenCV, TorchvisionAny, TorchvisionJPEG, TorchvisionPNG:
		return true
	}
	return false
}

// Give is an image of a finished sample.
type Give struct {
	Image int // register
	File  int // whose image it is
	Output
	Table []byte // as a Part's
	// Looks are bytes, [Channels, 256] of 0 or 1: an image that has none of those marked 1 is left to the user's own code.
	// What Table makes of a marked byte it makes of none that is not marked. nil if there is no such condition.
	Looks []byte
}

// Table is numbers of the user's data: one for each row, or a list of them.
type Table struct {
	Of     Type
	Starts []int64  // where each row's list begins in Values, and where the last one ends; nil if rows are numbers
	Values []uint64 // int64, or the bits of a float64
}

// Type is a number's.
type Type uint8

// The types of numbers: Python's.
const (
	Int Type = iota + 1
	Float
)

// Spec is what a batch has of such a number for each sample.
func (t Type) Spec() tensor.Spec {
	if t == Float {
		return tensor.Spec{DType: tensor.Float64}
	}
	return tensor.Spec{DType: tensor.Int64}
}

// Instruction is one of the types below.
type Instruction interface{ instruction() }

// Let sets a number.
type Let struct {
	Number int
	Value  Expr
}

// Fill sets the numbers of a vector, one after the other: each is drawn, or computed, by itself, unless Draw.IsWhole.
type Fill struct {
	Vector int
	Value  Expr
}

// Apply transforms an image: To becomes what Transforms make of From.
type Apply struct {
	From, To   int
	Channels   int // of From
	Transforms []Transform
}

// If goes one of two ways.
type If struct {
	Condition  Expr // not 0
	Then, Else []Instruction
}

// Seed starts one of a worker's generators over: torch.manual_seed, random.seed, numpy.random.seed. Seeds of more than 32 bits, or
// below 0, are left to the user's own code.
type Seed struct {
	Generator Generator
	Value     Expr
}

// Save keeps the state of one of a worker's generators, for the sample.
type Save struct {
	Generator Generator
	Slot      int
}

// Restore puts it into a state that was kept of the same one.
type Restore struct {
	Generator Generator
	Slot      int
}

// Repeat takes a turn of a loop until a number is not 0 behind it.
type Repeat struct {
	Turn  []Instruction
	Until Expr
}

// DrawNoise draws as many numbers as an image of some size has, which are made where the image is.
type DrawNoise struct {
	Noise         int // register
	Kind          DrawKind
	Channels      int
	Width, Height Expr
	Pixels        bool // they follow each other pixel by pixel, else plane by plane
}

// Fail leaves the sample to the user's own code.
type Fail struct{}

// Generator is one of a worker's.
type Generator string

// The generators.
const (
	TorchGenerator  Generator = "torch"
	PythonGenerator Generator = "python"
	NumPyGenerator  Generator = "numpy"
)

func (Let) instruction()       {}
func (Fill) instruction()      {}
func (Apply) instruction()     {}
func (If) instruction()        {}
func (Seed) instruction()      {}
func (Save) instruction()      {}
func (Restore) instruction()   {}
func (Repeat) instruction()    {}
func (DrawNoise) instruction() {}
func (Fail) instruction()      {}

// Expr is a number: one of the types below.
type Expr interface{ Type() Type }

// IntValue is a constant.
type IntValue int64

// FloatValue is a constant.
type FloatValue float64

// Number is a register's.
type Number struct {
	Register int
	Of       Type
}

// Index is the sample's number.
type Index struct{}

// Extent is an image's width or height.
type Extent struct {
	Image  int
	Height bool
}

// Lookup is a number of a table. A row, a place or a value that is not there is left to the user's code.
type Lookup struct {
	Kind  LookupKind
	Table *Table
	Args  []Expr
	Of    Type
}

// Draw is a random number. It stands alone in a Let or a Fill, so that the order of draws is that of instructions.
type Draw struct {
	Kind      DrawKind
	Generator int // of Script.Generators, for the draws from these
	Args      []Expr
	Weights   []float64 // of TorchMultinomial
	Of        Type
}

// Operation is arithmetic, as Python does it. Whatever Python would raise an error for, or do in more than 64 bits, is
// left to the user's code (Fail).
type Operation struct {
	Name OperationName
	Args []Expr
	Of   Type
}

// Type implements Expr.
func (IntValue) Type() Type { return Int }

// Type implements Expr.
func (FloatValue) Type() Type { return Float }

// Type implements Expr.
func (n Number) Type() Type { return n.Of }

// Type implements Expr.
func (Index) Type() Type { return Int }

// Type implements Expr.
func (Extent) Type() Type { return Int }

// Type implements Expr.
func (l Lookup) Type() Type { return l.Of }

// Type implements Expr.
func (d Draw) Type() Type { return d.Of }

// Type implements Expr.
func (o Operation) Type() Type { return o.Of }

// LookupKind is what is asked of a table.
type LookupKind string

// The lookups.
const (
	LookupItem   LookupKind = "item"   // the number of a row
	LookupFind   LookupKind = "find"   // the row of a number: rows ascend
	LookupLength LookupKind = "length" // of a row's list
	LookupMember LookupKind = "member" // the number at a place of a row's list
	LookupHas    LookupKind = "has"    // 1 if a number is in a row's list, which ascends, else 0
)

// DrawKind is which generator draws what.
type DrawKind string

// The draws. Ranges do not contain their upper ends.
const (
	PythonRandom DrawKind = "python.random"    // random.random()
	PythonBelow  DrawKind = "python.randbelow" // of range(n)
	PythonGauss  DrawKind = "python.gauss"     // random.gauss(0, 1)
	NumPyRandom  DrawKind = "numpy.random"     // numpy.random.random()
	NumPyBelow   DrawKind = "numpy.randint"    // of range(n)
	NumPyGauss   DrawKind = "numpy.gauss"      // numpy.random.standard_normal()
	TorchRand    DrawKind = "torch.rand"       // torch.rand(1).item()
	TorchBelow   DrawKind = "torch.randint"    // torch.randint(n, (1,)).item()
	TorchUniform DrawKind = "torch.uniform"    // torch.empty(1).uniform_(low, high).item(), of two numbers

	// torch.randn(n), of a Fill of RandnMin numbers and more, by torch's kernels for AVX2, and without them.
	TorchRandnAVX2 DrawKind = "torch.randn.avx2"
	TorchRandn     DrawKind = "torch.randn"
	// The same of a DrawNoise whose memory is not contiguous.
	TorchRandnPairs DrawKind = "torch.randn.pairs"

	// All places of a Fill, each once: numpy.random.permutation(n), numpy.random.shuffle, torch.randperm(n).
	NumPyOrder DrawKind = "numpy.permutation"
	TorchOrder DrawKind = "torch.randperm"

	// torch.multinomial(torch.tensor(weights), 1).item(), of float32 weights from 0 on that are not all 0.
	TorchMultinomial DrawKind = "torch.multinomial"

	OwnRandom DrawKind = "own.random"    // generator.random(), of one of Script.Generators
	OwnBelow  DrawKind = "own.randbelow" // of range(n), by one of these
)

// RandnMin is the fewest numbers that torch.randn draws in these ways.
const RandnMin = 16

// IsRandn says whether a draw is torch.randn's.
func (d Draw) IsRandn() bool { return d.Kind == TorchRandn || d.Kind == TorchRandnAVX2 }

// IsWhole says whether a draw is of all numbers of a Fill together.
func (d Draw) IsWhole() bool { return d.IsRandn() || d.Kind == NumPyOrder || d.Kind == TorchOrder }

// OperationName is what an Operation does.
type OperationName string

// The operations.
const (
	Add         OperationName = "+"
	Subtract    OperationName = "-"
	Multiply    OperationName = "*"
	Divide      OperationName = "/"
	FloorDivide OperationName = "//"
	Modulo      OperationName = "%"
	Less        OperationName = "<"
	LessEqual   OperationName = "<="
	Equal       OperationName = "=="
	Negative    OperationName = "neg"
	Not         OperationName = "not"
	Abs         OperationName = "abs"
	Minimum     OperationName = "min"
	Maximum     OperationName = "max"
	ToInt       OperationName = "int"
	ToFloat     OperationName = "float"
	Round       OperationName = "round"
	ToFloat32   OperationName = "float32" // the nearest float32, as a float
	SquareRoot  OperationName = "sqrt"    // these are the math module's
	Exponential OperationName = "exp"
	Logarithm   OperationName = "log"
	Sine        OperationName = "sin"
	Cosine      OperationName = "cos"
	CopySign    OperationName = "copysign"
	Settled     OperationName = "settled" // a number, if all that lie within so many ulps of it are one float32
	Divisor     OperationName = "divisor" // a number, if it is large enough to divide by what lies within some ulps of a number
)

// CropTo keeps a rectangle that lies inside the image; another is left to the user's code, as with those below.
type CropTo struct{ Left, Top, Width, Height Expr }

// PatchTo lays a patch on a slice of an image: columns Left to Right and rows Top to Bottom, as Python takes the ends of slices. What
// follows may be other patches, crops, flips and another order of channels.
type PatchTo struct {
	Left, Top, Right, Bottom Expr
	Table                    int32 // of Give.Table
}

// ResizeTo resamples.
type ResizeTo struct {
	Width, Height Expr
	Filter        Filter
}

// PadTo adds a border.
type PadTo struct {
	Left, Top, Right, Bottom Expr
	Fill                     []uint8
	PaddingMode              PadMode
}

// GaussianBlur is Pillow's ImageFilter.GaussianBlur.
type GaussianBlur struct{ Radius Expr }

// ConvolveTo is torch's convolution of an image / 255 in float32 by one column of weights and then by one row of them, an odd
// number from 3 to WeightsMax, over a border that is mirrored; what comes of that times 255, cut off. Weights that are negative, or
// more than 1 together, are left to the user's code.
type ConvolveTo struct{ Down, Across []Expr }

// WeightsMax is the most that a ConvolveTo has each way: core/recipe.TapsMax.
const WeightsMax = 31

// WarpTo is Pillow's Image.transform by an affine matrix, from output to input; the size stays.
type WarpTo struct {
	Matrix [6]Expr
	Filter Filter
	Fill   []uint8
}

// AffineTo is albumentations' Affine: cv2.warpAffine, linear, by a matrix from input to output that shifts, shears by degrees,
// turns by degrees and scales about the centre; the size stays. Numbers of which rounding decides what they are in float32 are
// left to the user's code.
type AffineTo struct {
	Translate, Shear, Scale [2]Expr // along x and y
	Rotate                  Expr
	Fill                    []uint8
	PaddingMode             PadMode
}

// RotateTo is Pillow's Image.rotate about the centre; the size stays.
type RotateTo struct {
	Degrees Expr
	Filter  Filter
	Fill    []uint8
}

// EnhanceTo is one of Pillow's ImageEnhance: brightness, contrast, saturation or sharpness; or torchvision's adjust_hue of a PIL
// image in RGB.
type EnhanceTo struct {
	What   Enhancement
	Factor Expr
}

// Enhancement is what EnhanceTo changes.
type Enhancement string

// The enhancements.
const (
	EnhanceBrightness Enhancement = "brightness"
	EnhanceContrast   Enhancement = "contrast"
	EnhanceSaturation Enhancement = "saturation"
	EnhanceSharpness  Enhancement = "sharpness"
	EnhanceHue        Enhancement = "hue"
)

// PosterizeTo is Pillow's ImageOps.posterize: it keeps 1 to 8 high bits.
type PosterizeTo struct{ Bits Expr }

// SolarizeTo is Pillow's ImageOps.solarize: it inverts bytes from a threshold on.
type SolarizeTo struct{ Threshold Expr }

// MultiplyAddTo is albucore's multiply_add of bytes: each times Factor, plus Offset, in float32, cut to 0 ... 255 and truncated.
type MultiplyAddTo struct{ Factor, Offset Expr }

// ShiftHSVTo is albumentations' shift_hsv of an RGB image: hue plus Hue modulo 180, and whole shifts of saturation, where there is
// any, and of value, in OpenCV's HSV.
type ShiftHSVTo struct{ Hue, Saturation, Value Expr }

// LookupTo replaces each byte as a table of 256 numbers says, or one for each of 3 channels.
type LookupTo struct{ Table []Expr }

// ArithmeticTo is arithmetic on a finished image's numbers, which are float32 (core/recipe.Finish). Nothing but more of it may follow.
type ArithmeticTo struct{ Terms []Term }

// Term is a step of it.
type Term struct {
	Does   TermName
	Noise  int    // register, of PushNoise
	Values []Expr // of those with a number: one, or one for each channel
}

// TermName is what a Term does.
type TermName string

// The terms, those of recipe.TermKind.
const (
	PushSample   TermName = "sample"
	PushNoise    TermName = "noise"
	AddTwo       TermName = "+"
	SubtractTwo  TermName = "-"
	MultiplyTwo  TermName = "*"
	DivideTwo    TermName = "/"
	AddWith      TermName = "+ number"
	SubtractWith TermName = "- number"
	SubtractFrom TermName = "number -"
	MultiplyWith TermName = "* number"
	DivideWith   TermName = "/ number"
	AtLeast      TermName = "at least"
	AtMost       TermName = "at most"
	SetSample    TermName = "set"
)

// Turn is a quarter turn, counter-clockwise.
type Turn struct{}

// ReverseChannels makes BGR of RGB.
type ReverseChannels struct{}

// OpenCVGrey makes one channel of RGB, as cv2.cvtColor does.
type OpenCVGrey struct{}

// Op implements Transform.
func (CropTo) Op() string { return "crop_to" }

// Op implements Transform.
func (PatchTo) Op() string { return "patch_to" }

// Op implements Transform.
func (ResizeTo) Op() string { return "resize_to" }

// Op implements Transform.
func (PadTo) Op() string { return "pad_to" }

// Op implements Transform.
func (GaussianBlur) Op() string { return "gaussian_blur" }

// Op implements Transform.
func (ConvolveTo) Op() string { return "convolve_to" }

// Op implements Transform.
func (WarpTo) Op() string { return "warp_to" }

// Op implements Transform.
func (AffineTo) Op() string { return "affine_to" }

// Op implements Transform.
func (RotateTo) Op() string { return "rotate_to" }

// Op implements Transform.
func (EnhanceTo) Op() string { return "enhance_to" }

// Op implements Transform.
func (PosterizeTo) Op() string { return "posterize_to" }

// Op implements Transform.
func (SolarizeTo) Op() string { return "solarize_to" }

// Op implements Transform.
func (MultiplyAddTo) Op() string { return "multiply_add_to" }

// Op implements Transform.
func (ShiftHSVTo) Op() string { return "shift_hsv_to" }

// Op implements Transform.
func (LookupTo) Op() string { return "lookup_to" }

// Op implements Transform.
func (ArithmeticTo) Op() string { return "arithmetic_to" }

// Op implements Transform.
func (Turn) Op() string { return "turn" }

// Op implements Transform.
func (ReverseChannels) Op() string { return "reverse_channels" }

// Op implements Transform.
func (OpenCVGrey) Op() string { return "opencv_grey" }
