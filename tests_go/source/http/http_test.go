package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/folder"
	httpstore "github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// server keeps files by their paths, and fails on cue.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	seen  []string // "GET /a bytes=0-4" of each request
	// spoil answers a request in place of the server, and says so.
	spoil atomic.Pointer[func(w http.ResponseWriter, r *http.Request, content []byte) bool]
}

func serve(t *testing.T, files map[string][]byte) (*server, *httpstore.Store) {
	t.Helper()
	leakcheck.Check(t)
	s := &server{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
	store := httpstore.New(nil, nil)
	t.Cleanup(func() {
		store.CloseIdle()
		s.CloseClientConnections()
		s.Close()
	})
	return s, store
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, ok := s.files[r.URL.Path]
	s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", etag(content))
	if spoil := s.spoil.Load(); spoil != nil && (*spoil)(w, r, content) {
		return
	}
	http.ServeContent(w, r, "a.bin", time.Time{}, bytes.NewReader(content))
}

func etag(content []byte) string {
	return fmt.Sprintf(`"%d-%x"`, len(content), content[:min(len(content), 8)])
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.seen...)
}

func (s *server) put(path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
}

type fault = func(w http.ResponseWriter, r *http.Request, content []byte) bool

// next makes the next n requests fail.
func (s *server) next(n int, f fault) {
	left := atomic.Int64{}
	left.Store(int64(n))
	g := func(w http.ResponseWriter, r *http.Request, content []byte) bool {
		return left.Add(-1) >= 0 && f(w, r, content)
	}
	s.spoil.Store(&g)
}

func status(code int, header ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		return true
	}
}

func reset(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.(*net.TCPConn).SetLinger(0)
		_ = connection.Close()
	}
	return true
}

// cut ends the answer's body halfway.
func cut(w http.ResponseWriter, r *http.Request, content []byte) bool {
	from, code := 0, http.StatusOK
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && (r.Header.Get("If-Range") == "" || r.Header.Get("If-Range") == etag(content)) {
		code = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
	} else {
		from = 0
	}
	rest := content[from:]
	w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
	w.WriteHeader(code)
	_, _ = w.Write(rest[:(len(rest)+1)/2])
	return true
}

// stall gives some bytes, and no more.
func stall(w http.ResponseWriter, r *http.Request, content []byte) bool {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content[:len(content)/3])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	return true
}

// noRanges is a server that has never heard of them, nor of versions or lengths.
func noRanges(w http.ResponseWriter, _ *http.Request, content []byte) bool {
	w.Header().Del("ETag")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	_, _ = w.Write(content)
	return true
}

func whole(url string) source.Key {
	return source.Key{Container: []byte(url + "\x00"), Length: source.Whole}
}

func read(ctx context.Context, store source.Store, key source.Key) ([]byte, error) {
	var buf source.Buffer
	defer buf.Free()
	_, err := store.Read(ctx, key, &buf)
	if err != nil || buf.Len() == 0 {
		return []byte{}, err
	}
	return bytes.Clone(buf.Slice(0, buf.Len())), nil
}

func TestAFolderOfURLsIsASource(t *testing.T) {
	sourcetest.Files(t, func(t *testing.T, files []sourcetest.File) source.Files {
		s := &server{files: map[string][]byte{}}
		s.Server = httptest.NewServer(http.HandlerFunc(s.handle))
		store := httpstore.New(nil, nil)
		t.Cleanup(func() { store.CloseIdle(); s.Close() })
		var paths []byte
		offsets, labels := []int64{0}, []int64{}
		for i, file := range files {
			s.files[fmt.Sprintf("/%d", i)] = file.Bytes
			paths = append(paths, fmt.Sprintf("%s/%d\x00", s.URL, i)...)
			offsets, labels = append(offsets, int64(len(paths))), append(labels, file.Label)
		}
		f, err := folder.New(store, paths, offsets, labels, nil)
		require.NoError(t, err)
		return f
	})
}

