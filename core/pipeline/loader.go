// Package pipeline compiles a plan and runs it with goroutines: it alone joins sources, decoders, draws, ops and slots.
//
// A Loader is a plan over a source. A Run is that loader at work: batches of indices go in (Submit), finished batches
// come out in the same order (Next), whatever the order in which workers finish. What Go cannot know (pixels of a
// format that only Pillow decodes, torch's exp) a Run asks for; it never calls back.
package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"
	"time"
	"unsafe"

	"github.com/goloader/goloader/core/decode"
	"github.com/goloader/goloader/core/decode/bmp"
	"github.com/goloader/goloader/core/decode/gif"
	"github.com/goloader/goloader/core/decode/jpeg"
	"github.com/goloader/goloader/core/decode/png"
	"github.com/goloader/goloader/core/decode/tiff"
	"github.com/goloader/goloader/core/decode/webp"
	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/node"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/seek"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

// Errors of a Run, by kind.
var (
	// ErrShape says that samples of one batch differ in shape, in torch.stack's words.
	ErrShape = errors.New("stack expects each tensor to be equal size")
	// ErrBug is a panic of a worker.
	ErrBug = errors.New("bug in goloader's core")
	// ErrState says that a call does not fit what the run is doing: an answer to no question, say.
	ErrState = errors.New("not now")
	// ErrClosed says that the run or its loader is closed.
	ErrClosed = errors.New("closed")
)

// decoders is the table of formats that are decoded here; all others go through Pillow.
var decoders = map[decode.Format]unsafe.Pointer{
	decode.JPEG: jpeg.Decoder(),
	decode.PNG:  png.Decoder(),
	decode.WebP: webp.Decoder(),
	decode.BMP:  bmp.Decoder(),
	decode.GIF:  gif.Decoder(),
	decode.TIFF: tiff.Decoder(),
}

// asked are the decoders that only a plan that names them has.
var asked = map[decode.Format]plan.Decoder{
	decode.WebP: plan.WebP,
	decode.BMP:  plan.BMP,
	decode.GIF:  plan.GIF,
	decode.TIFF: plan.TIFF,
}

// planeDecoders is the same for images that keep the one plane that their files have.
var planeDecoders = map[recipe.Mode]map[decode.Format]unsafe.Pointer{
	recipe.Palette: {
		decode.PNG:  png.PaletteDecoder(),
		decode.BMP:  bmp.PaletteDecoder(),
		decode.GIF:  gif.PaletteDecoder(),
		decode.TIFF: tiff.PaletteDecoder(),
	},
	recipe.Grey: {
		decode.JPEG: jpeg.Decoder(), // of a file that is grey: its planes are all the same
		decode.PNG:  png.GreyDecoder(),
		decode.BMP:  bmp.GreyDecoder(),
		decode.GIF:  gif.GreyDecoder(),
		decode.TIFF: tiff.GreyDecoder(),
	},
}

// decoder is what decodes an image here; nil if it goes through Pillow.
func (l *Loader) decoder(s *sample) unsafe.Pointer {
	if name, ok := asked[s.format]; ok && !slices.Contains(l.plan.Pillow.Decoders, name) {
		return nil
	}
	if s.mode != recipe.RGB {
		if s.format == decode.JPEG && !s.isGrey {
			return nil
		}
		return planeDecoders[s.mode][s.format]
	}
	return decoders[s.format]
}

var modes = map[plan.Mode]recipe.Mode{
	plan.Palette: recipe.Palette,
	plan.Grey:    recipe.Grey,
	plan.Colour:  recipe.RGB,
}

var layouts = map[plan.Layout]op.Layout{
	plan.Interleaved: op.Interleaved,
	plan.Planar:      op.Planar,
	plan.Flat:        op.Flat,
}

var passOrders = map[plan.PassOrder]op.PassOrder{
	plan.HorizontalFirst: op.HorizontalFirst,
	plan.TallFirst:       op.TallFirst,
	plan.ShrinkFirst:     op.ShrinkFirst,
}

// A buffer that had to grow beyond this is not kept: it held a run of unusually large files.
const bufferKeep = 64 << 20

