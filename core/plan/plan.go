// Package plan is a run as data: what the samples are and what is done to each, every choice spelled out. Python writes
// a plan as JSON from torch's own objects; Parse takes it in and refuses whatever it does not wholly understand, so
// that nothing can run differently from what was meant.
package plan

import (
	"strconv"
	"strings"

	"github.com/goloader/goloader/core/tensor"
)

// Version of the JSON this package reads.
const Version = 1

// Plan is a run. Samples 0 to Parts[0].Count-1 belong to part 0, the next to part 1, and so on.
//
// A sample of an image source is an image and its target, which is a label, or (Pairs) an image as well: a mask, say. A
// batch has a field for each.
type Plan struct {
	Source Source
	Parts  []Part
	Output Output // of an image source
	Target Output // of targets that are images
	RNG    RNG    // of an image source
	Pillow Pillow // of an image source, and of recipes
	// SeekIndex limits what is kept of an image source's files from epoch to epoch; nil keeps nothing.
	SeekIndex *SeekIndex
}

// SeekIndex says how much decoders may remember of where things are in files, and where that is kept between runs.
type SeekIndex struct {
	BytesMax int64
	Path     string // of a file; empty: nowhere
}

// SourceKind says where samples come from.
type SourceKind string

// The kinds of source.
const (
	Folder SourceKind = "folder" // image files with a label each
	Pairs  SourceKind = "pairs"  // image files with one of a target each: sample i's are files 2i and 2i + 1
	Pixels SourceKind = "pixels" // images in memory
	Array  SourceKind = "array"  // rows of arrays, handed over as they are
	Recipe SourceKind = "recipe" // none: every batch brings its recipes along

	// Places are images anywhere in memory, encoded or not, which are others for every batch.
	Places SourceKind = "places"

	// PixelViews are images in memory of which each is transformed twice: the second is called its target.
	PixelViews SourceKind = "pixel_views"

	// Scripted is image files, or images in memory, of which samples are made by a Script.
	Scripted SourceKind = "script"

	// Stream is samples of several files that come one after the other.
	Stream SourceKind = "stream"
)

// Source says what samples are.
type Source struct {
	Kind   SourceKind
	Fields []Field // Array: of each sample
	Files  int32   // Recipe, Stream: about how many files its batches will name, for the seek index
	Remote bool    // Folder: its paths are URLs
	// Stream: what batches have of each sample, first images and then columns.
	Images  []StreamImage
	Columns []StreamColumn
}

// StreamImage is an image of each sample of a stream: its file with the first of some suffixes that it has.
type StreamImage struct {
	Of []string
	Output
	Part Part
}

// StreamColumn is something else of each sample of a stream.
type StreamColumn struct {
	Kind ColumnKind
	Of   []string // suffixes of files, of which the first that a sample has counts; none of WholeColumn
}

// ColumnKind says what a column has of a sample.
type ColumnKind string

// The kinds of columns.
const (
	NumberColumn ColumnKind = "int"    // what a file says in decimal digits: int64
	BytesColumn  ColumnKind = "bytes"  // a file's bytes, or the sample's key ("__key__") or the number of its shard ("__url__")
	TextColumn   ColumnKind = "text"   // the same, in UTF-8
	JSONColumn   ColumnKind = "json"   // the same, as json.loads takes it
	WholeColumn  ColumnKind = "sample" // all of its files, as stream.Pack has them
)

// Field is one field of the samples of an array source.
type Field struct {
	tensor.Spec              // one row; of a ragged field an item of one
	Stored      tensor.DType // what the arrays' items are where they lie
	Ragged      bool         // rows differ in length
	Views       []View       // what a row is handed out as, at least one
	Program     *Program     // that makes a row, or each item of a ragged one; nil if it is one of the source's arrays
}

// Rows are the fields of an array source as they are read: in place of one with a program, its inputs, but for a
// script's vectors.
func (s Source) Rows() []Field {
	var rows []Field
	for _, f := range s.Fields {
		if f.Program == nil {
			rows = append(rows, f)
			continue
		}
		for _, in := range f.Program.Inputs {
			if !in.IsVector() {
				rows = append(rows, Field{Spec: in.Spec, Stored: in.DType, Ragged: f.Ragged})
			}
		}
	}
	return rows
}

// View is a row but for Skip items in front of it and Drop behind it, between items that are the same for all rows, and how
// such rows lie in a batch.
type View struct {
	Skip, Drop  int
	Front, Back []byte // whole items
	Layout      RowLayout
}

