package plan

import (
	"encoding/base64"
	"math"
	"slices"

	"github.com/goloader/goloader/core/tensor"
)

const (
	// SizeMax is longer than any image's edge, and small enough for torchvision's products of a size and an edge to be exact
	// in float64.
	SizeMax = 1 << 20
	// exp stays a normal float32 between these, as torchvision's aspect ratios need.
	logRatioMax = 80
	// float32(a-b) must be finite for torch to draw between them.
	scaleMax = 1e6
	// Whatever is divided by it and squared is finite.
	sigmaMin = 1e-3
	// angleMax is of degrees, far above any turn.
	angleMax = 1e6
)

// Parse reads a plan. Errors are *Error and name the place in the JSON.
func Parse(text []byte) (*Plan, error) { return read(text, parse) }

// ParseAugmentation reads transforms that belong to no plan. Errors are *Error and name the place in the JSON.
func ParseAugmentation(text []byte) (*Augmentation, error) { return read(text, augmentation) }

func read[T any](text []byte, parse func(node) *T) (made *T, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			made, err = nil, failure
		default:
			panic(failure)
		}
	}()
	return parse(node{"", tree(text)}), nil
}

func (f *fields) version() {
	if v := f.get("version"); v.int(math.MinInt64, math.MaxInt64) != Version {
		v.fail("want %d, got %s: the library and the Python package do not belong together", Version, v.kind())
	}
}

func augmentation(n node) *Augmentation {
	f := n.object()
	f.version()
	a := &Augmentation{Channels: channels(f.get("channels")), RNG: randomness(f.get("rng"))}
	a.Transforms, _ = transformList(f.get("transforms"), a.Channels)
	f.done()
	return a
}

func parse(n node) *Plan {
	f := n.object()
	f.version()
	p := &Plan{Source: source(f.get("source"))}
	kind := p.Source.Kind
	if made := f.get("output"); kind.images() {
		p.Output = output(made)
	} else {
		made.null(kind)
	}
	if kind.images() || kind == Scripted || kind == Stream {
		p.RNG = randomness(f.get("rng"))
	} else {
		f.get("rng").null(kind)
	}
	if kind.Views() == 2 {
		p.Target = output(f.get("target"))
	}
	if len(p.Source.Fields) > 0 {
		f.get("pillow").null(kind)
	} else {
		p.Pillow = pillow(f.get("pillow"))
	}
	switch index := f.get("seek_index"); kind {
	case Folder, Pairs, Scripted:
		p.SeekIndex = seekIndex(index)
	case Recipe, Stream:
		if p.SeekIndex = seekIndex(index); p.SeekIndex != nil && p.SeekIndex.Path != "" {
			index.fail("want no path since the source is of kind %s", string(kind))
		}
	default:
		index.null(kind)
	}
	total := int64(0)
	parts := f.get("parts")
	if (kind == Recipe || kind == Stream) && len(parts.list()) != 0 {
		parts.fail("want none since the source is of kind %s", string(kind))
	}
	for _, n := range parts.list() {
		part := part(n, p)
		if total += part.Count; total < 0 {
			n.fail("more samples than an int64 counts")
		}
		p.Parts = append(p.Parts, part)
		if first := p.Parts[0]; kind == Scripted && ((part.Image == nil) != (first.Image == nil) || !part.Script.givesAs(first.Script)) {
			n.fail("its samples are not as those of the first part")
		}
	}
	f.done()
	if kind == Scripted && (len(p.Parts) == 0 || len(p.Parts) > 1 && len(p.Source.Fields) > 0) {
		parts.fail("want one, got %d", len(p.Parts))
	}
	return p
}

// null refuses what a source of that kind has no use for.
func (n node) null(kind SourceKind) {
	if !n.isNull() {
		n.fail("want null for a source of kind %q, got %s", string(kind), n.kind())
	}
}

