package plan

import (
	"encoding/base64"
	"math"
	"slices"

	"github.com/goloader/goloader/core/tensor"
)

// Program makes a row of a field of other rows: the inputs of a sample. Its values are numbered: the inputs, the constants,
// the values that steps leave for others, and last the row.
type Program struct {
	Inputs    []Input
	Constants []Const
	Values    []tensor.Spec
	Steps     []Step
}

// Input is rows of the source, or a script's vector.
type Input struct {
	tensor.Spec
	Vector int // of Script.Vectors; -1 for rows
}

// IsVector says whether it is a script's.
func (in Input) IsVector() bool { return in.Vector >= 0 }

// Const is the same for all samples. Its items are little endian, one after the other.
type Const struct {
	tensor.Spec
	Data []byte
}

// Step is one operation on each item of a shape. Into is an item's place in what becomes of it, From those of what it is
// made of: all of one type, but for the first of three, which is a condition.
type Step struct {
	Op    string
	Taken *Taken // nil but for "take"
	Watch bool   // fails at a division by zero, an overflow and an invalid operation
	Shape tensor.Shape
	Into  Place
	From  []Place
}

// Taken is how a step "take" takes items: From[0] is where they begin, From[1], an int64, says which it is along an axis.
// A number below 0 counts from behind; others that are not below Extent fail.
type Taken struct {
	Axis   int // of the step's shape
	Extent int
	Stride int // of From[0], in items
}

// Place is where items of a value are: the first is number Offset, and so many are between one and the next of each
// dimension of the step's shape. A stride may be 0 or negative.
type Place struct {
	Value   int
	Offset  int
	Strides []int
}

func program(n node, row tensor.Spec) *Program {
	f := n.object()
	p := &Program{}
	for _, n := range f.get("inputs").list() {
		f := n.object()
		in := Input{spec(f, n), -1}
		if vector := f.get("vector"); !vector.isNull() {
			in.Vector = int(vector.int(0, registersMax-1))
		}
		p.Inputs = append(p.Inputs, in)
		f.done()
	}
	for _, n := range f.get("constants").list() {
		f := n.object()
		c := Const{Spec: spec(f, n)}
		data := f.get("data")
		var err error
		if c.Data, err = base64.StdEncoding.Strict().DecodeString(data.text()); err != nil {
			data.fail("%v", err)
		}
		if len(c.Data) != c.Bytes() {
			data.fail("%d bytes for %s", len(c.Data), c.Spec)
		}
		f.done()
		p.Constants = append(p.Constants, c)
	}
	for _, n := range f.get("values").list() {
		f := n.object()
		p.Values = append(p.Values, spec(f, n))
		f.done()
	}
	steps := f.get("steps")
	for _, n := range steps.list() {
		p.Steps = append(p.Steps, p.step(n, row))
	}
	if len(p.Steps) == 0 {
		steps.fail("want at least one step")
	}
	f.done()
	return p
}

func spec(f *fields, n node) tensor.Spec {
	s := tensor.Spec{DType: dtype(f.get("dtype")), Shape: shape(f.get("shape"))}
	if err := s.Check(); err != nil {
		n.fail("%v", err)
	}
	return s
}

func shape(n node) tensor.Shape {
	s := tensor.Shape{}
	for _, extent := range n.list() {
		s = append(s, int(extent.int(0, math.MaxInt)))
	}
	return s
}

// Of is the type of a value, the row's being the last.
func (p *Program) Of(value int, row tensor.Spec) tensor.Spec {
	for _, specs := range [][]tensor.Spec{p.inputs(), p.constants(), p.Values} {
		if value < len(specs) {
			return specs[value]
		}
		value -= len(specs)
	}
	return row
}

func (p *Program) inputs() []tensor.Spec {
	specs := make([]tensor.Spec, len(p.Inputs))
	for i, in := range p.Inputs {
		specs[i] = in.Spec
	}
	return specs
}

func (p *Program) constants() []tensor.Spec {
	specs := make([]tensor.Spec, len(p.Constants))
	for i, c := range p.Constants {
		specs[i] = c.Spec
	}
	return specs
}

