// Package cache_test holds caches to their law: what is read through one is what the store has, whatever happens to what
// was kept, and to the processes that keep it.
package cache_test

import (
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/cache"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// objects is a Remote that makes its bytes up, and counts what it is asked for.
type objects struct {
	source.Remote
	reads   atomic.Int64
	changes atomic.Int64                                 // of all objects: the version of each
	before  func(ctx context.Context, name string) error // each read; may be nil
}

// content is the object's of a version, 0 to 4,000 bytes; or, given a size, so many.
func content(url, version string, size int) []byte {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(url + "#" + version) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	if size < 0 {
		size = int(seed % 4001)
	}
	noise := make([]byte, 0, size+8)
	for random := rand.New(rand.NewPCG(seed, 0)); len(noise) < size; {
		noise = binary.LittleEndian.AppendUint64(noise, random.Uint64())
	}
	return noise[:size]
}

func (o *objects) stamp() source.Stamp { return source.Stamp{ModifiedNs: 1000 + o.changes.Load()} }

func (o *objects) key(url string) source.Key {
	return source.Key{Container: []byte(source.WithVersion(url, o.stamp().Version()) + "\x00"), Length: source.Whole}
}

// Read implements source.Store: an object whole as it is now, and pieces of the version that is asked for.
func (o *objects) Read(ctx context.Context, key source.Key, buf *source.Buffer) (source.Stamp, error) {
	o.reads.Add(1)
	url, version := source.CutVersion(string(key.Container[:len(key.Container)-1]))
	if o.before != nil {
		if err := o.before(ctx, url); err != nil {
			return source.Stamp{}, err
		}
	}
	stamp := o.stamp()
	all := content(url, stamp.Version(), -1)
	if key.Length != source.Whole {
		all = content(url, version, 1<<14)[key.Offset : key.Offset+key.Length]
	}
	stamp.Bytes = int64(len(all))
	return stamp, buf.Append(string(all))
}

// got reads a key.
func got(t testing.TB, store source.Store, key source.Key) string {
	t.Helper()
	var buf source.Buffer
	defer buf.Free()
	require.NoError(t, buf.Append("first"))
	_, err := store.Read(context.Background(), key, &buf)
	require.NoError(t, err)
	all := string(buf.Slice(0, buf.Len()))
	require.Equal(t, "first", all[:5])
	return all[5:]
}

func opened(t testing.TB, o cache.Options) *cache.Cache {
	c := cache.Open(o)
	require.NoError(t, c.Warnings())
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// kinds of caches, small enough to be full.
func kinds(t *testing.T, law func(t *testing.T, o cache.Options)) {
	for name, make := range map[string]func(folder string) cache.Options{
		"memory":       func(string) cache.Options { return cache.Options{RAM: 256 << 10} },
		"small memory": func(string) cache.Options { return cache.Options{RAM: 8000} },
		"disk":         func(folder string) cache.Options { return cache.Options{Disk: folder, DiskLimit: 512 << 10} },
		"both": func(folder string) cache.Options {
			return cache.Options{RAM: 128 << 10, Disk: folder, DiskLimit: cache.NoLimit}
		},
		"all": func(folder string) cache.Options {
			return cache.Options{RAM: cache.NoLimit, Disk: folder, DiskLimit: cache.NoLimit}
		},
	} {
		t.Run(name, func(t *testing.T) {
			leakcheck.Check(t)
			law(t, make(t.TempDir()))
		})
	}
}

func TestReadsAreThoseOfTheStoreWhateverIsKept(t *testing.T) {
	kinds(t, func(t *testing.T, o cache.Options) {
		inner := &objects{}
		c := opened(t, o)
		store := c.Wrap(source.Retry(inner))
		var all sync.WaitGroup
		for g := range 6 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				var buf source.Buffer
				defer buf.Free()
				for range 150 {
					url := fmt.Sprintf("s3://bucket/%d", random.IntN(60))
					key := inner.key(url)
					_, version := source.CutVersion(string(key.Container[:len(key.Container)-1]))
					want := content(url, version, -1)
					if random.IntN(2) == 0 {
						key.Offset, key.Length = int64(random.IntN(40)*100), int64(random.IntN(40)*100)
						want = content(url, version, 1<<14)[key.Offset : key.Offset+key.Length]
					}
					begin := buf.Len()
					_, err := store.Read(context.Background(), key, &buf)
					if err != nil || string(want) != string(buf.Slice(begin, buf.Len())) {
						t.Errorf("%s: %v, %d bytes, not %d", key.Name(), err, buf.Len()-begin, len(want))
						return
					}
					if random.IntN(3) == 0 {
						buf.Reset(1 << 20)
					}
				}
			})
		}
		all.Wait()
		u := c.Usage()
		require.Equal(t, inner.reads.Load(), u.Misses)
		require.Positive(t, u.RAMHits+u.DiskHits)
		if o.RAM > 0 {
			require.LessOrEqual(t, u.RAMBytes, o.RAM)
		}
		if o.DiskLimit > 0 {
			require.LessOrEqual(t, u.DiskBytes, o.DiskLimit)
		}
	})
}

