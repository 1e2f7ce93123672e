// Package sandboxes reads what probes of the sandboxes of agents' commands have found, from their streams. There are few, so they have no tables.
package sandboxes

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections"
)

// Probe is what the last probe of an agent's sandbox has found. It says nothing about the settings.
type Probe struct {
	AgentID string `json:"agentId"`
	coordination.SandboxProbed
}

const selectProbes = `SELECT s.name, e.data FROM streams s JOIN events e ON e.stream_id = s.id AND e.type = ?3
 WHERE s.name >= ?1 AND s.name < ?2 ORDER BY s.name, e.version DESC`

// Last returns the last probe of each kind of sandbox of each agent, the last one of an agent first, "" for all agents. Agents whose sandbox
// was never probed are absent.
func Last(ctx context.Context, tx *sql.Tx, agentID string) ([]Probe, error) {
	from, to := coordination.SandboxStreams, strings.TrimSuffix(coordination.SandboxStreams, "/")+"0" // after the slash
	if agentID != "" {
		from = coordination.SandboxStream(agentID)
		to = from + "\x00"
	}
	list := []Probe{}
	seen := map[string]bool{}
	err := projections.EachRow(ctx, tx, "read probes of sandboxes", selectProbes, []any{from, to, coordination.TypeSandboxProbed}, func(rows *sql.Rows) error {
		var stream string
		var data []byte
		if err := rows.Scan(&stream, &data); err != nil || len(data) == 0 {
			return err
		}
		e := Probe{AgentID: strings.TrimPrefix(stream, coordination.SandboxStreams)}
		if err := json.Unmarshal(data, &e.SandboxProbed); err != nil {
			return err
		}
		if kind := stream + " " + e.Kind; !seen[kind] {
			seen[kind] = true
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// Head names the columns of Row.
func Head() []string {
	return []string{"AGENT", "KIND", "SANDBOXED", "PROBED", "NETWORK", "FOUND"}
}

// Row is what was found, for a table.
func (e *Probe) Row() []string {
	sandboxed, network := "no", "no"
	if e.Sandboxed {
		sandboxed = "yes"
	}
	if e.Network {
		network = "yes"
	}
	return []string{e.AgentID, e.Kind, sandboxed, output.Time(e.ProbedAtMs), network, e.found()}
}

// found says in one line what a probe has found.
func (e *Probe) found() string {
	var open, shut []string
	for _, f := range e.Findings {
		if f.Reached {
			open = append(open, f.Check)
		} else {
			shut = append(shut, f.Check)
		}
	}
	switch {
	case e.Error != "":
		return e.Error
	case len(open) == 0:
		return "not reached: " + strings.Join(shut, ", ")
	case len(shut) == 0:
		return "reached: " + strings.Join(open, ", ")
	}
	return "reached: " + strings.Join(open, ", ") + "; not reached: " + strings.Join(shut, ", ")
}

// Viewer is a log that can be read.
type Viewer interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// CodeOpen is the code of findings about a sandbox that does not hold, HintOpen their hint.
const (
	CodeOpen = "sandbox_open"
	HintOpen = "openclawd sandbox explain shows what was reached; install bubblewrap, or use Linux 6.12, and commands are run again"
)

// Summary is Held for what a log has.
func Summary(ctx context.Context, log Viewer) (open bool, found string, err error) {
	var list []Probe
	err = log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = Last(ctx, tx, "")
		return err
	})
	open, found = Held(list)
	return open, found, err
}

// Held says in one line what the last probes have found. open reports an agent whose last probe has found no sandbox that holds.
func Held(list []Probe) (open bool, found string) {
	held := map[string]bool{}
	for i := range list {
		if _, known := held[list[i].AgentID]; !known { // the last one is about what is in use
			held[list[i].AgentID] = list[i].Sandboxed
		}
	}
	var without []string
	for agent, holds := range held {
		if !holds {
			without = append(without, agent)
		}
	}
	slices.Sort(without)
	switch {
	case len(held) == 0:
		return false, "no sandbox of agents' commands was probed yet: no agent has run a command"
	case len(without) > 0:
		return true, "no sandbox holds for the commands of " + strings.Join(without, ", ") + ", by the last probes"
	}
	return false, "the sandbox held when it was last probed, for the commands of " + output.Count(int64(len(held)), "agent")
}

// Whether an agent's commands are kept in.
const (
	Holds    = "holds"    // the sandbox in use held
	Open     = "open"     // none held: commands are refused
	Off      = "off"      // there is none, as configured: commands do what the user of openclawd may do
	Unprobed = "unprobed" // no command was run
)

// State is whether the commands of an agent are kept in, by its last probes, not by the settings.
type State struct {
	State      string `json:"state"`                // Holds, Open, Off, Unprobed
	Kind       string `json:"kind,omitempty"`       // of the sandbox that was probed last: bubblewrap, landlock, container; off
	Why        string `json:"why"`                  // in words
	ProbedAtMs int64  `json:"probedAtMs,omitempty"` // 0: never
}

// States are the states of agents by id, as Last lists their probes. StateOf completes them.
func States(list []Probe) map[string]State {
	states := map[string]State{}
	for i := range list {
		e := &list[i]
		s, known := states[e.AgentID]
		switch {
		case !known && e.Sandboxed:
			s = State{State: Holds, Why: "nothing outside was reached by the last probe"}
		case !known && e.Kind == Off:
			s = State{State: Off, Why: "tools.exec.sandbox is off: commands do what the user of openclawd may do"}
		case !known:
			s = State{State: Open, Why: "commands are refused: " + e.Kind + ": " + e.found()}
		case s.State == Open && !e.Sandboxed && e.Kind != Off: // another kind that was tried, too
			s.Why += "; " + e.Kind + ": " + e.found()
		default:
			continue
		}
		if !known {
			s.Kind, s.ProbedAtMs = e.Kind, e.ProbedAtMs
		}
		states[e.AgentID] = s
	}
	return states
}

// StateOf is the state of an agent, in lower case.
func StateOf(states map[string]State, agentID string) State {
	if s, known := states[agentID]; known {
		return s
	}
	return State{State: Unprobed, Why: "no command was run yet, so no sandbox was probed"}
}
