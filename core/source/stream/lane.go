package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/source"
)

// ErrState says that a state is none of an order's.
var ErrState = errors.New("not a state of this order")

// Order says which samples a Lane gives, and is JSON. It goes through its shards in rounds, as webdataset's DataPipeline repeats itself.
type Order struct {
	Shards      []string  `json:"shards"`
	Resample    *Resample `json:"resample"` // nil: all shards, in their order
	ShardStages []Stage   `json:"shard_stages"`
	Stages      []Stage   `json:"stages"`      // of samples
	NotEmpty    bool      `json:"not_empty"`   // a round without a sample is an error
	Rounds      int64     `json:"rounds"`      // at most; it ends earlier with a round that gives nothing
	Limit       int64     `json:"limit"`       // samples, or batches if there are any, in all rounds; -1: no limit
	Batch       int       `json:"batch"`       // samples of its own batches, of which each is of one round; 0: it has none
	Partial     bool      `json:"partial"`     // the last batch of a round may have fewer
	Environment []string  `json:"environment"` // of commands that are shards: "NAME=value"
}

// Resample takes shards at random, Count a round.
type Resample struct {
	Count int64 `json:"count"`
	Draws Draws `json:"draws"`
	// Worker and Epoch make a seed of Draws.Seed, if Made: as webdataset.utils.make_seed(Worker, Epoch + round, Draws.Seed).
	Made   bool  `json:"made"`
	Worker int64 `json:"worker"`
	Epoch  int64 `json:"epoch"`
}

// Check says what is wrong with an order, if anything.
func (o *Order) Check() error {
	for _, stage := range slices.Concat(o.ShardStages, o.Stages) {
		switch {
		case (stage.Shuffle == nil) == (stage.Slice == nil):
			return errors.New("a stage is a shuffle or a slice")
		case stage.Shuffle != nil && (stage.Shuffle.Size < 0 || stage.Shuffle.Initial < 0):
			return fmt.Errorf("a shuffle of %d, %d to begin with", stage.Shuffle.Size, stage.Shuffle.Initial)
		case stage.Slice != nil && (stage.Slice.Start < 0 || stage.Slice.Step < 1):
			return fmt.Errorf("a slice from %d in steps of %d", stage.Slice.Start, stage.Slice.Step)
		}
	}
	if o.Resample != nil && len(o.Shards) == 0 {
		return errors.New("no shards to take one of")
	}
	if o.Batch < 0 || o.Rounds < 0 {
		return fmt.Errorf("%d rounds in batches of %d", o.Rounds, o.Batch)
	}
	return nil
}

// Lane gives the samples of an order. One goroutine at a time.
type Lane struct {
	source  Source
	order   *Order
	picks   rng.MT19937 // of a resampled order
	shards  chain[int]
	samples chain[Sample]
	State   // where it stands, but for its stages and Skip
	reader  Reader
	left    *Sample // what there was of a sample when its shard broke off

	back    []Taken // was given back
	pending error   // behind it
	mark    *State  // where it stood some samples ago
	since   int64   // how many samples ago that was
}

// State is where a Lane stands. It is JSON.
type State struct {
	Rounds  int64 `json:"rounds"`  // rounds that are over
	Given   int64 `json:"given"`   // samples given in all rounds
	Round   int64 `json:"round"`   // samples given in this round
	Batches int64 `json:"batches"` // of the order's own
	Picked  int64 `json:"picked"`  // shards picked in this round
	Drawn   int64 `json:"drawn"`   // words drawn to pick them
	Shard   int   `json:"shard"`   // the shard picked last
	Reading bool  `json:"reading"` // that shard is not at its end
	At      int64 `json:"at"`      // where its next sample begins
	Found   bool  `json:"found"`   // this round's shards had samples
	Stopped bool  `json:"stopped"` // no more shards are read in this round
	Over    bool  `json:"over"`    // there are no more samples

	ShardStages []StageState `json:"shard_stages,omitempty"`
	Stages      []StageState `json:"stages,omitempty"`
	Skip        int64        `json:"skip"` // samples behind all that
}

// StageState is where one stage stands. Drawn counts from where the order's Draws begin in this round.
type StageState struct {
	Drawn int64   `json:"drawn,omitempty"`
	Half  bool    `json:"half,omitempty"`
	Seen  int64   `json:"seen,omitempty"`
	Held  []int64 `json:"held,omitempty"` // of shards the numbers; of samples shard and place, one after the other
}

