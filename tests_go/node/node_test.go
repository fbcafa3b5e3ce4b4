// Package node_test plays several ranks: in one process, which finds its own memory by name as it finds others', and in
// processes that are killed.
package node_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goloader/goloader/core/node"
)

// fresh is a name that no other test has.
func fresh() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()) }

// rank is one of several, of one run each.
type rank struct {
	*node.Cores
	told node.Need
}

func ranks(t *testing.T, count, cores int) []*rank {
	name := fresh()
	all := make([]*rank, count)
	for i := range all {
		c, err := node.OpenCores(name, i, count, cores)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		all[i] = &rank{Cores: c}
	}
	return all
}

func (r *rank) greedy(busy int) int {
	return r.Tell(&r.told, node.Need{Busy: busy, Wants: max(busy, r.Share()), Greedy: true})
}

func (r *rank) wants(n int) int { return r.Tell(&r.told, node.Need{Wants: n}) }

func TestIdleRanksLendTheirCoresAndGetThemBack(t *testing.T) {
	all := ranks(t, 4, 10)
	a, b := all[0], all[1]
	require.Equal(t, 2, a.Share())
	require.Equal(t, 10, a.greedy(0)) // nobody else needs any
	require.Equal(t, 5, b.greedy(0))  // 2, and half of the 6 that neither has
	require.Equal(t, 5, a.greedy(10)) // which has to give some back
	require.Equal(t, 1, all[2].wants(1))
	require.Equal(t, 4, a.greedy(5)) // 2, and half of 10-2-2-1
	for _, r := range all[2:] {
		r.greedy(0)
	}
	require.Equal(t, 2, a.greedy(4)) // all want more, and there is no core more for each
	require.Equal(t, 0, b.wants(0))
	require.Equal(t, 3, a.greedy(2))
}

func TestARankNeverHasLessThanItsShare(t *testing.T) {
	for _, cores := range []int{1, 2, 7, 64} {
		all := ranks(t, 8, cores)
		for _, r := range all {
			for _, other := range all {
				other.wants(1000)
				other.greedy(1000)
			}
			require.GreaterOrEqual(t, r.greedy(1000), r.Share())
			require.GreaterOrEqual(t, r.Share(), 1)
		}
	}
}

// What a rank has said counts for a second: it may have been killed, or stopped.
func TestARankThatSaysNothingNeedsNothing(t *testing.T) {
	all := ranks(t, 2, 8)
	all[1].greedy(4)
	require.Equal(t, 4, all[0].greedy(4))
	require.Eventually(t, func() bool { return all[0].greedy(4) == 8 }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, 4, all[1].greedy(4)) // it goes on
	require.Equal(t, 4, all[0].greedy(8))
}

func TestTheRunsOfARankShareWhatItMayHave(t *testing.T) {
	all := ranks(t, 2, 8)
	var train, check node.Need
	need := func(busy int) node.Need { return node.Need{Busy: busy, Wants: 4, Greedy: true} }
	require.Equal(t, 8, all[0].Tell(&train, need(0)))
	all[0].Tell(&train, need(6))
	require.Equal(t, 2, all[0].Tell(&check, need(0)))
	all[0].Tell(&check, node.Need{})
	require.Equal(t, 8, all[0].Tell(&train, need(6)))
	all[0].Tell(&train, node.Need{})
	require.Equal(t, 8, all[1].greedy(0)) // the first needs nothing any more
}

func TestRanksThatAreNoneAreRefused(t *testing.T) {
	for _, wrong := range [][3]int{{-1, 2, 4}, {2, 2, 4}, {0, 2, 0}} {
		_, err := node.OpenCores(fresh(), wrong[0], wrong[1], wrong[2])
		require.Error(t, err)
	}
	require.Error(t, node.Join(0, 1, 4))
	require.False(t, node.Shares())
}

func mapped(t *testing.T, m *node.Memory, size, protection int) []byte {
	t.Helper()
	memory, err := unix.Mmap(m.FD(), 0, size, protection, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	return memory
}

func TestOneMemoryANameHoweverManyAskAtOnce(t *testing.T) {
	const size, askers = 1 << 16, 12
	name, made := fresh(), 0
	found := make([]*node.Memory, askers)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			var err error
			found[i], err = node.Named(name, size, func(memory []byte) {
				made++ // nobody else is here
				copy(memory, "first of all")
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, made)
	for _, m := range found {
		defer m.Close()
		require.Equal(t, "first of all", string(mapped(t, m, size, unix.PROT_READ)[:12]))
	}
}

func TestNobodyCutsOrOverwritesWhatOthersRead(t *testing.T) {
	const size = 4096
	filled, err := node.Named(fresh(), size, func([]byte) {})
	require.NoError(t, err)
	defer filled.Close()
	shared, err := node.Named(fresh(), size, nil)
	require.NoError(t, err)
	defer shared.Close()
	for _, m := range []*node.Memory{filled, shared} {
		require.ErrorIs(t, unix.Ftruncate(m.FD(), 0), unix.EPERM)
	}
	_, err = unix.Mmap(filled.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EPERM)
	copy(mapped(t, shared, size, unix.PROT_READ|unix.PROT_WRITE), "written")
}

func TestMemoryOfAnotherSizeIsAnother(t *testing.T) {
	name := fresh()
	small, err := node.Named(name, 4096, func(memory []byte) { memory[0] = 1 })
	require.NoError(t, err)
	defer small.Close()
	large, err := node.Named(name, 8192, func(memory []byte) { memory[0] = 2 })
	require.NoError(t, err)
	defer large.Close()
	require.EqualValues(t, 1, mapped(t, small, 4096, unix.PROT_READ)[0])
	require.EqualValues(t, 2, mapped(t, large, 8192, unix.PROT_READ)[0])
}

// A rank that is another process: it says what it has found and sleeps until it is killed.
const asked = "GOLOADER_TEST_NAME"

func TestMain(m *testing.M) {
	if name := os.Getenv(asked); name != "" {
		text := "made"
		memory, err := node.Named(name, 4096, func(memory []byte) { copy(memory, os.Getenv("GOLOADER_TEST_TEXT")) })
		if err == nil {
			var bytes []byte
			if bytes, err = unix.Mmap(memory.FD(), 0, 4096, unix.PROT_READ, unix.MAP_SHARED); err == nil {
				text = string(bytes[:4])
			}
		}
		fmt.Println(text, err)
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func another(t *testing.T, name, text string) (says string, kill func()) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), asked+"="+name, "GOLOADER_TEST_TEXT="+text)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	kill = sync.OnceFunc(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	t.Cleanup(kill)
	says, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return says, kill
}

func TestMemoryOutlivesARankThatIsKilledAndIsGoneWithTheLast(t *testing.T) {
	name := fresh()
	says, killFirst := another(t, name, "1st!")
	require.Equal(t, "1st! <nil>\n", says)
	says, killSecond := another(t, name, "2nd!") // a sibling
	require.Equal(t, "1st! <nil>\n", says)
	killFirst()
	says, killThird := another(t, name, "3rd!")
	require.Equal(t, "1st! <nil>\n", says)
	killSecond()
	killThird()
	says, _ = another(t, name, "4th!")
	require.Equal(t, "4th! <nil>\n", says)
}
