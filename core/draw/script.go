package draw

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/tensor"
)

// Script draws for samples of several images, in the order of a user's own code. It holds nothing that changes: any number
// of goroutines may use it, each with a Frame.
type Script struct {
	first, body block
	rows        []number // of the files that a sample opens, or of the source's fields
	gives       []give
	planes      []int // of each file's image
	generators  Drawn // that are drawn from before files are known; and
	later       Drawn // when they are
	images      int
	numbers     int
	slots       int
	noises      int
}

// Drawn marks generators: torch's, Python's, numpy's, and the user's objects'.
type Drawn [3 + plan.GeneratorsMax]bool

type give struct {
	image, channels, tables int
	dtype                   tensor.DType
}

// Image is one of a frame's: its steps so far, and its size after them.
type Image struct {
	Steps []recipe.Step
	Size  recipe.Size
	file  int // whose it is
}

// Frame is one sample's registers. It is used again for the next.
type Frame struct {
	Images  []Image
	Numbers []uint64 // int64, or the bits of a float64: registers, and behind them vectors

	index   int64
	source  Source
	slots   []rng.MT19937 // states of generators that were kept
	noises  []*recipe.Noise
	failed  string
	patches []recipe.Step
}

// fail leaves the sample to the user's own code.
func (f *Frame) fail(why string) {
	if f.failed == "" {
		f.failed = why
	}
}

// whole is a float without a fraction as an int.
func (f *Frame) whole(v float64) uint64 {
	if !(math.Abs(v) < exactMax) {
		f.fail(fmt.Sprintf("%v is no small integer", v))
		return 0
	}
	return uint64(int64(v))
}

// exact is a sum of two ints, unless it is too large.
func (f *Frame) exact(sum, a, b int64) int64 {
	if sum >= exactMax || sum <= -exactMax {
		f.fail(fmt.Sprintf("%d and %d make a number that is too large", a, b))
		return 0
	}
	return sum
}

// block is instructions, one after the other.
type block []instruction

type instruction func(f *Frame) error

func (b block) run(f *Frame) error {
	for _, do := range b {
		if err := do(f); err != nil {
			return err
		}
		if f.failed != "" {
			return &Refused{"script", f.failed}
		}
	}
	return nil
}

// CompileScript makes a Script.
func CompileScript(s *plan.Script, image *plan.Image, r plan.RNG) (*Script, error) {
	starts, numbers := s.VectorStarts()
	made := &Script{images: s.Images, numbers: numbers, slots: s.Slots, noises: s.Noises}
	c := scriptCompiler{script: s, starts: starts, rng: r}
	for i, open := range s.Opens {
		var row number
		var err error
		if row, err = compileInt(open.Row); err != nil {
			return nil, fmt.Errorf("opens[%d]: %w", i, err)
		}
		planes := open.Mode.Channels()
		if image != nil {
			planes = image.Channels()
		}
		made.rows, made.planes = append(made.rows, row), append(made.planes, planes)
	}
	fields, err := compileNumbers(compileInt, s.Rows)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	made.rows = append(made.rows, fields...)
	if made.first, err = c.block(s.First); err != nil {
		return nil, fmt.Errorf("first: %w", err)
	}
	made.generators, c.drawn = c.drawn, Drawn{}
	if made.body, err = c.block(s.Body); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	made.later = c.drawn
	for k, also := range made.later {
		if also && made.generators[k] {
			return nil, fmt.Errorf("generator %d is drawn from both before files are known and after", k)
		}
	}
	for _, g := range s.Gives {
		tables := len(g.Table) / max(1, g.Channels*256*g.DType.Size())
		made.gives = append(made.gives, give{g.Image, g.Channels, tables, g.DType})
	}
	return made, nil
}

// NewFrame makes room for a sample.
func (s *Script) NewFrame() *Frame {
	return &Frame{Images: make([]Image, s.images), Numbers: make([]uint64, s.numbers), slots: make([]rng.MT19937, s.slots),
		noises: make([]*recipe.Noise, s.noises)}
}

// Rows is how many rows First writes.
func (s *Script) Rows() int { return len(s.rows) }

// DrawsFirst says which generators First draws from.
func (s *Script) DrawsFirst() Drawn { return s.generators }

// DrawsLater says which generators Draw draws from.
func (s *Script) DrawsLater() Drawn { return s.later }