// Whatever passes costs another try, and no byte.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	content := sourcetest.Noise(300_000, 1)
	for name, f := range map[string]fault{
		"reset": reset, "cut": cut, "stall": stall, "500": status(500), "502": status(502), "503": status(503, "Retry-After", "0"),
		"504": status(504), "429": status(429),
	} {
		for _, times := range []int{1, 2} {
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				s, store := serve(t, map[string][]byte{"/a": content})
				store.SetStall(100 * time.Millisecond)
				patient := source.Retry(store, time.Millisecond, time.Millisecond)
				s.next(times, f)
				var counted stats.Remote
				got, err := read(counted.In(t.Context()), patient, whole(s.URL+"/a"))
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, got))
				require.EqualValues(t, times, counted.Retries.Load())
			})
		}
	}
}

func TestABodyThatIsCutIsResumedAtItsByte(t *testing.T) {
	content := sourcetest.Noise(1000, 1)
	s, store := serve(t, map[string][]byte{"/a": content})
	s.next(2, cut)
	got, err := read(t.Context(), store, whole(s.URL+"/a"))
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.Equal(t, []string{"GET /a", "GET /a bytes=500-", "GET /a bytes=750-"}, s.requests())
}

// Bytes are of one version, the one before or the one after.
func TestAnObjectThatIsReplacedWhileItIsReadIsNeverAMixture(t *testing.T) {
	for name, deaf := range map[string]bool{"by a server that knows If-Range": false, "by one that does not": true} {
		t.Run(name, func(t *testing.T) {
			before, after := sourcetest.Noise(1000, 1), sourcetest.Noise(1000, 2)
			s, store := serve(t, map[string][]byte{"/a": before})
			s.next(1, func(w http.ResponseWriter, r *http.Request, content []byte) bool {
				cut(w, r, content)
				s.put("/a", after)
				if deaf {
					s.next(1, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
						r.Header.Del("If-Range")
						return false
					})
				}
				return true
			})
			got, err := read(t.Context(), source.Retry(store), whole(s.URL+"/a"))
			require.NoError(t, err)
			require.Equal(t, after, got)
		})
	}
}

func TestPiecesAreOfTheVersionThatWasListed(t *testing.T) {
	before := sourcetest.Noise(1000, 1)
	s, store := serve(t, map[string][]byte{"/a": before, "/empty": nil})
	c, err := store.Open(t.Context(), s.URL+"/a")
	require.NoError(t, err)
	require.EqualValues(t, 1000, c.Bytes())
	name := source.WithVersion(s.URL+"/a", source.VersionOf(c))
	piece := source.Key{Container: []byte(name + "\x00"), Offset: 700, Length: 200}
	got, err := read(t.Context(), store, piece)
	require.NoError(t, err)
	require.Equal(t, before[700:900], got)
	s.next(1, cut)
	got, err = read(t.Context(), store, piece)
	require.NoError(t, err)
	require.Equal(t, before[700:900], got)

	_, err = read(t.Context(), store, source.Key{Container: piece.Container, Offset: 950, Length: 200})
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "/a at byte 950")
	require.ErrorContains(t, err, "ends within the 200 bytes")

	s.put("/a", sourcetest.Noise(1000, 2))
	for what, look := range map[string]func() error{
		"by its name":    func() error { _, err := read(t.Context(), store, piece); return err },
		"by an open one": func() error { return c.Read(t.Context(), source.Piece{At: 700, Into: make([]byte, 10)}) },
	} {
		err := look()
		require.ErrorIs(t, err, source.ErrUnreadable, what)
		require.ErrorContains(t, err, s.URL+"/a at byte 700", what)
		require.ErrorContains(t, err, "not the version that was listed", what)
	}
	empty, err := store.Open(t.Context(), s.URL+"/empty")
	require.NoError(t, err)
	require.Zero(t, empty.Bytes())
}

