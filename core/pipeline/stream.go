package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/stats"
)

// stream is the random generator of one of torch's would-be workers. Its batches are drawn one after the other, sample
// by sample, in torch's order, as soon as the sizes of their images are known; nothing else about a sample has to wait
// for another. Different streams are drawn from at the same time.
type stream struct {
	generators
	undo     generators  // before the sample that was drawn last
	before   rng.MT19937 // torch's, before the image that was drawn last, where its target draws the same numbers
	due      bool        // it is in Run.due
	drawing  bool        // somebody draws from it
	yielded  positions   // words drawn by the batches that Next has handed out or reported lost
	needsExp bool        // the next draw cannot go on before torch has said what exp(exp) is
	exp      float32
	scene    *scene // a script's; nil where there is none
}

// generators are a worker's. Those beside torch's are drawn from by scripts alone.
type generators struct {
	mt     rng.MT19937
	others []rng.MT19937 // Python's, numpy's, and those of the user's objects; nil where nothing draws from them
	seeded bool          // a script seeds them
}

// numpys is the place of numpy's generator among the others.
const numpys = 1

// gaussOf is how one of the others draws normal deviates.
func gaussOf(k int) func(m *rng.MT19937) float64 {
	if k == numpys {
		return (*rng.MT19937).NumPyGauss
	}
	return (*rng.MT19937).Gauss
}

// which are some of a worker's generators.
type which = draw.Drawn

var allGenerators = func() (all which) {
	for k := range all {
		all[k] = true
	}
	return all
}()

// save writes some generators' states to another one's place.
func (g *generators) save(to *generators, some which) {
	if some[0] {
		to.mt = g.mt
	}
	if g.others == nil {
		return
	}
	if to.others == nil {
		to.others = make([]rng.MT19937, len(g.others))
	}
	for k := range g.others {
		if some[1+k] {
			to.others[k] = g.others[k]
		}
	}
}

// seed starts some of a process's generators over, for a sample that has generators of its own.
func (g *generators) seed(seed uint64, some which) {
	if some[0] {
		g.mt.Seed(seed)
	}
	if some[1] {
		g.others[0].SeedPython(seed)
	}
	if some[1+numpys] {
		g.others[numpys].Seed(uint64(uint32(seed)))
	}
}

// positions is where a worker's generators stand.
type positions struct {
	drawn  [len(which{})]int64 // words that were drawn from each, in its Drawn's count; of those beside torch's their Place
	states *generators         // in place of these, where a script seeds; nobody changes them
}

// note takes note of some generators' positions.
func (g *generators) note(to *positions, some which) {
	if g.seeded {
		states := generators{}
		if to.states != nil {
			to.states.save(&states, allGenerators)
		}
		g.save(&states, some)
		to.states = &states
		return
	}
	if some[0] {
		to.drawn[0] = g.mt.Drawn()
	}
	for k := range g.others {
		if some[1+k] {
			to.drawn[1+k] = g.others[k].Place()
		}
	}
}

// source is where draws come from.
func (g *generators) source(exps *draw.Answers) draw.Source {
	from := draw.Source{MT: &g.mt, Exp: exps}
	if g.others != nil {
		from.Python, from.NumPy, from.Own = &g.others[0], &g.others[numpys], g.others[2:]
	}
	return from
}

// advance has all draws of a stream made that can be made: a worker makes them (drawDue).
func (r *Run) advance(st *stream) {
	r.putOnDue(st)
	r.wake()
}

// putOnDue is advance for a goroutine that calls drawDue itself before it waits for anything.
func (r *Run) putOnDue(st *stream) {
	if !st.due {
		st.due = true
		r.due = append(r.due, st)
	}
}

// drawDue makes the draws that are due, and lets everybody look whether there is something to do. It gives the lock back while
// it draws (drawSamples), so that its caller has to look at everything anew, also whether the run is closed: it reports whether it
// may have done so.
func (r *Run) drawDue() bool {
	if len(r.due) == 0 {
		return false
	}
	for len(r.due) > 0 {
		st := r.due[0]
		r.due = append(r.due[:0], r.due[1:]...)
		st.due = false
		if st.drawing {
			continue // whoever draws from it looks again before it stops
		}
		st.drawing = true
		for r.drawNext(st) {
			r.wake()
		}
		st.drawing = false
	}
	r.announce() // a stall, or a question about torch's exp
	r.wake()
	return true
}

// drawNext draws for the next samples of a stream, at most for a span's, and reports whether it got any further.
func (r *Run) drawNext(st *stream) bool {
	for b := r.pending.first; b != nil; b = b.later {
		if b.stream == st && !b.lost && b.drawn < len(b.samples) {
			return r.drawSpan(b)
		}
	}
	return false
}