// slotsHeld is how many batches a training loop holds beside those under way: the one it works on, and the one before until
// its variable is assigned again.
const slotsHeld = 2

// SaveWait is how long a loader's Close waits for its seek index to be written: 512 MiB to a slow disk, not to one that is gone.
const SaveWait = 5 * time.Second

// part is a stretch of the source's samples with transforms of their own.
type part struct {
	end    int64        // first sample behind it
	views  []view       // the images of a sample: one, or also the one that is its target
	image  *plan.Image  // nil for files
	target *plan.Target // nil for labels
	random bool         // something is drawn for a sample
}

// view is what becomes of one of a sample's images.
type view struct {
	program *draw.Program
	store   *op.Store
	mode    recipe.Mode
	looks   *looks // nil unless it matters which pixels an image has
}

// together reports whether the images of a sample share what is drawn.
func (p *part) together() bool { return p.target != nil && p.target.Draws == plan.Together }

// Loader is a compiled plan over a source. Its methods may be called from any goroutine.
type Loader struct {
	Stats stats.Loader

	plan   *plan.Plan
	kind   kind
	parts  []part        // empty but for images of a plan
	views  int           // images a sample
	output []plan.Output // of each
	labels bool          // a sample has a label as well
	random bool          // any part draws
	// scripts make the samples of a scripted source, those of each part; none of all others.
	scripts []scriptPart
	// drawsFirst are the generators that scripts draw from to say which files are opened; drawsThen those for all else.
	drawsFirst, drawsThen which
	seeds                 bool // one puts generators into states
	numbersEach           int  // of a scripted sample: registers, and what vectors hold
	exps                  draw.Answers
	seek                  *seek.Index       // nil if no seek index is kept
	held                  *held             // nil if no pixels are kept
	asIs                  map[int]*op.Store // by planes, of pixels that images share; nil if they share none

	mu      sync.Mutex
	ring    *ring.Ring
	workers []*op.Worker     // idle; decoder states and tables are kept between epochs
	buffers []*source.Buffer // idle
	runs    int
	// lingering is how many may still use the loader when it is closed: goroutines that were left in a read, and Close itself.
	lingering int
	// warnings that nobody has taken yet
	warnings []error
	closed   bool
	saving   chan struct{} // nil but while the seek index is being written; closed when it is
	unsaved  bool          // somebody asked for another save meanwhile
}

