package http_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	httpstore "github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/stats"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
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
