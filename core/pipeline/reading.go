package pipeline

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

// Workers read the files that they decode: from the page cache that is quick, and the bytes are still near when they are
// decoded. From a disk or a server a worker would wait for each file. So while reading takes long, goroutines that do
// nothing else read ahead, file by file, as far as batches are submitted, and workers leave it to them. Rows of a slow file
// they gather beside the workers, a span at a time, straight into the batch.

const (
	// While a source is slow there are at least readersMin readers, and as many as keep the workers busy: the time that a
	// file takes to read over the time that it takes to decode. A server that takes 50 ms a file needs 200 of them to give
	// 4,000 files a second. Each waits in the kernel, in a thread.
	readersMin, readersMax = 16, 256
	// readersSpare more are there, since reads do not come evenly.
	readersSpare = 1.5
	// slowRead is a reading time that counts as long, if it is also slowShare of the time for decoding. A photo of 100 KB
	// in the page cache takes 30 us.
	slowRead  = 250 * time.Microsecond
	slowShare = 0.25
	// readAheadMax bounds the bytes that are read and not decoded yet. Those of the first batch do not count: others may
	// have to wait for it.
	readAheadMax = 128 << 20
	// What one reading counts in the mean times. One that was only unlucky counts as slowRead four times at most where it
	// is decided whether the source is slow, and as unlucky times the mean where readers are counted.
	newest  = 0.125
	unlucky = 8
)

// readers is a run's reading goroutines, and what decides on them, under the run's lock.
type readers struct {
	slow     bool
	serving  int
	inFlight int     // files in their hands
	held     int     // bytes that are read and not decoded yet
	fileSize float64 // mean
	readNs   float64 // mean time of reading a file, at most 4 times slowRead each
	waitNs   float64 // the same, of whatever time
	runNs    float64 // mean time of decoding one, with all that follows
}

// reading is some neighbouring samples of a span that are read in one go.
type reading struct {
	batch  *batch
	span   *span
	lo, hi int
	buffer *source.Buffer
	// A worker reads, unless one of these is set.
	reader bool // a reader does
	lane   bool // a lane's goroutine does
}

// takeReading gives the next samples of a span to be read, at most n.
func (r *Run) takeReading(b *batch, sp *span, n int) *reading {
	t := &reading{batch: b, span: sp, lo: sp.next, hi: min(sp.next+n, sp.hi)}
	// Views of one file are read together.
	for t.hi < sp.hi && r.loader.kind.shares(b, t.hi) {
		t.hi++
	}
	sp.next = t.hi
	if sp.next == sp.hi {
		b.unread--
	}
	return r.takeInHand(t)
}

// takeInHand takes note of a reading that begins.
func (r *Run) takeInHand(t *reading) *reading {
	t.span.reads++
	t.batch.reads++
	r.hands = append(r.hands, t)
	r.readers.inFlight += t.hi - t.lo
	return t
}

// read reads, without the lock meanwhile, and reports whether the samples were left in the meantime: then nobody wants
// them, and whoever reads them is none of the run's any more.
func (r *Run) read(w *worker, t *reading) (left bool) {
	ctx, b, sp := r.ctx, t.batch, t.span
	took, err := r.without(w, b, func() error {
		t.buffer = r.loader.takeBuffer()
		return w.read(ctx, t)
	})
	if r.comeBack(t) {
		return true
	}
	if err == nil {
		r.tookRead(t.hi-t.lo, t.buffer.Len(), took)
	}
	r.finishRead(b, sp, err)
	r.putDown(b)
	return false
}

// comeBack takes note of the end of a reading, and reports whether it was left. The last one of a batch that was left drops it.
func (r *Run) comeBack(t *reading) (left bool) {
	t.batch.reads--
	if t.batch.left {
		if t.buffer != nil {
			r.loader.putBuffer(t.buffer)
		}
		if t.batch.reads == 0 {
			t.batch.drop(r.loader)
		}
		return true
	}
	t.span.reads--
	r.forget(t)
	if t.buffer != nil {
		t.span.buffers = append(t.span.buffers, t.buffer)
		r.readers.held += t.buffer.Len()
	}
	return false
}

// forget takes a reading from the list of those in hand.
func (r *Run) forget(t *reading) {
	for i, other := range r.hands {
		if other == t {
			last := len(r.hands) - 1
			r.hands[i], r.hands[last] = r.hands[last], nil
			r.hands = r.hands[:last]
			r.readers.inFlight -= t.hi - t.lo
			return
		}
	}
}

// tookRead counts the reading of n files.
func (r *Run) tookRead(n int, bytes int, took time.Duration) {
	rs, each := &r.readers, float64(took)/float64(n)
	rs.readNs += newest * (min(each, 4*float64(slowRead)) - rs.readNs)
	rs.waitNs += newest * (min(each, unlucky*max(rs.waitNs, float64(slowRead))) - rs.waitNs)
	rs.fileSize += newest * (float64(bytes)/float64(n) - rs.fileSize)
	r.decideOnReaders()
}

// tookRun counts the decoding of n files.
func (r *Run) tookRun(n int, took time.Duration) {
	r.readers.runNs += newest * (float64(took)/float64(n) - r.readers.runNs)
}

