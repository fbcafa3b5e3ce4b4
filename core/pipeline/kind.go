package pipeline

import (
	"context"

	"github.com/goloader/goloader/core/recipe"
)

// kind is a kind of work: which samples a loader has, and how a batch of them is set up, read and made. Its methods are called
// with the run's lock held, but for check, read and make.
type kind interface {
	// len is how many samples there are; 0 where batches bring theirs along.
	len() int
	// check refuses samples that are not there.
	check(indices []int64) error
	// spanLength is how many of a batch's n samples a worker takes at a time.
	spanLength(n int, o *Options) int
	// setUp fills a batch that knows its sequence and stream, of which a worker takes at most span samples at a time.
	setUp(r *Run, b *batch, indices []int64, span int)
	// enter is told that a batch has become outstanding. It gives the batch its slot, if the size of that is known.
	enter(r *Run, b *batch) error
	// pictures says that samples are images, which workers have tools for, and which readers read ahead from a slow storage.
	pictures() bool
	// shares says that an image of a batch is of the same file as the one before it.
	shares(b *batch, i int) bool
	// read reads image i of a batch, and its header. Its bytes go behind those that the same reading has read before.
	read(ctx context.Context, w *worker, t *reading, i int)
	// work has a worker make a span, and gives the lock back meanwhile. It reports whether the worker was left in a read.
	work(r *Run, w *worker, b *batch, sp *span) (left bool)
	// make makes the samples of a span up to hi.
	make(w *worker, b *batch, sp *span, hi int, steps []recipe.Step) error
	// fields are those of a finished batch, and their bytes.
	fields(b *batch) ([]Field, int)
	// laid is told that a batch has got its slot since its first sample was drawn.
	laid(b *batch)
	// name is an image, for messages. The batch may be nil.
	name(b *batch, index int64) string
	close()
}

// brought is what a batch of some kind has besides.
type brought interface{ free() }
