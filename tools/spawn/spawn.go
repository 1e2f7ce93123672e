// Package spawn holds the tools with which agents start sub-agents and look after them, and takes the sessions of those away that are done.
package spawn

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// Log is what the tools need of the store, with the projections a2a, run and session in it.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
}

// Coordinator is what the tools need of the coordinator of agents.
type Coordinator interface {
	Spawn(ctx context.Context, r a2a.SpawnRequest) (a2a.SpawnResult, error)
	Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error)
}

// Options of Tools and Cleanup. All are required.
type Options struct {
	Log         Log
	Coordinator Coordinator
	Now         func() time.Time
	NewID       func() string // a UUID that nobody has had
}

// Tools are all tools of this package.
func Tools(o Options) []tools.Tool { return []tools.Tool{Spawn(o), Subagents(o)} }

// depthOf is how many sessions have started each other before that of a call, as far as the call says; at least one before a sub-agent's.
func depthOf(call *tools.Call) int {
	if call.Session.Kind != coordination.KeySubagent {
		return 0
	}
	return max(call.Depth, 1)
}

// tooDeep reports whether the session of a call may not start sub-agents because it is too far down itself. The coordinator, who looks it up,
// has the last word.
func tooDeep(call *tools.Call) bool {
	return depthOf(call) >= call.Config.Defaults.Subagents.MaxSpawnDepth
}

// Spawn is sessions_spawn.
func Spawn(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_spawn", Group: tool.GroupSessions, Label: "Sub-agent",
			Description: "Start a sub-agent in a session of its own, in the background, for a task that can be done beside yours. It returns at once; " +
				"the result comes to this session by itself, as a message. Do not wait or poll for it.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["task"],"properties":{
				"task":{"type":"string","minLength":1,"maxLength":65536,
					"description":"What the sub-agent is to do, with all that it has to know: it sees nothing of this session."},
				"label":{"type":"string","minLength":1,"maxLength":64,"description":"A short name for the sub-agent. No two sessions have the same."},
				"agentId":{"type":"string","minLength":1,"maxLength":64,"description":"The agent that does it; you yourself if absent. agents_list shows who may."},
				"model":{"type":"string","minLength":1,"maxLength":256,"description":"The model that it uses, as provider/id; as configured if absent."},
				"thinking":{"type":"string","minLength":1,"maxLength":64,"description":"How hard it thinks: off, minimal, low, medium, high or xhigh."},
				"runTimeoutSeconds":{"type":"number","minimum":0,"maximum":31536000,"description":"How long it may take; 0 is for ever, absent is as configured."},
				"timeoutSeconds":{"type":"number","minimum":0,"maximum":31536000,"description":"The same as runTimeoutSeconds."},
				"cleanup":{"type":"string","enum":["keep","delete"],"description":"Whether its session is kept for a while once it is done (keep, the default)."},
				"taskId":{"type":"string","maxLength":128,"description":"The task that this is part of."},
				"workSessionId":{"type":"string","maxLength":128,"description":"The work session that this is part of; found by itself if absent."},
				"parentConversationId":{"type":"string","maxLength":128,"description":"The conversation that this comes from."},
				"depth":{"type":"integer","minimum":0,"maximum":1000,"description":"How deep the sub-agent is, if deeper than it is known to be; limits do not go by it."},
				"hop":{"type":"integer","minimum":0,"maximum":1000,"description":"How often the request was passed on before."}
			}}`),
		},
		Who: tools.Who{Unless: tooDeep},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[spawnArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			result, err := o.Coordinator.Spawn(ctx, args.request(call))
			switch {
			case err != nil:
				return tool.Output{}, err
			case result.Error != "":
				return tools.Refuse(result)
			}
			return tools.Answer(result)
		},
	}
}

type spawnArgs struct {
	Task                 string   `json:"task"`
	Label                string   `json:"label"`
	AgentID              string   `json:"agentId"`
	Model                string   `json:"model"`
	Thinking             string   `json:"thinking"`
	RunTimeoutSeconds    *float64 `json:"runTimeoutSeconds"`
	TimeoutSeconds       *float64 `json:"timeoutSeconds"`
	Cleanup              string   `json:"cleanup"`
	TaskID               string   `json:"taskId"`
	WorkSessionID        string   `json:"workSessionId"`
	ParentConversationID string   `json:"parentConversationId"`
	Depth                *int     `json:"depth"`
	Hop                  *int     `json:"hop"`
}

func (a *spawnArgs) request(call *tools.Call) a2a.SpawnRequest {
	r := a2a.SpawnRequest{
		From: call.Caller, Key: call.CallID, Agent: a.AgentID, Task: a.Task, Label: a.Label, Model: a.Model, Think: a.Thinking, Cleanup: a.Cleanup,
		TaskID: coordination.TrimJS(a.TaskID), WorkSessionID: coordination.TrimJS(a.WorkSessionID),
		ParentConversationID: coordination.TrimJS(a.ParentConversationID), Depth: a.Depth, Hop: a.Hop,
	}
	seconds := a.RunTimeoutSeconds
	if seconds == nil {
		seconds = a.TimeoutSeconds
	}
	if seconds != nil {
		whole := time.Duration(*seconds) * time.Second // no parts of seconds, as the original has it
		r.Run = &whole
	}
	return r
}
