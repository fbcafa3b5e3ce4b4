package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/goloader/goloader/core/draw"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/ring"
	"github.com/goloader/goloader/core/seek"
	"github.com/goloader/goloader/core/source"
	streams "github.com/goloader/goloader/core/source/stream"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// streamed is the kind of work of samples that come one after the other. Each random stream of a run has a lane of its own, as
// each of torch's workers has an iterator: OpenLane says what it gives, SubmitNext asks for what comes next. A goroutine a
// lane finds the samples of its batches, one batch after the other; all else is done to them as to images of files.
type streamed struct {
	images
	source  streams.Source
	of      [][]string // of each image, which of a sample's files it is
	columns []plan.StreamColumn
	numbers *seek.Numbers // in the seek index, of files that have a place in a shard
}

// OpenStream compiles a plan over a source of streams.
func OpenStream(p *plan.Plan, from streams.Source) (*Loader, error) {
	l := &Loader{plan: p, ring: ring.New(slotsHeld), views: len(p.Source.Images)}
	k := &streamed{images: images{l: l}, source: from, columns: p.Source.Columns, numbers: seek.NewNumbers(int(p.Source.Files))}
	l.kind = k
	made := part{end: math.MaxInt64}
	for i, image := range p.Source.Images {
		program, err := draw.Compile(image.Part, p.RNG)
		if err != nil {
			l.free()
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		store, err := op.NewStore(image.Channels, image.DType.Size(), image.Part.Table)
		if err != nil {
			l.free()
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		made.views = append(made.views, view{program: program, store: store, mode: recipe.RGB})
		made.random = made.random || program.Random()
		k.of, l.output = append(k.of, image.Of), append(l.output, image.Output)
	}
	l.parts, l.random = []part{made}, made.random
	if err := l.openSeek(int(p.Source.Files), nil); err != nil {
		l.free()
		return nil, err
	}
	return l, nil
}

// lane is one random stream's samples. It is under the run's lock, but for what its goroutine has in hand.
type lane struct {
	number  int
	order   *streams.Order
	state   *streams.State // it begins there; nil: at its beginning
	short   bool           // the last batch may have fewer samples than it was asked for
	given   *streams.Lane  // nil until its goroutine has begun
	serving bool           // the goroutine is there, or begins
	over    bool           // an error has ended it
	yielded streams.Place  // behind the last batch that Next has handed out or reported lost
	moved   bool           // there was such a batch
	batches int64          // the order's own batches up to there
}

// succession is a batch of a lane.
type succession struct {
	lane   *lane
	wanted int
	asks   bool // Python is asked about a shard before they are
	taken  []streams.Taken
	rows   []row
	ends   [][]int64 // of each column of bytes where each sample's end
}

func (*succession) free() {}

// row is what columns have of a sample.
type row struct {
	odd     string // why only Python can tell what the sample is
	numbers []int64
	texts   [][]byte
}

func (k *streamed) len() int { return 0 }

func (k *streamed) check([]int64) error {
	return fmt.Errorf("indices for a loader of streams: %w", ErrState)
}

func (k *streamed) pictures() bool { return k.l.views > 0 }

func (k *streamed) close() {}

func (k *streamed) name(b *batch, index int64) string {
	if b == nil {
		return "a shard"
	}
	own := b.own.(*succession)
	if i := int(index) / max(1, k.l.views); i < len(own.taken) {
		s := &own.taken[i].Sample
		return fmt.Sprintf("%s: sample %q", own.lane.order.Shards[s.Shard], s.Key)
	}
	return "the next sample"
}

// OpenLane says what a run's lane gives, for its next batches up to a Reset. Its goroutine begins with the first of them.
//
//	state  to go on from (LaneState); nil: from the beginning
//	short  whether a batch may have fewer samples than it was asked for
func (r *Run) OpenLane(number int, order *streams.Order, state *streams.State, short bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if _, ok := r.loader.kind.(*streamed); !ok || number < 0 || number >= len(r.streams) {
		return fmt.Errorf("lane %d of %d: %w", number, len(r.streams), ErrState)
	}
	if err := order.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	if r.lanes == nil {
		r.lanes = make([]*lane, len(r.streams))
	}
	if r.lanes[number] != nil {
		return fmt.Errorf("lane %d is open: %w", number, ErrState)
	}
	r.lanes[number] = &lane{number: number, order: order, state: state, short: short}
	if state != nil {
		r.lanes[number].batches = state.Batches
	}
	return nil
}

// SubmitNext asks for one more batch, of the n samples that a lane gives next, or of the order's own number. lent is as for Submit.
func (r *Run) SubmitNext(number, n int, lent unsafe.Pointer, lentBytes int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if number < 0 || number >= len(r.lanes) || r.lanes[number] == nil {
		return fmt.Errorf("lane %d is not open: %w", number, ErrState)
	}
	la := r.lanes[number]
	if la.order.Batch > 0 {
		n = la.order.Batch
	}
	if n < 1 {
		return fmt.Errorf("%d samples: %w", n, ErrState)
	}
	slot, err := lentSlot(lent, lentBytes)
	if err != nil {
		return err
	}
	b := r.take()
	b.await(r.loader, r.sequence, &r.streams[number], &succession{lane: la, wanted: n})
	b.lent = slot
	r.put(b)
	if !la.serving {
		la.serving = true
		r.spawn(func() error { return r.serveLane(la) })
	}
	return nil
}

// await makes a batch whose samples are not known yet.
func (b *batch) await(l *Loader, sequence int64, st *stream, own *succession) {
	b.begin(l, sequence, st)
	b.own, b.undone, b.unknown = own, 1, true
}

// serveLane finds the samples of a lane's batches.
func (r *Run) serveLane(la *lane) error {
	serving.Add(1)
	defer serving.Add(-1)
	w := &worker{run: r}
	r.mu.Lock()
	r.enlist(w, stats.Reader)
	left := false
	for !left && !r.closed && la.number < len(r.lanes) && r.lanes[la.number] == la {
		b := r.unfound(la)
		if b == nil {
			r.work.Wait()
			continue
		}
		left = r.find(w, la, b)
	}
	r.delist(w)
	r.mu.Unlock()
	if la.given != nil {
		la.given.Close() // a moment: what is on its way has been cancelled
	}
	if left {
		return errLeft
	}
	return nil
}

// unfound is the earliest of a lane's batches whose samples are to be found; nil if there is none, or if Python is asked.
func (r *Run) unfound(la *lane) *batch {
	for b := r.pending.first; b != nil; b = b.later {
		own := b.own.(*succession)
		if own.lane != la || !b.unknown || b.lost || b.ended {
			continue
		}
		if own.asks || b.held {
			return nil
		}
		return b
	}
	return nil
}

// find finds the samples of a batch, without the lock meanwhile, and reports whether it was left in the meantime.
func (r *Run) find(w *worker, la *lane, b *batch) (left bool) {
	k, own := r.loader.kind.(*streamed), b.own.(*succession)
	if la.over {
		r.endBatch(b)
		return false
	}
	t := r.takeInHand(&reading{batch: b, span: &span{}, lane: true})
	ctx, taken, rows := r.ctx, own.taken, own.rows
	var apart []streams.Taken
	var short []row // of those apart
	var err error
	_, bug := r.without(w, b, func() error {
		taken, apart, err = k.take(ctx, w, la, taken, own.wanted)
		rows = rows[:min(len(rows), len(taken))]
		if !la.short && err == nil && len(taken) < own.wanted {
			taken, apart = nil, append(apart, taken...)
		}
		if len(apart) > 0 {
			rows = nil // they are others'
		}
		var failed, alsoFailed error
		rows, failed = k.readRows(ctx, taken, rows)
		short, alsoFailed = k.readRows(ctx, apart, nil)
		err = cmp.Or(err, failed, alsoFailed)
		return nil
	})
	if r.comeBack(t) {
		return true
	}
	defer r.putDown(b)
	if b.ended || b.lost || ctx.Err() != nil {
		return false
	}
	own.taken, own.rows = taken, rows
	if err := r.putBefore(k, b, apart, short); err != nil {
		r.lose(b, err)
	}
	var damage *streams.Damage
	switch {
	case bug != nil:
		r.lose(b, bug)
	case errors.As(err, &damage):
		own.asks, b.stall = true, Ask{Kind: AskShard, Sequence: b.sequence, Index: int64(damage.Shard), Reason: err.Error(), Detour: stats.Unreadable}
	case errors.Is(err, streams.ErrEmpty):
		own.asks, b.stall = true, Ask{Kind: AskShard, Sequence: b.sequence, Index: -1, Reason: err.Error(), Detour: stats.Unreadable}
	case err != nil:
		r.lose(b, err)
	case len(taken) == 0:
		r.endBatch(b)
	default:
		b.unknown = false
		if err := k.begin(r, b); err != nil {
			r.lose(b, err)
		}
		r.advance(b.stream)
	}
	return false
}

// take takes a batch's samples from a lane. apart are samples that came before them and were too few for a batch.
func (k *streamed) take(ctx context.Context, w *worker, la *lane, taken []streams.Taken, n int) (_, apart []streams.Taken, _ error) {
	ctx = streams.WithEnvironment(ctx, la.order.Environment)
	if la.given == nil {
		var err error
		if la.given, err = streams.NewLane(ctx, k.source, la.order, la.state); err != nil {
			return taken, nil, err
		}
	}
	w.track.Begin(stats.Read, w.batch.sequence, int64(len(taken)))
	defer w.track.End(1)
	return la.given.Take(ctx, taken, n)
}

// readRows reads what columns have of samples, of which rows has the first already.
func (k *streamed) readRows(ctx context.Context, taken []streams.Taken, rows []row) ([]row, error) {
	var scratch source.Buffer
	defer scratch.Free()
	for i := len(rows); i < len(taken); i++ {
		made, err := k.row(ctx, &taken[i].Sample, &scratch)
		if err != nil {
			return rows, err
		}
		rows = append(rows, made)
	}
	return rows, nil
}

// putBefore makes a batch of samples that are in none, before the one that was to have them: torch's workers make such samples as
// well, and draw for them, before they find that they are too few. It is never handed out.
func (r *Run) putBefore(k *streamed, b *batch, apart []streams.Taken, rows []row) error {
	if len(apart) == 0 || k.l.views == 0 {
		return nil
	}
	own := b.own.(*succession)
	ghost := r.take()
	ghost.await(k.l, b.sequence, b.stream, &succession{lane: own.lane, taken: apart, rows: rows})
	ghost.ghost, ghost.unknown = true, false
	r.batches = slices.Insert(r.batches, slices.Index(r.batches, b), ghost)
	err := k.begin(r, ghost)
	r.relist(ghost)
	if err != nil {
		return err
	}
	r.advance(b.stream)
	return nil
}

// over reports whether nothing is left to do for a batch that nobody gets.
func (r *Run) over(b *batch) bool {
	if b.running == 0 && b.ask.Kind == 0 && !b.lost {
		r.question(b)
	}
	return b.ask.Kind == 0 && b.complete()
}

// row reads what columns have of a sample.
func (k *streamed) row(ctx context.Context, s *streams.Sample, scratch *source.Buffer) (made row, err error) {
	for _, of := range k.of {
		if s.Find(of) == nil {
			made.odd = fmt.Sprintf("it has no .%s", strings.Join(of, ", ."))
		}
	}
	for _, c := range k.columns {
		text, err := k.content(ctx, c, s, scratch)
		if err != nil {
			return made, err
		}
		number := int64(0)
		switch c.Kind {
		case plan.NumberColumn:
			if number, err = strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err != nil {
				made.odd = fmt.Sprintf(".%s holds no number", strings.Join(c.Of, ", ."))
			}
		case plan.TextColumn:
			if !utf8.Valid(text) {
				made.odd = fmt.Sprintf(".%s holds no UTF-8", strings.Join(c.Of, ", ."))
			}
		case plan.JSONColumn:
			// Python's json also takes NaN and Infinity, for which it is asked.
			if !json.Valid(text) {
				made.odd = fmt.Sprintf(".%s holds no JSON", strings.Join(c.Of, ", ."))
			}
		}
		if text == nil {
			made.odd = fmt.Sprintf("it has no .%s", strings.Join(c.Of, ", ."))
		}
		made.numbers, made.texts = append(made.numbers, number), append(made.texts, text)
	}
	return made, nil
}

// content is a column's bytes of a sample; nil if it has none.
func (k *streamed) content(ctx context.Context, c plan.StreamColumn, s *streams.Sample, scratch *source.Buffer) ([]byte, error) {
	if c.Kind == plan.WholeColumn {
		return streams.Pack(s, func(p *streams.Part) ([]byte, error) { return k.bytes(ctx, p, scratch) })
	}
	switch c.Of[0] {
	case "__key__":
		return []byte(s.Key), nil
	case "__shard__":
		return strconv.AppendInt(nil, int64(s.Shard), 10), nil
	}
	found := s.Find(c.Of)
	if found == nil {
		return nil, nil
	}
	return k.bytes(ctx, found, scratch)
}

// bytes are a part's.
func (k *streamed) bytes(ctx context.Context, p *streams.Part, scratch *source.Buffer) ([]byte, error) {
	if p.Key.Container == nil {
		return p.Data, nil
	}
	scratch.Reset(bufferKeep)
	if _, err := k.source.Read(ctx, p, scratch); err != nil {
		return nil, err
	}
	return bytes.Clone(scratch.Slice(0, scratch.Len())), nil
}

// begin sets a batch up whose samples are known.
func (k *streamed) begin(r *Run, b *batch) error {
	l, own := k.l, b.own.(*succession)
	own.ends = make([][]int64, len(k.columns))
	for c := range k.columns {
		end := int64(0)
		for _, each := range own.rows {
			end += int64(len(each.texts[c]))
			own.ends[c] = append(own.ends[c], end)
		}
	}
	for i, each := range own.rows {
		for v := range l.views {
			b.samples = append(b.samples, sample{index: int64(i*l.views + v), view: int32(v), mode: recipe.RGB, odd: each.odd != ""})
		}
	}
	b.cut(len(b.samples), r.spanLength(len(own.taken))*l.views)
	if l.views > 0 {
		r.staff()
		return nil
	}
	_, size := k.fields(b)
	if err := b.reserve(l, size); err != nil {
		return err
	}
	k.laid(b)
	b.ready = stats.Now()
	l.Stats.Samples.Add(int64(len(own.taken)))
	return nil
}

// endBatch makes a batch the end of its lane.
func (r *Run) endBatch(b *batch) {
	b.ended, b.lost, b.undone = true, true, 0
	b.stall = Ask{}
	r.relist(b)
	r.announce()
}

func (k *streamed) fields(b *batch) ([]Field, int) {
	l, own := k.l, b.own.(*succession)
	n := len(own.taken)
	var specs []tensor.Spec
	for v, o := range l.output {
		specs = append(specs, tensor.Spec{DType: o.DType, Shape: tensor.Shape{n, o.Channels, int(b.out[v].Height), int(b.out[v].Width)}})
	}
	for c, column := range k.columns {
		if column.Kind == plan.NumberColumn {
			specs = append(specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{n}})
			continue
		}
		all := int64(0)
		if n > 0 {
			all = own.ends[c][n-1]
		}
		specs = append(specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{n}}, tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{int(all)}})
	}
	return place(specs...)
}

