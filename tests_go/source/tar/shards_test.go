package tar_test

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/source/remote"
	"github.com/goloader/goloader/core/source/stream"
	"github.com/goloader/goloader/core/source/tar"
	"github.com/goloader/goloader/tests_go/source/madeup"
)

func file(name string, body []byte) entry {
	return entry{head: stdtar.Header{Name: name, Typeflag: stdtar.TypeReg, Mode: 0o644}, body: body}
}

// archive has samples of three files, of which one is larger than what is read along with headers, among a folder, a link and
// a file of no sample.
func archive(t testing.TB, samples int) []byte {
	random := rand.New(rand.NewPCG(uint64(samples), 0))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	entries := []entry{file("__meta__", []byte("left out"))}
	for i := range samples {
		entries = append(entries,
			file(fmt.Sprintf("a/%03d.jpg", i), noise(random.IntN(70000))),
			file(fmt.Sprintf("a/%03d.cls", i), fmt.Append(nil, i)),
			entry{head: stdtar.Header{Name: "a/link", Typeflag: stdtar.TypeSymlink, Linkname: "/etc/passwd"}},
			file(fmt.Sprintf("a/%03d.Seg.PNG", i), noise(10)),
			file(strings.Repeat("long/", 40)+"README", nil),
		)
	}
	return pack(t, entries)
}

func zipped(t testing.TB, content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func packed(t testing.TB, content []byte) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(content, nil)
}

func write(t testing.TB, name string, content []byte) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

var shards = &tar.Shards{Local: source.Retry(local.Store{}), Remote: remote.New().Patient(), IsRemote: remote.Is}

// known is a sample with its bytes.
type known struct {
	key   string
	at    int64
	parts map[string]string
}

// samples are those of a shard from a place on, and where each next one begins; and what ended it, if not its end.
func samples(ctx context.Context, name string, at int64) (all []known, next []int64, err error) {
	return samplesOf(ctx, shards, name, at)
}

func samplesOf(ctx context.Context, shards *tar.Shards, name string, at int64) (all []known, next []int64, err error) {
	r, err := shards.Open(ctx, name, at)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var buf source.Buffer
	defer buf.Free()
	for {
		s, err := r.Next(ctx)
		if err == io.EOF {
			return all, next, nil
		}
		if err != nil {
			return all, next, err
		}
		k := known{s.Key, s.At, map[string]string{}}
		for i := range s.Parts {
			buf.Reset(1 << 20)
			if _, err := shards.Read(ctx, &s.Parts[i], &buf); err != nil {
				return all, next, err
			}
			k.parts[s.Parts[i].Suffix] = ""
			if buf.Len() > 0 {
				k.parts[s.Parts[i].Suffix] = string(buf.Slice(0, buf.Len()))
			}
		}
		all, next = append(all, k), append(next, r.At())
	}
}

func TestAShardIsTheSameHoweverItIsStoredAndFromEachPlaceOn(t *testing.T) {
	ctx, content := context.Background(), archive(t, 40)
	plain := write(t, "a.tar", content)
	want, _, err := samples(ctx, plain, 0)
	require.NoError(t, err)
	require.Len(t, want, 40)
	require.Equal(t, "a/007", want[7].key)
	require.Equal(t, "7", want[7].parts["cls"])
	require.Len(t, want[7].parts["seg.png"], 10)
	require.Len(t, want[7].parts, 3)
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(plain))))
	defer server.Close()
	for _, name := range []string{
		plain, write(t, "a.tar.gz", zipped(t, content)), write(t, "b", packed(t, content)), server.URL + "/a.tar",
		"pipe:cat " + plain, "pipe:gzip -c " + plain,
	} {
		got, next, err := samples(ctx, name, 0)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		for _, i := range []int{0, 17, 38, 39} {
			rest, _, err := samples(ctx, name, next[i])
			require.NoError(t, err, name)
			require.Equal(t, len(want[i+1:]), len(rest), name)
			for k := range rest {
				require.Equal(t, want[i+1+k], rest[k], name)
			}
		}
	}
}

func TestACommandThatFailsOrIsGivenUpIsAnError(t *testing.T) {
	plain := write(t, "a.tar", archive(t, 3))
	ctx := stream.WithEnvironment(context.Background(), []string{"WHERE=" + plain, "PATH=" + os.Getenv("PATH")})
	got, _, err := samples(ctx, `pipe:cat "$WHERE"`, 0)
	require.NoError(t, err)
	require.Len(t, got, 3)
	got, _, err = samples(ctx, `pipe:cat "$WHERE"; echo no such bucket >&2; exit 3`, 0)
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "exit status 3: no such bucket")
	require.Len(t, got, 2) // the last one is not whole for sure

	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, _, err = samples(ctx, "pipe:sleep 60 & sleep 60", 0)
	require.Error(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
}

