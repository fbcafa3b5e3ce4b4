package remote_test

import (
	"context"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
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

// A client's URLs are asked for where and by whom it says, whatever the scheme's settings say; one that is gone asks nobody.
func TestEachClientHasSettingsOfItsOwn(t *testing.T) {
	var asked []string
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		asked = append(asked, r.URL.Path, key)
		w.WriteHeader(nethttp.StatusNotFound)
	}))
	defer server.Close()
	store := remote.New()
	defer store.CloseIdle()
	config := func(key string) string {
		return fmt.Sprintf(`{"endpoint": %q, "access_key": %q, "secret_key": "s"}`, server.URL, key)
	}
	stat := func(url string) {
		_, err := store.Stat(context.Background(), url)
		require.Error(t, err)
	}
	require.NoError(t, store.Use(fmt.Appendf(nil, `{"stores": {"s3": %s}, "clients": {"1": %s, "2": %s}}`,
		config("all"), config("one"), config("two"))))
	for _, url := range []string{"s3://bucket/key", "s3+1://bucket/a/b", "s3+2://bucket/c", "s3+3://bucket/d"} {
		stat(url)
	}
	require.Equal(t, []string{"/bucket/key", "all", "/bucket/a/b", "one", "/bucket/c", "two"}, asked)
	require.NoError(t, store.Use(fmt.Appendf(nil, `{"clients": {"2": %s}}`, config("other"))))
	asked = nil
	stat("s3+1://bucket/e")
	stat("s3+2://bucket/f")
	require.Equal(t, []string{"/bucket/f", "other"}, asked)
}

func TestSettingsThatAreNotKnownAreRefusedWithoutTheirValues(t *testing.T) {
	store := remote.New()
	for _, settings := range []string{
		``, `{`, `[]`, `{"retries": 1}`, `{"stores": {"s4": {"token": "secret"}}}`, `{"stores": {"s3": {"key": "secret"}}}`,
		`{"stores": {"hf": {"token": ["secret"]}}}`, `{"stores": {"http": {"token": "secret"}}}`, `{"stores": {"s3": "secret"}}`,
		`{"clients": {"1": {"key": "secret"}}}`, `{"clients": {"1": {"token": ["secret"]}}}`, `{"clients": "secret"}`,
	} {
		err := store.Use([]byte(settings))
		require.Error(t, err, settings)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAURLIsOfAScheme(t *testing.T) {
	for name, is := range map[string]bool{
		"s3://b/k": true, "gs://b/o": true, "az://c/b": true, "hf://a/b/c": true, "http://h/p": true, "https://h/p": true, "s3+1://b/k": true,
		"s3:/b": false, "ftp://h/p": false, "/s3://b": false, "": false,
	} {
		require.Equal(t, is, remote.Is(name), name)
	}
}
