package main

import (
	"io"
	"slices"
	"time"
)

// process is what the commands have of the process they run in.
type process struct {
	name           string // under which it was called
	args           []string
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
}

// jsonFlag asks for answers, and errors, in JSON.
const jsonFlag = "json"

// wantsJSON looks at the bare arguments, because an error may come before they are parsed.
func (p *process) wantsJSON() bool { return slices.Contains(p.args, "--"+jsonFlag) }
