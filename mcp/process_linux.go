package mcp

import (
	"os/exec"
	"syscall"
)

// endWithThis lets a program end with this one, however that ends.
func endWithThis(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
