package pipeline

// crew is how many of a run's workers may have something in hand at once. Which of them does a span changes nothing of it.
//
// All may at first, and again as soon as the caller waits, or half of what it will take next is not ready. Where most of it
// is ready each time, the caller takes batches more slowly than they are made. Then fewer may: the same work is done while
// the caller does its own, and leaves it a core, instead of taking all cores for a moment after each batch.
type crew struct {
	most     int // that may
	busy     int // that have
	calm     int // batches in a row that lay ready, with most of those behind them
	patience int // so many of them let a worker less work; more after each time that this was too few
}

const (
	patienceMin = 2
	patienceMax = 1 << 10
)

// full lets all workers work.
func (r *Run) full() {
	r.crew.calm = 0
	r.setCrew(r.options.Workers)
}

func (r *Run) setCrew(most int) {
	grows := most > r.crew.most
	r.crew.most = most
	r.loader.Stats.Workers.Store(int64(most))
	if grows {
		r.work.Broadcast()
	}
}

// tooFew lets all work, as the caller waits: what would otherwise be made one after the other is made side by side.
func (r *Run) tooFew() {
	if c := &r.crew; c.most < r.options.Workers {
		c.patience = min(2*c.patience, patienceMax)
	}
	r.full()
}

// adapt learns from a batch that was taken and is no longer outstanding.
func (r *Run) adapt(waited bool) {
	c, behind, ready := &r.crew, len(r.batches), 0
	for _, b := range r.batches {
		if b.complete() {
			ready++
		}
	}
	switch {
	case waited || 2*ready < behind:
		r.tooFew()
	case behind == 0 || 4*ready < 3*behind:
		c.calm = 0
	case c.most > 1:
		if c.calm++; c.calm >= max(c.patience, behind) {
			c.calm = 0
			r.setCrew(c.most - max(1, c.most/4))
		}
	}
}
