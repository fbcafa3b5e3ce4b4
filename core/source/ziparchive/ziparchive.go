// Package ziparchive reads members of zip archives that are a file each: those of torch.save and numpy's savez.
package ziparchive

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/codec"
)

// Archive is one that is open as long as its file is.
type Archive struct {
	Members map[string]*zip.File
	reader  *reader
}

// What is read at once: of a file's beginning, and of its end, where the archive's directory is.
const piece = 4096

// No deflate stream gives more bytes for a byte (zlib's technical notes).
const inflatedMax = 1032

// Open reads the directory. An archive with two members of one name is refused.
func Open(ctx context.Context, file source.Container) (*Archive, error) {
	r := &reader{ctx: ctx, file: file}
	if err := r.open(); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(r, file.Bytes())
	if err != nil {
		return nil, err
	}
	a := &Archive{map[string]*zip.File{}, r}
	for _, member := range archive.File {
		if a.Members[member.Name] != nil {
			return nil, fmt.Errorf("member %q is there twice", member.Name)
		}
		a.Members[member.Name] = member
	}
	return a, nil
}

// Small is the content of a member of a page at most, which is stored.
func (a *Archive) Small(member *zip.File) ([]byte, error) {
	if member == nil || member.UncompressedSize64 > piece {
		return nil, fmt.Errorf("no small member of that name")
	}
	begin, err := a.Begin(member)
	if err != nil {
		return nil, err
	}
	content := make([]byte, member.UncompressedSize64)
	_, err = a.reader.ReadAt(content, begin)
	return content, err
}

// Begin is where a member is in the file, which has all of it. It fails for one that is compressed or encrypted.
func (a *Archive) Begin(member *zip.File) (int64, error) {
	if member.Method != zip.Store || member.UncompressedSize64 != member.CompressedSize64 {
		return 0, fmt.Errorf("member %q is compressed", member.Name)
	}
	return a.begin(member)
}

func (a *Archive) begin(member *zip.File) (int64, error) {
	if member.Flags&encrypted != 0 {
		return 0, fmt.Errorf("member %q is encrypted", member.Name)
	}
	begin, err := member.DataOffset()
	if err == nil && (member.CompressedSize64 > uint64(a.reader.file.Bytes()) || begin > a.reader.file.Bytes()-int64(member.CompressedSize64)) {
		err = fmt.Errorf("member %q ends at byte %d, with the file", member.Name, a.reader.file.Bytes())
	}
	return begin, err
}

// Bits of a member's flags: encryption, patches and strong encryption.
const encrypted = 1<<0 | 1<<5 | 1<<6

// Content reads all of a member into memory that is made longer where it has to be, and compares its checksum. Its name has to
// be in its own header, too, as Python asks for.
func (a *Archive) Content(member *zip.File, into []byte) ([]byte, error) {
	begin, err := a.begin(member)
	if err != nil {
		return into, err
	}
	if !a.isNamed(member, begin) {
		return into, fmt.Errorf("member %q has another name, or more than a name, in its header", member.Name)
	}
	if member.UncompressedSize64 > member.CompressedSize64*inflatedMax {
		return into, fmt.Errorf("member %q cannot have %d bytes", member.Name, member.UncompressedSize64)
	}
	stored, n := int(member.CompressedSize64), int(member.UncompressedSize64)
	into = slices.Grow(into[:0], n)[:n]
	switch {
	case member.Method == zip.Store && stored == n:
		_, err = a.reader.ReadAt(into, begin)
	case member.Method == zip.Deflate:
		room := source.Scratch(stored)
		defer source.PutScratch(room)
		var made []byte
		if _, err = a.reader.ReadAt(*room, begin); err == nil {
			made, err = codec.InflateRaw(into, *room)
		}
		if err == nil && len(made) != n {
			err = fmt.Errorf("member %q has %d bytes in place of %d", member.Name, len(made), n)
		}
	default:
		err = fmt.Errorf("member %q is compressed in another way", member.Name)
	}
	if err == nil && crc32.ChecksumIEEE(into) != member.CRC32 {
		err = fmt.Errorf("member %q has another checksum than it says", member.Name)
	}
	return into, err
}

// A member's own header: its signature, where it says how long its name is and what else it has, and its bytes without them.
const (
	signature    = "PK\x03\x04"
	nameLengthAt = 26
	moreLengthAt = 28
	headerBytes  = 30
)

// zip64Bytes are what Python's zipfile has behind the name of a member that it may have to make long.
const zip64Bytes = 20

func (a *Archive) isNamed(member *zip.File, begin int64) bool {
	for _, more := range []int{0, zip64Bytes} {
		header := make([]byte, headerBytes+len(member.Name))
		at := begin - int64(len(header)+more)
		if at < 0 {
			continue
		}
		if _, err := a.reader.ReadAt(header, at); err != nil {
			return false
		}
		if string(header[:len(signature)]) == signature && string(header[headerBytes:]) == member.Name &&
			int(binary.LittleEndian.Uint16(header[nameLengthAt:])) == len(member.Name) &&
			int(binary.LittleEndian.Uint16(header[moreLengthAt:])) == more {
			return true
		}
	}
	return false
}

// reader gives bytes of a file; those of both pieces are read once. It implements io.ReaderAt.
type reader struct {
	ctx  context.Context
	file source.Container
	room []byte
	head int // bytes of the beginning in room; the end is behind them
}

func (r *reader) open() error {
	size := r.file.Bytes()
	r.head = int(min(size, piece))
	tail := int(min(size-int64(r.head), piece))
	r.room = make([]byte, r.head+tail)
	return r.file.Read(r.ctx, source.Piece{At: 0, Into: r.room[:r.head]},
		source.Piece{At: size - int64(tail), Into: r.room[r.head:]})
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(into []byte, at int64) (int, error) {
	size := r.file.Bytes()
	if at < 0 || at > size { // archive/zip asks for it, where an archive says that its members are there
		return 0, fmt.Errorf("byte %d of %d", at, size)
	}
	n := int(max(0, min(int64(len(into)), size-at)))
	end := at + int64(n)
	switch tail := size - int64(len(r.room)-r.head); {
	case end <= int64(r.head):
		copy(into, r.room[at:end])
	case at >= tail:
		copy(into, r.room[r.head+int(at-tail):][:n])
	default:
		if err := r.file.Read(r.ctx, source.Piece{At: at, Into: into[:n]}); err != nil {
			return 0, err
		}
	}
	if n < len(into) {
		return n, io.EOF
	}
	return n, nil
}