// drawSpan is drawNext where it is known which batch has its turn.
func (r *Run) drawSpan(b *batch) bool {
	if b.stall.Kind != 0 || b.held || b.stream.needsExp {
		return false
	}
	if b.drawn == 0 {
		if r.followsEach && b.sequence >= r.followed+int64(len(r.streams)) {
			return false
		}
		b.stream.save(&b.began, r.loader.drawsLater())
	}
	hi := r.drawable(b)
	if hi == b.drawn {
		return false
	}
	b.running++ // nobody takes the batch away, or what it has drawn back
	made, err := r.drawSamples(b, hi)
	b.running--
	if made.count > 0 && !b.lost {
		b.steps = made.steps
		each := len(made.numbers) / made.count
		for k := range made.count {
			r.drewSample(b, made.numbers[k*each:(k+1)*each])
		}
		if !b.lost {
			b.after, b.drew = made.after, true
		}
	}
	if err != nil && !b.lost {
		r.stopDraws(b, err)
	}
	r.putDown(b)
	return err == nil || b.lost
}

// together is how many images are drawn for in one go: they belong to one sample.
func (l *Loader) together() int {
	if len(l.scripts) > 0 {
		return l.views
	}
	return 1
}

// drawable says up to which image a batch can be drawn for now, of the span that has its turn. If that is none, it says why where
// only Python can help.
func (r *Run) drawable(b *batch) int {
	each, sp, hi := r.loader.together(), b.spanOf(b.drawn), b.drawn
	if sp.phase == waiting {
		return hi
	}
	for ; hi < sp.hi; hi += each {
		for place := hi; place < hi+each; place++ {
			s := &b.samples[place]
			if s.state != unsized {
				continue
			}
			if hi > b.drawn { // those before it come first
				return hi
			}
			kind := AskPixels
			switch {
			case !s.byPixels():
				kind = AskBatch
			case s.odd:
				kind = AskSample
			}
			b.stall = b.doubt(kind, place, s.why)
			return hi
		}
		if !b.slot.Valid() && !b.apart && hi+each >= r.loader.views {
			return hi + each // the first sample decides on the slot
		}
	}
	return hi
}

// needExp takes note of whether a stream's next draw needs torch's exp.
func (r *Run) needExp(st *stream, needs bool) {
	if needs && !st.needsExp {
		r.exps++
	} else if !needs && st.needsExp {
		r.exps--
	}
	st.needsExp = needs
}

// draws are what was drawn for some samples.
type draws struct {
	count   int           // how often was drawn
	steps   []recipe.Step // of the batch, with theirs behind
	numbers []uint64      // a script's, of each sample
	after   positions
}

// drawSamples draws for a batch's images up to one, or to an error, without the lock.
func (r *Run) drawSamples(b *batch, hi int) (made draws, err error) {
	st, l := b.stream, r.loader
	made.steps = b.steps
	r.mu.Unlock()
	defer r.mu.Lock()
	err = guard(func() (err error) {
		for place := b.drawn; place < hi; place += l.together() {
			if s := &b.samples[place]; b.seeds != nil && s.view == 0 && l.parts[s.part].random {
				st.seed(b.seeds[place/l.views], l.seedsLater())
			}
			st.save(&st.undo, l.drawsLater())
			if len(l.scripts) > 0 {
				err = l.drawScript(b, place, &made)
			} else {
				made.steps, err = l.drawImage(b, place, made.steps)
			}
			if err != nil {
				return err
			}
			made.count, made.after = made.count+1, b.drawnFor(l)
		}
		return nil
	})
	return made, err
}

// drawImage draws for the image at a place, whose batch is drawn up to there, and appends its recipe to steps.
func (l *Loader) drawImage(b *batch, place int, steps []recipe.Step) ([]recipe.Step, error) {
	st, s := b.stream, &b.samples[place]
	part := &l.parts[s.part]
	from := st.source(&l.exps)
	switch {
	case !part.together():
	case s.view == 0:
		st.before = st.mt
	default:
		st.mt = st.before
		if image := b.samples[place-1].size; image != s.size {
			if err := part.views[0].program.Pairs(image, s.size, &from); err != nil {
				return steps, err
			}
			st.mt = st.before
		}
	}
	more, out, err := part.views[s.view].program.Draw(steps, s.size, &from)
	if err != nil {
		return steps, err
	}
	s.steps, s.out = [2]int32{int32(len(steps)), int32(len(more))}, out
	return more, nil
}

