package pipeline

import (
	"fmt"
	"slices"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/stats"
)

// AskKind says what a question is about; 0 is none.
type AskKind int32

// The questions.
const (
	AskPixels AskKind = 1 + iota // decode a sample with Pillow: Supply, or Reject if that raises
	AskSample                    // the transforms refuse a sample: Reject, and raise what the dataset raises for it
	AskExp                       // torch.exp of a float32: AnswerExp
	AskBatch                     // a script leaves a batch to the user's own code: Skip
	AskShard                     // a shard is damaged: LeaveOut, or Reject if that is an error; Index -1: there were no samples
	AskLate                      // a sample's file takes longer to read than Options.SampleTimeout: Reject
)

// Ask is a question to whoever runs Python.
type Ask struct {
	Kind     AskKind
	Sequence int64 // of the batch
	Position int   // of the sample in its batch; before Next tells of it, of the image among the batch's
	Index    int64 // of the image in the source's files
	X        float32
	Reason   string
	Detour   stats.Detour // of AskPixels, AskSample and AskLate
}

// question finds what has to be asked next of a batch: its first sample that is in doubt, since an error in that one ends the
// batch for all behind it. Where draws are stalled, samples in front of the stall are looked at first, as torch's worker
// loads them first.
func (r *Run) question(b *batch) {
	if b.stall.Kind == AskBatch || b.stall.Kind == AskShard { // whatever is wrong with other samples shows there, or is lost
		b.ask = b.stall
		return
	}
	if b.apart && b.stall.Kind != 0 { // none is made yet; of an error the script's own code makes the batch
		b.ask = b.stall
		return
	}
	end := len(b.samples)
	if b.stall.Kind != 0 {
		end = b.drawn // of a script's sample no image is drawn for while one of them stalls it
		r.makeBefore(b, end)
	}
	for i := range end {
		if phase := b.spanOf(i).phase; phase == waiting || phase == running {
			return // somebody has still to come to it, or has it in hand
		}
		switch s := &b.samples[i]; s.state {
		case refused:
			kind := AskPixels
			if b.scripted && s.whole(r.loader) {
				kind = AskBatch
			}
			b.ask = b.doubt(kind, i, s.why)
			return
		case finished:
		default:
			return // a worker has still to come to it
		}
	}
	b.ask = b.stall
}

// askLate asks about an image of a batch whose file is being read for too long. The time counts from the beginning of the file's
// own reading, not from that of the files that are read before it in one go.
func (r *Run) askLate(b *batch) {
	now, limit := stats.Now(), r.options.SampleTimeout
	for _, w := range r.serves {
		e, ok := w.track.Now()
		if w.batch != b || !ok || e.Stage != stats.Read || e.TookNs >= 0 || now-e.BeginNs < int64(limit) {
			continue
		}
		for _, t := range r.hands {
			for i := t.lo; t.batch == b && i < t.hi; i++ {
				if b.samples[i].index == e.Sample {
					text := fmt.Sprintf("%s: not read within %g s", r.loader.kind.name(b, e.Sample), limit.Seconds())
					b.ask = b.doubt(AskLate, i, detour{stats.Unreadable, text})
					return
				}
			}
		}
	}
}

// doubt is a question about the image at a place.
func (b *batch) doubt(kind AskKind, place int, why detour) Ask {
	return Ask{
		Kind: kind, Sequence: b.sequence, Position: place, Index: b.samples[place].index, Reason: why.text, Detour: why.Detour,
	}
}

// Doubts writes the images of outstanding batches that Next will ask for, by what is known now: at most as many as there is
// room for, the earliest first and each once. They may be decoded before they are asked for.
func (r *Run) Doubts(images []int64) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		if b.unopened {
			continue
		}
		for i := range b.spans {
			sp := &b.spans[i]
			if sp.phase == running || sp.reads > 0 { // somebody has its samples in hand
				continue
			}
			for k := sp.lo; k < sp.hi && n < len(images); k++ {
				s := &b.samples[k]
				if (s.state == unsized || s.state == refused) && !s.told && !s.pixels.Valid() && s.byPixels() {
					s.told = true
					images[n] = s.index
					n++
				}
			}
		}
	}
	return n
}

// byPixels says whether the caller is asked for pixels of it: of a script they do not tell what its mode was, or what its reader
// makes of it.
func (s *sample) byPixels() bool { return s.plain == "" && s.reader == plan.ImageOpen }

// makeBefore lets workers make the samples in front of a stall that share its span before all of the span is drawn.
func (r *Run) makeBefore(b *batch, end int) {
	sp := b.spanOf(end)
	if sp.phase == ready && sp.upTo != end && slices.ContainsFunc(b.samples[sp.lo:end], func(s sample) bool { return s.state == sized }) {
		sp.upTo = end
		r.staff()
		r.wake()
	}
}

