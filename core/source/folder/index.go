package folder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/source"
)

// An index file keeps what a Listing found, so that the next start reads one file and looks at the times of the
// directories, or archives, only.
// All numbers are little-endian:
//
//	magic        8 bytes
//	checksum     uint32, CRC-32C of everything behind it
//	key          uint32, its length
//	started      int64, ns since 1970: when the walk began
//	files, path bytes, directories, directory bytes: int64 each
//	archived     int64, 1 if there are spans
//	the key; offsets, labels, spans and paths of the files; the directories' times, and their paths, each followed by a NUL
const (
	indexMagic = "GLINDEX2"
	indexHead  = 8 + 4 + 4 + 6*8
)

// A file system may stamp two changes this far apart with the same time; a directory that was changed so shortly before
// the walk began, or later, may have been listed before its last change.
const timeGrain = 2_000_000_000

// What is wrong with an index file that cannot be used.
var (
	ErrStale   = errors.New("the folder has changed since")
	ErrDamaged = errors.New("the index is damaged")
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// SaveIndex writes an index file, whole or not at all.
//
//	key      tells what was walked, and how; LoadIndex wants the same
//	started  when the walk began, ns since 1970
func (f *Folder) SaveIndex(path, key string, directories []Directory, started int64) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
			err = fmt.Errorf("index %s: %w", path, err)
		}
	}()
	var times, names []byte
	for _, d := range directories {
		times = binary.LittleEndian.AppendUint64(times, uint64(d.ModTime))
		names = append(append(names, d.Path...), 0)
	}
	head := []byte(indexMagic)
	head = binary.LittleEndian.AppendUint32(head, 0)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(key)))
	archived := int64(0)
	if f.spans != nil {
		archived = 1
	}
	for _, n := range []int64{started, int64(f.Len()), int64(len(f.paths)), int64(len(directories)), int64(len(names)), archived} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	parts := [][]byte{head, []byte(key), raw(f.offsets), raw(f.labels), raw(f.spans), f.paths, times, names}
	sum := crc32.Checksum(head[12:], crcTable)
	for _, part := range parts[1:] {
		sum = crc32.Update(sum, crcTable, part)
	}
	binary.LittleEndian.PutUint32(head[8:], sum)
	for _, part := range parts {
		if _, err := file.Write(part); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// LoadIndex reads an index file, and looks whether the directories, or the archives of a remote store (nil: there is
// none), are as they were. It fails with ErrStale if they are not, or if the key is another, with ErrDamaged if the file is
// not what SaveIndex wrote, and with fs.ErrNotExist if there is none.
func LoadIndex(ctx context.Context, path, key string, remote source.Remote) (*Folder, error) {
	f, err := loadIndex(ctx, path, key, remote)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", path, err)
	}
	return f, nil
}

func loadIndex(ctx context.Context, path, key string, remote source.Remote) (_ *Folder, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, indexHead)
	if _, err := io.ReadFull(file, head); err != nil || string(head[:7]) != indexMagic[:7] {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	if string(head[:8]) != indexMagic {
		return nil, fmt.Errorf("%w: it is of another version", ErrStale)
	}
	var n [6]int64
	for i := range n {
		n[i] = int64(binary.LittleEndian.Uint64(head[16+8*i:]))
	}
	started, files, pathBytes, directories, nameBytes, archived := n[0], n[1], n[2], n[3], n[4], n[5]
	keyBytes := int64(binary.LittleEndian.Uint32(head[12:]))
	left := info.Size() - indexHead
	for _, part := range []int64{files, pathBytes, directories, nameBytes} {
		if part < 0 || part > left {
			return nil, fmt.Errorf("%w: it says %d of something, and has %d bytes", ErrDamaged, part, info.Size())
		}
	}
	if archived != 0 && archived != 1 {
		return nil, fmt.Errorf("%w: it says %d where 0 or 1 stands", ErrDamaged, archived)
	}
	if want := keyBytes + 8*((2+2*archived)*files+1) + pathBytes + 8*directories + nameBytes; want != left {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrDamaged, info.Size(), indexHead+want)
	}
	f, err := allocate(storeOf(remote), int(files), int(pathBytes), archived == 1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	gotKey, times, names := make([]byte, keyBytes), make([]byte, 8*directories), make([]byte, nameBytes)
	sum := crc32.Checksum(head[12:], crcTable)
	for _, part := range [][]byte{gotKey, raw(f.offsets), raw(f.labels), raw(f.spans), f.paths, times, names} {
		if _, err := io.ReadFull(file, part); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		sum = crc32.Update(sum, crcTable, part)
	}
	if sum != binary.LittleEndian.Uint32(head[8:]) {
		return nil, fmt.Errorf("%w: its checksum differs", ErrDamaged)
	}
	if string(gotKey) != key {
		return nil, fmt.Errorf("%w: it is the index of something else", ErrStale)
	}
	// A wrong checksum is an accident; who writes a right one on purpose still gets no path outside the list.
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	look := func(path string, then int64) error { return unchangedPath(path, then, started) }
	if remote != nil {
		look = func(path string, then int64) error { return unchangedRemote(ctx, remote, path, then) }
	}
	return f, unchanged(ctx, names, times, look)
}

// unchanged looks at all directories, in parallel: on a network file system each look is a round trip.
func unchanged(ctx context.Context, names, times []byte, look func(path string, then int64) error) error {
	count := len(times) / 8
	begins := make([]int, 0, count+1)
	for at, c := range names {
		if at == 0 || names[at-1] == 0 {
			begins = append(begins, at)
		}
		if at == len(names)-1 && c != 0 {
			return fmt.Errorf("%w: the last directory has no end", ErrDamaged)
		}
	}
	if len(begins) != count {
		return fmt.Errorf("%w: %d directories, but %d names", ErrDamaged, count, len(begins))
	}
	begins = append(begins, len(names))
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	const perCore = 4
	for range perCore * runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				path, then := string(names[begins[i]:begins[i+1]-1]), int64(binary.LittleEndian.Uint64(times[8*i:]))
				if err := look(path, then); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

func unchangedPath(path string, then, started int64) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrStale, path, err)
	}
	if stat.Mtim.Nano() != then || then > started-timeGrain {
		return fmt.Errorf("%w: %s", ErrStale, path)
	}
	return nil
}

func raw(numbers []int64) []byte {
	if len(numbers) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&numbers[0])), 8*len(numbers))
}