// drewSample takes note of the sample at a batch's turn, which is drawn for, and of a script's numbers.
func (r *Run) drewSample(b *batch, numbers []uint64) {
	each := r.loader.together()
	if b.apart {
		b.columns = append(b.columns, numbers...)
	}
	for place := b.drawn; place < b.drawn+each && !b.lost; place++ {
		r.placed(b, place)
	}
	if b.lost {
		return
	}
	switch {
	case b.slot.Valid() && b.apart:
		for n := range len(b.samples) / each {
			r.loader.putNumbers(b, n, b.columns[n*len(numbers):][:len(numbers)])
		}
	case b.slot.Valid():
		r.loader.putNumbers(b, b.drawn/each, numbers)
	}
	b.drawn += each
}

// stopDraws takes note of why the sample at a batch's turn could not be drawn for.
func (r *Run) stopDraws(b *batch, err error) {
	st, s := b.stream, &b.samples[b.drawn]
	undo := func() { st.undo.save(&st.generators, r.loader.drawsLater()) }
	ask := func(kind AskKind) { b.stall = b.doubt(kind, b.drawn, detour{stats.Untransformed, err.Error()}) }
	var need *draw.NeedExp
	var no *draw.Refused
	switch {
	case errors.As(err, &need):
		undo()
		r.needExp(st, true)
		st.exp = need.X
	case errors.As(err, &no) && len(r.loader.scripts) > 0:
		undo()
		ask(AskBatch)
	case errors.As(err, &no) && !s.pixels.Valid() && r.loader.image(s) == nil:
		// torchvision only sees an image that could be decoded, and of the size that Pillow gives it.
		undo()
		ask(AskPixels)
	case errors.As(err, &no):
		// The generator stays where the transform left it, as it does when torchvision raises.
		ask(AskSample)
	default:
		b.lost, b.undone, b.err = true, 0, fmt.Errorf("sample %d: %w", s.index, err)
	}
}

// placed takes note of the size of a finished image at a place; the first sample's decide on the slot.
func (r *Run) placed(b *batch, place int) {
	views, s := r.loader.views, &b.samples[place]
	if b.apart {
		if place == len(b.samples)-1 {
			r.layApart(b)
		}
		return
	}
	if place < views {
		b.out[s.view] = s.out
	}
	switch want := b.out[s.view]; {
	case place == views-1:
		var size int
		b.fields, size = r.loader.kind.fields(b)
		if err := b.reserve(r.loader, size); err != nil {
			b.lost, b.undone, b.err = true, 0, err
		} else {
			r.loader.kind.laid(b)
		}
	case s.out != want && b.uneven[s.view] == nil:
		c := r.loader.output[s.view].Channels
		b.uneven[s.view] = fmt.Errorf("%w, but got [%d, %d, %d] at entry 0 and [%d, %d, %d] at entry %d", ErrShape,
			c, want.Height, want.Width, c, s.out.Height, s.out.Width, place/views)
	}
}

// takeBack sets a batch's stream to where it stood after the batch's first n samples, and makes the stream's later
// batches start over, since they drew from what no longer holds. The batches must be held.
func (r *Run) takeBack(b *batch, n int) error {
	st := b.stream
	r.needExp(st, false)
	if !r.loader.random || b.seeds != nil {
		return nil
	}
	r.loader.Stats.Rewinds.Add(1)
	b.began.save(&st.generators, r.loader.drawsLater())
	b.steps = b.steps[:0]
	for i := range n {
		var err error
		if b.steps, err = r.loader.drawImage(b, i, b.steps); err != nil {
			return fmt.Errorf("drawing sample %d again: %w", b.samples[i].index, err)
		}
	}
	for _, later := range r.behind(b) {
		later.restart()
	}
	return nil
}

// behind lists a batch's successors in its stream.
func (r *Run) behind(b *batch) []*batch {
	var later []*batch
	for _, other := range r.batches[slices.Index(r.batches, b)+1:] {
		if other.stream == b.stream {
			later = append(later, other)
		}
	}
	return later
}

// Positions is how many numbers say where the run stands: one a stream, or one for each generator of each stream.
func (r *Run) Positions() int { return len(r.streams) * r.positionsEach() }

func (r *Run) positionsEach() int {
	switch {
	case len(r.loader.scripts) == 0:
		return 1
	case r.loader.seeds:
		return r.loader.StatesBytes() / 8
	default:
		return r.loader.generatorsEach()
	}
}

