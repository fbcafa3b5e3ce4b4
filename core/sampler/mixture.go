package sampler

import (
	"errors"
	"fmt"
	"math"
)

// ErrSources says that sources cannot be mixed.
var ErrSources = errors.New("a source that is drawn from should not be empty")

// Mixture draws from several sources, laid one after the other, in exact proportions: after any number of draws, each
// source was drawn from as often as its weight says, to within 1 (Tijdeman, "The chairman assignment problem", 1980). Each
// goes through its samples in a random order, once, then in another. Its state is how often each was drawn from.
type Mixture struct {
	seed    uint64
	sources []mixed
	slack   float64
}

type mixed struct {
	start, length int64
	weight        float64 // of all: 1
	drawn         int64
	pass          int64
	order         Bijection
}

// NewMixture mixes sources of given lengths by weight. drawn is nil, or how often each was drawn from before.
func NewMixture(seed uint64, lengths []int64, weights []float64, drawn []int64) (*Mixture, error) {
	if len(weights) != len(lengths) || (drawn != nil && len(drawn) != len(lengths)) {
		return nil, fmt.Errorf("%d weights and %d counts for %d sources: %w", len(weights), len(drawn), len(lengths), ErrWeights)
	}
	sum, start := 0.0, int64(0)
	m := &Mixture{seed: seed}
	for k, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("weight %d is %v: %w", k, w, ErrWeights)
		}
		if lengths[k] < 0 || (lengths[k] == 0 && w > 0) {
			return nil, fmt.Errorf("source %d has %d samples: %w", k, lengths[k], ErrSources)
		}
		s := mixed{start: start, length: lengths[k], weight: w, pass: -1}
		if drawn != nil {
			if s.drawn = drawn[k]; s.drawn < 0 {
				return nil, fmt.Errorf("source %d was drawn from %d times", k, s.drawn)
			}
		}
		m.sources = append(m.sources, s)
		sum, start = sum+w, start+lengths[k]
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("a sum of %v: %w", sum, ErrWeights)
	}
	for k := range m.sources {
		m.sources[k].weight /= sum
	}
	if n := len(m.sources); n > 1 {
		m.slack = 1 / float64(2*n-2)
	}
	return m, nil
}

// Draw makes step draws for each place in dst, and writes the one that has number first among them, numbered through all
// sources. It returns how often each source was drawn from until now. What is not written costs little: its place in its source's
// order, most of the work, is not looked up.
func (m *Mixture) Draw(first, step int64, dst []int64) []int64 {
	total := int64(0)
	for k := range m.sources {
		total += m.sources[k].drawn
	}
	for i := range dst {
		for number := range step {
			total++
			k := m.pick(float64(total))
			if number == first {
				dst[i] = m.at(k)
			}
			m.sources[k].drawn++
		}
	}
	drawn := make([]int64, len(m.sources))
	for k := range m.sources {
		drawn[k] = m.sources[k].drawn
	}
	return drawn
}

// at is the next draw from a source.
func (m *Mixture) at(k int) int64 {
	s := &m.sources[k]
	if pass := s.drawn / s.length; pass != s.pass {
		// A permutation of its own for each source and pass.
		s.pass, s.order = pass, NewBijection(m.seed, uint64(k)<<40^uint64(pass), s.length)
	}
	return s.start + s.order.At(s.drawn%s.length)
}

// pick chooses, of the sources that are behind, the one that will soonest be too far behind.
func (m *Mixture) pick(total float64) int {
	best, soonest := -1, math.Inf(1)
	behindMost, most := 0, math.Inf(-1)
	for k := range m.sources {
		s := &m.sources[k]
		if s.weight == 0 {
			continue
		}
		behind := s.weight*total - float64(s.drawn)
		if behind > most {
			behindMost, most = k, behind
		}
		if behind < m.slack {
			continue
		}
		if due := (1 - m.slack - behind) / s.weight; due < soonest {
			best, soonest = k, due
		}
	}
	if best < 0 { // rounding only: somebody is always behind
		return behindMost
	}
	return best
}
