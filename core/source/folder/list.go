package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
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

// Start begins to list a tree.
//
//	index  a file that keeps the list from one start to the next (SaveIndex); "": none
func Start(tree Tree, index string) *List {
	ctx, cancel := context.WithCancel(context.Background())
	l := &List{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer func() {
			if r := recover(); r != nil {
				l.err = fmt.Errorf("folder: listing %s panicked: %v", tree.Root, r)
			}
		}()
		l.err = l.make(ctx, tree, index)
	}()
	return l
}

func (l *List) make(ctx context.Context, tree Tree, index string) error {
	key := strings.Join(append(append([]string{tree.Root, ""}, tree.Classes...), append([]string{""}, tree.Extensions...)...), "\x00")
	if index != "" {
		files, err := LoadIndex(ctx, index, key)
		if err == nil {
			l.files, l.indexed = files, true
			l.Progress.Files.Store(int64(files.Len()))
			return nil
		}
		// The first time there is none, and a folder may change: only the rest is worth a word.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrStale) {
			l.notice = err.Error() + "; the folder was listed anew"
		}
	}
	started := time.Now().UnixNano()
	files, directories, err := Walk(ctx, tree, &l.Progress)
	if err != nil {
		return err
	}
	l.files = files
	if index != "" {
		if err := files.SaveIndex(index, key, directories, started); err != nil {
			l.notice = err.Error() + "; the next start will list the folder again"
		}
	}
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