func source(n node) Source {
	f := n.object()
	s := Source{Kind: oneOf(f.get("kind"), Folder, Pairs, Pixels, PixelViews, Places, Array, Recipe, Scripted, Stream)}
	if _, ok := f.members["fields"]; ok && s.Kind == Scripted || s.Kind == Array {
		list := f.get("fields")
		for _, n := range list.list() {
			f := field(n)
			if f.Program != nil && s.Kind == Array && slices.ContainsFunc(f.Program.Inputs, Input.IsVector) {
				n.fail("a vector where there is no script")
			}
			s.Fields = append(s.Fields, f)
		}
		if len(s.Fields) == 0 {
			list.fail("want at least one field")
		}
	}
	if s.Kind == Recipe || s.Kind == Stream {
		s.Files = int32(f.get("files").int(0, math.MaxInt32))
	}
	if s.Kind == Stream {
		streamed(f, &s)
	}
	if _, ok := f.members["remote"]; ok && (s.Kind == Folder || s.Kind == Scripted) {
		s.Remote = f.get("remote").bool()
	}
	f.done()
	return s
}

func streamed(f *fields, s *Source) {
	for _, n := range f.get("images").list() {
		f := n.object()
		image := StreamImage{Of: texts(f.get("of")), Output: output(f.get("output"))}
		image.Part.Transforms = transformsTo(image.Output, "output", f.get("transforms"), Colour.Channels())
		image.Part.Table = tableOf(f.get("table"), image.Output, image.Part.Transforms)
		f.done()
		s.Images = append(s.Images, image)
	}
	for _, n := range f.get("columns").list() {
		f := n.object()
		column := StreamColumn{Kind: oneOf(f.get("kind"), NumberColumn, BytesColumn, TextColumn, JSONColumn, WholeColumn), Of: texts(f.get("of"))}
		f.done()
		s.Columns = append(s.Columns, column)
	}
}

func texts(n node) []string {
	var each []string
	for _, item := range n.list() {
		each = append(each, item.text())
	}
	return each
}

func field(n node) Field {
	f := n.object()
	made := Field{Spec: tensor.Spec{DType: dtype(f.get("dtype"))}}
	made.Shape = shape(f.get("shape"))
	made.Stored = dtype(f.get("stored"))
	made.Ragged = f.get("ragged").bool()
	views := f.get("views")
	if err := made.Check(); err != nil {
		n.fail("%v", err)
	}
	for _, n := range views.list() {
		made.Views = append(made.Views, viewOf(n, made))
	}
	if len(made.Views) == 0 {
		views.fail("want at least one view")
	}
	if _, ok := f.members["program"]; ok {
		given := f.get("program")
		made.Program = program(given, made.Spec)
		if inputs := made.Program.Inputs; made.Ragged && (len(inputs) != 1 || inputs[0].IsVector()) {
			given.fail("%d inputs make an item of a ragged row", len(inputs))
		}
	}
	f.done()
	return made
}

func viewOf(n node, field Field) View {
	f := n.object()
	v := View{Skip: int(f.get("skip").int(0, math.MaxInt32)), Drop: int(f.get("drop").int(0, math.MaxInt32))}
	number := !field.Ragged && len(field.Shape) == 0
	if cut := v.Skip + v.Drop; number && cut > 0 || !number && !field.Ragged && cut > field.Shape[0] {
		n.fail("%d items less than rows %s have", cut, field.Shape)
	}
	v.Front, v.Back = around(f.get("front"), field, number), around(f.get("back"), field, number)
	v.Layout = rowLayout(f.get("layout"), field, number)
	f.done()
	return v
}

// around is items that stand beside those of a row.
func around(n node, field Field, number bool) []byte {
	items, item := n.bytes(), field.Spec
	if !field.Ragged && !number {
		item.Shape = item.Shape[1:]
	}
	if len(items) == 0 {
		return nil
	}
	if size := item.Bytes(); number || size == 0 || len(items)%size != 0 {
		n.fail("%d bytes beside rows %s of %s", len(items), field.Shape, field.DType)
	}
	return items
}