// count is of the values, the row included.
func (p *Program) count() int { return len(p.Inputs) + len(p.Constants) + len(p.Values) + 1 }

func (p *Program) step(n node, row tensor.Spec) Step {
	f := n.object()
	s := Step{Op: f.get("op").text(), Watch: f.get("watch").bool(), Shape: shape(f.get("shape"))}
	if len(s.Shape) > stepDims || slices.ContainsFunc(s.Shape, func(extent int) bool { return extent > math.MaxInt32 }) {
		n.fail("a step over %s", s.Shape)
	}
	if err := (tensor.Spec{DType: tensor.Complex128, Shape: s.Shape}).Check(); err != nil {
		n.fail("%v", err)
	}
	s.Into = p.place(f.get("into"), s.Shape, len(p.Inputs)+len(p.Constants), row)
	taken, from := f.get("taken"), f.get("from")
	if !taken.isNull() {
		s.Taken = newTaken(taken, s.Shape)
	}
	for _, n := range from.list() {
		place := p.place(n, s.Shape, 0, row)
		if place.Value == p.count()-1 {
			n.fail("the row is no operand")
		}
		s.From = append(s.From, place)
	}
	if len(s.From) < 1 || len(s.From) > 3 {
		from.fail("want 1 to 3 operands, got %d", len(s.From))
	}
	if (s.Op == "take") != (s.Taken != nil) {
		taken.fail("want it for \"take\" alone")
	}
	if s.Taken != nil {
		p.checkTaken(from, s, row)
	}
	f.done()
	return s
}

func newTaken(n node, shape tensor.Shape) *Taken {
	f := n.object()
	t := &Taken{
		Axis:   int(f.get("axis").int(0, int64(len(shape))-1)),
		Extent: int(f.get("extent").int(1, math.MaxInt32)),
		Stride: int(f.get("stride").int(-math.MaxInt32, math.MaxInt32)),
	}
	f.done()
	return t
}

// checkTaken refuses a step that may take what is not inside its value.
func (p *Program) checkTaken(n node, s Step, row tensor.Spec) {
	if len(s.From) != 2 || p.Of(s.From[1].Value, row).DType != tensor.Int64 {
		n.fail("want items and an int64 that says which")
	}
	if p.Of(s.From[0].Value, row).DType != p.Of(s.Into.Value, row).DType {
		n.fail("want items of the type that they become")
	}
	if s.From[0].Strides[s.Taken.Axis] != 0 {
		n.fail("items are taken along an axis where they lie still")
	}
	at := Place{s.From[0].Value, s.From[0].Offset, slices.Clone(s.From[0].Strides)}
	at.Strides[s.Taken.Axis] = s.Taken.Stride
	shape := slices.Clone(s.Shape)
	shape[s.Taken.Axis] = s.Taken.Extent
	p.checkPlace(n, at, shape, row)
}

// stepDims are the dimensions that a step may have beside that of the samples.
const stepDims = 8

// place refuses one that is not wholly inside its value, or of a value below the number `first`.
func (p *Program) place(n node, shape tensor.Shape, first int, row tensor.Spec) Place {
	f := n.object()
	made := Place{Value: int(f.get("value").int(int64(first), int64(p.count()-1))), Offset: int(f.get("offset").int(0, math.MaxInt))}
	for _, stride := range f.get("strides").listOf(len(shape)) {
		made.Strides = append(made.Strides, int(stride.int(-math.MaxInt32, math.MaxInt32)))
	}
	p.checkPlace(n, made, shape, row)
	f.done()
	return made
}

func (p *Program) checkPlace(n node, at Place, shape tensor.Shape, row tensor.Spec) {
	low, high := at.Offset, at.Offset
	for d, extent := range shape {
		reach := (extent - 1) * at.Strides[d]
		low, high = low+min(reach, 0), high+max(reach, 0)
	}
	if items := p.Of(at.Value, row).Shape.Items(); shape.Items() > 0 && (low < 0 || high >= items) {
		n.fail("items %d to %d of %d", low, high, items)
	}
}
