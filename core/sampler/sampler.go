// Package sampler says which index is next, with the draws and the laziness of torch.utils.data's samplers: a sampler
// touches its generator exactly when torch's would, so both leave it in the same state at every point.
package sampler

import (
	"fmt"

	"github.com/goloader/goloader/core/rng"
)

// Sampler yields indices, once through. One goroutine at a time.
type Sampler interface {
	// Len is the number of indices of a whole pass.
	Len() int64
	// Next writes the next indices to dst and returns how many; fewer than len(dst) means that the pass is over.
	Next(dst []int64) int
}

// Permutation is torch.randperm(n) drawn from r.
func Permutation(r *rng.MT19937, n int64) []int64 {
	p := make([]int64, n)
	Permute(r, p)
	return p
}

// Permute writes torch.randperm(len(dst)) drawn from r to dst.
func Permute(r *rng.MT19937, dst []int64) {
	r.Permute(dst)
}

// Sequential yields 0 to n-1.
type Sequential struct{ next, n int64 }

// NewSequential is torch's SequentialSampler over n samples.
func NewSequential(n int64) *Sequential { return &Sequential{n: max(n, 0)} }

// Len is n.
func (s *Sequential) Len() int64 { return s.n }

// Next implements Sampler.
func (s *Sequential) Next(dst []int64) int {
	k := int(min(int64(len(dst)), s.n-s.next))
	for i := range dst[:k] {
		dst[i] = s.next + int64(i)
	}
	s.next += int64(k)
	return k
}

// blocks yields indices that are drawn a block at a time, each block when its first index is asked for.
type blocks struct {
	length int64
	draw   func() (block []int64, more bool)
	block  []int64
	over   bool
}

func (b *blocks) Len() int64 { return b.length }

func (b *blocks) Next(dst []int64) int {
	k := 0
	for k < len(dst) {
		if len(b.block) == 0 {
			if b.over {
				break
			}
			var more bool
			b.block, more = b.draw()
			b.over = !more
			continue
		}
		took := copy(dst[k:], b.block)
		b.block = b.block[took:]
		k += took
	}
	return k
}

// Random yields permutations of 0 to n-1 until it has yielded enough.
type Random struct{ blocks }

// NewRandom is torch's RandomSampler(range(n), num_samples=count, generator=r): count/n whole permutations and the
// start of one more, which is drawn even if none of it is needed, as soon as the pass is seen to be over. r is used
// lazily.
func NewRandom(r *rng.MT19937, n, count int64) (*Random, error) {
	if err := check(n, count); err != nil {
		return nil, err
	}
	p := make([]int64, n)
	whole := count / n
	draw := func() ([]int64, bool) {
		Permute(r, p)
		if whole > 0 {
			whole--
			return p, true
		}
		return p[:count%n], false
	}
	return &Random{blocks{length: count, draw: draw}}, nil
}

// torch's RandomSampler draws this many indices at a time with replacement.
const replacementBlock = 32

// WithReplacement yields indices drawn independently.
type WithReplacement struct{ blocks }

// NewWithReplacement is torch's RandomSampler(range(n), replacement=True, num_samples=count, generator=r).
func NewWithReplacement(r *rng.MT19937, n, count int64) (*WithReplacement, error) {
	if err := check(n, count); err != nil {
		return nil, err
	}
	var block [replacementBlock]int64
	whole := count / replacementBlock
	draw := func() ([]int64, bool) {
		b, more := block[:], whole > 0
		if !more {
			b = block[:count%replacementBlock]
		}
		whole--
		for i := range b {
			b[i] = int64(r.Randint(uint64(n)))
		}
		return b, more
	}
	return &WithReplacement{blocks{length: count, draw: draw}}, nil
}

func check(n, count int64) error {
	if n <= 0 {
		return fmt.Errorf("random sampler: nothing to draw from, %d samples", n)
	}
	if count <= 0 { // torch's words
		return fmt.Errorf("num_samples should be a positive integer value, but got num_samples=%d", count)
	}
	return nil
}

// SubsetRandom yields given indices in random order.
type SubsetRandom struct{ blocks }

// NewSubsetRandom is torch's SubsetRandomSampler(indices, generator=r). It keeps indices and draws at the first Next.
func NewSubsetRandom(r *rng.MT19937, indices []int64) *SubsetRandom {
	draw := func() ([]int64, bool) {
		p := Permutation(r, int64(len(indices)))
		for i, at := range p {
			p[i] = indices[at]
		}
		return p, false
	}
	return &SubsetRandom{blocks{length: int64(len(indices)), draw: draw}}
}

// Sharing is the share of one rank in a pass, as torch's DistributedSampler cuts it.
type Sharing struct {
	Replicas, Rank int64
	Shuffle        bool
	Seed, Epoch    int64 // of the shuffle
	DropLast       bool  // leave samples out, not in twice, to make shares equal
}

// Distributed yields every Replicas-th index of a pass, from Rank on.
type Distributed struct {
	share   Sharing
	n       int64
	length  int64
	next    int64 // of this share
	order   []int64
	ordered bool
}

// NewDistributed is torch's DistributedSampler over n samples after set_epoch(share.Epoch).
func NewDistributed(n int64, share Sharing) (*Distributed, error) {
	if share.Replicas < 1 || share.Rank < 0 || share.Rank >= share.Replicas {
		const torchs = "Invalid rank %d, rank should be in the interval [0, %d]"
		return nil, fmt.Errorf(torchs, share.Rank, share.Replicas-1)
	}
	if n < 0 {
		return nil, fmt.Errorf("distributed sampler: %d samples", n)
	}
	length := n / share.Replicas
	if n%share.Replicas != 0 && !share.DropLast {
		length++
	}
	return &Distributed{share: share, n: n, length: length}, nil
}

// Len is the size of a share, the same for every rank.
func (d *Distributed) Len() int64 { return d.length }

// Next implements Sampler.
func (d *Distributed) Next(dst []int64) int {
	if d.share.Shuffle && !d.ordered {
		r := rng.New(uint64(d.share.Seed + d.share.Epoch))
		d.order, d.ordered = Permutation(&r, d.n), true
	}
	k := int(min(int64(len(dst)), d.length-d.next))
	for i := range dst[:k] {
		// Past the end the pass starts over, as often as equal shares need.
		at := (d.share.Rank + (d.next+int64(i))*d.share.Replicas) % d.n
		if d.order != nil {
			at = d.order[at]
		}
		dst[i] = at
	}
	d.next += int64(k)
	return k
}

// Batch groups a sampler's indices.
type Batch struct {
	from     Sampler
	dropLast bool
	buffer   []int64
}

// NewBatch is torch's BatchSampler.
func NewBatch(from Sampler, size int, dropLast bool) (*Batch, error) {
	if size <= 0 { // torch's words
		return nil, fmt.Errorf("batch_size should be a positive integer value, but got batch_size=%d", size)
	}
	return &Batch{from: from, dropLast: dropLast, buffer: make([]int64, size)}, nil
}

// Len is the number of batches of a whole pass.
func (b *Batch) Len() int64 {
	size := int64(len(b.buffer))
	if b.dropLast {
		return b.from.Len() / size
	}
	return (b.from.Len() + size - 1) / size
}

// Next returns the next batch, or nil when the pass is over. The batch holds until the next call.
func (b *Batch) Next() []int64 {
	k := b.from.Next(b.buffer)
	if k == 0 || (b.dropLast && k < len(b.buffer)) {
		return nil
	}
	return b.buffer[:k]
}
