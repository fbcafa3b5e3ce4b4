package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/pipeline"
	"github.com/goloader/goloader/core/plan"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/core/source/array"
	"github.com/goloader/goloader/core/source/folder"
	httpstore "github.com/goloader/goloader/core/source/http"
	"github.com/goloader/goloader/core/tensor"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

// Built by the go command as it stands, so that what it needs is not needed here.
const toxiproxyVersion = "github.com/Shopify/toxiproxy/v2/cmd/server@v2.5.0"

// network is a server behind a proxy that spoils connections.
type network struct {
	t     *testing.T
	api   string
	url   string // of the server, by the proxy
	store *httpstore.Store
}

// newNetwork serves files by their names. With -short its test is skipped: the proxy takes half a minute to build.
func newNetwork(t *testing.T, files map[string][]byte) *network {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Each request has a connection of its own: a spoilt one spoils one read.
		w.Header().Set("Connection", "close")
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", r.URL.Path))
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)

	install := exec.Command("go", "install", toxiproxyVersion)
	bin := t.TempDir()
	install.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0", "GOFLAGS=")
	install.Dir = bin
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)

	n := &network{t: t, api: "http://" + freeAddress(t)}
	proxied := freeAddress(t)
	host, port, err := net.SplitHostPort(n.api[len("http://"):])
	require.NoError(t, err)
	proxy := exec.Command(filepath.Join(bin, "server"), "-host", host, "-port", port)
	require.NoError(t, proxy.Start())
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	require.Eventually(t, func() bool {
		answer, err := http.Get(n.api + "/version")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	n.post("/proxies", map[string]any{"name": "store", "listen": proxied, "upstream": server.Listener.Addr().String(), "enabled": true})

	n.url, n.store = "http://"+proxied, httpstore.New(nil, nil)
	t.Cleanup(func() { n.store.CloseIdle(); http.DefaultClient.CloseIdleConnections() })
	return n
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (n *network) post(path string, value any) {
	n.t.Helper()
	text, err := json.Marshal(value)
	require.NoError(n.t, err)
	answer, err := http.Post(n.api+path, "application/json", bytes.NewReader(text))
	require.NoError(n.t, err)
	_ = answer.Body.Close()
	require.Less(n.t, answer.StatusCode, 300, "%s", path)
}

// spoil does something to a share of the connections from now on.
func (n *network) spoil(kind string, share float64, attributes map[string]any) {
	n.t.Helper()
	n.post("/proxies/store/toxics", map[string]any{"name": kind, "type": kind, "toxicity": share, "attributes": attributes})
}

func (n *network) heal(kind string) {
	n.t.Helper()
	request, err := http.NewRequest(http.MethodDelete, n.api+"/proxies/store/toxics/"+kind, nil)
	require.NoError(n.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(n.t, err)
	_ = answer.Body.Close()
}

// Connections that are cut in the middle of a range, or reset, cost a retry; those that stay cut are asked for, with their
// place; those that stall delay nobody who ends the run. Whatever arrives is right to the bit.
func TestANetworkThatIsCutCostsNoWrongByte(t *testing.T) {
	leakcheck.Check(t)
	const count = 12
	photos, p := makePhotos(count, 1, good...), training(count)
	files := map[string][]byte{}
	for _, each := range photos {
		files["/"+each.name] = each.file
	}
	n := newNetwork(t, files)
	var paths []byte
	offsets, labels := []int64{0}, []int64{}
	for i, each := range photos {
		paths = append(append(paths, n.url+"/"+each.name...), 0)
		offsets, labels = append(offsets, int64(len(paths))), append(labels, int64(1000+i))
	}
	set, err := folder.New(source.Retry(n.store), paths, offsets, labels, nil)
	require.NoError(t, err)
	l := openLoader(t, p, set)
	r := start(t, l, p, photos, pipeline.Options{Workers: 2, Streams: 1})
	m := newModel(p, photos, 1, 0)
	var batches [][]int64
	for k := range int64(count) {
		batches = append(batches, []int64{k, (k + 5) % count})
	}
	n.spoil("limit_data", 0.4, map[string]any{"bytes": 300}) // the header of an answer, and some of its body
	for k, got := range r.epoch(batches, 3, nil) {           // what was cut three times in a row is Pillow's to read
		requireOutcome(t, m.batch(batches[k]), got, "batch %d", k)
	}
	n.heal("limit_data")
	require.Positive(t, l.Stats.Remote.Retries.Load())

	n.spoil("limit_data", 1, map[string]any{"bytes": 100}) // no answer has its header
	r.submit(0)
	ask := r.question(pipeline.AskPixels)
	require.Contains(t, ask.Reason, photos[0].name)
	require.NoError(t, second(r.run.Reject()))
	n.heal("limit_data")

	n.spoil("timeout", 1, map[string]any{"timeout": 0}) // connections are taken, and nothing comes
	r.submit(1, 2, 3)
	time.Sleep(20 * time.Millisecond)
	begin := time.Now()
	left, err := r.run.Reset()
	require.NoError(t, err)
	require.Zero(t, left, "a storage that listens to its context is not left")
	require.Less(t, time.Since(begin), 5*time.Second)
	n.heal("timeout")
	r.submit(4)
	require.Equal(t, delivered, r.result(nil).kind)
}

// Rows behind a network that is cut in the middle of them.
func TestRowsBehindANetworkThatIsCut(t *testing.T) {
	leakcheck.Check(t)
	memory := sourcetest.Noise(64*1024, 1)
	n := newNetwork(t, map[string][]byte{"/rows": memory})
	file, err := source.Retry(n.store).Open(t.Context(), n.url+"/rows")
	require.NoError(t, err)
	row := tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{1024}}
	rows, err := array.New(64, []array.Field{{Row: row, Arrays: []array.Array{{File: file, Rows: 64, Strides: []int{1024, 1}}}}})
	require.NoError(t, err)
	p := &plan.Plan{Source: plan.Source{Kind: plan.Array, Fields: stacked(row)}, Parts: []plan.Part{{Count: 64}}}
	l := pipeline.OpenRows(p, rows)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	r := start(t, l, p, nil, pipeline.Options{Workers: 2, Streams: 1})
	n.spoil("limit_data", 0.4, map[string]any{"bytes": 700})
	came := 0
	for k := range int64(8) {
		r.submit(7*k%64, 63-k, k)
		lease, _, err := r.next()
		if err != nil {
			require.ErrorIs(t, err, source.ErrUnreadable)
			require.ErrorContains(t, err, "/rows at byte ")
			continue
		}
		came++
		for i, at := range []int64{7 * k % 64, 63 - k, k} {
			require.Equal(t, memory[1024*at:1024*at+1024], lease.Slot.Bytes()[1024*i:1024*i+1024], fmt.Sprint(at))
		}
		lease.Slot.Release()
	}
	require.Positive(t, came)
	require.Positive(t, l.Stats.Remote.Retries.Load())
}
