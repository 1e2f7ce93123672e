//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const supported = true

// detach gives the supervisor a session of its own, so that it outlives a signal to the group of this process and can clear up.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func runStage(stage string) int {
	switch stage {
	case "supervise":
		return supervise()
	case "enter":
		return enter()
	case stageGuard:
		return guard()
	case stageProbe:
		return probeInside()
	case stageCanary:
		return waitForEnd()
	}
	return 1
}

// Files of the supervisor, given by its starter.
const (
	controlFile = 3 // a line with the plan; it ends when all is to end
	tellFile    = 4 // takes how the command ended
)

// supervise runs the command in its sandbox and ends all that it leaves behind.
func supervise() int {
	unix.CloseOnExec(controlFile)
	unix.CloseOnExec(tellFile)
	tell := os.NewFile(tellFile, "tell")
	control := bufio.NewReader(os.NewFile(controlFile, "control"))
	var p plan
	line, err := control.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p)
	}
	var result Result
	if err == nil {
		result, err = p.supervise(control)
	}
	said := map[string]any{"exit": result.Exit, "reason": result.Reason}
	if err != nil {
		said["error"] = err.Error()
	}
	_ = json.NewEncoder(tell).Encode(said)
	return 0
}

func (p *plan) supervise(control *bufio.Reader) (result Result, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return result, fmt.Errorf("adopt the command's processes: %w", err)
	}
	if p.Kind == Container {
		c, err := p.newContainer()
		if err != nil {
			return result, err
		}
		p.within = c
		defer func() { c.close(result.Reason != "" || result.Exit > 128) }()
	} else if p.Kind != Bubblewrap {
		if p.Temp, err = os.MkdirTemp("", "openclawd-sandbox-"); err != nil {
			return result, err
		}
		defer os.RemoveAll(p.Temp)
	}
	cmd, err := p.start()
	if err != nil {
		return result, err
	}
	ended, wanted := make(chan error, 1), make(chan struct{})
	go func() { ended <- cmd.Wait() }()
	go func() {
		_, _ = control.ReadByte() // there is none: it ends
		close(wanted)
	}()
	result.Reason = p.watch(ended, wanted, cmd)
	killAll(cmd)
	result.Exit = cmd.ProcessState.ExitCode()
	if s, is := cmd.ProcessState.Sys().(syscall.WaitStatus); is && s.Signaled() {
		result.Exit = 128 + int(s.Signal())
	}
	return result, nil
}

// Intervals of looking at what the command takes. A number of processes is looked at more often, by a cheap count of the whole system.
const (
	countEvery  = 15 * time.Millisecond
	weightEvery = 8 // counts
)

// watch waits for the end of the command, or ends it.
func (p *plan) watch(ended <-chan error, wanted <-chan struct{}, cmd *exec.Cmd) (reason string) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	before := tasks()
	full := p.watchDisk()
	defer full.stop()
	for n := 1; ; n++ {
		select {
		case <-ended:
			return reason
		case <-wanted:
			reason = EndedByCaller
		case <-full.reached:
			reason = EndedByDisk
		case <-tick.C:
			if many := tasks()-before > p.Limits.Processes; !many && n%weightEvery != 0 {
				continue
			}
			processes, memory := weight()
			switch {
			case processes > p.Limits.Processes:
				reason = EndedByProcesses
			case memory > p.Limits.Memory:
				reason = EndedByMemory
			}
		}
		if reason != "" {
			killAll(cmd)
			<-ended
			return reason
		}
	}
}

// tasks is the number of threads of the whole system.
func tasks() int {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0
	}
	_, all, _ := strings.Cut(fields[3], "/")
	n, _ := strconv.Atoi(all)
	return n
}