func rowLayout(n node, field Field, number bool) RowLayout {
	f := n.object()
	kind := f.get("kind")
	var l RowLayout
	switch kind.text() {
	case StackRows{}.Kind():
		if field.Ragged {
			kind.fail("rows that differ in length are not stacked")
		}
		l = StackRows{}
	case PadRows{}.Kind():
		l = padRows(f, field)
	case JaggedRows{}.Kind():
		l = JaggedRows{}
	case PackRows{}.Kind():
		l = PackRows{}
	case DocumentRows{}.Kind():
		l = documentRows(f, field)
	default:
		kind.fail("unknown layout %q", kind.text())
	}
	if _, stacked := l.(StackRows); number && !stacked {
		kind.fail("numbers have no length")
	}
	f.done()
	return l
}

func padRows(f *fields, field Field) PadRows {
	p := PadRows{BatchFirst: f.get("batch_first").bool(), Lengths: f.get("lengths").bool(), Left: f.get("left").bool()}
	p.MultipleOf = int(f.get("multiple_of").int(1, math.MaxInt32))
	strips := f.get("strips")
	p.Strips = int(strips.int(1, math.MaxInt32))
	if p.Strips > 1 && (!p.BatchFirst || !field.Ragged || len(field.Shape) > 0) {
		strips.fail("want rows of numbers that differ in length, and these rows first")
	}
	value := f.get("value")
	var err error
	if p.Value, err = base64.StdEncoding.Strict().DecodeString(value.text()); err != nil {
		value.fail("%v", err)
	}
	if len(p.Value) != field.DType.Size() {
		value.fail("%d bytes for one %s", len(p.Value), field.DType)
	}
	return p
}

func documentRows(f *fields, field Field) DocumentRows {
	d := DocumentRows{Tokens: int(f.get("tokens").int(1, math.MaxInt32-1))}
	if eos := f.get("eos"); !eos.isNull() {
		token := eos.int(math.MinInt64, math.MaxInt64)
		d.EOS = &token
	}
	if field.DType != tensor.Int64 || (field.Ragged && len(field.Shape) > 0) || (!field.Ragged && len(field.Shape) != 1) {
		f.fail("want rows of int64, not of %s", field.Spec)
	}
	return d
}

func dtype(n node) tensor.DType {
	d, err := tensor.ParseDType(n.text())
	if err != nil {
		n.fail("%v", err)
	}
	return d
}

func output(n node) Output {
	f := n.object()
	o := Output{DType: dtype(f.get("dtype")), Channels: channels(f.get("channels"))}
	f.done()
	return o
}

func channels(n node) int {
	c := n.int(1, 3)
	if c == 2 {
		n.fail("want 1 or 3, got 2")
	}
	return int(c)
}

func randomness(n node) RNG {
	f := n.object()
	r := RNG{FMA: f.get("fma").bool(), CorrectlyRoundedExp: f.get("correctly_rounded_exp").bool()}
	f.done()
	return r
}

func pillow(n node) Pillow {
	f := n.object()
	p := Pillow{PassOrder: oneOf(f.get("pass_order"), HorizontalFirst, TallFirst, ShrinkFirst)}
	if limit := f.get("max_pixels"); !limit.isNull() {
		p.MaxPixels = limit.int(1, math.MaxInt64)
	}
	for _, d := range f.get("decoders").list() {
		p.Decoders = append(p.Decoders, oneOf(d, WebP, BMP, GIF, TIFF))
	}
	f.done()
	return p
}

func seekIndex(n node) *SeekIndex {
	if n.isNull() {
		return nil
	}
	f := n.object()
	s := &SeekIndex{BytesMax: f.get("bytes_max").int(1, math.MaxInt64)}
	if path := f.get("path"); !path.isNull() {
		if s.Path = path.text(); s.Path == "" {
			path.fail("want null or the path of a file")
		}
	}
	f.done()
	return s
}

