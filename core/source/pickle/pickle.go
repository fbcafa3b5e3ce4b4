// Package pickle reads Python's pickles as values. Nothing that they name is run, or even looked for: calls are values, too.
package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Values are nil, bool, int64, float64, string and []byte, and these.
type (
	ByteArray []byte
	Tuple     []any
	List      struct{ Items []any }
	// Dict has its items in order. One whose key comes twice is refused.
	Dict struct {
		Keys   []any
		Values []any
	}
	// Global is a function or a class, by its name.
	Global struct{ Module, Name string }
	// Persistent is what the pickle's file has outside of it, by what the pickle says of it.
	Persistent struct{ ID any }
	// Object is what a call gives, and the state that it is given then, if it is.
	Object struct {
		Function  any
		Arguments any
		State     any
	}
)

// Get is the value of a key; nil if there is none.
func (d *Dict) Get(key any) any {
	for k, each := range d.Keys {
		if each == key {
			return d.Values[k]
		}
	}
	return nil
}

// valuesMax are those that are checked, each as often as it is met.
const valuesMax = 10000

// Check fails for a value that has others within than numbers, texts, dicts, lists and tuples, and objects that isKnown allows.
func Check(value any, isKnown func(*Object) error) error {
	left := valuesMax
	return check(value, isKnown, &left)
}

func check(value any, isKnown func(*Object) error, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("more than %d values", valuesMax)
	}
	var items []any
	switch of := value.(type) {
	case nil, bool, int64, float64, string:
		return nil
	case Tuple:
		items = of
	case *List:
		items = of.Items
	case *Dict:
		items = of.Values
	case *Object:
		return isKnown(of)
	default:
		return fmt.Errorf("a value of another kind")
	}
	for _, each := range items {
		if err := check(each, isKnown, left); err != nil {
			return err
		}
	}
	return nil
}

// Numbers are those of a tuple of integers.
func Numbers(value any) ([]int64, bool) {
	items, is := value.(Tuple)
	found := make([]int64, len(items))
	for k := range items {
		number, isNumber := items[k].(int64)
		found[k], is = number, is && isNumber
	}
	return found, is
}

// itemsMax are the items of a dict, whose keys are compared one by one.
const itemsMax = 1000

type mark struct{}

type machine struct {
	left  []byte
	stack []any
	memo  map[uint32]any
}

// Parse reads a pickle, all of content. It gives its protocol and its value. Other opcodes than those for such values are refused.
func Parse(content []byte) (protocol int, value any, err error) {
	m := &machine{left: content, memo: map[uint32]any{}}
	defer func() {
		if failed := recover(); failed != nil {
			short, is := failed.(failure)
			if !is {
				panic(failed)
			}
			protocol, value, err = 0, nil, fmt.Errorf("byte %d of a pickle: %s", len(content)-len(m.left), short)
		}
	}()
	if m.byte() != opProto {
		fail("no protocol")
	}
	protocol = int(m.byte())
	for {
		op := m.byte()
		if op == opStop {
			break
		}
		m.step(op)
	}
	value = m.pop()
	if len(m.left) > 0 || len(m.stack) > 0 {
		fail("more behind its end")
	}
	return protocol, value, nil
}

// failure is what a machine stops with.
type failure string

func fail(format string, arguments ...any) { panic(failure(fmt.Sprintf(format, arguments...))) }

// The opcodes, as pickletools names them.
const (
	opMark = '('
	opStop = '.'

	opNone      = 'N'
	opFalse     = 0x89
	opTrue      = 0x88
	opInt       = 'J'
	opInt1      = 'K'
	opInt2      = 'M'
	opLong1     = 0x8a
	opFloat     = 'G'
	opText      = 'X'
	opText1     = 0x8c
	opText8     = 0x8d
	opBytes     = 'B'
	opBytes1    = 'C'
	opBytes8    = 0x8e
	opByteArray = 0x96

	opEmptyTuple = ')'
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opEmptyList  = ']'
	opAppend     = 'a'
	opAppends    = 'e'
	opEmptyDict  = '}'
	opSetItem    = 's'
	opSetItems   = 'u'

	opGlobal      = 'c'
	opStackGlobal = 0x93
	opReduce      = 'R'
	opNewObject   = 0x81
	opBuild       = 'b'
	opPersistent  = 'Q'

	opPut     = 'q'
	opLongPut = 'r'
	opGet     = 'h'
	opLongGet = 'j'
	opMemoize = 0x94
	opProto   = 0x80
	opFrame   = 0x95
)

// lengths are the bytes of the length that comes before a text or bytes.
var lengths = map[byte]int{
	opText: 4, opText1: 1, opText8: 8, opBytes: 4, opBytes1: 1, opBytes8: 8, opByteArray: 8,
}