func TestWhatIsNotSoundIsAnErrorWithItsPlace(t *testing.T) {
	ctx := context.Background()
	long := pack(t, []entry{file("a.jpg", make([]byte, 2000)), file("b.jpg", make([]byte, 2000))})
	lying := bytes.Clone(long)
	copy(lying[124:], "77777777777\x00") // 8 GB
	checksum(lying[:512])
	for _, c := range []struct {
		what    string
		content []byte
		says    string
	}{
		{"nothing a tar", []byte("no tar archive at all, but long enough for a header" + strings.Repeat("x", 600)), "invalid tar header"},
		{"cut in a file", long[:2000], "a.jpg"},
		{"a size that lies", lying, "has 8589934591 bytes by its header"},
		{"a size that lies, compressed", zipped(t, lying), "has 8589934591 bytes by its header"},
		{"one file twice", pack(t, []entry{file("a.jpg", nil), file("a.JPG", nil)}), `"a.JPG" at byte 1024: duplicate`},
		{"gzip that is cut", zipped(t, long)[:40], "unexpected EOF"},
		{"gzip with another checksum", flip(zipped(t, long), -6), "checksum"},
		{"zstd that is cut", packed(t, long)[:30], "unexpected EOF"},
		{"bzip2", []byte("BZh91AY&SY"), "compressed by bzip2"},
		{"no end to a sample", endless(t), "more than 4096 files"},
	} {
		path := write(t, "x", c.content)
		_, _, err := samples(ctx, path, 0)
		require.ErrorIs(t, err, source.ErrUnreadable, c.what)
		require.ErrorContains(t, err, path, c.what)
		require.ErrorContains(t, err, c.says, c.what)
	}
	_, _, err := samples(ctx, filepath.Join(t.TempDir(), "missing"), 0)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func endless(t testing.TB) []byte {
	var entries []entry
	for i := range 5000 {
		entries = append(entries, file(fmt.Sprintf("a.%d", i), nil))
	}
	return pack(t, entries)
}

func flip(b []byte, at int) []byte {
	b[len(b)+at] ^= 255
	return b
}

// checksum mends a header.
func checksum(header []byte) {
	copy(header[148:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
}

// A bomb takes no more memory than what it says that it holds is allowed to: the rest of it is not kept.
func TestABombOfZerosIsLeftOut(t *testing.T) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	tw := stdtar.NewWriter(w)
	require.NoError(t, tw.WriteHeader(&stdtar.Header{Name: "link", Typeflag: stdtar.TypeReg, Size: 3 << 26, Mode: 0o644}))
	_, err := io.CopyN(tw, zeros{}, 3<<26)
	require.NoError(t, err)
	require.NoError(t, tw.WriteHeader(&stdtar.Header{Name: "a.jpg", Typeflag: stdtar.TypeReg, Size: 1, Mode: 0o644}))
	_, err = tw.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, errors.Join(tw.Close(), w.Close()))
	got, _, err := samples(context.Background(), write(t, "bomb", out.Bytes()), 0)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Whatever a shard holds: samples or an error that names it, and what was read from its beginning is what is read from there on.
func FuzzShards(f *testing.F) {
	whole := pack(f, []entry{file("a.jpg", []byte("x")), file("a.cls", []byte("7")), file("b.jpg", nil)})
	f.Add(whole)
	f.Add(whole[:1100])
	f.Add(zipped(f, whole))
	f.Add(packed(f, whole))
	f.Add(endless(f)[:2000])
	f.Fuzz(func(t *testing.T, content []byte) {
		made := madeup.Store(func(string) []byte { return content })
		from := &tar.Shards{Local: made, Remote: made, IsRemote: func(name string) bool { return name == "remote" }}
		for _, name := range []string{"local", "remote"} {
			all, next, err := samplesOf(context.Background(), from, name, 0)
			if err != nil {
				require.ErrorIs(t, err, source.ErrUnreadable)
				continue
			}
			if len(all) > 1 {
				rest, _, err := samplesOf(context.Background(), from, name, next[0])
				require.NoError(t, err)
				require.Equal(t, all[1:], rest)
			}
		}
	})
}