func part(n node, plan *Plan) Part {
	f := n.object()
	p := Part{Count: f.get("count").int(0, math.MaxInt64)}
	var transforms, table node
	if plan.Source.Kind != Scripted {
		transforms, table = f.get("transforms"), f.get("table")
	}
	if plan.Source.Kind.InMemory() {
		p.Image = image(f.get("image"))
	}
	if _, ok := f.members["image"]; ok && plan.Source.Kind == Places {
		p.Image = unsized(f.get("image"))
	}
	if plan.Source.Kind.Views() == 2 {
		p.Target = target(f.get("target"), plan.Target)
	}
	if plan.Source.Kind == Scripted {
		if _, ok := f.members["image"]; ok {
			p.Image = image(f.get("image"))
		}
		p.Script = script(f.get("script"), p, plan.Source)
		f.done()
		return p
	}
	f.done()
	if plan.Source.Kind == Array {
		if len(transforms.list()) != 0 {
			transforms.fail("want none for an array source")
		}
		if table.text() != "" {
			table.fail("want an empty string for an array source")
		}
		return p
	}
	channels := 3 // as torchvision's image loader leaves them
	if p.Image != nil {
		channels = p.Image.Channels()
	}
	p.Transforms = transformsTo(plan.Output, "output", transforms, channels)
	p.Table = tableOf(table, plan.Output, p.Transforms)
	return p
}

func target(n node, output Output) *Target {
	f := n.object()
	t := &Target{
		Mode:  oneOf(f.get("mode"), Palette, Grey, Colour),
		Draws: oneOf(f.get("draws"), Apart, Together),
		Read:  oneOf(f.get("read"), Opened, Decoded, Unread),
	}
	t.Transforms = transformsTo(output, "target", f.get("transforms"), t.Mode.Channels())
	t.Table = tableOf(f.get("table"), output, t.Transforms)
	f.done()
	return t
}

// transformsTo is what makes an output, called name, of images with that many channels.
func transformsTo(output Output, name string, list node, channels int) []Transform {
	transforms, channels := transformList(list, channels)
	if channels != output.Channels {
		list.fail("images end with %d channels, but %s.channels is %d", channels, name, output.Channels)
	}
	return transforms
}

// transformList is what is done to images with that many channels, and how many they have then.
func transformList(list node, channels int) (transforms []Transform, after int) {
	for _, n := range list.list() {
		t := transform(n, channels)
		channels = channelsAfter(t, channels)
		transforms = append(transforms, t)
	}
	return transforms, channels
}

func channelsAfter(t Transform, channels int) int {
	switch t := t.(type) {
	case Grayscale:
		return t.Channels
	case TorchGrayscale:
		return t.Channels
	case OverNumbers:
		return channelsAfter(t.Transform, channels)
	}
	return channels
}

// tableOf is what pixels become, and has all the tables that transforms name.
func tableOf(n node, output Output, transforms []Transform) []byte {
	table, rows := n.bytes(), tablesOf(transforms)*output.Channels
	if want := rows * 256 * output.DType.Size(); len(table) != want {
		n.fail("%d bytes, want %d: %d x 256 items of %s", len(table), want, rows, output.DType)
	}
	return table
}

// tablesOf is how many tables transforms need.
func tablesOf(transforms []Transform) int {
	tables := 1
	for _, t := range transforms {
		switch t := t.(type) {
		case RandomErasing:
			tables = max(tables, int(t.Table)+1)
		case Resize:
			tables = max(tables, t.Filter.tables())
		case RandomResizedCrop:
			tables = max(tables, t.Filter.tables())
		case RandomApply:
			tables = max(tables, tablesOf(t.Transforms))
		}
	}
	return tables
}

// tables is how many a resize by it needs.
func (f Filter) tables() int {
	if first, _, _ := f.Group(); first == TorchFloat {
		return 3
	}
	return 1
}

