//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Places inside of a container.
const (
	containerExe   = "/run/openclawd-sandbox/program"
	containerAlive = "/run/openclawd-sandbox/alive"
)

// container is a command line of podman or docker, and what stands for the life of the supervisor.
type container struct {
	plan  *plan
	name  string
	dir   string   // of the supervisor's own
	alive *os.File // a pipe: while it is open for writing, the first process inside goes on
}

// newContainer makes the pipe, which only this process can write to.
func (p *plan) newContainer() (c *container, err error) {
	if strings.ContainsAny(p.Home+p.Exe, ",\"\n") {
		return nil, errors.New("the paths of the workspace and of openclawd must have no comma, quotation mark and line break for a container")
	}
	c = &container{plan: p, name: "openclawd-" + strings.ToLower(rand.Text())}
	if c.dir, err = os.MkdirTemp("", "openclawd-container-"); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, "alive")
	if err = unix.Mkfifo(path, 0o600); err == nil {
		c.alive, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err == nil {
		err = os.Chmod(path, 0o400)
	}
	if err != nil {
		c.close(false)
		return nil, err
	}
	return c, nil
}

// args are the arguments of the engine. The plan is in its environment, not in them: every process could read them.
func (c *container) args() []string {
	p := c.plan
	mount := func(from, to string) string { return "type=bind,source=" + from + ",target=" + to }
	args := []string{"run", "--rm", "--interactive", "--pull", "never", "--name", c.name, "--hostname", "sandbox", "--read-only", "--cap-drop", "all",
		"--security-opt", "no-new-privileges", "--pids-limit", strconv.Itoa(p.Limits.Processes), "--memory", strconv.FormatInt(p.Limits.Memory, 10),
		"--memory-swap", strconv.FormatInt(p.Limits.Memory, 10), "--tmpfs", "/tmp:rw,nosuid,nodev,mode=1777,size=" + tmpfsSize, "--shm-size", tmpfsSize,
		"--mount", mount(p.Home, p.Home), "--mount", mount(p.Exe, containerExe) + ",readonly", "--mount", mount(filepath.Join(c.dir, "alive"), containerAlive) + ",readonly",
		"--workdir", p.Dir, "--user", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()), "--env", envStage, "--env", envPlan, "--entrypoint", containerExe}
	if !p.Network {
		args = append(args, "--network", "none")
	}
	if filepath.Base(p.Engine) == "podman" {
		args = append(args, "--read-only-tmpfs=false", "--image-volume=tmpfs")
		if os.Geteuid() != 0 {
			args = append(args, "--userns", "keep-id")
		}
	}
	return append(args, p.Image, "sandbox")
}

// command is the engine with the stage that restricts itself inside.
func (c *container) command() (*exec.Cmd, error) {
	inner := *c.plan
	inner.Exe, inner.Temp, inner.EngineEnv = containerExe, "/tmp", nil
	text, err := inner.encode()
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: c.plan.Engine, Args: append([]string{filepath.Base(c.plan.Engine)}, c.args()...), Dir: "/",
		Env: append([]string{envStage + "=enter", envPlan + "=" + string(text)}, c.plan.EngineEnv...)}, nil
}

// removeTime bounds the removal of a container.
const removeTime = 20 * time.Second

// close ends the container, and removes it if the engine may have left it.
func (c *container) close(left bool) {
	if c.alive != nil {
		_ = c.alive.Close()
	}
	if left {
		ctx, stop := context.WithTimeout(context.Background(), removeTime)
		defer stop()
		remove := exec.CommandContext(ctx, c.plan.Engine, "rm", "--force", c.name)
		remove.Env, remove.Dir, remove.WaitDelay = c.plan.EngineEnv, "/", time.Second
		_ = remove.Run() // it may be gone already
	}
	_ = os.RemoveAll(c.dir)
}

// endWithSupervisor ends this process, the first one of a container, and so all others of it, once the supervisor is gone.
func endWithSupervisor() error {
	alive, err := os.OpenFile(containerAlive, os.O_RDONLY|unix.O_NONBLOCK, 0) // if it is gone already, nothing else would end the wait
	if err != nil {
		return fmt.Errorf("watch the supervisor: %w", err)
	}
	go func() {
		b := make([]byte, bytes.MinRead)
		for {
			if _, err := alive.Read(b); err != nil {
				os.Exit(128 + int(unix.SIGKILL))
			}
		}
	}()
	return nil
}