// laid writes a batch's columns into its slot: of bytes where each sample's end, and all of them.
func (k *streamed) laid(b *batch) {
	fields, _ := k.fields(b)
	own, slot, at := b.own.(*succession), b.slot.Bytes(), len(k.l.output)
	for c, column := range k.columns {
		field := slot[fields[at].Offset:]
		if column.Kind == plan.NumberColumn {
			for i, each := range own.rows {
				binary.NativeEndian.PutUint64(field[8*i:], uint64(each.numbers[c]))
			}
			at++
			continue
		}
		data, from := slot[fields[at+1].Offset:], 0
		for i, each := range own.rows {
			binary.NativeEndian.PutUint64(field[8*i:], uint64(own.ends[c][i]))
			from += copy(data[from:], each.texts[c])
		}
		at += 2
	}
}

func (k *streamed) shares(_ *batch, i int) bool {
	v := i % k.l.views
	return v > 0 && fmt.Sprint(k.of[v]) == fmt.Sprint(k.of[v-1])
}

func (k *streamed) read(ctx context.Context, w *worker, t *reading, i int) {
	s, own := &t.batch.samples[i], t.batch.own.(*succession)
	if s.odd {
		s.away(unsized, stats.Unknown, "%s: %s", k.name(t.batch, s.index), own.rows[i/k.l.views].odd)
		return
	}
	if i > t.lo && k.shares(t.batch, i) && t.batch.samples[i-1].buffer == t.buffer {
		before := &t.batch.samples[i-1]
		s.buffer, s.from, s.to, s.stamp, s.file, s.indexed = before.buffer, before.from, before.to, before.stamp, before.file, before.indexed
	} else {
		found := own.taken[i/k.l.views].Find(k.of[s.view])
		from := t.buffer.Len()
		w.track.Begin(stats.Read, t.batch.sequence, s.index)
		stamp, err := k.source.Read(ctx, found, t.buffer)
		w.track.End(1)
		w.track.Slow(1, func() string { return k.name(t.batch, s.index) })
		if err != nil {
			s.away(unsized, stats.Unreadable, "%v", err)
			return
		}
		s.buffer, s.from, s.to, s.stamp = t.buffer, from, t.buffer.Len(), stamp
		if k.l.seek != nil && found.Key.Container != nil {
			place := binary.NativeEndian.AppendUint64(slices.Clone(found.Key.Container), uint64(found.Key.Offset))
			s.file, s.indexed = k.numbers.Of(place)
		}
		k.l.Stats.BytesRead.Add(int64(s.to - s.from))
	}
	k.l.sizeEncoded(s, func() string { return k.name(t.batch, s.index) })
}

