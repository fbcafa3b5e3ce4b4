// Package sampler draws indices in ways of goloader's own: with weights, every class as likely, from a mixture of sources.
// Each is a function of a seed and a draw's number, so any draw can be had again. torch's own samplers are torch's.
package sampler

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/rng"
)

// ErrWeights says that weights are not what something can be drawn by.
var ErrWeights = errors.New("weights should be finite and not negative, with a sum above 0")

// Alias draws indices with given weights, each in the same time, however many there are (Walker 1977; the table is filled
// by one sweep, after Huebschle-Schneider and Sanders, "Parallel weighted random sampling", 2019). Draw number i depends
// on the seed and on i alone. The table takes 8 bytes an index, outside the Go heap.
type Alias struct {
	memory mem.Block
	cells  []cell
}

// cell is a share of 1/n of the whole, split between an index, the cell's own, and another.
type cell struct {
	own   uint32 // share of the own index, in 2^-32; wholly its own if other is the cell itself
	other uint32
}

// Weight is a type that weights may have.
type Weight interface{ float32 | float64 }

// NewAlias makes a table. weights are read, not kept. Close gives its memory back.
func NewAlias[W Weight](weights []W) (*Alias, error) {
	n := len(weights)
	if n == 0 || n > math.MaxUint32 {
		return nil, fmt.Errorf("%d weights: %w", n, ErrWeights)
	}
	sum, lost := 0.0, 0.0 // Neumaier's sum: a billion weights lose no more than one
	for i, weight := range weights {
		w := float64(weight)
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("weight %d is %v: %w", i, w, ErrWeights)
		}
		next := sum + w
		if sum >= w {
			lost += (sum - next) + w
		} else {
			lost += (w - next) + sum
		}
		sum = next
	}
	sum += lost
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("a sum of %v: %w", sum, ErrWeights)
	}
	memory, err := mem.New(mem.Indexes, n*int(unsafe.Sizeof(cell{})))
	if err != nil {
		return nil, err
	}
	a := &Alias{memory: memory, cells: unsafe.Slice((*cell)(memory.Data()), n)}
	fillAlias(a.cells, weights, sum)
	return a, nil
}

// fillAlias goes through light indices (at most a cell's worth) and heavy ones side by side: what a light one leaves of
// its cell is the current heavy one's; a heavy one that is used up to less than a cell gets its own cell, the rest of which
// is the next heavy one's.
func fillAlias[W Weight](cells []cell, weights []W, sum float64) {
	n := len(weights)
	mean := sum / float64(n)
	heavy := func(i int) bool { return float64(weights[i]) > mean }
	next := func(i int, want bool) int {
		for i++; i < n && heavy(i) != want; i++ {
		}
		return i
	}
	light, big := next(-1, false), next(-1, true)
	left := 0.0 // of big
	if big < n {
		left = float64(weights[big])
	}
	for big < n {
		switch {
		case left > mean && light < n:
			w := float64(weights[light])
			cells[light] = cell{share(w, mean), uint32(big)}
			left = (left + w) - mean
			light = next(light, false)
		case left > mean: // rounding only: nothing light is left to fill up
			cells[big] = cell{0, uint32(big)}
			if big = next(big, true); big < n {
				left = float64(weights[big])
			}
		default:
			after := next(big, true)
			if after == n {
				cells[big] = cell{0, uint32(big)}
				big = n
				break
			}
			cells[big] = cell{share(left, mean), uint32(after)}
			left = (float64(weights[after]) + left) - mean
			big = after
		}
	}
	for ; light < n; light = next(light, false) {
		// Rounding only, but for a weight of 0, which must never be drawn: then the largest takes the cell.
		cells[light] = cell{0, uint32(light)}
		if weights[light] == 0 {
			cells[light].other = uint32(largest(weights))
		}
	}
}

func largest[W Weight](weights []W) int {
	best := 0
	for i, w := range weights {
		if w > weights[best] {
			best = i
		}
	}
	return best
}

func share(w, mean float64) uint32 {
	return uint32(min(max(math.Round(w/mean*(1<<32)), 0), math.MaxUint32))
}

// Len is the number of weights.
func (a *Alias) Len() int { return len(a.cells) }

// Draw writes draws number first, first+step, ... of a seed.
func (a *Alias) Draw(seed uint64, first, step int64, dst []int64) {
	p := rng.NewPhilox(seed)
	n := uint64(len(a.cells))
	for i := range dst {
		x, y := p.At(uint64(first+int64(i)*step), 0)
		at := rng.Below(x, n)
		c := a.cells[at]
		if uint32(y) >= c.own {
			at = uint64(c.other)
		}
		dst[i] = int64(at)
	}
}

// Close gives the memory back. Nobody may draw any more.
func (a *Alias) Close() error {
	a.memory.Free()
	a.cells = nil
	return nil
}