// First draws what says which files a sample opens, and writes their rows. It fails with *Refused where the user's own code
// is to make the sample.
func (s *Script) First(f *Frame, index int64, from Source, rows []int64) error {
	f.index, f.source, f.failed = index, from, ""
	clear(f.Numbers)
	if err := s.first.run(f); err != nil {
		return err
	}
	for k, row := range s.rows {
		rows[k] = int64(row(f))
	}
	if f.failed != "" {
		return &Refused{"script", f.failed}
	}
	return nil
}

// Draw draws for a sample whose files' images have these sizes. The numbers are those that First left. Errors are as
// Program.Draw's.
func (s *Script) Draw(f *Frame, index int64, numbers []uint64, sizes []recipe.Size, from Source) error {
	f.index, f.source, f.failed = index, from, ""
	copy(f.Numbers, numbers)
	clear(f.noises)
	for k := range f.Images {
		f.Images[k] = Image{Steps: f.Images[k].Steps[:0]}
	}
	for k, size := range sizes {
		f.Images[k].Size, f.Images[k].file = size, k
	}
	if err := s.body.run(f); err != nil {
		return err
	}
	for v, g := range s.gives {
		image := &f.Images[g.image]
		if image.Size.Width < 1 || image.Size.Height < 1 {
			return fmt.Errorf("image %d of a sample was not made", v)
		}
		steps, patches, finish := recipe.Cut(image.Steps)
		if planes := recipe.PlanesAfter(s.planes[image.file], steps); planes != g.channels {
			return fmt.Errorf("image %d of a sample ends with %d channels, not %d", v, planes, g.channels)
		}
		for _, p := range patches {
			if int(p.Number) >= g.tables {
				return fmt.Errorf("image %d of a sample has a patch by table %d of %d", v, p.Number, g.tables)
			}
		}
		if err := checkFinish(finish, image.Size, g); err != nil {
			return fmt.Errorf("image %d of a sample: %w", v, err)
		}
	}
	return nil
}

// Given is image v of a finished sample, and which file it comes of.
func (s *Script) Given(f *Frame, v int) (image *Image, file int) {
	image = &f.Images[s.gives[v].image]
	return image, image.file
}

type scriptCompiler struct {
	script *plan.Script
	starts []int // of its vectors, among a frame's numbers
	rng    plan.RNG
	drawn  Drawn
}

func (c *scriptCompiler) block(list []plan.Instruction) (block, error) {
	var made block
	for i, each := range list {
		do, err := c.instruction(each)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		made = append(made, do)
	}
	return made, nil
}

func (c *scriptCompiler) instruction(each plan.Instruction) (instruction, error) {
	switch t := each.(type) {
	case plan.Let:
		return c.let(t)
	case plan.Fill:
		return c.fill(t)
	case plan.Apply:
		return c.apply(t)
	case plan.If:
		condition, err := compileFloat(t.Condition)
		if err != nil {
			return nil, err
		}
		then, err := c.block(t.Then)
		if err != nil {
			return nil, fmt.Errorf("then%w", err)
		}
		otherwise, err := c.block(t.Else)
		if err != nil {
			return nil, fmt.Errorf("else%w", err)
		}
		return func(f *Frame) error {
			holds := floatOf(condition(f)) != 0
			switch {
			case f.failed != "":
				return nil
			case holds:
				return then.run(f)
			default:
				return otherwise.run(f)
			}
		}, nil
	case plan.DrawNoise:
		return c.noise(t)
	case plan.Fail:
		return func(f *Frame) error {
			f.fail("it goes a way that is left to the user's own code")
			return nil
		}, nil
	case plan.Repeat:
		return c.repeat(t)
	case plan.Seed:
		return c.seed(t)
	case plan.Save:
		of := c.generator(t.Generator)
		return func(f *Frame) error {
			f.slots[t.Slot] = *of(&f.source)
			return nil
		}, nil
	case plan.Restore:
		of := c.generator(t.Generator)
		return func(f *Frame) error {
			*of(&f.source) = f.slots[t.Slot]
			return nil
		}, nil
	default:
		return nil, fmt.Errorf("unknown instruction %T", each)
	}
}

// turnsMax is more than anybody waits for, and less than would block other samples for a second.
const turnsMax = 1 << 16