// Open compiles a plan over a source of files, which the loader then owns.
func Open(p *plan.Plan, files source.Files) (*Loader, error) {
	l := &Loader{plan: p, ring: ring.New(slotsHeld), output: []plan.Output{p.Output}}
	l.kind = &images{l, files}
	if l.views = p.Source.Kind.Views(); l.views == 2 {
		l.output = append(l.output, p.Target)
	}
	l.labels = l.views == 1
	if p.Source.Kind == plan.Scripted {
		return l.openScripted(files)
	}
	end := int64(0)
	for i, pp := range p.Parts {
		end += pp.Count
		l.parts = append(l.parts, part{end: end, image: pp.Image, target: pp.Target})
		if err := l.compile(&l.parts[i], pp); err != nil {
			l.free()
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		l.random = l.random || l.parts[i].random
	}
	if end != int64(l.Len()) || files.Len()%l.views != 0 {
		l.free()
		return nil, fmt.Errorf("the plan's parts have %d samples, the source %d files, %d a sample", end, files.Len(), l.views)
	}
	if err := l.openSeek(files.Len(), files.Name); err != nil {
		l.free()
		return nil, err
	}
	return l, nil
}

// compile makes the views of a part.
func (l *Loader) compile(to *part, p plan.Part) error {
	program, err := draw.Compile(p, l.plan.RNG)
	if err != nil {
		return err
	}
	store, err := op.NewStore(l.plan.Output.Channels, l.plan.Output.DType.Size(), p.Table)
	if err != nil {
		return err
	}
	to.views = append(to.views, view{program: program, store: store, mode: recipe.RGB})
	to.random = program.Random()
	if p.Target == nil {
		return nil
	}
	if program, err = draw.CompileTarget(p.Target, l.plan.RNG); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if store, err = op.NewStore(l.plan.Target.Channels, l.plan.Target.DType.Size(), p.Target.Table); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	to.views = append(to.views, view{program: program, store: store, mode: modes[p.Target.Mode]})
	to.random = to.random || program.Random()
	return nil
}

// openSeek makes the seek index that the plan asks for, of n files with names, and fills it from the last run's. What it cannot
// use is no error, but a warning: without an index everything is the same, only slower.
func (l *Loader) openSeek(n int, name func(i int) string) error {
	want := l.plan.SeekIndex
	if want == nil || n == 0 {
		return nil
	}
	index, err := seek.Open(n, want.BytesMax, l.seekName(n, name))
	if errors.Is(err, seek.ErrTooSmall) {
		return nil
	}
	if err != nil {
		return err
	}
	l.seek = index
	if want.Path != "" && index.First() {
		if err := index.Load(want.Path, name); err != nil {
			l.warnings = append(l.warnings, fmt.Errorf("the saved seek index is not used: %w", err))
		}
	}
	return nil
}

// seekName is the same for all ranks of a machine that have seek indexes of the same files in the same order; "" if there are none.
func (l *Loader) seekName(n int, name func(i int) string) string {
	if name == nil || !node.Shares() {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00%s\x00", l.plan.SeekIndex.BytesMax, l.plan.SeekIndex.Path)
	for i := range n {
		_, _ = io.WriteString(sum, name(i)) // a hash takes everything
		_, _ = sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// saves reports whether the seek index is kept for later runs.
func (l *Loader) saves() bool { return l.seek != nil && l.plan.SeekIndex.Path != "" }

// save writes the seek index. One goroutine at a time.
func (l *Loader) save(all bool) {
	name := func(i int) string { return l.kind.name(nil, int64(i)) }
	if err := guard(func() error { return l.seek.Save(l.plan.SeekIndex.Path, name, all) }); err != nil {
		l.warn(fmt.Errorf("the seek index is not saved: %w", err))
	}
}

func (l *Loader) warn(warning error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, warning)
}

// startSaving has the seek index written if enough is new, while the caller goes on.
func (l *Loader) startSaving() {
	if !l.saves() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saving != nil {
		l.unsaved = true
		return
	}
	done := make(chan struct{})
	l.saving = done
	go func() {
		defer close(done)
		for again := true; again; {
			l.save(false)
			l.mu.Lock()
			again, l.unsaved = l.unsaved, false
			if !again {
				l.saving = nil
			}
			l.mu.Unlock()
		}
	}()
}

// Settle waits until the seek index is not being written, at most until a deadline, at which it warns.
func (l *Loader) Settle(deadline time.Time) {
	if saving := l.savingNow(); saving != nil {
		l.await(saving, deadline)
	}
}

// savingNow is closed when the save under way is over; nil if there is none.
func (l *Loader) savingNow() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.saving
}

// await waits for the end of a save, and reports whether it came in time.
func (l *Loader) await(saved <-chan struct{}, deadline time.Time) bool {
	select {
	case <-saved:
		return true
	case <-time.After(time.Until(deadline)):
		l.warn(fmt.Errorf("%s: the seek index is not saved yet: it is not waited for any longer", l.plan.SeekIndex.Path))
		return false
	}
}

// Warnings are what a user should know of that changes no batch; each is given once.
func (l *Loader) Warnings() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := errors.Join(l.warnings...)
	l.warnings = nil
	return all
}

// Snapshot is the loader's counters at this moment.
func (l *Loader) Snapshot() stats.Snapshot {
	s := l.Stats.Snapshot()
	if l.seek != nil {
		usage := l.seek.Usage()
		s.SeekEntries, s.SeekBytes = usage.Entries, usage.Bytes
	}
	if n := l.Stats.Decoded.Load(); n > 0 {
		s.AllDecoded = int64(float64(l.Stats.DecodedBytes.Load()) / float64(n) * float64(l.Len()))
	}
	return s
}

// Len is the number of samples in the source; 0 if there is none.
func (l *Loader) Len() int { return l.kind.len() }

// Close saves the seek index and frees what the loader holds, now or when the last read that was left has returned; leased
// batches stay readable. All its runs must be closed. A save that takes longer than SaveWait is left as a read is.
func (l *Loader) Close() error {
	if err := l.retire(); err != nil {
		return err
	}
	if !l.saves() {
		l.returned()
		return nil
	}
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		if saving := l.savingNow(); saving != nil {
			<-saving
		}
		l.save(true)
		l.returned()
	}()
	if !l.await(saved, time.Now().Add(SaveWait)) {
		leftBehind.Add(1)
		go func() {
			<-saved
			leftBehind.Add(-1)
		}()
	}
	return nil
}