// Place is a number of samples after a state.
type Place struct {
	state *State
	after int64
}

// State is the place as a Lane goes on from it, if so many batches of the order's own lie before it.
func (p Place) State(batches int64) State {
	s := *p.state
	s.Skip += p.after
	s.Batches = batches
	return s
}

// Taken is a sample, the place behind it, and which of its round it is, from 1 on.
type Taken struct {
	Sample
	Behind         Place
	round, inRound int64
}

// marksApart is how many samples may lie behind a state: a resume finds them once more. A state is a copy of the shuffle
// buffers' references, 16 bytes each.
const marksApart = 64

// NewLane begins an order that has been checked, or goes on from a state of it, which may read shards. It fails for a
// state that is none of the order's, and with source.ErrUnreadable.
func NewLane(ctx context.Context, from Source, order *Order, state *State) (*Lane, error) {
	l := &Lane{source: from, order: order}
	l.shards = newChain(order.ShardStages, l.pick)
	l.samples = newChain(order.Stages, l.read)
	if state != nil {
		if err := l.load(ctx, state); err != nil {
			l.Close()
			return nil, err
		}
		return l, nil
	}
	return l, l.beginRound()
}

// Close frees what it reads with.
func (l *Lane) Close() {
	if l.reader != nil {
		l.reader.Close()
		l.reader, l.Reading = nil, false
	}
}

// beginRound begins round l.Rounds.
func (l *Lane) beginRound() error {
	l.Round, l.Picked, l.Found, l.Stopped, l.left = 0, 0, false, false, nil
	l.Close()
	return errors.Join(l.beginPicks(), l.shards.begin(l.Rounds), l.samples.begin(l.Rounds))
}

func (l *Lane) beginPicks() error {
	again := l.order.Resample
	if again == nil {
		return nil
	}
	draws := again.Draws
	if again.Made {
		draws = Draws{Seed: makeSeed(again.Worker, again.Epoch+l.Rounds, int64(draws.Seed))}
	}
	return draws.begin(&l.picks, l.Rounds)
}

// makeSeed is webdataset.utils.make_seed of integers whose hashes they are.
func makeSeed(of ...int64) uint64 {
	seed := int64(0)
	for _, each := range of {
		seed = (seed*31 + each) & 0x7fffffff
	}
	return uint64(seed)
}

// pick gives the next shard of the list, or one at random.
func (l *Lane) pick(context.Context) (int, error) {
	limit := int64(len(l.order.Shards))
	if l.order.Resample != nil {
		limit = l.order.Resample.Count
	}
	if l.Picked >= limit {
		return 0, io.EOF
	}
	l.Picked++
	if l.order.Resample != nil {
		return int(l.picks.PythonBelow(uint64(len(l.order.Shards)))), nil
	}
	return int(l.Picked - 1), nil
}

// read gives the next sample of the shards.
func (l *Lane) read(ctx context.Context) (Sample, error) {
	if l.left != nil {
		s := *l.left
		l.left = nil
		return s, nil
	}
	for {
		if l.Stopped {
			return Sample{}, io.EOF
		}
		if l.reader == nil {
			shard, err := l.shards.last(ctx)
			if err == io.EOF && !l.Found && l.order.NotEmpty {
				return Sample{}, ErrEmpty
			}
			if err != nil {
				return Sample{}, err
			}
			if err := l.open(ctx, shard, 0); err != nil {
				return Sample{}, err
			}
		}
		s, err := l.reader.Next(ctx)
		s.Shard = l.Shard
		if err == nil {
			l.At, l.Found = l.reader.At(), true
			return s, nil
		}
		if err = l.broke(ctx, err); err == io.EOF {
			continue
		}
		if len(s.Parts) > 0 {
			l.left, l.Found = &s, true
		}
		return Sample{}, err
	}
}

func (l *Lane) open(ctx context.Context, shard int, at int64) error {
	reader, err := l.source.Open(ctx, l.order.Shards[shard], at)
	l.Shard, l.At = shard, at
	if err != nil {
		return l.broke(ctx, err)
	}
	l.reader, l.Reading = reader, true
	return nil
}