func (c *scriptCompiler) repeat(t plan.Repeat) (instruction, error) {
	until, err := compileFloat(t.Until)
	if err != nil {
		return nil, err
	}
	turn, err := c.block(t.Turn)
	return func(f *Frame) error {
		for range turnsMax {
			if err := turn.run(f); err != nil {
				return err
			}
			if floatOf(until(f)) != 0 || f.failed != "" {
				return nil
			}
		}
		f.fail(fmt.Sprintf("a loop of more than %d turns", turnsMax))
		return nil
	}, err
}

// generator is one that a script draws from.
func (c *scriptCompiler) generator(name plan.Generator) func(from *Source) *rng.MT19937 {
	switch name {
	case plan.PythonGenerator:
		c.drawn[1] = true
		return func(from *Source) *rng.MT19937 { return from.Python }
	case plan.NumPyGenerator:
		c.drawn[2] = true
		return func(from *Source) *rng.MT19937 { return from.NumPy }
	default:
		c.drawn[0] = true
		return func(from *Source) *rng.MT19937 { return from.MT }
	}
}

func (c *scriptCompiler) seed(t plan.Seed) (instruction, error) {
	of := c.generator(t.Generator)
	start := map[plan.Generator]func(m *rng.MT19937, seed uint64){
		plan.TorchGenerator:  (*rng.MT19937).Seed,
		plan.PythonGenerator: (*rng.MT19937).SeedPython,
		plan.NumPyGenerator:  (*rng.MT19937).Seed,
	}[t.Generator]
	value, err := compileInt(t.Value)
	return func(f *Frame) error {
		seed := int64(value(f))
		if seed < 0 || seed > math.MaxUint32 {
			f.fail(fmt.Sprintf("a seed of %d", seed))
		}
		if f.failed == "" {
			start(of(&f.source), uint64(seed))
		}
		return nil
	}, err
}

func (c *scriptCompiler) value(of plan.Expr) (number, error) {
	if drawn, ok := of.(plan.Draw); ok {
		return c.draw(drawn)
	}
	return compileNumber(of)
}

func (c *scriptCompiler) fill(t plan.Fill) (instruction, error) {
	first := c.starts[t.Vector]
	end := first + c.script.Vectors[t.Vector].Count
	if d, ok := t.Value.(plan.Draw); ok {
		if draw, err := c.drawAll(d); draw != nil || err != nil {
			return func(f *Frame) error {
				draw(f, f.Numbers[first:end])
				return nil
			}, err
		}
	}
	value, err := c.value(t.Value)
	return func(f *Frame) error {
		for k := first; k < end; k++ {
			f.Numbers[k] = value(f)
		}
		return nil
	}, err
}

// drawAll draws all numbers of a vector in one go; nil for draws that do so one by one.
func (c *scriptCompiler) drawAll(d plan.Draw) (draw func(f *Frame, dst []uint64), err error) {
	var limit number
	if d.Kind == plan.NumPyBelow {
		if limit, err = compileInt(d.Args[0]); err != nil {
			return nil, err
		}
	}
	rows := map[plan.DrawKind]struct {
		generator int
		draw      func(f *Frame, dst []uint64)
	}{
		plan.TorchRand:      {0, func(f *Frame, dst []uint64) { f.source.MT.RandFill(dst) }},
		plan.TorchRandn:     {0, func(f *Frame, dst []uint64) { f.source.MT.DrawAll(rng.Normals, dst) }},
		plan.TorchRandnAVX2: {0, func(f *Frame, dst []uint64) { f.source.MT.DrawAll(rng.NormalsAVX2, dst) }},
		plan.TorchOrder:     {0, func(f *Frame, dst []uint64) { f.source.MT.Permute(integers(dst)) }},
		plan.NumPyRandom:    {2, func(f *Frame, dst []uint64) { f.source.NumPy.RandomFill(dst) }},
		plan.NumPyOrder:     {2, func(f *Frame, dst []uint64) { f.source.NumPy.NumPyPermute(integers(dst)) }},
		plan.NumPyBelow: {2, func(f *Frame, dst []uint64) {
			if n, ok := f.numbersBelow(limit); ok {
				f.source.NumPy.NumPyFill(integers(dst), n)
			}
		}},
	}
	row := rows[d.Kind]
	if row.draw != nil {
		c.drawn[row.generator] = true
	}
	return row.draw, nil
}

