package mcp

import (
	"context"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
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
		rows = append(rows, []string{s.Name, s.Transport, s.State, strconv.Itoa(len(s.Tools)), s.Server, s.Launch, shortened(s.Error, maxCell)})
	}
	return []string{"SERVER", "TRANSPORT", "STATE", "TOOLS", "VERSION", "LAUNCH", "ERROR"}, rows
}

// ToolTable is the tools as a table.
func (p Probed) ToolTable() (head []string, rows [][]string) {
	for _, t := range p.Tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		rows = append(rows, []string{t.Name, t.Repeat, shortened(first, maxCell)})
	}
	return []string{"TOOL", "REPEATABLE", "DESCRIPTION"}, rows
}