// RowLayout is one of the types below.
type RowLayout interface {
	// Kind is the layout's name in JSON.
	Kind() string
}

// StackRows is torch.stack's layout, for rows of one length.
type StackRows struct{}

// PadRows is that of torch.nn.utils.rnn.pad_sequence.
type PadRows struct {
	BatchFirst bool
	Value      []byte // one number of what is missing
	MultipleOf int    // the longest row is padded to a multiple of this, at least 1
	Lengths    bool   // the rows' lengths are a field too
	Left       bool   // what is missing stands in front of a row, not behind it
	// Strips are how many equal parts each row of numbers has, one after the other, of which each is padded: an array
	// that differs in its last extent is so many of them. Lengths are those of a part. At least 1; more go with
	// BatchFirst.
	Strips int
}

// JaggedRows is a nested tensor's: rows one after the other, and their offsets.
type JaggedRows struct{}

// PackRows is rows one after the other, the place of each item in its row, and where rows begin.
type PackRows struct{}

// DocumentRows is, for windows of Tokens tokens, the place of each token in its document, and where documents begin.
type DocumentRows struct {
	Tokens int
	// EOS is the token that ends a document; nil if rows are not tokens, but where documents begin.
	EOS *int64
}

// Kind implements RowLayout.
func (StackRows) Kind() string { return "stack" }

// Kind implements RowLayout.
func (PadRows) Kind() string { return "pad" }

// Kind implements RowLayout.
func (JaggedRows) Kind() string { return "jagged" }

// Kind implements RowLayout.
func (PackRows) Kind() string { return "pack" }

// Kind implements RowLayout.
func (DocumentRows) Kind() string { return "documents" }

// Augmentation is transforms that belong to no plan, for images with that many channels.
type Augmentation struct {
	Channels   int
	Transforms []Transform
	RNG        RNG
}

// Part is a run of samples that share their transforms.
type Part struct {
	Count      int64
	Transforms []Transform
	// Table says what a finished pixel becomes: Output.Channels rows of 256 items of Output.DType, little endian; then the
	// same for each RandomErasing. Empty for an array source.
	Table  []byte
	Image  *Image  // Pixels, PixelViews: what its images are; Places, Scripted: the same, or nil for encoded ones
	Target *Target // Pairs, PixelViews: what becomes of targets
	Script *Script // Scripted: in place of Transforms and Table
}

// Mode is what an image is as its file has it, by Pillow's name of a mode with one 8-bit plane; or what becomes of any file.
type Mode string

// The modes of targets.
const (
	Palette Mode = "P" // indices into a palette
	Grey    Mode = "L"
	Colour  Mode = "RGB"
)

// Draws says how a target's transforms draw random numbers.
type Draws string

// The ways.
const (
	// Apart: the target's own, when the image's are drawn.
	Apart Draws = "apart"
	// Together: transforms draw once for both, so that the target draws the image's numbers again.
	Together Draws = "together"
)

// Read says how much of a target is read before its image's transforms draw, which is where an error of its file is found.
type Read string

// The ways.
const (
	Opened  Read = "opened"
	Decoded Read = "decoded"
	Unread  Read = "unread" // none: it is opened when the image has been transformed
)

// Target is what becomes of the targets of a part, which are images as their files have them, or in mode Colour.
type Target struct {
	Mode       Mode
	Draws      Draws
	Read       Read
	Transforms []Transform
	Table      []byte // as a Part's, of Plan.Target
}

// Channels is how many an image has that is decoded to it.
func (m Mode) Channels() int {
	if m == Colour {
		return 3
	}
	return 1
}

// Layout says how the bytes of an image in memory follow each other.
type Layout string

// The layouts.
const (
	Interleaved Layout = "interleaved" // [height, width, 3]
	Planar      Layout = "planar"      // [3, height, width]
	Flat        Layout = "flat"        // [height, width]: grey
)

// Image says what the images of a part in memory are.
type Image struct {
	Layout Layout
	Size   HeightWidth // zero of Places: the source says each one's
}

// Channels is 1 for grey images, else 3.
func (i Image) Channels() int {
	if i.Layout == Flat {
		return 1
	}
	return 3
}

// Shape is one image's as it lies in memory.
func (i Image) Shape() tensor.Shape {
	height, width := int(i.Size.Height), int(i.Size.Width)
	switch i.Layout {
	case Flat:
		return tensor.Shape{height, width}
	case Planar:
		return tensor.Shape{3, height, width}
	default:
		return tensor.Shape{height, width, 3}
	}
}

