// Package op is the fixed half of transforms: given an image's bytes and the numbers a draw chose, it decodes, crops,
// resizes, flips, pads, and writes the finished sample into its place in a slot. The pixel work is C (op.h); one call
// does a run of images.
//
// How the parts go together:
//
//	steps, patches, finish := recipe.Cut(steps)
//	passes, size, err := op.Fuse(passes[:0], imageSize, steps) // a recipe's steps as few passes
//	store, err := op.NewStore(channels, itemsize, tables)      // once a plan: 256 entries a channel
//	jobs, err := op.NewJobs(16)                                // once a goroutine
//	worker, err := op.OpenWorker(op.ShrinkFirst)               // once a goroutine
//
//	jobs.SetBytes(i, decoder, data, size, imageSize) // or SetRaw
//	jobs.SetPasses(i, passes)
//	jobs.SetPatches(i, patches)
//	jobs.SetFinish(i, steps, finish)
//	jobs.SetSample(i, dst, dstSize, store)
//	worker.Run(jobs, n, &cancel)
//	jobs.Status(i), jobs.Why(i)
//
// What always holds: the result is Pillow's, bit for bit, whatever instruction set runs it; whatever a job says,
// nothing outside its own data and sample is touched; nothing is allocated once a worker has seen its largest image.
// Data and samples are addresses of memory that the Go heap does not own (core/mem), or that is pinned, since C keeps
// them in a job.
package op

