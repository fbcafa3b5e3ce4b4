package hub_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/hub"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

const content = "what a large file holds"

// serve answers as the Hub, and gives a store that asks it as "token" does.
func serve(t *testing.T, answer http.HandlerFunc) *hub.Store {
	t.Helper()
	leakcheck.Check(t)
	server := httptest.NewServer(answer)
	store := hub.New(hub.Config{Endpoint: server.URL + "/", Token: "token"})
	t.Cleanup(func() { store.CloseIdle(); server.Close() })
	return store
}

func read(store source.Store, key source.Key) (string, error) {
	var buf source.Buffer
	defer buf.Free()
	if _, err := store.Read(context.Background(), key, &buf); err != nil {
		return "", err
	}
	return string(buf.Slice(0, buf.Len())), nil
}

func whole(name string) source.Key {
	return source.Key{Container: []byte(source.WithVersion(name, "") + "\x00"), Length: source.Whole}
}

func TestNamesAreThoseOfHfFileSystem(t *testing.T) {
	store := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.EscapedPath()) })
	for name, want := range map[string]string{
		"hf://datasets/owner/name/a b/ü%#.tar":                 "/datasets/owner/name/resolve/main/a%20b/%C3%BC%25%23.tar",
		"hf://datasets/owner/name@v1.0/a":                      "/datasets/owner/name/resolve/v1.0/a",
		"hf://datasets/owner/name@refs/convert/parquet/x/0.pq": "/datasets/owner/name/resolve/refs%2Fconvert%2Fparquet/x/0.pq",
		"hf://datasets/owner/name@refs/pr/7/a":                 "/datasets/owner/name/resolve/refs%2Fpr%2F7/a",
		"hf://datasets/owner/name@a%2Fb/c@d":                   "/datasets/owner/name/resolve/a%2Fb/c@d",
		"hf://owner/model/images/1.jpg":                        "/owner/model/resolve/main/images/1.jpg",
		"hf://spaces/owner/name/1.jpg":                         "/spaces/owner/name/resolve/main/1.jpg",
	} {
		got, err := read(store, whole(name))
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
	for _, name := range []string{"hf://", "hf://datasets/name/a", "hf://owner", "hf://owner/name", "hf://owner/name/", "hf://datasets/o/n/"} {
		_, err := read(store, whole(name))
		require.ErrorContains(t, err, "want hf://datasets/owner/name/path", name)
		require.ErrorIs(t, err, source.ErrUnreadable)
	}
}

// A large file lies elsewhere: its place is asked for once, and is given no token. Its version is the Hub's.
func TestAPlaceIsAskedForOnce(t *testing.T) {
	var asked, spoilt atomic.Int32
	store := serve(t, nil)
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spoilt.Add(-1) == 0 {
			w.WriteHeader(http.StatusForbidden) // what was signed counts no more
			return
		}
		if r.Header.Get("Authorization") != "" || r.Header.Get("If-Match") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("ETag", `"of the place"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}))
	t.Cleanup(place.Close)
	// The place has another host: localhost.
	elsewhere := strings.Replace(place.URL, "127.0.0.1", "localhost", 1)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Linked-Etag", `"the content"`)
		http.Redirect(w, r, elsewhere+"/signed?until=then", http.StatusFound)
	}))
	t.Cleanup(front.Close)
	store.Use(hub.Config{Endpoint: front.URL, Token: "token"})

	const name = "hf://datasets/owner/name/train.tar"
	c, err := store.Open(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, int64(len(content)), c.Bytes())
	require.Equal(t, `"the content"`, source.VersionOf(c))
	into := make([]byte, 5)
	for at := range 4 {
		require.NoError(t, c.Read(t.Context(), source.Piece{At: int64(at), Into: into}))
		require.Equal(t, content[at:at+5], string(into))
	}
	require.Equal(t, int32(1), asked.Load())

	spoilt.Store(1)
	require.NoError(t, c.Read(t.Context(), source.Piece{At: 2, Into: into}))
	require.Equal(t, int32(2), asked.Load(), "the Hub is asked for another place")
	got, err := read(store, whole(name))
	require.NoError(t, err)
	require.Equal(t, content, got)

	store.Use(hub.Config{Endpoint: front.URL})
	_, err = read(store, whole(name))
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestATreeComesPageByPage(t *testing.T) {
	var store *hub.Store
	store = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "/resolve/") {
			w.Header().Set("X-Linked-Etag", "sum")
			return
		}
		if want := "/api/datasets/owner/name/tree/refs%2Fpr%2F1/a%20b/train"; r.URL.EscapedPath() != want {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		if page < 2 {
			again := fmt.Sprintf("http://%s%s?recursive=%s&cursor=%d", r.Host, r.URL.EscapedPath(), r.URL.Query().Get("recursive"), page+1)
			w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, again))
		}
		_, _ = io.WriteString(w, [...]string{
			`[{"type":"directory","path":"a b/train/x","oid":"1"},{"type":"file","path":"a b/train/x/1 ü.jpg","oid":"git"}]`,
			`[{"type":"file","path":"a b/train/x/2.jpg","oid":"git","lfs":{"oid":"sum","size":7}}]`,
			`[{"type":"directory","path":"a b/train/y","oid":"2"}]`,
		}[page])
	})
	const root = "hf://datasets/owner/name@refs/pr/1/"
	found := map[string]string{}
	require.NoError(t, store.List(t.Context(), root+"a b/train/", func(url, version string) { found[url] = version }))
	require.Len(t, found, 2)
	require.Contains(t, found, root+"a b/train/x/1 ü.jpg")
	stamp, err := store.Stat(t.Context(), root+"a b/train/x/2.jpg")
	require.NoError(t, err)
	require.Equal(t, stamp.Version(), found[root+"a b/train/x/2.jpg"], "as the file's own answer has it")
	names, err := store.Folders(t.Context(), root+"a b/train/")
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, names)
	require.ErrorIs(t, store.List(t.Context(), "hf://datasets/owner/name/other/", nil), fs.ErrNotExist)
	require.ErrorContains(t, store.List(t.Context(), "hf://datasets/owner", nil), "want hf://")
	store.Use(hub.Config{Endpoint: "host"})
	require.ErrorContains(t, store.List(t.Context(), root, nil), "HF_ENDPOINT")
}
