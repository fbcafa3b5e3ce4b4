package pipeline

// pending are the outstanding batches with something left to do, in their order. Who looks for work passes none of those that lie
// ready, however many these are.
type pending struct {
	first, last *batch
	count       int
}

// relist puts an outstanding batch among the pending ones, or takes it away, as it now is.
func (r *Run) relist(b *batch) {
	switch {
	case b.undone == 0:
		r.pending.remove(b)
	case !b.listed:
		r.pending.insert(b, r.pendingBehind(b))
	}
}

// pendingBehind is the first pending batch behind another one, which most often is the last that is outstanding, or the first.
func (r *Run) pendingBehind(b *batch) (found *batch) {
	if r.batches[0] == b {
		return r.pending.first
	}
	for i := len(r.batches) - 1; i > 0 && r.batches[i] != b; i-- {
		if r.batches[i].listed {
			found = r.batches[i]
		}
	}
	return found
}

// insert puts a batch before one that is listed; nil: at the end.
func (p *pending) insert(b, later *batch) {
	b.listed, b.later, b.earlier = true, later, p.last
	if later != nil {
		b.earlier = later.earlier
	}
	p.join(b.earlier, b)
	p.join(b, later)
	p.count++
}

// remove takes a batch away, if it is listed.
func (p *pending) remove(b *batch) {
	if !b.listed {
		return
	}
	p.join(b.earlier, b.later)
	b.listed, b.earlier, b.later = false, nil, nil
	p.count--
}

// join makes two batches neighbours; nil is the end of the list.
func (p *pending) join(earlier, later *batch) {
	if earlier == nil {
		p.first = later
	} else {
		earlier.later = later
	}
	if later == nil {
		p.last = earlier
	} else {
		later.earlier = earlier
	}
}
