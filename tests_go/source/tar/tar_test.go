package tar_test

import (
	stdtar "archive/tar"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/tar"
)

// entry is what an archive is made of.
type entry struct {
	head stdtar.Header
	body []byte
}

func pack(t testing.TB, entries []entry) []byte {
	var out bytes.Buffer
	w := stdtar.NewWriter(&out)
	for _, e := range entries {
		e.head.Size = int64(len(e.body))
		require.NoError(t, w.WriteHeader(&e.head))
		_, err := w.Write(e.body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func members(content []byte) (found []tar.Member, err error) {
	err = tar.Members(bytes.NewReader(content), func(m tar.Member, _ io.Reader) error {
		found = append(found, m)
		return nil
	})
	return found, err
}

// Random archives of all formats, with long and foreign names, folders and links: each file is where Members says.
func TestMembersAreWhereTheyAreSaidToBe(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var entries, files []entry
		for i := range random.IntN(20) {
			format := []stdtar.Format{stdtar.FormatUSTAR, stdtar.FormatPAX, stdtar.FormatGNU}[random.IntN(3)]
			name := fmt.Sprintf("folder/%06d.jpg", i)
			if format != stdtar.FormatUSTAR {
				name = strings.Repeat("long/", random.IntN(80)) + []string{"a", "ü", "中"}[random.IntN(3)] + name
			}
			e := entry{head: stdtar.Header{Name: name, Typeflag: stdtar.TypeReg, Format: format, Mode: 0o644}}
			switch random.IntN(6) {
			case 0:
				e.head.Typeflag, e.head.Linkname = stdtar.TypeSymlink, "elsewhere"
			case 1:
				e.head.Typeflag = stdtar.TypeDir
				e.head.Name += "/"
			default:
				e.body = make([]byte, random.IntN(3000))
				for j := range e.body {
					e.body[j] = byte(random.Uint32())
				}
				files = append(files, e)
			}
			entries = append(entries, e)
		}
		content := pack(t, entries)
		found, err := members(content)
		require.NoError(t, err)
		require.Len(t, found, len(files))
		for i, m := range found {
			require.Equal(t, files[i].head.Name, m.Name)
			require.Equal(t, files[i].body, content[m.Offset:][:m.Bytes:m.Bytes])
		}
	}
}

func TestWhatCannotBeReadInPlaceIsRefused(t *testing.T) {
	sound := pack(t, []entry{
		{stdtar.Header{Name: "a.jpg", Typeflag: stdtar.TypeReg}, make([]byte, 1000)},
		{stdtar.Header{Name: "b.jpg", Typeflag: stdtar.TypeReg}, make([]byte, 1000)},
	})
	for what, content := range map[string][]byte{
		"cut in a file":    sound[:700],
		"cut in a header":  sound[:1536+100],
		"no archive":       bytes.Repeat([]byte("x"), 2000),
		"gzip":             append([]byte("\x1f\x8b\x08\x00"), sound...),
		"zstd":             append([]byte("\x28\xb5\x2f\xfd"), sound...),
		"a lying checksum": append(append([]byte("z"), sound[1:512]...), sound[512:]...),
	} {
		_, err := members(content)
		require.ErrorIs(t, err, tar.ErrDamaged, what)
	}
	found, err := members(sound[:512+1000+24])
	require.NoError(t, err, "an archive without its end, cut between two files, as Python's tarfile reads it")
	require.Len(t, found, 1)
}

func TestNamesSplitAsWebDatasetHasIt(t *testing.T) {
	for name, want := range map[string][3]any{
		"0001.jpg":             {"0001", "jpg", true},
		"a/b.c/0001.Seg.PNG":   {"a/b.c/0001", "seg.png", true},
		"0001":                 {"", "", false},
		"d.x/.hidden":          {"", "", false},
		"a/.hidden":            {"a/", "hidden", true},
		"__index__/0001.jpg":   {"", "", false},
		"a/__meta__":           {"", "", false},
		"__a__b.jpg":           {"__a__b", "jpg", true},
		"./0001.cls":           {"./0001", "cls", true},
		"folder.with.dots/x.y": {"folder.with.dots/x", "y", true},
	} {
		key, suffix, ok := tar.Split(name)
		require.Equal(t, want, [3]any{key, suffix, ok}, name)
	}
}

// Whatever the bytes, members lie in the archive, and are what Go's own reader gives.
func FuzzMembers(f *testing.F) {
	f.Add(pack(f, []entry{{stdtar.Header{Name: "a.jpg", Typeflag: stdtar.TypeReg}, []byte("body")}}))
	f.Add(pack(f, []entry{{stdtar.Header{Name: strings.Repeat("x", 300), Typeflag: stdtar.TypeReg, Format: stdtar.FormatGNU}, nil}}))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, _ := members(content)
		own := stdtar.NewReader(bytes.NewReader(content))
		for _, m := range found {
			head, err := own.Next()
			for err == nil && (head.Name != m.Name || head.Size != m.Bytes) {
				head, err = own.Next()
			}
			require.NoError(t, err)
			body, err := io.ReadAll(own)
			if err != nil {
				continue // it breaks off in this one: the next step of Members says so
			}
			require.Equal(t, string(body), string(content[m.Offset:m.Offset+m.Bytes]))
		}
	})
}