// images reports whether samples have images, which are to be decoded and transformed.
func (k SourceKind) images() bool {
	return k == Folder || k == Pairs || k == Places || k.InMemory()
}

// InMemory reports whether samples are rows of arrays of images.
func (k SourceKind) InMemory() bool { return k == Pixels || k == PixelViews }

// Views is how many images a sample has.
func (k SourceKind) Views() int {
	if k == Pairs || k == PixelViews {
		return 2
	}
	return 1
}

func image(n node) *Image {
	f := n.object()
	i := &Image{Layout: oneOf(f.get("layout"), Interleaved, Planar, Flat), Size: heightWidth(f.get("size"))}
	f.done()
	return i
}

// unsized is an image whose size the source says.
func unsized(n node) *Image {
	f := n.object()
	i := &Image{Layout: oneOf(f.get("layout"), Interleaved, Planar, Flat)}
	f.done()
	return i
}

func transform(n node, channels int) Transform {
	f := n.object()
	var t Transform
	switch op := f.get("op"); op.text() {
	case Resize{}.Op():
		t = resize(f)
	case CenterCrop{}.Op():
		t = CenterCrop{Size: heightWidth(f.get("size"))}
	case RandomCrop{}.Op():
		t = randomCrop(f, channels)
	case RandomResizedCrop{}.Op():
		t = randomResizedCrop(f)
	case RandomHorizontalFlip{}.Op():
		t = RandomHorizontalFlip{P: f.get("p").float()}
	case RandomVerticalFlip{}.Op():
		t = RandomVerticalFlip{P: f.get("p").float()}
	case Pad{}.Op():
		t = Pad{sides(f.get("padding")), fill(f.get("fill"), channels), padMode(f.get("padding_mode"))}
	case Grayscale{}.Op():
		t = Grayscale{Channels: channelsOf(f)}
	case TorchGrayscale{}.Op():
		t = TorchGrayscale{Channels: channelsOf(f), Fused: f.get("fused").bool()}
	case Steps{}.Op():
		t = Steps{f.get("steps").bytes()}
	case RandomApply{}.Op():
		t = randomApply(f, channels)
	case ColorJitter{}.Op():
		t = colorJitter(f)
	case RandomPhotometricDistort{}.Op():
		t = RandomPhotometricDistort{
			P: f.get("p").float(), Brightness: interval(f.get("brightness"), 0, scaleMax),
			Contrast: interval(f.get("contrast"), 0, scaleMax), Saturation: interval(f.get("saturation"), 0, scaleMax),
			Hue: interval(f.get("hue"), -0.5, 0.5), Tensor: f.get("tensor").bool(), Fused: f.get("fused").bool(),
		}
	case RandomChannelPermutation{}.Op():
		t = RandomChannelPermutation{}
	case TorchBlur{}.Op():
		t = torchBlur(f)
	case RandomResize{}.Op():
		t = RandomResize{sizesBetween(f.get("sizes")), filter(f.get("filter"))}
	case RandomShortestSize{}.Op():
		t = randomShortestSize(f)
	case ScaleJitter{}.Op():
		t = ScaleJitter{pairOf(f.get("target")), interval(f.get("scale"), 0, scaleMax), filter(f.get("filter"))}
	case RandomZoomOut{}.Op():
		t = RandomZoomOut{f.get("p").float(), interval(f.get("sides"), 1, scaleMax), fill(f.get("fill"), channels)}
	case Augment{}.Op():
		t = augment(f)
	case AutoAugment{}.Op():
		t = autoAugment(f)
	case RandomErasing{}.Op():
		t = randomErasing(f)
	case ToNumbers{}.Op():
		t = ToNumbers{}
	case Normalize{}.Op():
		t = Normalize{floats(f.get("mean"), channels), floats(f.get("std"), channels)}
	case OverNumbers{}.Op():
		t = OverNumbers{transform(f.get("transform"), channels), floats(f.get("fill"), channels)}
	case RandomRotation{}.Op():
		t = RandomRotation{interval(f.get("degrees"), -angleMax, angleMax), f.get("expand").bool(), placed(f, channels)}
	case RandomAffine{}.Op():
		t = randomAffine(f, channels)
	case TensorRotation{}.Op():
		t = TensorRotation{interval(f.get("degrees"), -angleMax, angleMax), api(f.get("api")), placed(f, channels), sampled(f)}
	case TensorAffine{}.Op():
		t = TensorAffine{randomAffine(f, channels), sampled(f)}
	default:
		op.fail("unknown op %q", op.text())
	}
	f.done()
	return t
}

