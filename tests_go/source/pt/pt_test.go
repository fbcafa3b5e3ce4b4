package pt_test

import (
	"archive/zip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/pt"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// pickle is what torch.save writes of a tensor, with the numbers of its shape and strides as opcodes.
func pickle(storage, count, shape, strides string) string {
	kept := func(numbers string) string {
		if numbers == ")" { // the empty tuple is not
			return numbers
		}
		return numbers + "q\x06"
	}
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((X\x07\x00\x00\x00storageq\x01ctorch\n" + storage +
		"\nq\x02X\x01\x00\x00\x000q\x03X\x03\x00\x00\x00cpuq\x04" + count + "tq\x05QK\x00" + kept(shape) + kept(strides) +
		"\x89ccollections\nOrderedDict\nq\x08)Rq\ttq\nRq\x0b."
}

type member struct{ name, content string }

func archive(t testing.TB, method uint16, members ...member) []byte {
	t.Helper()
	var named []sourcetest.Member
	for _, m := range members {
		named = append(named, sourcetest.Member{Name: "name/" + m.name, Content: m.content, Method: method})
	}
	return sourcetest.Archive(t, named...)
}

// look is the header of a file of that content, and so many bytes of the tensor.
func look(t testing.TB, content []byte, read int) (string, []byte, error) {
	t.Helper()
	format, err := pt.New("")
	require.NoError(t, err)
	return sourcetest.Array(t, format, content, 0, read)
}

var plain = pickle("ShortStorage", "K\x06", "K\x02K\x03\x86", "K\x03K\x01\x86")

func TestTensors(t *testing.T) {
	items := "abcdefghijkl"
	for name, c := range map[string]struct {
		header  string
		members []member
	}{
		"matrix":      {"int16 2 3", []member{{"data.pkl", plain}, {"byteorder", "little"}, {"data/0", items}}},
		"old version": {"int16 2 3", []member{{"data.pkl", plain}, {"data/0", items}, {"version", "3\n"}}},
		"number":      {"uint8", []member{{"data.pkl", pickle("ByteStorage", "K\x01", ")", ")")}, {"data/0", "a"}}},
		"vector": {"uint8 12", []member{
			{"data.pkl", pickle("ByteStorage", "M\x0c\x00", "J\x0c\x00\x00\x00\x85", "\x8a\x01\x01\x85")}, {"data/0", items},
		}},
		"four": {"uint8 1 2 3 2", []member{
			{"data.pkl", pickle("ByteStorage", "K\x0c", "(K\x01K\x02K\x03K\x02t", "(K\x0cK\x06K\x02K\x01t")}, {"data/0", items},
		}},
		"far behind": {"int16 2 3", []member{{"data.pkl", plain}, {"more", strings.Repeat("x", 9000)}, {"data/0", items}}},
	} {
		content := archive(t, zip.Store, c.members...)
		header, read, err := look(t, content, 1)
		require.NoError(t, err, name)
		require.Equal(t, c.header, header, name)
		require.Equal(t, "a", string(read), name)
	}
}

func TestWhatIsNotReadHere(t *testing.T) {
	items := member{"data/0", "abcdefghijkl"}
	of := func(text string) member { return member{"data.pkl", text} }
	for name, members := range map[string][]member{
		"nothing":          {},
		"no pickle":        {items},
		"no storage":       {of(plain)},
		"another order":    {of(plain), {"byteorder", "big"}, items},
		"TorchScript":      {of(plain), {"constants.pkl", ""}, items},
		"two":              {of(plain), items, items},
		"a short storage":  {of(plain), {"data/0", "abc"}},
		"transposed":       {of(pickle("ShortStorage", "K\x06", "K\x03K\x02\x86", "K\x01K\x03\x86")), items},
		"a part":           {of(pickle("ShortStorage", "K\x06", "K\x05\x85", "K\x01\x85")), items},
		"without items":    {of(pickle("ShortStorage", "K\x00", "K\x00\x85", "K\x01\x85")), {"data/0", ""}},
		"another storage":  {of(strings.Replace(plain, "Short", "BFloat16", 1)), items},
		"requires grad":    {of(strings.Replace(plain, "\x89", "\x88", 1)), items},
		"another protocol": {of(strings.Replace(plain, "\x80\x02", "\x80\x04", 1)), items},
		"more behind":      {of(plain + "."), items},
		"below 0":          {of(pickle("ShortStorage", "K\x06", "J\xff\xff\xff\xff\x85", "K\x01\x85")), items},
	} {
		_, _, err := look(t, archive(t, zip.Store, members...), 0)
		require.Error(t, err, name)
	}
	for k := range plain {
		_, _, err := look(t, archive(t, zip.Store, of(plain[:k]), items), 0)
		require.Error(t, err, k)
	}
	_, _, err := look(t, archive(t, zip.Deflate, of(plain), items), 0)
	require.ErrorContains(t, err, "compressed")
	whole := archive(t, zip.Store, of(plain), items)
	for k := range whole {
		_, _, err := look(t, whole[:k], 0)
		require.Error(t, err, k)
	}
}

// Whatever a pickle holds, it is refused or all of its tensor can be read.
func FuzzPickle(f *testing.F) {
	f.Add([]byte(plain), 12)
	f.Add([]byte(pickle("ByteStorage", "K\x0c", "(K\x01K\x02K\x03K\x02t", "(K\x0cK\x06K\x02K\x01t")), 12)
	f.Fuzz(func(t *testing.T, content []byte, count int) {
		count = min(max(count, 0), 1<<12)
		whole := archive(t, zip.Store, member{"data.pkl", string(content)}, member{"data/0", strings.Repeat("x", count)})
		header, _, err := look(t, whole, 0)
		if err != nil {
			return
		}
		size := map[string]int{
			"float64": 8, "float32": 4, "float16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
		}
		fields := strings.Fields(header)
		bytes := size[fields[0]]
		for _, field := range fields[1:] {
			var extent int
			_, err := fmt.Sscan(field, &extent)
			require.NoError(t, err)
			bytes *= extent
		}
		require.Equal(t, count, bytes)
		_, _, err = look(t, whole, bytes)
		require.NoError(t, err)
	})
}
