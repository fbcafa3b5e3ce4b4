package recipe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/tensor"
)

// ErrWire says that bytes are not a batch in wire form.
var ErrWire = errors.New("not a batch of recipes")

// Batch is recipes for a batch: images, each for a place in a field. It is read from its wire form, which is little
// endian, packed, and what the Python package writes (goloader/doors/recipe/wire.py):
//
//	magic                          uint32
//	fields sources images steps    uint32 each: how many
//	body                           uint32: bytes of body
//	fields    32 bytes each        count, dtype, channels, height, width, order, table, table_bytes
//	sources   52 bytes each        kind + 2 reader + 16 mode, width, height, at, bytes, offset, length (int64),
//	                               file_bytes (uint64), modified_ns (int64)
//	images    16 bytes each        source, field, first step, steps
//	steps     32 bytes each        kind, filter, mode, channels, fill (3), shift (uint8), left, top, right, bottom, width, height
//	          and behind them      what the kind has more (steps.go): factor (float32), matrix (float64), table, number,
//	                               two radii (float32) and times, weights (2 x TapsMax float32),
//	                               offset and weights (1 + 5 x 5 float32), factor, rest, colour (uint8) and fused (uint8)
//	body                           paths, files and tables; the offsets above count from its first byte
//
// Numbers without a type are uint32. The images of a field fill its places in the order in which they are listed.
type Batch struct {
	Fields  []Field
	Sources []Origin
	Images  []Image
	Steps   []Step
}

// Order says how the items of one image follow each other.
type Order uint32

// The orders.
const (
	ChannelsFirst Order = iota // [channels, height, width]
	ChannelsLast               // [height, width, channels]
)

// Field is one array of the batch: Count images of equal shape, one after the other.
type Field struct {
	Count    int
	DType    tensor.DType
	Channels int
	Size     Size
	Order    Order
	Table    []byte // what a finished pixel becomes: Channels rows of 256 items of DType; then the same for patches
}

// Spec is the array's shape and dtype.
func (f Field) Spec() tensor.Spec {
	shape := tensor.Shape{f.Count, f.Channels, int(f.Size.Height), int(f.Size.Width)}
	if f.Order == ChannelsLast {
		shape = tensor.Shape{f.Count, int(f.Size.Height), int(f.Size.Width), f.Channels}
	}
	return tensor.Spec{DType: f.DType, Shape: shape}
}

func (f Field) tableBytes() int { return f.Channels * 256 * f.DType.Size() }

// OriginKind says where an image's bytes are.
type OriginKind uint32

// The kinds of origin.
const (
	Path  OriginKind = iota // Data is a path, with the NUL that ends it: Length bytes of that file from Offset on
	Bytes                   // Data is the encoded file
)

// Mode is what is taken of an image.
type Mode uint32

// The modes.
const (
	RGB     Mode = iota // its colours, whatever it is
	Palette             // the one plane of an image of Pillow's mode P: indices
	Grey                // the one plane of an image of Pillow's mode L
)

// modeUnit is what a mode is multiplied by in a source's kind.
const modeUnit = 16

// Planes is how many planes an image has before its steps.
func (m Mode) Planes() int {
	if m == RGB {
		return 3
	}
	return 1
}

// readersMax is the largest number in a source's kind, above its lowest bit, that says who makes an image which the core
// refuses: Pillow, OpenCV or torchvision. The core does not care.
const readersMax = 2

// Origin is where an image comes from.
type Origin struct {
	Kind OriginKind
	Mode Mode
	Size Size // as its header said when the recipe was written
	Data []byte

	Offset, Length int64 // of a path; source.Whole is a length

	FileBytes, ModifiedNs int64 // of a path, when the recipe was written
}

// Image is the work for one image: Steps of the batch's, over a source, into a place of a field.
type Image struct {
	Source, Field, Place int
	First, Count         int // of its steps
}

const (
	wireMagic   = 0x32424c47 // "GLB2"
	headerBytes = 6 * 4
	fieldBytes  = 8 * 4
	sourceBytes = 5*4 + 4*8
	imageBytes  = 4 * 4
	stepBytes   = 8 + 6*4
)

