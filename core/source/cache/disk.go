package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
)

// A cache on a disk is a folder that all processes of a machine, and all that come later, share:
//
//	goloader-1/ab/ab...  an entry, by the hex digits of its id: a head, and the bytes. It is there whole or not at all: it was
//	                     renamed from
//	goloader-1/new/ab... which its writer holds a lock on (flock), so that others wait for it and do not read the same
//	goloader-1/bytes     what all entries take, int64, little-endian, changed under a lock on it
//
// The head is the magic, a CRC-32C of all behind it, 4 zero bytes, the entry's version and id, and the Stamp. A damaged
// entry is removed, and read anew. Locks end with their process, so that one that is killed leaves an unfinished file at
// most, which the next writer of that entry takes over.
const (
	layout   = "goloader-1"
	unready  = "new"
	account  = "bytes"
	magic    = "GLCACHE1"
	headSize = 64
)

const (
	// What a file takes is counted in blocks.
	block = 4096
	// An entry counts as used at most so long ago once its file's time is so old, and goes when nobody has used it for
	// deadAfter and there is no room: longer than epochs are.
	touchAfter, deadAfter = time.Hour, 24 * time.Hour
	// A process looks for such entries so often, while there is no room.
	sweepPause = 10 * time.Minute
	// After a failure, or when there was no room, nothing is written for so long.
	writePause = 5 * time.Second
	// Another process is waited for so long to read an entry: some times what reads took here lately, within these limits.
	// One that takes longer may be stopped, or hang, and whoever waits then reads by itself.
	waitMin, waitMax, waitReads = 500 * time.Millisecond, 30 * time.Second, 10
	// To change the account it is waited for so long.
	accountWait = 2 * time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type disk struct {
	root   string
	limit  int64
	hits   atomic.Int64
	paused atomic.Int64 // until then, ns since 1970, nothing is written
	pace   atomic.Int64 // ns that reads of what was not here took lately

	mu     sync.Mutex // of the account among this process's goroutines
	swept  time.Time
	notice atomic.Pointer[error] // not taken yet
	told   atomic.Bool
}

func openDisk(folder string, limit int64) *disk {
	d := &disk{root: filepath.Join(folder, layout), limit: limit}
	err := os.MkdirAll(filepath.Join(d.root, unready), 0o777)
	if err == nil {
		err = unix.Access(filepath.Join(d.root, unready), unix.W_OK)
	}
	if err != nil {
		d.fail(err)
	}
	return d
}

// fail takes note of what keeps entries from being written.
func (d *disk) fail(err error) {
	d.pause()
	if !d.told.Swap(true) {
		err = fmt.Errorf("cache %s: %w; what it has not is read without it", filepath.Dir(d.root), err)
		d.notice.Store(&err)
	}
}

func (d *disk) takeNotice() error {
	if err := d.notice.Swap(nil); err != nil {
		return *err
	}
	return nil
}

func (d *disk) pause() { d.paused.Store(time.Now().Add(writePause).UnixNano()) }

func (d *disk) path(e entry) string {
	name := hex.EncodeToString(e.id[:])
	return filepath.Join(d.root, name[:2], name)
}

func (d *disk) read(ctx context.Context, e entry, buf *source.Buffer, next next) (source.Stamp, bool, error) {
	if stamp, found, err := d.get(e, buf); found || err != nil {
		return stamp, true, err
	}
	if time.Now().UnixNano() < d.paused.Load() {
		return next()
	}
	place := filepath.Join(d.root, unready, hex.EncodeToString(e.id[:]))
	file := d.begin(ctx, place)
	if file == nil {
		return next()
	}
	defer unlock(file)
	if stamp, found, err := d.get(e, buf); found || err != nil { // another process has read it meanwhile
		_ = os.Remove(place)
		return stamp, true, err
	}
	begin, asked := buf.Len(), time.Now()
	stamp, keep, err := next()
	pace := d.pace.Load()
	d.pace.Store(pace + (int64(time.Since(asked))-pace)/4)
	if err != nil || !keep || !d.put(file, e, stamp, buf.Slice(begin, buf.Len())) {
		_ = os.Remove(place)
	}
	return stamp, keep, err
}

// get appends an entry, if it is there and sound.
func (d *disk) get(e entry, buf *source.Buffer) (source.Stamp, bool, error) {
	path := d.path(e)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return source.Stamp{}, false, nil
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return source.Stamp{}, false, nil
	}
	room, err := buf.Room(int(max(0, stat.Size-headSize)))
	if err != nil {
		return source.Stamp{}, false, err
	}
	head := make([]byte, headSize)
	if !readFull(fd, head, room) || !sound(head, room) || !bytes.Equal(head[32:48], e.id[:]) {
		d.remove(path)
		return source.Stamp{}, false, nil
	}
	if !bytes.Equal(head[16:32], e.version[:]) {
		return source.Stamp{}, false, nil
	}
	if now := time.Now(); now.Sub(time.Unix(stat.Mtim.Unix())) > touchAfter {
		_ = os.Chtimes(path, now, now)
	}
	buf.Add(len(room))
	d.hits.Add(1)
	stamp := source.Stamp{Bytes: int64(binary.LittleEndian.Uint64(head[48:])), ModifiedNs: int64(binary.LittleEndian.Uint64(head[56:]))}
	return stamp, true, nil
}

