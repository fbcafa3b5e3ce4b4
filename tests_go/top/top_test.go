package top_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/top"
)

// names are those of this process's sockets.
func names(t *testing.T) (found []string) {
	text, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if name := fields[len(fields)-1]; strings.HasPrefix(name, fmt.Sprintf("@goloader-%d-", os.Getpid())) {
			found = append(found, name)
		}
	}
	return found
}

func ask(t *testing.T, name string) string {
	conn, err := net.DialTimeout("unix", name, time.Second)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("what"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.UnixConn).CloseWrite())
	told, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(told)
}

func TestEachWhoAsksIsToldOfThatMoment(t *testing.T) {
	asked := 0
	server, err := top.Listen(func(request string) any {
		require.Equal(t, "what", request)
		asked++
		if asked == 2 {
			panic("a bug")
		}
		return map[string]int{"asked": asked}
	})
	require.NoError(t, err)
	require.Positive(t, server.FD())
	name := names(t)
	require.Len(t, name, 1)
	for _, want := range []string{`{"asked":1}`, "", `{"asked":3}`} {
		told := ask(t, name[0])
		require.Equal(t, want, strings.TrimSuffix(told, "\n"))
		require.True(t, told == "" || json.Valid([]byte(told)))
	}
	require.NoError(t, server.Close())
	require.Equal(t, -1, server.FD())
	require.Empty(t, names(t))
}