// integers are numbers that hold ints.
func integers(numbers []uint64) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(numbers))), len(numbers))
}

func (c *scriptCompiler) let(t plan.Let) (instruction, error) {
	value, err := c.value(t.Value)
	return func(f *Frame) error {
		f.Numbers[t.Number] = value(f)
		return nil
	}, err
}

func (c *scriptCompiler) apply(t plan.Apply) (instruction, error) {
	channels := uint8(t.Channels)
	program, err := compileAll(t.Transforms, channels, c.rng)
	if err != nil {
		return nil, err
	}
	c.drawn[0] = c.drawn[0] || program.Random()
	return func(f *Frame) error {
		from, to := &f.Images[t.From], &f.Images[t.To]
		if t.From != t.To {
			to.Steps = append(to.Steps[:0], from.Steps...)
			to.Size, to.file = from.Size, from.file
		}
		f.source.frame = f
		var err error
		done, in := len(to.Steps), to.Size
		if to.Steps, to.Size, err = program.Draw(to.Steps, to.Size, &f.source); err != nil {
			return err
		}
		return f.putPatchesLast(to, done, in)
	}, nil
}

func isPatch(s recipe.Step) bool { return s.Kind == recipe.Patch }

// putPatchesLast moves patches behind what follows them, so that they end where the pixels do that they lie on. `done` steps of
// the image, which make it of size in, were in order before.
func (f *Frame) putPatchesLast(image *Image, done int, in recipe.Size) error {
	before, _, _ := recipe.Cut(image.Steps[:done])
	_, _, finish := recipe.Cut(image.Steps)
	rest := image.Steps[len(before) : len(image.Steps)-len(finish)]
	if !slices.ContainsFunc(rest, isPatch) {
		return nil
	}
	steps, patches := before, f.patches[:0]
	for _, s := range rest {
		if s.Kind == recipe.Patch {
			patches = append(slices.DeleteFunc(patches, func(other recipe.Step) bool { return isWithin(other, s) }), s)
			continue
		}
		kept := patches[:0]
		for _, patch := range patches {
			moved, err := movedPatch(patch, s, in)
			if err != nil {
				return err
			}
			if moved.Width > 0 && moved.Height > 0 {
				kept = append(kept, moved)
			}
		}
		patches, in = kept, s.Out(in)
		steps = append(steps, s) // patches of `rest` are not read again
	}
	if len(patches) > recipe.PatchesMax {
		f.fail(fmt.Sprintf("%d rectangles of an image", len(patches)))
	}
	finish = slices.Clone(finish) // `steps` may write over them
	image.Steps, f.patches = append(append(steps, patches...), finish...), patches
	return nil
}

// isWithin says whether all of a patch is under another.
func isWithin(patch, other recipe.Step) bool {
	return other.Left <= patch.Left && patch.Left+patch.Width <= other.Left+other.Width &&
		other.Top <= patch.Top && patch.Top+patch.Height <= other.Top+other.Height
}

// movedPatch is where a step takes a patch of an image of a size; an empty one if it does not show.
func movedPatch(patch, by recipe.Step, in recipe.Size) (recipe.Step, error) {
	switch by.Kind {
	case recipe.Select:
	case recipe.HorizontalFlip:
		patch.Left = in.Width - patch.Left - patch.Width
	case recipe.VerticalFlip:
		patch.Top = in.Height - patch.Top - patch.Height
	case recipe.Crop:
		right := min(patch.Left+patch.Width-by.Left, by.Width)
		bottom := min(patch.Top+patch.Height-by.Top, by.Height)
		patch.Left, patch.Top = max(patch.Left-by.Left, 0), max(patch.Top-by.Top, 0)
		patch.Width, patch.Height = right-patch.Left, bottom-patch.Top
	default:
		return patch, fmt.Errorf("step %d of an image follows a patch", by.Kind)
	}
	return patch, nil
}

// below is a draw of 0 ... n-1.
func below(of func(f *Frame) *rng.MT19937, draw func(m *rng.MT19937, n uint64) uint64, limit number) number {
	return func(f *Frame) uint64 {
		n, ok := f.numbersBelow(limit)
		if !ok {
			return 0
		}
		return draw(of(f), n)
	}
}