func readFull(fd int, head, rest []byte) bool {
	n, err := unix.Preadv(fd, [][]byte{head, rest}, 0)
	for got := n; ; got += n {
		if got == len(head)+len(rest) {
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) || err == nil && n == 0 || got < len(head) {
			return false
		}
		n, err = unix.Pread(fd, rest[got-len(head):], int64(got))
		n = max(n, 0)
	}
}

func sound(head, content []byte) bool {
	return string(head[:8]) == magic && binary.LittleEndian.Uint32(head[8:]) == checksum(head, content)
}

func checksum(head, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[12:], castagnoli), castagnoli, content)
}

// begin takes the file that an entry is to be written into, as soon as no other process has it; nil if it cannot be had.
func (d *disk) begin(ctx context.Context, place string) *os.File {
	deadline := time.Now().Add(min(waitMax, max(waitMin, waitReads*time.Duration(d.pace.Load()))))
	for time.Now().Before(deadline) {
		file, err := os.OpenFile(place, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			d.fail(err)
			return nil
		}
		if err := lock(ctx, file, deadline); err != nil {
			file.Close()
			if !errors.Is(err, errBusy) {
				d.fail(err)
			}
			return nil
		}
		// Whoever had it has renamed or removed it.
		if there, err := os.Lstat(place); err == nil {
			if info, err := file.Stat(); err == nil && os.SameFile(there, info) {
				return file
			}
		}
		unlock(file)
	}
	return nil
}

// errBusy says that another process has a lock, or that there was no time for it.
var errBusy = errors.New("locked by another process")

// lock locks a file until unlock. A wait in the kernel would not hear ctx.
func lock(ctx context.Context, file *os.File, deadline time.Time) error {
	for pause := 250 * time.Microsecond; ; pause = min(2*pause, 4*time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		case ctx.Err() != nil || time.Now().After(deadline):
			return errBusy
		}
		time.Sleep(pause)
	}
}

// unlock closes a file. That alone would leave it locked for as long as a child lives that was forked meanwhile.
func unlock(file *os.File) {
	_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
	file.Close()
}

// put writes an entry and says if it is there now.
func (d *disk) put(file *os.File, e entry, stamp source.Stamp, content []byte) bool {
	size := taken(headSize + int64(len(content)))
	if d.limit != NoLimit && d.counted()+size > d.limit && !d.makeRoom(size) {
		d.pause()
		return false
	}
	head := make([]byte, headSize)
	copy(head, magic)
	copy(head[16:], e.version[:])
	copy(head[32:], e.id[:])
	binary.LittleEndian.PutUint64(head[48:], uint64(stamp.Bytes))
	binary.LittleEndian.PutUint64(head[56:], uint64(stamp.ModifiedNs))
	binary.LittleEndian.PutUint32(head[8:], checksum(head, content))
	err := file.Truncate(0)
	if err == nil {
		_, err = file.Write(head)
	}
	if err == nil {
		_, err = file.Write(content)
	}
	path := d.path(e)
	if err == nil {
		if err = os.Mkdir(filepath.Dir(path), 0o777); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		d.fail(err)
		return false
	}
	full := false
	err = d.book(func(bytes int64, set func(int64) error) error {
		then := bytes + size - sizeOf(path)
		if full = d.limit != NoLimit && then > d.limit; full {
			return nil
		}
		if err := set(then); err != nil { // first: a process that is killed here has counted too much, never too little
			return err
		}
		return os.Rename(file.Name(), path)
	})
	switch {
	case full || errors.Is(err, errBusy):
		d.pause()
	case err != nil:
		d.fail(err)
	}
	return err == nil && !full
}

func taken(size int64) int64 { return (size + block - 1) / block * block }

// sizeOf is what a file takes; 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return taken(info.Size())
}

// counted is what the account says; 0 if there is none.
func (d *disk) counted() int64 {
	file, err := os.Open(filepath.Join(d.root, account))
	if err != nil {
		return 0
	}
	defer file.Close()
	n, _ := balance(file)
	return n
}

