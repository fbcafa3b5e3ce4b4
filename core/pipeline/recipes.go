package pipeline

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/seek"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// recipes is what a batch brought along: it has nothing to draw, and a field for each stack of images.
type recipes struct {
	memory mem.Block // the wire form: paths and files are read from here
	batch  *recipe.Batch
	stores []*op.Store // a field each
}

// newRecipes copies a batch from its wire form.
func (l *Loader) newRecipes(message []byte) (r *recipes, err error) {
	r = &recipes{}
	defer func() {
		if err != nil {
			r.free()
		}
	}()
	if r.memory, err = mem.New(mem.Files, len(message)); err != nil {
		return r, err
	}
	copied := r.memory.Bytes()[:copy(r.memory.Bytes(), message)]
	if r.batch, err = recipe.Read(copied); err != nil {
		return r, err
	}
	for i, f := range r.batch.Fields {
		store, err := op.NewStore(f.Channels, f.DType.Size(), f.Table)
		if err != nil {
			return r, fmt.Errorf("field %d: %w", i, err)
		}
		store.SetOrder(f.Order)
		r.stores = append(r.stores, store)
	}
	return r, nil
}

func (r *recipes) free() {
	for _, store := range r.stores {
		store.Close()
	}
	if r.memory.Valid() {
		r.memory.Free()
	}
	*r = recipes{}
}

// origin is where a sample's bytes are.
func (r *recipes) origin(s *sample) recipe.Origin {
	return r.batch.Sources[r.batch.Images[s.index].Source]
}

// SubmitRecipes asks for one more batch of a loader without a source, in wire form (core/recipe), which is copied. Its
// fields are those of the message, at most fieldsMax; a question about pixels names an image by its place in the message.
// lent is as for Submit.
func (r *Run) SubmitRecipes(message []byte, fieldsMax int, lent unsafe.Pointer, lentBytes int) error {
	l := r.loader
	if _, ok := l.kind.(*recipeFiles); !ok {
		return fmt.Errorf("recipes for a loader with a source: %w", ErrState)
	}
	made, err := l.newRecipes(message)
	if err != nil {
		return err
	}
	if n := len(made.batch.Fields); n > fieldsMax {
		made.free()
		return fmt.Errorf("%w: %d fields, at most %d are possible", recipe.ErrWire, n, fieldsMax)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		made.free()
		return ErrClosed
	}
	slot, err := lentSlot(lent, lentBytes)
	if err != nil {
		made.free()
		return err
	}
	b := r.take()
	b.setUpRecipes(l, r.sequence, r.streamOf(r.sequence), made, r.spanLength(len(made.batch.Images)))
	b.lent = slot
	r.put(b)
	return nil
}

// setUpRecipes cuts a batch into spans of at most n images.
func (b *batch) setUpRecipes(l *Loader, sequence int64, st *stream, made *recipes, n int) {
	b.begin(l, sequence, st)
	b.own, b.drawn = made, len(made.batch.Images)
	specs := make([]tensor.Spec, len(made.batch.Fields))
	for i, f := range made.batch.Fields {
		specs[i] = f.Spec()
	}
	b.fields, b.bytes = place(specs...)
	for i, m := range made.batch.Images {
		b.samples = append(b.samples, sample{
			index: int64(i), size: made.batch.Sources[m.Source].Size, out: made.batch.Fields[m.Field].Size,
			mode: made.batch.Sources[m.Source].Mode,
		})
	}
	b.cut(len(b.samples), n)
}

// shares says whether an image is of the same source as the one before it.
func (r *recipes) shares(i int) bool { return r.batch.Images[i].Source == r.batch.Images[i-1].Source }

// given says that the sizes of images are what their recipes are about.
func (b *batch) given() bool {
	_, ok := b.own.(*recipes)
	return ok
}

// recipeFiles is the kind of work of batches that bring their recipes along.
type recipeFiles struct {
	images
	store   source.Store
	numbers *seek.Numbers // of files in the seek index, whose paths come with the batches
}

// OpenRecipes compiles a plan without samples: every batch brings its recipes along (Run.SubmitRecipes), of files of a store.
func OpenRecipes(p *plan.Plan, store source.Store) (*Loader, error) {
	l := &Loader{plan: p, ring: ring.New(slotsHeld), views: 1}
	k := &recipeFiles{images: images{l: l}, store: store}
	l.kind = k
	if err := l.openSeek(int(p.Source.Files), nil); err != nil {
		l.free()
		return nil, err
	}
	k.numbers = seek.NewNumbers(int(p.Source.Files))
	return l, nil
}

