package gcs_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/gcs"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

func serve(t *testing.T, answer http.HandlerFunc) (*gcs.Store, string) {
	t.Helper()
	leakcheck.Check(t)
	server := httptest.NewServer(answer)
	store := gcs.New(gcs.Config{Endpoint: server.URL + "/"})
	t.Cleanup(func() { store.CloseIdle(); http.DefaultClient.CloseIdleConnections(); server.Close() })
	return store, server.URL
}

func read(ctx context.Context, store source.Store, name string) (string, error) {
	var buf source.Buffer
	defer buf.Free()
	if _, err := store.Read(ctx, source.Key{Container: []byte(source.WithVersion(name, "") + "\x00"), Length: source.Whole}, &buf); err != nil {
		return "", err
	}
	return string(buf.Slice(0, buf.Len())), nil
}

func TestNamesAreEscapedWhole(t *testing.T) {
	store, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
	})
	got, err := read(t.Context(), store, "gs://bucket/a b/ü+%#?.jpg")
	require.NoError(t, err)
	require.Equal(t, "/download/storage/v1/b/bucket/o/a%20b%2F%C3%BC+%25%23%3F.jpg?alt=media", got)
	for _, name := range []string{"gs://", "gs:///a", "gs://bucket", "gs://bucket/"} {
		_, err := read(t.Context(), store, name)
		require.ErrorContains(t, err, "want gs://bucket/object", name)
		require.ErrorIs(t, err, source.ErrUnreadable)
	}
}

// A version is a generation, in lists and answers alike.
func TestAListComesPageByPage(t *testing.T) {
	store, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/storage/v1/b/bucket/o" {
			w.Header().Set("X-Goog-Generation", "7")
			w.Header().Set("ETag", `"of the answer"`)
			return
		}
		require.Equal(t, "t/", r.URL.Query().Get("prefix"))
		_, _ = io.WriteString(w, map[string]string{
			"":     `{"items": [{"name": "t/a b/é%41.jpg", "generation": "7"}], "prefixes": ["t/a b/", "t//"], "nextPageToken": "a/+="}`,
			"a/+=": `{"items": [{"name": "t/c", "generation": "8"}], "prefixes": ["t/z/"]}`,
		}[r.URL.Query().Get("pageToken")])
	})
	var urls, versions []string
	require.NoError(t, store.List(t.Context(), "gs://bucket/t/", func(url, version string) {
		urls, versions = append(urls, url), append(versions, version)
	}))
	require.Equal(t, []string{"gs://bucket/t/a b/é%41.jpg", "gs://bucket/t/c"}, urls)
	stamp, err := store.Stat(t.Context(), urls[0])
	require.NoError(t, err)
	require.Equal(t, stamp.Version(), versions[0])
	require.NotEqual(t, versions[0], versions[1])
	names, err := store.Folders(t.Context(), "gs://bucket/t/")
	require.NoError(t, err)
	require.Equal(t, []string{"a b", "z"}, names)
}

func TestARefusalSaysWhatTheServerSaid(t *testing.T) {
	store, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error": {"code": 404, "message": "The specified bucket does not exist."}}`)
	})
	err := store.List(t.Context(), "gs://none/", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "gs://none/ at byte 0: unreadable: 404 Not Found: The specified bucket does not exist")
}

// account is the file of a service account whose tokens a server gives.
func account(t *testing.T, server string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "who@where", "private_key": string(text), "token_uri": server + "/token",
	})
	require.NoError(t, err)
	return string(file)
}

// A token is asked for once, by the account's signature, and again when it has expired.
func TestAServiceAccountIsGivenTokens(t *testing.T) {
	var given atomic.Int32
	var lives atomic.Int32
	lives.Store(3600)
	store, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			require.NotEmpty(t, r.FormValue("assertion"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token": "t%d", "token_type": "Bearer", "expires_in": %d}`, given.Add(1), lives.Load())
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
	store.Use(gcs.Config{Endpoint: server, Credentials: account(t, server)})
	for range 3 {
		got, err := read(t.Context(), store, "gs://bucket/a")
		require.NoError(t, err)
		require.Equal(t, "Bearer t1", got)
	}
	lives.Store(1) // shorter than what is left out for clocks that differ
	store.Use(gcs.Config{Endpoint: server, Credentials: account(t, server)})
	for _, want := range []string{"Bearer t2", "Bearer t3"} {
		got, err := read(t.Context(), store, "gs://bucket/a")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	store.Use(gcs.Config{Endpoint: server, Token: "mine"})
	got, err := read(t.Context(), store, "gs://bucket/a")
	require.NoError(t, err)
	require.Equal(t, "Bearer mine", got)
}

func TestTokensThatCannotBeHad(t *testing.T) {
	status, hangs := http.StatusForbidden, make(chan struct{})
	store, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if status == 0 {
			<-hangs
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error": "invalid_grant", "secret": "secret"}`)
	})
	file := account(t, server)
	store.Use(gcs.Config{Endpoint: server, Credentials: file})
	_, err := read(t.Context(), store, "gs://bucket/a")
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, source.ErrTransient)
	require.NotContains(t, err.Error(), "secret")

	status = http.StatusServiceUnavailable
	_, err = read(t.Context(), store, "gs://bucket/a")
	require.ErrorIs(t, err, source.ErrTransient)

	status = 0
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = read(ctx, store, "gs://bucket/a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begin), 5*time.Second, "who gives up waits no longer")
	close(hangs)

	for _, file := range []string{`{`, `{"type": "another"}`, `{"type": "service_account", "private_key": "secret"}`} {
		store.Use(gcs.Config{Endpoint: server, Credentials: file})
		_, err = read(t.Context(), store, "gs://bucket/a")
		require.ErrorIs(t, err, fs.ErrPermission, file)
		require.ErrorContains(t, err, "no access token: ")
	}
}
