package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/node"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/stats"
)

// spanMax is the most images a worker takes at a time: the JPEG decoder, which takes images by turns, wants about this many,
// and beyond it the crossing into C (25 ns) costs nothing any more.
const spanMax = 16

// Options of a run.
type Options struct {
	Workers  int      // goroutines; 0: one a core
	Streams  int      // random streams, at least 1; batch k draws from stream k mod Streams
	BaseSeed uint64   // stream w starts with seed BaseSeed + w, as torch's worker w, ...
	Seeds    []uint64 // ... or with Seeds[w], where a worker was seeded anew; nil or one a stream
	Poison   bool     // overwrite returned slots

	HoldDirectory bool // relative paths begin at the working directory of this moment, not at that of their reading

	SampleTimeout time.Duration // an image whose file takes longer to read is asked about (AskLate); 0: none is

	Nice int     // niceness of the threads that make samples; 0: as the process's
	CPUs []int32 // cores that they run on; none: those of the process

	Cores *node.Cores // where ranks of this machine that share its cores say what they need; nil: there are none

	// What is else found out by measuring, for tests.
	Span       int  // most images a worker takes at a time; 0: by batch size and workers
	ReadAhead  int  // bytes of files that are read ahead from a slow source, about; 0: readAheadMax
	SlowSource bool // take the source for slow whatever it does
}

// seed is what stream w starts with.
func (o *Options) seed(w int) uint64 {
	if o.Seeds != nil {
		return o.Seeds[w]
	}
	return o.BaseSeed + uint64(w)
}

// Lease is a finished batch. Slot is the reader's until its release.
type Lease struct {
	Sequence int64
	Slot     ring.Slot
	Fields   []Field
	Bytes    int
}

// News is what Next has to tell.
type News int

// Next's answers.
const (
	Empty     News = iota // nothing yet
	Idle                  // nothing, and nothing to come: no batch is outstanding
	Delivered             // a batch
	Asked                 // a question
	Ended                 // the batch's lane has no samples for it
)

// Run is a loader at work. One goroutine at a time may call its methods.
type Run struct {
	loader  *Loader
	options Options
	events  int // eventfd: readable when Next has news
	// directory is where relative paths begin.
	directory local.Directory

	mu       sync.Mutex    // guards all below
	work     sync.Cond     // goroutines wait here for something to do
	quiet    sync.Cond     // the caller waits here for what is in hand to come back, and for goroutines to end
	batches  []*batch      // outstanding, in order of their sequence
	pending  pending       // those of them with something left to do
	unused   []*batch      // for reuse
	hands    []*reading    // readings under way
	streams  []stream      // random streams
	exps     int           // of these, that need an exp
	due      []*stream     // those whose next samples can be drawn for, perhaps
	sequence int64         // of the next batch
	scene    *scene        // room of a script to say which files are opened: the caller's
	lanes    []*lane       // of a loader of streams; each is nil until it is opened
	told     source.Buffer // of a loader of streams: the sample that was asked about last
	workers  int           // goroutines that make samples
	crew     crew          // how many of them may at once
	readers  readers       // goroutines that only read
	expects  int           // goroutines that tell the storage of reads to come
	alive    int           // all goroutines, but for those that were left in a read
	left     int           // reads that Close left
	waiting  int64         // since when Next is called for the first batch, as stats.Now; 0: it is not
	number   int32         // tells the run from all others, by its events
	serves   []*worker     // the tools of all goroutines, also of those that were left in a read
	closed   bool
	broken   error // workers could not be started: every batch fails with this

	followed    int64 // batches that Follow has told of
	followsEach bool  // a stream's next batch draws only when Follow has told of the one before it

	// What is under way ends soon after these: ctx for reads, cancel for C workers, which look at it between images.
	ctx    context.Context
	stop   context.CancelFunc
	cancel int32
}

var runs atomic.Int32

