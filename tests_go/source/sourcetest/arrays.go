package sourcetest

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/local"
)

// Array is the header of a file of that content in a format, and n bytes of its array from skip on.
func Array(t testing.TB, format arrayfiles.Format, content []byte, skip int64, n int) (string, []byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	file, err := local.Store{}.Open(context.Background(), path)
	require.NoError(t, err)
	defer file.Close()
	text, place, err := format.Head(context.Background(), file, new([arrayfiles.HeadMax]byte))
	if err != nil {
		return "", nil, err
	}
	header, into := string(text), make([]byte, n)
	return header, into, arrayfiles.Read(context.Background(), format, file, place, skip, into)
}

// Member is one of a zip archive.
type Member struct {
	Name, Content string
	Method        uint16
}

// Archive is a zip archive.
func Archive(t testing.TB, members ...Member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		into, err := w.CreateHeader(&zip.FileHeader{Name: m.Name, Method: m.Method})
		require.NoError(t, err)
		_, err = into.Write([]byte(m.Content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}
