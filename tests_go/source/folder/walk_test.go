package folder_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/node"
	"github.com/goloader/goloader/core/source/folder"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/faultfs"
)

// The names in Python's order: by code point, a byte that is not UTF-8 as 0xDC00 and more.
var sorted = []string{"-.jpg", "B.jpg", "a.jpg", "aa.jpg", "é.jpg", "中.jpg", "\xe4.jpg", "\xe4\xb8.jpg", "\uf8ff.jpg", "\U0001f600.jpg"}

func photos(t *testing.T) folder.Tree {
	t.Helper()
	root := t.TempDir()
	for i := range sorted {
		class := filepath.Join(root, []string{"cat", "dog"}[i%2])
		require.NoError(t, os.MkdirAll(filepath.Join(class, "below"), 0o700))
		for _, where := range []string{class, filepath.Join(class, "below")} {
			write(t, filepath.Join(where, sorted[len(sorted)-1-i]), nil)
			write(t, filepath.Join(where, sorted[i]), nil)
		}
		write(t, filepath.Join(class, "notes.txt"), nil)
	}
	return folder.Tree{Root: root, Classes: []string{"cat", "dog"}, Extensions: []string{".jpg"}}
}

// A directory that fails for a moment is listed again: without it, a class would lack files, and nobody would know. One that
// goes on to fail is left out, as os.walk leaves it out.
func TestADirectoryThatFailsForAMomentIsListedAgain(t *testing.T) {
	leakcheck.Check(t)
	tree := photos(t)
	f := faultfs.Mount(t, tree.Root)
	tree.Root = f.Path
	count := func() int {
		files, _, err := folder.Walk(context.Background(), tree, &folder.Progress{})
		require.NoError(t, err)
		defer files.Close()
		return files.Len()
	}
	f.OnOpen("dog", faultfs.Fault{Errno: syscall.ESTALE, Times: 1})
	f.OnOpen("cat", faultfs.Fault{Errno: syscall.EIO, Times: 2})
	require.Equal(t, 4*len(sorted), count())
	f.OnOpen("dog", faultfs.Fault{Errno: syscall.EIO})
	require.Equal(t, 2*len(sorted), count())
	f.OnOpen("dog", faultfs.Fault{Errno: syscall.EACCES, Times: 1})
	require.Equal(t, 2*len(sorted), count(), "this does not pass")
}

func TestFilesComeInPythonsOrder(t *testing.T) {
	leakcheck.Check(t)
	tree := photos(t)
	for range 20 { // the directories are listed in any order
		files, directories, err := folder.Walk(context.Background(), tree, &folder.Progress{})
		require.NoError(t, err)
		require.Len(t, directories, 4)
		require.Equal(t, 4*len(sorted), files.Len())
		for i := range files.Len() {
			class, below := i/(2*len(sorted)), i/len(sorted)%2 == 1
			want := filepath.Join(tree.Root, tree.Classes[class], sorted[i%len(sorted)])
			if below {
				want = filepath.Join(tree.Root, tree.Classes[class], "below", sorted[i%len(sorted)])
			}
			require.Equal(t, want, files.Name(i))
			require.EqualValues(t, class, files.Label(i))
		}
		files.Close()
	}
}

func TestASharedListLivesUntilItsLastOwnerClosesIt(t *testing.T) {
	leakcheck.Check(t)
	list := folder.Start(photos(t), "")
	done, err := list.Wait(time.Minute)
	require.True(t, done)
	require.NoError(t, err)
	shared := list.Files().Share()
	require.NoError(t, list.Close())
	var owners sync.WaitGroup
	for range 8 {
		one := shared.Share()
		owners.Go(func() {
			_ = one.Name(0)
			one.Close()
		})
	}
	owners.Wait()
	require.FileExists(t, shared.Name(shared.Len()-1))
	shared.Close()
}