// numbersBelow is how many numbers there are to draw from.
func (f *Frame) numbersBelow(limit number) (n uint64, ok bool) {
	found := int64(limit(f))
	if found < 1 || found >= math.MaxUint32 {
		f.fail(fmt.Sprintf("a random number below %d", found))
	}
	return uint64(found), f.failed == ""
}

// uniformMax is far below what torch refuses, and what float32 has.
const uniformMax = 1e30

func (c *scriptCompiler) draw(d plan.Draw) (number, error) {
	limit := func(*Frame) uint64 { return 0 }
	if d.Kind == plan.TorchUniform {
		ends, err := compileNumbers(compileFloat, d.Args)
		c.drawn[0] = true
		return func(f *Frame) uint64 {
			low, high := floatOf(ends[0](f)), floatOf(ends[1](f))
			if !(low <= high && -uniformMax <= low && high <= uniformMax) {
				f.fail(fmt.Sprintf("a random number from %v to %v", low, high))
				return 0
			}
			return bitsOf(float64(f.source.MT.Uniform(float32(low), float32(high), c.rng.FMA)))
		}, err
	}
	if len(d.Args) == 1 {
		var err error
		if limit, err = compileInt(d.Args[0]); err != nil {
			return nil, err
		}
	}
	torch := func(f *Frame) *rng.MT19937 { return f.source.MT }
	python := func(f *Frame) *rng.MT19937 { return f.source.Python }
	numpy := func(f *Frame) *rng.MT19937 { return f.source.NumPy }
	own := func(f *Frame) *rng.MT19937 { return &f.source.Own[d.Generator] }
	rows := map[plan.DrawKind]struct {
		generator int
		number
	}{
		plan.TorchRand:  {0, func(f *Frame) uint64 { return bitsOf(float64(f.source.MT.Rand())) }},
		plan.TorchBelow: {0, below(torch, (*rng.MT19937).Randint, limit)},
		plan.TorchMultinomial: {0, func(f *Frame) uint64 {
			place, sure := f.source.MT.Multinomial(d.Weights)
			if !sure {
				f.fail("two weights that rounding decides between")
			}
			return uint64(place)
		}},
		plan.PythonRandom: {1, func(f *Frame) uint64 { return bitsOf(f.source.Python.Random()) }},
		plan.PythonBelow:  {1, below(python, (*rng.MT19937).PythonBelow, limit)},
		plan.PythonGauss:  {1, func(f *Frame) uint64 { return bitsOf(f.source.Python.Gauss()) }},
		plan.NumPyRandom:  {2, func(f *Frame) uint64 { return bitsOf(f.source.NumPy.Random()) }},
		plan.NumPyGauss:   {2, func(f *Frame) uint64 { return bitsOf(f.source.NumPy.NumPyGauss()) }},
		plan.NumPyBelow:   {2, below(numpy, (*rng.MT19937).NumPyBelow, limit)},
		plan.OwnRandom:    {3 + d.Generator, func(f *Frame) uint64 { return bitsOf(own(f).Random()) }},
		plan.OwnBelow:     {3 + d.Generator, below(own, (*rng.MT19937).PythonBelow, limit)},
	}
	row, ok := rows[d.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown draw %q", d.Kind)
	}
	c.drawn[row.generator] = true
	return row.number, nil
}

// Transforms whose numbers are a script's.

type numbered struct {
	args []number
	step func(f *Frame, n []int64, in recipe.Size) (recipe.Step, bool)
}

func compileNumbered(step func(f *Frame, n []int64, in recipe.Size) (recipe.Step, bool), args ...plan.Expr) (transform, error) {
	numbers, err := compileNumbers(compileInt, args)
	return numbered{numbers, step}, err
}

func (t numbered) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.frame == nil {
		return dst, in, fmt.Errorf("numbers of a script where there is none")
	}
	var n [4]int64
	for i, arg := range t.args {
		n[i] = int64(arg(r.frame))
	}
	step, changes := t.step(r.frame, n[:], in)
	if r.frame.failed != "" || !changes {
		return dst, in, nil
	}
	return append(dst, step), step.Out(in), nil
}

func (t numbered) random() bool  { return false }
func (t numbered) stepsMax() int { return 1 }