func (m *machine) step(op byte) {
	switch op {
	case opMark:
		m.push(mark{})
	case opNone:
		m.push(nil)
	case opFalse, opTrue:
		m.push(op == opTrue)
	case opInt:
		m.push(int64(int32(m.uint(4))))
	case opInt1:
		m.push(int64(m.uint(1)))
	case opInt2:
		m.push(int64(m.uint(2)))
	case opLong1:
		m.push(m.long())
	case opFloat:
		m.push(math.Float64frombits(binary.BigEndian.Uint64(m.take(8))))
	case opText, opText1, opText8:
		text := m.take(m.uint(lengths[op]))
		if !utf8.Valid(text) {
			fail("a text that is not UTF-8")
		}
		m.push(string(text))
	case opBytes, opBytes1, opBytes8:
		m.push(m.take(m.uint(lengths[op])))
	case opByteArray:
		m.push(ByteArray(m.take(m.uint(lengths[op]))))
	case opEmptyTuple:
		m.push(Tuple{})
	case opTuple:
		m.push(Tuple(m.sinceMark()))
	case opTuple1, opTuple2, opTuple3:
		items := make(Tuple, op-opTuple1+1)
		for k := len(items) - 1; k >= 0; k-- {
			items[k] = m.pop()
		}
		m.push(items)
	case opEmptyList:
		m.push(&List{})
	case opAppend:
		m.append(m.pop())
	case opAppends:
		m.append(m.sinceMark()...)
	case opEmptyDict:
		m.push(&Dict{})
	case opSetItem:
		value, key := m.pop(), m.pop()
		m.setItems(key, value)
	case opSetItems:
		m.setItems(m.sinceMark()...)
	case opGlobal:
		module, name := m.line(), m.line()
		m.push(Global{module, name})
	case opStackGlobal:
		name, of := m.pop(), m.pop()
		text, isText := name.(string)
		module, isModule := of.(string)
		if !isText || !isModule {
			fail("a name that is no text")
		}
		m.push(Global{module, text})
	case opReduce, opNewObject:
		arguments, function := m.pop(), m.pop()
		m.push(&Object{Function: function, Arguments: arguments})
	case opBuild:
		state := m.pop()
		object, is := m.top().(*Object)
		if !is || object.State != nil || state == nil {
			fail("a state of what has none, or has one")
		}
		object.State = state
	case opPersistent:
		m.push(Persistent{m.pop()})
	case opPut:
		m.memo[uint32(m.uint(1))] = m.top()
	case opLongPut:
		m.memo[uint32(m.uint(4))] = m.top()
	case opMemoize:
		m.memo[uint32(len(m.memo))] = m.top()
	case opGet:
		m.get(uint32(m.uint(1)))
	case opLongGet:
		m.get(uint32(m.uint(4)))
	case opFrame:
		if m.uint(8) > uint64(len(m.left)) {
			fail("a frame that is longer")
		}
	default:
		fail("opcode %q", op)
	}
}

func (m *machine) push(value any) { m.stack = append(m.stack, value) }

func (m *machine) top() any {
	if len(m.stack) == 0 {
		fail("an empty stack")
	}
	top := m.stack[len(m.stack)-1]
	if top == (mark{}) {
		fail("a mark in place of a value")
	}
	return top
}

func (m *machine) pop() any {
	top := m.top()
	m.stack = m.stack[:len(m.stack)-1]
	return top
}

func (m *machine) sinceMark() []any {
	for k := len(m.stack) - 1; k >= 0; k-- {
		if _, is := m.stack[k].(mark); is {
			items := append([]any(nil), m.stack[k+1:]...)
			m.stack = m.stack[:k]
			return items
		}
	}
	fail("no mark")
	return nil
}

func (m *machine) append(items ...any) {
	list, is := m.top().(*List)
	if !is {
		fail("items of what is no list")
	}
	list.Items = append(list.Items, items...)
}

func (m *machine) setItems(items ...any) {
	dict, is := m.top().(*Dict)
	if !is || len(items)%2 != 0 || len(dict.Keys)+len(items)/2 > itemsMax {
		fail("items of what is no dict, or too many")
	}
	for k := 0; k < len(items); k += 2 {
		switch key := items[k].(type) {
		case string, int64:
			for _, each := range dict.Keys {
				if each == key {
					fail("a key twice")
				}
			}
		default:
			fail("a key that is neither a text nor an integer")
		}
		dict.Keys, dict.Values = append(dict.Keys, items[k]), append(dict.Values, items[k+1])
	}
}

func (m *machine) get(number uint32) {
	value, is := m.memo[number]
	if !is {
		fail("nothing is kept as %d", number)
	}
	m.push(value)
}

func (m *machine) byte() byte { return m.take(1)[0] }

func (m *machine) take(n uint64) []byte {
	if n > uint64(len(m.left)) {
		fail("it ends")
	}
	taken := m.left[:n]
	m.left = m.left[n:]
	return taken
}

// uint reads a number of so many bytes.
func (m *machine) uint(bytes int) uint64 {
	var whole [8]byte
	copy(whole[:], m.take(uint64(bytes)))
	return binary.LittleEndian.Uint64(whole[:])
}

// long reads an integer of any length, which has to fit.
func (m *machine) long() int64 {
	b := m.take(m.uint(1))
	if len(b) > 8 {
		fail("an integer of %d bytes", len(b))
	}
	var whole [8]byte
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		whole = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	copy(whole[:], b)
	return int64(binary.LittleEndian.Uint64(whole[:]))
}

func (m *machine) line() string {
	text, left, found := bytes.Cut(m.left, []byte{'\n'})
	if !found {
		fail("a name without end")
	}
	m.left = left
	return string(text)
}