func resize(f *fields) Resize {
	size, limit := f.get("size"), f.get("max_size")
	t := Resize{Filter: filter(f.get("filter"))}
	if !size.isNull() {
		for _, n := range size.list() {
			t.Size = append(t.Size, int32(n.int(1, SizeMax)))
		}
		if len(t.Size) != 1 && len(t.Size) != 2 {
			size.fail("want null or 1 or 2 items, got %d", len(t.Size))
		}
	}
	if !limit.isNull() {
		t.MaxSize = int32(limit.int(1, SizeMax))
	}
	switch {
	case size.isNull() && limit.isNull():
		size.fail("null without a max_size")
	case len(t.Size) == 2 && !limit.isNull():
		limit.fail("not together with height and width")
	case len(t.Size) == 1 && !limit.isNull() && t.MaxSize <= t.Size[0]:
		limit.fail("want more than size, %d, got %d", t.Size[0], t.MaxSize)
	}
	return t
}

// pairOf is two sizes.
func pairOf(n node) (v [2]int32) {
	for i, each := range n.listOf(2) {
		v[i] = int32(each.int(1, SizeMax))
	}
	return v
}

// sizesBetween are a size, and one above.
func sizesBetween(n node) [2]int32 {
	v := pairOf(n)
	if v[0] >= v[1] {
		n.fail("want the lower end first, got %d and %d", v[0], v[1])
	}
	return v
}

func randomShortestSize(f *fields) RandomShortestSize {
	sizes, limit := f.get("sizes"), f.get("max_size")
	t := RandomShortestSize{Filter: filter(f.get("filter"))}
	for _, n := range sizes.list() {
		t.Sizes = append(t.Sizes, int32(n.int(1, SizeMax)))
	}
	if len(t.Sizes) == 0 {
		sizes.fail("want at least one")
	}
	if !limit.isNull() {
		t.MaxSize = int32(limit.int(1, SizeMax))
	}
	return t
}

func randomCrop(f *fields, channels int) RandomCrop {
	t := RandomCrop{Size: heightWidth(f.get("size"))}
	if padding := f.get("padding"); !padding.isNull() {
		s := sides(padding)
		t.Padding = &s
	}
	t.PadIfNeeded = f.get("pad_if_needed").bool()
	t.Fill = fill(f.get("fill"), channels)
	t.PaddingMode = padMode(f.get("padding_mode"))
	t.API = api(f.get("api"))
	return t
}

func randomResizedCrop(f *fields) RandomResizedCrop {
	t := RandomResizedCrop{Size: heightWidth(f.get("size"))}
	t.Scale = interval(f.get("scale"), 0, scaleMax)
	t.Ratio = interval(f.get("ratio"), math.SmallestNonzeroFloat64, math.MaxFloat64)
	t.LogRatio = logRatio(f.get("log_ratio"))
	t.Filter = filter(f.get("filter"))
	t.API = api(f.get("api"))
	return t
}

func logRatio(n node) (logs [2]float32) {
	for i, v := range interval(n, -logRatioMax, logRatioMax) {
		if logs[i] = float32(v); float64(logs[i]) != v {
			n.fail("%v is not a float32", v)
		}
	}
	return logs
}

