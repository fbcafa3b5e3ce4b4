package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
)

// Way leads from a pickle's value to one within it.
type Way struct {
	key   any // a text or a number; nil: the value itself
	count int // of what has to have so many items; else -1
}

// ParseWay reads how a way is written: "" to the value itself, "name:NAME" to a dict's, "item:NUMBER" to an item of a list or a
// tuple, and "part:NUMBER:COUNT" to one of so many.
func ParseWay(written string) (Way, error) {
	kind, of, _ := strings.Cut(written, ":")
	number, more, _ := strings.Cut(of, ":")
	k, err := strconv.ParseInt(number, 10, 32)
	switch {
	case written == "":
		return Way{nil, -1}, nil
	case kind == "name":
		return Way{of, -1}, nil
	case kind == "item" && more == "" && err == nil && k >= 0:
		return Way{k, -1}, nil
	case kind == "part" && err == nil && k >= 0:
		count, err := strconv.Atoi(more)
		return Way{k, count}, err
	}
	return Way{}, fmt.Errorf("%q is no way into a pickle", written)
}

// Of is where it leads.
func (w Way) Of(value any) (any, error) {
	var items []any
	switch of := value.(type) {
	case *Dict:
		if found := of.Get(w.key); found != nil && w.count < 0 {
			return found, nil
		}
	case *List:
		items = of.Items
	case Tuple:
		items = of
	}
	if w.key == nil {
		return value, nil
	}
	if k, is := w.key.(int64); is && k < int64(len(items)) && (w.count < 0 || w.count == len(items)) {
		return items[k], nil
	}
	return nil, fmt.Errorf("nothing at %v", w.key)
}

// HeadOfNumber is the header of an integer or a float: its type's name in Python. It fails for anything else.
func HeadOfNumber(value any, room *[arrayfiles.HeadMax]byte) ([]byte, arrayfiles.Place, error) {
	made := source.Scratch(8)
	switch of := value.(type) {
	case int64:
		binary.NativeEndian.PutUint64(*made, uint64(of))
		return append(room[:0], "int"...), arrayfiles.Place{Made: made}, nil
	case float64:
		binary.NativeEndian.PutUint64(*made, math.Float64bits(of))
		return append(room[:0], "float"...), arrayfiles.Place{Made: made}, nil
	}
	source.PutScratch(made)
	return nil, arrayfiles.Place{}, fmt.Errorf("something else than an array or a number")
}