// killAll ends the command and all that it has started, also what has left its group.
func killAll(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	for range 1000 {
		all := descendants()
		if len(all) == 0 {
			return
		}
		for _, d := range all {
			if d.pid != cmd.Process.Pid { // which is waited for elsewhere
				_ = unix.Kill(d.pid, unix.SIGKILL)
			}
		}
		left := false
		for _, d := range all {
			if d.parent == os.Getpid() && d.pid != cmd.Process.Pid {
				_, _ = unix.Wait4(d.pid, nil, 0, nil)
			}
			left = left || d.pid != cmd.Process.Pid
		}
		if !left {
			return
		}
	}
}

// weight is what the command takes: its number of processes, and the bytes of their memory.
func weight() (processes int, memory int64) {
	for _, d := range descendants() {
		processes++
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.pid))
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			memory += pages * int64(os.Getpagesize())
		}
	}
	return processes, memory
}

type relative struct{ pid, parent int }

// descendants are the processes that descend from this one.
func descendants() (all []relative) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			all = append(all, relative{child, next[0]})
			next = append(next, child)
		}
	}
	return all
}

func parentOf(pid int) (parent int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}

// start starts the command, for Landlock in namespaces of its own where the system allows that.
func (p *plan) start() (cmd *exec.Cmd, err error) {
	p.Mounts = p.Kind == Landlock
	for {
		if cmd, err = p.command(); err != nil {
			return nil, err
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Start()
		if err != nil && p.Mounts {
			p.Mounts = false
			continue
		}
		if err != nil {
			err = fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), errors.Unwrap(err))
		}
		return cmd, err
	}
}

// command is what the supervisor starts: the stage that restricts itself, or bwrap with it.
func (p *plan) command() (*exec.Cmd, error) {
	if p.Kind == Container {
		return p.within.command()
	}
	inner := *p
	if p.Kind == Bubblewrap {
		inner.Exe, inner.Temp = insideExe, "/tmp"
	}
	text, err := inner.encode()
	if err != nil {
		return nil, err
	}
	environment := []string{envStage + "=enter", envPlan + "=" + string(text)}
	if p.Kind == Bubblewrap {
		// The stage inside takes the plan from its environment, not from arguments, which every process could read, and gives the command its own.
		return &exec.Cmd{Path: p.Bwrap, Args: append([]string{"bwrap"}, p.bubblewrap()...), Dir: "/", Env: environment}, nil
	}
	cmd := &exec.Cmd{Path: p.Exe, Args: []string{"openclawd", "sandbox"}, Env: environment, Dir: p.Dir, SysProcAttr: &syscall.SysProcAttr{Setsid: true,
		Pdeathsig: syscall.SIGKILL}}
	if p.Mounts {
		own := cmd.SysProcAttr
		own.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNS
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
			own.Cloneflags |= syscall.CLONE_NEWUSER
			own.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			own.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
			own.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP} // others are lost when this program is executed
		}
	}
	return cmd, nil
}

// insideExe is where this program is inside of bubblewrap.
const insideExe = "/run/openclawd"

// tmpfsSize bounds the bytes of a file system in memory, which the supervisor does not see.
const tmpfsSize = "268435456"

// bubblewrap are the arguments of bwrap.
func (p *plan) bubblewrap() []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"}
	if p.Network {
		args = append(args, "--share-net")
	}
	for _, name := range readable {
		if to, err := os.Readlink(name); err == nil && !filepath.IsAbs(to) {
			args = append(args, "--symlink", to, name)
		} else {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	args = append(args, "--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev", "--perms", "1777", "--size", tmpfsSize, "--tmpfs", "/dev/shm",
		"--remount-ro", "/dev", "--perms", "1777", "--size", tmpfsSize, "--tmpfs", "/tmp", "--ro-bind", p.Exe, insideExe, "--bind", p.Home, p.Home, "--remount-ro", "/", "--chdir", p.Dir)
	return append(args, "--", insideExe, "sandbox")
}

// readable is what commands may read and execute, apart from their workspace: programs, libraries, and settings without secrets.
var readable = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt",
	"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/default/locale", "/etc/fonts", "/etc/gai.conf",
	"/etc/gitconfig", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/inputrc", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/locale.conf", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki/tls", "/etc/profile",
	"/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone"}
