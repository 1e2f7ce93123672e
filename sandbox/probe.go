package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Finding is what a probe tried to reach.
type Finding struct {
	Check   string `json:"check"`
	Reached bool   `json:"reached"` // it is open
	Detail  string `json:"detail,omitempty"`
}

// What a probe tries.
const (
	CheckReadOutside  = "read_outside"
	CheckWriteOutside = "write_outside"
	CheckProtected    = "protected_files" // the database, the token and other files of the program
	CheckNetwork      = "network"
	CheckSockets      = "sockets" // of programs of this machine
	CheckProcesses    = "processes"
	CheckEnvironment  = "environment"
	CheckMounts       = "mounts"
	CheckWorkspace    = "workspace" // the one that must be reached
)

// Checks lists them.
func Checks() []string {
	return []string{CheckReadOutside, CheckWriteOutside, CheckProtected, CheckNetwork, CheckSockets, CheckProcesses, CheckEnvironment, CheckMounts, CheckWorkspace}
}

// Report is the result of a probe.
type Report struct {
	Kind      Kind      `json:"kind"`
	Network   bool      `json:"network"`   // commands are meant to have it
	Sandboxed bool      `json:"sandboxed"` // commands can be run, and reach nothing that they should not
	Findings  []Finding `json:"findings"`
	Error     string    `json:"error,omitempty"` // why the probe could not be run in this sandbox
	TookMs    int64     `json:"tookMs"`
}

// Open lists what is open, and nothing if the sandbox holds.
func (r *Report) Open() (checks []string) {
	for _, f := range r.Findings {
		if f.Reached != (f.Check == CheckWorkspace) && !(f.Check == CheckNetwork && r.Network) {
			checks = append(checks, f.Check)
		}
	}
	return checks
}

// targets are what a probe inside tries to reach.
type targets struct {
	Canary    string   `json:"canary"`  // a file outside
	Text      string   `json:"text"`    // its content, which is in the environment of another process too
	Outside   string   `json:"outside"` // a directory outside
	Address   string   `json:"address"`
	Datagrams string   `json:"datagrams"`
	Socket    string   `json:"socket"`
	Abstract  string   `json:"abstract"`
	Process   int      `json:"process"`
	Protected []string `json:"protected"`
	Home      string   `json:"home"`
	Program   string   `json:"program"` // the file of this program
}

const (
	stageProbe   = "probe"
	stageCanary  = "canary"
	ownProgram   = "openclawd:own" // stands for the path of this program inside
	probeTimeout = 20 * time.Second
	envTargets   = "OPENCLAWD_SANDBOX_TARGETS"
	envCanary    = "OPENCLAWD_SANDBOX_CANARY"
)

// Probe runs a command in a sandbox that tries to get out, and reports what it reached. outside is a directory that commands must not reach;
// protected are files and directories likewise.
func Probe(ctx context.Context, c *Command, outside string, protected []string) Report {
	began := time.Now()
	r := Report{Kind: c.Kind, Network: c.Network}
	if err := usable(); err != nil {
		r.Error = err.Error()
		return r
	}
	if err := r.probe(ctx, c, outside, protected); err != nil {
		r.Error = err.Error()
	}
	r.Sandboxed = r.Error == "" && c.Kind != Off && len(r.Open()) == 0 && len(r.Findings) == len(Checks())
	r.TookMs = time.Since(began).Milliseconds()
	return r
}

func (r *Report) probe(ctx context.Context, c *Command, outside string, protected []string) error {
	ctx, stop := context.WithTimeout(ctx, probeTimeout)
	defer stop()
	b, err := newBait(ctx, outside)
	if err != nil {
		return err
	}
	defer b.close()
	b.Protected, b.Home = protected, c.Home
	text, err := json.Marshal(b.targets)
	if err != nil {
		return err
	}
	own := *c
	var out bytes.Buffer
	own.Argv, own.Output, own.Dir, own.Stdin = []string{ownProgram, "sandbox"}, &out, c.Home, nil
	own.Env = append(slices.Clone(c.Env), envStage+"="+stageProbe, envTargets+"="+string(text))
	result, err := Run(ctx, &own)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), &r.Findings); err != nil || result.Exit != 0 {
		return fmt.Errorf("the probe did not run in it (exit status %d): %.500s", result.Exit, strings.TrimSpace(strings.ToValidUTF8(out.String(), "\uFFFD")))
	}
	b.observe(r)
	return nil
}

