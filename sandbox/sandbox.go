// Package sandbox runs commands so that they reach nothing but their workspace, and finds out whether that is so.
//
// A command is run by two further stages of this program: one supervises it outside of the sandbox, ends all that it has started when it
// ends, when it takes too much, or when this process ends however that happens; one restricts itself inside and becomes the command.
//
// It promises
//   - that a command gets only the environment that it is given;
//   - that no process of a command outlives it or the process that started it;
//   - that nothing is called a sandbox which a Probe, run inside of it, has found to be open.
package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is a way of keeping commands in.
type Kind string

const (
	Bubblewrap Kind = "bubblewrap" // namespaces, by the program bwrap
	Landlock   Kind = "landlock"   // rules of the kernel and a filter of system calls
	Container  Kind = "container"  // podman or docker, with an image
	Off        Kind = "off"        // none: only limits
)

// Limits bound what a command may take. Zero members are the usual ones.
type Limits struct {
	Processes int   `json:"processes"`
	Memory    int64 `json:"memory"`   // bytes, of all processes together
	FileSize  int64 `json:"fileSize"` // bytes, of one file
	Disk      int64 `json:"disk"`     // bytes, of all files of the workspace and the temporary directory; what is there before is allowed
	OpenFiles int   `json:"openFiles"`
}

func (l Limits) orUsual() Limits {
	usual := Limits{Processes: 256, Memory: 2 << 30, FileSize: 1 << 30, Disk: 8 << 30, OpenFiles: 1024}
	if l.Processes == 0 {
		l.Processes = usual.Processes
	}
	if l.Memory == 0 {
		l.Memory = usual.Memory
	}
	if l.FileSize == 0 {
		l.FileSize = usual.FileSize
	}
	if l.Disk == 0 {
		l.Disk = usual.Disk
	}
	if l.OpenFiles == 0 {
		l.OpenFiles = usual.OpenFiles
	}
	return l
}

// Command is what is run.
type Command struct {
	Kind    Kind
	Argv    []string
	Env     []string // all of its environment
	Home    string   // the workspace, which it may change
	Dir     string   // where it starts: Home or below
	Network bool     // it may use the network
	Image   string   // of a Container; it is not fetched
	Limits  Limits
	Stdin   io.Reader // nil: nothing
	Output  io.Writer // gets standard output and error
	Errors  io.Writer // gets standard error; nil: Output does
}

