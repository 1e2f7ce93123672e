package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
)

// Offered is a tool that a server offers to agents.
type Offered struct {
	Server      string `json:"server"`
	Name        string `json:"name"`
	Repeat      string `json:"repeat,omitempty"` // why a call may be repeated: readOnly, idempotent, keyed
	Description string `json:"description"`
}

// Probed is what servers are like when they are started for a moment.
type Probed struct {
	Servers []State   `json:"servers"`
	Tools   []Offered `json:"tools"`
}

// ProbeFile is Probe for a configuration file, with the grants of a directory. Errors are *NoServerError, or those of the file.
func ProbeFile(ctx context.Context, path string, getenv func(string) string, grants, name string, start bool) (Probed, error) {
	loaded, findings := config.Load(path, getenv)
	if err := findings.Err(); err != nil {
		return Probed{}, err
	}
	o := Options{Config: func() *config.Config { return loaded }, Logger: slog.New(slog.DiscardHandler), Getenv: getenv, Version: buildinfo.Read().Version, Grants: grants}
	p := Probe(ctx, o, name, start)
	if name != "" && len(p.Servers) == 0 {
		return p, &NoServerError{name}
	}
	return p, nil
}

// NoServerError reports a server that the configuration does not have.
type NoServerError struct{ Name string }

func (e *NoServerError) Error() string { return fmt.Sprintf("mcp.servers has no %q", e.Name) }

// Code is the stable code of the error.
func (e *NoServerError) Code() string { return "no_server" }

// Hint says what to do.
func (e *NoServerError) Hint() string { return "openclawd mcp list lists the servers" }

// Running is what a running openclawd says of its servers, or of the one that is named. Errors are *NoServerError.
func Running(list []health.MCPServer, name string) (Probed, error) {
	at := func(ms int64) (t time.Time) {
		if ms > 0 {
			t = time.UnixMilli(ms)
		}
		return t
	}
	p := Probed{Servers: []State{}, Tools: []Offered{}}
	for i := range list {
		s := &list[i]
		if name != "" && s.Name != name {
			continue
		}
		p.Servers = append(p.Servers, State{Name: s.Name, Transport: s.Transport, Launch: s.Launch, State: string(s.State), Tools: s.Tools, Server: s.Version,
			Protocol: s.Protocol, Starts: s.Starts, Failures: s.Failures, Error: s.Error, RetryAt: at(s.RetryAt), Since: at(s.Since), Problems: s.Problems, Log: s.Log})
	}
	if name != "" && len(p.Servers) == 0 {
		return p, &NoServerError{name}
	}
	return p, nil
}

// Probe starts the servers of a configuration, or the one that is named, and ends them again. With start false it only says which there are.
func Probe(ctx context.Context, o Options, name string, start bool) Probed {
	s := New(o)
	defer s.Close()
	if start {
		s.Await(ctx, func(prefix string) bool { return name == "" || prefix == config.MCPPrefix(name) })
	}
	p := Probed{Servers: []State{}, Tools: []Offered{}}
	for _, state := range s.States() {
		if name == "" || state.Name == name {
			p.Servers = append(p.Servers, state)
		}
	}
	for _, set := range s.Sets() {
		for _, t := range set.Tools() {
			p.Tools = append(p.Tools, Offered{Server: t.Effect.Server, Name: t.Name, Repeat: string(t.Effect.Repeat), Description: t.Description})
		}
	}
	return p
}

// maxCell bounds a text in a table, in bytes.
const maxCell = 90

// ServerTable is the servers as a table.
func (p Probed) ServerTable() (head []string, rows [][]string) {
	for i := range p.Servers {
		s := &p.Servers[i]
		rows = append(rows, []string{s.Name, s.Transport, s.State, strconv.Itoa(len(s.Tools)), s.Server, s.Launch, coordination.Clipped(s.Error, maxCell)})
	}
	return []string{"SERVER", "TRANSPORT", "STATE", "TOOLS", "VERSION", "LAUNCH", "ERROR"}, rows
}

// ToolTable is the tools as a table.
func (p Probed) ToolTable() (head []string, rows [][]string) {
	for _, t := range p.Tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		rows = append(rows, []string{t.Name, t.Repeat, coordination.Clipped(first, maxCell)})
	}
	return []string{"TOOL", "REPEATABLE", "DESCRIPTION"}, rows
}
