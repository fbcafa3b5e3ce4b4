package pickle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/pickle"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// What Python 3.11 wrote, by pickle.dumps(value, protocol).
var written = map[string]struct {
	protocol int
	pickle   string
	value    any
}{
	"None":           {2, "\x80\x02N.", nil},
	"bools":          {2, "\x80\x02\x88\x89\x86q\x00.", pickle.Tuple{true, false}},
	"small integers": {2, "\x80\x02K\x07M\x00\x01J\xff\xff\xff\xff\x87q\x00.", pickle.Tuple{int64(7), int64(256), int64(-1)}},
	"long integers":  {2, "\x80\x02\x8a\x05\x00\x00\x00\x00\x01\x8a\x01\x80\x8a\x00\x87q\x00.", pickle.Tuple{int64(1 << 32), int64(-128), int64(0)}},
	"a float":        {2, "\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00.", 1.5},
	"a text":         {2, "\x80\x02X\x03\x00\x00\x00a\xc3\xa9q\x00.", "aé"},
	"in protocol 4":  {4, "\x80\x04\x95\x07\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94C\x01b\x94\x86\x94.", pickle.Tuple{"a", []byte("b")}},
	"lists": {
		2, "\x80\x02]q\x00(K\x01]q\x01K\x02ae.",
		&pickle.List{Items: []any{int64(1), &pickle.List{Items: []any{int64(2)}}}},
	},
	"a dict": {
		2, "\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x01K\x02h\x01u.",
		&pickle.Dict{Keys: []any{"a", int64(2)}, Values: []any{int64(1), "a"}},
	},
	"a long tuple":   {2, "\x80\x02(K\x01K\x02K\x03K\x04tq\x00.", pickle.Tuple{int64(1), int64(2), int64(3), int64(4)}},
	"an empty tuple": {2, "\x80\x02).", pickle.Tuple{}},
	"an object": {
		2, "\x80\x02cm\nC\nq\x00)\x81q\x01}q\x02X\x01\x00\x00\x00aq\x03K\x01sb.",
		&pickle.Object{
			Function: pickle.Global{Module: "m", Name: "C"}, Arguments: pickle.Tuple{},
			State: &pickle.Dict{Keys: []any{"a"}, Values: []any{int64(1)}},
		},
	},
	"outside": {2, "\x80\x02K\x01Q.", pickle.Persistent{ID: int64(1)}},
}