func compileCropTo(t plan.CropTo) (transform, error) {
	return compileNumbered(func(f *Frame, n []int64, in recipe.Size) (recipe.Step, bool) {
		left, top, width, height := n[0], n[1], n[2], n[3]
		if left < 0 || top < 0 || width < 1 || height < 1 || left > int64(in.Width)-width || top > int64(in.Height)-height {
			f.fail("a crop leaves the image")
			return recipe.Step{}, false
		}
		whole := left == 0 && top == 0 && width == int64(in.Width) && height == int64(in.Height)
		return recipe.Step{
			Kind: recipe.Crop, Left: int32(left), Top: int32(top), Width: int32(width), Height: int32(height),
		}, !whole
	}, t.Left, t.Top, t.Width, t.Height)
}

func compilePatchTo(t plan.PatchTo) (transform, error) {
	return compileNumbered(func(_ *Frame, n []int64, in recipe.Size) (recipe.Step, bool) {
		left, right := sliced(n[0], n[2], int64(in.Width))
		top, bottom := sliced(n[1], n[3], int64(in.Height))
		return recipe.Step{
			Kind: recipe.Patch, Left: left, Top: top, Width: right - left, Height: bottom - top, Number: t.Table,
		}, left < right && top < bottom
	}, t.Left, t.Top, t.Right, t.Bottom)
}

// sliced are the ends of Python's slice(first, last) of so many items.
func sliced(first, last, count int64) (from, to int32) {
	end := func(n int64) int32 {
		if n < 0 {
			n += count
		}
		return int32(min(max(n, 0), count))
	}
	return end(first), end(last)
}

func compileResizeTo(t plan.ResizeTo) (transform, error) {
	filter, err := filterOf(t.Filter)
	if err != nil {
		return nil, err
	}
	return compileNumbered(func(f *Frame, n []int64, in recipe.Size) (recipe.Step, bool) {
		if n[0] < 1 || n[1] < 1 || n[0] > plan.SizeMax || n[1] > plan.SizeMax {
			f.fail("an image becomes too small or too large")
			return recipe.Step{}, false
		}
		to := recipe.Size{Width: int32(n[0]), Height: int32(n[1])}
		return recipe.Step{Kind: recipe.Resize, Filter: filter, Width: to.Width, Height: to.Height}, to != in
	}, t.Width, t.Height)
}

func compilePadTo(t plan.PadTo, channels uint8) (transform, error) {
	p, err := newPadding(t.Fill, t.PaddingMode, channels)
	if err != nil {
		return nil, err
	}
	return compileNumbered(func(f *Frame, n []int64, in recipe.Size) (recipe.Step, bool) {
		for _, side := range n {
			if side < 0 || side > plan.SizeMax {
				f.fail("a border that is too large, or negative")
				return recipe.Step{}, false
			}
		}
		return recipe.Step{
			Kind: recipe.Pad, Mode: p.mode, Fill: p.fill,
			Left: int32(n[0]), Top: int32(n[1]), Right: int32(n[2]), Bottom: int32(n[3]),
		}, n[0]+n[1]+n[2]+n[3] > 0
	}, t.Left, t.Top, t.Right, t.Bottom)
}

// quarterTurn is by 90 degrees, counter-clockwise.
type quarterTurn struct{}

func (quarterTurn) draw(dst []recipe.Step, in recipe.Size, _ *Source) ([]recipe.Step, recipe.Size, error) {
	step := recipe.Step{Kind: recipe.Rotate90}
	return append(dst, step), step.Out(in), nil
}

func (quarterTurn) random() bool  { return false }
func (quarterTurn) stepsMax() int { return 1 }

// reckoned are steps that floats decide.
type reckoned struct {
	args  []number
	steps func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error)
}

func compileReckoned(
	steps func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error), args ...plan.Expr,
) (transform, error) {
	numbers, err := compileNumbers(compileFloat, args)
	return reckoned{numbers, steps}, err
}

func (t reckoned) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.frame == nil {
		return dst, in, fmt.Errorf("numbers of a script where there is none")
	}
	var v [7]float64
	for i, arg := range t.args {
		if v[i] = floatOf(arg(r.frame)); !(math.Abs(v[i]) < floatMax) {
			r.frame.fail(fmt.Sprintf("%v where an image is changed", v[i]))
		}
	}
	if r.frame.failed != "" {
		return dst, in, nil
	}
	return t.steps(r.frame, v[:], dst, in)
}

func (t reckoned) random() bool  { return false }
func (t reckoned) stepsMax() int { return 3 }

