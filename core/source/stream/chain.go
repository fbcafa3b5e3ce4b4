package stream

import (
	"context"
	"io"

	"github.com/goloader/goloader/core/rng"
)

// Stage is something on the way of shards, or of samples: a Shuffle or a Slice.
type Stage struct {
	Shuffle *Shuffle `json:"shuffle,omitempty"`
	Slice   *Slice   `json:"slice,omitempty"`
}

// Shuffle is webdataset's shuffle buffer (webdataset/filters.py, _shuffle): what comes goes into it, two at a time until Size
// are there, and one that is drawn leaves it as soon as there are Initial.
type Shuffle struct {
	Size    int   `json:"size"`
	Initial int   `json:"initial"`
	Draws   Draws `json:"draws"`
}

// Draws are the numbers of Python's random.Random. Each round of an order begins with a generator seeded by Seed, unless one of
// the others is set.
type Draws struct {
	Seed    uint64 `json:"seed"`
	Each    bool   `json:"each"`    // round r, from 0 on, begins with a generator seeded by Seed + r
	State   []byte `json:"state"`   // a round begins with a generator in this state (rng.LoadPython); nil: it is seeded
	Through bool   `json:"through"` // only round 0 begins so: the generator goes on from round to round
}

func (d *Draws) begin(mt *rng.MT19937, round int64) error {
	switch {
	case d.Through && round > 0:
	case d.State != nil:
		return mt.LoadPython(d.State)
	case d.Each:
		mt.SeedPython(d.Seed + uint64(round))
	default:
		mt.SeedPython(d.Seed)
	}
	return nil
}

// Slice is itertools.islice. Stop is -1 for no end.
type Slice struct {
	Start int64 `json:"start"`
	Stop  int64 `json:"stop"`
	Step  int64 `json:"step"`
}

// from gives the next of something, or io.EOF, again and again then.
type from[T any] func(ctx context.Context) (T, error)

// chain is stages, one after the other.
type chain[T any] struct {
	links []link[T]
	last  from[T]
}

// link is a stage at work.
type link[T any] interface {
	next(ctx context.Context) (T, error)
	begin(round int64) error
	// save writes where it stands, but for what it holds; what that is it gives to hold. load is the reverse.
	save(to *StageState, hold func(T))
	load(from *StageState, held []T)
}

func newChain[T any](stages []Stage, first from[T]) chain[T] {
	c := chain[T]{last: first}
	for i := range stages {
		var made link[T]
		if s := stages[i].Shuffle; s != nil {
			made = &shuffler[T]{spec: s, from: c.last}
		} else {
			made = &slicer[T]{spec: *stages[i].Slice, from: c.last}
		}
		c.links, c.last = append(c.links, made), made.next
	}
	return c
}

func (c *chain[T]) begin(round int64) error {
	for _, each := range c.links {
		if err := each.begin(round); err != nil {
			return err
		}
	}
	return nil
}

// resume puts the stages' draws to where a round begins whose states will be loaded.
func (c *chain[T]) resume(round int64) error {
	for _, each := range c.links {
		from := round
		if s, ok := each.(*shuffler[T]); ok && s.spec.Draws.Through {
			from = 0
		}
		if err := each.begin(from); err != nil {
			return err
		}
	}
	return nil
}

type shuffler[T any] struct {
	spec *Shuffle
	from from[T]
	mt   rng.MT19937
	held []T
	half bool // the first of two has come
}

func (s *shuffler[T]) begin(round int64) error {
	s.held, s.half = s.held[:0], false
	return s.spec.Draws.begin(&s.mt, round)
}

func (s *shuffler[T]) next(ctx context.Context) (T, error) {
	for {
		if !s.half {
			item, err := s.from(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				return item, err
			}
			s.held = append(s.held, item)
			s.half = true
		}
		if len(s.held) < s.spec.Size {
			item, err := s.from(ctx)
			if err == nil {
				s.held = append(s.held, item)
			} else if err != io.EOF {
				return item, err
			}
		}
		s.half = false
		if len(s.held) >= min(s.spec.Initial, s.spec.Size) {
			return s.pick(), nil
		}
	}
	if len(s.held) == 0 {
		var none T
		return none, io.EOF
	}
	return s.pick(), nil
}

func (s *shuffler[T]) pick() T {
	var none T
	k, last := s.mt.PythonBelow(uint64(len(s.held))), len(s.held)-1
	item := s.held[k]
	s.held[k], s.held[last] = s.held[last], none
	s.held = s.held[:last]
	return item
}

func (s *shuffler[T]) save(to *StageState, hold func(T)) {
	to.Drawn, to.Half = s.mt.Drawn(), s.half
	for _, item := range s.held {
		hold(item)
	}
}

func (s *shuffler[T]) load(from *StageState, held []T) {
	s.mt.Discard(from.Drawn - s.mt.Drawn())
	s.held, s.half = append(s.held[:0], held...), from.Half
}

type slicer[T any] struct {
	spec Slice
	from from[T]
	seen int64
}

func (s *slicer[T]) begin(int64) error {
	s.seen = 0
	return nil
}

func (s *slicer[T]) next(ctx context.Context) (T, error) {
	for {
		if s.spec.Stop >= 0 && s.seen >= s.spec.Stop {
			var none T
			return none, io.EOF
		}
		item, err := s.from(ctx)
		if err != nil {
			return item, err
		}
		at := s.seen
		s.seen++
		if at >= s.spec.Start && (at-s.spec.Start)%s.spec.Step == 0 {
			return item, nil
		}
	}
}

func (s *slicer[T]) save(to *StageState, _ func(T)) { to.Seen = s.seen }

func (s *slicer[T]) load(from *StageState, _ []T) { s.seen = from.Seen }
