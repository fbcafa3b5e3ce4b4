package source_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goloader/goloader/core/mem"
	"github.com/goloader/goloader/core/source"
	"github.com/goloader/goloader/tests_go/mem/leakcheck"
	"github.com/goloader/goloader/tests_go/source/sourcetest"
)

func add(t *testing.T, buf *source.Buffer, b []byte) {
	t.Helper()
	room, err := buf.Room(len(b))
	require.NoError(t, err)
	require.Len(t, room, len(b))
	buf.Add(copy(room, b))
}

func TestAnEmptyBufferHoldsNoMemory(t *testing.T) {
	leakcheck.Check(t)
	var buf source.Buffer
	require.Zero(t, buf.Len())
	buf.Reset(0)
	buf.Free()
	buf.Free()
}

func TestBytesStayThroughEveryGrowthStep(t *testing.T) {
	leakcheck.Check(t)
	var buf source.Buffer
	defer buf.Free()
	var want []byte
	for k := range 40 {
		more := sourcetest.Noise(1+k*9000, uint64(k))
		add(t, &buf, more)
		want = append(want, more...)
	}
	require.Equal(t, len(want), buf.Len())
	require.True(t, bytes.Equal(want, buf.Slice(0, buf.Len())))
	require.EqualValues(t, 1, mem.InUse(mem.Files).Blocks, "only the last memory is kept")
}

// What was asked for and not filled is not used: a file cut while it is read leaves no gap.
func TestOnlyWhatIsAddedCounts(t *testing.T) {
	leakcheck.Check(t)
	var buf source.Buffer
	defer buf.Free()
	add(t, &buf, []byte("one"))
	room, err := buf.Room(1000)
	require.NoError(t, err)
	buf.Add(copy(room, "two"))
	add(t, &buf, []byte("three"))
	require.Equal(t, "onetwothree", string(buf.Slice(0, buf.Len())))
}

func TestVectorLoadsBehindTheLastByteStayInMemory(t *testing.T) {
	leakcheck.Check(t)
	for _, n := range []int{0, 1, 2<<20 - source.Slack, 2<<20 - source.Slack + 1, 2 << 20, 3 << 20} {
		var buf source.Buffer
		room, err := buf.Room(n)
		require.NoError(t, err)
		require.GreaterOrEqual(t, mem.InUse(mem.Files).Bytes, int64(n+source.Slack))
		require.Len(t, room, n)
		buf.Free()
	}
}

func TestResetKeepsUsualMemoryAndDropsUnusual(t *testing.T) {
	leakcheck.Check(t)
	const keep = 8 << 20
	var buf source.Buffer
	defer buf.Free()
	add(t, &buf, make([]byte, 1000))
	before := mem.InUse(mem.Files)
	buf.Reset(keep)
	require.Zero(t, buf.Len())
	require.Equal(t, before, mem.InUse(mem.Files))
	add(t, &buf, make([]byte, 1000))
	require.Equal(t, before, mem.InUse(mem.Files), "nothing is mapped again")

	add(t, &buf, make([]byte, keep))
	require.Greater(t, mem.InUse(mem.Files).Bytes, int64(keep))
	buf.Reset(keep)
	require.Zero(t, mem.InUse(mem.Files).Blocks)
	add(t, &buf, []byte("goes on"))
	require.Equal(t, "goes on", string(buf.Slice(0, 7)))
}

func TestABufferThatCannotGrowKeepsWhatItHas(t *testing.T) {
	leakcheck.Check(t)
	var buf source.Buffer
	defer buf.Free()
	add(t, &buf, []byte("kept"))
	_, err := buf.Room(1 << 60)
	require.ErrorIs(t, err, mem.ErrNoMemory)
	require.Equal(t, "kept", string(buf.Slice(0, buf.Len())))
}
