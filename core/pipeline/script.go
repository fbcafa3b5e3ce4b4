package pipeline

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/stats"
)

// A script (core/draw) makes samples of several images. Which files a sample opens may be drawn as well: that is done as its
// batch is submitted (openFiles), from generators that nothing later of the script draws from. All else is drawn when the
// sizes of the files' images are known.

// noSample is a sample of which the caller's own code alone knows what becomes of it.
const noSample = -1

// sinceMax is how many words a user's own code may draw for a batch for its place in the stream to be known.
const sinceMax = 1 << 22

// openScripted finishes Open.
func (l *Loader) openScripted() (_ *Loader, err error) {
	defer func() {
		if err != nil {
			l.free()
		}
	}()
	p := l.plan.Parts[0]
	s := p.Script
	l.output, l.views, l.labels = nil, len(s.Gives), false
	made := part{end: p.Count, image: p.Image, random: true}
	for i, g := range s.Gives {
		store, err := op.NewStore(g.Channels, g.DType.Size(), g.Table)
		if err != nil {
			return nil, fmt.Errorf("gives[%d]: %w", i, err)
		}
		l.output = append(l.output, g.Output)
		made.views = append(made.views, view{store: store, mode: modes[s.Opens[g.File].Mode]})
	}
	l.parts, l.random = []part{made}, true
	if l.script, err = draw.CompileScript(s, p.Image, l.plan.RNG); err != nil {
		return nil, err
	}
	files := int64(0)
	for _, n := range s.Files {
		l.lists = append(l.lists, files)
		files += n
	}
	if files != int64(l.files.Len()) {
		return nil, fmt.Errorf("the plan's lists have %d files, the source %d", files, l.files.Len())
	}
	return l, l.openSeek(l.files.Len())
}

// columns are the types of the numbers that a script's samples have.
func (l *Loader) columns() []plan.Type {
	if l.script == nil {
		return nil
	}
	s := l.plan.Parts[0].Script
	var types []plan.Type
	for _, register := range s.Columns {
		types = append(types, s.Numbers[register])
	}
	return types
}

