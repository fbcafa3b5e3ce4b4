// Package source says what a storage of bytes is, and what a set of samples in it is; each has a folder of its own below.
//
// A Store gives bytes by key: a file system, and whatever else keeps bytes. Files and Rows are sets of samples: folders,
// arrays. What reads samples knows Files and Rows only, so that a new Store serves all of them.
package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors that a Store or a set of samples wraps, with the place that a person can open.
var (
	// ErrUnreadable says that a sample's bytes could not be had at all: no such file, no permission, not a file.
	ErrUnreadable = errors.New("unreadable")
	// ErrTransient says that what failed may succeed when it is tried again, where the error itself does not tell: a
	// connection that broke off.
	ErrTransient = errors.New("broken off")
	// ErrLeft says that only the user's own code makes a sample: it knows what to make of such data, or which error to raise.
	ErrLeft = errors.New("left to the user's own code")
	// ErrRange says that an index lies outside the set.
	ErrRange = errors.New("index out of range")
)

// Stamp tells a version of a sample from another, as far as a storage can tell without looking at the bytes.
type Stamp struct {
	Bytes      int64
	ModifiedNs int64 // since 1970; of an object a number made of its ETag; 0 where a storage keeps neither
}

// Version is a word for a version, "" if it is not known.
func (s Stamp) Version() string {
	if s.ModifiedNs == 0 {
		return ""
	}
	return strconv.FormatInt(s.ModifiedNs, 36)
}

// Whole is the length of a key that goes up to its container's end.
const Whole = -1

// Key names bytes of a store.
type Key struct {
	// Its name in the store, with the NUL that ends it: of a file system the path, of a Remote the URL, WithVersion.
	Container []byte
	Offset    int64 // of the first byte in the container
	Length    int64 // Whole: to the end
}

// Name is the key's place for messages.
func (k Key) Name() string {
	name := string(k.Container[:max(0, len(k.Container)-1)])
	if k.Offset == 0 && k.Length == Whole {
		return name
	}
	return fmt.Sprintf("%s, %d bytes from byte %d on", name, k.Length, k.Offset)
}

// Store is a storage of bytes. Its methods may be called from any goroutine. Those that wait for the storage return
// ctx's error soon after ctx has ended, if the storage lets them.
type Store interface {
	// Read appends the bytes of a key to buf, all of them, and says which version of the container they are of. It fails
	// with ErrUnreadable.
	Read(ctx context.Context, key Key, buf *Buffer) (Stamp, error)
	// Open gives a container of which many pieces will be read. It fails with ErrUnreadable.
	Open(ctx context.Context, container string) (Container, error)
}

// StampOf is the version of a container, as far as it knows.
func StampOf(c Container) Stamp {
	if known, ok := unwrapped(c).(interface{ Stamp() Stamp }); ok {
		return known.Stamp()
	}
	return Stamp{Bytes: c.Bytes()}
}

// VersionOf is what a Remote's container calls its version (WithVersion); "" if it has no word for it.
func VersionOf(c Container) string {
	if known, ok := unwrapped(c).(interface{ Version() string }); ok {
		return known.Version()
	}
	return ""
}

// unwrapped is a container without Retry around it.
func unwrapped(c Container) Container {
	if p, ok := c.(*patient); ok {
		return p.Container
	}
	return c
}

// Remote is a Store of other machines, whose containers have URLs for names.
type Remote interface {
	Store
	Stater
	// List calls each with the URLs of all containers whose URLs begin with that of a folder, a slash at its end, in
	// no order, and with what Stat would give for Version, "" if that is not known. It fails with ErrUnreadable, also where a
	// store has no lists.
	List(ctx context.Context, folder string, each func(url, version string)) error
	// Folders gives the names of the folders directly below one, in no order. It fails as List does.
	Folders(ctx context.Context, folder string) ([]string, error)
}

// Stater is a Store that knows versions.
type Stater interface {
	// Stat gives the version of a container. It fails with ErrUnreadable.
	Stat(ctx context.Context, container string) (Stamp, error)
}

// Wrapper is a Store around another, of the same containers: Retry, a cache.
type Wrapper interface{ Unwrap() Store }

// Innermost is a store without Wrappers around it.
func Innermost(store Store) Store {
	for {
		wrapper, ok := store.(Wrapper)
		if !ok {
			return store
		}
		store = wrapper.Unwrap()
	}
}

// IsRemote says that a store, with Wrappers around it perhaps, is a Remote.
func IsRemote(store Store) bool {
	_, ok := Innermost(store).(Remote)
	return ok
}

// WithVersion is the name by which a Remote gives the bytes of a container. Of pieces the version is what a container of
// its own calls Version, and of another it gives nothing. Of a whole container it is Stamp.Version as it was listed: it
// gives that of now, and the Stamp tells.
func WithVersion(url, version string) string { return url + "#" + version }

// CutVersion gives back what WithVersion was given.
func CutVersion(name string) (url, version string) {
	at := strings.LastIndexByte(name, '#')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// Piece is some of a container's bytes, and where they go.
type Piece struct {
	At   int64
	Into []byte
}

// Container is one of a store's containers, held open. Its methods may be called from any goroutine.
type Container interface {
	// Name is its place for messages.
	Name() string
	// Bytes is how many there are.
	Bytes() int64
	// Read fills all pieces. It fails with ErrUnreadable.
	Read(ctx context.Context, pieces ...Piece) error
	// Waits says that Expect is worth its while: reads had to wait lately.
	Waits() bool
	// Expect says that Read will be asked for these bytes before long. It may take a while.
	Expect(at int64, bytes int)
	Close()
}

// Files is a set of samples that are encoded files with a label each. Its methods may be called from any goroutine.
type Files interface {
	Len() int
	// Read appends sample i's bytes to buf, whole, and says which version of the sample they are.
	Read(ctx context.Context, i int, buf *Buffer) (Stamp, error)
	Label(i int) int64
	// Name is the sample's place for messages.
	Name(i int) string
	Close()
}

// Rows is a set of samples that are rows of arrays, a field each. Its methods may be called from any goroutine.
type Rows interface {
	Len() int
	// Check returns ErrRange for samples that are not there.
	Check(samples []int64) error
	// Lengths writes how many items the rows of the given samples, which Check lets pass, have in a field whose rows
	// differ in length.
	Lengths(field int, samples []int64, lengths []int64)
	// CopyRows writes the rows of the given samples, which Check lets pass, of one field one after the other into dst,
	// which holds exactly as many. It may fail with ErrUnreadable.
	CopyRows(ctx context.Context, field int, samples []int64, dst []byte) error
	// InMemory says that CopyRows never waits and never fails.
	InMemory() bool
	// Waits says that Expect is worth its while: reads had to wait lately.
	Waits() bool
	// Expect says that CopyRows will be asked for these samples, which Check lets pass, before long. It may take a while.
	Expect(samples []int64)
	Close()
}