// Start makes a run; its goroutines start with the first batch that needs them.
func (l *Loader) Start(o Options) (*Run, error) {
	if o.Streams < 1 {
		return nil, fmt.Errorf("%d random streams", o.Streams)
	}
	if o.Seeds != nil && len(o.Seeds) != o.Streams {
		return nil, fmt.Errorf("%d seeds for %d random streams", len(o.Seeds), o.Streams)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	if o.ReadAhead <= 0 {
		o.ReadAhead = readAheadMax
	}
	events, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	r := &Run{loader: l, options: o, events: events, number: runs.Add(1)}
	if o.HoldDirectory {
		r.directory = local.HoldDirectory()
	}
	r.begin()
	r.work.L, r.quiet.L = &r.mu, &r.mu
	r.crew.patience = patienceMin
	r.full()
	r.streams = make([]stream, o.Streams)
	for w := range r.streams {
		r.streams[w].mt.Seed(o.seed(w))
	}
	if len(l.scripts) > 0 {
		r.scene = l.newScene()
		for w := range r.streams {
			st := &r.streams[w]
			st.others, st.scene, st.seeded = make([]rng.MT19937, l.generatorsEach()-1), l.newScene(), l.seeds
		}
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		_ = unix.Close(events)
		r.directory.Close()
		return nil, ErrClosed
	}
	l.runs++
	l.ring.SetPoison(o.Poison)
	l.mu.Unlock()
	return r, nil
}

// begin lets reads and decoding go on.
func (r *Run) begin() {
	ctx := r.loader.Stats.Remote.In(context.Background())
	r.ctx, r.stop = context.WithCancel(local.In(ctx, r.directory))
	atomic.StoreInt32(&r.cancel, 0)
}

// end makes what is under way end soon.
func (r *Run) end() {
	r.stop()
	atomic.StoreInt32(&r.cancel, 1) // a span may hold seconds of work
}

// staff starts the workers that are missing: all of them when there is first something to do, which is never in a run of small
// batches of rows; later, one for each that was left in a read.
func (r *Run) staff() {
	first := r.workers == 0
	for r.workers < r.options.Workers {
		r.workers++
		r.spawn(r.serve)
	}
	if first {
		r.decideOnReaders()
	}
}

// wake lets everybody look whether there is something to do.
func (r *Run) wake() {
	r.addReader()
	r.work.Broadcast()
}

// errNoWorker says that a goroutine could not begin to make samples.
var errNoWorker = errors.New("no worker")

// errLeft ends a goroutine that was left in a read and has returned.
var errLeft = errors.New("left")

// spawn starts a goroutine. If it fails, or panics, so do all batches of the run, now and to come: there may be nobody to
// work on them.
func (r *Run) spawn(task func() error) {
	r.alive++
	go func() {
		err := guard(task)
		if errors.Is(err, errLeft) {
			leftBehind.Add(-1)
			r.loader.returned()
			return
		}
		if err != nil {
			r.fail(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.alive--
		r.quiet.Broadcast()
	}()
}

// Events is a file descriptor that is readable when Next has news. It is closed by Close.
func (r *Run) Events() int { return r.events }

// Submit asks for one more batch.
//
//	indices  of its samples; copied
//	seeds    nil: its samples draw from the batch's stream. Else they have generators of their own: sample i draws as after
//	         torch.manual_seed(seeds[i]), random.seed(seeds[i]) and numpy.random.seed(seeds[i] % 2**32), whatever its place,
//	         batch, stream or run; copied
//	lent     nil, or memory of the caller for the finished batch
func (r *Run) Submit(indices []int64, seeds []uint64, lent unsafe.Pointer, lentBytes int) error {
	if seeds != nil && len(seeds) != len(indices) {
		return fmt.Errorf("%d seeds for %d samples", len(seeds), len(indices))
	}
	if err := r.loader.kind.check(indices); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	slot, err := lentSlot(lent, lentBytes)
	if err != nil {
		return err
	}
	b := r.take()
	b.begin(r.loader, r.sequence, r.streamOf(r.sequence))
	b.seeds, b.lent = slices.Clone(seeds), slot
	r.loader.kind.setUp(r, b, indices, r.spanLength(len(indices)))
	r.put(b)
	return nil
}

// lentSlot makes a slot of the caller's memory; none of nil.
func lentSlot(memory unsafe.Pointer, bytes int) (ring.Slot, error) {
	if memory == nil {
		return ring.Slot{}, nil
	}
	return ring.Lend(memory, bytes)
}

func (r *Run) streamOf(sequence int64) *stream { return &r.streams[sequence%int64(len(r.streams))] }

// put lets a batch that was set up begin.
func (r *Run) put(b *batch) {
	r.sequence++
	r.batches = append(r.batches, b)
	r.loader.ring.Expect(len(r.batches) + slotsHeld)
	err := r.broken
	if err == nil {
		err = r.loader.kind.enter(r, b)
	}
	if err != nil {
		r.lose(b, err)
	}
	r.relist(b)
	r.announce()
	if b.undone > 0 {
		r.staff()
		r.wake()
	}
}

// spanLength is how many of n samples a worker takes at a time.
func (r *Run) spanLength(n int) int {
	if r.options.Span > 0 {
		return r.options.Span
	}
	return r.loader.kind.spanLength(n, &r.options)
}

func (r *Run) take() *batch {
	if n := len(r.unused); n > 0 {
		b := r.unused[n-1]
		r.unused = r.unused[:n-1]
		return b
	}
	return new(batch)
}

// Next takes the next finished batch, if it is ready, or a question that must be answered before the run can go on, or
// the error of a batch that is lost; after an error the next call goes on with the next batch.
func (r *Run) Next() (News, Lease, Ask, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Empty, Lease{}, Ask{}, ErrClosed
	}
	if r.waiting == 0 && !r.atOnce() {
		r.waiting = stats.Now()
	}
	for i := 0; r.exps > 0; i++ {
		if st := &r.streams[i]; st.needsExp {
			return Asked, Lease{}, Ask{Kind: AskExp, X: st.exp}, nil
		}
	}
	if len(r.batches) == 0 {
		r.waiting = 0
		return Idle, Lease{}, Ask{}, nil
	}
	for r.batches[0].ghost && r.over(r.batches[0]) {
		r.pop()
	}
	b := r.batches[0]
	if b.running > 0 {
		return Empty, Lease{}, Ask{}, nil
	}
	if b.ask.Kind == 0 && !b.lost {
		r.question(b)
	}
	if b.ask.Kind == 0 && r.options.SampleTimeout > 0 && b.reads > 0 {
		r.askLate(b)
	}
	switch {
	case b.ask.Kind != 0:
		ask := b.ask
		ask.Position /= max(1, r.loader.views)
		return Asked, Lease{}, ask, nil
	case !b.complete():
		r.tooFew()
		return Empty, Lease{}, Ask{}, nil
	case b.ended:
		last := Lease{Sequence: b.sequence}
		r.pop()
		return Ended, last, Ask{}, nil
	case b.failure() != nil:
		lost, err := Lease{Sequence: b.sequence}, b.failure()
		r.loader.Stats.Failed.Add(1)
		r.pop()
		return Empty, lost, Ask{}, err
	}
	lease := r.lease(b)
	waited := r.tookBatch(b)
	r.pop()
	r.adapt(waited)
	return Delivered, lease, Ask{}, nil
}

// lease turns a finished batch's slot into a lease.
func (r *Run) lease(b *batch) Lease {
	fields, size := r.loader.kind.fields(b)
	if fields == nil && !b.slot.Valid() {
		return Lease{Sequence: b.sequence}
	}
	lease := Lease{Sequence: b.sequence, Slot: b.slot, Fields: fields, Bytes: size}
	ring.Lease(b.slot)
	b.slot, b.lent = ring.Slot{}, ring.Slot{}
	r.loader.Stats.Batches.Add(1)
	return lease
}

// atOnce reports whether the first batch was ready as it was submitted: nobody waits, and no clock is asked.
func (r *Run) atOnce() bool {
	return len(r.batches) > 0 && r.batches[0].ready == 0 && r.batches[0].complete()
}

// tookBatch counts how long the taker of a batch has waited for it, and how long it has waited for its taker. It reports whether
// the taker came first.
func (r *Run) tookBatch(b *batch) bool {
	waited, lay := r.event(stats.Wait, b, r.waiting), int64(0)
	if r.waiting != 0 {
		waited.TookNs = stats.Now() - r.waiting
	}
	if b.ready != 0 {
		lay = r.waiting - b.ready
	}
	r.loader.Stats.Did(&waited)
	r.loader.Stats.Stages[stats.HandOut].Observe(time.Duration(lay), 1) // below 0 counts as 0
	return lay < 0
}

// event is something that the run's caller does for a batch.
func (r *Run) event(stage stats.Stage, b *batch, begin int64) stats.Event {
	return stats.Event{
		BeginNs: begin, Batch: b.sequence, Sample: -1, Count: 1, Stage: stage, Role: stats.Caller,
		Loader: r.loader.Stats.Number(), Run: r.number,
	}
}

// pop removes the first batch. Nothing of it may be in hand, unless it was left.
func (r *Run) pop() {
	b := r.batches[0]
	if b.drew {
		b.stream.yielded = b.after
	}
	b.handedOut()
	r.batches = append(r.batches[:0], r.batches[1:]...)
	r.waiting = 0
	r.discard(b)
	r.announce()
}

// Reset forgets all outstanding batches and starts counting at 0. Random streams stay where they are. It says how many
// reads did not come back and were left: they use the caller's memory until then.
func (r *Run) Reset() (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, ErrClosed
	}
	r.end()
	left = r.settle(r.batches)
	r.begin()
	r.dropAll()
	for i := range r.streams {
		r.needExp(&r.streams[i], false)
	}
	r.sequence, r.followed, r.waiting, r.lanes = 0, 0, 0, nil
	r.full()
	r.work.Broadcast()
	return left, nil
}

// dropAll drops all batches, but for those that are left in a read: the read's return drops them.
func (r *Run) dropAll() {
	for _, b := range r.batches {
		r.discard(b)
	}
	clear(r.batches)
	r.batches = r.batches[:0]
}

// discard drops a batch. Nothing of it may be in hand, unless it was left.
func (r *Run) discard(b *batch) {
	for i := range b.spans {
		r.readers.held -= b.spans[i].bytes()
	}
	r.pending.remove(b)
	if b.left {
		return
	}
	b.drop(r.loader)
	r.unused = append(r.unused, b)
}

// Warnings are those of the loader.
func (r *Run) Warnings() error { return r.loader.Warnings() }

// Close stops the goroutines, waits for them (an image's time at most) and frees everything but leased slots. Reads that do
// not come back are left, as by Reset. A seek index that is kept on disk is written if much of it is new.
func (r *Run) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	r.closed = true
	r.end()
	r.work.Broadcast()
	r.left = r.settle(r.batches) + r.leaveExpects()
	for r.alive > 0 {
		r.quiet.Wait()
	}
	r.idle()
	r.dropAll()
	r.batches, r.unused = nil, nil
	r.told.Free()
	r.mu.Unlock()
	_ = unix.Close(r.events)
	r.directory.Close()
	r.loader.startSaving()
	r.loader.mu.Lock()
	r.loader.runs--
	r.loader.mu.Unlock()
	return nil
}

