package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// A script (core/draw) makes samples of several images. Which files a sample opens may be drawn as well: that is done as its
// batch is submitted (openFiles), by the caller's goroutine, from generators that nothing later of the script draws from. All
// else is drawn by workers, perhaps at the same time, when the sizes of the files' images are known.

// noSample is a sample of which the caller's own code alone knows what becomes of it.
const noSample = -1

// sinceMax is how many words a user's own code may draw for a batch for its place in the stream to be known.
const sinceMax = 1 << 22

// openScripted finishes Open.
func (l *Loader) openScripted(from source.Files) (_ *Loader, err error) {
	defer func() {
		if err != nil {
			l.free()
		}
	}()
	first := l.plan.Parts[0].Script
	l.kind = &scripted{images{l, from}}
	l.output, l.views, l.labels, l.random = nil, len(first.Gives), false, true
	for _, g := range first.Gives {
		l.output = append(l.output, g.Output)
	}
	files, end := int64(0), int64(0)
	for i, p := range l.plan.Parts {
		of := scriptPart{plan: p.Script, begin: end}
		if of.Script, err = draw.CompileScript(p.Script, p.Image, l.plan.RNG); err != nil {
			return nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		for _, n := range p.Script.Files {
			of.lists = append(of.lists, files)
			files += n
		}
		end += p.Count
		made := part{end: end, image: p.Image, random: true}
		for k, g := range p.Script.Gives {
			store, err := op.NewStore(g.Channels, g.DType.Size(), g.Table)
			if err != nil {
				return nil, fmt.Errorf("parts[%d].gives[%d]: %w", i, k, err)
			}
			made.views = append(made.views, view{store: store, mode: modes[p.Script.Opens[g.File].Mode], looks: newLooks(g)})
		}
		l.parts = append(l.parts, made)
		l.addScript(of)
	}
	for k, first := range l.drawsFirst {
		if first && l.drawsThen[k] {
			return nil, fmt.Errorf("generator %d is drawn from both before files are known and after", k)
		}
	}
	if l.views > 1 {
		l.asIs = make(map[int]*op.Store)
		for _, planes := range []int{1, 3} {
			if l.asIs[planes], err = storeAsIs(planes); err != nil {
				return nil, err
			}
		}
	}
	if files != int64(from.Len()) {
		return nil, fmt.Errorf("the plan's lists have %d files, the source %d", files, from.Len())
	}
	return l, l.openSeek(from.Len(), from.Name)
}

// scriptPart is a script that makes samples of a part.
type scriptPart struct {
	*draw.Script
	plan  *plan.Script
	begin int64   // its first sample
	lists []int64 // the number of each list's first file
}

func (l *Loader) addScript(of scriptPart) {
	l.scripts = append(l.scripts, of)
	l.seeds = l.seeds || of.plan.Seeds()
	l.numbersEach = max(l.numbersEach, len(of.NewFrame().Numbers))
	for k, first := range of.DrawsFirst() {
		l.drawsFirst[k] = l.drawsFirst[k] || first
	}
	for k, then := range of.DrawsLater() {
		l.drawsThen[k] = l.drawsThen[k] || then
	}
}

// scriptOf is the number of the part that a sample is of.
func (l *Loader) scriptOf(index int64) int {
	return sort.Search(len(l.scripts)-1, func(k int) bool { return index < l.scripts[k+1].begin })
}

// scripted is the kind of work of samples that a script makes of files.
type scripted struct{ images }

func (k *scripted) len() int { return int(k.l.parts[len(k.l.parts)-1].end) }

// check also lets noSample pass.
func (k *scripted) check(indices []int64) error { return within(indices, noSample, k.len()) }

func (k *scripted) setUp(r *Run, b *batch, indices []int64, span int) {
	b.indices = append(b.indices, indices...)
	b.scripted, b.apart = true, k.l.plan.Parts[0].Script.Apart
	b.cut(len(indices)*k.l.views, span*k.l.views)
	r.openFiles(b)
}

func (k *scripted) shares(b *batch, i int) bool { return b.samples[i].index == b.samples[i-1].index }

// columnSpecs are the fields of n samples that have numbers of a script.
func (l *Loader) columnSpecs(n int) (specs []tensor.Spec) {
	if len(l.scripts) == 0 {
		return nil
	}
	s := l.plan.Parts[0].Script
	for _, register := range s.Columns {
		specs = append(specs, tensor.Spec{DType: s.Numbers[register].Spec().DType, Shape: tensor.Shape{n}})
	}
	return specs
}

// scene is room for a script's draws.
type scene struct {
	frames []*draw.Frame // of each part
	sizes  []recipe.Size // of the files that a sample opens
	rows   []int64       // the same
}

func (l *Loader) newScene() *scene {
	made, rows := &scene{}, 0
	for _, s := range l.scripts {
		made.frames, rows = append(made.frames, s.NewFrame()), max(rows, s.Rows())
	}
	made.sizes, made.rows = make([]recipe.Size, rows), make([]int64, rows)
	return made
}

// drawsLater are the generators that are drawn from when the sizes of images are known.
func (l *Loader) drawsLater() (later which) {
	for k, first := range l.drawsFirst {
		later[k] = !first
	}
	return later
}

// seedsLater are those of them that are seeded for a sample that has generators of its own.
func (l *Loader) seedsLater() which {
	if len(l.scripts) == 0 {
		return which{true}
	}
	return l.drawsThen
}

// openFiles finds out which files the samples of a batch that was set up open, without the lock: nobody else knows of the
// batch yet. If the script cannot say, all of the batch is left to the user's own code.
func (r *Run) openFiles(b *batch) {
	l, st := r.loader, b.stream
	r.mu.Unlock()
	defer r.mu.Lock()
	b.picked = append(b.picked, make([]int64, len(l.scripts[0].plan.Rows)*len(b.indices))...)
	st.save(&b.began, l.drawsFirst)
	for n, index := range b.indices {
		part := l.scriptOf(index)
		script, frame := &l.scripts[part], r.scene.frames[part]
		opens, rows := script.plan, r.scene.rows[:script.Rows()]
		if b.seeds != nil {
			st.seed(b.seeds[n], script.DrawsFirst())
		}
		err := guard(func() error {
			if index == noSample {
				return &draw.Refused{Op: "script", Text: "there is no such sample"}
			}
			return script.First(frame, index-script.begin, st.source(&l.exps), rows)
		})
		for k, open := range opens.Opens {
			if err == nil && (rows[k] < 0 || rows[k] >= opens.Files[open.List]) {
				err = &draw.Refused{Op: "script", Text: fmt.Sprintf("row %d of %d files", rows[k], opens.Files[open.List])}
			}
		}
		if err != nil {
			r.leaveFiles(b, n, err)
			return
		}
		b.numbers = append(b.numbers, frame.Numbers...)
		b.numbers = append(b.numbers, make([]uint64, l.numbersEach-len(frame.Numbers))...)
		for field := range opens.Rows {
			b.picked[field*len(b.indices)+n] = rows[field]
		}
		for v, give := range opens.Gives {
			file, view := give.File, l.parts[part].views[v]
			open := opens.Opens[file]
			made := sample{
				index: script.lists[open.List] + rows[file], part: int32(part), view: int32(v), mode: view.mode, reader: open.Reader,
			}
			if open.Plain {
				made.plain = open.Mode
			}
			b.samples = append(b.samples, made)
		}
	}
	st.note(&b.first, l.drawsFirst)
}

// leaveFiles gives a batch up of which sample n has no files.
func (r *Run) leaveFiles(b *batch, n int, err error) {
	var no *draw.Refused
	if !errors.As(err, &no) {
		b.err, b.lost = fmt.Errorf("sample %d: %w", b.indices[n], err), true
	}
	b.samples = b.samples[:0]
	for range len(b.indices) * r.loader.views {
		b.samples = append(b.samples, sample{state: unsized})
	}
	for i := range b.spans {
		b.spans[i].phase, b.spans[i].next = ready, b.spans[i].hi
	}
	b.unread, b.unopened = 0, true
	b.stall = b.doubt(AskBatch, n*r.loader.views, detour{stats.Untransformed, err.Error()})
}

// drawScript draws for the sample at a place, and appends its recipes and its numbers to what is made. The room is the
// stream's, which one goroutine at a time draws from.
func (l *Loader) drawScript(b *batch, place int, made *draws) error {
	n, scene, part := place/l.views, b.stream.scene, b.samples[place].part
	script, frame := &l.scripts[part], scene.frames[part]
	sizes := scene.sizes[:script.Rows()]
	for v, g := range script.plan.Gives {
		sizes[g.File] = b.samples[place+v].size
	}
	numbers := b.numbers[n*l.numbersEach:][:len(frame.Numbers)]
	if err := script.Draw(frame, b.indices[n]-script.begin, numbers, sizes, b.stream.source(&l.exps)); err != nil {
		return err
	}
	for v, g := range script.plan.Gives {
		image, file := script.Given(frame, v)
		if file != g.File {
			return fmt.Errorf("image %d of a sample comes of file %d, not %d", v, file, g.File)
		}
		first := len(made.steps)
		made.steps = append(made.steps, image.Steps...)
		s := &b.samples[place+v]
		s.steps, s.out = [2]int32{int32(first), int32(len(made.steps))}, image.Size
	}
	for _, register := range script.plan.Columns {
		made.numbers = append(made.numbers, frame.Numbers[register])
	}
	return nil
}

// drawnFor is what a batch's generators have drawn behind it: of those that say which files are opened, for it, not for later
// batches.
func (b *batch) drawnFor(l *Loader) positions {
	now := b.first
	b.stream.note(&now, l.drawsLater())
	return now
}

// putNumbers writes the numbers of sample n into the slot.
func (l *Loader) putNumbers(b *batch, n int, numbers []uint64) {
	for c, number := range numbers {
		*(*uint64)(unsafe.Add(b.slot.Data(), b.fields[l.views+c].Offset+8*n)) = number
	}
}

// layApart gives a batch its slot whose images may differ in size, once all of them are drawn for, and writes the sizes.
func (r *Run) layApart(b *batch) {
	l := r.loader
	var specs, sizes []tensor.Spec
	n := len(b.samples) / l.views
	for v, o := range l.output {
		items := 0
		for i := v; i < len(b.samples); i += l.views {
			s := &b.samples[i]
			s.at = items * o.DType.Size()
			items += l.imageBytes(s) / o.DType.Size()
		}
		specs = append(specs, tensor.Spec{DType: o.DType, Shape: tensor.Shape{items}})
		sizes = append(sizes, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{n, 2}})
	}
	specs = append(specs, l.columnSpecs(n)...)
	b.fields, b.bytes = place(append(specs, sizes...)...)
	if err := b.reserve(l, b.bytes); err != nil {
		b.lost, b.undone, b.err = true, 0, err
		return
	}
	for i := range b.samples {
		s := &b.samples[i]
		s.at += b.fields[s.view].Offset
		size := unsafe.Add(b.slot.Data(), b.fields[len(specs)+int(s.view)].Offset+16*(i/l.views))
		*(*[2]int64)(size) = [2]int64{int64(s.out.Height), int64(s.out.Width)}
	}
}

