//go:build !linux || !(amd64 || arm64)

package sandbox

import "os/exec"

const supported = false

type container struct{}

func runStage(string) int { return 1 }

func detach(*exec.Cmd) {}

// endWithThis does nothing: when this program is killed the input of a command ends, on which some end.
func endWithThis(*exec.Cmd) {}