// mapped is the memory of lists that this process has together with others: a line of proc(5)'s maps each, by inode.
func mapped(t *testing.T) map[string]int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	found := map[string]int{}
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); strings.Contains(line, "/memfd:goloader-list-") {
			require.Equal(t, "r--s", fields[1])
			found[fields[4]]++
		}
	}
	return found
}

func TestRanksHaveOneListInMemory(t *testing.T) {
	leakcheck.Check(t)
	tree := photos(t)
	index := filepath.Join(t.TempDir(), "index")
	listed := func() *folder.List {
		list := folder.Start(tree, index)
		done, err := list.Wait(time.Minute)
		require.True(t, done)
		require.NoError(t, err)
		return list
	}
	again := node.Shares() // with -count=2: nobody can take back that there are other ranks
	alone := listed()      // and writes the index
	require.Equal(t, again, len(mapped(t)) > 0)
	require.NoError(t, node.Join(0, 2, 0))
	walked, read := listed(), listed()
	found := mapped(t)
	require.Len(t, found, 1)
	for _, times := range found {
		require.Equal(t, again, times == 3)
		require.Equal(t, !again, times == 2)
	}
	want := alone.Files()
	for _, list := range []*folder.List{walked, read} {
		got := list.Files()
		require.Equal(t, want.Paths(), got.Paths())
		require.Equal(t, want.Offsets(), got.Offsets())
		require.Equal(t, want.Labels(), got.Labels())
		require.Equal(t, want.Spans(), got.Spans())
	}
	tree.Classes = tree.Classes[:1]
	fewer := listed() // is another list
	require.Len(t, mapped(t), 2)
	for _, list := range []*folder.List{alone, walked, fewer} {
		require.NoError(t, list.Close())
	}
	require.FileExists(t, read.Files().Name(read.Files().Len()-1))
	require.NoError(t, read.Close())
	require.Empty(t, mapped(t))
}

func TestAWalkThatIsClosedStops(t *testing.T) {
	leakcheck.Check(t)
	tree := photos(t)
	for _, name := range []string{"up", "too"} { // two links in a loop: 2^40 directories
		require.NoError(t, os.Symlink(tree.Root, filepath.Join(tree.Root, "cat", name)))
	}
	list := folder.Start(tree, "")
	done, err := list.Wait(time.Millisecond)
	require.NoError(t, err)
	require.False(t, done)
	require.Nil(t, list.Files())
	require.NoError(t, list.Close())
}

// Whatever an index file holds, a right checksum included, the list is one that the core can use, or refused.
func FuzzIndex(f *testing.F) {
	root := f.TempDir()
	require.NoError(f, os.Mkdir(filepath.Join(root, "cat"), 0o700))
	require.NoError(f, os.WriteFile(filepath.Join(root, "cat", "a.jpg"), nil, 0o600))
	old := time.Now().Add(-time.Hour)
	require.NoError(f, os.Chtimes(filepath.Join(root, "cat"), old, old))
	tree := folder.Tree{Root: root, Classes: []string{"cat"}, Extensions: []string{".jpg"}}
	files, directories, err := folder.Walk(context.Background(), tree, &folder.Progress{})
	require.NoError(f, err)
	index := filepath.Join(root, "index")
	require.NoError(f, files.SaveIndex(index, "key", directories, time.Now().UnixNano()))
	files.Close()
	sound, err := os.ReadFile(index)
	require.NoError(f, err)
	f.Add(sound)
	f.Add(sound[:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 12 {
			binary.LittleEndian.PutUint32(data[8:], crc32.Checksum(data[12:], crc32.MakeTable(crc32.Castagnoli)))
		}
		path := write(t, filepath.Join(t.TempDir(), "index"), data)
		files, err := folder.LoadIndex(context.Background(), path, "key", nil)
		if err != nil {
			require.True(t, errors.Is(err, folder.ErrDamaged) || errors.Is(err, folder.ErrStale), "%v", err)
			return
		}
		for i := range files.Len() {
			require.NotEmpty(t, files.Name(i)+"/")
			_ = files.Label(i)
		}
		files.Close()
	})
}
