package main

import (
	"io"
	"slices"
	"time"
)

// process is the part of the process environment that commands use.
type process struct {
	name           string // program name as called
	args           []string
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
}

// jsonFlag selects JSON for output and errors.
const jsonFlag = "json"

// wantsJSON checks the raw arguments, because errors may occur before they are parsed.
func (p *process) wantsJSON() bool { return slices.Contains(p.args, "--"+jsonFlag) }
