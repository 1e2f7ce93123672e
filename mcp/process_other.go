//go:build !unix

package mcp

import "os/exec"

func own(*exec.Cmd) {}

func terminateGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it has ended already
}