func (k *scripted) fields(b *batch) ([]Field, int) {
	if b.apart {
		return b.fields, b.bytes
	}
	return k.images.fields(b)
}

// generatorsEach is how many a script's stream has: torch's, Python's, numpy's, and those of the user's objects.
func (l *Loader) generatorsEach() int { return 3 + l.plan.Parts[0].Script.Generators }

// StatesBytes is the size of the states of a script's stream: of each generator, as torch.get_rng_state() gives them.
func (l *Loader) StatesBytes() int { return l.generatorsEach() * rng.TorchStateBytes }

func (g *generators) each() []*rng.MT19937 {
	all := []*rng.MT19937{&g.mt}
	for k := range g.others {
		all = append(all, &g.others[k])
	}
	return all
}

// store writes their states, as load takes them.
func (g *generators) store(states []byte) error {
	for k, each := range g.each() {
		if err := each.StoreTorch(states[k*rng.TorchStateBytes : (k+1)*rng.TorchStateBytes]); err != nil {
			return err
		}
	}
	return nil
}

func (g *generators) load(states []byte) error {
	all := g.each()
	if want := len(all) * rng.TorchStateBytes; len(states) != want {
		return fmt.Errorf("%d bytes of states, want %d", len(states), want)
	}
	for k, each := range all {
		if err := each.LoadTorch(states[k*rng.TorchStateBytes : (k+1)*rng.TorchStateBytes]); err != nil {
			return fmt.Errorf("generator %d: %w", k, err)
		}
	}
	return nil
}

