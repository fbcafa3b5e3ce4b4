package raw_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/arrayfiles"
	"github.com/goloader/goloader/core/source/local"
	"github.com/goloader/goloader/core/source/raw"
)

func TestItems(t *testing.T) {
	f, err := raw.New("4")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.bin")
	require.NoError(t, os.WriteFile(path, []byte("abcdefghijk"), 0o600))
	file, err := local.Store{}.Open(context.Background(), path)
	require.NoError(t, err)
	defer file.Close()
	text, place, err := f.Head(context.Background(), file, new([arrayfiles.HeadMax]byte))
	require.NoError(t, err)
	require.Equal(t, "2", string(text))
	into := make([]byte, 4)
	require.NoError(t, f.Read(context.Background(), file, place, 4, into))
	require.Equal(t, "efgh", string(into))
	for _, written := range []string{"", "0", "-1", "x"} {
		_, err := raw.New(written)
		require.Error(t, err, written)
	}
}
