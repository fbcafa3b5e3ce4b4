package pipeline

import (
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/stats"
)

// Several images of a script's sample may come of one file, as a FiveCrop's do. Where together they take more pixels of it
// than it has, it is decoded once for all of them, and the steps that all begin with are done once.

const (
	// sharedMin is how many times the pixels of one image they have to take: each decodes its own part of the file
	// otherwise, and the pixels need not be written to memory in between.
	sharedMin = 1.25
	// sharedMax is how many bytes of such images a worker has at a time.
	sharedMax = 32 << 20
)

// family is neighbouring images of one file.
type family struct {
	of     []sample
	steps  []recipe.Step // that all of them begin with
	size   recipe.Size   // after these
	planes int
}

// familyAt is the images of a file from a place on, as far as they are to be made of its bytes.
func (l *Loader) familyAt(samples []sample, steps []recipe.Step) family {
	first := &samples[0]
	fresh := func(s *sample) bool {
		return s.state == sized && !s.pixels.Valid() && l.image(s) == nil && l.decoder(s) != nil
	}
	n := 1
	for n < len(samples) && samples[n].index == first.index && samples[n].mode == first.mode && fresh(&samples[n]) {
		n++
	}
	f := family{of: samples[:n], size: first.size, planes: first.mode.Planes()}
	if !fresh(first) {
		f.of = samples[:1]
	}
	if len(f.of) > 1 {
		f.begin(steps)
	}
	return f
}

// begin finds the steps that all have in common.
func (f *family) begin(steps []recipe.Step) {
	f.steps, _, _ = recipe.Cut(f.of[0].stepsOf(steps))
	for k := range f.of[1:] {
		f.steps = f.steps[:alike(f.steps, f.of[1+k].stepsOf(steps))]
	}
	for _, s := range f.steps {
		f.size = s.Out(f.size)
	}
	f.planes = recipe.PlanesAfter(f.planes, f.steps)
}

// isShared reports whether its file is to be decoded once.
func (f *family) isShared(steps []recipe.Step) bool {
	sum := 0.0
	for k := range f.of {
		sum += taken(f.of[k].stepsOf(steps)[len(f.steps):], f.size)
	}
	return len(f.of) > 1 && sum >= sharedMin
}

func (f *family) bytes() int { return f.planes * int(f.size.Pixels()) }

func (s *sample) stepsOf(steps []recipe.Step) []recipe.Step { return steps[s.steps[0]:s.steps[1]] }

// alike is how many steps two recipes have in common, from the first on, that leave bytes.
func alike(a, b []recipe.Step) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] && a[n].Filter.LeavesBytes() && a[n].Kind != recipe.ToNumbers {
		n++
	}
	return n
}

// taken is which share of an image's pixels steps look at.
func taken(steps []recipe.Step, of recipe.Size) float64 {
	for _, s := range steps {
		switch s.Kind {
		case recipe.HorizontalFlip, recipe.VerticalFlip:
		case recipe.Crop:
			return float64(s.Out(of).Pixels()) / float64(of.Pixels())
		default:
			return 1
		}
	}
	return 1
}

// makeShared decodes the files of a span that several images come of, and leaves what they begin with to these as pixels. What
// cannot be decoded is left as it is.
func (w *worker) makeShared(b *batch, lo, hi int, steps []recipe.Step) error {
	l := w.run.loader
	if len(l.scripts) == 0 || l.views == 1 {
		return nil
	}
	var families []family
	total := 0
	for i := lo; i < hi; {
		f := l.familyAt(b.samples[i:hi], steps)
		i += len(f.of)
		if f.isShared(steps) && total+mem.Aligned(f.bytes()) <= sharedMax {
			families, total = append(families, f), total+mem.Aligned(f.bytes())
		}
	}
	if total == 0 {
		return nil
	}
	w.made.Reset(bufferKeep)
	room, err := w.made.Room(total)
	if err != nil {
		return err
	}
	at := 0
	for k, f := range families {
		s := &f.of[0]
		if _, err := w.setAside(k, s, f.steps, room[at:][:f.bytes()], l.asIs[f.planes]); err != nil {
			return err
		}
		if s.mode.Planes() == 1 {
			w.jobs.SetOnePlane(k)
		}
		at += mem.Aligned(f.bytes())
	}
	w.track.Begin(stats.Decode, b.sequence, families[0].of[0].index)
	passes := w.op.Run(w.jobs, len(families), &w.run.cancel)
	w.track.EndTwo(len(families), stats.Op, passes)
	at = 0
	for k, f := range families {
		pixels := room[at : at+f.bytes()]
		at += mem.Aligned(f.bytes())
		if w.jobs.Status(k) != op.Decoded {
			continue
		}
		for i := range f.of {
			f.of[i].lent, f.of[i].held, f.of[i].done = pixels, f.size, len(f.steps)
		}
	}
	return nil
}
