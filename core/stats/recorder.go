package stats

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// EventsMax is how many events a Recorder keeps: 768 KB. Workers that read from the page cache and decode make about 5,000 a
// second each.
const EventsMax = 1 << 14

// Role is what kind of goroutine did something.
type Role int32

// The roles.
const (
	Caller Role = iota // who submits and takes batches
	Worker
	Reader // who only reads
)

// Event is something that was done.
type Event struct {
	BeginNs int64 `json:"begin_ns"` // on the kernel's monotonic clock, as Python's time.perf_counter_ns
	TookNs  int64 `json:"took_ns"`
	Batch   int64 `json:"batch"`  // its number in its run
	Sample  int64 `json:"sample"` // the first of Count, as the source or a batch's recipes count them; -1 for all of a batch
	Loader  int32 `json:"loader"` // Loader.Number
	Run     int32 `json:"run"`    // pipeline's number for it
	Role    Role  `json:"role"`
	Worker  int32 `json:"worker"` // among those of its role in the run
	Stage   Stage `json:"stage"`
	Count   int32 `json:"count"` // samples that it was done for in one go
}

// slot is an Event on its way: turn is odd while it is written, and 2n + 2 once event n is in it.
type slot struct {
	turn  atomic.Uint64
	words [5]atomic.Int64
}

// Recorder keeps the last events. Adding takes no lock and no memory of the heap; the zero value is ready.
type Recorder struct {
	next    atomic.Uint64
	watched atomic.Int64 // somebody reads along until then, as Now
	slots   [EventsMax]slot
}

// Recorded has the events of all loaders.
var Recorded Recorder

const (
	roleBits   = 2
	workerBits = 14
	countBits  = 16
)

// Add keeps an event in place of the oldest one. An event is lost if that one is still being written.
func (r *Recorder) Add(e *Event) {
	n := r.next.Add(1) - 1
	s, writing := &r.slots[n%EventsMax], 2*n+1
	if turn := s.turn.Load(); turn&1 == 1 || turn > writing || !s.turn.CompareAndSwap(turn, writing) {
		return
	}
	what := int64(e.Stage)<<countBits | int64(min(e.Count, 1<<countBits-1))
	who := int64(e.Worker)<<roleBits | int64(e.Role)
	s.words[0].Store(e.BeginNs)
	s.words[1].Store(e.TookNs)
	s.words[2].Store(e.Batch<<(roleBits+workerBits) | who&(1<<(roleBits+workerBits)-1))
	s.words[3].Store(e.Sample<<(countBits+8) | what)
	s.words[4].Store(int64(e.Loader)<<32 | int64(uint32(e.Run)))
	s.turn.Store(writing + 1)
}

func (s *slot) event() (e Event) {
	e.BeginNs, e.TookNs = s.words[0].Load(), s.words[1].Load()
	who, what, of := s.words[2].Load(), s.words[3].Load(), s.words[4].Load()
	e.Batch, e.Worker, e.Role = who>>(roleBits+workerBits), int32(who>>roleBits&(1<<workerBits-1)), Role(who&(1<<roleBits-1))
	e.Sample, e.Stage, e.Count = what>>(countBits+8), Stage(what>>countBits&0xff), int32(what&(1<<countBits-1))
	e.Loader, e.Run = int32(of>>32), int32(of)
	return e
}

// What is over sooner than eventMin is no event: nobody would see it. What is over sooner than briefMax is one while somebody reads
// along, whose last Read was less than watchNs ago: to keep it takes 0.2 us, and a small batch has several.
const (
	eventMin = 1_000
	briefMax = 10_000
	watchNs  = 10_000_000_000
)

// keeps reports whether an event is worth its place.
func (r *Recorder) keeps(e *Event) bool {
	return e.TookNs >= briefMax || e.TookNs >= eventMin && e.BeginNs < r.watched.Load()
}

// Read copies events from number `from` on, in the order in which they were added; from a negative number none. It says how many,
// the number to go on from, and how many in between are gone.
func (r *Recorder) Read(from int64, to []Event) (n int, next, lost int64) {
	r.watched.Store(Now() + watchNs)
	head := int64(r.next.Load())
	if from < 0 {
		return 0, head, 0
	}
	next = min(from, head)
	if first := head - EventsMax; next < first {
		lost, next = first-next, first
	}
	for ; next < head && n < len(to); next++ {
		s, whole := &r.slots[next%EventsMax], uint64(2*next+2)
		turn := s.turn.Load()
		// Whoever is about to write it is given half a round.
		if turn < whole && head-next < EventsMax/2 {
			break
		}
		e := s.event()
		if turn != whole || s.turn.Load() != whole {
			lost++
			continue
		}
		to[n] = e
		n++
	}
	return n, next, lost
}

// The monotonic clock of Go begins at another moment than the kernel's.
var start, startNs = func() (time.Time, int64) {
	var kernel unix.Timespec
	before := time.Now()
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &kernel) != nil {
		return before, 0
	}
	return before.Add(time.Since(before) / 2), kernel.Nano()
}()

// Now is the time on the kernel's monotonic clock, in nanoseconds.
func Now() int64 { return startNs + int64(time.Since(start)) }

// Track is what one goroutine does, or did last. That goroutine writes it, and any may read it.
type Track struct {
	Of     *Loader
	Run    int32
	Role   Role
	Number int32

	begin         atomic.Int64 // 0 while the rest is written, and before anything was done
	took          atomic.Int64 // -1 while it is done
	stage         atomic.Int64
	batch, sample atomic.Int64
}

// Begin notes what is done from now on.
func (t *Track) Begin(stage Stage, batch, sample int64) {
	t.begin.Store(0)
	t.took.Store(-1)
	note(&t.stage, int64(stage))
	note(&t.batch, batch)
	note(&t.sample, sample)
	t.begin.Store(Now())
}

// note stores a number, which costs 20 times as much as to see that it is there.
func note(at *atomic.Int64, n int64) {
	if at.Load() != n {
		at.Store(n)
	}
}

// End counts what was begun as done for n samples.
func (t *Track) End(n int) { t.EndTwo(n, Stage(t.stage.Load()), 0) }

// EndTwo counts what was begun as done, and behind it another stage of the same samples that took so long.
func (t *Track) EndTwo(n int, second Stage, took time.Duration) {
	e := t.last()
	whole := Now() - e.BeginNs
	t.took.Store(whole)
	if n == 0 {
		return
	}
	e.Count, e.TookNs = int32(n), max(0, whole-int64(took))
	t.Of.Did(&e)
	if second != e.Stage {
		e.Stage, e.BeginNs, e.TookNs = second, e.BeginNs+e.TookNs, int64(took)
		t.Of.Did(&e)
	}
}

// Slow keeps what was done last, for n samples, if it is among the slowest. Its name is asked for then alone.
func (t *Track) Slow(n int, name func() string) {
	each := t.took.Load() / int64(n)
	if each > t.Of.Slowest.least.Load() {
		t.Of.Slowest.add(Slow{name(), t.last().Stage.String(), each})
	}
}

func (t *Track) last() Event {
	return Event{
		BeginNs: t.begin.Load(), TookNs: t.took.Load(), Batch: t.batch.Load(), Sample: t.sample.Load(),
		Stage: Stage(t.stage.Load()), Loader: t.Of.Number(), Run: t.Run, Role: t.Role, Worker: t.Number,
	}
}

// Now is what the goroutine does, with TookNs -1, or what it did last; false if nothing yet.
func (t *Track) Now() (Event, bool) {
	for {
		e := t.last()
		if e.BeginNs == t.begin.Load() {
			return e, e.BeginNs != 0
		}
	}
}