// Left is how many reads Close has left.
func (r *Run) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// announce makes the event descriptor readable if Next has news, and wakes readers, who may go on now. Called with the lock
// held after each change.
func (r *Run) announce() {
	if r.readers.slow { // bytes may be read again in place of those that were used up
		r.wake()
	}
	if r.exps > 0 || len(r.batches) > 0 && r.batches[0].news() {
		one := [8]byte{1}
		// A full counter (EAGAIN) is readable already.
		_, _ = unix.Write(r.events, one[:])
	}
}

// serving counts the goroutines of all runs.
var serving atomic.Int64

// Serving is how many goroutines all runs together have, for leak checks.
func Serving() int { return int(serving.Load()) }

// serve is one worker: it takes the span of the earliest batch that can be worked on, so that a slow image delays its
// own batch only.
func (r *Run) serve() error {
	serving.Add(1)
	defer serving.Add(-1)
	w, err := r.readyWorker()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoWorker, err)
	}
	defer w.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enlist(w, stats.Worker)
	defer r.delist(w)
	for !r.closed {
		if r.drawDue() {
			continue
		}
		b, sp, read := r.pick()
		if sp == nil && r.crew.busy == 0 {
			r.idle()
		}
		may := 0
		if sp != nil {
			may = r.may()
		}
		if r.crew.busy >= may {
			r.work.Wait()
			continue
		}
		r.crew.busy++
		r.borrow(may)
		left := false
		if read {
			left = r.read(w, r.takeReading(b, sp, sp.hi-sp.lo))
		} else {
			left = r.loader.kind.work(r, w, b, sp)
		}
		if left {
			return errLeft
		}
		r.crew.busy--
	}
	r.workers--
	return nil
}

