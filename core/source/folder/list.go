package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/goloader/goloader/core/source"
)

// List is a list of files in the making, in the background.
type List struct {
	Progress Progress
	cancel   context.CancelFunc
	done     chan struct{}

	// What follows is to be read once done is closed.
	files   *Folder
	err     error
	indexed bool
	notice  string
}

// Listing is what can be listed: a Tree, or Shards.
type Listing interface {
	// list gives the files, and what they were found in, as that was before it was looked at.
	list(ctx context.Context, progress *Progress) (*Folder, []Directory, error)
	// key tells what is listed, and how.
	key() string
	remote() source.Remote
}

func (t Tree) list(ctx context.Context, progress *Progress) (*Folder, []Directory, error) {
	return Walk(ctx, t, progress)
}

func (t Tree) remote() source.Remote { return t.Remote }

func (t Tree) key() string { return keyOf([]string{t.Root}, t.Classes, t.Extensions) }

func keyOf(lists ...[]string) string {
	var all []string
	for i, list := range lists {
		if i > 0 {
			all = append(all, "")
		}
		all = append(all, list...)
	}
	return strings.Join(all, "\x00")
}

// Start begins to list.
//
//	index  a file that keeps the list from one start to the next (SaveIndex); "": none
func Start(what Listing, index string) *List {
	ctx, cancel := context.WithCancel(context.Background())
	l := &List{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer func() {
			if r := recover(); r != nil {
				l.err = fmt.Errorf("folder: listing panicked: %v", r)
			}
		}()
		l.err = l.make(ctx, what, index)
	}()
	return l
}

func (l *List) make(ctx context.Context, what Listing, index string) error {
	key := what.key()
	if index != "" {
		files, err := LoadIndex(ctx, index, key, what.remote())
		if err == nil {
			files.share()
			l.files, l.indexed = files, true
			l.Progress.Files.Store(int64(files.Len()))
			return nil
		}
		// The first time there is none, and a folder may change: only the rest is worth a word.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrStale) {
			l.notice = err.Error() + "; all was listed anew"
		}
	}
	started := time.Now().UnixNano()
	files, directories, err := what.list(ctx, &l.Progress)
	if err != nil {
		return err
	}
	l.files = files
	if index != "" {
		if err := files.SaveIndex(index, key, directories, started); err != nil {
			l.notice = err.Error() + "; the next start will list all again"
		}
	}
	files.share()
	return nil
}

// Wait waits until the list is made, at most for a while, and says if it is.
func (l *List) Wait(longest time.Duration) (bool, error) {
	select {
	case <-l.done:
		return true, l.err
	case <-time.After(longest):
		return false, nil
	}
}

// Files is the list; nil until Wait says that it is made, and if that failed. It belongs to l.
func (l *List) Files() *Folder {
	select {
	case <-l.done:
		return l.files
	default:
		return nil
	}
}

// Indexed reports whether a finished list came from its index file, and what there is to say about that file.
func (l *List) Indexed() (indexed bool, notice string) { return l.indexed, l.notice }

// Close stops the making, and ends l's interest in the files.
func (l *List) Close() error {
	l.cancel()
	<-l.done
	if l.files != nil {
		l.files.Close()
	}
	return nil
}
