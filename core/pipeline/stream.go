package pipeline

import (
	"errors"
	"fmt"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/stats"
)

// stream is the random generator of one of torch's would-be workers. Its batches are drawn one after the other, sample
// by sample, in torch's order, as soon as the sizes of their images are known; nothing else about a sample has to wait
// for another.
type stream struct {
	mt       rng.MT19937
	began    rng.MT19937 // before the sample that was drawn last, where its target draws the same numbers
	yielded  int64       // words drawn by the batches that Next has handed out or reported lost, in mt.Drawn's count
	needsExp bool        // the next draw cannot go on before torch has said what exp(exp) is
	exp      float32
}

// advance makes all draws of a stream that can be made, and lets everybody look whether there is something to do.
func (r *Run) advance(st *stream) {
	defer r.wake()
	for _, b := range r.batches {
		if b.stream == st && !b.lost && !r.draw(b) {
			return
		}
	}
}

// draw makes a batch's draws as far as it can, and reports whether all are made.
func (r *Run) draw(b *batch) bool {
	if b.drawn == len(b.samples) {
		return true
	}
	if b.stall.Kind != 0 || b.held || b.stream.needsExp {
		return false
	}
	if b.drawn == 0 {
		b.began = b.stream.mt
	}
	for b.drawn < len(b.samples) {
		s := &b.samples[b.drawn]
		if b.spanOf(b.drawn).phase == waiting {
			return false
		}
		if s.state == unsized {
			b.stall = b.doubt(AskPixels, b.drawn, s.why)
			return false
		}
		if !r.drawSample(b, s) {
			return false
		}
		if b.lost {
			return true
		}
		b.drawn++
		b.after, b.drew = b.stream.mt.Drawn(), true
	}
	return true
}

// drawImage draws for the image at a place, whose batch is drawn up to there. The steps are appended.
func (l *Loader) drawImage(b *batch, place int, steps []recipe.Step) ([]recipe.Step, recipe.Size, error) {
	st, s := b.stream, &b.samples[place]
	part := &l.parts[s.part]
	from := &draw.Source{MT: &st.mt, Exp: &l.exps}
	switch {
	case !part.together():
	case s.view == 0:
		st.began = st.mt
	default:
		st.mt = st.began
		if image := b.samples[place-1].size; image != s.size {
			if err := part.views[0].program.Pairs(image, s.size, from); err != nil {
				return steps, s.size, err
			}
			st.mt = st.began
		}
	}
	return part.views[s.view].program.Draw(steps, s.size, from)
}

// drawSample writes one sample's recipe.
func (r *Run) drawSample(b *batch, s *sample) bool {
	st := b.stream
	if b.seeds != nil && s.view == 0 && r.loader.parts[s.part].random {
		st.mt.Seed(b.seeds[b.drawn/r.loader.views])
	}
	before := st.mt
	from := len(b.steps)
	var steps []recipe.Step
	var out recipe.Size
	err := guard(func() (err error) {
		steps, out, err = r.loader.drawImage(b, b.drawn, b.steps)
		return err
	})
	var need *draw.NeedExp
	var no *draw.Refused
	switch {
	case errors.As(err, &need):
		st.mt, st.needsExp, st.exp = before, true, need.X
		return false
	case errors.As(err, &no):
		if !s.pixels.Valid() && r.loader.image(s) == nil {
			// torchvision only sees an image that could be decoded, and of the size that Pillow gives it.
			st.mt = before
			b.stall = b.doubt(AskPixels, b.drawn, detour{stats.Untransformed, no.Error()})
			return false
		}
		// The generator stays where the transform left it, as it does when torchvision raises.
		b.stall = b.doubt(AskSample, b.drawn, detour{stats.Untransformed, no.Error()})
		return false
	case err != nil:
		b.lost, b.undone, b.err = true, 0, fmt.Errorf("sample %d: %w", s.index, err)
		return true
	}
	b.steps = steps
	s.steps, s.out = [2]int32{int32(from), int32(len(steps))}, out
	views := r.loader.views
	if b.drawn < views {
		b.out[s.view] = out
	}
	switch want := b.out[s.view]; {
	case b.drawn == views-1:
		_, size := r.loader.layout(len(b.samples)/views, b.out)
		if err := b.reserve(r.loader, size); err != nil {
			b.lost, b.undone, b.err = true, 0, err
		}
	case out != want && b.uneven[s.view] == nil:
		c := r.loader.output[s.view].Channels
		b.uneven[s.view] = fmt.Errorf("%w, but got [%d, %d, %d] at entry 0 and [%d, %d, %d] at entry %d", ErrShape,
			c, want.Height, want.Width, c, out.Height, out.Width, b.drawn/views)
	}
	return true
}

// takeBack sets a batch's stream to where it stood after the batch's first n samples, and makes the stream's later
// batches start over, since they drew from what no longer holds. The batches must be held.
func (r *Run) takeBack(b *batch, n int) error {
	st := b.stream
	st.needsExp = false
	if !r.loader.random || b.seeds != nil {
		return nil
	}
	r.loader.Stats.Rewinds.Add(1)
	st.mt = b.began
	steps := b.steps[:0:0]
	for i := range n {
		var err error
		if steps, _, err = r.loader.drawImage(b, i, steps[:0]); err != nil {
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
	for _, other := range r.batches {
		if other.stream == b.stream && other.sequence > b.sequence {
			later = append(later, other)
		}
	}
	return later
}

// Position writes how many words each stream has drawn for the batches that Next has handed out or reported lost: what is
// under way beyond them does not count. Resume goes on from there.
func (r *Run) Position(drawn []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(drawn) != len(r.streams) {
		return fmt.Errorf("room for the positions of %d streams, there are %d", len(drawn), len(r.streams))
	}
	for i := range r.streams {
		drawn[i] = r.streams[i].yielded
	}
	return nil
}

// Resume puts a run that was just started to where another one with its options stood: the next batch is number
// sequence, and stream w has drawn drawn[w] words.
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
	case len(drawn) != len(r.streams):
		return fmt.Errorf("positions of %d streams, there are %d", len(drawn), len(r.streams))
	}
	for w, n := range drawn {
		if n < 0 {
			return fmt.Errorf("%d words drawn from stream %d", n, w)
		}
	}
	for w, n := range drawn {
		st := &r.streams[w]
		st.mt.Seed(r.options.seed(w))
		st.mt.Discard(n)
		st.yielded = n
	}
	r.sequence = sequence
	return nil
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
	r.streams[0].yielded = 0
	return nil
}