// openFiles finds out which files the samples of a batch that was set up open. If the script cannot say, all of the batch is
// left to the user's own code.
func (r *Run) openFiles(b *batch) {
	l, st := r.loader, b.stream
	opens, numbers := l.plan.Parts[0].Script, len(r.frame.Numbers)
	st.save(&b.began)
	rows := make([]int64, len(opens.Opens))
	for n, index := range b.indices {
		err := guard(func() error {
			if index == noSample {
				return &draw.Refused{Op: "script", Text: "there is no such sample"}
			}
			return l.script.First(r.frame, index, st.source(&l.exps), rows)
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
		b.numbers = append(b.numbers, r.frame.Numbers[:numbers]...)
		for v, view := range l.parts[0].views {
			file := opens.Gives[v].File
			open := opens.Opens[file]
			made := sample{index: l.lists[open.List] + rows[file], view: int32(v), mode: view.mode}
			if open.Plain {
				made.plain = open.Mode
			}
			b.samples = append(b.samples, made)
		}
	}
	b.first = st.drawn()
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

// beginDraws takes note of where a batch's draws begin, but for those that were made for its files.
func (r *Run) beginDraws(b *batch) {
	if r.loader.script == nil {
		b.stream.save(&b.began)
		return
	}
	r.copyLater(&b.began, &b.stream.generators)
}

// goBack puts a batch's stream to where its draws began, but for those that were made for its files.
func (r *Run) goBack(b *batch) {
	if r.loader.script == nil {
		b.began.save(&b.stream.generators)
		return
	}
	r.copyLater(&b.stream.generators, &b.began)
}

// copyLater copies the generators that are drawn from when files are known.
func (r *Run) copyLater(to, from *generators) {
	first := r.loader.script.DrawsFirst()
	if !first[0] {
		to.mt = from.mt
	}
	for k := range to.others {
		if !first[1+k] {
			to.others[k] = from.others[k]
		}
	}
}

// drawScript writes the recipes of the sample whose turn it is.
func (r *Run) drawScript(b *batch) error {
	l, n := r.loader, b.drawn/r.loader.views
	s := l.plan.Parts[0].Script
	for v, g := range s.Gives {
		r.sizes[g.File] = b.samples[b.drawn+v].size
	}
	count := len(r.frame.Numbers)
	numbers := b.numbers[n*count : (n+1)*count]
	if err := l.script.Draw(r.frame, b.indices[n], numbers, r.sizes, b.stream.source(&l.exps)); err != nil {
		return err
	}
	for v, g := range s.Gives {
		image, file := l.script.Given(r.frame, v)
		if file != g.File {
			return fmt.Errorf("image %d of a sample comes of file %d, not %d", v, file, g.File)
		}
		first := len(b.steps)
		b.steps = append(b.steps, image.Steps...)
		made := &b.samples[b.drawn+v]
		made.steps, made.out = [2]int32{int32(first), int32(len(b.steps))}, image.Size
	}
	return nil
}

// drawnFor is what a batch's generators had drawn behind it: those of later batches' files do not count.
func (r *Run) drawnFor(b *batch) positions {
	now := b.stream.drawn()
	if r.loader.script != nil {
		for k, first := range r.loader.script.DrawsFirst() {
			if first {
				now[k] = b.first[k]
			}
		}
	}
	return now
}

// putNumbers writes the numbers of the sample that was drawn for into the slot.
func (r *Run) putNumbers(b *batch) {
	l, n := r.loader, b.drawn/r.loader.views
	for c, register := range l.plan.Parts[0].Script.Columns {
		*(*uint64)(unsafe.Add(b.slot.Data(), b.fields[l.views+c].Offset+8*n)) = r.frame.Numbers[register]
	}
}

// shares says whether an image is of the same file as the one before it.
func (b *batch) shares(i int) bool {
	if b.recipes != nil {
		return b.recipes.shares(i)
	}
	return b.scripted && b.samples[i].index == b.samples[i-1].index
}

// StatesBytes is the size of a stream's states: of torch's, Python's and numpy's generator, each as torch.get_rng_state()
// gives them.
const StatesBytes = 3 * rng.TorchStateBytes

func (g *generators) each() [3]*rng.MT19937 {
	return [3]*rng.MT19937{&g.mt, &g.others[0], &g.others[1]}
}

func (g *generators) load(states []byte) error {
	if len(states) != StatesBytes {
		return fmt.Errorf("%d bytes of states, want %d", len(states), StatesBytes)
	}
	for k, each := range g.each() {
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
	case r.loader.script == nil || len(r.batches) > 0:
		return fmt.Errorf("states of generators: %w", ErrState)
	case stream < 0 || stream >= len(r.streams):
		return fmt.Errorf("stream %d of %d", stream, len(r.streams))
	}
	st := &r.streams[stream]
	st.yielded = positions{}
	return st.generators.load(states)
}

// AskedStates writes the states in which the generators stood as the batch began that may be skipped (Skip).
func (r *Run) AskedStates(states []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.askedToSkip()
	if err != nil {
		return err
	}
	if len(states) != StatesBytes {
		return fmt.Errorf("room for %d bytes of states, want %d", len(states), StatesBytes)
	}
	for k, each := range b.began.each() {
		if err := each.StoreTorch(states[k*rng.TorchStateBytes : (k+1)*rng.TorchStateBytes]); err != nil {
			return err
		}
	}
	return nil
}

// askedToSkip is the batch that may be skipped now, of which it is known where its draws begin.
func (r *Run) askedToSkip() (*batch, error) {
	b, err := r.asked(AskBatch, AskPixels)
	if err == nil && !b.scripted {
		err = fmt.Errorf("a batch that no script makes: %w", ErrState)
	}
	if err == nil && b.drawn == 0 {
		r.beginDraws(b)
	}
	return b, err
}

// Skip answers AskBatch, or AskPixels of a script's batch: the caller has made the batch, or it is lost to an error, and its generators stand in these states.
// It says how many of the batch's reads did not come back and were left, as Reset does.
func (r *Run) Skip(states []byte) (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.askedToSkip()
	if err != nil {
		return 0, err
	}
	var now generators
	b.began.save(&now)
	if err := now.load(states); err != nil {
		return 0, err
	}
	st, later := b.stream, r.behind(b)
	r.hold(later)
	began := b.began.each()
	for k, each := range now.each() {
		before := *began[k]
		if drawn := each.Since(before, sinceMax); drawn < 0 {
			b.after[k] = -1 // from here on nobody knows
		} else {
			before.Discard(drawn)
			b.after[k] = before.Drawn()
			*each = before
		}
	}
	b.drew = true
	now.save(&st.generators)
	st.needsExp = false
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

// beginAnew lets a batch be done over, files included where these are drawn. Nobody may have it in hand to make it.
func (r *Run) beginAnew(b *batch) (left int) {
	if r.loader.script.DrawsFirst() == [3]bool{} {
		b.restart()
		return 0
	}
	left = r.settle([]*batch{b})
	b.dropSlot()
	other := r.take()
	other.setUp(r.loader, b.sequence, b.stream, b.indices, r.spanLength(len(b.indices)))
	r.openFiles(other)
	other.held = true
	other.lent, b.lent = b.lent, other.lent
	for i := range r.batches {
		if r.batches[i] == b {
			r.batches[i] = other
		}
	}
	r.discard(b)
	return left
}