// Output is what a finished image is stored as: [Channels, height, width] of DType.
type Output struct {
	DType    tensor.DType
	Channels int
}

// RNG says how the torch at hand computes where builds of torch differ.
type RNG struct {
	FMA                 bool // uniform_ fuses its product and sum
	CorrectlyRoundedExp bool // exp of a float32 is always the nearest float32
}

// PassOrder says which pass of a resize Pillow does first; it depends on Pillow's version.
type PassOrder string

// The pass orders, of Pillow up to 12.1, of 12.2 and 12.3, and from 13.0 on.
const (
	HorizontalFirst PassOrder = "horizontal_first"
	TallFirst       PassOrder = "tall_first"
	ShrinkFirst     PassOrder = "shrink_first"
)

// Pillow says how the Pillow at hand behaves where versions or settings of it differ.
type Pillow struct {
	PassOrder PassOrder
	MaxPixels int64 // Image.MAX_IMAGE_PIXELS; 0 if it is None
	// Decoders are for formats beside JPEG and PNG that are decoded here as this Pillow does; files of others go to Pillow.
	Decoders []Decoder
}

// Decoder is a format of image files.
type Decoder string

// The decoders that a plan can ask for.
const (
	WebP Decoder = "webp"
	BMP  Decoder = "bmp"
	GIF  Decoder = "gif"
	TIFF Decoder = "tiff"
)

// Filter is a resampling filter by torchvision's name, for PIL images; those of torch are for tensors of bytes.
type Filter string

// The filters.
const (
	Nearest  Filter = "nearest"
	Lanczos  Filter = "lanczos"
	Bilinear Filter = "bilinear"
	Bicubic  Filter = "bicubic"
	Box      Filter = "box"
	Hamming  Filter = "hamming"

	// torch's, of tensors.
	TorchBilinear Filter = "torch_bilinear"
	TorchBicubic  Filter = "torch_bicubic"
	TorchNearest  Filter = "torch_nearest"

	// torch's by sums of float32, of numbers and of bytes; behind each follows how many products it rounds at a time, as in
	// "torch_float_8".
	TorchFloat Filter = "torch_float"
	TorchCast  Filter = "torch_cast"

	// OpenCV's, by what they are called behind INTER_.
	OpenCVNearest Filter = "opencv_nearest"
	OpenCVLinear  Filter = "opencv_linear"
	OpenCVArea    Filter = "opencv_area"
)

// TorchGroups is how many powers of two there are filters for, 1 being the first (recipe.TorchGroups).
const TorchGroups = 21

// Group takes a filter by sums of float32 apart: which of the two it is, and the logarithm of how many products torch rounds
// at a time.
func (f Filter) Group() (first Filter, log int, ok bool) {
	at := strings.LastIndexByte(string(f), '_')
	if first = f[:max(at, 0)]; first != TorchFloat && first != TorchCast {
		return "", 0, false
	}
	for log = range TorchGroups {
		if string(f[at+1:]) == strconv.Itoa(1<<log) {
			return first, log, true
		}
	}
	return "", 0, false
}

// PadMode says what surrounds an image, by torchvision's name.
type PadMode string

// The padding modes.
const (
	Constant  PadMode = "constant"
	Edge      PadMode = "edge"
	Reflect   PadMode = "reflect"
	Symmetric PadMode = "symmetric"
)

// API says which of torchvision's two transforms packages a transform comes from, where they draw differently.
type API string

// torchvision.transforms and torchvision.transforms.v2.
const (
	V1 API = "v1"
	V2 API = "v2"
)

// Transform is one of the types below.
type Transform interface {
	// Op is the transform's name in JSON.
	Op() string
}

// HeightWidth is a size in torchvision's order.
type HeightWidth struct{ Height, Width int32 }

// Sides are paddings in torchvision's order, none negative.
type Sides struct{ Left, Top, Right, Bottom int32 }

// Resize is torchvision's Resize.
type Resize struct {
	// Size is [shorter edge], or [height, width], or empty: then the longer edge becomes MaxSize.
	Size    []int32
	MaxSize int32 // upper limit of the longer edge; 0 if there is none
	Filter  Filter
}

// RandomResize is torchvision's, of v2: the shorter edge becomes one of Sizes[0] ... Sizes[1] - 1.
type RandomResize struct {
	Sizes  [2]int32
	Filter Filter
}