// LoadStates puts generators' states into a stream, whose positions are counted from there on. No batch may be outstanding.
func (r *Run) LoadStates(stream int, states []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case len(r.loader.scripts) == 0 || len(r.batches) > 0:
		return fmt.Errorf("states of generators: %w", ErrState)
	case stream < 0 || stream >= len(r.streams):
		return fmt.Errorf("stream %d of %d", stream, len(r.streams))
	}
	st := &r.streams[stream]
	if err := st.generators.load(states); err != nil {
		return err
	}
	st.note(&st.yielded, allGenerators)
	return nil
}

// AskedStates writes the states in which the generators stood as the batch began that may be skipped (Skip).
func (r *Run) AskedStates(states []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.askedToSkip()
	if err != nil {
		return err
	}
	if want := r.loader.StatesBytes(); len(states) != want {
		return fmt.Errorf("room for %d bytes of states, want %d", len(states), want)
	}
	return b.began.store(states)
}

// askedToSkip is the batch that may be skipped now, of which it is known where its draws begin.
func (r *Run) askedToSkip() (*batch, error) {
	b, err := r.asked(AskBatch, AskPixels, AskSample, AskLate)
	if err == nil && !b.scripted {
		err = fmt.Errorf("a batch that no script makes: %w", ErrState)
	}
	if err == nil && b.drawn == 0 { // nobody draws from the stream: this batch has its turn, and is stalled
		b.stream.save(&b.began, r.loader.drawsLater())
	}
	return b, err
}

