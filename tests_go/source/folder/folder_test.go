package folder_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// open makes a folder of paths, with labels 0, 1, 2 ...
func open(t *testing.T, paths ...string) *folder.Folder {
	t.Helper()
	labels := make([]int64, len(paths))
	for i := range labels {
		labels[i] = int64(i)
	}
	f, err := folder.New(local.Store{}, pack(paths), offsets(paths), labels, nil)
	require.NoError(t, err)
	return f
}

func pack(paths []string) (packed []byte) {
	for _, path := range paths {
		packed = append(append(packed, path...), 0)
	}
	return packed
}

func offsets(paths []string) []int64 {
	at := []int64{0}
	for _, path := range paths {
		at = append(at, at[len(at)-1]+int64(len(path))+1)
	}
	return at
}

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestAFolderIsASource(t *testing.T) {
	sourcetest.Files(t, func(t *testing.T, files []sourcetest.File) source.Files {
		dir := t.TempDir()
		var paths []string
		var labels []int64
		for i, file := range files {
			paths = append(paths, write(t, filepath.Join(dir, fmt.Sprintf("%d.bin", i)), file.Bytes))
			labels = append(labels, file.Label)
		}
		f, err := folder.New(local.Store{}, pack(paths), offsets(paths), labels, nil)
		require.NoError(t, err)
		return f
	})
}

func TestTheListIsKeptAndNotCopied(t *testing.T) {
	leakcheck.Check(t)
	paths, at, labels := []byte("a\x00bc\x00"), []int64{0, 2, 5}, []int64{5, 6}
	before := mem.InUse(mem.Indexes)
	f, err := folder.New(local.Store{}, paths, at, labels, nil)
	require.NoError(t, err)
	require.Equal(t, before, mem.InUse(mem.Indexes))
	require.Same(t, &paths[0], &f.Paths()[0])
	require.Same(t, &at[0], &f.Offsets()[0])
	require.Same(t, &labels[0], &f.Labels()[0])
	f.Close()
	require.Equal(t, "bc\x00", string(paths[2:]), "it was not ours to free")
}

// Linux's names are bytes: anything but NUL and the slash.
func TestNamesNeedNotBeText(t *testing.T) {
	leakcheck.Check(t)
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"\xff\xfe", "new\nline", " ", "ü", "\x01", "%s%n", strings.Repeat("n", 255)} {
		paths = append(paths, write(t, filepath.Join(dir, name), []byte("in "+name)))
	}
	f := open(t, paths...)
	defer f.Close()
	for i, path := range paths {
		require.Equal(t, path, f.Name(i))
		var buf source.Buffer
		_, err := f.Read(context.Background(), i, &buf)
		require.NoError(t, err)
		require.Equal(t, "in "+filepath.Base(path), string(buf.Slice(0, buf.Len())))
		buf.Free()
	}
}

func TestALinkIsTheFileItNames(t *testing.T) {
	leakcheck.Check(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), []byte("content"))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("file", link))
	f := open(t, link)
	defer f.Close()
	var buf source.Buffer
	defer buf.Free()
	_, err := f.Read(context.Background(), 0, &buf)
	require.NoError(t, err)
	require.Equal(t, "content", string(buf.Slice(0, buf.Len())))
}

func TestWhatIsNoReadableFileIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("file"), []byte("content"))
	write(t, at("forbidden"), []byte("content"))
	require.NoError(t, os.Chmod(at("forbidden"), 0))
	require.NoError(t, os.Mkdir(at("directory"), 0o700))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.Symlink("nowhere", at("dangling")))
	// A listener makes a socket file; its path may have 107 bytes at most.
	t.Chdir(dir)
	listener, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()

	for name, reason := range map[string]string{
		at("missing"):                    "no such file or directory",
		"":                               "no such file or directory",
		at("dangling"):                   "no such file or directory",
		at("directory"):                  "not a regular file",
		at("fifo"):                       "not a regular file",
		"/dev/zero":                      "not a regular file",
		at("socket"):                     "no such device or address",
		at("loop"):                       "too many levels of symbolic links",
		at("file/under"):                 "not a directory",
		at(strings.Repeat("n", 256)):     "file name too long",
		at(strings.Repeat("dir/", 1100)): "file name too long",
		at("forbidden"):                  "permission denied",
	} {
		t.Run(reason, func(t *testing.T) {
			if name == at("forbidden") && os.Geteuid() == 0 {
				t.Skip("root may read everything")
			}
			leakcheck.Check(t)
			f := open(t, name)
			defer f.Close()
			done := make(chan struct{})
			go func() {
				defer close(done)
				sourcetest.Unreadable(t, f, 0)
				var buf source.Buffer
				defer buf.Free()
				if _, err := f.Read(context.Background(), 0, &buf); err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("%q: want %q, got %v", name, reason, err)
				}
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatalf("%q: still reading", name)
			}
		})
	}
}

// A file of more than 1 GiB is Pillow's, and no memory is spent on it.
func TestAHugeFileIsRefusedUnread(t *testing.T) {
	leakcheck.Check(t)
	path := write(t, filepath.Join(t.TempDir(), "huge"), nil)
	require.NoError(t, os.Truncate(path, 1<<30+1))
	f := open(t, path)
	defer f.Close()
	before := mem.InUse(mem.Files)
	var buf source.Buffer
	_, err := f.Read(context.Background(), 0, &buf)
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "1073741825 bytes")
	require.Equal(t, before, mem.InUse(mem.Files))
}

func TestReadingInSteadyStateAllocatesNothing(t *testing.T) {
	leakcheck.Check(t)
	f := open(t, write(t, filepath.Join(t.TempDir(), "file"), sourcetest.Noise(100_000, 1)))
	defer f.Close()
	var buf source.Buffer
	defer buf.Free()
	_, err := f.Read(context.Background(), 0, &buf)
	require.NoError(t, err)
	before := mem.InUse(mem.Files)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buf.Reset(1 << 30)
		if _, err := f.Read(context.Background(), 0, &buf); err != nil {
			t.Error(err)
		}
	}))
	require.Equal(t, before, mem.InUse(mem.Files))
}

func TestAListThatDoesNotFitTogetherIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		paths   string
		offsets []int64
		labels  []int64
	}{
		"no offset at all":       {"", nil, nil},
		"too few offsets":        {"a\x00", []int64{0}, []int64{1}},
		"too many offsets":       {"a\x00b\x00", []int64{0, 2, 4}, []int64{1}},
		"begins late":            {"a\x00", []int64{1, 2}, []int64{1}},
		"ends early":             {"a\x00b\x00", []int64{0, 2}, []int64{1}},
		"ends behind the paths":  {"a\x00", []int64{0, 3}, []int64{1}},
		"goes back":              {"a\x00b\x00", []int64{0, 4, 2, 4}, []int64{1, 2, 3}},
		"stands still":           {"a\x00b\x00", []int64{0, 2, 2, 4}, []int64{1, 2, 3}},
		"negative":               {"a\x00b\x00", []int64{0, -2, 4}, []int64{1, 2}},
		"far behind the paths":   {"a\x00b\x00", []int64{0, 1 << 62, 4}, []int64{1, 2}},
		"does not end in NUL":    {"ab", []int64{0, 2}, []int64{1}},
		"cut inside a path":      {"abc\x00d\x00", []int64{0, 2, 6}, []int64{1, 2}},
		"NUL inside a path":      {"a\x00b\x00", []int64{0, 4}, []int64{1}},
		"paths without a sample": {"a\x00", []int64{0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			_, err := folder.New(local.Store{}, []byte(c.paths), c.offsets, c.labels, nil)
			require.ErrorContains(t, err, "folder: ")
		})
	}
}
