package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A plan is a few levels deep, a script as deep as the code that it is made of; a limit keeps a hostile one from using up the
// stack.
const depthMax = 128

// Error is what is wrong with a plan, and where.
type Error struct {
	Path string // as "parts[0].transforms[2].size"; empty for the whole
	Text string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "plan: " + e.Text
	}
	return "plan: " + e.Path + ": " + e.Text
}

// node is one JSON value and where it stands. Its methods report what is wrong by panicking with *Error, which Parse
// recovers: a plan has some hundred fields, and every one of them can be wrong in several ways.
type node struct {
	path  string
	value any // nil, bool, json.Number, string, []any or map[string]any
}

func (n node) fail(format string, args ...any) {
	panic(&Error{n.path, fmt.Sprintf(format, args...)})
}

func (n node) kind() string {
	switch v := n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "the number " + v.String()
	case string:
		return "a string"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	default:
		return "an object"
	}
}

// fields are the members of an object; done refuses those that nobody asked for.
type fields struct {
	node
	members map[string]any
	asked   []string
}

func (n node) object() *fields {
	members, ok := n.value.(map[string]any)
	if !ok {
		n.fail("want an object, got %s", n.kind())
	}
	return &fields{node: n, members: members}
}

func (f *fields) at(name string) node {
	path := name
	if f.path != "" {
		path = f.path + "." + name
	}
	return node{path, f.members[name]}
}

func (f *fields) get(name string) node {
	f.asked = append(f.asked, name)
	if _, ok := f.members[name]; !ok {
		f.at(name).fail("missing")
	}
	return f.at(name)
}

func (f *fields) done() {
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		if !slices.Contains(f.asked, name) {
			f.at(name).fail("unknown field")
		}
	}
}

func (n node) list() []node {
	values, ok := n.value.([]any)
	if !ok {
		n.fail("want a list, got %s", n.kind())
	}
	nodes := make([]node, len(values))
	for i, value := range values {
		nodes[i] = node{n.path + "[" + strconv.Itoa(i) + "]", value}
	}
	return nodes
}

func (n node) listOf(length int) []node {
	nodes := n.list()
	if len(nodes) != length {
		n.fail("want %d items, got %d", length, len(nodes))
	}
	return nodes
}

func (n node) isNull() bool { return n.value == nil }

func (n node) text() string {
	s, ok := n.value.(string)
	if !ok {
		n.fail("want a string, got %s", n.kind())
	}
	return s
}

func (n node) bool() bool {
	b, ok := n.value.(bool)
	if !ok {
		n.fail("want true or false, got %s", n.kind())
	}
	return b
}

func (n node) int(lo, hi int64) int64 {
	number, ok := n.value.(json.Number)
	if !ok {
		n.fail("want an integer, got %s", n.kind())
	}
	v, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || v < lo || v > hi {
		n.fail("want an integer from %d to %d, got %s", lo, hi, number)
	}
	return v
}

func (n node) float() float64 {
	number, ok := n.value.(json.Number)
	if !ok {
		n.fail("want a number, got %s", n.kind())
	}
	v, err := strconv.ParseFloat(number.String(), 64)
	if err != nil {
		n.fail("%s does not fit a float64", number)
	}
	return v
}

// oneOf is a string out of a closed set.
func oneOf[T ~string](n node, names ...T) T {
	s := T(n.text())
	if !slices.Contains(names, s) {
		quoted := make([]string, len(names))
		for i, name := range names {
			quoted[i] = strconv.Quote(string(name))
		}
		n.fail("want %s, got %q", strings.Join(quoted, " or "), string(s))
	}
	return s
}

// tree reads one JSON value and nothing after it. Unlike encoding/json's own decoding it refuses a name given twice and
// bytes that are not UTF-8.
func tree(text []byte) any {
	if !utf8.Valid(text) {
		panic(&Error{"", "not UTF-8"})
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v := value(d, "", 0)
	if _, err := d.Token(); err != io.EOF {
		panic(&Error{"", "something follows the JSON value"})
	}
	return v
}

func value(d *json.Decoder, path string, depth int) any {
	switch token := next(d, path); token {
	case json.Delim('{'), json.Delim('['):
		if depth == depthMax {
			panic(&Error{path, fmt.Sprintf("nested more than %d deep", depthMax)})
		}
		if token == json.Delim('[') {
			return items(d, path, depth+1)
		}
		return members(d, path, depth+1)
	default:
		return token
	}
}

func items(d *json.Decoder, path string, depth int) []any {
	list := []any{}
	for d.More() {
		list = append(list, value(d, fmt.Sprintf("%s[%d]", path, len(list)), depth))
	}
	next(d, path)
	return list
}

func members(d *json.Decoder, path string, depth int) map[string]any {
	object := map[string]any{}
	for d.More() {
		name, ok := next(d, path).(string)
		if !ok {
			panic(&Error{path, "not JSON: a member without a name"})
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		if _, twice := object[name]; twice {
			panic(&Error{inner, "given twice"})
		}
		object[name] = value(d, inner, depth)
	}
	next(d, path)
	return object
}

func next(d *json.Decoder, path string) json.Token {
	token, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		panic(&Error{path, "not JSON: " + err.Error()})
	}
	return token
}