// broke ends the reading of a shard.
func (l *Lane) broke(ctx context.Context, err error) error {
	l.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == io.EOF:
		return err
	default:
		return &Damage{l.Shard, err}
	}
}

// Take gives up to n more samples, or a batch of the order's own, and appends them to taken, which may have some of the batch
// already. Fewer than n are all that is left, of the order or of a round. What lies before them and is in no batch, as it is too
// little for one, comes apart. It also fails with a *Damage or ErrEmpty: what it gave before is good, and the next Take goes on
// behind the damage.
func (l *Lane) Take(ctx context.Context, taken []Taken, n int) (_, apart []Taken, _ error) {
	own := l.order.Batch > 0
	if own && l.order.Limit >= 0 && l.Batches >= l.order.Limit {
		return taken, nil, nil
	}
	for len(taken) < n {
		s, err := l.one(ctx)
		if err != nil && err != io.EOF {
			return taken, apart, err
		}
		if err == nil && (!own || len(taken) == 0 || s.round == taken[0].round) {
			taken = append(taken, s)
			continue
		}
		if err == nil {
			l.back = slices.Insert(l.back, 0, s)
		}
		if !own || l.order.Partial || len(taken) == 0 {
			break
		}
		apart = append(apart, taken...)
		if err == io.EOF || taken[0].inRound == 1 { // a round without a batch is the last
			l.Over, l.back = true, nil
			return nil, apart, nil
		}
		taken = nil
	}
	if own && len(taken) > 0 {
		l.Batches++
	}
	return taken, apart, nil
}

// one gives the next sample.
func (l *Lane) one(ctx context.Context) (Taken, error) {
	if len(l.back) > 0 {
		s := l.back[0]
		l.back = l.back[1:]
		return s, nil
	}
	if err := l.pending; err != nil {
		l.pending = nil
		return Taken{}, err
	}
	if l.mark == nil || l.since >= marksApart && l.left == nil {
		mark := l.save()
		l.mark, l.since = &mark, 0
	}
	s, err := l.next(ctx)
	if err != nil {
		return Taken{}, err
	}
	l.since++
	return Taken{s, Place{l.mark, l.since}, l.Rounds, l.Round}, nil
}

// next goes on from round to round.
func (l *Lane) next(ctx context.Context) (Sample, error) {
	for !l.Over && l.Rounds < l.order.Rounds && (l.order.Batch > 0 || l.order.Limit < 0 || l.Given < l.order.Limit) {
		s, err := l.samples.last(ctx)
		if err == nil {
			l.Round++
			l.Given++
			return s, nil
		}
		if err != io.EOF {
			return s, err
		}
		if err := l.endRound(); err != nil {
			return s, err
		}
	}
	return Sample{}, io.EOF
}

func (l *Lane) endRound() error {
	l.Over = l.Round == 0
	l.Rounds++
	return l.beginRound()
}

// GiveBack takes samples back, in the order in which they were taken, and so many batches of the order's own: they are given
// again, and behind them the error, if there is one, that Take gave behind them.
func (l *Lane) GiveBack(taken []Taken, batches int64, err error) {
	l.back = slices.Concat(taken, l.back)
	l.Batches -= batches
	l.pending = err
}

// save gives where the lane stands. Nothing was given back that was not taken again.
func (l *Lane) save() State {
	s := l.State
	s.Drawn = l.picks.Drawn()
	for _, each := range l.shards.links {
		var to StageState
		each.save(&to, func(shard int) { to.Held = append(to.Held, int64(shard)) })
		s.ShardStages = append(s.ShardStages, to)
	}
	for _, each := range l.samples.links {
		var to StageState
		each.save(&to, func(of Sample) { to.Held = append(to.Held, int64(of.Shard), of.At) })
		s.Stages = append(s.Stages, to)
	}
	return s
}

