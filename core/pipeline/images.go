package pipeline

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

// images is the kind of work of encoded files, and of images in memory.
type images struct {
	l     *Loader
	files source.Files
}

func (k *images) len() int { return k.files.Len() / k.l.views }

func (k *images) check(indices []int64) error { return within(indices, 0, k.len()) }

// within refuses indices of which there are no samples.
func within(indices []int64, least int64, count int) error {
	for k, i := range indices {
		if i < least || i >= int64(count) {
			return fmt.Errorf("index %d at position %d: the source has %d samples: %w", i, k, count, source.ErrRange)
		}
	}
	return nil
}

// spanLength keeps all workers busy to the end of a batch where there is one batch at a time, and runs long where there
// are more.
func (k *images) spanLength(n int, o *Options) int { return min(max(1, n/(4*o.Workers)), spanMax) }

func (k *images) setUp(_ *Run, b *batch, indices []int64, span int) {
	l := k.l
	for _, index := range indices {
		part := l.part(index)
		for v, view := range l.parts[part].views {
			at := index*int64(l.views) + int64(v)
			b.samples = append(b.samples, sample{index: at, part: part, view: int32(v), mode: view.mode})
		}
	}
	b.cut(len(b.samples), span*l.views)
}

func (k *images) enter(*Run, *batch) error { return nil }

func (k *images) pictures() bool { return true }

func (k *images) shares(*batch, int) bool { return false }

func (k *images) read(ctx context.Context, w *worker, t *reading, i int) {
	k.readFile(ctx, w, t, &t.batch.samples[i])
}

func (k *images) readFile(ctx context.Context, w *worker, t *reading, s *sample) {
	from := t.buffer.Len()
	w.track.Begin(stats.Read, t.batch.sequence, s.index)
	if k.l.held != nil && k.l.held.find(ctx, k.l, t.buffer, s) {
		w.track.End(1)
		return
	}
	stamp, err := k.files.Read(ctx, int(s.index), t.buffer)
	w.track.End(1)
	w.track.Slow(1, func() string { return k.files.Name(int(s.index)) })
	if err != nil {
		s.away(unsized, stats.Unreadable, "%v", err)
		return
	}
	s.buffer, s.from, s.to, s.stamp = t.buffer, from, t.buffer.Len(), stamp
	s.file, s.indexed = int(s.index), k.l.seek != nil
	k.l.Stats.BytesRead.Add(int64(s.to - s.from))
	k.size(s)
}

// size finds out how large an image is that was read.
func (k *images) size(s *sample) {
	if image := k.l.image(s); image != nil {
		s.state, s.size = sized, k.sizeOf(image, int(s.index))
		return
	}
	k.l.sizeEncoded(s, func() string { return k.files.Name(int(s.index)) })
}

// sizeEncoded finds out how large an image is of whose file the bytes are there.
func (l *Loader) sizeEncoded(s *sample, name func() string) {
	header, err := decode.Probe(s.data())
	size := recipe.Size{Width: header.Width, Height: header.Height}
	switch large := l.tooLarge(size); {
	case err != nil:
		s.away(unsized, stats.Unknown, "%s: %v", name(), err)
	case large != "":
		s.away(unsized, stats.TooLarge, "%s: %s", name(), large)
	case s.plain != "" && header.Mode != string(s.plain) && !(header.Format == decode.GIF && s.plain != plan.Colour):
		s.away(unsized, stats.Foreign, "%s: its mode is not %s, or not known", name(), s.plain)
	case !isAsOpened(s.reader, header, s.data()):
		s.away(unsized, stats.Foreign, "%s: %s may make something else of it than Pillow", name(), s.reader)
	default:
		s.state, s.format, s.size, s.isGrey = sized, header.Format, size, header.Mode == string(plan.Grey)
	}
}

// isAsOpened reports whether a reader makes of a file what Pillow's Image.open does.
func isAsOpened(reader plan.Reader, header decode.Header, file []byte) bool {
	switch reader {
	case plan.OpenCV:
		return (header.Mode == string(plan.Colour) || header.Mode == string(plan.Grey)) && decode.AsStored(file)
	case plan.ImageIO:
		return decode.IsImageIO(file)
	case plan.Matplotlib:
		return header.Format != decode.PNG && header.Format != decode.GIF
	case plan.MatplotlibPNG:
		return decode.IsWholeBytes(file)
	case plan.TorchvisionAny:
		return isAsOpened(plan.TorchvisionJPEG, header, file) || isAsOpened(plan.TorchvisionPNG, header, file)
	case plan.TorchvisionJPEG:
		return header.Format == decode.JPEG && (header.Mode == string(plan.Colour) || header.Mode == string(plan.Grey))
	case plan.TorchvisionPNG:
		return decode.IsBytesInOrder(file)
	default:
		return true
	}
}

// sizeOf is how large an image is that is not encoded.
func (k *images) sizeOf(image *plan.Image, i int) recipe.Size {
	if each, ok := k.files.(interface {
		Size(i int) (height, width int64)
	}); ok {
		height, width := each.Size(i)
		return recipe.Size{Width: int32(width), Height: int32(height)}
	}
	return recipe.Size{Width: image.Size.Width, Height: image.Size.Height}
}

func (k *images) work(r *Run, w *worker, b *batch, sp *span) (left bool) {
	r.runSpan(w, b, sp)
	return false
}

// make decodes, carries out recipes and writes into the slot, by one call into C.
func (k *images) make(w *worker, b *batch, sp *span, hi int, steps []recipe.Step) error {
	l := k.l
	if l.labels {
		fields, _ := k.fields(b)
		for i := sp.lo; i < hi; i++ {
			*(*int64)(unsafe.Add(b.slot.Data(), fields[1].Offset+8*i)) = k.files.Label(int(b.samples[i].index))
		}
	}
	return w.makeImages(b, sp.lo, hi, steps)
}

func (k *images) fields(b *batch) ([]Field, int) {
	if len(b.samples) == 0 {
		return nil, 0
	}
	return k.l.layout(len(b.samples)/k.l.views, b.out)
}

func (k *images) laid(*batch) {}

func (k *images) name(_ *batch, index int64) string { return k.files.Name(int(index)) }

func (k *images) close() { k.files.Close() }
