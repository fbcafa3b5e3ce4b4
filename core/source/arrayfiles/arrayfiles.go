// Package arrayfiles gives arrays that are in a file each as if they lay in one file one after the other: what reads arrays
// in files then reads these.
//
// Whoever opens them knows already which type, order and shape each has. Files are opened as they are read, and looked at
// each time: one that is missing, or has another array by then, is for the user's own code to read (source.ErrLeft).
package arrayfiles

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/goloader/goloader/core/source"
)

// HeadMax is the most that is read of a file's beginning in one piece.
const HeadMax = 4096

// Format is how an array lies in a file.
type Format interface {
	// Head looks at a file's beginning. It gives what is written there of the array, as a text which may lie in room, and where
	// the array is. It fails for a file of another format, or one that is not whole.
	Head(ctx context.Context, file source.Container, room *[HeadMax]byte) (text []byte, place Place, err error)
}

// Converter is a Format that makes items of what lies in a file.
type Converter interface {
	// Convert fills into with the array's bytes from skip on.
	Convert(ctx context.Context, file source.Container, place Place, skip int64, into []byte) error
}

// Place is where an array's items begin in a file, and of which kind they are there, as the Format counts kinds.
type Place struct {
	Begin int64
	Kind  int
	Made  *[]byte // of a Format that has to make them to see what there is: the source.Scratch in which they begin there
}

func (p Place) free() {
	if p.Made != nil {
		source.PutScratch(p.Made)
	}
}

// Read fills into with an array's bytes from skip on, of the place that Head has told, and frees that.
func Read(ctx context.Context, format Format, file source.Container, place Place, skip int64, into []byte) error {
	defer place.free()
	if place.Made != nil {
		items := (*place.Made)[place.Begin:]
		if left := int64(len(items)) - skip; left < int64(len(into)) {
			return fmt.Errorf("%d bytes of items less than its shape has", int64(len(into))-left)
		}
		copy(into, items[skip:])
		return nil
	}
	if of, is := format.(Converter); is {
		return of.Convert(ctx, file, place, skip, into)
	}
	return file.Read(ctx, source.Piece{At: place.Begin + skip, Into: into})
}

// Arrays are arrays in files. What is in slices is kept, not copied.
//
// The text of a file's header is Head, one extent of the array's shape, and Tail; or Head alone if there are no Extents.
type Arrays struct {
	Format  Format
	Paths   []byte  // each followed by a NUL
	Offsets []int64 // where in Paths each begins, and the end
	Begins  []int64 // of each array's bytes behind those of all before it, and the end
	Extents []int64 // of each array's shape, the one by which they differ, if they do
	Head    string
	Tail    string
	Store   source.Store
}

// arrays implements source.Container.
type arrays struct {
	Arrays
	waiting atomic.Bool // reads had to wait lately
}

// New opens nothing yet.
func New(of Arrays) (source.Container, error) {
	n := len(of.Begins) - 1
	if n < 1 || len(of.Offsets) != n+1 || (of.Extents != nil && len(of.Extents) != n) {
		return nil, fmt.Errorf("arrayfiles: %d begins, %d paths and %d extents", n, len(of.Offsets)-1, len(of.Extents))
	}
	if !increases(of.Offsets) || of.Offsets[n] > int64(len(of.Paths)) || !increases(of.Begins) {
		return nil, fmt.Errorf("arrayfiles: paths or arrays of no bytes, or in another order")
	}
	for k := range n {
		if of.Paths[of.Offsets[k+1]-1] != 0 {
			return nil, fmt.Errorf("arrayfiles: path %d does not end with a NUL", k)
		}
	}
	return &arrays{Arrays: of}, nil
}

// increases says that each number is larger than the one before it, the first being 0.
func increases(numbers []int64) bool {
	for k := range len(numbers) - 1 {
		if numbers[k] >= numbers[k+1] {
			return false
		}
	}
	return numbers[0] == 0
}

// Name implements source.Container.
func (a *arrays) Name() string {
	return fmt.Sprintf("%s and %d more files", a.path(0), len(a.Begins)-2)
}

// Bytes implements source.Container.
func (a *arrays) Bytes() int64 { return a.Begins[len(a.Begins)-1] }

// End is where the array ends in which a byte is.
func (a *arrays) End(at int64) int64 {
	return a.Begins[sort.Search(len(a.Begins)-2, func(k int) bool { return a.Begins[k+1] > at })+1]
}

// Waits implements source.Container.
func (a *arrays) Waits() bool { return a.waiting.Load() }

// Expect implements source.Container: files are not opened twice.
func (a *arrays) Expect(int64, int) {}

// Close implements source.Container.
func (a *arrays) Close() {}

func (a *arrays) path(k int) string { return string(a.Paths[a.Offsets[k] : a.Offsets[k+1]-1]) }

// Read implements source.Container. It fails with source.ErrLeft.
func (a *arrays) Read(ctx context.Context, pieces ...source.Piece) error {
	for _, p := range pieces {
		if p.At < 0 || p.At > a.Bytes()-int64(len(p.Into)) {
			return fmt.Errorf("%s: %w: %d bytes at byte %d wanted, but there are %d",
				a.Name(), source.ErrUnreadable, len(p.Into), p.At, a.Bytes())
		}
		for at, into := p.At, p.Into; len(into) > 0; {
			k := sort.Search(len(a.Begins)-1, func(k int) bool { return a.Begins[k+1] > at })
			n := int(min(int64(len(into)), a.Begins[k+1]-at))
			if err := a.read(ctx, k, at-a.Begins[k], into[:n]); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("%s: %w: %v", a.path(k), source.ErrLeft, err)
			}
			at, into = at+int64(n), into[n:]
		}
	}
	return nil
}

// Text is the text of a file's header; "" of a file that cannot be read, or has another format.
func Text(ctx context.Context, format Format, store source.Store, path string) string {
	file, err := store.Open(ctx, path)
	if err != nil {
		return ""
	}
	defer file.Close()
	room := heads.Get().(*[HeadMax]byte)
	defer heads.Put(room)
	text, place, err := format.Head(ctx, file, room)
	if err != nil {
		return ""
	}
	defer place.free()
	return string(text)
}

var heads = sync.Pool{New: func() any { return new([HeadMax]byte) }}

// read reads some of an array's bytes.
func (a *arrays) read(ctx context.Context, k int, skip int64, into []byte) error {
	file, err := a.Store.Open(ctx, a.path(k))
	if err != nil {
		return err
	}
	defer file.Close()
	room := heads.Get().(*[HeadMax]byte)
	defer heads.Put(room)
	text, place, err := a.Format.Head(ctx, file, room)
	switch {
	case err != nil:
	case a.isHeader(k, text):
		err = Read(ctx, a.Format, file, place, skip, into)
	default:
		err = fmt.Errorf("another array than it was: %s", text)
		place.free()
	}
	a.waiting.Store(file.Waits())
	return err
}

// isHeader says whether a header's text is that of an array.
func (a *arrays) isHeader(k int, text []byte) bool {
	if a.Extents == nil {
		return string(text) == a.Head
	}
	var number [20]byte
	digits := strconv.AppendInt(number[:0], a.Extents[k], 10)
	return len(text) == len(a.Head)+len(digits)+len(a.Tail) &&
		string(text[:len(a.Head)]) == a.Head &&
		slices.Equal(text[len(a.Head):len(a.Head)+len(digits)], digits) &&
		string(text[len(a.Head)+len(digits):]) == a.Tail
}