// RandomShortestSize is torchvision's, of v2: the shorter edge becomes about one of Sizes.
type RandomShortestSize struct {
	Sizes   []int32
	MaxSize int32 // upper limit of the longer edge; 0 if there is none
	Filter  Filter
}

// ScaleJitter is torchvision's, of v2: the largest size within Target, [width, height], times a number.
type ScaleJitter struct {
	Target [2]int32
	Scale  [2]float64
	Filter Filter
}

// RandomZoomOut is torchvision's, of v2: a border that makes an image so many times as large.
type RandomZoomOut struct {
	P     float64
	Sides [2]float64
	Fill  []uint8 // one value, or one a channel
}

// CenterCrop is torchvision's CenterCrop.
type CenterCrop struct{ Size HeightWidth }

// RandomCrop is torchvision's RandomCrop.
type RandomCrop struct {
	Size        HeightWidth
	Padding     *Sides // nil if None
	PadIfNeeded bool
	Fill        []uint8 // one value, or one a channel
	PaddingMode PadMode
	API         API
}

// RandomResizedCrop is torchvision's RandomResizedCrop. v1 and v2 draw alike.
type RandomResizedCrop struct {
	Size     HeightWidth
	Scale    [2]float64
	Ratio    [2]float64
	LogRatio [2]float32 // torch.log(torch.tensor(ratio)), by torch itself
	Filter   Filter
	API      API
}

// RandomHorizontalFlip is torchvision's RandomHorizontalFlip.
type RandomHorizontalFlip struct{ P float64 }

// RandomVerticalFlip is torchvision's RandomVerticalFlip.
type RandomVerticalFlip struct{ P float64 }

// Pad is torchvision's Pad.
type Pad struct {
	Padding     Sides
	Fill        []uint8 // one value, or one a channel
	PaddingMode PadMode
}

// Grayscale is torchvision's Grayscale.
type Grayscale struct{ Channels int }

// TorchGrayscale is v2's Grayscale of a uint8 tensor.
type TorchGrayscale struct {
	Channels int
	Fused    bool // as ColorJitter's
}

// Steps are fixed steps that keep the size of images; with a warp or a turn among them, of images of one size.
type Steps struct{ Wire []byte } // core/recipe.Step in wire form

// RandomApply is torchvision's RandomApply, and every other transform that happens at random.
type RandomApply struct {
	P          float64 // it happens where torch.rand is below this float32
	Transforms []Transform
}

// ColorJitter is torchvision's ColorJitter; nil is for what it leaves alone.
type ColorJitter struct {
	Brightness, Contrast, Saturation, Hue *[2]float64

	Tensor bool // of uint8 tensors, whose arithmetic is torch's
	Fused  bool // then: torch adds a multiple with one rounding
}

// RandomPhotometricDistort is torchvision's, of v2: each change happens with probability P.
type RandomPhotometricDistort struct {
	P                                     float64
	Brightness, Contrast, Saturation, Hue [2]float64

	Tensor, Fused bool // as ColorJitter's
}

// RandomChannelPermutation is torchvision's, of v2.
type RandomChannelPermutation struct{}

// TorchBlur is torchvision's GaussianBlur: weights are at these places around 0, an odd number up to WeightsMax.
type TorchBlur struct {
	API          API  // by whose formula weights are made of them
	MKL          bool // exponentials are MKL's; else SLEEF's
	Lanes        int  // of the vectors that torch adds them by: 8 or 16
	Across, Down []float32
	Sigma        [2]float64
}

// Augment is torchvision's RandAugment or TrivialAugmentWide.
type Augment struct {
	Rounds  int
	Choices []Choice
	API     API // how signs are drawn
}

// Choice is one operation of Augment. Its levels are steps in wire form.
type Choice struct {
	Leveled bool     // whether a level is drawn
	Up      [][]byte // with the sign +
	Down    [][]byte // with the sign -; empty if none is drawn
}

// AutoAugment is torchvision's AutoAugment.
type AutoAugment struct {
	Policies [][2]PolicyStep
	API      API // in which order numbers are drawn
}

// PolicyStep is one half of a policy.
type PolicyStep struct {
	P        float64 // it happens where torch.rand is below this float32
	Signed   bool    // whether its sign is random
	Up, Down []byte  // steps in wire form, with each sign
}

// RandomRotation is torchvision's RandomRotation. v1 and v2 draw alike.
type RandomRotation struct {
	Degrees [2]float64
	Expand  bool // the image grows until all of it is seen
	Placed
}