func TestAnObjectThatIsReplacedIsReadAnew(t *testing.T) {
	kinds(t, func(t *testing.T, o cache.Options) {
		inner := &objects{}
		store := opened(t, o).Wrap(inner)
		url := "s3://bucket/key"
		old := inner.key(url)
		first := got(t, store, old)
		require.Equal(t, first, got(t, store, old))
		inner.changes.Add(1)
		for range 3 { // listed again
			require.Equal(t, string(content(url, inner.stamp().Version(), -1)), got(t, store, inner.key(url)))
		}
		inner.changes.Add(1)
		reads := inner.reads.Load()
		stale := source.Key{Container: []byte("s3://bucket/other#" + (source.Stamp{ModifiedNs: 7}).Version() + "\x00"), Length: source.Whole}
		for n := range 3 { // replaced since it was listed: not kept
			require.Equal(t, string(content("s3://bucket/other", inner.stamp().Version(), -1)), got(t, store, stale))
			require.Equal(t, reads+int64(n)+1, inner.reads.Load())
		}
		unknown := source.Key{Container: []byte("s3://bucket/key#\x00"), Length: source.Whole}
		got(t, store, unknown)
		got(t, store, unknown)
		require.Equal(t, reads+5, inner.reads.Load())
	})
}

func TestAFileThatChangesIsReadAnew(t *testing.T) {
	kinds(t, func(t *testing.T, o cache.Options) {
		c := opened(t, o)
		store := c.Wrap(source.Retry(local.Store{}))
		path := filepath.Join(t.TempDir(), "file")
		whole := source.Key{Container: []byte(path + "\x00"), Length: source.Whole}
		piece := source.Key{Container: []byte(path + "\x00"), Offset: 2, Length: 3}
		old := time.Now().Add(-time.Hour)
		for n := range 4 {
			text := fmt.Sprintf("%d the content", n)
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.Equal(t, text, got(t, store, whole), "changed just now")
			require.NoError(t, os.Chtimes(path, old, old.Add(time.Duration(n)*time.Second)))
			for range 2 {
				require.Equal(t, text, got(t, store, whole))
				require.Equal(t, text[2:5], got(t, store, piece))
			}
		}
		require.EqualValues(t, 4*3, c.Usage().Misses)
		require.NoError(t, os.Remove(path))
		var buf source.Buffer
		defer buf.Free()
		_, err := store.Read(context.Background(), whole, &buf)
		require.ErrorIs(t, err, source.ErrUnreadable)
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

func TestReadersOfOneEntryAreOneRead(t *testing.T) {
	kinds(t, func(t *testing.T, o cache.Options) {
		open, arrived := make(chan struct{}), make(chan struct{}, 100)
		inner := &objects{before: func(ctx context.Context, name string) error {
			arrived <- struct{}{}
			select {
			case <-open:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		store := opened(t, o).Wrap(inner)
		key := inner.key("s3://bucket/key")
		stopped, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { // the first is stopped: the others get their bytes all the same
			var buf source.Buffer
			defer buf.Free()
			_, err := store.Read(stopped, key, &buf)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		<-arrived
		for range 20 {
			all.Go(func() {
				if got(t, store, key) != string(content("s3://bucket/key", inner.stamp().Version(), -1)) {
					t.Error("other bytes")
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		stop()
		<-arrived
		time.Sleep(20 * time.Millisecond)
		close(open)
		all.Wait()
		require.EqualValues(t, 2, inner.reads.Load())
	})
}

func TestAnErrorIsGivenToAllAndNotKept(t *testing.T) {
	kinds(t, func(t *testing.T, o cache.Options) {
		broken := atomic.Bool{}
		broken.Store(true)
		inner := &objects{before: func(context.Context, string) error {
			if broken.Load() {
				return source.ErrUnreadable
			}
			return nil
		}}
		store := opened(t, o).Wrap(inner)
		key := inner.key("s3://bucket/key")
		var buf source.Buffer
		defer buf.Free()
		_, err := store.Read(context.Background(), key, &buf)
		require.ErrorIs(t, err, source.ErrUnreadable)
		require.Zero(t, buf.Len())
		broken.Store(false)
		require.Equal(t, string(content("s3://bucket/key", inner.stamp().Version(), -1)), got(t, store, key))
	})
}

// files of all entries.
func files(t *testing.T, folder string) (paths []string) {
	paths, err := filepath.Glob(filepath.Join(folder, "goloader-1", "??", "*"))
	require.NoError(t, err)
	return paths
}

func TestDamagedEntriesAreHealed(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	inner := &objects{}
	store := opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}).Wrap(inner)
	key := inner.key("s3://bucket/key")
	want := got(t, store, key)
	path := files(t, folder)[0]
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(0, 0))
	damaged := [][]byte{nil, sound[:20], sound[:len(sound)-1], append(sound[:len(sound):len(sound)], 0), make([]byte, len(sound))}
	for range 60 {
		each := append([]byte(nil), sound...)
		at := random.IntN(len(each))
		if at >= 12 && at < 16 { // zero bytes that are nobody's, though the checksum is of them too
			at = 0
		}
		each[at] ^= byte(1 + random.IntN(255))
		damaged = append(damaged, each)
	}
	for n, bytes := range damaged {
		require.NoError(t, os.WriteFile(path, bytes, 0o600))
		if n%2 == 0 {
			found, err := cache.Look(context.Background(), folder, cache.Verify)
			require.NoError(t, err)
			require.EqualValues(t, 1, found.Removed, "%d", n)
		}
		before := inner.reads.Load()
		require.Equal(t, want, got(t, store, key))
		require.Equal(t, want, got(t, store, key))
		require.Equal(t, before+1, inner.reads.Load(), "%d", n)
	}
}

// Random orders over a set that is larger than the cache: what is in stays, so that its share of the set is found, where
// the least recently used one would have been evicted before it is asked for again.
func TestTheShareOfTheSetThatFitsIsFound(t *testing.T) {
	const n, size, epochs = 600, 1000, 4
	for _, share := range []float64{0.25, 0.5, 0.75} {
		for name, o := range map[string]cache.Options{
			"memory": {RAM: int64(share * n * size)},
			"disk":   {Disk: t.TempDir(), DiskLimit: int64(share * n * 4096)},
		} {
			t.Run(fmt.Sprintf("%s, %.0f%%", name, 100*share), func(t *testing.T) {
				leakcheck.Check(t)
				inner := &objects{}
				c := opened(t, o)
				store := c.Wrap(inner)
				random := rand.New(rand.NewPCG(1, 2))
				lru := newLRU(int(share * n))
				lruHits := 0
				for epoch := range epochs {
					before := c.Usage()
					lruHits = 0
					for _, i := range random.Perm(n) {
						key := inner.key("s3://bucket/key")
						key.Offset, key.Length = int64(i), size
						got(t, store, key)
						if lru.found(i) {
							lruHits++
						}
					}
					after := c.Usage()
					if epoch > 0 {
						hits := float64(after.RAMHits+after.DiskHits-before.RAMHits-before.DiskHits) / n
						t.Logf("epoch %d: hits %.3f, least recently used %.3f", epoch, hits, float64(lruHits)/n)
						require.InDelta(t, share, hits, 0.02)
						require.Greater(t, hits, float64(lruHits)/n)
					}
				}
			})
		}
	}
}

type lru struct {
	order list.List
	at    map[int]*list.Element
	size  int
}

func newLRU(size int) *lru { return &lru{at: map[int]*list.Element{}, size: size} }

func (l *lru) found(i int) bool {
	if e := l.at[i]; e != nil {
		l.order.MoveToFront(e)
		return true
	}
	l.at[i] = l.order.PushFront(i)
	if l.order.Len() > l.size {
		delete(l.at, l.order.Remove(l.order.Back()).(int))
	}
	return false
}

func TestMemoryGoesToWhatIsStillAskedFor(t *testing.T) {
	leakcheck.Check(t)
	const n, size = 400, 1000
	inner := &objects{}
	c := opened(t, cache.Options{RAM: n * size * 3 / 2})
	store := c.Wrap(inner)
	random := rand.New(rand.NewPCG(1, 2))
	epoch := func(url string) (hits float64) {
		before := c.Usage().RAMHits
		for _, i := range random.Perm(n) {
			key := inner.key(url)
			key.Offset, key.Length = int64(i), size
			got(t, store, key)
		}
		return float64(c.Usage().RAMHits-before) / n
	}
	for range 3 {
		epoch("s3://bucket/old")
	}
	require.Equal(t, 1.0, epoch("s3://bucket/old"))
	for range 6 { // half of it fits beside the old one, which is asked for as well
		epoch("s3://bucket/new")
		require.Equal(t, 1.0, epoch("s3://bucket/old"))
	}
	for range 8 {
		epoch("s3://bucket/new")
	}
	require.Equal(t, 1.0, epoch("s3://bucket/new"))
	for range 70 {
		epoch("s3://bucket/third")
	}
	require.Equal(t, 1.0, epoch("s3://bucket/third"))
}

func TestMemoryIsGivenBackAtClose(t *testing.T) {
	leakcheck.Check(t)
	inner := &objects{}
	c := cache.Open(cache.Options{RAM: cache.NoLimit})
	store := c.Wrap(inner)
	key := inner.key("s3://bucket/key")
	want := got(t, store, key)
	require.Positive(t, mem.InUse(mem.Cached).Bytes)
	require.Equal(t, mem.InUse(mem.Cached).Bytes, c.Usage().RAMBytes)
	require.NoError(t, c.Close())
	require.Zero(t, mem.InUse(mem.Cached).Bytes)
	require.Equal(t, want, got(t, store, key))
	require.NoError(t, c.Close())
}

func TestADiskThatCannotBeWrittenIsAWarning(t *testing.T) {
	leakcheck.Check(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	folders := map[string]string{"a file": file, "below a file": filepath.Join(file, "below"), "no such device": "/proc/none"}
	full := t.TempDir()
	if unix.Mount("tmpfs", full, "tmpfs", 0, "size=64k") == nil {
		t.Cleanup(func() { require.NoError(t, unix.Unmount(full, 0)) })
		folders["full"] = full
	} else {
		t.Log("no file system can be mounted here")
	}
	for name, folder := range folders {
		inner := &objects{}
		c := cache.Open(cache.Options{Disk: folder, DiskLimit: cache.NoLimit})
		store := c.Wrap(inner)
		for range 2 {
			for n := range 100 {
				url := fmt.Sprintf("s3://bucket/%d", n)
				require.Equal(t, string(content(url, inner.stamp().Version(), -1)), got(t, store, inner.key(url)), name)
			}
		}
		require.ErrorContains(t, c.Warnings(), folder, name)
		require.NoError(t, c.Warnings(), name)
		require.NoError(t, c.Close())
		if name == "full" {
			require.ErrorIs(t, unix.Access(folder, unix.X_OK), nil)
			require.Positive(t, c.Usage().DiskHits)
			found, err := cache.Look(context.Background(), folder, cache.Verify)
			require.NoError(t, err)
			require.Zero(t, found.Removed)
		}
	}
}

func TestACacheThatMayOnlyBeReadIsRead(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	inner := &objects{}
	key := inner.key("s3://bucket/key")
	want := got(t, opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}).Wrap(inner), key)
	if err := unix.Mount(folder, folder, "", unix.MS_BIND, ""); err != nil {
		t.Skip("no file system can be mounted here")
	}
	defer func() { require.NoError(t, unix.Unmount(folder, 0)) }()
	require.NoError(t, unix.Mount("", folder, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	c := cache.Open(cache.Options{Disk: folder, DiskLimit: cache.NoLimit})
	require.ErrorIs(t, c.Warnings(), unix.EROFS)
	require.Equal(t, want, got(t, c.Wrap(inner), key))
	require.EqualValues(t, 1, c.Usage().DiskHits)
	other := inner.key("s3://bucket/other")
	require.Equal(t, string(content("s3://bucket/other", inner.stamp().Version(), -1)), got(t, c.Wrap(inner), other))
	require.NoError(t, c.Close())
}

// What a child process does: it reads 300 objects in a random order through the cache in a folder, and writes how many the
// store was asked for.
const childFolder, childLimit, childSeed = "GOLOADER_CACHE_FOLDER", "GOLOADER_CACHE_LIMIT", "GOLOADER_CACHE_SEED"

const childObjects = 300

func TestMain(m *testing.M) {
	folder := os.Getenv(childFolder)
	if folder == "" {
		os.Exit(m.Run())
	}
	limit, _ := strconv.ParseInt(os.Getenv(childLimit), 10, 64)
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	inner := &objects{before: func(context.Context, string) error { time.Sleep(time.Millisecond); return nil }}
	store := cache.Open(cache.Options{Disk: folder, DiskLimit: limit}).Wrap(inner)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			var buf source.Buffer
			for _, i := range rand.New(rand.NewPCG(seed, uint64(g))).Perm(childObjects) {
				url := fmt.Sprintf("s3://bucket/%d", i)
				buf.Cut(0)
				_, err := store.Read(context.Background(), inner.key(url), &buf)
				if err != nil || string(buf.Slice(0, buf.Len())) != string(content(url, inner.stamp().Version(), -1)) {
					fmt.Println("wrong", url, err)
					os.Exit(1)
				}
			}
		})
	}
	all.Wait()
	fmt.Print(inner.reads.Load())
}

func child(folder string, limit int64, seed int) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childFolder+"="+folder, fmt.Sprintf("%s=%d", childLimit, limit), fmt.Sprintf("%s=%d", childSeed, seed))
	return command
}

// on is what a folder keeps, which is sound, and what its account says.
func on(t *testing.T, folder string) (found cache.Report, counted int64) {
	found, err := cache.Look(context.Background(), folder, cache.Verify)
	require.NoError(t, err)
	require.Zero(t, found.Removed)
	return found, opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}).Usage().DiskBytes
}

func TestProcessesShareReadsAndTheQuota(t *testing.T) {
	leakcheck.Check(t)
	for _, limit := range []int64{cache.NoLimit, 400 << 10} {
		folder := t.TempDir()
		reads := make([]int, 3)
		var all sync.WaitGroup
		for n := range reads {
			all.Go(func() {
				said, err := child(folder, limit, n).CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v", said, err)
				}
				reads[n], _ = strconv.Atoi(string(said))
			})
		}
		all.Wait()
		found, counted := on(t, folder)
		require.Equal(t, found.Bytes, counted)
		if limit == cache.NoLimit {
			require.Equal(t, childObjects, reads[0]+reads[1]+reads[2])
			require.EqualValues(t, childObjects, found.Entries)
		} else {
			require.LessOrEqual(t, found.Bytes, limit)
			require.Greater(t, found.Bytes, limit-2*8192)
		}
	}
}

func TestWhoIsKilledLeavesNothingWrong(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}) // makes it
	kept := int64(0)
	for n := range 8 {
		command := child(folder, cache.NoLimit, n)
		require.NoError(t, command.Start())
		time.Sleep(time.Duration(20+15*n) * time.Millisecond)
		require.NoError(t, command.Process.Kill())
		_ = command.Wait()
		found, counted := on(t, folder)
		require.GreaterOrEqual(t, counted, found.Bytes)
		require.GreaterOrEqual(t, found.Entries, kept)
		kept = found.Entries
	}
	require.Positive(t, kept)
	said, err := child(folder, cache.NoLimit, 0).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Equal(t, strconv.FormatInt(childObjects-kept, 10), string(said))
	left, err := os.ReadDir(filepath.Join(folder, "goloader-1", "new"))
	require.NoError(t, err)
	require.Empty(t, left)
	found, err := cache.Look(context.Background(), folder, cache.Remove)
	require.NoError(t, err)
	require.EqualValues(t, childObjects, found.Removed)
	require.Empty(t, files(t, folder))
	_, counted := on(t, folder)
	require.Zero(t, counted)
}

