package pipeline

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

// worker is one goroutine's tools, lent by the loader.
type worker struct {
	run   *Run
	track stats.Track
	// batch is the one in hand, if there is one. The run's lock guards it.
	batch *batch
	op    *op.Worker // nil for rows
	jobs  *op.Jobs
	fuse  []op.Pass
	todo  []*sample // the samples that jobs are for
	// aside takes samples that have no place in their batch.
	aside source.Buffer
	// fixed are the first steps of a sample, made and scratch what they make of images that are to be kept.
	fixed         []recipe.Step
	made, scratch source.Buffer
	// seeks has room for a seek index a job; it is not valid if none are kept.
	seeks mem.Block
}

func newWorker(r *Run) (*worker, error) {
	w := &worker{run: r}
	if !r.loader.kind.pictures() {
		return w, nil
	}
	var err error
	if w.op, err = r.loader.takeWorker(); err != nil {
		return nil, err
	}
	if w.jobs, err = op.NewJobs(r.loader.views * max(spanMax, r.options.Span)); err != nil {
		r.loader.putWorker(w.op)
		return nil, err
	}
	if seek := r.loader.seek; seek != nil {
		if w.seeks, err = mem.New(mem.Seek, w.jobs.Len()*seek.EntryMax()); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *worker) close() {
	w.aside.Free()
	w.made.Free()
	w.scratch.Free()
	if w.seeks.Valid() {
		w.seeks.Free()
	}
	if w.op != nil {
		w.jobs.Close()
		w.run.loader.putWorker(w.op)
	}
}

// read reads files and their headers. What cannot be read or has no header that we know is left to Pillow.
func (w *worker) read(ctx context.Context, t *reading) error {
	for i := t.lo; i < t.hi; i++ {
		if ctx.Err() != nil {
			return ErrClosed
		}
		if !t.batch.samples[i].pixels.Valid() {
			w.run.loader.kind.read(ctx, w, t, i)
		}
	}
	return nil
}

// makeImages makes some of a batch's images: one call into C decodes them, carries out their recipes and writes them into the
// slot.
func (w *worker) makeImages(b *batch, lo, hi int, steps []recipe.Step) error {
	l := w.run.loader
	fields, _ := l.kind.fields(b)
	aside, err := w.placeAside(b, lo, hi)
	if err != nil {
		return err
	}
	name := func(s *sample) string { return l.kind.name(b, s.index) }
	if err := w.makeHeld(b, lo, hi); err != nil {
		return err
	}
	defer b.takeBack(lo, hi)
	if err := w.makeShared(b, lo, hi, steps); err != nil {
		return err
	}
	w.todo = w.todo[:0]
	for i := lo; i < hi; i++ {
		s := &b.samples[i]
		if s.state != sized {
			continue // it was made before: in front of a stall, or beside one whose pixels Pillow supplied
		}
		if !s.pixels.Valid() && !s.isHeld() && l.image(s) == nil && l.decoder(s) == nil {
			s.away(refused, stats.Foreign, "%s: %v is decoded by Pillow", name(s), s.format)
			continue
		}
		// What has no place goes aside: no batch comes of it, but if the file is damaged that is the error to report.
		dst, size := aside, l.imageBytes(s)
		if b.hasPlaceFor(s) {
			dst = b.placeOf(l, fields, i)
		}
		w.jobs.SetSample(len(w.todo), dst, size, l.view(s).store)
		if err := w.setJob(s, s.data(), steps[s.steps[0]:s.steps[1]]); err != nil {
			return fmt.Errorf("sample %d: %w", s.index, err)
		}
	}
	if err := w.finish(b, name); err != nil {
		return err
	}
	for i := lo; i < hi; i++ {
		s := &b.samples[i]
		looks := l.view(s).looks
		if looks == nil || s.state != finished {
			continue
		}
		size, found := l.imageBytes(s), false
		if b.hasPlaceFor(s) { // else nobody knows what its code would make of it
			found = looks.found(unsafe.Slice((*byte)(b.placeOf(l, fields, i)), size))
		}
		if !found {
			s.away(refused, stats.Untransformed, "%s: its code may go another way for an image of such pixels", name(s))
		}
	}
	return nil
}

// finish runs the jobs of a span, if there are any.
func (w *worker) finish(b *batch, name func(*sample) string) error {
	if len(w.todo) == 0 {
		return nil
	}
	l := w.run.loader
	w.track.Begin(stats.Decode, b.sequence, w.todo[0].index)
	passes := w.op.Run(w.jobs, len(w.todo), &w.run.cancel)
	w.track.EndTwo(len(w.todo), stats.Op, passes)
	w.track.Slow(len(w.todo), func() string { return name(w.todo[0]) })
	for k, s := range w.todo {
		switch status := w.jobs.Status(k); status {
		case op.Decoded:
			s.state = finished
			if s.view == 0 {
				l.Stats.Samples.Add(1)
			}
			w.keepSeek(k, s)
			w.countPixels(s)
		case op.Refused:
			s.away(refused, stats.Refused, "%s: %s", name(s), w.jobs.Why(k))
		case op.NoMemory:
			return fmt.Errorf("sample %d: %s: %w", s.index, name(s), op.ErrNoMemory)
		case op.Cancelled:
			return ErrClosed
		default:
			return fmt.Errorf("%w: sample %d: %v: %s", ErrBug, s.index, status, w.jobs.Why(k))
		}
	}
	return nil
}

// placeAside makes room for the largest of some samples that have no place in their batch.
func (w *worker) placeAside(b *batch, lo, hi int) (unsafe.Pointer, error) {
	w.aside.Reset(bufferKeep)
	largest := 0
	for i := lo; i < hi; i++ {
		if s := &b.samples[i]; !b.hasPlaceFor(s) {
			largest = max(largest, w.run.loader.imageBytes(s))
		}
	}
	if largest == 0 {
		return nil, nil
	}
	room, err := w.aside.Room(largest)
	return unsafe.Pointer(unsafe.SliceData(room)), err
}

// setJob describes one sample's work to C, but for where it goes, and puts it on the list.
func (w *worker) setJob(s *sample, file []byte, steps []recipe.Step) error {
	in, isHeld := s.size, s.isHeld() && !s.pixels.Valid()
	if isHeld {
		if w.run.loader.held != nil {
			fixed, _, err := w.run.loader.view(s).program.Fixed(w.fixed[:0], s.size)
			if err != nil {
				return err
			}
			w.fixed, s.done = fixed, len(fixed)
		}
		steps, in = steps[s.done:], s.held
	}
	steps, patches, finish := recipe.Cut(steps)
	passes, out, err := op.Fuse(w.fuse[:0], in, steps)
	if err != nil {
		return err
	}
	if out != s.out {
		return fmt.Errorf("its steps make %v pixels, not %v", out, s.out)
	}
	k, l := len(w.todo), w.run.loader
	w.fuse = passes
	w.jobs.SetPasses(k, passes)
	w.jobs.SetPatches(k, patches)
	w.jobs.SetFinish(k, steps, finish)
	if isHeld {
		w.jobs.SetSeek(k, nil, 0, 0)
		layout := op.Planar
		if len(file) == int(s.held.Pixels()) {
			layout = op.Flat
		}
		w.jobs.SetRaw(k, layout, unsafe.Pointer(unsafe.SliceData(file)), len(file), s.held)
	} else if s.pixels.Valid() {
		layout := op.Interleaved
		if s.mode.Planes() == 1 {
			layout = op.Flat
		}
		w.jobs.SetSeek(k, nil, 0, 0)
		w.jobs.SetRaw(k, layout, s.pixels.Data(), s.pixels.Size(), s.size)
	} else {
		w.lendSeek(k, s)
		data := unsafe.Pointer(unsafe.SliceData(file))
		if image := l.image(s); image != nil {
			w.jobs.SetRaw(k, layouts[image.Layout], data, len(file), s.size)
		} else {
			w.jobs.SetBytes(k, l.decoder(s), data, len(file), s.size)
			if s.mode.Planes() == 1 {
				w.jobs.SetOnePlane(k)
			}
		}
	}
	w.todo = append(w.todo, s)
	return nil
}

// seekRoom is job k's memory for the seek index of its file.
func (w *worker) seekRoom(k int) []byte {
	n := w.run.loader.seek.EntryMax()
	return w.seeks.Bytes()[k*n : (k+1)*n]
}

// seekable reports whether the decoder of a format keeps something in a seek index.
func seekable(f decode.Format) bool { return f == decode.JPEG || f == decode.WebP }

// lendSeek gives job k what is known of its file.
func (w *worker) lendSeek(k int, s *sample) {
	l := w.run.loader
	if !s.indexed || !seekable(s.format) {
		w.jobs.SetSeek(k, nil, 0, 0)
		return
	}
	room := w.seekRoom(k)
	s.seekBytes = l.seek.Get(s.file, s.stamp, room)
	if s.seekBytes > 0 {
		l.Stats.SeekHits.Add(1)
	}
	w.jobs.SetSeek(k, unsafe.Pointer(unsafe.SliceData(room)), len(room), s.seekBytes)
}

// keepSeek keeps what job k has learned of its file.
func (w *worker) keepSeek(k int, s *sample) {
	l := w.run.loader
	if !s.indexed || !seekable(s.format) || s.pixels.Valid() || s.isHeld() {
		return
	}
	if size := w.jobs.SeekSize(k); size != s.seekBytes {
		l.seek.Put(s.file, s.stamp, w.seekRoom(k)[:size])
	}
}