// load goes to a state.
func (l *Lane) load(ctx context.Context, s *State) error {
	if len(s.ShardStages) != len(l.shards.links) || len(s.Stages) != len(l.samples.links) {
		return fmt.Errorf("a state with %d and %d stages of an order with %d and %d: %w", len(s.ShardStages), len(s.Stages),
			len(l.shards.links), len(l.samples.links), ErrState)
	}
	if s.Reading && (s.Shard < 0 || s.Shard >= len(l.order.Shards) || s.At < 0) || min(s.Rounds, s.Picked, s.Drawn, s.Skip) < 0 {
		return fmt.Errorf("byte %d of shard %d, round %d: %w", s.At, s.Shard, s.Rounds, ErrState)
	}
	l.State = *s
	l.Reading, l.Skip, l.ShardStages, l.Stages = false, 0, nil, nil
	if err := errors.Join(l.beginPicks(), l.shards.resume(s.Rounds), l.samples.resume(s.Rounds)); err != nil {
		return err
	}
	l.picks.Discard(s.Drawn - l.picks.Drawn())
	for i, each := range l.shards.links {
		var held []int
		for _, shard := range s.ShardStages[i].Held {
			held = append(held, int(shard))
		}
		each.load(&s.ShardStages[i], held)
	}
	known, err := l.find(ctx, s.Stages)
	if err != nil {
		return err
	}
	for i, each := range l.samples.links {
		var held []Sample
		for pair := range slices.Chunk(s.Stages[i].Held, 2) {
			held = append(held, known[[2]int64(pair)])
		}
		each.load(&s.Stages[i], held)
	}
	if s.Reading {
		if err := l.open(ctx, s.Shard, s.At); err != nil {
			return err
		}
	}
	for skipped := int64(0); skipped < s.Skip; {
		var damage *Damage // of which it was told before
		switch _, err := l.one(ctx); {
		case err == nil:
			skipped++
		case !errors.As(err, &damage):
			return err
		}
	}
	return nil
}

// find reads the samples again that stages held.
func (l *Lane) find(ctx context.Context, stages []StageState) (map[[2]int64]Sample, error) {
	wanted, found := map[int64][]int64{}, map[[2]int64]Sample{}
	for _, stage := range stages {
		if len(stage.Held)%2 != 0 {
			return nil, fmt.Errorf("half a sample: %w", ErrState)
		}
		for pair := range slices.Chunk(stage.Held, 2) {
			wanted[pair[0]] = append(wanted[pair[0]], pair[1])
		}
	}
	for shard, places := range wanted {
		if shard < 0 || shard >= int64(len(l.order.Shards)) {
			return nil, fmt.Errorf("shard %d of %d: %w", shard, len(l.order.Shards), ErrState)
		}
		slices.Sort(places)
		if err := l.findIn(ctx, shard, places, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (l *Lane) findIn(ctx context.Context, shard int64, places []int64, found map[[2]int64]Sample) error {
	reader, err := l.source.Open(ctx, l.order.Shards[shard], places[0])
	if err != nil {
		return err
	}
	defer reader.Close()
	for len(places) > 0 {
		s, err := reader.Next(ctx)
		if err == io.EOF || err == nil && s.At > places[0] {
			return fmt.Errorf("%s: %w: no sample begins at byte %d any more", l.order.Shards[shard], source.ErrUnreadable, places[0])
		}
		if err != nil {
			return err
		}
		s.Shard = int(shard)
		for len(places) > 0 && places[0] == s.At {
			found[[2]int64{shard, s.At}], places = s, places[1:]
		}
	}
	return nil
}

// End lets it give nothing more but what was given back.
func (l *Lane) End() {
	l.Close()
	l.Over = true
}

// StopShards ends the reading of shards in this round.
func (l *Lane) StopShards() {
	l.Close()
	l.Stopped, l.left, l.mark = true, nil, nil
}

// Pack lays a sample out: how many files it has; of each how long its name is and how many bytes it has; and then the name and
// the bytes of each. Numbers are uint64, little endian. The first two files are "__key__" and "__shard__", the number of its
// shard in decimal digits.
func Pack(s *Sample, bytesOf func(*Part) ([]byte, error)) ([]byte, error) {
	names := []string{"__key__", "__shard__"}
	contents := [][]byte{[]byte(s.Key), strconv.AppendInt(nil, int64(s.Shard), 10)}
	for i := range s.Parts {
		content, err := bytesOf(&s.Parts[i])
		if err != nil {
			return nil, err
		}
		names, contents = append(names, s.Parts[i].Suffix), append(contents, content)
	}
	packed := binary.LittleEndian.AppendUint64(nil, uint64(len(names)))
	for i, name := range names {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(len(name)))
		packed = binary.LittleEndian.AppendUint64(packed, uint64(len(contents[i])))
	}
	for i, name := range names {
		packed = append(append(packed, name...), contents[i]...)
	}
	return packed, nil
}
