package s3_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/s3"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
)

// cloud is a machine's own address, of which it gives the paths that were asked for, and a bucket, of which it gives who asked.
type cloud struct {
	*httptest.Server
	asked atomic.Int32
	lives time.Duration // of keys
	none  atomic.Bool
}

func newCloud(t *testing.T) *cloud {
	leakcheck.Check(t)
	for _, name := range []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	} {
		t.Setenv(name, "")
	}
	c := &cloud{lives: time.Hour}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		keys := func() string {
			return fmt.Sprintf(`{"Code": "Success", "AccessKeyId": "k%d", "SecretAccessKey": "s", "Token": "t", "Expiration": %q}`,
				c.asked.Add(1), time.Now().Add(c.lives).UTC().Format(time.RFC3339))
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/bucket/"):
			_, _ = io.WriteString(w, strings.Split(r.Header.Get("Authorization"), "/")[0]+r.Header.Get("X-Amz-Security-Token"))
		case c.none.Load():
			c.asked.Add(1)
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/latest/api/token":
			_, _ = io.WriteString(w, "session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session" && r.Header.Get("Authorization") != "pod":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == roles:
			_, _ = io.WriteString(w, "the-role")
		case r.URL.Path == roles+"the-role", r.URL.Path == "/container":
			_, _ = io.WriteString(w, keys())
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func newStore(t *testing.T, config s3.Config) *s3.Store {
	store := s3.New(config)
	t.Cleanup(store.CloseIdle)
	return store
}

const signed = "AWS4-HMAC-SHA256 Credential="

func TestAContainersRoleIsWhoAsks(t *testing.T) {
	c := newCloud(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", c.URL+"/container")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "pod")
	store := newStore(t, s3.Config{Endpoint: c.URL})
	for range 3 {
		got, err := read(t, store, "s3://bucket/a")
		require.NoError(t, err)
		require.Equal(t, signed+"k1t", got, "one asks for all")
	}
	store.Use(s3.Config{Endpoint: c.URL, AccessKey: "mine", SecretKey: "s"})
	got, err := read(t, store, "s3://bucket/a")
	require.NoError(t, err)
	require.Equal(t, signed+"mine", got)

	c.lives = -time.Second
	store.Use(s3.Config{Endpoint: c.URL})
	for _, want := range []string{"k2t", "k3t"} {
		got, err = read(t, store, "s3://bucket/a")
		require.NoError(t, err)
		require.Equal(t, signed+want, got, "keys that have expired are asked for again")
	}
	c.none.Store(true)
	_, err = read(t, store, "s3://bucket/a")
	require.ErrorIs(t, err, fs.ErrPermission, "a role that is named is never left out")
	require.ErrorIs(t, err, source.ErrTransient)
	require.NotErrorIs(t, err, fs.ErrNotExist)
}

func TestATokenFileThatIsNotThereIsAnError(t *testing.T) {
	c := newCloud(t)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(t.TempDir(), "none"))
	_, err := read(t, newStore(t, s3.Config{Endpoint: c.URL}), "s3://bucket/a")
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "the role that the environment names")
}

// A machine's own role is asked of its address, but for stores that are not Amazon's, or where that is not wanted.
func TestAMachinesRole(t *testing.T) {
	c := newCloud(t)
	for _, test := range []struct {
		config s3.Config
		asked  int32
	}{
		{s3.Config{Metadata: c.URL}, 1},
		{s3.Config{Metadata: c.URL, NoRole: "true"}, 0},
		{s3.Config{Metadata: c.URL, Endpoint: c.URL}, 0},
		{s3.Config{Metadata: c.URL, AccessKey: "of my own"}, 0},
	} {
		c.asked.Store(0)
		test.config.Region = "nowhere" // no such host: who asks is settled before
		store := newStore(t, test.config)
		for range 2 {
			_, _ = read(t, store, "s3://bucket/a")
		}
		require.Equal(t, test.asked, c.asked.Load(), "%+v", test.config)
	}
	c.none.Store(true)
	c.asked.Store(0)
	store := newStore(t, s3.Config{Metadata: c.URL, Region: "nowhere"})
	for range 2 {
		_, err := read(t, store, "s3://bucket/a")
		require.NotErrorIs(t, err, fs.ErrPermission, "without a role nobody in particular asks")
	}
	require.Equal(t, int32(1), c.asked.Load(), "the next one does not ask again")
}
