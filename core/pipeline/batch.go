package pipeline

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/cache"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// sampleState is how far a sample is. A sample goes from unread to sized or unsized, then to finished or refused.
type sampleState uint8

const (
	unread   sampleState = iota
	sized                // its header told its size: draws can go on
	unsized              // unreadable, or no header that we know: only Pillow can tell
	finished             // in the slot
	refused              // the decoder leaves it to Pillow
)

// sample is one image of a batch on its way: all there is of a sample, or, where its target is an image as well, one of
// two neighbours. Places in a batch count these; what Python hears of counts samples (Run.Next).
type sample struct {
	index    int64 // in the source's files; of recipes, in the batch's images
	part     int32
	view     int32 // 0 for a sample's image, 1 for its target
	mode     recipe.Mode
	state    sampleState
	format   decode.Format
	isGrey   bool // its file, by the header
	size     recipe.Size
	buffer   *source.Buffer
	from, to int // its bytes in there
	stamp    source.Stamp
	// file is its number in the seek index, if that has one for it.
	file    int
	indexed bool
	// seekBytes is what the job was lent of the file's seek index.
	seekBytes int
	steps     [2]int32 // its recipe in batch.steps
	out       recipe.Size
	pixels    mem.Block    // what Pillow supplied, if it did
	why       detour       // unsized, refused
	told      bool         // Doubts has told of it
	plain     plan.Mode    // of a script: the mode that the file has to be of; empty for any
	reader    plan.Reader  // of a script: what reads it
	at        int          // where it is in the slot, of a batch whose images may differ in size
	place     *cache.Place // of its pixels, where these are to be kept
	held      recipe.Size  // of its pixels, if a cache has them: its bytes, or lent; else 0x0
	lent      []byte       // pixels that are to be kept, or that several images share, while its worker makes it
	done      int          // its first steps, which lent pixels that are shared have had
	odd       bool         // of a stream: it lacks something that is not its image
}

// detour is why Python has to make an image, or to say what is wrong with it.
type detour struct {
	stats.Detour
	text string
}

// away sends a sample to Python.
func (s *sample) away(state sampleState, kind stats.Detour, format string, of ...any) {
	s.state, s.why = state, detour{kind, fmt.Sprintf(format, of...)}
}

// whole reports whether Pillow's pixels do not make up for what the core does not make: the batch's own code has to. They are
// RGB, whatever plane a script takes.
func (s *sample) whole(l *Loader) bool {
	return s.reader != plan.ImageOpen || s.mode != recipe.RGB || l.view(s).looks != nil
}

// span is a few neighbouring samples of a batch: what a worker takes at a time.
type span struct {
	lo, hi  int
	phase   phase
	next    int              // first sample that nobody was given to read
	reads   int              // readings in hand
	upTo    int              // samples that may be made before the rest is drawn end here
	buffers []*source.Buffer // between reading and making
}

// bytes is how many were read and are not decoded.
func (sp *span) bytes() (n int) {
	for _, buffer := range sp.buffers {
		n += buffer.Len()
	}
	return n
}

// data is a sample's bytes as they were read; nil if Pillow supplied its pixels, after which they may be gone.
func (s *sample) data() []byte {
	if s.pixels.Valid() {
		return nil
	}
	if s.lent != nil {
		return s.lent
	}
	return s.buffer.Slice(s.from, s.to)
}

type phase uint8

const (
	waiting phase = iota // not read, or not all of it
	ready                // read; its samples may be made as soon as they are drawn
	running
	done
)