// floatMax is far from what is not finite.
const floatMax = 1e30

// overOne is how much more than 1 float32 weights may be together that are 1 but for their rounding: what they make of an
// image still has no more than 255.
const overOne = 1e-5

type convolveTo struct{ down, across []number }

func compileConvolveTo(t plan.ConvolveTo) (transform, error) {
	down, err := compileNumbers(compileFloat, t.Down)
	if err != nil {
		return nil, err
	}
	across, err := compileNumbers(compileFloat, t.Across)
	return convolveTo{down, across}, err
}

func (t convolveTo) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.frame == nil {
		return dst, in, fmt.Errorf("numbers of a script where there is none")
	}
	step := recipe.Step{
		Kind: recipe.ConvolveUnit, Width: int32(len(t.across)), Height: int32(len(t.down)),
		Weights: new([2][recipe.TapsMax]float32),
	}
	for axis, weights := range [2][]number{t.across, t.down} {
		sum := 0.0
		for k, of := range weights {
			weight := float32(floatOf(of(r.frame)))
			step.Weights[axis][k] = weight
			sum += float64(weight)
			if !(weight >= 0) {
				r.frame.fail(fmt.Sprintf("a weight of %v", weight))
			}
		}
		if !(sum <= 1+overOne) {
			r.frame.fail(fmt.Sprintf("weights that are %v together", sum))
		}
	}
	if step.Width/2 >= in.Width || step.Height/2 >= in.Height {
		r.frame.fail("a border that is mirrored beyond the image")
	}
	if r.frame.failed != "" {
		return dst, in, nil
	}
	return append(dst, step), in, nil
}

func (t convolveTo) random() bool  { return false }
func (t convolveTo) stepsMax() int { return 1 }

func compileWarpTo(t plan.WarpTo, channels uint8) (transform, error) {
	w, err := newWarp(plan.Placed{Filter: t.Filter, Fill: t.Fill}, channels)
	if err != nil {
		return nil, err
	}
	return compileReckoned(func(_ *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		return append(dst, w.step([6]float64(v[:6]), in)), in, nil
	}, t.Matrix[:]...)
}

func compileRotateTo(t plan.RotateTo, channels uint8) (transform, error) {
	w, err := newWarp(plan.Placed{Filter: t.Filter, Fill: t.Fill}, channels)
	if err != nil {
		return nil, err
	}
	return compileReckoned(func(_ *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		return w.rotate(dst, in, v[0], false)
	}, t.Degrees)
}

func compileEnhanceTo(t plan.EnhanceTo) (transform, error) {
	kind := map[plan.Enhancement]recipe.Kind{
		plan.EnhanceBrightness: recipe.Brightness, plan.EnhanceContrast: recipe.Contrast,
		plan.EnhanceSaturation: recipe.Saturation, plan.EnhanceSharpness: recipe.Sharpness,
	}[t.What]
	return compileReckoned(func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		if t.What == plan.EnhanceHue {
			if !(math.Abs(v[0]) <= 0.5) {
				f.fail(fmt.Sprintf("a hue changes by %v", v[0]))
			}
			return append(dst, recipe.Step{Kind: recipe.Hue, Shift: uint8(int32(v[0] * 255))}), in, nil
		}
		return append(dst, recipe.Step{Kind: kind, Factor: float32(v[0])}), in, nil
	}, t.Factor)
}

func compileSolarizeTo(t plan.SolarizeTo) (transform, error) {
	return compileReckoned(func(_ *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		return append(dst, lookup(func(i int) uint8 {
			if float64(i) < v[0] {
				return uint8(i)
			}
			return uint8(255 - i)
		})), in, nil
	}, t.Threshold)
}

func compilePosterizeTo(t plan.PosterizeTo) (transform, error) {
	return compileReckoned(func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		if v[0] < 1 || v[0] > 8 {
			f.fail(fmt.Sprintf("%v bits of 8", v[0]))
			return dst, in, nil
		}
		mask := uint8(0xff) << (8 - int(v[0]))
		return append(dst, lookup(func(i int) uint8 { return uint8(i) & mask })), in, nil
	}, t.Bits)
}

func compileMultiplyAddTo(t plan.MultiplyAddTo) (transform, error) {
	return compileReckoned(func(_ *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		factor, offset := float32(v[0]), float32(v[1])
		return append(dst, lookup(func(i int) uint8 {
			product := float32(float32(i) * factor) // rounded by itself, as numpy does it
			return uint8(min(max(product+offset, 0), 255))
		})), in, nil
	}, t.Factor, t.Offset)
}

