// Package pt is the format of torch.save, of files that have tensors: a zip archive with a pickle of what each is, and their
// storages as they lie in memory.
package pt

import (
	"context"
	"fmt"
	"strings"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/pickle"
	"github.com/goloader/goloader/core/source/ziparchive"
)

// Format implements arrayfiles.Format: a tensor that is all of its storage, in C's order. The text of a header is the dtype, and
// behind it the extents, each with a blank before it.
//
// All else in the file has to be such tensors, numbers and texts, in dicts, lists and tuples: what torch.load may refuse to
// read is not passed over here.
type Format struct {
	way pickle.Way
}

// New reads how a format is written: the way to the tensor within the file.
func New(written string) (*Format, error) {
	way, err := pickle.ParseWay(written)
	return &Format{way}, err
}

// Head implements arrayfiles.Format.
func (f *Format) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	archive, err := ziparchive.Open(ctx, file)
	if err != nil {
		return nil, none, err
	}
	s := saved{archive: archive, tensors: map[*pickle.Object]*tensor{}}
	for name := range archive.Members {
		// All names have a first part of their own, which is the file's name as it was saved.
		folder, _, _ := strings.Cut(name, "/")
		if s.folder == "" {
			s.folder = folder + "/"
		}
		if folder+"/" != s.folder {
			return nil, none, fmt.Errorf("members %q and %q", s.folder, name)
		}
	}
	if archive.Members[s.folder+"constants.pkl"] != nil {
		return nil, none, fmt.Errorf("a TorchScript archive")
	}
	if order := archive.Members[s.folder+"byteorder"]; order != nil {
		if text, err := archive.Small(order); err != nil || string(text) != "little" {
			return nil, none, fmt.Errorf("byteorder %q: %w", text, err)
		}
	}
	content, err := archive.Small(archive.Members[s.folder+"data.pkl"])
	if err != nil {
		return nil, none, err
	}
	protocol, value, err := pickle.Parse(content)
	if err == nil && protocol != 2 {
		err = fmt.Errorf("protocol %d, which is not torch.save's", protocol)
	}
	if err == nil {
		err = pickle.Check(value, func(of *pickle.Object) (err error) {
			if s.tensors[of] == nil {
				s.tensors[of], err = s.tensor(of)
			}
			return err
		})
	}
	if err == nil {
		value, err = f.way.Of(value)
	}
	if err != nil {
		return nil, none, err
	}
	if object, is := value.(*pickle.Object); is {
		t := s.tensors[object] // Check has found it
		text := append(room[:0], t.dtype.name...)
		for _, extent := range t.shape {
			text = fmt.Appendf(text, " %d", extent)
		}
		return text, arrayfiles.Place{Begin: t.begin}, nil
	}
	return pickle.HeadOfNumber(value, room)
}

// saved is what torch.save wrote.
type saved struct {
	archive *ziparchive.Archive
	folder  string // in which all members are
	tensors map[*pickle.Object]*tensor
}

type tensor struct {
	dtype dtype
	shape []int64
	begin int64
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

// tensor is one that torch.save writes of a plain tensor, which has its storage for itself.
func (s saved) tensor(of *pickle.Object) (*tensor, error) {
	other := fmt.Errorf("something else than plain tensors")
	arguments, _ := of.Arguments.(pickle.Tuple)
	if of.Function != (pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor_v2"}) || len(arguments) != 6 || of.State != nil {
		return nil, other
	}
	persistent, _ := arguments[0].(pickle.Persistent)
	storage, _ := persistent.ID.(pickle.Tuple)
	hooks, _ := arguments[5].(*pickle.Object)
	if len(storage) != 5 || storage[0] != "storage" || storage[3] != "cpu" || arguments[4] != false || hooks == nil {
		return nil, other
	}
	if none, is := hooks.Arguments.(pickle.Tuple); !is || len(none) > 0 || hooks.State != nil ||
		hooks.Function != (pickle.Global{Module: "collections", Name: "OrderedDict"}) {
		return nil, other
	}
	class, _ := storage[1].(pickle.Global)
	dtype, known := storages[class.Name]
	key, isKey := storage[2].(string)
	count, isCount := storage[4].(int64)
	shape, isShape := pickle.Numbers(arguments[2])
	strides, isStrides := pickle.Numbers(arguments[3])
	if !known || class.Module != "torch" || !isKey || !isCount || !isShape || !isStrides {
		return nil, other
	}
	member := s.archive.Members[s.folder+"data/"+key]
	if member == nil || arguments[1] != int64(0) || !isWhole(shape, strides, count) || uint64(count*dtype.bytes) != member.UncompressedSize64 {
		return nil, fmt.Errorf("a tensor that is not all of its storage, in C's order")
	}
	begin, err := s.archive.Begin(member)
	return &tensor{dtype, shape, begin}, err
}

// countMax keeps products from running over.
const countMax = 1 << 56

func isWhole(shape, strides []int64, count int64) bool {
	step := int64(1)
	if len(shape) != len(strides) || count > countMax {
		return false
	}
	for k := len(shape) - 1; k >= 0; k-- {
		if strides[k] != step || shape[k] < 1 || shape[k] > count/step {
			return false
		}
		step *= shape[k]
	}
	return step == count
}
