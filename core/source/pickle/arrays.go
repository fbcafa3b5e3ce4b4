package pickle

import (
	"context"
	"fmt"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Arrays implements arrayfiles.Format: an array of numpy's in C's order, or a number of its own types, as Python's pickle writes
// them. The text of a header is the dtype, and behind it the extents, each with a blank before it; of a number, it is "number"
// and the dtype.
//
// All else in the file has to be such arrays, numbers and texts, in dicts, lists and tuples: other objects are made by code.
type Arrays struct {
	way Way
}

// NewArrays reads how a format is written: the way to the array within the file.
func NewArrays(written string) (*Arrays, error) {
	way, err := ParseWay(written)
	return &Arrays{way}, err
}

// Head implements arrayfiles.Format. All of a file has to be read to see what it has.
func (a *Arrays) Head(ctx context.Context, file source.Container, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	made := source.Scratch(int(file.Bytes()))
	text, place, err := a.head(ctx, file, *made, room)
	if place.Made == nil && err == nil {
		place.Made = made
	} else {
		source.PutScratch(made)
	}
	return text, place, err
}

func (a *Arrays) head(ctx context.Context, file source.Container, content []byte, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	var none arrayfiles.Place
	if err := file.Read(ctx, source.Piece{At: 0, Into: content}); err != nil {
		return nil, none, err
	}
	protocol, value, err := Parse(content)
	if err == nil && (protocol < protocolMin || protocol > protocolMax) {
		err = fmt.Errorf("protocol %d", protocol)
	}
	arrays := map[*Object]*array{}
	if err == nil {
		err = Check(value, func(of *Object) (err error) {
			if arrays[of] == nil {
				arrays[of], err = arrayOf(of)
			}
			return err
		})
	}
	if err == nil {
		value, err = a.way.Of(value)
	}
	if err != nil {
		return nil, none, err
	}
	object, is := value.(*Object)
	if !is {
		return HeadOfNumber(value, room)
	}
	of, text := arrays[object], room[:0] // Check has found it
	if of.isNumber {
		text = append(text, "number "...)
	}
	text = append(text, of.dtype.name...)
	for _, extent := range of.shape {
		text = fmt.Appendf(text, " %d", extent)
	}
	return text, arrayfiles.Place{Begin: int64(cap(content) - cap(of.items))}, nil
}

// Protocols whose opcodes for bytes are those that Parse knows.
const protocolMin, protocolMax = 3, 5

type array struct {
	dtype    dtype
	shape    []int64
	isNumber bool
	items    []byte // of the file
}

type dtype struct {
	name  string
	bytes int64
}

// dtypes are those that have the machine's own byte order, or none, by numpy's codes.
var dtypes = map[string]dtype{
	"f8": {"float64", 8}, "f4": {"float32", 4}, "f2": {"float16", 2}, "b1": {"bool", 1},
	"i8": {"int64", 8}, "i4": {"int32", 4}, "i2": {"int16", 2}, "i1": {"int8", 1},
	"u8": {"uint64", 8}, "u4": {"uint32", 4}, "u2": {"uint16", 2}, "u1": {"uint8", 1},
}

// arrayOf is what numpy writes of a plain array which may be written to, or of a number.
func arrayOf(of *Object) (*array, error) {
	var made array
	var kind, shape any
	var isItems, known bool
	arguments, _ := of.Arguments.(Tuple)
	state, _ := of.State.(Tuple)
	ordered := true
	switch function, _ := of.Function.(Global); {
	case function.isOf("multiarray", "_reconstruct") && len(arguments) == 3 && len(state) == 5:
		empty, _ := arguments[1].(Tuple)
		kind, shape, ordered = state[2], state[1], state[3] == false && state[0] == int64(1) &&
			arguments[0] == (Global{"numpy", "ndarray"}) && len(empty) == 1 && empty[0] == int64(0)
		made.items, isItems = state[4].([]byte)
	case function.isOf("numeric", "_frombuffer") && len(arguments) == 4 && of.State == nil:
		var items ByteArray
		kind, shape, ordered = arguments[1], arguments[2], arguments[3] == "C"
		items, isItems = arguments[0].(ByteArray)
		made.items = items
	case function.isOf("multiarray", "scalar") && len(arguments) == 2 && of.State == nil:
		kind, shape, made.isNumber = arguments[0], Tuple{}, true
		made.items, isItems = arguments[1].([]byte)
	}
	made.dtype, known = dtypeOf(kind)
	extents, isShape := Numbers(shape)
	made.shape = extents
	left := int64(len(made.items))
	if known {
		left /= made.dtype.bytes
		known = left*made.dtype.bytes == int64(len(made.items))
	}
	for _, extent := range extents {
		if known = known && extent > 0 && left%extent == 0; known {
			left /= extent
		}
	}
	if !known || !isItems || !isShape || !ordered || left != 1 {
		return nil, fmt.Errorf("something else than plain arrays in C's order")
	}
	return &made, nil
}

// isOf says whether it is a function of a module in numpy's core, which was renamed.
func (g Global) isOf(module, name string) bool {
	return g.Name == name && (g.Module == "numpy._core."+module || g.Module == "numpy.core."+module)
}

func dtypeOf(value any) (dtype, bool) {
	object, _ := value.(*Object)
	if object == nil || object.Function != (Global{"numpy", "dtype"}) {
		return dtype{}, false
	}
	arguments, _ := object.Arguments.(Tuple)
	state, _ := object.State.(Tuple)
	if len(arguments) != 3 || arguments[1] != false || arguments[2] != true || len(state) != 8 {
		return dtype{}, false
	}
	code, _ := arguments[0].(string)
	found, known := dtypes[code]
	order := "<"
	if found.bytes == 1 {
		order = "|"
	}
	for k, each := range (Tuple{int64(3), order, nil, nil, nil, int64(-1), int64(-1), int64(0)}) {
		known = known && state[k] == each
	}
	return found, known
}
