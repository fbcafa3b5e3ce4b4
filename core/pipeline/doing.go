package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goloader/goloader/core/stats"
)

// Lines of Doing about workers: an error's note is to be short.
const doingMax = 10

var roles = map[stats.Role]string{stats.Worker: "worker", stats.Reader: "reader"}

// What is being done, and what was, to a file or to rows.
var doings = map[stats.Stage][2]string{
	stats.Read:   {"reading", "read"},
	stats.Decode: {"decoding", "decoded"},
	stats.Gather: {"gathering", "gathered"},
}

// Number tells the run from all others of the process.
func (r *Run) Number() int32 { return r.number }

// Loader is whose run it is.
func (r *Run) Loader() *Loader { return r.loader }

// Statement says what somebody does.
type Statement struct {
	Who  string `json:"who"` // "worker 1", or "batch 41", which is waited for
	What string `json:"what"`
}

// Doing is the first Statements, a line each. It is "" if no batch is outstanding.
func (r *Run) Doing() string {
	all := r.Statements()
	if all[0] == noBatch {
		return ""
	}
	var lines []string
	for i, each := range all {
		if i > doingMax {
			lines = append(lines, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		lines = append(lines, each.Who+" "+each.What)
	}
	return strings.Join(lines, "\n")
}

var noBatch = Statement{"program", "has asked for no more batches"}

// Statements say which batch is waited for, and what each worker does, beginning with those who have been at it longest, or did
// last. It waits for no read and for no image.
func (r *Run) Statements() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stats.Now()
	found := []Statement{noBatch}
	if len(r.batches) > 0 {
		found[0] = r.awaited(now)
	}
	at := map[*worker]stats.Event{}
	var all []*worker
	for _, w := range r.serves {
		if e, ok := w.track.Now(); ok {
			at[w] = e
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b *worker) int {
		x, y := at[a], at[b]
		return cmp.Or(cmp.Compare(min(x.TookNs, 0), min(y.TookNs, 0)), cmp.Compare(x.BeginNs, y.BeginNs))
	})
	for _, w := range all {
		found = append(found, r.said(w, at[w], now))
	}
	return found
}

// awaited is about the first batch.
func (r *Run) awaited(now int64) Statement {
	b := r.batches[0]
	parts := fmt.Sprintf("%d of its %d parts are done", len(b.spans)-b.undone, len(b.spans))
	if asked := b.ask; asked.Kind != 0 {
		parts = "Python is asked for " + r.loader.kind.name(b, b.samples[asked.Position].index)
	}
	who := fmt.Sprintf("batch %d", b.sequence)
	if r.waiting == 0 {
		return Statement{who, "is next: " + parts}
	}
	return Statement{who, fmt.Sprintf("has been waited for %s: %s", seconds(now-r.waiting), parts)}
}

// said is about a worker.
func (r *Run) said(w *worker, e stats.Event, now int64) Statement {
	who, what := fmt.Sprintf("%s %d", roles[e.Role], e.Worker), doings[e.Stage]
	b := w.batch
	if b != nil && b.sequence != e.Batch { // it has just begun with another one
		b = nil
	}
	to := r.loader.kind.name(b, e.Sample)
	if e.TookNs < 0 {
		return Statement{who, fmt.Sprintf("has been %s %s for %s (batch %d)", what[0], to, seconds(now-e.BeginNs), e.Batch)}
	}
	return Statement{who, fmt.Sprintf("has been idle for %s; before, it %s %s in %s (batch %d)",
		seconds(now-e.BeginNs-e.TookNs), what[1], to, seconds(e.TookNs), e.Batch)}
}

func seconds(ns int64) string {
	d := time.Duration(ns)
	if d < time.Second {
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