// readyWorker gives a goroutine its thread and its tools.
func (r *Run) readyWorker() (*worker, error) {
	if err := r.settleThread(); err != nil {
		return nil, err
	}
	return newWorker(r)
}

// settleThread gives a goroutine a thread of its own that is as nice, and runs on those cores, as the options say. The thread ends
// with the goroutine.
func (r *Run) settleThread() error {
	o := &r.options
	if o.Nice == 0 && len(o.CPUs) == 0 {
		return nil
	}
	runtime.LockOSThread()
	if o.Nice != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, o.Nice); err != nil {
			return fmt.Errorf("niceness %d: %w", o.Nice, err)
		}
	}
	if len(o.CPUs) > 0 {
		var set unix.CPUSet
		for _, cpu := range o.CPUs {
			set.Set(int(cpu))
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("cores %v: %w", o.CPUs, err)
		}
	}
	return nil
}

// enlist gives a goroutine the lowest number that no other of its role has.
func (r *Run) enlist(w *worker, role stats.Role) {
	taken := func(number int32) bool {
		return slices.ContainsFunc(r.serves, func(o *worker) bool { return o.track.Role == role && o.track.Number == number })
	}
	w.track.Of, w.track.Run, w.track.Role = &r.loader.Stats, r.number, role
	for taken(w.track.Number) {
		w.track.Number++
	}
	r.serves = append(r.serves, w)
}

