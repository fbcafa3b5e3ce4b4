package pipeline

import "time"

// Workers read the files that they decode: from the page cache that is quick, and the bytes are still near when they are
// decoded. From a disk or a server a worker would wait for each file. So while reading takes long, goroutines that do
// nothing else read ahead, as far as batches are submitted, and workers leave it to them.

const (
	// readersMax spans are read at a time: a server that takes 3 ms a file then gives 5,000 files a second.
	readersMax = 16
	// slowRead is a reading time that counts as long, if it is also slowShare of the time for decoding. A photo of 100 KB
	// in the page cache takes 30 us.
	slowRead  = 250 * time.Microsecond
	slowShare = 0.25
	// readAheadMax bounds the bytes that are read and not decoded yet. Those of the first batch do not count: others may
	// have to wait for it.
	readAheadMax = 128 << 20
	// What a span counts in the mean times. One that was only unlucky counts as slowRead four times at most.
	newest = 0.125
)

// readers is a run's reading goroutines, and what decides on them, under the run's lock.
type readers struct {
	slow      bool
	serving   int
	reading   int     // spans in their hands
	spanBytes int     // of the span that was read last
	readNs    float64 // mean time of reading a file
	runNs     float64 // mean time of decoding one, with all that follows
}

// tookRead counts the reading of n files.
func (r *Run) tookRead(n int, bytes int, took time.Duration) {
	each := min(float64(took)/float64(n), 4*float64(slowRead))
	r.readers.readNs += newest * (each - r.readers.readNs)
	r.readers.spanBytes = bytes
	r.decideOnReaders()
}

// tookRun counts the decoding of n files.
func (r *Run) tookRun(n int, took time.Duration) {
	r.readers.runNs += newest * (float64(took)/float64(n) - r.readers.runNs)
}

// decideOnReaders starts readers when reading has become slow, and lets them end when it no longer is.
func (r *Run) decideOnReaders() {
	rs := &r.readers
	limit := max(float64(slowRead), slowShare*rs.runNs)
	switch {
	case r.options.SlowSource || rs.readNs > limit:
		rs.slow = true
	case rs.readNs < limit/2:
		rs.slow = false
	}
	for rs.slow && rs.serving < readersMax && !r.closed {
		rs.serving++
		r.spawn(r.serveReads)
	}
}

// serveReads is one reader.
func (r *Run) serveReads() error {
	serving.Add(1)
	defer serving.Add(-1)
	w := &worker{run: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed && r.readers.slow {
		b, sp := r.pickRead()
		if sp == nil {
			r.work.Wait()
			continue
		}
		r.readers.reading++
		r.readSpan(w, b, sp)
		r.readers.reading--
		r.loader.Stats.ReadAhead.Add(int64(sp.hi - sp.lo))
	}
	r.readers.serving--
	r.work.Broadcast() // workers may have to read again
	return nil
}

// pickRead finds the earliest span that a reader can take.
func (r *Run) pickRead() (*batch, *span) {
	first := true
	for _, b := range r.batches {
		if sp := b.unread(); sp != nil && (first || r.readAheadBytes() < r.options.ReadAhead) {
			return b, sp
		}
		first = first && b.left == 0
	}
	return nil, nil
}

// readAheadBytes is what is read and not decoded, and about what is being read.
func (r *Run) readAheadBytes() int {
	bytes := r.readers.reading * r.readers.spanBytes
	for _, b := range r.batches {
		for i := range b.spans {
			if sp := &b.spans[i]; sp.phase == ready && sp.buffer != nil {
				bytes += sp.buffer.Len()
			}
		}
	}
	return bytes
}
