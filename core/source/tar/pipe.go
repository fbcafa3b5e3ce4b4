package tar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/goloader/goloader/core/source/stream"
)

const (
	// brokenPipe is how a command ends that was not read to its end; webdataset takes it for none as well.
	brokenPipe = 128 + int(syscall.SIGPIPE)
	// Of what a command says on its standard error, the end is kept for messages.
	saidMax = 512
)

// pipe is what a command writes.
type pipe struct {
	io.Reader
	command *exec.Cmd
	said    tail
	over    bool
	stop    func() bool
}

// start has a shell run a command, in a group of its own, so that what it starts ends with it.
func start(ctx context.Context, line string) (*pipe, error) {
	p := &pipe{command: exec.Command("/bin/sh", "-c", line)}
	p.command.Env, p.command.Stderr = stream.Environment(ctx), &p.said
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.Reader = out
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.stop = context.AfterFunc(ctx, p.kill)
	return p, nil
}

func (p *pipe) kill() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) }

// Read implements io.Reader; a command that has failed is an error at its end.
func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != io.EOF || n > 0 || p.over {
		return n, err
	}
	return 0, p.wait()
}

func (p *pipe) wait() error {
	p.over = true
	p.stop()
	err := p.command.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && exit.ExitCode() == brokenPipe:
		return io.EOF
	case p.said.Len() > 0:
		return fmt.Errorf("the command failed: %w: %s", err, strings.TrimSpace(p.said.String()))
	default:
		return fmt.Errorf("the command failed: %w", err)
	}
}

// Close ends the command if it still runs.
func (p *pipe) Close() error {
	if !p.over {
		p.kill()
		_ = p.wait()
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if more := t.Len() - saidMax; more > 0 {
		t.Next(more)
	}
	return len(p), nil
}
