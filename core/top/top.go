// Package top shows what a process does to people on its machine, whatever that process's own code is stuck in: Go answers.
package top

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Whoever connects and does not write or read is not waited for any longer; and for so long, where there are no files left to accept with.
const answerMax = time.Second

// Server is a socket in Linux's abstract namespace, "goloader-PID-" and a random number, which has no file. It sends one line of
// JSON to whoever connects and is of this process's user, or root, and nothing to others.
type Server struct {
	listener *net.UnixListener
	look     func(request string) any
}

// requestMax is more than any request takes.
const requestMax = 64

// Listen begins to serve what look says at each moment, to what whoever connects has written.
func Listen(look func(request string) any) (*Server, error) {
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // which never fails
	name := fmt.Sprintf("@goloader-%d-%x", os.Getpid(), salt)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	s := &Server{listener, look}
	go s.serve()
	return s, nil
}

// FD is the socket's, -1 if it is closed: a forked child is to close it.
func (s *Server) FD() int {
	found := -1
	if raw, err := s.listener.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { found = int(fd) })
	}
	return found
}

// Close ends it, without waiting for an answer that is under way.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) serve() {
	for {
		conn, err := s.listener.AcceptUnix()
		switch {
		case err == nil:
			s.answer(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(answerMax)
		}
	}
}

func (s *Server) answer(conn *net.UnixConn) {
	defer conn.Close()
	defer func() { _ = recover() }() // who looks is sent nothing
	if !trusted(conn) || conn.SetDeadline(time.Now().Add(answerMax)) != nil {
		return
	}
	request, err := io.ReadAll(io.LimitReader(conn, requestMax))
	if err != nil && conn.SetDeadline(time.Now().Add(answerMax)) != nil {
		return
	}
	if line, err := json.Marshal(s.look(string(request))); err == nil {
		_, _ = conn.Write(append(line, '\n'))
	}
}

// trusted asks the kernel who has connected.
func trusted(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	controlled := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return controlled == nil && err == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
}
