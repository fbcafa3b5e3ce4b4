// Package main is goloader's core as a C library (go build -buildmode=c-shared). goloader.h is what it promises; shim.c
// stands in front of the functions here. They stay thin: look up, call core, report.
package main

/*
#include "goloader.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/goloader/goloader/core/collate"
	"github.com/goloader/goloader/core/decode/webp"
	"github.com/goloader/goloader/core/expr"
	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/node"
	"github.com/goloader/goloader/core/op"
	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/recipe"
	"github.com/goloader/goloader/core/rng"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/cache"
	"github.com/goloader/goloader/core/source/chunked"
	"github.com/goloader/goloader/core/source/decoded"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/source/npy"
	"github.com/goloader/goloader/core/source/npz"
	"github.com/goloader/goloader/core/source/pickle"
	"github.com/goloader/goloader/core/source/pixels"
	"github.com/goloader/goloader/core/source/places"
	"github.com/goloader/goloader/core/source/pt"
	"github.com/goloader/goloader/core/source/raw"
	"github.com/goloader/goloader/core/source/remote"
	"github.com/goloader/goloader/core/source/tables"
	"github.com/goloader/goloader/core/source/text"
	"github.com/goloader/goloader/core/source/wav"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/core/tensor"
)

// Workers spend their time in C, each on a processor of Go's. A caller from Python must find one free at once, so there
// are more than cores.
const processorsSpare = 2

func init() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + processorsSpare) }

func main() {}

// Names live in C memory as long as the library.
var (
	dtypeNames  = map[tensor.DType]*C.char{}
	kernelsName = C.CString(op.Kernels())
)

func init() {
	for d := tensor.DType(1); d.Valid(); d++ {
		dtypeNames[d] = C.CString(d.String())
	}
}

//export go_dtype_name
func go_dtype_name(dtype C.int32_t) *C.char {
	if dtype < 0 || dtype > 255 {
		return nil
	}
	return dtypeNames[tensor.DType(dtype)]
}

//export go_kernels
func go_kernels() *C.char { return kernelsName }

//export go_open
func go_open(text *C.char, n C.size_t, source *C.gl_source, out *C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	loader, err := open(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n)), source)
	if err != nil {
		return report(err, errOut)
	}
	*out = C.gl_handle(handles.put(loader))
	observe()
	warn(loader.Warnings(), errOut)
	return C.GL_OK
}

// The storages.
var (
	localFiles  = source.Retry(local.Store{})
	localDirect = source.Retry(local.Store{Direct: true})
	remotes     = remote.New()
)

func open(text []byte, from *C.gl_source) (*pipeline.Loader, error) {
	p, err := plan.Parse(text)
	if err != nil {
		return nil, err
	}
	if from.count < 0 {
		return nil, fmt.Errorf("a source of %d samples: %w", from.count, errArgument)
	}
	n := int(from.count)
	if p.Source.Kind == plan.Recipe {
		return pipeline.OpenRecipes(p, localFiles)
	}
	if p.Source.Kind == plan.Stream {
		return openStream(p)
	}
	if p.Source.Kind == plan.Array || len(p.Source.Fields) > 0 {
		if err := fits(p.Source.Fields); err != nil {
			return nil, err
		}
		return openRows(p, from, n)
	}
	if from.files != 0 {
		list, err := get[*folder.List](&handles, int64(from.files))
		if err != nil {
			return nil, err
		}
		if list.Files() == nil {
			return nil, fmt.Errorf("the list of files is not made yet: %w", errArgument)
		}
		return pipeline.Open(p, list.Files().Share())
	}
	if p.Source.Kind == plan.Places {
		return pipeline.Open(p, places.New(unsafe.Slice((*places.Place)(unsafe.Pointer(from.places)), n)))
	}
	if p.Source.Kind == plan.Scripted {
		n = 0
		for _, part := range p.Parts {
			for _, files := range part.Script.Files {
				if files > math.MaxInt32 || n > math.MaxInt32 {
					return nil, fmt.Errorf("lists of %d files and more: %w", files, errArgument)
				}
				n += int(files)
			}
		}
	}
	if p.Source.Kind.InMemory() || p.Source.Kind == plan.Scripted && p.Parts[0].Image != nil {
		images, err := pixels.New(images(p.Parts, from), unsafe.Slice((*int64)(from.labels), n), p.Source.Kind.Views())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errArgument, err)
		}
		return pipeline.Open(p, images)
	}
	if p.Source.Kind == plan.Pairs {
		n *= 2
	}
	offsets := unsafe.Slice((*int64)(from.offsets), n+1)
	if offsets[n] < 0 {
		return nil, fmt.Errorf("%d bytes of paths: %w", offsets[n], errArgument)
	}
	paths := unsafe.Slice((*byte)(unsafe.Pointer(from.paths)), int(offsets[n]))
	var spans []int64
	if from.spans != nil {
		spans = unsafe.Slice((*int64)(from.spans), 2*n)
	}
	store, err := storeOf(p.Source.Remote, from.cache)
	if err != nil {
		return nil, err
	}
	files, err := folder.New(store, paths, offsets, unsafe.Slice((*int64)(from.labels), n), spans)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArgument, err)
	}
	loader, err := pipeline.Open(p, files)
	if err == nil && from.cache != 0 {
		var keeps *cache.Cache
		if keeps, err = get[*cache.Cache](&handles, int64(from.cache)); err == nil {
			err = loader.Hold(keeps.Decoded(store), files.Key)
		}
	}
	return loader, err
}

func openRows(p *plan.Plan, from *C.gl_source, n int) (*pipeline.Loader, error) {
	files := &containers{
		opened: map[string]source.Container{}, cache: decoded.NewCache(decodedKept), tables: tables.NewFiles(localFiles),
	}
	fields, err := arrayFields(p.Source, from, files)
	if err == nil {
		if p.Source.Kind == plan.Scripted {
			n = array.Named
		}
		var rows *array.Source
		var made *expr.Source
		if rows, err = array.New(n, fields); err == nil {
			var vectors []int
			if p.Source.Kind == plan.Scripted {
				vectors, _ = p.Parts[0].Script.VectorStarts()
			}
			made, err = expr.New(p.Source.Fields, rows, vectors)
		}
		if err == nil && p.Source.Kind == plan.Array {
			return pipeline.OpenRows(p, made), nil
		}
		var loader *pipeline.Loader
		if err == nil {
			if loader, err = pipeline.OpenDrawnRows(p, made); err == nil {
				return loader, nil
			}
		}
		err = fmt.Errorf("%w: %w", errArgument, err)
	}
	for _, f := range files.opened {
		f.Close()
	}
	return nil, err
}

// arrayFields is what a gl_source says of each field's rows, and of each program's inputs. It opens files, each once.
func arrayFields(p plan.Source, from *C.gl_source, files *containers) ([]array.Field, error) {
	fields := p.Rows()
	made := make([]array.Field, len(fields))
	for i, rows := range unsafe.Slice(from.rows, len(fields)) {
		of := fields[i]
		made[i].Row, made[i].Stored, made[i].Ragged = of.Spec, of.Stored, of.Ragged
		if rows.index != nil {
			made[i].Index = unsafe.Slice((*int64)(rows.index), int(from.count))
		}
		for _, a := range unsafe.Slice(rows.arrays, int(rows.narrays)) {
			each := arrayOf(a, of.Shape)
			if a.path != nil {
				file, err := files.of(a)
				if err != nil {
					return nil, err
				}
				each.File, each.Offset = file, int64(a.offset)
			}
			if p.Kind == plan.Scripted && a.files != nil && each.Together(made[i]) {
				each.Ends, _ = each.File.(array.Ending)
			}
			made[i].Arrays = append(made[i].Arrays, each)
		}
	}
	return made, nil
}

// containers are the files of a loader's arrays, each once.
type containers struct {
	opened map[string]source.Container
	cache  *decoded.Cache
	tables *tables.Files
}

// decodedKept bytes of decoded chunks and pages are kept for a loader: enough that rows in order, and those of a batch,
// decode each once.
const decodedKept = 256 << 20

func (c *containers) of(a C.gl_array) (source.Container, error) {
	path := C.GoString(a.path)
	key := fmt.Sprintf("%t %p %p %p %s", a.direct != 0, a.chunks, a.column, a.files, path)
	if file := c.opened[key]; file != nil {
		return file, nil
	}
	store := localFiles
	if a.direct != 0 {
		store = localDirect
	}
	var file source.Container
	var err error
	if a.column != nil || a.files != nil {
		if a.column != nil {
			file, err = c.column(a.column)
		} else {
			file, err = arrayFiles(a.files)
		}
		if err == nil {
			c.opened[key] = file
		}
		return file, err
	}
	if a.chunks == nil || a.chunks.separator == nil {
		if file, err = store.Open(context.Background(), path); err != nil {
			return nil, err
		}
	}
	if a.chunks != nil {
		if file, err = c.chunks(path, a.chunks, file, store); err != nil {
			return nil, err
		}
	}
	c.opened[key] = file
	return file, nil
}

// chunks opens an array in chunks of a file, or in files if that is nil. It closes the file if it cannot.
func (c *containers) chunks(path string, from *C.gl_chunks, file source.Container, store source.Store) (source.Container, error) {
	made := chunked.Array{
		Item: int(from.item), Fill: C.GoBytes(from.fill, C.int(from.item)), Filters: C.GoString(from.filters),
		Places: unsafe.Slice((*chunked.Place)(unsafe.Pointer(from.places)), int(from.count)),
		File:   file, Store: store, Path: path,
	}
	if from.separator != nil {
		made.Separator = C.GoString(from.separator)
	}
	for k := range int(from.ndim) {
		made.Shape = append(made.Shape, int(unsafe.Slice(from.shape, from.ndim)[k]))
		made.Chunk = append(made.Chunk, int(unsafe.Slice(from.chunk, from.ndim)[k]))
		if from.shard != nil {
			made.Shard = append(made.Shard, int(unsafe.Slice(from.shard, from.ndim)[k]))
		}
	}
	opened, err := chunked.New(made, c.cache)
	if err != nil && file != nil {
		file.Close()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errArgument, err)
	}
	return opened, err
}

// column opens a column of tables.
func (c *containers) column(from *C.gl_column) (source.Container, error) {
	opened, err := tables.New(tables.Column{
		Name: C.GoString(from.name), Item: int(from.item), Paths: joinedTexts(from.paths, int(from.npaths)),
		Encodings: joinedTexts(from.encodings, int(from.nencodings)),
		Parts:     unsafe.Slice((*tables.Part)(unsafe.Pointer(from.parts)), int(from.count)),
	}, c.tables, c.cache)
	if err != nil {
		err = fmt.Errorf("%w: %w", errArgument, err)
	}
	return opened, err
}

// arrayFiles are arrays in files of their own.
func arrayFiles(from *C.gl_array_files) (source.Container, error) {
	n := int(from.count)
	if n < 1 {
		return nil, fmt.Errorf("%d files: %w", n, errArgument)
	}
	offsets := unsafe.Slice((*int64)(from.offsets), n+1)
	format, err := arrayFormat(C.GoString(from.format))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArgument, err)
	}
	made := arrayfiles.Arrays{
		Format: format,
		Paths:  unsafe.Slice((*byte)(unsafe.Pointer(from.paths)), int(offsets[n])), Offsets: offsets,
		Begins: unsafe.Slice((*int64)(from.begins), n+1), Head: C.GoString(from.head), Tail: C.GoString(from.tail),
		Store: localFiles,
	}
	if from.extents != nil {
		made.Extents = unsafe.Slice((*int64)(from.extents), n)
	}
	opened, err := arrayfiles.New(made)
	if err != nil {
		err = fmt.Errorf("%w: %w", errArgument, err)
	}
	return opened, err
}

// arrayFormat is a format by how it is written: its name and, behind a colon, what it has to know.
func arrayFormat(written string) (arrayfiles.Format, error) {
	switch name, of, _ := strings.Cut(written, ":"); name {
	case "npy":
		return npy.Format{}, nil
	case "npz":
		return npz.Format{Name: of}, nil
	case "pickle":
		return pickle.NewArrays(of)
	case "pt":
		return pt.New(of)
	case "raw":
		return raw.New(of)
	case "text":
		return text.New(of)
	case "wav":
		return wav.New(of)
	}
	return nil, fmt.Errorf("arrays in files of %q", written)
}

//export go_array_headers
func go_array_headers(written, paths *C.char, count C.int32_t, out *C.char, each C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	format, err := arrayFormat(C.GoString(written))
	if err != nil || count < 0 || each < 1 {
		return report(fmt.Errorf("%d headers of %q: %w", int(count), C.GoString(written), errArgument), errOut)
	}
	into := unsafe.Slice((*byte)(unsafe.Pointer(out)), int(count)*int(each))
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for k, path := range joinedTexts(paths, int(count)) {
		room := into[k*int(each):][:each]
		reading.Go(func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("%w: %v\n%s", pipeline.ErrBug, r, debug.Stack())
				}
			}()
			text := arrayfiles.Text(context.Background(), format, localFiles, path)
			if len(text) >= len(room) {
				text = ""
			}
			fill(room, text)
			return nil
		})
	}
	return report(reading.Wait(), errOut)
}

// joinedTexts are so many, each NUL-terminated, one after the other.
func joinedTexts(from *C.char, count int) []string {
	var found []string
	for range count {
		text := C.GoString(from)
		found = append(found, text)
		from = (*C.char)(unsafe.Add(unsafe.Pointer(from), len(text)+1))
	}
	return found
}

func arrayOf(a C.gl_array, row tensor.Shape) array.Array {
	made := array.Array{Data: a.data, Rows: int(a.count), Bytes: int64(a.bytes), Counts: a.counts != 0}
	for k := range len(row) + 1 {
		made.Strides = append(made.Strides, int(a.stride[k]))
	}
	if a.begins != nil && a.count >= 0 {
		made.Begins = unsafe.Slice((*int64)(a.begins), int(a.count))
	}
	if a.lengths != nil && a.count >= 0 {
		made.Lengths = unsafe.Slice((*int64)(a.lengths), int(a.count))
	}
	if a.ends != nil && a.nends >= 0 {
		made.Ends = array.EndList(unsafe.Slice((*int64)(a.ends), int(a.nends)))
	}
	return made
}

// images is what a gl_source says of each part's images.
func images(parts []plan.Part, from *C.gl_source) []pixels.Images {
	made := make([]pixels.Images, len(parts))
	for i, rows := range unsafe.Slice(from.rows, len(parts)) {
		shape := parts[i].Image.Shape()
		made[i] = pixels.Images{Shape: shape, Array: arrayOf(*rows.arrays, shape)}
	}
	return made
}

// fits says whether a batch of rows can be described by a gl_batch.
func fits(fields []plan.Field) error {
	count := 0
	for i, f := range fields {
		var none []int64
		if f.Ragged {
			none = []int64{}
		}
		batch, err := collate.New(f).Batch(0, none)
		if err != nil {
			return fmt.Errorf("field %d: %w: %w", i, err, errArgument)
		}
		for _, spec := range batch.Specs {
			if n := len(spec.Shape); n > C.GL_NDIM_MAX {
				return fmt.Errorf("field %d has %d dimensions, at most %d are possible: %w", i, n, C.GL_NDIM_MAX, errArgument)
			}
		}
		count += len(batch.Specs)
	}
	if count > C.GL_FIELDS_MAX {
		return fmt.Errorf("%d fields, at most %d are possible: %w", count, C.GL_FIELDS_MAX, errArgument)
	}
	return nil
}

//export go_use_libwebp
func go_use_libwebp(initConfig, getFeatures, decode unsafe.Pointer, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return report(webp.Use(initConfig, getFeatures, decode), errOut)
}

//export go_start
func go_start(h C.gl_handle, o *C.gl_run_options, out *C.gl_handle, outFD *C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	loader, err := get[*pipeline.Loader](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	var seeds []uint64
	if o.seeds != nil && o.streams > 0 {
		seeds = slices.Clone(unsafe.Slice((*uint64)(o.seeds), o.streams))
	}
	cores := node.Table()
	if o.ncpus > 0 { // it has cores of its own
		cores = nil
	}
	run, err := loader.Start(pipeline.Options{
		Workers: int(o.workers), Streams: int(o.streams), BaseSeed: uint64(o.base_seed), Seeds: seeds,
		Poison:        o.poison != 0,
		HoldDirectory: o.hold_directory != 0,
		SampleTimeout: time.Duration(o.sample_timeout_ms) * time.Millisecond,
		Nice:          int(o.nice), CPUs: slices.Clone(unsafe.Slice((*int32)(o.cpus), o.ncpus)),
		Cores: cores,
	})
	if err != nil {
		return report(err, errOut)
	}
	*out, *outFD = C.gl_handle(handles.put(run)), C.int32_t(run.Events())
	return C.GL_OK
}

// withRun looks a run up and reports what came of using it.
func withRun(h C.gl_handle, errOut *C.gl_error, use func(*pipeline.Run) error) C.gl_status {
	run, err := get[*pipeline.Run](&handles, int64(h))
	if err == nil {
		err = use(run)
	}
	return report(err, errOut)
}

// leaving is withRun for what may leave reads behind.
func leaving(h C.gl_handle, errOut *C.gl_error, use func(*pipeline.Run) (left int, err error)) C.gl_status {
	left := 0
	status := withRun(h, errOut, func(run *pipeline.Run) (err error) {
		left, err = use(run)
		return err
	})
	if status == C.GL_OK && left > 0 {
		return C.GL_LEFT
	}
	return status
}

//export go_submit
func go_submit(h C.gl_handle, indices *C.int64_t, n C.int64_t, lent unsafe.Pointer, lentBytes C.int64_t,
	errOut *C.gl_error) (status C.gl_status) {
	return go_submit_seeded(h, indices, nil, n, lent, lentBytes, errOut)
}

//export go_submit_seeded
func go_submit_seeded(h C.gl_handle, indices *C.int64_t, seeds *C.uint64_t, n C.int64_t, lent unsafe.Pointer,
	lentBytes C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if n < 0 || lentBytes < 0 {
			return fmt.Errorf("%d indices, %d bytes: %w", n, lentBytes, errArgument)
		}
		var of []uint64
		if seeds != nil {
			of = unsafe.Slice((*uint64)(seeds), int(n))
		}
		return run.Submit(unsafe.Slice((*int64)(indices), int(n)), of, lent, int(lentBytes))
	})
}

//export go_submit_recipes
func go_submit_recipes(h C.gl_handle, message *C.uint8_t, n C.size_t, lent unsafe.Pointer, lentBytes C.int64_t,
	errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if lentBytes < 0 {
			return fmt.Errorf("%d bytes: %w", lentBytes, errArgument)
		}
		of := unsafe.Slice((*byte)(unsafe.Pointer(message)), int(n))
		return run.SubmitRecipes(of, C.GL_FIELDS_MAX, lent, int(lentBytes))
	})
}

//export go_next
func go_next(h C.gl_handle, batch *C.gl_batch, ask *C.gl_ask, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	run, err := get[*pipeline.Run](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	news, lease, question, err := run.Next()
	switch {
	case err != nil:
		batch.sequence = C.int64_t(lease.Sequence)
		return report(err, errOut)
	case news == pipeline.Idle:
		return C.GL_IDLE_RUN
	case news == pipeline.Ended:
		batch.sequence = C.int64_t(lease.Sequence)
		return C.GL_END
	case news == pipeline.Delivered:
		describe(batch, lease)
		return C.GL_OK
	case news == pipeline.Asked:
		put(ask, question)
		return C.GL_ASK
	default:
		return C.GL_EMPTY
	}
}

func describe(out *C.gl_batch, lease pipeline.Lease) {
	out.sequence, out.bytes = C.int64_t(lease.Sequence), C.int64_t(lease.Bytes)
	out.data, out.lease = nil, nil
	if lease.Slot.Valid() {
		out.data, out.lease = lease.Slot.Data(), lease.Slot.Handle()
	}
	out.nfields = C.int32_t(len(lease.Fields))
	for i, f := range lease.Fields {
		field := &out.field[i]
		field.offset, field.dtype = C.int64_t(f.Offset), C.int32_t(f.Spec.DType)
		field.ndim = C.int32_t(len(f.Spec.Shape))
		for k, extent := range f.Spec.Shape {
			field.shape[k] = C.int64_t(extent)
		}
	}
}

func put(out *C.gl_ask, ask pipeline.Ask) {
	out.kind, out.position = C.int32_t(ask.Kind), C.int32_t(ask.Position)
	out.sequence, out.index, out.x = C.int64_t(ask.Sequence), C.int64_t(ask.Index), C.float(ask.X)
	fill(unsafe.Slice((*byte)(unsafe.Pointer(&out.reason[0])), C.GL_REASON_BYTES), ask.Reason)
}

//export go_answer_pixels
func go_answer_pixels(h C.gl_handle, rgb *C.uint8_t, width, height C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if width < 1 || height < 1 {
			return fmt.Errorf("an image of %dx%d pixels: %w", width, height, errArgument)
		}
		pixels := unsafe.Slice((*byte)(unsafe.Pointer(rgb)), run.AskedPlanes()*int(width)*int(height))
		return run.Supply(pixels, recipe.Size{Width: int32(width), Height: int32(height)})
	})
}

//export go_reject
func go_reject(h C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return leaving(h, errOut, (*pipeline.Run).Reject)
}

//export go_answer_exp
func go_answer_exp(h C.gl_handle, x, y C.float, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error { return run.AnswerExp(float32(x), float32(y)) })
}

//export go_rng_set
func go_rng_set(h C.gl_handle, state *C.uint8_t, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		return run.LoadRNG(unsafe.Slice((*byte)(unsafe.Pointer(state)), int(n)))
	})
}

//export go_follow
func go_follow(h C.gl_handle, stream C.int32_t, state *C.uint8_t, n C.size_t, each C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return leaving(h, errOut, func(run *pipeline.Run) (int, error) {
		return run.Follow(int(stream), unsafe.Slice((*byte)(unsafe.Pointer(state)), int(n)), each != 0)
	})
}

//export go_states_set
func go_states_set(h C.gl_handle, stream C.int32_t, states *C.uint8_t, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		return run.LoadStates(int(stream), unsafe.Slice((*byte)(unsafe.Pointer(states)), int(n)))
	})
}

//export go_asked_states
func go_asked_states(h C.gl_handle, states *C.uint8_t, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		return run.AskedStates(unsafe.Slice((*byte)(unsafe.Pointer(states)), int(n)))
	})
}

//export go_skip
func go_skip(h C.gl_handle, states *C.uint8_t, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return leaving(h, errOut, func(run *pipeline.Run) (int, error) {
		return run.Skip(unsafe.Slice((*byte)(unsafe.Pointer(states)), int(n)))
	})
}

//export go_position
func go_position(h C.gl_handle, drawn *C.int64_t, numbers C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		return run.Position(positions(drawn, numbers))
	})
}

//export go_resume
func go_resume(h C.gl_handle, sequence C.int64_t, drawn *C.int64_t, numbers C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		return run.Resume(int64(sequence), positions(drawn, numbers))
	})
}

// positions are a caller's numbers; a negative count is none.
func positions(drawn *C.int64_t, numbers C.int32_t) []int64 {
	return unsafe.Slice((*int64)(drawn), max(int(numbers), 0))
}

//export go_reset
func go_reset(h C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return leaving(h, errOut, (*pipeline.Run).Reset)
}

//export go_close
func go_close(h C.gl_handle, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	closer, err := take[io.Closer](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	if err := closer.Close(); err != nil {
		handles.restore(int64(h), closer) // a loader with runs
		return report(err, errOut)
	}
	if told, ok := closer.(interface{ Warnings() error }); ok { // a run or a loader
		warn(told.Warnings(), errOut)
	}
	if _, ok := closer.(*pipeline.Loader); ok {
		observe()
	}
	if handles.count() == 0 {
		remotes.CloseIdle()
	}
	if leaving, ok := closer.(interface{ Left() int }); ok && leaving.Left() > 0 { // a run or a loader
		return C.GL_LEFT
	}
	return C.GL_OK
}

//export go_doubts
func go_doubts(h C.gl_handle, images *C.int64_t, n C.int32_t, count *C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if n < 0 {
			return fmt.Errorf("room for %d images: %w", n, errArgument)
		}
		*count = C.int32_t(run.Doubts(unsafe.Slice((*int64)(images), int(n))))
		return nil
	})
}

//export go_doing
func go_doing(h C.gl_handle, text *C.char, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	return withRun(h, errOut, func(run *pipeline.Run) error {
		if n == 0 {
			return fmt.Errorf("no room: %w", errArgument)
		}
		fill(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n)), run.Doing())
		return nil
	})
}

//export go_events
func go_events(from C.int64_t, events *C.gl_event, n C.int32_t, count *C.int32_t, next, lost *C.int64_t,
	errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 {
		return report(fmt.Errorf("room for %d events: %w", n, errArgument), errOut)
	}
	copied, after, gone := stats.Recorded.Read(int64(from), unsafe.Slice((*stats.Event)(unsafe.Pointer(events)), int(n)))
	*count, *next, *lost = C.int32_t(copied), C.int64_t(after), C.int64_t(gone)
	return C.GL_OK
}

// A stats.Event lies as a gl_event does.
var _ = [1]struct{}{}[unsafe.Sizeof(stats.Event{})-unsafe.Sizeof(C.gl_event{})]

//export go_join
func go_join(rank, ranks, cores C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if err := node.Join(int(rank), int(ranks), int(cores)); err != nil {
		return report(fmt.Errorf("%w: %w", errArgument, err), errOut)
	}
	return C.GL_OK
}

//export go_common
func go_common(name *C.char, bytes C.int64_t, outFD *C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if bytes <= 0 {
		return report(fmt.Errorf("%d bytes: %w", bytes, errArgument), errOut)
	}
	memory, err := node.Named(C.GoString(name), int64(bytes), nil)
	if err == nil {
		err = memory.Reserve(0, int64(bytes))
	}
	if err != nil {
		return report(err, errOut)
	}
	*outFD = C.int32_t(memory.FD())
	return C.GL_OK
}

//export go_settle
func go_settle(timeoutMs C.int32_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	deadline := time.Now().Add(time.Duration(timeoutMs) * time.Millisecond)
	var warnings []error
	for _, loader := range all[*pipeline.Loader](&handles) {
		loader.Settle(deadline)
		warnings = append(warnings, loader.Warnings())
	}
	warn(errors.Join(warnings...), errOut)
	return C.GL_OK
}

//export go_stats
func go_stats(h C.gl_handle, text *C.char, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	loader, err := get[*pipeline.Loader](&handles, int64(h))
	if err != nil {
		return report(err, errOut)
	}
	return report(writeJSON(text, n, loader.Snapshot()), errOut)
}

//export go_live
func go_live(text *C.char, n C.size_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	live := map[string]any{"handles": handles.count(), "worker_bytes": op.LiveBytes(), "workers": pipeline.Serving(), "reads_left": pipeline.LeftBehind()}
	for p := mem.Slots; p <= mem.Cached; p++ {
		usage := mem.InUse(p)
		live[p.String()+"_bytes"], live[p.String()+"_blocks"] = usage.Bytes, usage.Blocks
	}
	return report(writeJSON(text, n, live), errOut)
}

func writeJSON(dst *C.char, n C.size_t, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(text) >= int(n) {
		return fmt.Errorf("%d bytes of JSON do not fit %d: %w", len(text), n, errArgument)
	}
	fill(unsafe.Slice((*byte)(unsafe.Pointer(dst)), int(n)), string(text))
	return nil
}

//export go_permutation
func go_permutation(seed C.uint64_t, out *C.int64_t, n C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 {
		return report(fmt.Errorf("a permutation of %d: %w", n, errArgument), errOut)
	}
	mt := rng.New(uint64(seed))
	mt.Permute(unsafe.Slice((*int64)(out), int(n)))
	return C.GL_OK
}

//export go_seeds
func go_seeds(seed C.uint64_t, skip C.int64_t, out *C.int64_t, n C.int64_t, errOut *C.gl_error) (status C.gl_status) {
	defer guard(&status, errOut)
	if n < 0 || skip < 0 {
		return report(fmt.Errorf("%d seeds after %d: %w", n, skip, errArgument), errOut)
	}
	mt := rng.New(uint64(seed))
	for range int64(skip) {
		mt.Random63()
	}
	for i, seeds := 0, unsafe.Slice((*int64)(out), int(n)); i < len(seeds); i++ {
		seeds[i] = mt.Random63()
	}
	return C.GL_OK
}
