//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithThis lets a command end with this program.
func endWithThis(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// guard is the stage of a Guard. Requests to end go to the whole group, so it leaves them to the command.
func guard() int {
	runtime.LockOSThread() // with this thread the command ends
	unix.CloseOnExec(controlFile)
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	var g guarded
	err := errors.Join(json.Unmarshal([]byte(os.Getenv(envPlan)), &g), unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	cmd := &exec.Cmd{Path: g.Path, Args: g.Args, Env: g.Env, Dir: g.Dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err == nil {
		endWithThis(cmd)
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", g.Path, err)
		return 127
	}
	_ = os.Stdin.Close() // the command alone reads it
	ended, wanted := make(chan error, 1), make(chan struct{})
	go func() { ended <- cmd.Wait() }()
	go func() {
		_, _ = os.NewFile(controlFile, "control").Read(make([]byte, 1)) // there is none: it ends
		close(wanted)
	}()
	select {
	case <-ended:
	case <-wanted:
		killAll(cmd)
		<-ended
	}
	killAll(cmd)
	if s, is := cmd.ProcessState.Sys().(syscall.WaitStatus); is && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