// Skip answers AskBatch, and all other questions about a script's batch but AskExp: the caller has made the batch, or it is lost
// to an error, and its generators stand in these states. It says how many of the batch's reads did not come back and were left, as Reset does.
func (r *Run) Skip(states []byte) (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.askedToSkip()
	if err != nil {
		return 0, err
	}
	var now generators
	b.began.save(&now, allGenerators)
	if err := now.load(states); err != nil {
		return 0, err
	}
	st, later := b.stream, r.behind(b)
	r.hold(append(later, b))
	if r.loader.seeds {
		b.after = positions{states: &now}
	} else {
		now.count(&b.began, &b.after)
	}
	b.drew = true
	now.save(&st.generators, allGenerators)
	r.needExp(st, false)
	for _, other := range later {
		left += r.beginAnew(other)
	}
	r.release(r.behind(b))
	left += r.settle([]*batch{b})
	r.loader.Stats.Detours[b.ask.Detour].Add(1)
	r.pop()
	r.advance(st)
	r.announce()
	return left, nil
}

// count notes how many words each was drawn since others stood in its place, and makes it the twin of that which counts them.
func (g *generators) count(began *generators, to *positions) {
	from := began.each()
	for k, each := range g.each() {
		before := *from[k]
		if drawn := each.Since(before, sinceMax); drawn < 0 {
			to.drawn[k] = -1 // from here on nobody knows
		} else {
			before.Discard(drawn)
			if k == 0 {
				before.TakeNormal(each)
				to.drawn[k] = before.Drawn()
			} else {
				before.TakeSpare(each, from[k], drawn, gaussOf(k-1))
				to.drawn[k] = before.Place()
			}
			*each = before
		}
	}
}

// beginAnew lets a batch be done over, files included where these are drawn. Nobody may have it in hand to make it.
func (r *Run) beginAnew(b *batch) (left int) {
	if r.loader.drawsFirst == (which{}) {
		b.restart()
		return 0
	}
	left = r.settle([]*batch{b})
	b.dropSlot()
	other := r.take()
	other.begin(r.loader, b.sequence, b.stream)
	other.seeds = b.seeds
	r.loader.kind.setUp(r, other, b.indices, r.spanLength(len(b.indices)))
	other.held = true
	other.lent, b.lent = b.lent, other.lent
	if err := r.loader.kind.enter(r, other); err != nil {
		r.lose(other, err)
	}
	for i := range r.batches {
		if r.batches[i] == b {
			r.batches[i] = other
		}
	}
	r.discard(b)
	return left
}

// read takes what was read for the image before, if that is of the same file.
func (k *scripted) read(ctx context.Context, w *worker, t *reading, i int) {
	s := &t.batch.samples[i]
	if i == t.lo || !k.shares(t.batch, i) || t.batch.samples[i-1].pixels.Valid() {
		k.readFile(ctx, w, t, s)
		return
	}
	before := &t.batch.samples[i-1]
	if before.state == unsized {
		s.state, s.why = unsized, before.why
		return
	}
	s.buffer, s.from, s.to, s.stamp, s.file, s.indexed = before.buffer, before.from, before.to, before.stamp, before.file, before.indexed
	k.size(s)
}
