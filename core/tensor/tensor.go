// Package tensor names what arrays are made of: item types, shapes, and both together. It holds no memory.
package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// DType is an item type, by torch's names. The zero DType is no type.
type DType uint8

// The item types.
const (
	Uint8 DType = iota + 1
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Uint64
	Int64
	Float16
	BFloat16
	Float32
	Float64
	Bool
	Complex64
	Complex128
)

var dtypes = [...]struct {
	name string
	size int
}{
	Uint8:      {"uint8", 1},
	Int8:       {"int8", 1},
	Uint16:     {"uint16", 2},
	Int16:      {"int16", 2},
	Uint32:     {"uint32", 4},
	Int32:      {"int32", 4},
	Uint64:     {"uint64", 8},
	Int64:      {"int64", 8},
	Float16:    {"float16", 2},
	BFloat16:   {"bfloat16", 2},
	Float32:    {"float32", 4},
	Float64:    {"float64", 8},
	Bool:       {"bool", 1},
	Complex64:  {"complex64", 8},
	Complex128: {"complex128", 16},
}

// ParseDType finds a DType by torch's name, as "float32".
func ParseDType(name string) (DType, error) {
	for d, t := range dtypes {
		if t.name == name && d != 0 {
			return DType(d), nil
		}
	}
	return 0, fmt.Errorf("unknown dtype %q", name)
}

// Valid says whether d is one of the item types.
func (d DType) Valid() bool { return d != 0 && int(d) < len(dtypes) }

// Size is an item's bytes; 0 if d is not valid.
func (d DType) Size() int {
	if !d.Valid() {
		return 0
	}
	return dtypes[d].size
}

// String is torch's name without "torch.".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Shape is an array's extents, outermost first. The empty Shape is a scalar's.
type Shape []int

// Items is the number of items, 1 for a scalar.
func (s Shape) Items() int {
	n := 1
	for _, extent := range s {
		n *= extent
	}
	return n
}

// String is the shape as Python writes a list: [3, 224, 224].
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, extent := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(extent))
	}
	b.WriteByte(']')
	return b.String()
}

// Spec says what an array is made of.
type Spec struct {
	DType DType
	Shape Shape
}

// Bytes is the size of the array when contiguous.
func (s Spec) Bytes() int { return s.Shape.Items() * s.DType.Size() }

func (s Spec) String() string { return s.DType.String() + s.Shape.String() }

// Check refuses a Spec with no item type, a negative extent, or more bytes than an int counts. Items and Bytes are
// right for every Spec that passes.
func (s Spec) Check() error {
	if !s.DType.Valid() {
		return fmt.Errorf("unknown dtype %d", uint8(s.DType))
	}
	// Zero extents are left out of the product: torch, too, refuses [0, 2^62, 2^62], whose strides do not fit.
	n := uint64(s.DType.Size())
	for i, extent := range s.Shape {
		if extent < 0 {
			return fmt.Errorf("extent %d of shape %s is negative", i, s.Shape)
		}
		hi, lo := bits.Mul64(n, uint64(max(extent, 1)))
		if hi != 0 || lo > math.MaxInt {
			return fmt.Errorf("shape %s of %s has too many bytes", s.Shape, s.DType)
		}
		n = lo
	}
	return nil
}
