package remote_test

import (
	"context"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source/remote"
)

// Each store is asked where its settings say, and forgets what is not said again.
func TestSettingsReachTheirStores(t *testing.T) {
	var asked []string
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		asked = append(asked, r.URL.Path, r.Header.Get("Authorization"))
		w.WriteHeader(nethttp.StatusNotFound)
	}))
	defer server.Close()
	store := remote.New()
	defer store.CloseIdle()
	require.NoError(t, store.Use(fmt.Appendf(nil, `{"timeout_ms": 5000, "no_hedging": true, "stores": {"s3": {"endpoint": %q}, "hf": {"endpoint": %q, "token": "t"},
		"http": {}}}`, server.URL, server.URL)))
	_, err := store.Stat(context.Background(), "s3://bucket/key")
	require.Error(t, err)
	require.Equal(t, []string{"/bucket/key", ""}, asked)
	_, err = store.Stat(context.Background(), "hf://datasets/a/b/c")
	require.Error(t, err)
	require.Equal(t, "Bearer t", asked[3])
	require.NoError(t, store.Use(fmt.Appendf(nil, `{"stores": {"hf": {"endpoint": %q}}}`, server.URL)))
	_, err = store.Stat(context.Background(), "hf://datasets/a/b/c")
	require.Error(t, err)
	require.Equal(t, "", asked[len(asked)-1])
	require.Error(t, store.Use([]byte(`{"stores": {"s4": {}}}`)))
	before := len(asked)
	_, err = store.Stat(context.Background(), "hf://datasets/a/b/c")
	require.Error(t, err)
	require.Greater(t, len(asked), before, "settings that are refused change nothing")
}

func TestSettingsThatAreNotKnownAreRefusedWithoutTheirValues(t *testing.T) {
	store := remote.New()
	for _, settings := range []string{
		``, `{`, `[]`, `{"retries": 1}`, `{"stores": {"s4": {"token": "secret"}}}`, `{"stores": {"s3": {"key": "secret"}}}`,
		`{"stores": {"hf": {"token": ["secret"]}}}`, `{"stores": {"http": {"token": "secret"}}}`, `{"stores": {"s3": "secret"}}`,
	} {
		err := store.Use([]byte(settings))
		require.Error(t, err, settings)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAURLIsOfAScheme(t *testing.T) {
	for name, is := range map[string]bool{
		"s3://b/k": true, "gs://b/o": true, "az://c/b": true, "hf://a/b/c": true, "http://h/p": true, "https://h/p": true,
		"s3:/b": false, "ftp://h/p": false, "/s3://b": false, "": false,
	} {
		require.Equal(t, is, remote.Is(name), name)
	}
}
