package continuations

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "continuation"

// version of the fold. Increment it with every change of what it writes.
const version = "2"

// Definition describes the projection "continuation".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"continuation"},
		New: func(name func(string) string) projections.Projector {
			return &projector{agents: newAgents(name("continuation"))}
		},
	}
}

type projector struct {
	agents *projections.Table[string, Row]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.agents} }

// Apply folds one event into the state of its agent. It never refuses an event: an event that is inconsistent or
// cannot be read changes nothing.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	agent := strings.ToLower(e.AgentID)
	if e.Actor == eventstore.ActorImport || agent == "" || !isHome(e, agent) {
		return nil
	}
	known, err := p.agents.Get(tx, agent)
	if err != nil {
		return err
	}
	var state continuation.State
	if known != nil {
		state = known.State
	}
	data := []byte(e.Data)
	if e.Redacted() {
		data = left(e, &state)
	}
	if means, err := state.Apply(e.Type, agent, data, e.TS); err != nil || !means {
		return nil
	}
	row, _, err := p.agents.Edit(tx, agent)
	if err != nil {
		return err
	}
	*row = Row{AgentID: agent, State: state, Seq: e.Seq}
	return nil
}

// isHome reports whether an event is relevant here and is in the stream of its subject: the agent, a task, or a run.
func isHome(e *projections.Event, agent string) bool {
	family, _, _ := strings.Cut(e.Type, ".")
	switch family {
	case "continuation", "resume_reminder":
		return e.Stream == agentStreams+agent
	case "task", "unblock", "zombie":
		return strings.HasPrefix(e.Stream, taskStreams) && (e.Redacted() || e.Stream == coordination.TaskStream(e.Record.TaskID))
	case "run":
		return strings.HasPrefix(e.Stream, runStreams) && (e.Redacted() || e.Stream == coordination.RunStream(e.Record.RunID))
	}
	return false
}

// Prefixes of stream names.
const (
	agentStreams = "agent/"
	taskStreams  = "task/"
	runStreams   = "run/"
)

// left returns what a redacted event still says through its stream: that it was about this task, or the end of the run
// of the last prompt. What it asked of others, or reported to them, is lost.
func left(e *projections.Event, s *continuation.State) []byte {
	if strings.HasPrefix(e.Type, "unblock.") {
		return nil
	}
	if s.Prompt.RunID != "" && e.Stream == coordination.RunStream(s.Prompt.RunID) {
		return object("runId", s.Prompt.RunID)
	}
	for id := range s.Tasks {
		if e.Stream == coordination.TaskStream(id) {
			return object("taskId", id)
		}
	}
	return nil
}

func object(name, text string) []byte {
	data, _ := json.Marshal(map[string]string{name: text}) // texts always marshal
	return data
}

var columns = []string{"agent", "failures", "cause", "backoff_until", "last_seq", "state"}

func newAgents(table string) *projections.Table[string, Row] {
	return projections.NewTable(projections.Columns[string, Row]{
		Table: table, Key: 1, Fixed: 1, Keep: 200, Names: columns,
		Lookup: "agent = ?", LookUp: func(agent string) []any { return []any{agent} },
		Scan: func(r eventstore.Row, row *Row) (err error) {
			*row, err = scan(r.Text(0), r.Int(4), r.Text(5))
			return err
		},
		Args: func(args []any, row *Row) []any {
			state, _ := json.Marshal(&row.State) // numbers, texts and flags always marshal
			return append(args, row.AgentID, row.Failures, row.Cause, row.BackoffUntil, row.Seq, string(state))
		},
	})
}

// scan decodes what Args has written.
func scan(agent string, seq int64, state string) (Row, error) {
	row := Row{AgentID: agent, Seq: seq}
	if err := json.Unmarshal([]byte(state), &row.State); err != nil {
		return Row{}, fmt.Errorf("read continuation state of agent %s: %w", agent, err)
	}
	return row, nil
}