func TestWhatNobodyHasUsedForLongMakesRoom(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	inner := &objects{}
	fill := func(name string) *cache.Cache {
		c := opened(t, cache.Options{Disk: folder, DiskLimit: 20 * 4096})
		for n := range 40 {
			got(t, c.Wrap(inner), inner.key(fmt.Sprintf("s3://%s/%d", name, n)))
		}
		return c
	}
	fill("old")
	require.Zero(t, fill("new").Usage().DiskHits)
	require.Len(t, files(t, folder), 20)
	for n, path := range files(t, folder) {
		if n%2 == 0 {
			old := time.Now().Add(-48 * time.Hour)
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	fill("new")
	require.EqualValues(t, 10, fill("new").Usage().DiskHits)
	require.EqualValues(t, 10, fill("old").Usage().DiskHits)
}

func TestAFolderThatIsRemovedIsMadeAgainOrDoneWithout(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	inner := &objects{}
	c := cache.Open(cache.Options{Disk: folder, DiskLimit: cache.NoLimit})
	store := c.Wrap(inner)
	got(t, store, inner.key("s3://bucket/1"))
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "goloader-1")))
	require.Equal(t, string(content("s3://bucket/1", inner.stamp().Version(), -1)), got(t, store, inner.key("s3://bucket/1")))
	require.ErrorIs(t, c.Warnings(), fs.ErrNotExist)
	require.NoError(t, c.Close())
}