func balance(file *os.File) (n int64, ok bool) {
	word := make([]byte, 8)
	if got, _ := file.ReadAt(word, 0); got < len(word) {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(word)), true
}

// book lets use change what the account says, which nobody else does meanwhile.
func (d *disk) book(use func(bytes int64, set func(int64) error) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(d.root, account), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer unlock(file)
	if err := lock(context.Background(), file, time.Now().Add(accountWait)); err != nil {
		return err
	}
	bytes, ok := balance(file)
	if !ok {
		if bytes, err = d.walk(nil); err != nil {
			return err
		}
	}
	return use(bytes, func(now int64) error {
		_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(max(0, now))), 0)
		return err
	})
}

// walk calls each for every entry, and gives what those take for which it is true; nil: all.
func (d *disk) walk(each func(path string, info fs.FileInfo) bool) (bytes int64, err error) {
	folders, err := os.ReadDir(d.root)
	for _, folder := range folders {
		if len(folder.Name()) != 2 { // not one of entries
			continue
		}
		names, err := os.ReadDir(filepath.Join(d.root, folder.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		for _, name := range names {
			path := filepath.Join(d.root, folder.Name(), name.Name())
			info, err := name.Info()
			if err == nil && (each == nil || each(path, info)) {
				bytes += taken(info.Size())
			}
		}
	}
	return bytes, err
}

// remove removes an entry.
func (d *disk) remove(path string) {
	_ = d.book(func(bytes int64, set func(int64) error) error {
		size := sizeOf(path)
		if err := os.Remove(path); err != nil {
			return err
		}
		return set(bytes - size)
	})
}

// makeRoom removes what nobody has used for long, counts the rest, and says if so many bytes fit.
func (d *disk) makeRoom(size int64) bool {
	d.mu.Lock()
	due := time.Since(d.swept) > sweepPause
	if due {
		d.swept = time.Now()
	}
	d.mu.Unlock()
	if !due {
		return false
	}
	return d.sweep(time.Now().Add(-deadAfter)) == nil && d.counted()+size <= d.limit
}

// sweep removes what nobody has used since a moment, also what killed writers left, and counts the rest.
func (d *disk) sweep(since time.Time) error {
	return d.book(func(_ int64, set func(int64) error) error {
		left, _ := os.ReadDir(filepath.Join(d.root, unready))
		for _, name := range left {
			place := filepath.Join(d.root, unready, name.Name())
			if file, err := os.OpenFile(place, os.O_RDWR|unix.O_NOFOLLOW, 0); err == nil {
				if err := lock(context.Background(), file, time.Time{}); err == nil {
					_ = os.Remove(place)
				}
				unlock(file)
			}
		}
		bytes, err := d.walk(func(path string, info fs.FileInfo) bool {
			return info.ModTime().After(since) || os.Remove(path) != nil
		})
		if err != nil {
			return err
		}
		return set(bytes)
	})
}

// What Look does.
const (
	List   = iota // nothing
	Verify        // removes damaged entries
	Remove        // removes all
)

// Report is what was found in a folder.
type Report struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Removed int64 `json:"removed"` // of these entries
	UsedNs  int64 `json:"used_ns"` // when one was used last, to within an hour, since 1970
}

// Look looks at the entries in a folder, which processes may be using. It fails with source.ErrUnreadable.
func Look(ctx context.Context, folder string, what int) (r Report, err error) {
	d := &disk{root: filepath.Join(folder, layout), limit: NoLimit}
	var buf source.Buffer
	defer buf.Free()
	_, err = d.walk(func(path string, info fs.FileInfo) bool {
		if ctx.Err() != nil {
			return false
		}
		r.Entries++
		r.Bytes += taken(info.Size())
		r.UsedNs = max(r.UsedNs, info.ModTime().UnixNano())
		if what == Verify && !verified(path, info.Size(), &buf) {
			d.remove(path)
			r.Removed++
		}
		return false
	})
	if err == nil && what == Remove {
		r.Removed = r.Entries
		err = d.sweep(time.Now().Add(deadAfter))
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		err = fmt.Errorf("cache %s: %w: %w", folder, source.ErrUnreadable, err)
	}
	return r, err
}

func verified(path string, size int64, buf *source.Buffer) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer unix.Close(fd)
	buf.Cut(0)
	room, err := buf.Room(int(max(0, size-headSize)))
	if err != nil {
		return true
	}
	head := make([]byte, headSize)
	return readFull(fd, head, room) && sound(head, room) && hex.EncodeToString(head[32:48]) == filepath.Base(path)
}