func torchBlur(f *fields) TorchBlur {
	lanes := f.get("lanes")
	t := TorchBlur{
		API: api(f.get("api")), MKL: f.get("mkl").bool(), Lanes: int(lanes.int(8, 16)),
		Across: places(f.get("across")), Down: places(f.get("down")), Sigma: interval(f.get("sigma"), sigmaMin, scaleMax),
	}
	if t.Lanes != 8 && t.Lanes != 16 {
		lanes.fail("want 8 or 16")
	}
	return t
}

// places are those of a TorchBlur's weights along one side.
func places(n node) []float32 {
	list := n.list()
	if len(list) > WeightsMax || len(list)%2 == 0 {
		n.fail("want an odd number of places, up to %d", WeightsMax)
	}
	made := make([]float32, len(list))
	for k, each := range list {
		v := each.float()
		if made[k] = float32(v); math.Abs(v) > WeightsMax {
			each.fail("want places up to %d around 0", WeightsMax)
		}
	}
	return made
}

func randomErasing(f *fields) RandomErasing {
	return RandomErasing{
		P: f.get("p").float(), Scale: interval(f.get("scale"), 0, 1), LogRatio: logRatio(f.get("log_ratio")),
		Table: int32(f.get("table").int(0, math.MaxUint8)), Noise: oneOf(f.get("noise"), "", TorchRandn, TorchRandnAVX2),
	}
}

// floats are float32, one for each channel; of a grey image's the rest is 0.
func floats(n node, channels int) (v [3]float32) {
	for i, each := range n.listOf(channels) {
		v[i] = float32(each.float())
	}
	return v
}

// interval is [a, b] with lo <= a <= b <= hi. torch refuses to draw from any with a > b.
func interval(n node, lo, hi float64) [2]float64 {
	v := numbers(n, lo, hi)
	if v[0] > v[1] {
		n.fail("want the lower end first, got %g and %g", v[0], v[1])
	}
	return v
}

// numbers are two of lo to hi.
func numbers(n node, lo, hi float64) (v [2]float64) {
	for i, each := range n.listOf(2) {
		if v[i] = each.float(); v[i] < lo || v[i] > hi {
			each.fail("want %g to %g, got %g", lo, hi, v[i])
		}
	}
	return v
}

func randomAffine(f *fields, channels int) RandomAffine {
	t := RandomAffine{
		Degrees:   interval(f.get("degrees"), -angleMax, angleMax),
		Translate: optional(f.get("translate"), func(n node) [2]float64 { return numbers(n, 0, 1) }),
		Scale:     optional(f.get("scale"), func(n node) [2]float64 { return interval(n, 1/float64(scaleMax), scaleMax) }),
		API:       api(f.get("api")),
		Placed:    placed(f, channels),
	}
	shear := f.get("shear")
	for _, n := range shear.list() {
		t.Shear = append(t.Shear, interval(n, -angleMax, angleMax))
	}
	if len(t.Shear) > 2 {
		shear.fail("want at most 2 items, got %d", len(t.Shear))
	}
	return t
}

func placed(f *fields, channels int) Placed {
	return Placed{
		Center: optional(f.get("center"), func(n node) [2]float64 { return numbers(n, -SizeMax, SizeMax) }),
		Filter: oneOf(f.get("filter"), Nearest, Bilinear, Bicubic),
		Fill:   fill(f.get("fill"), channels),
	}
}

func sampled(f *fields) Sampled {
	return Sampled{Zeros: f.get("zeros").bool(), Fused: f.get("fused").bool(), FusedGrid: f.get("fused_grid").bool()}
}

// optional is nil for null.
func optional[T any](n node, read func(node) T) *T {
	if n.isNull() {
		return nil
	}
	v := read(n)
	return &v
}

func channelsOf(f *fields) int { return channels(f.get("channels")) }