// asked returns the batch whose question is being answered.
func (r *Run) asked(kinds ...AskKind) (*batch, error) {
	if r.closed {
		return nil, ErrClosed
	}
	if len(r.batches) > 0 {
		for _, kind := range kinds {
			if b := r.batches[0]; b.ask.Kind == kind {
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("an answer, but no such question: %w", ErrState)
}

// AskedPlanes is how many bytes a pixel has in the answer to a question about pixels.
func (r *Run) AskedPlanes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, err := r.asked(AskPixels); err == nil {
		return b.samples[b.ask.Position].mode.Planes()
	}
	return 3
}

// Supply answers AskPixels with size.Width x size.Height pixels, RGB interleaved, or one byte each where one plane is taken;
// they are copied.
func (r *Run) Supply(rgb []byte, size recipe.Size) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.asked(AskPixels)
	if err != nil {
		return err
	}
	planes := b.samples[b.ask.Position].mode.Planes()
	if size.Width < 1 || size.Height < 1 || len(rgb) != planes*int(size.Width)*int(size.Height) {
		return fmt.Errorf("%d bytes are not %v pixels of %d", len(rgb), size, planes)
	}
	if known := b.samples[b.ask.Position].size; b.given() && size != known {
		return fmt.Errorf("%v pixels for a recipe that is about %v: %w", size, known, ErrState)
	}
	pixels, err := mem.New(mem.Files, len(rgb))
	if err != nil {
		return err
	}
	copy(pixels.Bytes(), rgb)
	s := &b.samples[b.ask.Position]
	r.loader.Stats.Pillow.Add(1)
	r.loader.Stats.Detours[s.why.Detour].Add(1)
	position, known := b.ask.Position, s.size
	s.pixels, s.size, s.state = pixels, size, sized
	b.ask = Ask{}
	switch {
	case position >= b.drawn: // the stream waits for this size
		b.stall = Ask{}
		if !b.slot.Valid() {
			b.again(position)
		}
	case size == known:
		b.makeAgain(position)
	default:
		// The header lied, so everything drawn since is wrong.
		held := append(r.behind(b), b)
		r.hold(held)
		if err = r.takeBack(b, 0); err == nil {
			b.restart()
		}
		r.release(held)
	}
	if err != nil {
		r.lose(b, err)
	}
	r.relist(b)
	r.advance(b.stream)
	r.announce()
	return nil
}

// Reject answers AskPixels, AskSample and AskLate: the sample is in error and its batch is dropped. The random stream stands
// where torch's worker stands after such an error: the samples before it have drawn, those behind it have not. It says how
// many of the batch's reads did not come back and were left, as Reset does.
func (r *Run) Reject() (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.asked(AskPixels, AskSample, AskShard, AskLate)
	if err == nil && b.scripted {
		err = fmt.Errorf("a script's batch is skipped: %w", ErrState)
	}
	if err != nil {
		return 0, err
	}
	held := append(r.behind(b), b)
	r.hold(held)
	if n, touched := r.drawnBefore(b, b.ask.Position); b.drawn > n && b.ask.Kind != AskShard {
		err = r.takeBack(b, n)
		if s := &b.samples[n]; err == nil && touched && b.seeds == nil {
			from := b.stream.source(&r.loader.exps)
			err = r.loader.view(s).program.Touch(s.size, &from)
		}
	}
	r.release(held)
	left = r.settle([]*batch{b})
	r.loader.Stats.Detours[b.ask.Detour].Add(1)
	st := b.stream
	r.endLane(b)
	b.after, b.drew = b.drawnFor(r.loader), true
	r.loader.Stats.Failed.Add(1)
	r.pop()
	r.advance(st)
	r.announce()
	return left, err
}

// drawnBefore is how many images have drawn when torchvision finds one in error. Most targets are opened before their image
// draws; unless one is decoded there as well, that happens in its first transform: behind all of the image's, or, touched,
// in the first of those they share.
func (r *Run) drawnBefore(b *batch, position int) (n int, touched bool) {
	if b.ask.Kind == AskShard {
		return 0, false
	}
	s := &b.samples[position]
	if s.view == 0 {
		return position, false
	}
	part := &r.loader.parts[s.part]
	if part.target == nil { // a stream's sample, whose images are decoded before anything is drawn
		return position - int(s.view), false
	}
	opened := b.ask.Kind == AskPixels && s.state != unsized
	switch {
	case b.ask.Kind == AskSample:
		return b.drawn, false // the transforms themselves refuse it
	case part.target.Read == plan.Unread:
		return position, false
	case !opened || part.target.Read == plan.Decoded:
		return position - 1, false
	case part.together():
		return position - 1, true
	default:
		return position, false
	}
}

// AnswerExp answers AskExp: torch.exp(x) is y.
func (r *Run) AnswerExp(x, y float32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if err := r.loader.exps.Learn(x, y); err != nil {
		return err
	}
	for i := range r.streams {
		if st := &r.streams[i]; st.needsExp && st.exp == x {
			r.needExp(st, false)
			r.advance(st)
		}
	}
	r.announce()
	return nil
}
