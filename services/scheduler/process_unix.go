//go:build unix

package scheduler

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, all of which ends when its context does.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}

func killGroup(command *exec.Cmd) {
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // none is left: that is the aim
	}
}
