package azure_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/azure"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

func serve(t *testing.T, answer http.HandlerFunc) (*azure.Store, string) {
	t.Helper()
	leakcheck.Check(t)
	server := httptest.NewServer(answer)
	store := azure.New(azure.Config{Endpoint: server.URL + "/account/"})
	t.Cleanup(func() { store.CloseIdle(); server.Close() })
	return store, server.URL
}

func read(store source.Store, name string) (string, error) {
	var buf source.Buffer
	defer buf.Free()
	if _, err := store.Read(context.Background(), source.Key{Container: []byte(source.WithVersion(name, "") + "\x00"), Length: source.Whole}, &buf); err != nil {
		return "", err
	}
	return string(buf.Slice(0, buf.Len())), nil
}

func TestNamesAreEscaped(t *testing.T) {
	store, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		require.Empty(t, r.Header.Get("Authorization"))
		require.NotEmpty(t, r.Header.Get("X-Ms-Version"))
		_, _ = io.WriteString(w, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
	})
	got, err := read(store, "az://box/a b/ü+%#?.jpg")
	require.NoError(t, err)
	require.Equal(t, "/account/box/a%20b/%C3%BC+%25%23%3F.jpg?", got)
	for _, name := range []string{"az://", "az:///a", "az://box", "az://box/"} {
		_, err := read(store, name)
		require.ErrorContains(t, err, "want az://container/blob", name)
		require.ErrorIs(t, err, source.ErrUnreadable)
	}
}

func TestAListComesPageByPage(t *testing.T) {
	const mark = "\ufeff<?xml version=\"1.0\"?>"
	store, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("comp") == "" {
			w.Header().Set("ETag", `"0x8D"`)
			return
		}
		require.Equal(t, "/account/box?t/", r.URL.Path+"?"+query.Get("prefix"))
		_, _ = io.WriteString(w, map[string]string{
			"": mark + `<EnumerationResults><Blobs>
				<Blob><Name>t/a b/é%41.jpg</Name><Properties><Etag>0x8D</Etag></Properties></Blob>
				<Blob><Name>t/a b</Name><Properties><Etag>0x1</Etag><ResourceType>directory</ResourceType></Properties></Blob>
				<BlobPrefix><Name>t/a b/</Name></BlobPrefix><BlobPrefix><Name>t//</Name></BlobPrefix>
				</Blobs><NextMarker>a/+=</NextMarker></EnumerationResults>`,
			"a/+=": mark + `<EnumerationResults><Blobs><Blob><Name Encoded="true">t/c%01%25</Name><Properties><Etag>0x2</Etag></Properties></Blob>
				<BlobPrefix><Name Encoded="true">t/z%02/</Name></BlobPrefix></Blobs><NextMarker/></EnumerationResults>`,
		}[query.Get("marker")])
	})
	var urls, versions []string
	require.NoError(t, store.List(t.Context(), "az://box/t/", func(url, version string) {
		urls, versions = append(urls, url), append(versions, version)
	}))
	require.Equal(t, []string{"az://box/t/a b/é%41.jpg", "az://box/t/c\x01%"}, urls)
	stamp, err := store.Stat(t.Context(), urls[0])
	require.NoError(t, err)
	require.Equal(t, stamp.Version(), versions[0])
	names, err := store.Folders(t.Context(), "az://box/t/")
	require.NoError(t, err)
	require.Equal(t, []string{"a b", "z\x02"}, names)
}

// One signature serves a container; what was given is sent as it is.
func TestWhoAsks(t *testing.T) {
	store, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+r.URL.RawQuery)
	})
	ask := func(name string) string {
		got, err := read(store, name)
		require.NoError(t, err)
		return got
	}
	store.Use(azure.Config{Endpoint: url, SAS: "?sv=1&sig=a%2Fb"})
	require.Equal(t, "sv=1&sig=a%2Fb", ask("az://box/a"))
	store.Use(azure.Config{Endpoint: url, Token: "t"})
	require.Equal(t, "Bearer t", ask("az://box/a"))
	store.Use(azure.Config{Endpoint: url, Account: "who", Key: "a2V5"})
	first := ask("az://box/a")
	require.Contains(t, first, "&sig=")
	time.Sleep(1100 * time.Millisecond) // times that are signed are of whole seconds
	require.Equal(t, first, ask("az://box/b"))
	require.NotEqual(t, first, ask("az://other/a"))

	store.Use(azure.Config{Key: "secret"})
	_, err := read(store, "az://box/a")
	require.ErrorContains(t, err, "AZURE_STORAGE_ACCOUNT_NAME")
	require.NotContains(t, err.Error(), "secret")
}