func (k *streamed) make(w *worker, b *batch, sp *span, hi int, steps []recipe.Step) error {
	return w.makeImages(b, sp.lo, hi, steps)
}

// AskedSample packs (streams.Pack) the sample that a question is about into memory that is good until the answer.
func (r *Run) AskedSample() ([]byte, error) {
	r.mu.Lock()
	b, err := r.asked(AskPixels, AskSample)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	own, ok := b.own.(*succession)
	if !ok {
		r.mu.Unlock()
		return nil, fmt.Errorf("an image of no stream: %w", ErrState)
	}
	s, ctx, k := &own.taken[b.ask.Position/max(1, r.loader.views)].Sample, r.ctx, r.loader.kind.(*streamed)
	r.mu.Unlock()
	var scratch source.Buffer
	defer scratch.Free()
	packed, err := streams.Pack(s, func(p *streams.Part) ([]byte, error) { return k.bytes(ctx, p, &scratch) })
	if err != nil {
		return nil, err
	}
	r.told.Reset(bufferKeep)
	room, err := r.told.Room(len(packed))
	if err != nil {
		return nil, err
	}
	r.told.Add(copy(room, packed))
	return r.told.Slice(0, len(packed)), nil
}

// LeaveOut answers AskPixels, AskSample and AskShard of a stream: it goes on without the sample, or the rest of the shard; or, with
// stop, it ends there: before that sample, or with the shard's round. It says how many reads did not come back and were
// left, as Reset does.
func (r *Run) LeaveOut(stop bool) (left int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.asked(AskPixels, AskSample, AskShard)
	if err != nil {
		return 0, err
	}
	own, ok := b.own.(*succession)
	if !ok {
		return 0, fmt.Errorf("an image of no stream: %w", ErrState)
	}
	r.loader.Stats.Detours[b.ask.Detour].Add(1)
	if b.ask.Kind == AskShard {
		b.stall, b.ask = Ask{}, Ask{}
		own.asks = false
		if stop {
			own.lane.given.StopShards()
		}
		r.wake()
		return 0, nil
	}
	position := b.ask.Position / r.loader.views
	all := append([]*batch{b}, r.behind(b)...)
	left = r.settle(all)
	b.began.save(&b.stream.generators, r.loader.drawsLater())
	r.needExp(b.stream, false)
	return left, r.findAgain(all, position, stop)
}

