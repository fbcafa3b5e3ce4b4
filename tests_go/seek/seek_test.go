// Package seek_test looks at what is kept, and what is not believed; what is inside entries is the decoders' matter.
package seek_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/seek"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

func open(t *testing.T, n int, bytesMax int64) *seek.Index {
	t.Helper()
	x, err := seek.New(n, bytesMax)
	require.NoError(t, err)
	t.Cleanup(x.Close)
	return x
}

func get(x *seek.Index, i int, stamp source.Stamp) []byte {
	room := make([]byte, x.EntryMax())
	return room[:x.Get(i, stamp, room)]
}

// entry is what the tests keep of file i: no two are alike.
func entry(i, size int) []byte {
	return bytes.Repeat([]byte{byte(i), byte(size), byte(i >> 8)}, size)[:size]
}

func stamp(i int) source.Stamp {
	return source.Stamp{Bytes: int64(1000 + i), ModifiedNs: int64(i) * 1e9}
}

func names(i int) string { return fmt.Sprintf("/data/set/class%d/%d.jpg", i%3, i) }

func TestFilesKeepTheNumbersThatTheirPathsGot(t *testing.T) {
	numbers := seek.NewNumbers(100)
	for range 2 {
		for i := range 100 {
			got, ok := numbers.Of([]byte(names(i)))
			require.True(t, ok)
			require.Equal(t, i, got)
		}
	}
	_, ok := numbers.Of([]byte(names(100)))
	require.False(t, ok)
}

func TestWhatWasPutIsThereForTheSameVersionOfTheFileOnly(t *testing.T) {
	leakcheck.Check(t)
	x := open(t, 10, 1<<20)
	require.Empty(t, get(x, 3, stamp(3)))
	x.Put(3, stamp(3), entry(3, 100))
	require.Equal(t, entry(3, 100), get(x, 3, stamp(3)))
	require.Empty(t, get(x, 4, stamp(3)))
	require.Empty(t, get(x, 3, source.Stamp{Bytes: stamp(3).Bytes + 1, ModifiedNs: stamp(3).ModifiedNs}))
	require.Empty(t, get(x, 3, source.Stamp{Bytes: stamp(3).Bytes, ModifiedNs: stamp(3).ModifiedNs + 1}))

	x.Put(3, stamp(3), entry(3, 90)) // seen less of the file: not better
	require.Len(t, get(x, 3, stamp(3)), 100)
	x.Put(3, stamp(3), entry(3, 200))
	require.Equal(t, entry(3, 200), get(x, 3, stamp(3)))
	x.Put(3, stamp(4), entry(4, 50)) // the file was changed
	require.Empty(t, get(x, 3, stamp(3)))
	require.Equal(t, entry(4, 50), get(x, 3, stamp(4)))
	x.Put(3, stamp(4), nil)
	require.Empty(t, get(x, 3, stamp(4)))
	require.Zero(t, x.Usage().Entries)
}

func TestNeverMoreBytesThanAllowed(t *testing.T) {
	leakcheck.Check(t)
	for _, n := range []int{1, 7, 1000, 20000} {
		for _, allowed := range []int64{20_000, 300_000, 5_000_000} {
			before := mem.InUse(mem.Seek).Bytes
			x, err := seek.New(n, allowed)
			if err != nil {
				require.ErrorIs(t, err, seek.ErrTooSmall)
				require.Less(t, allowed/int64(n), int64(110))
				continue
			}
			random := rand.New(rand.NewPCG(uint64(n), uint64(allowed)))
			for range 5 * n {
				i := random.IntN(n)
				x.Put(i, stamp(random.IntN(3)), entry(i, 1+random.IntN(x.EntryMax())))
				require.LessOrEqual(t, x.Usage().Bytes, allowed)
			}
			require.LessOrEqual(t, mem.InUse(mem.Seek).Bytes-before, allowed+4096)
			require.Positive(t, x.Usage().Entries)
			x.Close()
		}
	}
}

