package seek

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/goloader/goloader/core/source"
)

// A saved index is a magic line, a record for each entry, a record of zero bytes, and a CRC-32C of all that, little
// endian. A file's name in it is a hash of its path below the folder that all files share, so that a dataset may move
// and grow.

// ErrDamaged says that a saved index is not whole, or is something else.
var ErrDamaged = errors.New("not a sound seek index")

// The version of the layout. What is inside entries has a version of its own.
var magic = []byte("goloader seek index 1\n")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// saved is what stands in front of each entry.
type saved struct {
	Name  uint64
	Stamp source.Stamp
	Size  uint32 // bytes of the entry; 0 behind the last one
}

// Load adds the entries of a saved index for files that have none yet. names gives the path of file i. No such file is no
// error: nothing has been saved yet. A damaged one adds nothing.
func (x *Index) Load(path string, names func(i int) string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.disk = info
	x.mu.Unlock()
	// Twice: it has to be whole before anything of it counts.
	if err := read(file, func(saved, []byte) {}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	numbers := make(map[uint64]int, len(x.records))
	for i, name := range hashes(len(x.records), names) {
		numbers[name] = i
	}
	before := x.changed()
	err = read(file, func(s saved, entry []byte) {
		if i, known := numbers[s.Name]; known && !x.has(i) {
			x.Put(i, s.Stamp, entry)
		}
	})
	atomic.AddInt64(&x.head.saved, x.changed()-before) // what was just read need not be written
	return err
}

func (x *Index) has(i int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.records[i].size > 0
}

func (x *Index) changed() int64 { return atomic.LoadInt64(&x.head.changes) }

// read hands on each entry of a saved index. The bytes hold until the next.
func read(file io.Reader, entry func(saved, []byte)) error {
	sum := crc32.New(castagnoli)
	in := bufio.NewReaderSize(file, 1<<20)
	all := io.TeeReader(in, sum)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(all, head); err != nil || !bytes.Equal(head, magic) {
		return ErrDamaged
	}
	room := make([]byte, entryMax)
	for {
		var s saved
		if err := binary.Read(all, binary.LittleEndian, &s); err != nil || s.Size > entryMax {
			return ErrDamaged
		}
		if s.Size == 0 {
			break
		}
		if _, err := io.ReadFull(all, room[:s.Size]); err != nil {
			return ErrDamaged
		}
		entry(s, room[:s.Size])
	}
	want := sum.Sum32()
	var got uint32
	if err := binary.Read(in, binary.LittleEndian, &got); err != nil || got != want {
		return ErrDamaged
	}
	return nil
}

// Save writes the entries to a file, which is replaced as a whole, if enough is new since the last time to be worth it; all
// says that anything is. What another process has saved there meanwhile is kept.
func (x *Index) Save(path string, names func(i int) string, all bool) error {
	fresh, entries := x.changed()-atomic.LoadInt64(&x.head.saved), atomic.LoadInt64(&x.head.entries)
	x.mu.Lock()
	disk := x.disk
	x.mu.Unlock()
	if fresh <= 0 || (!all && fresh < entries/32) {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !same(info, disk) {
		// What is damaged is replaced, and was reported when it was first read.
		if err := x.Load(path, names); err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	changes := x.changed()
	err = x.write(file, names)
	if err == nil {
		err = file.Chmod(0o644) // CreateTemp's is for the owner alone
	}
	info, statErr := file.Stat()
	err = errors.Join(err, statErr, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	atomic.StoreInt64(&x.head.saved, changes)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.disk = info
	return nil
}

// same reports whether a file is the one that was read or written last.
func same(a, b os.FileInfo) bool {
	return b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (x *Index) write(file io.Writer, names func(i int) string) error {
	sum := crc32.New(castagnoli)
	out := bufio.NewWriterSize(file, 1<<20)
	all := io.MultiWriter(out, sum)
	if _, err := all.Write(magic); err != nil {
		return err
	}
	entry := make([]byte, entryMax)
	for i, name := range hashes(len(x.records), names) {
		// The lock is for a copy only: workers go on meanwhile.
		var stamp source.Stamp
		x.mu.Lock()
		size := x.get(&x.records[i], func(of source.Stamp) bool { stamp = of; return true }, entry)
		x.mu.Unlock()
		if size == 0 {
			continue
		}
		if err := put(all, saved{name, stamp, uint32(size)}, entry[:size]); err != nil {
			return err
		}
	}
	if err := put(all, saved{}, nil); err != nil {
		return err
	}
	if err := binary.Write(out, binary.LittleEndian, sum.Sum32()); err != nil {
		return err
	}
	return out.Flush()
}

func put(out io.Writer, s saved, entry []byte) error {
	if err := binary.Write(out, binary.LittleEndian, s); err != nil {
		return err
	}
	_, err := out.Write(entry)
	return err
}

// hashes gives the hash of each name below the folder that all of them share.
func hashes(n int, names func(i int) string) []uint64 {
	if n == 0 {
		return nil
	}
	shared := names(0)
	for i := range n {
		name := names(i)
		for !strings.HasPrefix(name, shared) {
			shared = shared[:strings.LastIndexByte(strings.TrimSuffix(shared, "/"), '/')+1]
		}
	}
	shared = shared[:strings.LastIndexByte(shared, '/')+1]
	out := make([]uint64, n)
	var h hash.Hash64 = fnv.New64a()
	for i := range n {
		h.Reset()
		_, _ = io.WriteString(h, names(i)[len(shared):]) // a hash takes everything
		out[i] = h.Sum64()
	}
	return out
}