// busy says whether a process has begun an entry of a folder, and holds it.
func busy(t *testing.T, folder string) bool {
	t.Helper()
	unready := filepath.Join(folder, "goloader-1", "new")
	names, err := os.ReadDir(unready)
	require.NoError(t, err)
	for _, name := range names {
		file, err := os.Open(filepath.Join(unready, name.Name()))
		require.NoError(t, err)
		held := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
		require.NoError(t, file.Close())
		if held {
			return true
		}
	}
	return false
}

// A process that is stopped while it reads an entry keeps it from others for a moment only: far less than 30 s.
func TestAProcessThatIsStoppedDoesNotHoldUpOthers(t *testing.T) {
	leakcheck.Check(t)
	folder := t.TempDir()
	opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}) // makes it
	stopped := child(folder, cache.NoLimit, 0)
	require.NoError(t, stopped.Start())
	t.Cleanup(func() { _ = stopped.Process.Kill(); _ = stopped.Wait() })
	for held := false; !held; {
		time.Sleep(2 * time.Millisecond)
		require.NoError(t, stopped.Process.Signal(unix.SIGSTOP))
		if held = busy(t, folder); !held {
			require.NoError(t, stopped.Process.Signal(unix.SIGCONT))
		}
	}
	inner := &objects{}
	store := opened(t, cache.Options{Disk: folder, DiskLimit: cache.NoLimit}).Wrap(inner)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var buf source.Buffer
	defer buf.Free()
	for i := range childObjects {
		url := fmt.Sprintf("s3://bucket/%d", i)
		buf.Cut(0)
		_, err := store.Read(ctx, inner.key(url), &buf)
		require.NoError(t, err)
		require.Equal(t, content(url, inner.stamp().Version(), -1), buf.Slice(0, buf.Len()))
	}
	require.NoError(t, ctx.Err(), "it was waited for")
	require.NoError(t, stopped.Process.Signal(unix.SIGCONT))
	require.NoError(t, stopped.Wait())
	found, _ := on(t, folder)
	require.EqualValues(t, childObjects, found.Entries)
}
