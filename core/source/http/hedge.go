package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/stats"
)

const (
	// usually is the share of requests that are answered within pace.usual, and step how fast that is learnt.
	usually = 0.95
	step    = 0.1
	// A second request is sent when the first has taken so many times what is usual, and hedgeMin at least: a quick server
	// gains nothing by it. The first learnFirst requests only learn.
	hedgeAfter = 1.5
	hedgeMin   = 20 * time.Millisecond
	learnFirst = 32
	// Second requests are at most so large a share of all, with hedgesAhead that may be saved up: a server that is slow to
	// everybody is not asked twice.
	hedgeShare  = 0.05
	hedgesAhead = 8
)

var errPanicked = fmt.Errorf("%w: a request panicked", source.ErrUnreadable)

// pace knows how soon a server usually answers.
type pace struct {
	off   atomic.Bool  // no second requests
	usual atomic.Int64 // nanoseconds within which usually requests are answered
	seen  atomic.Int64 // requests
	spent atomic.Int64 // second requests
}

// took learns from a request that was answered, or was not within so long a time.
//
// The estimate goes up by a large step for each that took longer and down by a small one for each that did not, so that it
// stays where a share of usually is below it.
func (p *pace) took(d time.Duration) {
	usual := p.usual.Load()
	switch seen := p.seen.Add(1); {
	case seen <= learnFirst:
		usual = max(usual, int64(d))
	case int64(d) > usual:
		usual = int64(float64(usual) * math.Exp(step*usually))
	default:
		usual = int64(float64(usual) * math.Exp(-step*(1-usually)))
	}
	p.usual.Store(max(usual, 1)) // one that another has stored meanwhile is as good
}

// patience is how long a request is waited for before a second is sent. It is longer where few second requests are left, so that
// there always is one for what never comes.
func (p *pace) patience(left float64) time.Duration {
	longer := hedgesAhead / min(max(left, 1), hedgesAhead)
	return time.Duration(longer * max(hedgeAfter*float64(p.usual.Load()), float64(hedgeMin)))
}

// learnt says that a second request may be sent.
func (p *pace) learnt() bool { return p.seen.Load() >= learnFirst && !p.off.Load() }

// left is how many second requests there may be now.
func (p *pace) left() float64 {
	return hedgesAhead + hedgeShare*float64(p.seen.Load()) - float64(p.spent.Load())
}

// due says how much longer is to be waited for what was waited for so long. If that is 0 a second request is to be sent, which is
// taken from what budget has left of them.
func (p *pace) due(waited time.Duration, budget *pace) time.Duration {
	left := budget.left()
	if longer := p.patience(left) - waited; longer > 0 {
		return longer
	}
	if left <= 0 {
		return hedgeMin
	}
	budget.spent.Add(1)
	return 0
}

// hedged asks, and once more if the answer is long in coming: the first to answer counts, and the other is left.
// Source: Dean and Barroso, The Tail at Scale, 2013: hedged requests.
func (p *pace) hedged(ctx context.Context, ask func(ctx context.Context) (*answer, error)) (*answer, error) {
	type result struct {
		answer *answer
		err    error
		of     int
	}
	begin := time.Now()
	if !p.learnt() {
		a, err := ask(ctx)
		if err == nil {
			p.took(time.Since(begin))
		}
		return a, err
	}
	results := make(chan result, 2)
	var leave [2]context.CancelFunc
	send := func(i int) {
		own, cancel := context.WithCancel(ctx)
		leave[i] = cancel
		go func() {
			r := result{err: errPanicked, of: i}
			defer func() {
				if recover() != nil || r.err != nil {
					cancel()
				}
				results <- r
			}()
			if r.answer, r.err = ask(own); r.err == nil {
				r.answer.leave = cancel
			}
		}()
	}
	send(0)
	patience := p.patience(p.left())
	alarm := time.NewTimer(patience)
	defer alarm.Stop()
	for wait, late := patience, false; wait > 0; late = true {
		select {
		case r := <-results:
			if r.err == nil && !late {
				p.took(time.Since(begin))
			}
			return r.answer, r.err
		case <-alarm.C:
		}
		if !late {
			p.took(patience)
		}
		wait = p.due(time.Since(begin), p)
		alarm.Reset(wait)
	}
	stats.RemoteOf(ctx).Hedged.Add(1)
	send(1)
	r := <-results
	if r.err != nil || passing[r.answer.StatusCode] { // the other may do better
		other := <-results
		if r.err == nil && other.err != nil {
			r, other = other, r
		}
		if r.err == nil {
			r.answer.Close()
		}
		return other.answer, other.err
	}
	leave[1-r.of]()
	go func() {
		if other := <-results; other.err == nil {
			other.answer.Close()
		}
	}()
	return r.answer, nil
}

// hurry ends a body with errSlow once its next bytes are long in coming: the rest can be asked for by one more request.
func (s *Store) hurry(a *answer) {
	if !s.bodies.learnt() {
		return
	}
	a.patience = s.bodies.patience(s.pace.left())
	a.rush = time.AfterFunc(a.stall, func() { // Read sets it to less
		if a.ctx.Err() != nil {
			return
		}
		if wait := s.bodies.due(time.Since(time.Unix(0, a.asked.Load())), &s.pace); wait > 0 {
			a.rush.Reset(wait)
			return
		}
		a.stop(errSlow)
	})
}

// came learns from a body that was read, or was left to be asked for anew, which it reports.
func (s *Store) came(a *answer, err error) (slow bool) {
	slow = errors.Is(err, errSlow)
	if slow {
		a.count.Hedged.Add(1)
	}
	if slow || err == nil {
		s.bodies.took(a.waited)
	}
	return slow
}
