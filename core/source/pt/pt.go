// Package pt is the format of torch.save, of files that have one tensor each: a zip archive with a pickle of what the tensor is,
// and its storage as it lies in memory.
package pt

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Format implements arrayfiles.Format: a tensor that is all of its storage, in C's order. The text of a header is the dtype, and
// behind it the extents, each with a blank before it.
type Format struct{}

// What is read at once: of a file's beginning, where the pickle is, and of its end, where the archive's directory is.
const piece = 4096

// reader gives bytes of a file; those of both pieces are read once. It implements io.ReaderAt.
type reader struct {
	ctx  context.Context
	file source.Container
	room []byte
	head int // bytes of the beginning in room; the end is behind them
}

func (r *reader) open(room []byte) error {
	size := r.file.Bytes()
	r.head = int(min(size, piece))
	tail := int(min(size-int64(r.head), piece))
	r.room = room[:r.head+tail]
	return r.file.Read(r.ctx, source.Piece{At: 0, Into: r.room[:r.head]},
		source.Piece{At: size - int64(tail), Into: r.room[r.head:]})
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(into []byte, at int64) (int, error) {
	size := r.file.Bytes()
	n := int(max(0, min(int64(len(into)), size-at)))
	end := at + int64(n)
	switch tail := size - int64(len(r.room)-r.head); {
	case end <= int64(r.head):
		copy(into, r.room[at:end])
	case at >= tail:
		copy(into, r.room[r.head+int(at-tail):][:n])
	default:
		if err := r.file.Read(r.ctx, source.Piece{At: at, Into: into[:n]}); err != nil {
			return 0, err
		}
	}
	if n < len(into) {
		return n, io.EOF
	}
	return n, nil
}

// Head implements arrayfiles.Format.
func (Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	r := &reader{ctx: ctx, file: file}
	if err := r.open(make([]byte, 2*piece)); err != nil {
		return nil, none, err
	}
	archive, err := zip.NewReader(r, file.Bytes())
	if err != nil {
		return nil, none, err
	}
	members := map[string]*zip.File{}
	for _, member := range archive.File {
		// All names have a first part of their own, which is the file's name as it was saved.
		_, name, _ := strings.Cut(member.Name, "/")
		if member.Method != zip.Store || members[name] != nil {
			return nil, none, fmt.Errorf("member %q is compressed, or there twice", member.Name)
		}
		members[name] = member
	}
	if members["constants.pkl"] != nil {
		return nil, none, fmt.Errorf("a TorchScript archive")
	}
	if _, err = r.member(members["byteorder"], []byte("little")); err != nil && members["byteorder"] != nil {
		return nil, none, fmt.Errorf("byteorder: %w", err)
	}
	pickle, err := r.member(members["data.pkl"], nil)
	if err != nil {
		return nil, none, err
	}
	t, err := readTensor(pickle)
	if err != nil {
		return nil, none, err
	}
	storage := members["data/0"]
	if storage == nil || !t.isWhole(storage.UncompressedSize64) {
		return nil, none, fmt.Errorf("a tensor that is not all of its storage, in C's order")
	}
	begin, err := storage.DataOffset()
	if err != nil {
		return nil, none, err
	}
	if begin > file.Bytes()-int64(storage.UncompressedSize64) {
		return nil, none, fmt.Errorf("the storage ends at byte %d", file.Bytes())
	}
	text := append(room[:0], t.dtype.name...)
	for _, extent := range t.shape {
		text = fmt.Appendf(text, " %d", extent)
	}
	return text, arrayfiles.Place{Begin: begin}, nil
}

// member is the content of a small one, which has to be as wanted, if anything is.
func (r *reader) member(of *zip.File, wanted []byte) ([]byte, error) {
	if of == nil || of.UncompressedSize64 > piece {
		return nil, fmt.Errorf("no small member of that name")
	}
	begin, err := of.DataOffset()
	if err != nil {
		return nil, err
	}
	content := make([]byte, of.UncompressedSize64)
	if _, err := r.ReadAt(content, begin); err != nil {
		return nil, err
	}
	if wanted != nil && !bytes.Equal(content, wanted) {
		return nil, fmt.Errorf("%q", content)
	}
	return content, nil
}

// Read implements arrayfiles.Format.
func (Format) Read(ctx context.Context, file source.Container, place arrayfiles.Place, skip int64, into []byte) error {
	return file.Read(ctx, source.Piece{At: place.Begin + skip, Into: into})
}

// tensor is what a pickle says of one.
type tensor struct {
	dtype   dtype
	count   int64 // of the storage's items
	offset  int64
	shape   []int64
	strides []int64
}

type dtype struct {
	name  string
	bytes int64
}

// storages are torch's classes, and what their items are.
var storages = map[string]dtype{
	"DoubleStorage": {"float64", 8}, "FloatStorage": {"float32", 4}, "HalfStorage": {"float16", 2},
	"LongStorage": {"int64", 8}, "IntStorage": {"int32", 4}, "ShortStorage": {"int16", 2}, "CharStorage": {"int8", 1},
	"ByteStorage": {"uint8", 1}, "BoolStorage": {"bool", 1},
}

func (t *tensor) isWhole(bytes uint64) bool {
	step := int64(1)
	if len(t.shape) != len(t.strides) {
		return false
	}
	for k := len(t.shape) - 1; k >= 0; k-- {
		if t.strides[k] != step || t.shape[k] < 1 || t.shape[k] > t.count {
			return false
		}
		step *= t.shape[k]
	}
	return t.offset == 0 && step == t.count && uint64(t.count*t.dtype.bytes) == bytes
}

// pickle is what is left of one to be read. Once it has been another than expected it stays so.
type pickle struct {
	left   []byte
	failed bool
}

// next reads what has to come.
func (p *pickle) next(wanted string) {
	found := bytes.HasPrefix(p.left, []byte(wanted))
	p.failed = p.failed || !found
	if found {
		p.left = p.left[len(wanted):]
	}
}

func (p *pickle) take(n int) []byte {
	if n > len(p.left) {
		p.failed, p.left = true, nil
		return make([]byte, n)
	}
	taken := p.left[:n]
	p.left = p.left[n:]
	return taken
}

// memo passes over where a value is kept for later.
func (p *pickle) memo() {
	switch {
	case bytes.HasPrefix(p.left, []byte("q")): // BINPUT
		p.take(2)
	case bytes.HasPrefix(p.left, []byte("r")): // LONG_BINPUT
		p.take(5)
	}
}

func (p *pickle) name(wanted string) { p.next("c" + wanted + "\n"); p.memo() } // GLOBAL

func (p *pickle) text(wanted string) { // BINUNICODE
	p.next("X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(wanted)))) + wanted)
	p.memo()
}

// number reads an integer from 0 on.
func (p *pickle) number() int64 {
	switch op := p.take(1)[0]; op {
	case 'K': // BININT1
		return int64(p.take(1)[0])
	case 'M': // BININT2
		return int64(binary.LittleEndian.Uint16(p.take(2)))
	case 'J': // BININT
		if x := int32(binary.LittleEndian.Uint32(p.take(4))); x >= 0 {
			return int64(x)
		}
	case 0x8a: // LONG1
		if n := int(p.take(1)[0]); n <= 8 {
			var whole [8]byte
			copy(whole[:], p.take(n))
			if x := int64(binary.LittleEndian.Uint64(whole[:])); x >= 0 {
				return x
			}
		}
	}
	p.failed = true
	return 0
}

// tuple and one to three make the opcode of a tuple of so many.
const tuple = 0x84

// numbers reads a tuple of integers.
func (p *pickle) numbers() []int64 {
	var found []int64
	if bytes.HasPrefix(p.left, []byte(")")) { // EMPTY_TUPLE
		p.take(1)
		return nil
	}
	if bytes.HasPrefix(p.left, []byte("(")) { // MARK
		p.take(1)
		for !p.failed && !bytes.HasPrefix(p.left, []byte("t")) {
			found = append(found, p.number())
		}
		p.next("t") // TUPLE
	} else {
		for !p.failed && len(p.left) > 0 && p.left[0] != tuple+byte(len(found)) && len(found) < 3 {
			found = append(found, p.number())
		}
		p.next(string([]byte{tuple + byte(len(found))})) // TUPLE1, TUPLE2, TUPLE3
	}
	p.memo()
	return found
}

// readTensor reads the pickle of a tensor, as torch.save writes it in the protocol that is its default.
func readTensor(content []byte) (*tensor, error) {
	p, t := &pickle{left: content}, &tensor{}
	p.next("\x80\x02") // PROTO 2
	p.name("torch._utils\n_rebuild_tensor_v2")
	p.next("((")
	p.text("storage")
	end := bytes.IndexByte(p.left, '\n') + 1
	end += bytes.IndexByte(p.left[end:], '\n')
	storage := strings.TrimPrefix(string(p.left[:max(0, end)]), "ctorch\n")
	known := false
	if t.dtype, known = storages[storage]; !known {
		return nil, fmt.Errorf("a pickle of something else than a plain tensor")
	}
	p.name("torch\n" + storage)
	p.text("0")
	p.text("cpu")
	t.count = p.number()
	p.next("t")
	p.memo()
	p.next("Q") // BINPERSID
	t.offset = p.number()
	t.shape, t.strides = p.numbers(), p.numbers()
	p.next("\x89") // NEWFALSE: it does not require grad
	p.name("collections\nOrderedDict")
	p.next(")R") // of no hooks
	p.memo()
	p.next("t")
	p.memo()
	p.next("R")
	p.memo()
	p.next(".")
	if p.failed || len(p.left) > 0 {
		return nil, fmt.Errorf("a pickle of something else than a plain tensor")
	}
	return t, nil
}
