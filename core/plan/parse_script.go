package plan

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
)

// What a script may have of each.
const (
	opensMax     = 64
	registersMax = 1 << 12
	tablesMax    = 1 << 8
	slotsMax     = 1 << 4
	noisesMax    = 1 << 6
	vectorsMax   = 1 << 20 // numbers of all vectors
)

// scriptParser knows what a script's registers are.
type scriptParser struct{ script *Script }

// script is one that makes samples of images, or of rows of a source that has fields.
func script(n node, p Part, from Source) *Script {
	f := n.object()
	s, fields := &Script{}, len(from.Fields)
	sp := scriptParser{s}
	for _, n := range f.get("files").list() {
		s.Files = append(s.Files, n.int(0, math.MaxInt64))
	}
	s.Images = int(f.get("images").int(0, registersMax))
	for _, n := range f.get("numbers").list() {
		s.Numbers = append(s.Numbers, numberType(n))
	}
	filled := 0
	for _, n := range f.get("vectors").list() {
		f := n.object()
		made := Vector{numberType(f.get("type")), int(f.get("count").int(0, vectorsMax))}
		if filled += made.Count; filled > vectorsMax {
			n.fail("more than %d numbers in vectors", vectorsMax)
		}
		f.done()
		s.Vectors = append(s.Vectors, made)
	}
	for _, n := range f.get("tables").list() {
		s.Tables = append(s.Tables, numberTable(n))
	}
	s.Generators = int(f.get("generators").int(0, GeneratorsMax))
	s.Slots = int(f.get("slots").int(0, slotsMax))
	s.Noises = int(f.get("noises").int(0, noisesMax))
	s.Apart = f.get("apart").bool()
	s.Followed = f.get("followed").bool()
	opens := f.get("opens")
	for _, n := range opens.list() {
		s.Opens = append(s.Opens, sp.open(n, p))
	}
	if k := len(s.Opens); (k < 1) != (fields > 0) || k > opensMax || k > s.Images {
		opens.fail("%d files a sample", k)
	}
	if fields > 0 {
		rows := f.get("rows")
		for _, n := range rows.list() {
			row := sp.expr(n)
			if row.Type() != Int {
				n.fail("want an int")
			}
			s.Rows = append(s.Rows, row)
		}
		if want := len(from.Rows()); len(s.Rows) != want {
			rows.fail("%d rows a sample, want %d", len(s.Rows), want)
		}
		for k, field := range from.Fields {
			if field.Program == nil {
				continue
			}
			for i, in := range field.Program.Inputs {
				if in.Vector >= len(s.Vectors) {
					n.fail("field %d is made of vector %d of %d", k, in.Vector, len(s.Vectors))
				}
				if !in.IsVector() {
					continue
				}
				if v := s.Vectors[in.Vector]; in.DType != v.Of.Spec().DType || in.Shape.Items() != v.Count {
					n.fail("input %d of field %d is %s, its vector has %d numbers", i, k, in.Spec, v.Count)
				}
			}
		}
	}
	s.First, s.Body = sp.block(f.get("first")), sp.block(f.get("body"))
	gives := f.get("gives")
	for _, n := range gives.list() {
		s.Gives = append(s.Gives, sp.give(n))
	}
	if k := len(s.Gives); (k < 1) != (fields > 0) || k > opensMax {
		gives.fail("%d images a sample", k)
	}
	for _, n := range f.get("columns").list() {
		s.Columns = append(s.Columns, sp.number(n))
	}
	f.done()
	return s
}

func numberType(n node) Type {
	return map[string]Type{"int": Int, "float": Float}[oneOf(n, "int", "float")]
}

func numberTable(n node) *Table {
	f := n.object()
	t := &Table{Of: numberType(f.get("type"))}
	values := f.get("values")
	t.Values = words(values)
	if starts := f.get("starts"); !starts.isNull() {
		found := words(starts)
		if len(found) == 0 || found[0] != 0 || found[len(found)-1] != uint64(len(t.Values)) {
			starts.fail("they do not cover %d values", len(t.Values))
		}
		for i, start := range found {
			if i > 0 && start < found[i-1] {
				starts.fail("row %d ends before it begins", i-1)
			}
			t.Starts = append(t.Starts, int64(start))
		}
	}
	f.done()
	return t
}