func (k *recipeFiles) len() int { return 0 }

func (k *recipeFiles) check([]int64) error {
	return fmt.Errorf("indices for a loader without a source: %w", ErrState)
}

func (k *recipeFiles) enter(r *Run, b *batch) error { return b.reserve(r.loader, b.bytes) }

func (k *recipeFiles) shares(b *batch, i int) bool { return b.own.(*recipes).shares(i) }

func (k *recipeFiles) fields(b *batch) ([]Field, int) { return b.fields, b.bytes }

func (k *recipeFiles) name(b *batch, index int64) string {
	if b == nil {
		return "a file"
	}
	return b.own.(*recipes).origin(&b.samples[index]).Name()
}

func (k *recipeFiles) close() {}

// read reads an image's source and its header; of neighbours that share one, the first one's is read.
func (k *recipeFiles) read(ctx context.Context, w *worker, t *reading, i int) {
	l, b := w.run.loader, t.batch
	of := b.own.(*recipes)
	s := &b.samples[i]
	origin := of.origin(s)
	var data []byte
	switch {
	case origin.Kind == recipe.Bytes:
		data = origin.Data
	case i > t.lo && of.shares(i) && b.samples[i-1].to > 0:
		before := &b.samples[i-1]
		s.buffer, s.from, s.to, s.stamp, s.file, s.indexed = before.buffer, before.from, before.to, before.stamp, before.file, before.indexed
		data = s.data()
	default:
		from := t.buffer.Len()
		w.track.Begin(stats.Read, b.sequence, s.index)
		stamp, err := k.store.Read(ctx, origin.Key(), t.buffer)
		w.track.End(1)
		w.track.Slow(1, origin.Name)
		if err != nil {
			s.away(unsized, stats.Unreadable, "%v", err)
			return
		}
		if stamp != (source.Stamp{Bytes: origin.FileBytes, ModifiedNs: origin.ModifiedNs}) {
			s.away(unsized, stats.Changed, "%s was changed since it was opened", origin.Name())
			return
		}
		s.buffer, s.from, s.to, s.stamp = t.buffer, from, t.buffer.Len(), stamp
		if l.seek != nil && origin.Length == source.Whole {
			s.file, s.indexed = k.numbers.Of(origin.Data)
		}
		l.Stats.BytesRead.Add(int64(s.to - s.from))
		data = s.data()
	}
	header, err := decode.Probe(data)
	size := recipe.Size{Width: header.Width, Height: header.Height}
	switch {
	case err != nil:
		s.away(unsized, stats.Unknown, "%s: %v", origin.Name(), err)
	case size != s.size:
		s.away(unsized, stats.Changed, "%s: it has %v pixels now, %v when it was opened", origin.Name(), size, s.size)
	case size.Pixels() > op.PixelsMax:
		s.away(unsized, stats.TooLarge, "%s: %v: %v", origin.Name(), size, op.ErrTooLarge)
	default:
		s.state, s.format, s.isGrey = sized, header.Format, header.Mode == string(plan.Grey)
	}
}

// make makes the images of a span. What cannot be read, or is not what the recipe says, is left to Pillow.
func (k *recipeFiles) make(w *worker, b *batch, sp *span, _ int, _ []recipe.Step) error {
	r, l := b.own.(*recipes), w.run.loader
	w.todo = w.todo[:0]
	for i := sp.lo; i < sp.hi; i++ {
		s := &b.samples[i]
		if s.state == unsized {
			s.state = refused
		}
		if s.state != sized {
			continue
		}
		m := r.batch.Images[i]
		origin := r.origin(s)
		if !s.pixels.Valid() && l.decoder(s) == nil {
			s.away(refused, stats.Foreign, "%s: %v is decoded by Pillow", origin.Name(), s.format)
			continue
		}
		field := b.fields[m.Field]
		each := field.Spec.Bytes() / field.Spec.Shape[0]
		w.jobs.SetSample(len(w.todo), unsafe.Add(b.slot.Data(), field.Offset+each*m.Place), each, r.stores[m.Field])
		file := origin.Data
		if origin.Kind == recipe.Path {
			file = s.data()
		}
		if err := w.setJob(s, file, r.batch.StepsOf(i)); err != nil {
			return fmt.Errorf("image %d, %s: %w", i, origin.Name(), err)
		}
	}
	return w.finish(b, func(s *sample) string { return r.origin(s).Name() })
}
