// Package tar finds the files in a tar archive without reading them.
package tar

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// ErrDamaged says that an archive is not what it should be.
var ErrDamaged = errors.New("not a sound tar archive")

// Member is a file in an archive.
type Member struct {
	Name   string
	Header int64 // where its header begins in the archive
	Offset int64 // where its first byte is in the archive
	Bytes  int64
}

// Members calls each for every regular file of an archive, in order; what it returns ends the walk. A reader is given for
// those whose bytes are wanted. Fails as Walk.Next does, and for an archive that is compressed.
func Members(archive io.ReadSeeker, each func(m Member, r io.Reader) error) error {
	if err := refuseCompressed(archive); err != nil {
		return err
	}
	w := NewWalk(archive, 0)
	for {
		m, err := w.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(m, w); err != nil {
			return err
		}
	}
}

// Walk goes through an archive.
type Walk struct {
	archive io.ReadSeeker
	*tar.Reader
	// At is where the header of what comes next begins.
	At int64
}

// NewWalk begins where the header of a file begins, at which place the archive stands.
func NewWalk(archive io.ReadSeeker, at int64) *Walk {
	return &Walk{archive, tar.NewReader(archive), at}
}

// Next gives the next regular file, whose bytes Read then gives, or io.EOF. Links, folders and devices are left out, as in
// Python's tarfile.isreg.
//
// Fails with ErrDamaged, naming the byte, where the archive breaks off, does not begin as one, or holds a sparse file, whose
// bytes do not lie together.
func (w *Walk) Next() (Member, error) {
	for {
		head, err := w.Reader.Next()
		at, seekErr := w.archive.Seek(0, io.SeekCurrent)
		if err == io.EOF {
			return Member{}, err
		}
		if err = errors.Join(err, seekErr); err != nil {
			return Member{}, fmt.Errorf("%w: at byte %d: %w", ErrDamaged, at, err)
		}
		m := Member{Name: head.Name, Header: w.At, Offset: at, Bytes: head.Size}
		w.At = at + (head.Size+blockBytes-1)&^(blockBytes-1)
		if head.Typeflag != tar.TypeReg && head.Typeflag != tar.TypeCont && head.Typeflag != tar.TypeGNUSparse {
			continue
		}
		if isSparse(head) {
			return m, fmt.Errorf("%w: %q at byte %d is a sparse file", ErrDamaged, head.Name, at)
		}
		if strings.IndexByte(head.Name, 0) >= 0 {
			return m, fmt.Errorf("%w: the name %q at byte %d holds a NUL", ErrDamaged, head.Name, at)
		}
		return m, nil
	}
}

const blockBytes = 512

// What compressed files begin with.
var compressions = map[string]string{"\x1f\x8b": "gzip", "\x28\xb5\x2f\xfd": "zstd", "BZh": "bzip2", "\xfd7zXZ\x00": "xz"}

func refuseCompressed(archive io.ReadSeeker) error {
	head := make([]byte, 8)
	n, err := io.ReadFull(archive, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return err
	}
	for magic, name := range compressions {
		if strings.HasPrefix(string(head[:n]), magic) {
			return fmt.Errorf("%w: it is compressed (%s), so that no file in it has a place", ErrDamaged, name)
		}
	}
	_, err = archive.Seek(0, io.SeekStart)
	return err
}

func isSparse(head *tar.Header) bool {
	if head.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range head.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

var (
	// webdataset.tariterators.base_plus_ext and meta_file_re
	sampleName = regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)
	metaName   = regexp.MustCompile(`^__[^/]*__($|/)`)
)

// Split gives the key of the sample that a file belongs to, and which of its parts the file is, in small letters:
// "a/0001.seg.PNG" is "seg.png" of "a/0001". False for a file of no sample. As webdataset's group_by_keys does it.
func Split(name string) (key, suffix string, ok bool) {
	if metaName.MatchString(name) {
		return "", "", false
	}
	found := sampleName.FindStringSubmatch(name)
	if found == nil {
		return "", "", false
	}
	return found[1], strings.ToLower(found[2]), true
}