// bait is what a probe tries to reach, seen from outside.
type bait struct {
	targets
	dir      string
	process  *exec.Cmd
	gone     chan struct{}
	closers  []func() error
	accepted [2]atomic.Int64 // connections over the network, and over sockets of this machine
}

func newBait(ctx context.Context, outside string) (b *bait, err error) {
	b = &bait{gone: make(chan struct{})}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.dir, err = os.MkdirTemp(outside, ".openclawd-probe-"); err != nil {
		return b, err
	}
	b.Outside, b.Canary, b.Text = b.dir, filepath.Join(b.dir, "canary"), rand.Text()
	if err := os.WriteFile(b.Canary, []byte(b.Text), 0o644); err != nil {
		return b, err
	}
	if err := b.listen(ctx); err != nil {
		return b, err
	}
	exe, err := os.Executable()
	if err != nil {
		return b, err
	}
	b.Program = exe
	b.process = exec.Command(exe, "sandbox")
	b.process.Env = []string{envStage + "=" + stageCanary, envCanary + "=" + b.Text}
	in, err := b.process.StdinPipe() // it ends when this is closed
	if err != nil {
		return b, err
	}
	if err := b.process.Start(); err != nil {
		b.process = nil
		return b, err
	}
	b.closers = append(b.closers, in.Close)
	b.Process = b.process.Process.Pid
	go func() {
		_ = b.process.Wait()
		close(b.gone)
	}()
	return b, nil
}

// maxSocketPath is the longest path of a socket, in bytes, that all systems take. No command could connect to a longer one either.
const maxSocketPath = 103

// listen opens the addresses and sockets that must not be reached.
func (b *bait) listen(ctx context.Context) error {
	b.Socket, b.Abstract = filepath.Join(b.dir, "s"), "@openclawd-probe-"+b.Text
	var l net.ListenConfig
	if len(b.Socket) > maxSocketPath {
		b.Socket = ""
	}
	for i, place := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", b.Socket}, {"unix", b.Abstract}} {
		if place[1] == "" {
			continue
		}
		listener, err := l.Listen(ctx, place[0], place[1])
		if err != nil {
			return err
		}
		b.closers = append(b.closers, listener.Close)
		if i == 0 {
			b.Address = listener.Addr().String()
		}
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				b.accepted[min(i, 1)].Add(1)
				_ = c.Close()
			}
		}()
	}
	packets, err := l.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.closers, b.Datagrams = append(b.closers, packets.Close), packets.LocalAddr().String()
	go func() {
		for {
			if _, _, err := packets.ReadFrom(make([]byte, 16)); err != nil {
				return
			}
			b.accepted[0].Add(1)
		}
	}()
	return nil
}

// settle is how long a process that was ended, or a datagram, may take to be seen.
const settle = 200 * time.Millisecond

// observe adds what was seen from outside, which the probe inside may not have noticed.
func (b *bait) observe(r *Report) {
	reached := func(check, detail string) {
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Check == check && !f.Reached {
				f.Reached, f.Detail = true, detail
			}
		}
	}
	select {
	case <-b.gone:
		reached(CheckProcesses, "a process outside was ended")
	case <-time.After(settle):
	}
	if text, err := os.ReadFile(b.Canary); err != nil || string(text) != b.Text {
		reached(CheckWriteOutside, "a file outside was changed")
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "canary" && e.Name() != "s" }) {
		reached(CheckWriteOutside, "a file was made outside")
	}
	if b.accepted[0].Load() > 0 {
		reached(CheckNetwork, "an address of this machine was reached")
	}
	if b.accepted[1].Load() > 0 {
		reached(CheckSockets, "a socket of this machine was reached")
	}
}

func (b *bait) close() {
	var errs []error
	for _, end := range b.closers {
		errs = append(errs, end())
	}
	if b.process != nil {
		<-b.gone
	}
	_ = errors.Join(append(errs, os.RemoveAll(b.dir))...) // what is left is only bait
}
