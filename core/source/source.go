// Package source says what a storage of samples is; each storage has a folder of its own below it.
package source

import "errors"

// Errors that a Source wraps, with the place that a person can open.
var (
	// ErrUnreadable says that a sample's bytes could not be had at all: no such file, no permission, not a file.
	ErrUnreadable = errors.New("unreadable")
	// ErrRange says that an index lies outside the source.
	ErrRange = errors.New("index out of range")
)

// Stamp tells a version of a sample from another, as far as a storage can tell without looking at the bytes.
type Stamp struct {
	Bytes      int64
	ModifiedNs int64 // since 1970; 0 where a storage keeps no times
}

// Files is a source whose samples are encoded files with a label each. Its methods may be called from any goroutine.
type Files interface {
	Len() int
	// Read appends sample i's bytes to buf, whole, and says which version of the sample they are.
	Read(i int, buf *Buffer) (Stamp, error)
	Label(i int) int64
	// Name is the sample's place for messages.
	Name(i int) string
	Close()
}

// Rows is a source whose samples are rows of arrays, a field each. Its methods may be called from any goroutine.
type Rows interface {
	Len() int
	// Check returns ErrRange for samples that are not there.
	Check(samples []int64) error
	// Lengths writes how many items the rows of the given samples, which Check lets pass, have in a field whose rows
	// differ in length.
	Lengths(field int, samples []int64, lengths []int64)
	// CopyRows writes the rows of the given samples, which Check lets pass, of one field one after the other into dst,
	// which holds exactly as many. It may fail with ErrUnreadable.
	CopyRows(field int, samples []int64, dst []byte) error
	// InMemory says that CopyRows never waits and never fails.
	InMemory() bool
	// Waits says that Expect is worth its while: reads had to wait lately.
	Waits() bool
	// Expect says that CopyRows will be asked for these samples, which Check lets pass, before long. It may take a while.
	Expect(samples []int64)
	Close()
}