func (r *Run) delist(w *worker) {
	r.serves = slices.DeleteFunc(r.serves, func(o *worker) bool { return o == w })
}

// without does something for a batch without the lock, and says how long it took.
func (r *Run) without(w *worker, b *batch, task func() error) (time.Duration, error) {
	w.batch = b
	r.mu.Unlock()
	begin := stats.Now()
	err := guard(task)
	took := time.Duration(stats.Now() - begin)
	r.mu.Lock()
	w.batch = nil
	return took, err
}

// runSpan makes a span's samples, without the lock meanwhile.
func (r *Run) runSpan(w *worker, b *batch, sp *span) {
	hi := sp.hi
	if b.drawn < hi {
		hi = sp.upTo
	}
	b.running++
	sp.phase = running
	steps := b.steps
	took, err := r.without(w, b, func() error { return r.loader.kind.make(w, b, sp, hi, steps) })
	b.running--
	r.tookRun(hi-sp.lo, took)
	r.finishRun(b, sp, hi, err)
	r.putDown(b)
}

// putDown tells everybody who waits for it that something of a batch is no longer in hand.
func (r *Run) putDown(b *batch) {
	r.relist(b)
	r.announce()
	if b.running == 0 || b.reads == 0 {
		r.quiet.Broadcast()
	}
}

// pick finds the earliest span that a worker can take, to make its samples or to read them.
func (r *Run) pick() (b *batch, sp *span, read bool) {
	for b := r.pending.first; b != nil; b = b.later {
		if sp := b.runnable(); sp != nil {
			return b, sp, false
		}
		if r.readers.slow {
			continue
		}
		if sp := b.unreadSpan(); sp != nil {
			return b, sp, true
		}
	}
	return nil, nil, false
}

// fail makes all batches of the run fail, now and to come.
func (r *Run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	for _, b := range r.batches {
		r.lose(b, err)
	}
	r.announce()
}

// finishRead takes a span back of which some was read. Its reader calls drawDue next.
func (r *Run) finishRead(b *batch, sp *span, err error) {
	if err != nil {
		r.lose(b, err)
	}
	if sp.next < sp.hi || sp.reads > 0 {
		return
	}
	sp.phase = ready
	r.putOnDue(b.stream)
}

// finishRun takes a span back, whose samples up to hi were made.
func (r *Run) finishRun(b *batch, sp *span, hi int, err error) {
	for i := sp.lo; i < min(hi, len(b.samples)) && !b.doubts; i++ {
		b.doubts = b.samples[i].state == refused
	}
	if hi == sp.hi {
		sp.phase = done
		r.readers.held -= sp.bytes()
		sp.dropBuffers(r.loader)
		if b.undone > 0 {
			b.undone--
		}
		if b.undone == 0 {
			b.ready = stats.Now()
		}
	} else {
		sp.phase, sp.upTo = ready, sp.lo
		r.wake() // the rest may have been drawn meanwhile
	}
	if err != nil && !r.leaveRead(b, sp.lo, err) {
		r.lose(b, err)
	}
}

// lose gives a batch up: its spans that nobody has in hand are not worked on any more, and its stream goes on without
// it.
func (r *Run) lose(b *batch, err error) {
	if b.err == nil {
		b.err = err
	}
	b.lost, b.undone = true, 0
	r.relist(b)
	r.advance(b.stream)
}

// guard turns a panic into an error: one batch is lost, not the process.
func guard(task func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrBug, p, debug.Stack())
		}
	}()
	return task()
}
