package raw_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/raw"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func TestItems(t *testing.T) {
	f, err := raw.New("4")
	require.NoError(t, err)
	text, into, err := sourcetest.Array(t, f, []byte("abcdefghijk"), 4, 4)
	require.NoError(t, err)
	require.Equal(t, "2", text)
	require.Equal(t, "efgh", string(into))
	for _, written := range []string{"", "0", "-1", "x"} {
		_, err := raw.New(written)
		require.Error(t, err, written)
	}
}
