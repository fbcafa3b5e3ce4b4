package decode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden is what Pillow says of a file in testdata (generate.py writes both).
type golden struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	SHA256 string `json:"sha256"` // of the RGB bytes
}

func goldens(t testing.TB) map[string]golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	require.NoError(t, err)
	var all map[string]golden
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

// files gives the files in testdata whose names start with prefix, and what Pillow says of them.
func files(t testing.TB, prefix string) (data map[string][]byte, want map[string]golden) {
	t.Helper()
	data, want = map[string][]byte{}, map[string]golden{}
	for name, g := range goldens(t) {
		if strings.HasPrefix(name, prefix) {
			bytes, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			data[name], want[name] = bytes, g
		}
	}
	require.NotEmpty(t, data)
	return data, want
}