// decideOnReaders starts readers when reading has become slow, and lets them end when it no longer is.
func (r *Run) decideOnReaders() {
	rs := &r.readers
	before := rs.slow
	limit := max(float64(slowRead), slowShare*rs.runNs)
	switch {
	case r.options.SlowSource || r.loader.plan.Source.Remote || rs.readNs > limit:
		rs.slow = true
	case rs.readNs < limit/2:
		rs.slow = false
	}
	if rs.slow != before { // others have to read now
		r.work.Broadcast()
	}
	r.addReader()
}

// addReader starts one more reader, if there are too few, and there is something for it to read. It starts the next.
func (r *Run) addReader() {
	if r.closed || r.readers.serving >= r.readersWanted() {
		return
	}
	if _, sp := r.pickRead(); sp != nil {
		r.readers.serving++
		r.spawn(r.serveReads)
	}
}

func (r *Run) readersWanted() int {
	rs := &r.readers
	if !rs.slow {
		return 0
	}
	if !r.loader.kind.pictures() { // the rows of a span are read side by side
		if rs.inFlight >= readersMax {
			return rs.serving
		}
		return readersMax
	}
	if rs.runNs == 0 {
		return readersMin
	}
	busy := readersSpare * rs.waitNs * float64(r.options.Workers) / rs.runNs
	return int(math.Min(readersMax, math.Max(readersMin, busy)))
}

// serveReads is one reader.
func (r *Run) serveReads() error {
	serving.Add(1)
	defer serving.Add(-1)
	w := &worker{run: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enlist(w, stats.Reader)
	defer r.delist(w)
	for !r.closed && r.readers.serving <= r.readersWanted() {
		if r.drawDue() {
			continue
		}
		b, sp := r.pickRead()
		left := false
		switch {
		case sp == nil:
			r.work.Wait()
		case !r.loader.kind.pictures():
			left = r.loader.kind.work(r, w, b, sp)
		default:
			t := r.takeReading(b, sp, 1)
			t.reader = true
			r.addReader()
			if left = r.read(w, t); !left {
				r.loader.Stats.ReadAhead.Add(int64(t.hi - t.lo))
			}
		}
		if left {
			return errLeft
		}
	}
	r.readers.serving--
	r.wake() // workers may have to read again
	return nil
}

// pickRead finds the earliest span that a reader can take.
func (r *Run) pickRead() (*batch, *span) {
	if !r.loader.kind.pictures() {
		b, sp, _ := r.pick()
		return b, sp
	}
	for b := r.pending.first; b != nil; b = b.later {
		if sp := b.unreadSpan(); sp != nil && (b == r.pending.first || r.readAheadBytes() < r.options.ReadAhead) {
			return b, sp
		}
	}
	return nil, nil
}

// readAheadBytes is what is read and not decoded, and about what is being read.
func (r *Run) readAheadBytes() int {
	return r.readers.held + int(float64(r.readers.inFlight)*r.readers.fileSize)
}

// leaveAfter is how long Reset, Close and Reject wait for reads to come back. After it they are left: with their memory, of
// which nothing is freed or used for something else before they have returned.
const leaveAfter = 50 * time.Millisecond

// leftBehind counts the goroutines that were left in reads and have not returned.
var leftBehind atomic.Int64

// LeftBehind is how many reads were left, of all loaders together, and have not returned.
func LeftBehind() int { return int(leftBehind.Load()) }

// settle waits until nobody has anything of these batches in hand, and lets nothing be taken. Reads that do not come back
// are left, and workers among them replaced. It says how many.
func (r *Run) settle(batches []*batch) (left int) {
	over := false
	alarm := time.AfterFunc(leaveAfter, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		over = true
		r.quiet.Broadcast()
	})
	defer alarm.Stop()
	before := r.workers
	r.hold(batches)
	for _, b := range batches {
		for b.reads > 0 && !over {
			r.quiet.Wait()
		}
	}
	for r.closed && r.expects > 0 && !over {
		r.quiet.Wait()
	}
	for _, b := range batches {
		if b.reads > 0 {
			left += r.leave(b)
		}
	}
	if r.workers < before && !r.closed {
		r.staff()
	}
	return left
}

// leave gives up the reads of a batch: goroutines that return from them end.
func (r *Run) leave(b *batch) int {
	b.left = true
	n := b.reads
	kept := r.hands[:0]
	for _, t := range r.hands {
		if t.batch != b {
			kept = append(kept, t)
			continue
		}
		r.readers.inFlight -= t.hi - t.lo
		switch {
		case t.reader:
			r.readers.serving--
		case !t.lane:
			r.workers--
			r.crew.busy--
		}
	}
	clear(r.hands[len(kept):])
	r.hands = kept
	r.alive -= n
	r.leaveBehind(n)
	return n
}

func (r *Run) leaveBehind(n int) {
	leftBehind.Add(int64(n))
	r.loader.leave(n)
}

// hold waits until nobody makes samples of these batches, and lets none be taken until release, which looks anew what is left to
// do for them. Reads go on.
func (r *Run) hold(batches []*batch) {
	for _, b := range batches {
		b.held = true
	}
	for _, b := range batches {
		for b.running > 0 {
			r.quiet.Wait()
		}
	}
}

func (r *Run) release(batches []*batch) {
	for _, b := range batches {
		b.held = false
		r.relist(b)
	}
	r.wake()
}