// findAgain lets batches of a lane be found again without a sample of the first; or, with stop, without any behind it. Nothing
// of them is in hand.
func (r *Run) findAgain(all []*batch, without int, stop bool) error {
	la := all[0].own.(*succession).lane
	var taken []streams.Taken
	var behind error
	own := int64(0)
	for i, b := range all {
		s := b.own.(*succession)
		if i == 0 {
			taken = append(taken, s.taken[:without]...)
			taken = append(taken, s.taken[without+1:]...)
		} else {
			taken = append(taken, s.taken...)
		}
		if !b.unknown && !b.ghost && !b.ended && la.order.Batch > 0 {
			own++
		}
		if s.asks && b.stall.Index >= 0 {
			behind = &streams.Damage{Shard: int(b.stall.Index), Err: errors.New(b.stall.Reason)}
		} else if s.asks {
			behind = streams.ErrEmpty
		}
	}
	if stop {
		taken, behind = taken[:without], nil
		la.given.End()
	}
	broken := all[0].left
	for _, b := range all {
		broken = broken || b.left
		if b.ghost {
			r.batches = slices.DeleteFunc(r.batches, func(each *batch) bool { return each == b })
			r.discard(b)
			continue
		}
		other := r.take()
		other.await(r.loader, b.sequence, b.stream, &succession{lane: la, wanted: b.own.(*succession).wanted})
		b.dropSlot()
		other.lent, b.lent = b.lent, other.lent
		for i := range r.batches {
			if r.batches[i] == b {
				r.batches[i] = other
			}
		}
		r.discard(b)
		r.relist(other)
		if broken {
			r.lose(other, fmt.Errorf("a shard's reading did not come back: %w", source.ErrUnreadable))
		}
	}
	if broken {
		la.over = true
		return nil
	}
	la.given.GiveBack(taken, own, behind)
	r.wake()
	r.announce()
	return nil
}

