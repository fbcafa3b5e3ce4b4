package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/cache"
)

// Images may be kept as pixels, after their first steps, those that are the same in each epoch (draw.Program.Fixed). In a cache
// such an entry is heldHead bytes, four int32: width and height of the file's image, and of what is kept of it; then
// [3, height, width] bytes.
const heldHead = 64 // pixels begin at a cache line; the rest of it is zero

// held is where a loader keeps pixels.
type held struct {
	kept  *cache.Decoded
	key   func(i int) source.Key
	made  []string // of each part: what is kept of its images
	store *op.Store
}

// Hold has the loader keep the pixels of its files' images, which are asked for by key; kept may be nil. To be called before the
// first run.
func (l *Loader) Hold(kept *cache.Decoded, key func(i int) source.Key) error {
	if kept == nil || !l.canHold() {
		return nil
	}
	store, err := storeAsIs(3)
	if err != nil {
		return err
	}
	l.held = &held{kept: kept, key: key, store: store}
	for _, p := range l.parts {
		l.held.made = append(l.held.made, fmt.Sprintf("pixels 1, %v: %s", l.plan.Pillow.PassOrder, p.views[0].program.FixedText()))
	}
	return nil
}

// canHold reports whether a cache can keep pixels of this loader's files.
func (l *Loader) canHold() bool { return l.views == 1 && len(l.scripts) == 0 && len(l.parts) > 0 }

// countPixels counts what a cache would keep of an image that was decoded from its file.
func (w *worker) countPixels(s *sample) {
	l := w.run.loader
	if !l.canHold() || l.held != nil || s.pixels.Valid() || l.image(s) != nil {
		return
	}
	fixed, out, err := l.view(s).program.Fixed(w.fixed[:0], s.size)
	w.fixed = fixed
	if err == nil {
		l.Stats.Decoded.Add(1)
		l.Stats.DecodedBytes.Add(heldHead + 3*out.Pixels())
	}
}

// storeAsIs leaves bytes as they are.
func storeAsIs(planes int) (*op.Store, error) {
	same := make([]byte, 256)
	for i := range same {
		same[i] = byte(i)
	}
	return op.NewStore(planes, 1, bytes.Repeat(same, planes))
}

// isHeld says that a sample's bytes are pixels.
func (s *sample) isHeld() bool { return s.held.Width > 0 }

// find appends a sample's pixels to buf, if they are kept; if not, says where they are to be.
func (h *held) find(ctx context.Context, l *Loader, buf *source.Buffer, s *sample) bool {
	s.place, s.held = nil, recipe.Size{}
	place, known := h.kept.Place(ctx, h.key(int(s.index)), h.made[s.part])
	if !known {
		return false
	}
	from := buf.Len()
	stamp, found, err := h.kept.Get(ctx, place, buf)
	if err == nil && found {
		if size, now, ok := heldSizes(buf.Slice(from, buf.Len())); ok && l.tooLarge(size) == "" {
			s.buffer, s.from, s.to, s.stamp = buf, from+heldHead, buf.Len(), stamp
			s.state, s.size, s.held = sized, size, now
			return true
		}
	}
	buf.Cut(from)
	s.place = &place
	return false
}

// heldSizes reads an entry's head.
func heldSizes(entry []byte) (size, now recipe.Size, ok bool) {
	if len(entry) < heldHead {
		return size, now, false
	}
	var n [4]int32
	for i := range n {
		n[i] = int32(binary.LittleEndian.Uint32(entry[4*i:]))
	}
	size, now = recipe.Size{Width: n[0], Height: n[1]}, recipe.Size{Width: n[2], Height: n[3]}
	ok = min(n[0], n[1], n[2], n[3]) > 0 && int64(len(entry)) == heldHead+3*now.Pixels()
	return size, now, ok
}

// makeHeld decodes the images of a span that are to be kept, carries out their first steps, keeps them, and leaves them to what
// follows as pixels. What cannot be decoded is left as it is.
func (w *worker) makeHeld(b *batch, lo, hi int) error {
	l := w.run.loader
	h := l.held
	if h == nil {
		return nil
	}
	w.todo = w.todo[:0]
	w.made.Reset(bufferKeep)
	total := 0
	sizes := make([]recipe.Size, 0, hi-lo)
	for i := lo; i < hi; i++ {
		s := &b.samples[i]
		if s.state != sized || s.place == nil || s.isHeld() || s.pixels.Valid() || l.decoder(s) == nil {
			continue
		}
		fixed, out, err := l.view(s).program.Fixed(w.fixed[:0], s.size)
		w.fixed = fixed
		size := heldHead + 3*int(out.Pixels())
		if err != nil || h.kept.Full(size) {
			continue
		}
		w.todo, sizes, total = append(w.todo, s), append(sizes, out), total+mem.Aligned(size)
	}
	if total == 0 {
		return nil
	}
	room, err := w.made.Room(total)
	if err != nil {
		return err
	}
	at := 0
	for k, s := range w.todo {
		fixed, _, err := l.view(s).program.Fixed(w.fixed[:0], s.size)
		if err != nil {
			return err
		}
		w.fixed = fixed
		out, err := w.setAside(k, s, fixed, room[at+heldHead:][:3*int(sizes[k].Pixels())], h.store)
		if err != nil || out != sizes[k] {
			return fmt.Errorf("%w: sample %d: its first steps make %v: %w", ErrBug, s.index, out, err)
		}
		at += mem.Aligned(heldHead + 3*int(out.Pixels()))
	}
	w.op.Run(w.jobs, len(w.todo), &w.run.cancel)
	at = 0
	for k, s := range w.todo {
		entry := room[at : at+heldHead+3*int(sizes[k].Pixels())]
		at += mem.Aligned(len(entry))
		if w.jobs.Status(k) != op.Decoded {
			continue
		}
		clear(entry[:heldHead])
		for i, n := range []int32{s.size.Width, s.size.Height, sizes[k].Width, sizes[k].Height} {
			binary.LittleEndian.PutUint32(entry[4*i:], uint32(n))
		}
		w.scratch.Reset(bufferKeep)
		if err := h.kept.Put(w.run.ctx, *s.place, s.stamp, entry, &w.scratch); err != nil && w.run.ctx.Err() == nil {
			return err
		}
		s.lent, s.held = entry[heldHead:], sizes[k]
	}
	return nil
}

// setAside has job k make the first steps of a sample from its whole file, into memory that is no slot's. It says how large that
// becomes.
func (w *worker) setAside(k int, s *sample, steps []recipe.Step, to []byte, store *op.Store) (recipe.Size, error) {
	passes, out, err := op.Fuse(w.fuse[:0], s.size, steps)
	if err != nil {
		return out, err
	}
	w.fuse = passes
	file := s.data()
	w.jobs.SetPasses(k, passes)
	w.jobs.SetPatches(k, nil)
	w.jobs.SetFinish(k, nil, nil)
	w.jobs.SetSeek(k, nil, 0, 0)
	w.jobs.SetBytes(k, w.run.loader.decoder(s), unsafe.Pointer(unsafe.SliceData(file)), len(file), s.size)
	w.jobs.SetSample(k, unsafe.Pointer(unsafe.SliceData(to)), len(to), store)
	return out, nil
}

// takeBack ends what makeHeld and makeShared lent.
func (b *batch) takeBack(lo, hi int) {
	for i := lo; i < hi; i++ {
		if s := &b.samples[i]; s.lent != nil {
			s.lent, s.held = nil, recipe.Size{}
		}
	}
}
