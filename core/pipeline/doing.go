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

// Doing says, a line each, which batch is waited for, and what each worker does, beginning with those who have been at it longest,
// or did last. It is "" if no batch is outstanding. It waits for no read and for no image.
func (r *Run) Doing() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.batches) == 0 {
		return ""
	}
	now := stats.Now()
	lines := []string{r.awaited(now)}
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
	for i, w := range all {
		if i == doingMax {
			lines = append(lines, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		lines = append(lines, r.said(w, at[w], now))
	}
	return strings.Join(lines, "\n")
}

// awaited is the line about the first batch.
func (r *Run) awaited(now int64) string {
	b := r.batches[0]
	parts := fmt.Sprintf("%d of its %d parts are done", len(b.spans)-b.undone, len(b.spans))
	if asked := b.ask; asked.Kind != 0 {
		parts = "Python is asked for " + r.loader.name(b, b.samples[asked.Position].index)
	}
	if r.waiting == 0 {
		return fmt.Sprintf("batch %d is next: %s", b.sequence, parts)
	}
	return fmt.Sprintf("batch %d has been waited for %s: %s", b.sequence, seconds(now-r.waiting), parts)
}

// said is a worker's line.
func (r *Run) said(w *worker, e stats.Event, now int64) string {
	who, what := fmt.Sprintf("%s %d", roles[e.Role], e.Worker), doings[e.Stage]
	to := r.loader.name(w.batch, e.Sample)
	if e.TookNs < 0 {
		return fmt.Sprintf("%s has been %s %s for %s (batch %d)", who, what[0], to, seconds(now-e.BeginNs), e.Batch)
	}
	return fmt.Sprintf("%s has been idle for %s; before, it %s %s in %s (batch %d)", who,
		seconds(now-e.BeginNs-e.TookNs), what[1], to, seconds(e.TookNs), e.Batch)
}

func seconds(ns int64) string {
	d := time.Duration(ns)
	if d < time.Second {
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