// hues is OpenCV's range of H.
const hues = 180

func compileShiftHSVTo(t plan.ShiftHSVTo) (transform, error) {
	return compileReckoned(func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		if v[0] == 0 && v[1] == 0 && v[2] == 0 {
			return dst, in, nil
		}
		var table [3 * 256]byte
		for i := range 256 {
			table[i] = uint8(i)
			if v[0] != 0 {
				_, rest := floatDivide(f, float64(i)+v[0], hues)
				table[i] = uint8(rest)
			}
			for c := 1; c < 3; c++ {
				table[256*c+i] = uint8(min(max(float64(i)+math.Trunc(v[c]), 0), 255))
			}
		}
		table[256] = 0 // what is grey stays grey
		return append(dst, recipe.Step{Kind: recipe.OpenCVToHSV}, recipe.Step{Kind: recipe.Lookup, Table: &table},
			recipe.Step{Kind: recipe.OpenCVFromHSV}), in, nil
	}, t.Hue, t.Saturation, t.Value)
}

// lookup is the step that does the same in each channel.
func lookup(of func(i int) uint8) recipe.Step {
	var table [3 * 256]byte
	for i := range table {
		table[i] = of(i % 256)
	}
	return recipe.Step{Kind: recipe.Lookup, Table: &table}
}

type lookupTo struct{ table []number }

func compileLookupTo(t plan.LookupTo) (transform, error) {
	numbers, err := compileNumbers(compileInt, t.Table)
	return lookupTo{numbers}, err
}

func (t lookupTo) draw(dst []recipe.Step, in recipe.Size, r *Source) ([]recipe.Step, recipe.Size, error) {
	if r.frame == nil {
		return dst, in, fmt.Errorf("numbers of a script where there is none")
	}
	var table [3 * 256]byte
	for i := range table {
		if i >= len(t.table) {
			table[i] = table[i-len(t.table)]
			continue
		}
		v := int64(t.table[i](r.frame))
		if v < 0 || v > 255 {
			r.frame.fail(fmt.Sprintf("a table that has %d", v))
		}
		table[i] = uint8(v)
	}
	if r.frame.failed != "" {
		return dst, in, nil
	}
	return append(dst, recipe.Step{Kind: recipe.Lookup, Table: &table}), in, nil
}

func (t lookupTo) random() bool  { return false }
func (t lookupTo) stepsMax() int { return 1 }

// gaussianBoxes are the boxes that make an ImageFilter.GaussianBlur (src/libImaging/BoxBlur.c in Pillow).
const gaussianBoxes = 3

func compileGaussianBlur(t plan.GaussianBlur) (transform, error) {
	return compileReckoned(func(f *Frame, v []float64, dst []recipe.Step, in recipe.Size) ([]recipe.Step, recipe.Size, error) {
		box, known := boxOf(v[0])
		switch {
		case !known:
			f.fail("a blur whose radius is not known")
		case box > 0:
			dst = append(dst, recipe.Step{Kind: recipe.BoxBlur, Radius: [2]float32{box, box}, Times: gaussianBoxes})
		}
		return dst, in, nil
	}, t.Radius)
}

// boxOf is the radius of Pillow's boxes, in its float32; not known where its compiler decides. The conversions keep Go
// from fusing.
func boxOf(sigma float64) (radius float32, known bool) {
	if !(math.Abs(sigma) < recipe.RadiusMax) {
		return 0, false
	}
	s := float32(sigma)
	variance := float32(s*s) / gaussianBoxes
	root := float32(math.Sqrt(float64(12*float64(variance)) + 1))
	whole := float32(math.Floor((float64(root) - 1) / 2))
	nextSquare := float32((whole + 1) * (whole + 1))
	rest := float32(whole*(whole+1)) - float32(3*variance)
	fused := float32(float64(float64(whole)*(float64(whole)+1)) - float64(3*float64(variance)))
	if rest != fused && runtime.GOARCH != "amd64" {
		return 0, false
	}
	radius = whole + float32(float32(float32(2*whole)+1)*rest)/float32(6*float32(variance-nextSquare))
	return radius, radius >= 0
}