func TestTheAllowanceIsEnoughForEveryFile(t *testing.T) {
	leakcheck.Check(t)
	const n = 3000
	x := open(t, n, 3<<20)
	for i := range n {
		x.Put(i, stamp(i), entry(i, x.EntryMax()))
	}
	require.EqualValues(t, n, x.Usage().Entries)
	for i := range n {
		require.Equal(t, entry(i, x.EntryMax()), get(x, i, stamp(i)))
	}
}

func TestGoroutinesShareAnIndex(t *testing.T) {
	leakcheck.Check(t)
	const n = 50
	x := open(t, n, 1<<20)
	path := filepath.Join(t.TempDir(), "index")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 0))
			room := make([]byte, x.EntryMax())
			for k := range 2000 {
				i := random.IntN(n)
				if got := room[:x.Get(i, stamp(i), room)]; len(got) > 0 && !bytes.Equal(got, entry(i, len(got))) {
					t.Errorf("file %d has an entry that nobody put", i)
					return
				}
				x.Put(i, stamp(i), entry(i, 1+random.IntN(x.EntryMax())))
				if k%500 == 0 {
					if err := x.Save(path, names, true); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

// shared opens an index that others have as well: in this process, or in children of it.
func shared(t *testing.T, n int, bytesMax int64, name string) *seek.Index {
	t.Helper()
	x, err := seek.Open(n, bytesMax, name)
	require.NoError(t, err)
	t.Cleanup(x.Close)
	return x
}

func TestRanksHaveOneIndexTogether(t *testing.T) {
	leakcheck.Check(t)
	const n, bytesMax = 3000, 3 << 20
	name := fmt.Sprintf("%d-%s", os.Getpid(), t.Name())
	a, err := seek.Open(n, bytesMax, name)
	require.NoError(t, err)
	b := shared(t, n, bytesMax, name)
	require.True(t, a.First())
	require.False(t, b.First())
	other := shared(t, n, bytesMax, name+"other")
	for i := range n {
		from := []*seek.Index{a, b}[i%2]
		from.Put(i, stamp(i), entry(i, from.EntryMax()))
	}
	for i := range n {
		require.Equal(t, entry(i, a.EntryMax()), get(b, i, stamp(i)))
		require.Equal(t, entry(i, a.EntryMax()), get(a, i, stamp(i)))
		require.Empty(t, get(other, i, stamp(i)))
	}
	require.Equal(t, a.Usage(), b.Usage())
	require.EqualValues(t, n, b.Usage().Entries)
	require.LessOrEqual(t, b.Usage().Bytes, int64(bytesMax))

	// What one has saved the other need not.
	path := filepath.Join(t.TempDir(), "index")
	require.NoError(t, a.Save(path, names, true))
	require.NoError(t, os.Remove(path))
	require.NoError(t, b.Save(path, names, true))
	require.NoFileExists(t, path)
	a.Close()
	require.Equal(t, entry(1, b.EntryMax()), get(b, 1, stamp(1)))
}

// A process that puts entries until it is killed.
const puts = "GOLOADER_TEST_PUTS"

func TestMain(m *testing.M) {
	if name := os.Getenv(puts); name != "" {
		x, err := seek.Open(50, 1<<20, name)
		if err != nil {
			panic(err)
		}
		fmt.Println("begins")
		for k := 0; ; k++ {
			x.Put(k%50, stamp(k%50), nil)
			x.Put(k%50, stamp(k%50), entry(k%50, 1+k%500))
		}
	}
	os.Exit(m.Run())
}

// Readers see whole entries or none, whenever another process is killed while it writes; and all other files keep theirs.
func TestAProcessThatIsKilledLeavesNoHalfEntry(t *testing.T) {
	const n = 50
	name := fmt.Sprintf("%d-%s", os.Getpid(), t.Name())
	x := shared(t, n, 1<<20, name)
	room := make([]byte, x.EntryMax())
	seen := 0
	for turn := range 8 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), puts+"="+name)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		for k := range 3000 + 1000*turn {
			i := k % n
			if got := room[:x.Get(i, stamp(i), room)]; len(got) > 0 {
				seen++
				require.Equal(t, entry(i, len(got)), got)
			}
			if k%7 == 0 {
				x.Put(i, stamp(i), entry(i, 1+k%500))
			}
		}
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
	}
	require.Positive(t, seen)
	kept := 0
	for i := range n {
		x.Put(i, stamp(i), entry(i, 501))
		if got := get(x, i, stamp(i)); len(got) > 0 {
			require.Equal(t, entry(i, len(got)), got)
			kept++
		}
	}
	require.GreaterOrEqual(t, kept, n-8) // a process writes one at a time
}