// RandomAffine is torchvision's RandomAffine.
type RandomAffine struct {
	Degrees   [2]float64
	Translate *[2]float64  // shares of width and height; nil if None
	Scale     *[2]float64  // nil if None
	Shear     [][2]float64 // degrees: none, across, or across and down
	API       API          // in which order numbers are reckoned with
	Placed
}

// Placed is how the pixels of a turned image are found.
type Placed struct {
	Center *[2]float64 // x and y in pixels; nil for the image's own
	Filter Filter      // Nearest, Bilinear or Bicubic
	Fill   []uint8     // one value, or one a channel
}

// Sampled is how torchvision finds the pixels of a turned tensor: by a grid, in float32.
type Sampled struct {
	Zeros     bool // outside, in place of the fill
	Fused     bool // torch's grid_sample adds a product with one rounding
	FusedGrid bool // and so does its bmm
}

// TensorRotation is RandomRotation of a tensor; nothing expands.
type TensorRotation struct {
	Degrees [2]float64
	API     API
	Placed
	Sampled
}

// TensorAffine is RandomAffine of a tensor.
type TensorAffine struct {
	RandomAffine
	Sampled
}

// RandomErasing is torchvision's RandomErasing.
type RandomErasing struct {
	P        float64 // it happens where torch.rand is below this float32
	Scale    [2]float64
	LogRatio [2]float32 // as RandomResizedCrop's
	Table    int32      // of the part's tables, what the rectangle goes by; 0 over numbers
	Noise    DrawKind   // over numbers, what the rectangle becomes; "" for a fill
}

// ToNumbers has bytes become float32 by the part's table: all behind it is over these.
type ToNumbers struct{}

// Normalize is torchvision's, over numbers: a mean and a deviation for each channel.
type Normalize struct{ Mean, Std [3]float32 }

// OverNumbers is a transform that fills with numbers, one for each channel, in place of bytes.
type OverNumbers struct {
	Transform Transform
	Fill      [3]float32
}

// Op implements Transform.
func (ToNumbers) Op() string { return "to_numbers" }

// Op implements Transform.
func (Normalize) Op() string { return "normalize" }

// Op implements Transform.
func (OverNumbers) Op() string { return "over_numbers" }

// Op implements Transform.
func (RandomErasing) Op() string { return "random_erasing" }

// Op implements Transform.
func (RandomRotation) Op() string { return "random_rotation" }

// Op implements Transform.
func (RandomAffine) Op() string { return "random_affine" }

// Op implements Transform.
func (TorchGrayscale) Op() string { return "torch_grayscale" }

// Op implements Transform.
func (TensorRotation) Op() string { return "tensor_rotation" }

// Op implements Transform.
func (TensorAffine) Op() string { return "tensor_affine" }

// Op implements Transform.
func (Steps) Op() string { return "steps" }

// Op implements Transform.
func (RandomApply) Op() string { return "random_apply" }

// Op implements Transform.
func (ColorJitter) Op() string { return "color_jitter" }

// Op implements Transform.
func (RandomPhotometricDistort) Op() string { return "random_photometric_distort" }

// Op implements Transform.
func (RandomChannelPermutation) Op() string { return "random_channel_permutation" }

// Op implements Transform.
func (TorchBlur) Op() string { return "torch_blur" }

// Op implements Transform.
func (RandomResize) Op() string { return "random_resize" }

// Op implements Transform.
func (RandomShortestSize) Op() string { return "random_shortest_size" }

// Op implements Transform.
func (ScaleJitter) Op() string { return "random_scale_jitter" }

// Op implements Transform.
func (RandomZoomOut) Op() string { return "random_zoom_out" }

// Op implements Transform.
func (Augment) Op() string { return "augment" }

// Op implements Transform.
func (AutoAugment) Op() string { return "auto_augment" }

// Op implements Transform.
func (Resize) Op() string { return "resize" }

// Op implements Transform.
func (CenterCrop) Op() string { return "center_crop" }

// Op implements Transform.
func (RandomCrop) Op() string { return "random_crop" }

// Op implements Transform.
func (RandomResizedCrop) Op() string { return "random_resized_crop" }

// Op implements Transform.
func (RandomHorizontalFlip) Op() string { return "random_horizontal_flip" }

// Op implements Transform.
func (RandomVerticalFlip) Op() string { return "random_vertical_flip" }

// Op implements Transform.
func (Pad) Op() string { return "pad" }

// Op implements Transform.
func (Grayscale) Op() string { return "grayscale" }
