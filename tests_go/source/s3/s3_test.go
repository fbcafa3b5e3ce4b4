package s3_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/s3"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// serve answers as a bucket, and gives a store that asks it.
func serve(t *testing.T, answer http.HandlerFunc) *s3.Store {
	t.Helper()
	leakcheck.Check(t)
	server := httptest.NewServer(answer)
	store := s3.New(s3.Config{Endpoint: server.URL, Region: "here", AccessKey: "key", SecretKey: "secret", Token: "token"})
	t.Cleanup(func() { store.CloseIdle(); server.Close() })
	return store
}

func read(t *testing.T, store source.Store, name string) (string, error) {
	t.Helper()
	var buf source.Buffer
	defer buf.Free()
	if _, err := store.Read(context.Background(), source.Key{Container: []byte(source.WithVersion(name, "") + "\x00"), Length: source.Whole}, &buf); err != nil {
		return "", err
	}
	return string(buf.Slice(0, buf.Len())), nil
}

// A bucket of another region says so, and is asked there from then on.
func TestABucketIsAskedWhereItIs(t *testing.T) {
	var asked []string
	store := serve(t, func(w http.ResponseWriter, r *http.Request) {
		region := strings.Split(r.Header.Get("Authorization"), "/")[2]
		asked = append(asked, region)
		require.Equal(t, "token", r.Header.Get("X-Amz-Security-Token"))
		if region != "there" {
			w.Header().Set("X-Amz-Bucket-Region", "there")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, r.URL.EscapedPath())
	})
	for range 2 {
		got, err := read(t, store, "s3://bucket/a b+ü/%?#.jpg")
		require.NoError(t, err)
		require.Equal(t, "/bucket/a%20b%2B%C3%BC/%25%3F%23.jpg", got)
	}
	require.Equal(t, []string{"here", "there", "there"}, asked)
}

func TestAListComesPageByPage(t *testing.T) {
	pages := map[string]string{
		"": `<ListBucketResult><EncodingType>url</EncodingType><NextContinuationToken>a/+=</NextContinuationToken>
			<Contents><Key>t/a+b%2Fc%25.jpg</Key><ETag>&quot;the-tag&quot;</ETag></Contents><Contents><Key>t/b</Key><ETag>the-tag</ETag></Contents><CommonPrefixes><Prefix>t/x+y/</Prefix></CommonPrefixes></ListBucketResult>`,
		"a/+=": `<ListBucketResult><Contents><Key>t/ d+%41</Key></Contents><CommonPrefixes><Prefix>t/z/</Prefix></CommonPrefixes>
			<CommonPrefixes><Prefix>t//</Prefix></CommonPrefixes></ListBucketResult>`,
	}
	store := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path == "/bucket/t/b" {
			w.Header().Set("ETag", `"the-tag"`)
			return
		}
		if r.URL.Path != "/bucket/" || query.Get("prefix") != "t/" || query.Get("list-type") != "2" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, pages[query.Get("continuation-token")])
	})
	var urls, versions []string
	require.NoError(t, store.List(t.Context(), "s3://bucket/t/", func(url, version string) {
		urls, versions = append(urls, url), append(versions, version)
	}))
	require.Equal(t, []string{"s3://bucket/t/a b/c%.jpg", "s3://bucket/t/b", "s3://bucket/t/ d+%41"}, urls)
	stamp, err := store.Stat(t.Context(), "s3://bucket/t/b")
	require.NoError(t, err)
	require.Equal(t, []string{stamp.Version(), stamp.Version(), ""}, versions, "as the object's own answer has it")
	names, err := store.Folders(t.Context(), "s3://bucket/t/")
	require.NoError(t, err)
	require.Equal(t, []string{"x y", "z"}, names)
}

func TestWhatIsNoBucketIsAnError(t *testing.T) {
	store := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<not XML") })
	for _, name := range []string{"s3://", "s3:///key", "s3://bucket", "s3://bucket/"} {
		_, err := read(t, store, name)
		require.ErrorIs(t, err, source.ErrUnreadable, name)
		require.ErrorContains(t, err, "want s3://bucket/key", name)
	}
	err := store.List(t.Context(), "s3://bucket/", nil)
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "s3://bucket/: ")
	for _, endpoint := range []string{"host", "://", "http://"} {
		store.Use(s3.Config{Endpoint: endpoint, SecretKey: "secret"})
		_, err := read(t, store, "s3://bucket/key")
		require.ErrorIs(t, err, source.ErrUnreadable, endpoint)
		require.False(t, errors.Is(err, source.ErrTransient), endpoint)
	}
}