// batch is one batch on its way from indices to slot. All fields belong to the run's lock, but for those of samples
// whose span a worker has in hand.
type batch struct {
	sequence int64
	stream   *stream
	samples  []sample
	indices  []int64 // rows and scripts only
	picked   []int64 // of a script of rows: the rows of each field, field after field; empty if they are the indices
	spans    []span
	own      brought // nil where the kind of work needs nothing
	steps    []recipe.Step

	seeds []uint64   // of the samples' own generators; nil if they draw from the stream
	began generators // where its draws began, if they are the stream's; those of a script's First when it was set up
	drawn int        // images whose draws are made
	after positions  // words that the stream had drawn when this batch drew last
	drew  bool       // after is known
	// numbers are those of a script's samples, one sample's after the other's: what its First left, until it draws.
	numbers []uint64
	first   positions // words that the stream had drawn when the batch's files were known
	// columns are those numbers that are given, of all samples drawn for, as long as there is no slot to write them to.
	columns  []uint64
	apart    bool // images may differ in size: there is no slot before all are drawn for
	scripted bool
	unopened bool          // a script cannot say which files there are
	unknown  bool          // a stream's samples that are still to be found
	ended    bool          // there are no samples for it any more
	ghost    bool          // of a stream: it is drawn for and made, and handed out to nobody
	out      []recipe.Size // of every sample of the batch, by view
	uneven   []error       // what Next reports if they differ; the first view's comes first, as its field is stacked first
	slot     ring.Slot
	lent     ring.Slot        // memory of the caller, used as the slot
	rows     []*collate.Batch // rows only: of each field of the samples
	fields   []Field          // rows only: the slot's
	bytes    int              // rows only: all of them

	reads   int   // readings in hand
	running int   // spans that a worker has in hand to make their samples
	unread  int   // spans of which not everything was given to be read
	undone  int   // spans not done; who changes it calls Run.relist
	doubts  bool  // a sample was refused
	held    bool  // nobody may take anything: draws are being taken back
	left    bool  // it is given up, but for the memory that readings in hand use
	stall   Ask   // what stops the draws; Kind 0 for nothing
	ask     Ask   // the question that Next asked last, until it is answered
	err     error // that ends the batch, whatever its samples are
	lost    bool  // no draws and spans of it are worked on any more
	ready   int64 // when its last span was done, as stats.Now

	listed         bool   // it is among the run's pending ones
	earlier, later *batch // its neighbours there
}

// begin makes an empty batch of what was one before.
func (b *batch) begin(l *Loader, sequence int64, st *stream) {
	*b = batch{sequence: sequence, stream: st, samples: b.samples[:0], spans: b.spans[:0], steps: b.steps[:0],
		indices: b.indices[:0], picked: b.picked[:0], out: b.out[:0], uneven: b.uneven[:0], numbers: b.numbers[:0], columns: b.columns[:0]}
	b.out, b.uneven = append(b.out, make([]recipe.Size, l.views)...), append(b.uneven, make([]error, l.views)...)
}

// cut makes spans of at most n samples.
func (b *batch) cut(count, n int) {
	for lo := 0; lo < count; lo += n {
		b.spans = append(b.spans, span{lo: lo, hi: min(lo+n, count), next: lo, upTo: lo})
	}
	b.undone, b.unread = len(b.spans), len(b.spans)
}

// spanOf finds the span that holds a sample.
func (b *batch) spanOf(position int) *span {
	return &b.spans[position/(b.spans[0].hi-b.spans[0].lo)]
}

// runnable finds a span that is read and drawn.
func (b *batch) runnable() *span {
	if b.held || b.undone == 0 {
		return nil
	}
	for i := range b.spans {
		sp := &b.spans[i]
		if sp.phase == ready && (!b.apart || b.slot.Valid()) && (b.drawn >= sp.hi || sp.upTo > sp.lo) {
			return sp
		}
	}
	return nil
}

// unreadSpan finds a span with samples that nobody was given to read.
func (b *batch) unreadSpan() *span {
	if b.held || b.undone == 0 || b.unread == 0 {
		return nil
	}
	for i := range b.spans {
		if sp := &b.spans[i]; sp.next < sp.hi {
			return sp
		}
	}
	return nil
}

// hasPlaceFor reports whether an image goes into the slot. It does not if it differs in size from the batch's first, or as
// long as there is none: until the first sample's target has been seen.
func (b *batch) hasPlaceFor(s *sample) bool {
	return b.slot.Valid() && (b.apart || s.out == b.out[s.view])
}

// placeOf is where image i goes that has a place.
func (b *batch) placeOf(l *Loader, fields []Field, i int) unsafe.Pointer {
	s := &b.samples[i]
	if b.apart {
		return unsafe.Add(b.slot.Data(), s.at)
	}
	return unsafe.Add(b.slot.Data(), fields[s.view].Offset+l.imageBytes(s)*(i/l.views))
}