// Read reads a batch from its wire form. Paths, files and tables stay views of data.
func Read(data []byte) (*Batch, error) {
	r := reader{data: data}
	header := r.take(headerBytes)
	if r.err == nil && header.u32(0) != wireMagic {
		r.fail("it begins with %#x", header.u32(0))
	}
	counts := [4]int{}
	for i := range counts {
		counts[i] = header.int(4 + 4*i)
	}
	fields, sources := r.rows(counts[0], fieldBytes), r.rows(counts[1], sourceBytes)
	images := r.rows(counts[2], imageBytes)
	steps := r.steps(counts[3])
	body := r.take(header.int(20))
	if r.err == nil && len(r.data) != 0 {
		r.fail("%d bytes follow its end", len(r.data))
	}
	if r.err != nil {
		return nil, r.err
	}
	b := &Batch{
		Fields: make([]Field, counts[0]), Sources: make([]Origin, counts[1]),
		Images: make([]Image, counts[2]), Steps: steps,
	}
	for i := range b.Fields {
		row := fields[i*fieldBytes:]
		b.Fields[i] = Field{
			Count: row.int(0), DType: tensor.DType(min(row.u32(4), math.MaxUint8)), Channels: row.int(8),
			Size: row.size(16, 12), Order: Order(row.u32(20)), Table: r.slice(body, row.int(24), row.int(28)),
		}
	}
	for i := range b.Sources {
		row := sources[i*sourceBytes:]
		b.Sources[i] = Origin{
			Kind: originKind(row.u32(0) % modeUnit), Mode: Mode(row.u32(0) / modeUnit), Size: row.size(4, 8), Data: r.slice(body, row.int(12), row.int(16)),
			Offset: row.i64(20), Length: row.i64(28), FileBytes: row.i64(36), ModifiedNs: row.i64(44),
		}
	}
	for i := range b.Images {
		row := images[i*imageBytes:]
		b.Images[i] = Image{Source: row.int(0), Field: row.int(4), First: row.int(8), Count: row.int(12)}
	}
	if r.err == nil {
		r.err = b.check()
	}
	if r.err != nil {
		return nil, r.err
	}
	return b, nil
}

// check refuses what does not belong together, and gives images their places. What steps make of an image is checked by
// whoever carries them out.
func (b *Batch) check() error {
	total := 0
	for i, f := range b.Fields {
		if f.Count < 1 || f.Size.Width < 1 || f.Size.Height < 1 || (f.Channels != 1 && f.Channels != 3) {
			return fmt.Errorf("%w: field %d has %d images of %d channels, %v pixels", ErrWire, i, f.Count, f.Channels, f.Size)
		}
		if f.Order > ChannelsLast {
			return fmt.Errorf("%w: field %d is in no known order, %d", ErrWire, i, f.Order)
		}
		if err := f.Spec().Check(); err != nil {
			return fmt.Errorf("%w: field %d: %w", ErrWire, i, err)
		}
		if each := f.tableBytes(); len(f.Table) == 0 || len(f.Table)%each != 0 {
			return fmt.Errorf("%w: field %d has tables of %d bytes, want %d for each", ErrWire, i, len(f.Table), each)
		}
		total += f.Count
	}
	if total != len(b.Images) {
		return fmt.Errorf("%w: %d images for %d places", ErrWire, len(b.Images), total)
	}
	for i, s := range b.Sources {
		switch {
		case s.Kind > Bytes || s.Mode > Grey:
			return fmt.Errorf("%w: source %d is of no known kind, %d, or mode, %d", ErrWire, i, s.Kind, s.Mode)
		case s.Size.Width < 1 || s.Size.Height < 1:
			return fmt.Errorf("%w: source %d has %v pixels", ErrWire, i, s.Size)
		case s.Kind == Path && (s.Offset < 0 || s.Length < source.Whole):
			return fmt.Errorf("%w: source %d is %d bytes from byte %d on", ErrWire, i, s.Length, s.Offset)
		case s.Kind == Path && (len(s.Data) < 2 || indexNUL(s.Data) != len(s.Data)-1):
			return fmt.Errorf("%w: the path of source %d does not end in its only NUL", ErrWire, i)
		}
	}
	filled := make([]int, len(b.Fields))
	for i := range b.Images {
		m := &b.Images[i]
		if m.Source >= len(b.Sources) || m.Field >= len(b.Fields) || m.First+m.Count > len(b.Steps) {
			return fmt.Errorf("%w: image %d: no source %d, field %d or steps %d to %d",
				ErrWire, i, m.Source, m.Field, m.First, m.First+m.Count)
		}
		steps, patches, _ := Cut(b.StepsOf(i))
		for _, s := range steps {
			if f := b.Fields[m.Field]; s.Kind == Zoom && f.DType != tensor.Float32 && f.DType != tensor.Float64 {
				return fmt.Errorf("%w: image %d becomes numbers, field %d is %v", ErrWire, i, m.Field, f.DType)
			}
		}
		for _, p := range patches {
			if f := b.Fields[m.Field]; int(p.Number) >= len(f.Table)/f.tableBytes() {
				return fmt.Errorf("%w: image %d has a patch by table %d, which field %d has not", ErrWire, i, p.Number, m.Field)
			}
		}
		m.Place = filled[m.Field]
		if filled[m.Field]++; m.Place >= b.Fields[m.Field].Count {
			return fmt.Errorf("%w: field %d has more images than places", ErrWire, m.Field)
		}
		if planes := PlanesAfter(b.Sources[m.Source].Mode.Planes(), b.StepsOf(i)); planes != b.Fields[m.Field].Channels {
			return fmt.Errorf("%w: image %d ends with %d channels, field %d has %d",
				ErrWire, i, planes, m.Field, b.Fields[m.Field].Channels)
		}
	}
	return nil
}