func TestAServerWithoutRangesGivesWholes(t *testing.T) {
	content := sourcetest.Noise(600_000, 1)
	s, store := serve(t, map[string][]byte{"/a": content, "/empty": nil})
	s.next(100, noRanges)
	for path, want := range s.files {
		got, err := read(t.Context(), store, whole(s.URL+path))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	}
	_, err := read(t.Context(), store, source.Key{Container: []byte(s.URL + "/a#\x00"), Offset: 10, Length: 10})
	require.ErrorIs(t, err, source.ErrUnreadable)
	require.ErrorContains(t, err, "gives no ranges")
}

// What a server refuses is asked once, and the error says what it said and is of its kind.
func TestRefusals(t *testing.T) {
	s, store := serve(t, map[string][]byte{"/a": nil})
	for code, kind := range map[int]error{404: fs.ErrNotExist, 410: fs.ErrNotExist, 403: fs.ErrPermission, 401: fs.ErrPermission, 418: source.ErrUnreadable} {
		for _, length := range []int64{source.Whole, 3} {
			before := len(s.requests())
			s.next(1, status(code))
			url := s.URL + "/a"
			if length != source.Whole {
				url += "#"
			}
			_, err := read(t.Context(), source.Retry(store), source.Key{Container: []byte(url + "\x00"), Length: length})
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorIs(t, err, kind)
			require.ErrorContains(t, err, s.URL+"/a at byte 0")
			require.ErrorContains(t, err, fmt.Sprint(code))
			require.Len(t, s.requests(), before+1)
		}
	}
	s.next(1, status(503, "Retry-After", "7"))
	_, err := read(t.Context(), store, whole(s.URL+"/a"))
	var after source.After
	require.True(t, errors.As(err, &after))
	require.Equal(t, 7*time.Second, after.After())
	_, err = read(t.Context(), store, whole("http://127.0.0.1:1/a"))
	require.ErrorIs(t, err, source.ErrTransient)
}

func TestMessagesHoldNoSecrets(t *testing.T) {
	s, store := serve(t, map[string][]byte{})
	url := strings.Replace(s.URL, "://", "://me:pass@", 1) + "/none?X-Amz-Signature=sign"
	_, err := read(t.Context(), store, whole(url))
	require.ErrorContains(t, err, "404")
	_, refused := read(t.Context(), store, whole(strings.Replace(url, s.Listener.Addr().String(), "127.0.0.1:1", 1)))
	for _, err := range []error{err, refused} {
		require.NotContains(t, err.Error(), "pass")
		require.NotContains(t, err.Error(), "sign")
		require.ErrorContains(t, err, "/none")
	}
}

// A read that waits ends with its context, and its connection with it.
func TestWhoEndsAReadDoesNotWait(t *testing.T) {
	s, store := serve(t, map[string][]byte{"/a": sourcetest.Noise(1000, 1)})
	s.next(1, stall)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := read(ctx, source.Retry(store, source.RemotePauses...), whole(s.URL+"/a"))
	require.ErrorIs(t, err, context.Canceled)
}

// 2,000 objects from 64 places at once, of whose answers some are reset, stall, are cut or refused for a moment: each
// comes whole, and is its own.
func TestNothingIsLostUnderFaults(t *testing.T) {
	const objects, readers = 2000, 64
	files := map[string][]byte{}
	for i := range objects {
		files[fmt.Sprintf("/%d", i)] = sourcetest.Noise(100+i%5000, uint64(i))
	}
	s, store := serve(t, files)
	store.SetStall(time.Second)
	spoil := func(w http.ResponseWriter, r *http.Request, content []byte) bool {
		faults := []fault{reset, stall, status(503), cut}
		if k := rand.IntN(100); k < len(faults) {
			return faults[k](w, r, content)
		}
		return false
	}
	s.spoil.Store(&spoil)
	patient := source.Retry(store, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond)
	var next atomic.Int64
	var counted stats.Remote
	ctx := counted.In(t.Context())
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < objects; i = int(next.Add(1)) - 1 {
				path := fmt.Sprintf("/%d", i)
				got, err := read(ctx, patient, whole(s.URL+path))
				if err != nil || !bytes.Equal(files[path], got) {
					t.Errorf("object %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	require.Positive(t, counted.Retries.Load())
}
