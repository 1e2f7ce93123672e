//go:build !unix

package subprocess

import "os/exec"

// OwnGroup does nothing: there are no process groups here.
func OwnGroup(*exec.Cmd) {}

// TerminateGroup does nothing: programs cannot be asked to end here.
func TerminateGroup(*exec.Cmd) error { return nil }

// KillGroup ends a started command.
func KillGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