// plan is what the stages are told.
type plan struct {
	Kind    Kind     `json:"kind"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Home    string   `json:"home"`
	Dir     string   `json:"dir"`
	Network bool     `json:"network"`
	Limits  Limits   `json:"limits"`
	Exe     string   `json:"exe"`    // this program
	Bwrap   string   `json:"bwrap"`  // the program bwrap
	Engine  string   `json:"engine"` // the program podman or docker
	Image   string   `json:"image"`
	Temp    string   `json:"temp"`   // a directory of its own for temporary files
	Mounts  bool     `json:"mounts"` // it has mounts and process numbers of its own, beside Landlock

	EngineEnv []string `json:"engineEnv"` // the environment of the engine

	within *container // of the supervisor of a Container
}

// encode writes a plan, with < and & as they are: shells use them, and their escapes would make it six times as long.
func (p *plan) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(p)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Reasons why a command was ended.
const (
	EndedByTimeout   = "timeout"
	EndedByCaller    = "killed"
	EndedByProcesses = "too many processes"
	EndedByMemory    = "too much memory"
	EndedByDisk      = "too much disk"
)

// Result is how a command ended.
type Result struct {
	Exit   int    `json:"exit"`   // 128 and the number of the signal, if it was ended by one
	Reason string `json:"reason"` // why it was ended before its time; "" if it ended by itself
}

// Process is a running command.
type Process struct {
	cmd     *exec.Cmd
	control io.Closer // the supervisor ends everything when it is closed
	once    sync.Once
	mu      sync.Mutex
	reason  string
	done    chan struct{}
	result  Result
	err     error
}

// envStage names the stage that this program is to be.
const envStage, envPlan = "OPENCLAWD_SANDBOX_STAGE", "OPENCLAWD_SANDBOX_PLAN"

// ErrNotRun reports a command that was not run, and had no effect.
var ErrNotRun = errors.New("the command was not run")

// hasMain says that this program can be a stage.
var hasMain atomic.Bool

// Main is called first in every main. It does not return in a stage of a sandbox.
func Main() {
	hasMain.Store(true)
	if stage := os.Getenv(envStage); stage != "" {
		os.Exit(runStage(stage))
	}
}

// ErrUnsupported reports a system that has no sandbox.
var ErrUnsupported = errors.New("commands cannot be run in a sandbox on this system")

// usable reports why no command can be started. A program that does not call Main would run itself again instead of a stage.
func usable() error {
	switch {
	case !supported:
		return ErrUnsupported
	case !hasMain.Load():
		return errors.New("this program does not call sandbox.Main, so it runs no commands")
	}
	return nil
}

// Start starts a command. It ends when ctx ends.
func Start(ctx context.Context, c *Command) (*Process, error) {
	if err := usable(); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	pl := plan{Kind: c.Kind, Argv: c.Argv, Env: c.Env, Home: c.Home, Dir: c.Dir, Network: c.Network, Limits: c.Limits.orUsual(), Exe: exe}
	if c.Kind == Bubblewrap {
		if pl.Bwrap, err = exec.LookPath("bwrap"); err != nil {
			return nil, fmt.Errorf("find bwrap: %w", err)
		}
	}
	if c.Kind == Container {
		if err := pl.findEngine(c.Image); err != nil {
			return nil, err
		}
	}
	text, err := pl.encode()
	if err != nil {
		return nil, err
	}
	return start(ctx, c, exe, text)
}

// findEngine finds podman or docker, and what of this environment they need to find their containers.
func (p *plan) findEngine(image string) (err error) {
	if image == "" {
		return errors.New("a container needs an image")
	}
	p.Image = image
	for _, name := range []string{"podman", "docker"} {
		if p.Engine, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return errors.New("neither podman nor docker is in PATH")
	}
	for _, name := range []string{"PATH", "HOME", "USER", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
		"DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF"} {
		if value, is := os.LookupEnv(name); is {
			p.EngineEnv = append(p.EngineEnv, name+"="+value)
		}
	}
	return nil
}

func start(ctx context.Context, c *Command, exe string, plan []byte) (*Process, error) {
	controlled, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, controlled.Close(), control.Close())
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{"openclawd", "sandbox"}, Env: []string{envStage + "=supervise"}, Dir: "/", Stdin: c.Stdin, Stdout: c.Output,
		Stderr: errorsOf(c), ExtraFiles: []*os.File{controlled, tell}, WaitDelay: 5 * time.Second}
	detach(cmd)
	err = cmd.Start()
	_, _ = controlled.Close(), tell.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the supervisor: %w", err), control.Close(), told.Close())
	}
	p := &Process{cmd: cmd, control: control, done: make(chan struct{})}
	if _, err := control.Write(append(plan, '\n')); err != nil {
		p.Kill(EndedByCaller)
	}
	stop := context.AfterFunc(ctx, func() {
		reason := EndedByCaller
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = EndedByTimeout
		}
		p.Kill(reason)
	})
	go p.follow(told, stop)
	return p, nil
}

func errorsOf(c *Command) io.Writer {
	if c.Errors != nil {
		return c.Errors
	}
	return c.Output
}

// follow waits for the end.
func (p *Process) follow(told *os.File, stop func() bool) {
	text, _ := io.ReadAll(io.LimitReader(told, 64<<10))
	_ = told.Close()
	err := p.cmd.Wait()
	stop()
	p.Kill("")
	var said struct {
		Result
		Error string `json:"error"`
	}
	switch {
	case json.Unmarshal(text, &said) != nil:
		p.err = fmt.Errorf("the supervisor of the command ended: %w", errors.Join(err, errors.New("it did not say how the command ended")))
	case said.Error != "":
		p.err = fmt.Errorf("%w: %s", ErrNotRun, said.Error)
	}
	p.result = said.Result
	p.mu.Lock()
	if p.reason != "" {
		p.result.Reason = p.reason
	}
	p.mu.Unlock()
	close(p.done)
}

// Kill ends the command and all that it has started.
func (p *Process) Kill(reason string) {
	p.once.Do(func() {
		p.mu.Lock()
		p.reason = reason
		p.mu.Unlock()
		_ = p.control.Close()
	})
}

// Done is closed when the command and all that it has started have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result returns how the command ended, once Done is closed. ErrNotRun means that it was not run; how it ended is unknown after another error.
func (p *Process) Result() (Result, error) { return p.result, p.err }

// Run runs a command to its end.
func Run(ctx context.Context, c *Command) (Result, error) {
	p, err := Start(ctx, c)
	if err != nil {
		return Result{}, err
	}
	<-p.Done()
	return p.Result()
}