func TestASavedIndexIsReadByAnotherRun(t *testing.T) {
	leakcheck.Check(t)
	const n = 20
	path := filepath.Join(t.TempDir(), "new", "folder", "index")
	x := open(t, n, 1<<20)
	require.NoError(t, x.Load(path, names)) // none yet
	require.NoError(t, x.Save(path, names, true))
	require.NoFileExists(t, path) // nothing to save
	for i := range n / 2 {
		x.Put(i, stamp(i), entry(i, 10+i))
	}
	require.NoError(t, x.Save(path, names, true))

	// The dataset has moved, grown, and is listed in another order.
	moved := func(i int) string { return "/elsewhere" + names(n + 5 - 1 - i)[len("/data"):] }
	y := open(t, n+5, 1<<20)
	require.NoError(t, y.Load(path, moved))
	for i := range n + 5 {
		k := n + 5 - 1 - i
		if k < n/2 {
			require.Equal(t, entry(k, 10+k), get(y, i, stamp(k)))
		} else {
			require.Empty(t, get(y, i, stamp(k)))
		}
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, y.Save(path, moved, true)) // nothing new
	again, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(info, again))

	// Another process has saved meanwhile: what it knew is kept.
	y.Put(0, stamp(n+4), entry(n+4, 30))
	require.NoError(t, y.Save(path, moved, true))
	x.Put(n-1, stamp(n-1), entry(n-1, 30))
	require.NoError(t, x.Save(path, names, true))
	z := open(t, n+5, 1<<20)
	require.NoError(t, z.Load(path, func(i int) string { return names(i) }))
	require.Equal(t, entry(n-1, 30), get(z, n-1, stamp(n-1)))
	require.Equal(t, entry(3, 13), get(z, 3, stamp(3)))

	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1) // no temporary files
}

// Any byte changed, added or cut away: nothing of the file counts.
func TestADamagedFileAddsNothing(t *testing.T) {
	leakcheck.Check(t)
	const n = 4
	path := filepath.Join(t.TempDir(), "index")
	x := open(t, n, 1<<20)
	for i := range n {
		x.Put(i, stamp(i), entry(i, 40))
	}
	require.NoError(t, x.Save(path, names, true))
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	try := func(damaged []byte, what string, at int) {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		y := open(t, n, 1<<20)
		err := y.Load(path, names)
		require.ErrorIs(t, err, seek.ErrDamaged, "%s at %d", what, at)
		require.ErrorContains(t, err, path)
		require.Zero(t, y.Usage().Entries)
	}
	for at := range sound {
		damaged := bytes.Clone(sound)
		damaged[at] ^= 1 << (at % 8)
		try(damaged, "changed", at)
		try(sound[:at], "cut", at)
	}
	// The next to save replaces it.
	x.Put(0, stamp(0), entry(0, 41))
	require.NoError(t, x.Save(path, names, true))
	require.NoError(t, open(t, n, 1<<20).Load(path, names))
}

func TestAFolderThatCannotBeWrittenIsAnError(t *testing.T) {
	leakcheck.Check(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	x := open(t, 1, 1<<20)
	x.Put(0, stamp(0), entry(0, 10))
	require.Error(t, x.Save(filepath.Join(file, "index"), names, true))
	require.Error(t, x.Load(filepath.Join(file, "index"), names))
}

func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "index")
	x, err := seek.New(3, 1<<20)
	require.NoError(f, err)
	defer x.Close()
	x.Put(1, stamp(1), entry(1, 40))
	require.NoError(f, x.Save(path, names, true))
	sound, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(sound)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "index")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		y := open(t, 3, 1<<20)
		if err := y.Load(path, names); err != nil {
			require.Zero(t, y.Usage().Entries)
		}
	})
}