// StepsOf are the steps of an image.
func (b *Batch) StepsOf(i int) []Step {
	m := b.Images[i]
	return b.Steps[m.First : m.First+m.Count]
}

// Key is where the bytes of a path are in its store.
func (o Origin) Key() source.Key {
	return source.Key{Container: o.Data, Offset: o.Offset, Length: o.Length}
}

// Name is a source's place for messages.
func (o Origin) Name() string {
	if o.Kind == Path {
		return o.Key().Name()
	}
	return fmt.Sprintf("%d bytes in memory", len(o.Data))
}

// originKind is a kind without its reader, or one that is not known.
func originKind(kind uint32) OriginKind {
	if kind>>1 > readersMax {
		return Bytes + 1
	}
	return OriginKind(kind & 1)
}

func indexNUL(data []byte) int {
	for i, c := range data {
		if c == 0 {
			return i
		}
	}
	return -1
}

// row is the bytes of one entry. Counts and offsets fit an int on every machine, since they are at most 2^32 - 1.
type row []byte

func (r row) putI32(at int, v int32) { binary.LittleEndian.PutUint32(r[at:], uint32(v)) }

func (r row) putF32(at int, v float32) { binary.LittleEndian.PutUint32(r[at:], math.Float32bits(v)) }

func (r row) putF64(at int, v float64) {
	binary.LittleEndian.PutUint64(r[at:], math.Float64bits(v))
}

func (r row) u32(at int) uint32 {
	if len(r) < at+4 {
		return 0
	}
	return binary.LittleEndian.Uint32(r[at:])
}

func (r row) f32(at int) float32 { return math.Float32frombits(r.u32(at)) }
func (r row) f64(at int) float64 { return math.Float64frombits(uint64(r.i64(at))) }
func (r row) int(at int) int     { return int(r.u32(at)) }
func (r row) i32(at int) int32   { return int32(r.u32(at)) }
func (r row) i64(at int) int64   { return int64(r.u32(at)) | int64(r.u32(at+4))<<32 }
func (r row) size(w, h int) Size { return Size{Width: r.i32(w), Height: r.i32(h)} }

// reader takes a message apart; its first failure sticks.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrWire}, args...)...)
	}
}

func (r *reader) take(n int) row {
	if r.err != nil {
		return nil
	}
	if n > len(r.data) {
		r.fail("it ends early: %d bytes are left where %d are needed", len(r.data), n)
		return nil
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) rows(count, bytes int) row { return r.take(count * bytes) }

// ReadSteps reads steps from their wire form, as it is in a batch. Tables stay views of data.
func ReadSteps(data []byte) ([]Step, error) {
	r := reader{data: data}
	var steps []Step
	for r.err == nil && len(r.data) > 0 {
		steps = append(steps, r.steps(1)...)
	}
	return steps, r.err
}

// AppendStep appends a step in wire form, as ReadSteps reads it.
func AppendStep(dst []byte, s Step) []byte {
	k := s.Kind.row()
	at := len(dst)
	dst = slices.Grow(dst, stepBytes+k.bytes)[:at+stepBytes+k.bytes]
	row := row(dst[at:])
	clear(row)
	row[0], row[1], row[2], row[3] = byte(s.Kind), byte(s.Filter), byte(s.Mode), s.Channels
	copy(row[4:], s.Fill[:])
	row[7] = s.Shift
	for i, v := range [6]int32{s.Left, s.Top, s.Right, s.Bottom, s.Width, s.Height} {
		row.putI32(8+4*i, v)
	}
	if k.write != nil {
		k.write(s, row[stepBytes:])
	}
	return dst
}

// steps reads count steps.
func (r *reader) steps(count int) []Step {
	if r.err == nil && count > len(r.data)/stepBytes {
		r.fail("it ends early: %d bytes are left for %d steps", len(r.data), count)
	}
	if r.err != nil {
		return nil
	}
	steps := make([]Step, count)
	for i := range steps {
		row := r.take(stepBytes)
		if r.err != nil {
			return nil
		}
		s := &steps[i]
		*s = Step{
			Kind: Kind(row[0]), Filter: Filter(row[1]), Mode: PadMode(row[2]), Channels: row[3],
			Fill: [3]uint8(row[4:7]), Shift: row[7], Left: row.i32(8), Top: row.i32(12), Right: row.i32(16),
			Bottom: row.i32(20), Width: row.i32(24), Height: row.i32(28),
		}
		if k := s.Kind.row(); k.bytes > 0 {
			if more := r.take(k.bytes); r.err == nil {
				k.read(s, more)
			}
		}
		if r.err != nil {
			return nil
		}
		if err := s.Check(); err != nil {
			r.fail("step %d: %v", i, err)
		}
		if int(s.Kind) >= Wired {
			r.fail("step %d: kind %d is none that is sent", i, s.Kind)
		}
	}
	return steps
}

func (r *reader) slice(body row, at, n int) []byte {
	if at+n > len(body) {
		r.fail("bytes %d to %d of a body of %d", at, at+n, len(body))
		return nil
	}
	return body[at : at+n : at+n]
}