// endLane ends the lane of a batch that is lost to an error: webdataset's iterators end with one.
func (r *Run) endLane(b *batch) {
	own, ok := b.own.(*succession)
	if !ok {
		return
	}
	own.lane.over = true
	for _, later := range r.behind(b) {
		r.endBatch(later)
	}
	if b.ghost { // the one that was to have its samples fails with it
		whole := r.batches[1]
		r.settle([]*batch{whole})
		r.batches = slices.Delete(r.batches, 1, 2)
		r.discard(whole)
	}
}

// handedOut takes note of a batch of a lane that Next has told of.
func (b *batch) handedOut() {
	own, ok := b.own.(*succession)
	if !ok || len(own.taken) == 0 || b.ended {
		return
	}
	own.lane.yielded, own.lane.moved = own.taken[len(own.taken)-1].Behind, true
	if own.lane.order.Batch > 0 && !b.ghost {
		own.lane.batches++
	}
}

// LaneState says where a lane stands behind the batches that Next has handed out or reported lost.
func (r *Run) LaneState(number int) (streams.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number < 0 || number >= len(r.lanes) || r.lanes[number] == nil {
		return streams.State{}, fmt.Errorf("lane %d is not open: %w", number, ErrState)
	}
	la := r.lanes[number]
	switch {
	case la.moved && !la.over:
		return la.yielded.State(la.batches), nil
	case la.state != nil && !la.over:
		return *la.state, nil
	}
	return streams.State{
		Over: la.over, ShardStages: make([]streams.StageState, len(la.order.ShardStages)),
		Stages: make([]streams.StageState, len(la.order.Stages)),
	}, nil
}
