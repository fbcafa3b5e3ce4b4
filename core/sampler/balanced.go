package sampler

import (
	"errors"
	"fmt"

	"github.com/goloader/goloader/core/rng"
)

// ErrLabels says that nothing can be drawn by classes.
var ErrLabels = errors.New("no class has a member")

// Balanced draws indices so that every class is as likely as any other, and in a class every member. Draw number i depends
// on the seed and on i alone.
type Balanced struct {
	members []int64 // by class
	ends    []int64 // of each class in members
}

// NewBalanced makes a sampler of indices with labels, which may be any numbers. Labels are read, not kept.
func NewBalanced(labels []int64) (*Balanced, error) {
	counts := map[int64]int64{}
	for _, label := range labels {
		counts[label]++
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("balanced sampler: %d labels: %w", len(labels), ErrLabels)
	}
	b := &Balanced{members: make([]int64, len(labels))}
	numbers := map[int64]int{}
	end := int64(0)
	for _, label := range labels { // classes in the order in which they come
		if _, known := numbers[label]; !known {
			numbers[label] = len(b.ends)
			b.ends = append(b.ends, end)
			end += counts[label]
		}
	}
	for i, label := range labels {
		k := numbers[label]
		b.members[b.ends[k]] = int64(i)
		b.ends[k]++
	}
	return b, nil
}

// Len is the number of labels.
func (b *Balanced) Len() int { return len(b.members) }

// Draw writes draws number first, first+step, ... of a seed.
func (b *Balanced) Draw(seed uint64, first, step int64, dst []int64) {
	p := rng.NewPhilox(seed)
	for i := range dst {
		x, y := p.At(uint64(first+int64(i)*step), 0)
		k := rng.Below(x, uint64(len(b.ends)))
		begin := int64(0)
		if k > 0 {
			begin = b.ends[k-1]
		}
		dst[i] = b.members[begin+int64(rng.Below(y, uint64(b.ends[k]-begin)))]
	}
}

// Close implements what handles want; the memory is Go's.
func (b *Balanced) Close() error { return nil }