/*
#cgo CFLAGS: -O3 -Wall -Wextra
#cgo LDFLAGS: -ldl -lm
#include <stdlib.h>
#include <string.h>
#include "op.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/goloader/goloader/core/recipe"
)

var (
	// ErrNoMemory is what is returned when C memory runs out.
	ErrNoMemory = errors.New("out of memory")
	// ErrTooLarge says that an image, or one on the way to it, would have more than PixelsMax pixels.
	ErrTooLarge = fmt.Errorf("an image of more than %d pixels", PixelsMax)
)

// PassOrder says which of a resize's two passes comes first; Pillow changed it twice, and the pixels with it (op.h).
type PassOrder int32

// Pillow's pass orders.
const (
	HorizontalFirst PassOrder = C.GL_HORIZONTAL_FIRST // up to 12.1
	TallFirst       PassOrder = C.GL_TALL_FIRST       // 12.2, 12.3
	ShrinkFirst     PassOrder = C.GL_SHRINK_FIRST     // 13.0
)

// Status is how a job ended.
type Status int32

// How jobs end. After anything but Decoded the sample's bytes are undefined.
const (
	Decoded   Status = C.GL_DECODED
	Refused   Status = C.GL_REFUSED   // the decoder leaves this image to Pillow; Why says why
	NoMemory  Status = C.GL_NO_MEMORY // an allocation failed
	Cancelled Status = C.GL_CANCELLED // the run was cancelled before this image
	BadJob    Status = C.GL_BAD_JOB   // the job contradicts itself: a mistake of the caller; Why says which
)

func (s Status) String() string {
	switch s {
	case Decoded:
		return "decoded"
	case Refused:
		return "refused"
	case NoMemory:
		return "out of memory"
	case Cancelled:
		return "cancelled"
	case BadJob:
		return "bad job"
	default:
		return fmt.Sprintf("status %d", int32(s))
	}
}

const (
	// PatchesMax is the most patches a sample can have.
	PatchesMax = C.GL_PATCHES_MAX
	// TermsMax and NoisesMax are the most that the arithmetic on a sample can have.
	TermsMax, NoisesMax = C.GL_TERMS_MAX, C.GL_NOISES_MAX
	// PassesMax is the most passes an image can have.
	PassesMax = C.GL_PASSES_MAX
	// PixelsMax is the most pixels that an image can have at any time.
	PixelsMax = C.GL_PIXELS_MAX
)

// Where C and recipe differ, one of these is false, and the same key twice does not compile.
var (
	_ = map[bool]string{
		false: "",
		PatchesMax == recipe.PatchesMax &&
			TermsMax == recipe.TermsMax &&
			NoisesMax == recipe.NoisesMax &&
			C.GL_STACK_MAX == recipe.StackMax: "limits of samples",
	}
	_ = map[bool]string{
		false: "",
		recipe.PushSample == C.GL_PUSH_SAMPLE &&
			recipe.PushNoise == C.GL_PUSH_NOISE &&
			recipe.Add == C.GL_ADD &&
			recipe.Subtract == C.GL_SUBTRACT &&
			recipe.Multiply == C.GL_MULTIPLY &&
			recipe.Divide == C.GL_DIVIDE &&
			recipe.AddWith == C.GL_ADD_WITH &&
			recipe.SubtractWith == C.GL_SUBTRACT_WITH &&
			recipe.SubtractFrom == C.GL_SUBTRACT_FROM &&
			recipe.MultiplyWith == C.GL_MULTIPLY_WITH &&
			recipe.DivideWith == C.GL_DIVIDE_WITH &&
			recipe.AtLeast == C.GL_AT_LEAST &&
			recipe.AtMost == C.GL_AT_MOST &&
			recipe.Set == C.GL_SET &&
			recipe.TermKinds == C.GL_TERM_KINDS: "terms",
	}
)

// Store is look-up tables in C memory: what a pixel's byte becomes in the sample, and in its patches.
type Store struct{ c *C.gl_store }

// NewStore copies tables, the sample's first: for each channel (1 or 3) 256 elements of itemsize (1, 2, 4 or 8) bytes, in
// machine order.
func NewStore(channels, itemsize int, table []byte) (*Store, error) {
	if channels != 1 && channels != 3 {
		return nil, fmt.Errorf("store: %d channels, want 1 or 3", channels)
	}
	if itemsize != 1 && itemsize != 2 && itemsize != 4 && itemsize != 8 {
		return nil, fmt.Errorf("store: items of %d bytes, want 1, 2, 4 or 8", itemsize)
	}
	each := channels * 256 * itemsize
	if len(table) == 0 || len(table)%each != 0 {
		return nil, fmt.Errorf("store: tables of %d bytes, want %d for each", len(table), each)
	}
	// The table lies behind the struct, in the same block.
	c := (*C.gl_store)(C.malloc(C.size_t(C.sizeof_gl_store + len(table))))
	if c == nil {
		return nil, fmt.Errorf("store: %w", ErrNoMemory)
	}
	c.channels, c.itemsize = C.int32_t(channels), C.int32_t(itemsize)
	c.interleaved, c.tables = 0, C.int32_t(len(table)/each)
	c.table = unsafe.Add(unsafe.Pointer(c), C.sizeof_gl_store)
	C.memcpy(unsafe.Pointer(c.table), unsafe.Pointer(&table[0]), C.size_t(len(table)))
	return &Store{c}, nil
}

// SetOrder says how the items of a sample lie; those of a new store are channels first.
func (s *Store) SetOrder(order recipe.Order) {
	s.c.interleaved = C.int32_t(order)
}

// Close frees the table. No job may use it any more.
func (s *Store) Close() {
	C.free(unsafe.Pointer(s.c))
	s.c = nil
}

// Jobs is a run of images for a worker, in C memory, to be filled and used again and again by one goroutine at a time.
type Jobs struct {
	c []C.gl_job
}

// NewJobs makes room for n images.
func NewJobs(n int) (*Jobs, error) {
	if n < 1 {
		return nil, fmt.Errorf("jobs: room for %d images", n)
	}
	c := (*C.gl_job)(C.calloc(C.size_t(n), C.sizeof_gl_job))
	if c == nil {
		return nil, fmt.Errorf("jobs: %w", ErrNoMemory)
	}
	return &Jobs{unsafe.Slice(c, n)}, nil
}

// Close frees the jobs.
func (j *Jobs) Close() {
	C.free(unsafe.Pointer(unsafe.SliceData(j.c)))
	j.c = nil
}

// Len is how many images there is room for.
func (j *Jobs) Len() int { return len(j.c) }

// SetBytes makes job i decode size bytes at data with decoder (a const gl_decoder, from a package of core/decode).
// image is what the header says.
func (j *Jobs) SetBytes(i int, decoder, data unsafe.Pointer, size int, image recipe.Size) {
	job := &j.c[i]
	job.decoder = (*C.gl_decoder)(decoder)
	job.data = (*C.uint8_t)(data)
	job.size = C.size_t(size)
	job.width, job.height = C.int32_t(image.Width), C.int32_t(image.Height)
	job.is_one_plane = 0
}

// SetOnePlane says, after SetBytes, that job i's decoder gives one plane.
func (j *Jobs) SetOnePlane(i int) { j.c[i].is_one_plane = 1 }

// Layout says how pixels that are decoded already lie in memory.
type Layout int32

// The layouts, all without gaps.
const (
	Interleaved Layout = C.GL_RAW_RGB    // [height, width, 3]
	Planar      Layout = C.GL_RAW_PLANAR // [3, height, width]
	Flat        Layout = C.GL_RAW_GREY   // [height, width]: grey, one plane
)

// SetRaw makes job i take an image that is decoded already: size bytes at data.
func (j *Jobs) SetRaw(i int, layout Layout, data unsafe.Pointer, size int, image recipe.Size) {
	j.SetBytes(i, nil, data, size, image)
	j.c[i].raw = C.int32_t(layout)
}

// SetSeek lends job i memory for the seek index of its file: room bytes at data, the first size of them what an earlier
// visit left there. With room 0 none is kept.
func (j *Jobs) SetSeek(i int, data unsafe.Pointer, room, size int) {
	j.c[i].seek = C.gl_seek{data: (*C.uint8_t)(data), room: C.size_t(room), size: C.size_t(size)}
}

// SeekSize is how many bytes of it the decoder left there.
func (j *Jobs) SeekSize(i int) int { return int(j.c[i].seek.size) }

// SetPasses copies the passes into job i. More than PassesMax make the job a BadJob.
func (j *Jobs) SetPasses(i int, passes []Pass) {
	job := &j.c[i]
	copy(unsafe.Slice((*Pass)(unsafe.Pointer(&job.pass[0])), PassesMax), passes)
	job.npass = C.int32_t(len(passes))
}

// SetPatches gives job i patches, in the order in which they are laid. More than PatchesMax make the job a BadJob.
func (j *Jobs) SetPatches(i int, patches []recipe.Step) {
	job := &j.c[i]
	for k, p := range patches[:min(len(patches), PatchesMax)] {
		job.patch[k] = C.gl_patch{
			window: C.gl_window{x: C.int32_t(p.Left), y: C.int32_t(p.Top), width: C.int32_t(p.Width), height: C.int32_t(p.Height)},
			table:  C.int32_t(p.Number),
		}
	}
	job.npatch = C.int32_t(len(patches))
}

// SetFinish gives job i the noise of its steps, and the arithmetic that its sample ends with. More terms or noises than there may
// be make the job a BadJob.
func (j *Jobs) SetFinish(i int, steps, arithmetic []recipe.Step) {
	finish := &j.c[i].finish
	finish.terms, finish.noises = 0, 0
	add := func(noise *recipe.Noise) {
		if finish.noises < NoisesMax {
			finish.noise[finish.noises] = *(*C.gl_noise)(noise.C())
			finish.noise[finish.noises].pixels = 0
			if noise.Pixels {
				finish.noise[finish.noises].pixels = 1
			}
		}
		finish.noises++
	}
	for _, step := range steps {
		if step.Noise != nil {
			add(step.Noise)
		}
	}
	for _, step := range arithmetic {
		first := finish.noises
		for _, noise := range step.Finish.Noises {
			add(noise)
		}
		for _, t := range step.Finish.Terms {
			if finish.terms < TermsMax {
				term := C.gl_term{does: C.int32_t(t.Does), noise: C.int32_t(t.Noise) + first}
				for c, v := range t.Values {
					term.value[c] = C.float(v)
				}
				finish.term[finish.terms] = term
			}
			finish.terms++
		}
	}
}

// SetSample makes job i write its size bytes to dst: [channels, height, width] elements of the store's, contiguous, or
// [height, width, channels] (SetOrder).
func (j *Jobs) SetSample(i int, dst unsafe.Pointer, size int, store *Store) {
	job := &j.c[i]
	job.dst, job.dst_size, job.store = dst, C.size_t(size), store.c
}

// Status is how job i ended in the last run.
func (j *Jobs) Status(i int) Status { return Status(j.c[i].status) }

// Why is the reason for Refused or BadJob.
func (j *Jobs) Why(i int) string {
	switch j.Status(i) {
	case Refused, BadJob:
		return C.GoString(&j.c[i].why[0])
	default:
		return ""
	}
}

// Worker keeps what images have in common: decoder states, planes, resampling tables. One goroutine at a time.
type Worker struct{ c *C.gl_worker }

// OpenWorker makes a worker that resizes as the Pillow with this pass order does.
func OpenWorker(order PassOrder) (*Worker, error) {
	if order < HorizontalFirst || order > ShrinkFirst {
		return nil, fmt.Errorf("worker: no pass order %d", order)
	}
	c := C.gl_worker_open(C.int32_t(order))
	if c == nil {
		return nil, fmt.Errorf("worker: %w", ErrNoMemory)
	}
	return &Worker{c}, nil
}

// Close frees what the worker holds.
func (w *Worker) Close() {
	C.gl_worker_close(w.c)
	w.c = nil
}

// Run does the first n jobs; a decoder may take neighbouring ones by turns. cancel may be nil; C looks at it before each
// image, and once another goroutine has made it non-zero (atomically) the rest ends as Cancelled. It says how long passes took:
// all of the time, but for that of decoders.
func (w *Worker) Run(jobs *Jobs, n int, cancel *int32) (passes time.Duration) {
	if n == 0 {
		return 0
	}
	run := jobs.c[:n]
	return time.Duration(C.gl_worker_run(w.c, &run[0], C.int32_t(n), (*C.int32_t)(unsafe.Pointer(cancel))))
}

// Bytes is the memory the worker holds, decoder states aside.
func (w *Worker) Bytes() int { return int(C.gl_worker_bytes(w.c)) }

// LiveBytes is the memory of all open workers, decoder states aside.
func LiveBytes() int { return int(C.gl_worker_bytes_live()) }

// Kernels names the instruction set in use: "avx512", "avx2", "neon" or "plain".
func Kernels() string { return C.GoString(C.gl_kernels_name()) }
