package http_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/source"
	httpstore "github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// Of many requests some are never answered. A second one is, and nobody waits for the first, which the server sees leave.
func TestARequestThatIsSlowIsMadeASecondTime(t *testing.T) {
	leakcheck.Check(t)
	var asked, left atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n > 100 && n%50 == 0 {
			<-r.Context().Done()
			left.Add(1)
			return
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	store := httpstore.New(nil, nil)
	t.Cleanup(store.CloseIdle)
	var counted stats.Remote
	ctx := counted.In(t.Context())
	for range 400 {
		got, err := read(ctx, store, whole(server.URL+"/a"))
		require.NoError(t, err)
		require.Equal(t, "/a", string(got))
	}
	hedged := counted.Hedged.Load()
	never := asked.Load()/50 - 2
	require.GreaterOrEqual(t, never, int32(6))
	require.Eventually(t, func() bool { return left.Load() == never }, 10*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, hedged, int64(never))
	require.EqualValues(t, 400+hedged, counted.Requests.Load())
	// A second request may be given up before it is sent, as the first is answered at that moment.
	require.LessOrEqual(t, int64(asked.Load()), counted.Requests.Load())
	require.GreaterOrEqual(t, asked.Load(), 400+never)
	require.EqualValues(t, 2*400, counted.Received.Load())
	require.Zero(t, counted.Retries.Load())
}

func TestSecondRequestsMayBeOff(t *testing.T) {
	leakcheck.Check(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := asked.Add(1); n > 100 && n%20 == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "a")
	}))
	t.Cleanup(server.Close)
	store := httpstore.New(nil, nil)
	t.Cleanup(store.CloseIdle)
	store.SetHedging(false)
	for range 200 {
		_, err := read(t.Context(), store, whole(server.URL+"/a"))
		require.NoError(t, err)
	}
	require.EqualValues(t, 200, asked.Load())
}

// A server that has no time for a second request still answers the first.
func TestARefusalOfASecondRequestIsNoAnswer(t *testing.T) {
	leakcheck.Check(t)
	var asked, refused atomic.Int32
	var busy atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case busy.Load():
			refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case n > 100 && n%20 == 0:
			busy.Store(true)
			time.Sleep(200 * time.Millisecond)
			busy.Store(false)
		}
		_, _ = io.WriteString(w, "a")
	}))
	t.Cleanup(server.Close)
	store := httpstore.New(nil, nil)
	t.Cleanup(store.CloseIdle)
	for range 200 {
		got, err := read(t.Context(), store, whole(server.URL+"/a"))
		require.NoError(t, err)
		require.Equal(t, "a", string(got))
	}
	require.Positive(t, refused.Load())
}

// A server that has become slow to everybody is not asked twice as much.
func TestSecondRequestsAreFew(t *testing.T) {
	leakcheck.Check(t)
	var slow atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if slow.Load() {
			time.Sleep(60 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "a")
	}))
	t.Cleanup(server.Close)
	store := httpstore.New(nil, nil)
	t.Cleanup(store.CloseIdle)
	var counted stats.Remote
	ctx := counted.In(t.Context())
	const each, readers = 40, 8
	for range 2 {
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				for range each {
					if got, err := read(ctx, store, whole(server.URL+"/a")); err != nil || string(got) != "a" {
						t.Errorf("%q, %v", got, err)
					}
				}
			})
		}
		all.Wait()
		slow.Store(true)
	}
	require.LessOrEqual(t, counted.Hedged.Load(), int64(8+2*each*readers/20+readers))
}

// stopping is an answer of which half is written.
type stopping struct {
	http.ResponseWriter
	ctx context.Context
}

func (s stopping) Write(b []byte) (int, error) {
	n, _ := s.ResponseWriter.Write(b[:len(b)/2])
	s.ResponseWriter.(http.Flusher).Flush()
	<-s.ctx.Done()
	return n, s.ctx.Err()
}

// Of many bodies some stop in the middle. The rest is asked for anew, and nobody waits for them.
func TestABodyThatStopsIsAskedForAnew(t *testing.T) {
	content := sourcetest.Noise(3000, 1)
	for name, at := range map[string][]int{"whole": {0, 3000}, "a piece": {100, 2100}} {
		t.Run(name, func(t *testing.T) {
			s, store := serve(t, map[string][]byte{"/a": content})
			var asked, stopped atomic.Int64
			stops := func(w http.ResponseWriter, r *http.Request, content []byte) bool {
				if n := asked.Add(1); n <= 100 || n%50 != 0 {
					return false
				}
				stopped.Add(1)
				http.ServeContent(stopping{w, r.Context()}, r, "a.bin", time.Time{}, bytes.NewReader(content))
				return true
			}
			s.spoil.Store(&stops)
			key := whole(s.URL + "/a")
			if at[0] > 0 {
				key = source.Key{
					Container: []byte(source.WithVersion(s.URL+"/a", etag(content)) + "\x00"),
					Offset:    int64(at[0]), Length: int64(at[1] - at[0]),
				}
			}
			var counted stats.Remote
			ctx := counted.In(t.Context())
			for range 400 {
				got, err := read(ctx, store, key)
				require.NoError(t, err)
				require.Equal(t, content[at[0]:at[1]], got)
			}
			require.GreaterOrEqual(t, stopped.Load(), int64(6))
			require.GreaterOrEqual(t, counted.Hedged.Load(), stopped.Load())
			require.EqualValues(t, 400*(at[1]-at[0]), counted.Received.Load(), "what had come is not asked for again")
			require.Zero(t, counted.Retries.Load())
		})
	}
}

// Whoever sends its bodies late, to everybody, is waited for.
func TestBodiesThatAreAlwaysSlowAreNoError(t *testing.T) {
	content := sourcetest.Noise(3000, 1)
	s, store := serve(t, map[string][]byte{"/a": content})
	var counted stats.Remote
	ctx := counted.In(t.Context())
	for n := range 100 {
		if n == 50 {
			late := func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
				w.Header().Set("Content-Length", fmt.Sprint(len(content)))
				w.(http.Flusher).Flush()
				time.Sleep(60 * time.Millisecond)
				_, _ = w.Write(content)
				return true
			}
			s.spoil.Store(&late)
		}
		got, err := read(ctx, store, whole(s.URL+"/a"))
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	require.Positive(t, counted.Hedged.Load())
	require.LessOrEqual(t, counted.Hedged.Load(), int64(8+150/20))
	require.Zero(t, counted.Retries.Load())
}

// Answers and bodies that are late now and then do not use up the second requests of those that never come.
func TestThereIsASecondRequestForWhatNeverComes(t *testing.T) {
	content := sourcetest.Noise(3000, 1)
	s, store := serve(t, map[string][]byte{"/a": content})
	var asked atomic.Int64
	spoil := func(w http.ResponseWriter, r *http.Request, content []byte) bool {
		switch n := asked.Add(1); {
		case n <= 100:
		case n%50 == 0:
			<-r.Context().Done()
			return true
		case n%25 == 0:
			time.Sleep(40 * time.Millisecond)
		case n%25 == 10:
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			w.(http.Flusher).Flush()
			time.Sleep(40 * time.Millisecond)
			_, _ = w.Write(content)
			return true
		}
		return false
	}
	s.spoil.Store(&spoil)
	var counted stats.Remote
	ctx := counted.In(t.Context())
	for range 1000 {
		got, err := read(ctx, store, whole(s.URL+"/a"))
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	require.Zero(t, counted.Retries.Load())
	require.LessOrEqual(t, counted.Hedged.Load(), int64(8+1000/20))
}
