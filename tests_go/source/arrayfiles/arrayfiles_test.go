package arrayfiles_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/source/npy"
)

// content is a .npy file of bytes, as numpy writes it.
func content(version byte, text string, items []byte) []byte {
	head := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0}
	room := 64 - (len(head)+2+len(text)+1)%64
	text += string(bytes.Repeat([]byte{' '}, room)) + "\n"
	head = append(head, byte(len(text)), byte(len(text)>>8))
	if version > 1 {
		head = append(head, 0, 0)
	}
	return append(append(head, text...), items...)
}

const (
	before = "{'descr': '|u1', 'fortran_order': False, 'shape': ("
	behind = ",), }"
)

func textOf(extent int) string { return fmt.Sprintf("%s%d%s", before, extent, behind) }

// arrays are files of 1, 2, 3, ... bytes, all of which are their file's number.
func arrays(t *testing.T, count int) (arrayfiles.Arrays, []string) {
	t.Helper()
	of := arrayfiles.Arrays{Format: npy.Format{}, Offsets: []int64{0}, Begins: []int64{0}, Head: before, Tail: behind, Store: local.Store{}}
	folder := t.TempDir()
	var files []string
	for k := range count {
		path := filepath.Join(folder, fmt.Sprint(k))
		require.NoError(t, os.WriteFile(path, content(1, textOf(k+1), bytes.Repeat([]byte{byte(k)}, k+1)), 0o600))
		files = append(files, path)
		of.Paths = append(append(of.Paths, path...), 0)
		of.Offsets = append(of.Offsets, int64(len(of.Paths)))
		of.Begins = append(of.Begins, of.Begins[k]+int64(k)+1)
		of.Extents = append(of.Extents, int64(k)+1)
	}
	return of, files
}

func read(t *testing.T, c source.Container, at int64, n int) ([]byte, error) {
	t.Helper()
	into := make([]byte, n)
	return into, c.Read(context.Background(), source.Piece{At: at, Into: into})
}

// Whatever bytes are asked for, within a file or over several, are those of the arrays one after the other.
func TestArraysLieOneAfterTheOther(t *testing.T) {
	of, _ := arrays(t, 5)
	c, err := arrayfiles.New(of)
	require.NoError(t, err)
	defer c.Close()
	want := []byte{0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4}
	require.EqualValues(t, len(want), c.Bytes())
	for at := range want {
		for end := at; end <= len(want); end++ {
			got, err := read(t, c, int64(at), end-at)
			require.NoError(t, err)
			require.Equal(t, want[at:end], got)
		}
	}
	_, err = read(t, c, 14, 2)
	require.ErrorIs(t, err, source.ErrUnreadable)
}

// A file that has another array than was said, or none, is left to the user's own code; others go on being read.
func TestFilesWithOtherArraysAreLeft(t *testing.T) {
	for name, changed := range map[string][]byte{
		"shorter":          content(1, textOf(3), []byte{2, 2}),
		"of another shape": content(1, textOf(4), []byte{2, 2, 2, 2}),
		"of another type":  content(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", []byte{2, 2, 2}),
		"with more behind": content(1, textOf(3)+"x", []byte{2, 2, 2}),
		"a later version":  content(4, textOf(3), []byte{2, 2, 2}),
		"cut":              content(1, textOf(3), nil)[:40],
		"empty":            nil,
		"long":             content(2, textOf(3)+string(bytes.Repeat([]byte{' '}, 5000)), []byte{2, 2, 2}),
	} {
		of, files := arrays(t, 5)
		c, err := arrayfiles.New(of)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(files[2], changed, 0o600))
		_, err = read(t, c, 3, 3)
		require.ErrorIs(t, err, source.ErrLeft, name)
		require.NotErrorIs(t, err, source.ErrUnreadable, name)
		got, err := read(t, c, 1, 2)
		require.NoError(t, err, name)
		require.Equal(t, []byte{1, 1}, got)
		require.NoError(t, os.Remove(files[2]))
		_, err = read(t, c, 3, 3)
		require.ErrorIs(t, err, source.ErrLeft, name)
		for _, version := range []byte{1, 2, 3} {
			text := textOf(3) + string(bytes.Repeat([]byte{' '}, 200))
			require.NoError(t, os.WriteFile(files[2], content(version, text, []byte{7, 8, 9, 10}), 0o600))
			got, err := read(t, c, 4, 2)
			require.NoError(t, err)
			require.Equal(t, []byte{8, 9}, got)
		}
	}
}

// A reader that is not wanted any more says so, and does not leave the sample to anybody.
func TestAnEndedContextIsNoOtherArray(t *testing.T) {
	of, _ := arrays(t, 2)
	c, err := arrayfiles.New(of)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = c.Read(ctx, source.Piece{At: 0, Into: make([]byte, 1)})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, source.ErrLeft)
}

func TestWrongListsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*arrayfiles.Arrays){
		"no files":          func(of *arrayfiles.Arrays) { of.Begins, of.Offsets, of.Extents = []int64{0}, []int64{0}, nil },
		"no begins":         func(of *arrayfiles.Arrays) { of.Begins = nil },
		"fewer paths":       func(of *arrayfiles.Arrays) { of.Offsets = of.Offsets[:3] },
		"fewer extents":     func(of *arrayfiles.Arrays) { of.Extents = of.Extents[:3] },
		"no bytes":          func(of *arrayfiles.Arrays) { of.Begins[2] = of.Begins[1] },
		"another begin":     func(of *arrayfiles.Arrays) { of.Begins[0] = -1 },
		"paths without end": func(of *arrayfiles.Arrays) { of.Offsets[5]++ },
		"no NUL":            func(of *arrayfiles.Arrays) { of.Paths[of.Offsets[2]-1] = 'x' },
	} {
		of, _ := arrays(t, 5)
		spoil(&of)
		_, err := arrayfiles.New(of)
		require.Error(t, err, name)
	}
}
