package tables

import "encoding/binary"

// thrift reads Thrift's compact protocol, in which Parquet writes its headers.
// Source: thrift/doc/specs/thrift-compact-protocol.md.
type thrift struct {
	bytes []byte
	at    int
	short bool // there is more of it than bytes
	bad   bool // it is none
}

// Types of values.
const (
	thriftTrue   = 1
	thriftByte   = 3
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12

	thriftDepthMax = 16
)

func isInteger(kind byte) bool { return kind > thriftByte && kind < thriftDouble }

func (t *thrift) failed() bool { return t.short || t.bad }

func (t *thrift) uvarint() uint64 {
	x, n := binary.Uvarint(t.bytes[t.at:])
	t.short, t.bad = t.short || n == 0, t.bad || n < 0
	t.at += max(n, 0)
	return x
}

// int is an integer that fits 31 bits, as all in these headers do that are not negative.
func (t *thrift) int() int {
	x := t.uvarint()
	if x&1 != 0 || x>>1 >= 1<<31 {
		t.bad = true
		return 0
	}
	return int(x >> 1)
}

// skipBytes goes on by so many.
func (t *thrift) skipBytes(n uint64) {
	if n > uint64(len(t.bytes)-t.at) {
		t.short = true
		return
	}
	t.at += int(n)
}

func (t *thrift) byte() byte {
	if t.at == len(t.bytes) {
		t.short = true
		return 0
	}
	t.at++
	return t.bytes[t.at-1]
}

// fields calls each for the fields of a struct, which reads the value.
func (t *thrift) fields(each func(number int, kind byte)) {
	for number := 0; ; {
		head := t.byte()
		if t.failed() || head == 0 {
			return
		}
		if step := int(head >> 4); step != 0 {
			number += step
		} else {
			number = t.int()
		}
		each(number, head&15)
		if t.failed() {
			return
		}
	}
}

// skip goes over a value.
func (t *thrift) skip(kind byte, depth int) {
	if depth > thriftDepthMax {
		t.bad = true
	}
	if t.failed() {
		return
	}
	switch {
	case kind <= 2 && kind > 0: // a bool is in its type
	case kind == thriftByte:
		t.skipBytes(1)
	case kind < thriftDouble:
		t.uvarint()
	case kind == thriftDouble:
		t.skipBytes(8)
	case kind == thriftBinary:
		t.skipBytes(t.uvarint())
	case kind == thriftList || kind == thriftSet:
		head := t.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = t.uvarint()
		}
		t.skipItems(n, depth, head&15)
	case kind == thriftMap:
		if n := t.uvarint(); n > 0 {
			kinds := t.byte()
			t.skipItems(n, depth, kinds>>4, kinds&15)
		}
	case kind == thriftStruct:
		t.fields(func(_ int, kind byte) { t.skip(kind, depth+1) })
	default:
		t.bad = true
	}
}

func (t *thrift) skipItems(n uint64, depth int, kinds ...byte) {
	for range n {
		for _, kind := range kinds {
			if kind <= 2 { // an item has a byte of its own for a bool
				kind = thriftByte
			}
			t.skip(kind, depth+1)
		}
		if t.failed() {
			return
		}
	}
}