func randomApply(f *fields, channels int) RandomApply {
	t := RandomApply{P: f.get("p").float()}
	list := f.get("transforms")
	left := channels
	for _, n := range list.list() {
		each := transform(n, left)
		left = channelsAfter(each, left)
		t.Transforms = append(t.Transforms, each)
	}
	if left != channels {
		list.fail("they leave %d channels of %d", left, channels)
	}
	return t
}

func colorJitter(f *fields) ColorJitter {
	factors := func(name string, lo, hi float64) *[2]float64 {
		return optional(f.get(name), func(n node) [2]float64 { return interval(n, lo, hi) })
	}
	return ColorJitter{
		Brightness: factors("brightness", 0, scaleMax), Contrast: factors("contrast", 0, scaleMax),
		Saturation: factors("saturation", 0, scaleMax), Hue: factors("hue", -0.5, 0.5),
		Tensor: f.get("tensor").bool(), Fused: f.get("fused").bool(),
	}
}

func augment(f *fields) Augment {
	t := Augment{Rounds: int(f.get("rounds").int(0, math.MaxUint8))}
	choices := f.get("choices")
	for _, n := range choices.list() {
		of := n.object()
		up, down := of.get("up"), of.get("down")
		c := Choice{Leveled: of.get("leveled").bool(), Up: up.bytesList(), Down: down.bytesList()}
		of.done()
		if len(c.Up) == 0 || !c.Leveled && len(c.Up) != 1 {
			up.fail("%d levels", len(c.Up))
		}
		if len(c.Down) != 0 && len(c.Down) != len(c.Up) {
			down.fail("%d levels, but %d with the other sign", len(c.Down), len(c.Up))
		}
		t.Choices = append(t.Choices, c)
	}
	if len(t.Choices) == 0 {
		choices.fail("want at least one")
	}
	t.API = api(f.get("api"))
	return t
}

func autoAugment(f *fields) AutoAugment {
	var t AutoAugment
	policies := f.get("policies")
	for _, n := range policies.list() {
		var policy [2]PolicyStep
		for i, half := range n.listOf(2) {
			of := half.object()
			policy[i] = PolicyStep{P: of.get("p").float(), Signed: of.get("signed").bool(), Up: of.get("up").bytes(),
				Down: of.get("down").bytes()}
			of.done()
		}
		t.Policies = append(t.Policies, policy)
	}
	if len(t.Policies) == 0 {
		policies.fail("want at least one")
	}
	t.API = api(f.get("api"))
	return t
}

func (n node) bytes() []byte {
	data, err := base64.StdEncoding.Strict().DecodeString(n.text())
	if err != nil {
		n.fail("%v", err)
	}
	return data
}

func (n node) bytesList() [][]byte {
	var each [][]byte
	for _, item := range n.list() {
		each = append(each, item.bytes())
	}
	return each
}

func heightWidth(n node) HeightWidth {
	v := n.listOf(2)
	return HeightWidth{int32(v[0].int(1, SizeMax)), int32(v[1].int(1, SizeMax))}
}

func sides(n node) Sides {
	var v [4]int32
	for i, side := range n.listOf(4) {
		v[i] = int32(side.int(0, SizeMax))
	}
	return Sides{Left: v[0], Top: v[1], Right: v[2], Bottom: v[3]}
}

func fill(n node, channels int) []uint8 {
	var v []uint8
	for _, item := range n.list() {
		v = append(v, uint8(item.int(0, math.MaxUint8)))
	}
	if len(v) != 1 && len(v) != channels {
		n.fail("%d values for an image of %d channels", len(v), channels)
	}
	return v
}

func filter(n node) Filter {
	f := Filter(n.text())
	if _, _, ok := f.Group(); ok {
		return f
	}
	return oneOf(n, Nearest, Lanczos, Bilinear, Bicubic, Box, Hamming, TorchBilinear, TorchBicubic, TorchNearest)
}

func padMode(n node) PadMode { return oneOf(n, Constant, Edge, Reflect, Symmetric) }

func api(n node) API { return oneOf(n, V1, V2) }