// Position writes how many words each stream has drawn for the batches that Next has handed out or reported lost: what is
// under way beyond them does not count. Resume goes on from there. Of a script's streams it writes a number for each
// generator, in the order of LoadStates; -1 where only the user's own code knows. Of a script that seeds it writes the states
// themselves, as LoadStates takes them; zeros before anything was drawn.
func (r *Run) Position(drawn []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(drawn) != r.Positions() {
		return fmt.Errorf("room for %d positions of streams, there are %d", len(drawn), r.Positions())
	}
	each := r.positionsEach()
	for i := range r.streams {
		yielded, to := &r.streams[i].yielded, drawn[i*each:(i+1)*each]
		switch {
		case !r.loader.seeds:
			copy(to, yielded.drawn[:])
		case yielded.states == nil:
			clear(to)
		default:
			if err := yielded.states.store(bytesOf(to)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytesOf are numbers as they lie in memory.
func bytesOf(numbers []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 8*len(numbers))
}

// Resume puts a run that was just started to where another one with its options stood: the next batch is number sequence,
// and its streams have drawn so many words, as Position wrote them: since they were seeded, or since LoadStates.
func (r *Run) Resume(sequence int64, drawn []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.sequence != 0:
		return fmt.Errorf("%d batches were submitted before: %w", r.sequence, ErrState)
	case sequence < 0:
		return fmt.Errorf("batch %d", sequence)
	case len(drawn) != r.Positions():
		return fmt.Errorf("%d positions of streams, there are %d", len(drawn), r.Positions())
	}
	each := r.positionsEach()
	if r.loader.seeds {
		return r.resumeStates(sequence, drawn, each)
	}
	for i, n := range drawn {
		if n < 0 {
			return fmt.Errorf("%d words drawn from stream %d", n, i/each)
		}
	}
	for w := range r.streams {
		st := &r.streams[w]
		if each == 1 {
			st.mt.Seed(r.options.seed(w))
			st.mt.Discard(drawn[w])
		} else {
			st.mt.Discard(drawn[w*each])
			for k := range st.others {
				if err := st.others[k].GoTo(drawn[w*each+1+k], gaussOf(k)); err != nil {
					return fmt.Errorf("stream %d: %w", w, err)
				}
			}
		}
		copy(st.yielded.drawn[:], drawn[w*each:(w+1)*each])
	}
	r.sequence = sequence
	return nil
}

// resumeStates is Resume where streams stand in states that were written.
func (r *Run) resumeStates(sequence int64, states []int64, each int) error {
	for w := range r.streams {
		st, from := &r.streams[w], states[w*each:(w+1)*each]
		if !slices.ContainsFunc(from, func(word int64) bool { return word != 0 }) {
			continue // nothing was drawn
		}
		if err := st.load(bytesOf(from)); err != nil {
			return fmt.Errorf("stream %d: %w", w, err)
		}
		st.note(&st.yielded, allGenerators)
	}
	r.sequence = sequence
	return nil
}

// Follow says that the caller has done its own part of all batches that Next gave, and in which state, in torch's form, it has
// left a stream's generator, whose position is counted from there on; nil if it has drawn nothing. Batches that have drawn
// begin anew. With each, from here on a batch draws only after this was said of the batch before it in its stream. Of a script,
// which has to be Followed, the state is that of all generators, as LoadStates takes it. It says how many of the batches' reads did
// not come back and were left, as Reset does.
func (r *Run) Follow(stream int, state []byte, each bool) (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, ErrClosed
	case len(r.loader.scripts) > 0 && !r.loader.seeds:
		return 0, fmt.Errorf("states between the batches of a script that is not followed: %w", ErrState)
	case stream < 0 || stream >= len(r.streams):
		return 0, fmt.Errorf("stream %d of %d", stream, len(r.streams))
	}
	if state != nil {
		st := &r.streams[stream]
		var now generators // no copy: those of the stream may just be drawn from
		if st.others != nil {
			now.others = make([]rng.MT19937, len(st.others))
		}
		if err := now.load(state); err != nil {
			return 0, err
		}
		later := r.of(st)
		r.hold(later)
		r.needExp(st, false)
		now.save(&st.generators, allGenerators)
		st.yielded = positions{}
		st.note(&st.yielded, allGenerators)
		for _, b := range later {
			if b.drawn > 0 {
				r.loader.Stats.Rewinds.Add(1)
			}
			left += r.beginAnew(b)
		}
		r.release(r.of(st))
	}
	r.followed, r.followsEach = r.sequence-int64(len(r.batches)), each
	for i := range r.streams {
		r.advance(&r.streams[i])
	}
	r.announce()
	return left, nil
}

// of lists the batches of a stream.
func (r *Run) of(st *stream) (all []*batch) {
	for _, b := range r.batches {
		if b.stream == st {
			all = append(all, b)
		}
	}
	return all
}

// LoadRNG puts torch's CPU generator state into stream 0, whose position is counted from there on. No batch may be
// outstanding.
func (r *Run) LoadRNG(state []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if len(r.batches) > 0 {
		return fmt.Errorf("%d batches are outstanding: %w", len(r.batches), ErrState)
	}
	if err := r.streams[0].mt.LoadTorch(state); err != nil {
		return err
	}
	r.streams[0].yielded = positions{}
	return nil
}