func TestValues(t *testing.T) {
	for name, c := range written {
		protocol, value, err := pickle.Parse([]byte(c.pickle))
		require.NoError(t, err, name)
		require.Equal(t, c.protocol, protocol, name)
		require.Equal(t, c.value, value, name)
		for k := range c.pickle {
			_, _, err := pickle.Parse([]byte(c.pickle[:k]))
			require.Error(t, err, "%s, cut at %d", name, k)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "",
		"no protocol":         "N.",
		"more behind":         "\x80\x02N.N",
		"more on the stack":   "\x80\x02NN.",
		"another opcode":      "\x80\x02i.",
		"a mark alone":        "\x80\x02(.",
		"no mark":             "\x80\x02N]e.",
		"no list":             "\x80\x02NNa.",
		"no dict":             "\x80\x02NNNs.",
		"half an item":        "\x80\x02}(Nu.",
		"a key twice":         "\x80\x02}(K\x01NK\x01Nu.",
		"a key of another":    "\x80\x02}(NNu.",
		"nothing kept":        "\x80\x02h\x07.",
		"not UTF-8":           "\x80\x02X\x01\x00\x00\x00\xff.",
		"an integer too long": "\x80\x02\x8a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09.",
		"a state of none":     "\x80\x02NNb.",
		"a name of no text":   "\x80\x04NN\x93.",
	} {
		_, _, err := pickle.Parse([]byte(text))
		require.ErrorContains(t, err, "of a pickle", name)
	}
}

func TestWays(t *testing.T) {
	list := &pickle.List{Items: []any{"a", "b"}}
	dict := &pickle.Dict{Keys: []any{"x:y", int64(1)}, Values: []any{"named", "numbered"}}
	for _, c := range []struct {
		way   string
		of    any
		found any
	}{
		{"", list, list},
		{"", "a", "a"},
		{"name:x:y", dict, "named"},
		{"item:1", dict, "numbered"},
		{"item:1", list, "b"},
		{"item:0", pickle.Tuple{"c"}, "c"},
		{"part:1:2", list, "b"},
		{"part:0:1", pickle.Tuple{"c"}, "c"},
		{"name:x", dict, nil},
		{"name:x", list, nil},
		{"item:2", list, nil},
		{"part:1:3", list, nil},
		{"part:1:2", dict, nil},
		{"item:0", "a", nil},
	} {
		way, err := pickle.ParseWay(c.way)
		require.NoError(t, err, c.way)
		found, err := way.Of(c.of)
		require.Equal(t, c.found, found, c.way)
		require.Equal(t, c.found == nil, err != nil, c.way)
	}
	for _, text := range []string{"x", "item", "item:", "item:-1", "item:x", "item:1:2", "part:1", "part:1:x"} {
		_, err := pickle.ParseWay(text)
		require.Error(t, err, text)
	}
}

func TestNumbers(t *testing.T) {
	room := new([arrayfiles.HeadMax]byte)
	for name, value := range map[string]any{"int": int64(-2), "float": -0.5} {
		text, place, err := pickle.HeadOfNumber(value, room)
		require.NoError(t, err)
		require.Equal(t, name, string(text))
		require.Len(t, *place.Made, 8)
	}
	for _, other := range []any{nil, true, "1", pickle.Tuple{}} {
		_, _, err := pickle.HeadOfNumber(other, room)
		require.Error(t, err)
	}
}

// What numpy 2 wrote of int16 "abcdefgh", or of its first item.
var arrays = map[string]struct{ header, pickle string }{
	"by protocol 3": {"int16 2 2", "\x80\x03cnumpy._core.multiarray\x0a_reconstruct\x0aq\x00cnumpy\x0andarray\x0aq\x01K\x00\x85q\x02C\x01bq\x03\x87q\x04Rq\x05(K\x01K\x02K\x02\x86q\x06cnumpy\x0adtype\x0aq\x07X\x02\x00\x00\x00i2q\x08\x89\x88\x87q\x09Rq\x0a(K\x03X\x01\x00\x00\x00<q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0cb\x89C\x08abcdefghq\x0dtq\x0eb."},
	"by protocol 4": {"int16 2 2", "\x80\x04\x95\x93\x00\x00\x00\x00\x00\x00\x00\x8c\x16numpy._core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94\x8c\x05numpy\x94\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K\x01K\x02K\x02\x86\x94h\x03\x8c\x05dtype\x94\x93\x94\x8c\x02i2\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89C\x08abcdefgh\x94t\x94b."},
	"by protocol 5": {"int16 2 2", "\x80\x05\x95~\x00\x00\x00\x00\x00\x00\x00\x8c\x13numpy._core.numeric\x94\x8c\x0b_frombuffer\x94\x93\x94(\x96\x08\x00\x00\x00\x00\x00\x00\x00abcdefgh\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02i2\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94bK\x02K\x02\x86\x94\x8c\x01C\x94t\x94R\x94."},
	"a number":      {"number int16", "\x80\x04\x95d\x00\x00\x00\x00\x00\x00\x00\x8c\x16numpy._core.multiarray\x94\x8c\x06scalar\x94\x93\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02i2\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94bC\x02ab\x94\x86\x94R\x94."},
}

func TestArrays(t *testing.T) {
	format, err := pickle.NewArrays("")
	require.NoError(t, err)
	older := strings.Replace(arrays["by protocol 3"].pickle, "_core", "core", 1)
	header, _, err := sourcetest.Array(t, format, []byte(older), 0, 2)
	require.NoError(t, err)
	require.Equal(t, "int16 2 2", header)
	for name, c := range arrays {
		header, read, err := sourcetest.Array(t, format, []byte(c.pickle), 0, 2)
		require.NoError(t, err, name)
		require.Equal(t, c.header, header, name)
		require.Equal(t, "ab", string(read), name)
		for k := range c.pickle {
			_, _, err := sourcetest.Array(t, format, []byte(c.pickle[:k]), 0, 2)
			require.Error(t, err, "%s, cut at %d", name, k)
		}
		for _, other := range [][2]string{{"i2", "i3"}, {"<", ">"}, {"reconstruct", "unconstruct"}, {"scalar", "vector"}, {"frombuffer", "fromanother"}, {"numpy._core", "mumpy._core"}, {"K\x02K\x02", "K\x02K\x01"}} {
			if of := strings.Replace(c.pickle, other[0], other[1], 1); of != c.pickle {
				_, _, err := sourcetest.Array(t, format, []byte(of), 0, 2)
				require.Error(t, err, "%s, %s", name, other)
			}
		}
	}
}

// Whatever it is, a pickle is read or refused: never a panic.
func FuzzParse(f *testing.F) {
	for _, each := range written {
		f.Add([]byte(each.pickle))
	}
	f.Fuzz(func(_ *testing.T, content []byte) { _, _, _ = pickle.Parse(content) })
}
