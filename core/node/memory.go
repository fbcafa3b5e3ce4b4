package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Memory is memory that several processes have by its name: a memfd. Whoever has it keeps it open, so that others find it in
// /proc/PID/fd, also when the process that made it is gone; with the last one it is gone, however that ended. No file is left.
type Memory struct{ fd int }

// Whoever looks for a name holds it for less than that, unless it was stopped then.
const lockWait = time.Second

// How it is said that nobody can cut the memory away under those who have it mapped.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// Named opens the memory of a name that this process, its parent, a sibling or a child has; if none has, it makes one of
// so many bytes, zeroed, and lets fill, if there is one, write into it before anybody else sees it and nobody may write.
// The name tells what is in it: memory of the same name and another size is another.
func Named(name string, size int64, fill func(memory []byte)) (*Memory, error) {
	name = fmt.Sprintf("goloader-%s-%d", name, size)
	unlock, err := lock(name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if fd, found := find(name, size); found {
		return &Memory{fd}, nil
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	m := &Memory{fd}
	if err := m.make(size, fill); err != nil {
		m.Close()
		return nil, fmt.Errorf("memfd of %d bytes: %w", size, err)
	}
	return m, nil
}

func (m *Memory) make(size int64, fill func(memory []byte)) error {
	if err := unix.Ftruncate(m.fd, size); err != nil {
		return err
	}
	add := seals
	if fill != nil {
		if err := m.Reserve(0, size); err != nil {
			return err
		}
		memory, err := unix.Mmap(m.fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		fill(memory)
		if err := unix.Munmap(memory); err != nil {
			return err
		}
		add |= unix.F_SEAL_WRITE
	}
	_, err := unix.FcntlInt(uintptr(m.fd), unix.F_ADD_SEALS, add)
	return err
}

// FD is its file descriptor, for mem.Map; good until Close.
func (m *Memory) FD() int { return m.fd }

// Reserve makes sure that there is memory behind some of its bytes: without, writing to them could end the process.
func (m *Memory) Reserve(offset, size int64) error {
	for {
		err := unix.Fallocate(m.fd, 0, offset, size)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Close ends this process's interest; what is mapped stays.
func (m *Memory) Close() { _ = unix.Close(m.fd) }

// lock makes sure that no other process of this user looks for a name meanwhile. It is an address in the abstract namespace,
// which one socket at a time can have, and which is gone with its process.
func lock(name string) (unlock func(), err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	address := &unix.SockaddrUnix{Name: fmt.Sprintf("@%s-%d", name, os.Getuid())}
	for end := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		err = unix.Bind(fd, address)
		if !errors.Is(err, unix.EADDRINUSE) || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("the name %s: %w", name, err)
	}
	return func() { _ = unix.Close(fd) }, nil
}

// find opens memory that a process of the family has.
func find(name string, size int64) (fd int, found bool) {
	want := "/memfd:" + name + " (deleted)"
	for _, pid := range family() {
		folder := filepath.Join("/proc", strconv.Itoa(pid), "fd")
		links, err := os.ReadDir(folder)
		if err != nil {
			continue // gone, or of another user
		}
		for _, link := range links {
			path := filepath.Join(folder, link.Name())
			if to, err := os.Readlink(path); err != nil || to != want {
				continue
			}
			if fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
				if whole(fd, want, size) {
					return fd, true
				}
				_ = unix.Close(fd)
			}
		}
	}
	return 0, false
}

// whole reports whether a file is the memory that was looked for: the descriptor may have become another's meanwhile.
func whole(fd int, want string, size int64) bool {
	to, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(fd)))
	if err != nil || to != want {
		return false
	}
	var stat unix.Stat_t
	has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err == nil && has&seals == seals && unix.Fstat(fd, &stat) == nil && stat.Size == size
}

// family is the process itself, its parent, its siblings and its children: torchrun's ranks are siblings, and those that
// Lightning starts are children of the first.
func family() []int {
	self, parent := os.Getpid(), os.Getppid()
	found := []int{self, parent}
	all, _ := os.ReadDir("/proc")
	for _, each := range all {
		pid, err := strconv.Atoi(each.Name())
		if err != nil || pid == self || pid == parent {
			continue
		}
		if of := parentOf(pid); of == self || of == parent {
			found = append(found, pid)
		}
	}
	return found
}

// parentOf is a process's parent; 0 if it is gone. proc(5): the second field is a name in brackets, which may hold anything.
func parentOf(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