// failure is what Next reports in place of the batch.
func (b *batch) failure() error {
	if b.err != nil {
		return b.err
	}
	for _, err := range b.uneven {
		if err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether no span is left to do.
func (b *batch) complete() bool { return b.undone == 0 && b.running == 0 && b.reads == 0 }

// news reports whether Next may have something to tell of the batch, as it is the first.
func (b *batch) news() bool {
	return b.running == 0 && (b.stall.Kind != 0 || b.doubts || b.complete())
}

// again lets the finished images among the first n be made anew: they were when there was no slot yet.
func (b *batch) again(n int) {
	for i := range n {
		if s := &b.samples[i]; s.state == finished {
			s.state = sized
		}
	}
}

// makeAgain lets one more worker take the span of a sample whose pixels Pillow has supplied.
func (b *batch) makeAgain(position int) {
	if sp := b.spanOf(position); sp.phase == done {
		sp.phase = ready
		b.undone++
	}
}

// restart forgets draws and finished samples, so that the batch is done over; what is read and what Pillow supplied stays.
// No span may be in hand to be made.
func (b *batch) restart() {
	if b.unopened || b.unknown || b.ended {
		return
	}
	b.drawn, b.steps, b.err, b.lost, b.drew, b.columns = 0, b.steps[:0], nil, false, false, b.columns[:0]
	clear(b.out)
	clear(b.uneven)
	b.stall, b.ask = Ask{}, Ask{}
	b.undone, b.unread = len(b.spans), 0
	b.dropSlot()
	for i := range b.spans {
		sp := &b.spans[i]
		sp.upTo = sp.lo
		if sp.phase != waiting {
			b.restartSpan(sp)
		}
		if sp.next < sp.hi {
			b.unread++
		}
	}
}

// restartSpan forgets what was made of a span's samples. Their files are read again if they are gone.
func (b *batch) restartSpan(sp *span) {
	kept := len(sp.buffers) > 0
	for k := sp.lo; k < sp.hi; k++ {
		switch s := &b.samples[k]; {
		case s.pixels.Valid() || kept && s.state != unsized:
			s.state = sized
		case !kept:
			s.state, s.size, s.held, s.why = unread, recipe.Size{}, recipe.Size{}, detour{}
		}
	}
	if !kept {
		sp.phase, sp.next = waiting, sp.lo
	}
}

// drop frees everything that a batch holds. Nothing of it may be in hand.
func (b *batch) drop(l *Loader) {
	b.dropSlot()
	if b.lent.Valid() {
		ring.Discard(b.lent)
		b.lent = ring.Slot{}
	}
	for i := range b.spans {
		b.spans[i].dropBuffers(l)
	}
	for i := range b.samples {
		if s := &b.samples[i]; s.pixels.Valid() {
			s.pixels.Free()
			s.pixels = mem.Block{}
		}
	}
	if b.own != nil {
		b.own.free()
		b.own = nil
	}
}

func (b *batch) dropSlot() {
	if b.slot.Valid() && b.slot != b.lent {
		ring.Discard(b.slot)
	}
	b.slot = ring.Slot{}
}

func (sp *span) dropBuffers(l *Loader) {
	for _, buffer := range sp.buffers {
		l.putBuffer(buffer)
	}
	clear(sp.buffers)
	sp.buffers = sp.buffers[:0]
}

// Field is one array of a batch.
type Field struct {
	Offset int // bytes from the slot's begin
	Spec   tensor.Spec
}

// fieldAlign keeps every field on a cache line of its own.
const fieldAlign = 64

func align(n int) int { return (n + fieldAlign - 1) &^ (fieldAlign - 1) }

// imageBytes is what one finished image takes.
func (l *Loader) imageBytes(s *sample) int {
	o := l.output[s.view]
	return o.Channels * int(s.out.Width) * int(s.out.Height) * o.DType.Size()
}

// layout says where the fields of a batch of n samples with images lie and how many bytes they take.
func (l *Loader) layout(n int, out []recipe.Size) (fields []Field, size int) {
	var specs []tensor.Spec
	for v, o := range l.output {
		specs = append(specs, tensor.Spec{DType: o.DType, Shape: tensor.Shape{n, o.Channels, int(out[v].Height), int(out[v].Width)}})
	}
	if l.labels {
		specs = append(specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{n}})
	}
	return place(append(specs, l.columnSpecs(n)...)...)
}

// place puts arrays one after the other. More bytes than an int counts are math.MaxInt, which no slot has.
func place(specs ...tensor.Spec) (fields []Field, size int) {
	for _, spec := range specs {
		size = align(size)
		fields = append(fields, Field{size, spec})
		if spec.Check() != nil || spec.Bytes() > math.MaxInt-fieldAlign-size {
			return fields, math.MaxInt
		}
		size += spec.Bytes()
	}
	return fields, size
}

// reserve gives a batch its slot, once the size of its samples is known.
func (b *batch) reserve(l *Loader, size int) error {
	if b.lent.Valid() {
		if b.lent.Size() < size {
			return fmt.Errorf("%w: the memory lent for batch %d has %d bytes, %d are needed", ErrShape, b.sequence, b.lent.Size(), size)
		}
		b.slot = b.lent
		return nil
	}
	slot, err := l.ring.Acquire(size)
	if err != nil {
		return fmt.Errorf("batch %d: %w", b.sequence, err)
	}
	b.slot = slot
	return nil
}
