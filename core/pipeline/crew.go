package pipeline

import (
	"errors"

	"github.com/goloader/goloader/core/node"
)

// crew is how many of a run's workers may have something in hand at once. Which of them does a span changes nothing of it.
//
// All may at first, and again as soon as the caller waits, or half of what it will take next is not ready. Where most of it
// is ready each time, the caller takes batches more slowly than they are made. Then fewer may: the same work is done while
// the caller does its own, and leaves it a core, instead of taking all cores for a moment after each batch.
//
// Where several ranks share the cores of a machine, a run that has all of its rank's share, and use for more, may have more
// workers than its options say for as long as other ranks leave cores: they are started when they are needed, and stay.
type crew struct {
	most     int // that may
	busy     int // that have
	calm     int // batches in a row that lay ready, with most of those behind them
	patience int // so many of them let a worker less work; more after each time that this was too few
	// What other ranks were told.
	told node.Need
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

// may is how many workers may have something in hand, now that there is something to do.
func (r *Run) may() int {
	cores, most := r.options.Cores, r.crew.most
	if cores == nil {
		return most
	}
	greedy := most == r.options.Workers && most >= cores.Share()
	most = max(most, cores.Tell(&r.crew.told, node.Need{Busy: r.crew.busy, Wants: most, Greedy: greedy}))
	r.loader.Stats.Workers.Store(int64(most))
	return most
}

// idle tells other ranks that there is nothing to do.
func (r *Run) idle() {
	if r.options.Cores != nil && r.crew.told != (node.Need{}) {
		r.options.Cores.Tell(&r.crew.told, node.Need{})
	}
}

// borrow has one more worker look for work, if more may than there are, or than are at work, by the options.
func (r *Run) borrow(may int) {
	switch {
	case may <= r.options.Workers || r.crew.busy >= may:
	case r.crew.busy < r.workers:
		r.work.Broadcast()
	default:
		r.workers++
		r.spawn(func() error {
			err := r.serve()
			if errors.Is(err, errNoWorker) { // the others go on
				r.mu.Lock()
				defer r.mu.Unlock()
				r.workers--
				return nil
			}
			return err
		})
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
	c, behind := &r.crew, len(r.batches)
	ready := behind - r.pending.count
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
