package npz_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/npz"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// array is a .npy file of bytes.
func array(items string) string {
	text := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", len(items))
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), 0}) + text + items
}

type member struct {
	name, content string
	method        uint16
}

func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var made []sourcetest.Member
	for _, m := range members {
		made = append(made, sourcetest.Member{Name: m.name, Content: m.content, Method: m.method})
	}
	return sourcetest.Archive(t, made...)
}

// look is the header of the array "x", and its items from skip on.
func look(t testing.TB, content []byte, skip int64, read int) (string, string, error) {
	t.Helper()
	header, items, err := sourcetest.Array(t, npz.Format{Name: "x"}, content, skip, read)
	return header, string(items), err
}

func TestArraysByName(t *testing.T) {
	long := strings.Repeat("goloader ", 3000)
	for name, c := range map[string]struct {
		items   string
		members []member
	}{
		"stored":     {"abc", []member{{"x.npy", array("abc"), zip.Store}}},
		"compressed": {long, []member{{"x.npy", array(long), zip.Deflate}}},
		"of several": {"abc", []member{{"w.npy", array(long), zip.Store}, {"x.npy", array("abc"), zip.Deflate}, {"y.npy", array("d"), zip.Store}}},
		"long":       {long, []member{{"w.npy", array(long), zip.Store}, {"x.npy", array(long), zip.Store}, {"y.npy", array(long), zip.Store}}},
	} {
		for _, skip := range []int{0, len(c.items) / 2, len(c.items)} {
			content := archive(t, c.members...)
			header, read, err := look(t, content, int64(skip), len(c.items)-skip)
			require.NoError(t, err, name)
			require.Equal(t, fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", len(c.items)), header)
			require.True(t, c.items[skip:] == read, name)
		}
	}
}

func TestWhatIsNotReadHere(t *testing.T) {
	x := member{"x.npy", array("abc"), zip.Store}
	for name, members := range map[string][]member{
		"nothing":         {},
		"without it":      {{"y.npy", array("abc"), zip.Store}},
		"two":             {x, x},
		"of the name":     {x, {"x", "abc", zip.Store}},
		"something else":  {{"x.npy", "abc", zip.Store}},
		"half a header":   {{"x.npy", array("abc")[:50], zip.Store}},
		"another version": {{"x.npy", strings.Replace(array("abc"), "\x01\x00", "\x04\x00", 1), zip.Store}},
	} {
		_, _, err := look(t, archive(t, members...), 0, 0)
		require.Error(t, err, name)
	}
	_, _, err := look(t, archive(t, x), 0, 4)
	require.ErrorContains(t, err, "1 bytes of items less")
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		whole := archive(t, member{"x.npy", array("abc"), method})
		for k := range whole {
			_, _, err := look(t, whole[:k], 0, 0)
			require.Error(t, err, k)
		}
	}
	whole := archive(t, x)
	for _, spoil := range []func(b []byte){
		func(b []byte) { b[bytes.Index(b, []byte("abc"))]++ },
		func(b []byte) { b[bytes.Index(b, []byte("x.npy"))]++ },
	} {
		spoiled := bytes.Clone(whole)
		spoil(spoiled)
		_, _, err := look(t, spoiled, 0, 3)
		require.Error(t, err)
	}
}

// Whatever a file holds, it is refused, or the array is what the directory's checksum is of. The checksum is also behind a
// member, where archive/zip looks at it; Python's zipfile does not, nor does Content.
func FuzzArchive(f *testing.F) {
	stored := archive(f, member{"x.npy", array("abc"), zip.Store})
	f.Add(stored)
	f.Add(archive(f, member{"w.npy", array("d"), zip.Deflate}, member{"x.npy", array("abcabcabcabc"), zip.Deflate}))
	behind := bytes.Clone(stored)
	behind[bytes.Index(behind, []byte("PK\x07\x08"))+4]++
	f.Add(behind)
	f.Fuzz(func(t *testing.T, content []byte) {
		header, _, err := look(t, content, 0, 0)
		if err != nil {
			return
		}
		of, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		k := slices.IndexFunc(of.File, func(each *zip.File) bool { return each.Name == "x.npy" })
		raw, err := of.File[k].OpenRaw()
		require.NoError(t, err)
		if of.File[k].Method == zip.Deflate {
			raw = flate.NewReader(raw)
		}
		whole, err := io.ReadAll(raw)
		require.NoError(t, err)
		require.Contains(t, string(whole), header)
		require.Equal(t, of.File[k].CRC32, crc32.ChecksumIEEE(whole))
	})
}