// leave counts goroutines that are left in a read.
func (l *Loader) leave(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lingering += n
}

// retire makes sure that nobody uses the loader, now or later.
func (l *Loader) retire() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.runs > 0 {
		return fmt.Errorf("%d runs of this loader are open: %w", l.runs, ErrState)
	}
	l.closed = true
	l.lingering++ // Close itself
	return nil
}

// returned takes note of one who lingered; the last one frees the loader if it is closed.
func (l *Loader) returned() {
	l.mu.Lock()
	l.lingering--
	last := l.closed && l.lingering == 0
	l.mu.Unlock()
	if last {
		l.free()
	}
}

// Left is how many reads and saves go on behind Close.
func (l *Loader) Left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lingering
}

func (l *Loader) free() {
	if l.seek != nil {
		l.seek.Close()
	}
	if l.held != nil {
		l.held.store.Close()
	}
	for _, store := range l.asIs {
		store.Close()
	}
	l.kind.close()
	for _, w := range l.workers {
		w.Close()
	}
	for _, b := range l.buffers {
		b.Free()
	}
	for _, p := range l.parts {
		for _, v := range p.views {
			v.store.Close()
		}
	}
	l.ring.Close()
	l.workers, l.buffers, l.parts = nil, nil, nil
}

// part finds the part that a sample belongs to.
func (l *Loader) part(index int64) int32 {
	if len(l.parts) == 1 {
		return 0
	}
	return int32(sort.Search(len(l.parts), func(i int) bool { return index < l.parts[i].end }))
}

// view is what becomes of an image of a plan.
func (l *Loader) view(s *sample) *view { return &l.parts[s.part].views[s.view] }

// image is how a sample's pixels lie in the source; nil if it is a file to be decoded.
func (l *Loader) image(s *sample) *plan.Image {
	if len(l.parts) == 0 {
		return nil // recipes
	}
	return l.parts[s.part].image
}

func (l *Loader) takeWorker() (*op.Worker, error) {
	l.mu.Lock()
	if n := len(l.workers); n > 0 {
		w := l.workers[n-1]
		l.workers = l.workers[:n-1]
		l.mu.Unlock()
		return w, nil
	}
	l.mu.Unlock()
	return op.OpenWorker(passOrders[l.plan.Pillow.PassOrder])
}

func (l *Loader) putWorker(w *op.Worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers = append(l.workers, w)
}

func (l *Loader) takeBuffer() *source.Buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.buffers); n > 0 {
		b := l.buffers[n-1]
		l.buffers = l.buffers[:n-1]
		return b
	}
	return new(source.Buffer)
}

func (l *Loader) putBuffer(b *source.Buffer) {
	b.Reset(bufferKeep)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffers = append(l.buffers, b)
}

// tooLarge says why an image of some size is left to Pillow, if it is.
func (l *Loader) tooLarge(size recipe.Size) string {
	switch limit := l.plan.Pillow.MaxPixels; {
	case limit > 0 && size.Pixels() > limit: // Pillow warns or raises when the file is opened, before any draw
		return fmt.Sprintf("%v pixels, more than PIL.Image.MAX_IMAGE_PIXELS", size)
	case size.Pixels() > op.PixelsMax:
		return fmt.Sprintf("%v: %v", size, op.ErrTooLarge)
	default:
		return ""
	}
}