// words are numbers of 8 bytes, in little endian.
func words(n node) []uint64 {
	data := n.bytes()
	if len(data)%8 != 0 {
		n.fail("%d bytes, want 8 for each number", len(data))
	}
	made := make([]uint64, len(data)/8)
	for i := range made {
		made[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return made
}

func (p scriptParser) open(n node, part Part) Open {
	f := n.object()
	o := Open{
		List: int(f.get("list").int(0, int64(len(p.script.Files))-1)), Mode: oneOf(f.get("mode"), Palette, Grey, Colour),
		Plain: f.get("plain").bool(), Reader: oneOf(f.get("reader"), ImageOpen, OpenCV, ImageIO, Matplotlib, MatplotlibPNG,
			TorchvisionAny, TorchvisionJPEG, TorchvisionPNG),
	}
	row := f.get("row")
	if o.Row = p.expr(row); o.Row.Type() != Int {
		row.fail("want an int")
	}
	if o.Reader != ImageOpen && (part.Image != nil || o.Mode == Palette || !o.Plain && (o.Mode == Grey || !o.Reader.converts())) {
		n.fail("what %s does not read", o.Reader)
	}
	if part.Image != nil && o.Mode.Channels() != part.Image.Channels() {
		n.fail("mode %s of images with %d channels", o.Mode, part.Image.Channels())
	}
	f.done()
	return o
}

func (p scriptParser) give(n node) Give {
	f := n.object()
	g := Give{
		Image: p.image(f.get("image")), File: int(f.get("file").int(0, int64(len(p.script.Opens))-1)), Output: output(f.get("output")),
	}
	table := f.get("table")
	g.Table = table.bytes()
	if each := g.Channels * 256 * g.DType.Size(); len(g.Table) == 0 || len(g.Table)%each != 0 {
		table.fail("%d bytes, want %d for each table", len(g.Table), each)
	}
	if looks := f.get("looks"); !looks.isNull() {
		if g.Looks = looks.bytes(); len(g.Looks) != g.Channels*256 || len(g.Table) != len(g.Looks)*g.DType.Size() {
			looks.fail("%d bytes, want %d, and one table", len(g.Looks), g.Channels*256)
		}
	}
	f.done()
	return g
}

func (p scriptParser) image(n node) int { return int(n.int(0, int64(p.script.Images)-1)) }

func (p scriptParser) number(n node) int { return int(n.int(0, int64(len(p.script.Numbers))-1)) }

func (p scriptParser) block(n node) []Instruction {
	var made []Instruction
	for _, n := range n.list() {
		made = append(made, p.instruction(n))
	}
	return made
}

func (p scriptParser) instruction(n node) (made Instruction) {
	f := n.object()
	switch do := f.get("do"); do.text() {
	case "let":
		let := Let{Number: p.number(f.get("number"))}
		value := f.get("value")
		if let.Value = p.drawOr(value); let.Value.Type() != p.script.Numbers[let.Number] {
			value.fail("it is of another type than number %d", let.Number)
		}
		if d, ok := let.Value.(Draw); ok && d.IsWhole() {
			value.fail("a draw of many numbers")
		}
		made = let
	case "fill":
		fill := Fill{Vector: int(f.get("vector").int(0, int64(len(p.script.Vectors))-1))}
		value := f.get("value")
		if fill.Value = p.drawOr(value); fill.Value.Type() != p.script.Vectors[fill.Vector].Of {
			value.fail("it is of another type than vector %d", fill.Vector)
		}
		if d, ok := fill.Value.(Draw); ok && d.IsRandn() && p.script.Vectors[fill.Vector].Count < RandnMin {
			value.fail("a draw of %d numbers and more", RandnMin)
		}
		made = fill
	case "apply":
		apply := Apply{From: p.image(f.get("from")), To: p.image(f.get("to")), Channels: channels(f.get("channels"))}
		left := apply.Channels
		for _, n := range f.get("transforms").list() {
			each := p.transform(n, left)
			switch grey := each.(type) {
			case Grayscale:
				left = grey.Channels
			case OpenCVGrey:
				left = 1
			}
			apply.Transforms = append(apply.Transforms, each)
		}
		made = apply
	case "if":
		made = If{Condition: p.expr(f.get("condition")), Then: p.block(f.get("then")), Else: p.block(f.get("else"))}
	case "repeat":
		made = Repeat{Turn: p.block(f.get("turn")), Until: p.expr(f.get("until"))}
	case "seed":
		seed := Seed{Generator: generator(f)}
		value := f.get("value")
		if seed.Value = p.expr(value); seed.Value.Type() != Int {
			value.fail("want an int")
		}
		made = seed
	case "save":
		made = Save{generator(f), p.slot(f)}
	case "restore":
		made = Restore{generator(f), p.slot(f)}
	case "noise":
		// The name is in a list, as that of any draw is.
		kind := f.get("draw").listOf(1)[0]
		made = DrawNoise{Noise: p.noise(f.get("noise")), Kind: oneOf(kind, TorchRand, TorchRandn, TorchRandnAVX2, TorchRandnPairs),
			Channels: channels(f.get("channels")), Width: p.int(f, "width"), Height: p.int(f, "height"), Pixels: f.get("pixels").bool()}
	case "fail":
		made = Fail{}
	default:
		do.fail("unknown instruction %q", do.text())
	}
	f.done()
	return made
}

func generator(f *fields) Generator {
	return oneOf(f.get("generator"), TorchGenerator, PythonGenerator, NumPyGenerator)
}

func (p scriptParser) noise(n node) int { return int(n.int(0, int64(p.script.Noises)-1)) }

func (p scriptParser) slot(f *fields) int { return int(f.get("slot").int(0, int64(p.script.Slots)-1)) }

// transform is one of those that have a script's numbers, or any other.
func (p scriptParser) transform(n node, channels int) (t Transform) {
	f := n.object()
	switch f.get("op").text() {
	case CropTo{}.Op():
		t = CropTo{p.int(f, "left"), p.int(f, "top"), p.int(f, "width"), p.int(f, "height")}
	case PatchTo{}.Op():
		t = PatchTo{p.int(f, "left"), p.int(f, "top"), p.int(f, "right"), p.int(f, "bottom"), int32(f.get("table").int(1, tablesMax))}
	case ResizeTo{}.Op():
		name := f.get("filter")
		t = ResizeTo{p.int(f, "width"), p.int(f, "height"),
			oneOf(name, Nearest, Lanczos, Bilinear, Bicubic, Box, Hamming, OpenCVNearest, OpenCVLinear, OpenCVArea)}
	case PadTo{}.Op():
		t = PadTo{p.int(f, "left"), p.int(f, "top"), p.int(f, "right"), p.int(f, "bottom"),
			fill(f.get("fill"), channels), padMode(f.get("padding_mode"))}
	case GaussianBlur{}.Op():
		t = GaussianBlur{p.expr(f.get("radius"))}
	case ConvolveTo{}.Op():
		t = ConvolveTo{p.weights(f.get("down")), p.weights(f.get("across"))}
	case WarpTo{}.Op():
		warp := WarpTo{Filter: filter(f.get("filter")), Fill: fill(f.get("fill"), channels)}
		for i, n := range f.get("matrix").listOf(len(warp.Matrix)) {
			warp.Matrix[i] = p.expr(n)
		}
		t = warp
	case AffineTo{}.Op():
		t = AffineTo{p.pair(f, "translate"), p.pair(f, "shear"), p.pair(f, "scale"), p.expr(f.get("rotate")),
			fill(f.get("fill"), channels), padMode(f.get("padding_mode"))}
	case RotateTo{}.Op():
		t = RotateTo{p.expr(f.get("degrees")), filter(f.get("filter")), fill(f.get("fill"), channels)}
	case EnhanceTo{}.Op():
		what := oneOf(f.get("what"), EnhanceBrightness, EnhanceContrast, EnhanceSaturation, EnhanceSharpness, EnhanceHue)
		if what == EnhanceHue {
			colours(n, channels)
		}
		t = EnhanceTo{what, p.expr(f.get("factor"))}
	case PosterizeTo{}.Op():
		t = PosterizeTo{p.int(f, "bits")}
	case SolarizeTo{}.Op():
		t = SolarizeTo{p.expr(f.get("threshold"))}
	case MultiplyAddTo{}.Op():
		t = MultiplyAddTo{p.expr(f.get("factor")), p.expr(f.get("offset"))}
	case ShiftHSVTo{}.Op():
		colours(n, channels)
		t = ShiftHSVTo{p.expr(f.get("hue")), p.expr(f.get("saturation")), p.expr(f.get("value"))}
	case LookupTo{}.Op():
		table := f.get("table")
		var made LookupTo
		for _, n := range table.list() {
			e := p.expr(n)
			if e.Type() != Int {
				n.fail("want an int")
			}
			made.Table = append(made.Table, e)
		}
		if len(made.Table) != 256 && len(made.Table) != 256*channels {
			table.fail("%d numbers for %d channels", len(made.Table), channels)
		}
		t = made
	case ArithmeticTo{}.Op():
		var made ArithmeticTo
		for _, n := range f.get("terms").list() {
			made.Terms = append(made.Terms, p.term(n, channels))
		}
		t = made
	case Turn{}.Op():
		t = Turn{}
	case ReverseChannels{}.Op():
		colours(n, channels)
		t = ReverseChannels{}
	case OpenCVGrey{}.Op():
		colours(n, channels)
		t = OpenCVGrey{}
	default:
		return transform(n, channels)
	}
	f.done()
	return t
}

// term is a list: what it does, and its noise or its numbers.
func (p scriptParser) term(n node, channels int) Term {
	items := n.list()
	if len(items) == 0 {
		n.fail("a term of nothing")
	}
	t := Term{Does: oneOf(items[0], PushSample, PushNoise, AddTwo, SubtractTwo, MultiplyTwo, DivideTwo, AddWith, SubtractWith,
		SubtractFrom, MultiplyWith, DivideWith, AtLeast, AtMost, SetSample)}
	switch t.Does {
	case PushNoise:
		t.Noise = p.noise(n.listOf(2)[1])
	case AddWith, SubtractWith, SubtractFrom, MultiplyWith, DivideWith, AtLeast, AtMost:
		for _, n := range items[1:] {
			t.Values = append(t.Values, p.expr(n))
		}
		if k := len(t.Values); k != 1 && k != channels {
			n.fail("%d numbers for %d channels", k, channels)
		}
	default:
		n.listOf(1)
	}
	return t
}

// weights are those of a ConvolveTo each way.
func (p scriptParser) weights(n node) (made []Expr) {
	list := n.list()
	if len(list) < 3 || len(list) > WeightsMax || len(list)%2 == 0 {
		n.fail("%d weights", len(list))
	}
	for _, each := range list {
		made = append(made, p.expr(each))
	}
	return made
}

// pair is a number along x and one along y.
func (p scriptParser) pair(f *fields, name string) (made [2]Expr) {
	for i, n := range f.get(name).listOf(len(made)) {
		made[i] = p.expr(n)
	}
	return made
}

func colours(n node, channels int) {
	if channels != 3 {
		n.fail("an image of %d channels", channels)
	}
}

func (p scriptParser) int(f *fields, name string) Expr {
	n := f.get(name)
	e := p.expr(n)
	if e.Type() != Int {
		n.fail("want an int")
	}
	return e
}

var drawTypes = map[DrawKind]struct {
	own    bool // which generator comes first
	args   int
	floats bool // in place of these any number of weights
	of     Type
}{
	TorchMultinomial: {floats: true, of: Int}, TorchUniform: {args: 2, of: Float},
	PythonRandom: {of: Float}, PythonGauss: {of: Float}, TorchRand: {of: Float}, NumPyRandom: {of: Float}, NumPyGauss: {of: Float},
	PythonBelow: {args: 1, of: Int}, NumPyBelow: {args: 1, of: Int}, TorchBelow: {args: 1, of: Int},
	TorchRandn: {of: Float}, TorchRandnAVX2: {of: Float}, NumPyOrder: {of: Int}, TorchOrder: {of: Int},
	OwnRandom: {own: true, of: Float}, OwnBelow: {own: true, args: 1, of: Int},
}

// probabilities are the weights behind the name of a draw.
func probabilities(n node, items []any) (made []float64) {
	total := 0.0
	for _, each := range n.listOf(len(items))[1:] {
		v := each.float()
		if v < 0 || v > scaleMax*scaleMax || float64(float32(v)) != v {
			each.fail("want a float32 from 0 on, got %g", v)
		}
		made, total = append(made, v), total+v
	}
	if total == 0 {
		n.fail("want a weight above 0")
	}
	return made
}

// drawOr is a draw, or an expression.
func (p scriptParser) drawOr(n node) Expr {
	if items, ok := n.value.([]any); ok && len(items) > 0 {
		name, _ := items[0].(string)
		if row, ok := drawTypes[DrawKind(name)]; ok {
			d := Draw{Kind: DrawKind(name), Of: row.of}
			before := 1
			if row.own {
				before++
			}
			if row.floats {
				d.Weights = probabilities(n, items)
				return d
			}
			args := n.listOf(before + row.args)
			if row.own {
				d.Generator = int(args[1].int(0, int64(p.script.Generators)-1))
			}
			for _, n := range args[before:] {
				e := p.expr(n)
				if e.Type() != Int && row.of == Int {
					n.fail("want an int")
				}
				d.Args = append(d.Args, e)
			}
			return d
		}
	}
	return p.expr(n)
}

// lookup is a number of a table, if the name is one of these.
func (p scriptParser) lookup(n node, kind LookupKind) (l Lookup, ok bool) {
	wanted, ok := map[LookupKind]struct {
		args  int
		lists bool
	}{
		LookupItem: {1, false}, LookupFind: {1, false},
		LookupLength: {1, true}, LookupMember: {2, true}, LookupHas: {2, true},
	}[kind]
	if !ok {
		return l, false
	}
	items := n.listOf(2 + wanted.args)
	l = Lookup{Kind: kind, Table: p.script.Tables[items[1].int(0, int64(len(p.script.Tables))-1)], Of: Int}
	if (l.Table.Starts != nil) != wanted.lists {
		items[1].fail("a table of the other kind")
	}
	for _, n := range items[2:] {
		e := p.expr(n)
		if e.Type() != Int {
			n.fail("want an int")
		}
		l.Args = append(l.Args, e)
	}
	switch kind {
	case LookupItem, LookupMember:
		l.Of = l.Table.Of
	case LookupFind:
		if !l.Table.ascends(l.Table.Values) {
			items[1].fail("a table whose numbers do not ascend")
		}
	case LookupHas:
		for i, end := range l.Table.Starts[1:] {
			if !l.Table.ascends(l.Table.Values[l.Table.Starts[i]:end]) {
				items[1].fail("a table whose lists do not ascend")
			}
		}
	}
	return l, true
}

// ascends says whether numbers of the table are integers, each more than the one before it.
func (t *Table) ascends(numbers []uint64) bool {
	for i, value := range numbers {
		if t.Of != Int || (i > 0 && int64(value) <= int64(numbers[i-1])) {
			return false
		}
	}
	return true
}

// operationTypes says what comes of numbers: nil leaves their own type, which is a float's if one of them is.
var operationTypes = map[OperationName]struct {
	args int
	of   Type
}{
	Add: {args: 2}, Subtract: {args: 2}, Multiply: {args: 2}, FloorDivide: {args: 2}, Modulo: {args: 2},
	Minimum: {args: 2}, Maximum: {args: 2}, Negative: {args: 1}, Abs: {args: 1},
	Divide: {2, Float}, ToFloat: {1, Float}, ToFloat32: {1, Float},
	SquareRoot: {1, Float}, Exponential: {1, Float}, Logarithm: {1, Float}, Sine: {1, Float}, Cosine: {1, Float},
	CopySign: {2, Float}, Settled: {2, Float}, Divisor: {1, Float},
	Less: {2, Int}, LessEqual: {2, Int}, Equal: {2, Int}, Not: {1, Int}, ToInt: {1, Int}, Round: {1, Int},
}

func (p scriptParser) expr(n node) Expr {
	if number, ok := n.value.(json.Number); ok {
		if strings.ContainsAny(number.String(), ".eE") {
			return FloatValue(n.float())
		}
		return IntValue(n.int(-1<<53, 1<<53))
	}
	items := n.list()
	if len(items) == 0 {
		n.fail("an expression of nothing")
	}
	name := items[0].text()
	args := items[1:]
	switch name {
	case "index":
		n.listOf(1)
		return Index{}
	case "number":
		n.listOf(2)
		register := p.number(args[0])
		return Number{register, p.script.Numbers[register]}
	case "width", "height":
		n.listOf(2)
		return Extent{p.image(args[0]), name == "height"}
	}
	if made, ok := p.lookup(n, LookupKind(name)); ok {
		return made
	}
	row, ok := operationTypes[OperationName(name)]
	if !ok {
		items[0].fail("unknown operation %q", name)
	}
	n.listOf(1 + row.args)
	o := Operation{Name: OperationName(name), Of: row.of}
	if o.Of == 0 {
		o.Of = Int
	}
	mixed := false
	for _, n := range args {
		e := p.expr(n)
		o.Args = append(o.Args, e)
		mixed = mixed || e.Type() != o.Args[0].Type()
		if row.of == 0 && e.Type() == Float {
			o.Of = Float
		}
	}
	if mixed && (o.Name == Minimum || o.Name == Maximum) { // Python's is of the type of one of them
		n.fail("want numbers of one type")
	}
	return o
}
