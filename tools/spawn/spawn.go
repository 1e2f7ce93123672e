// Package spawn defines the tools with which agents start and manage sub-agents, and deletes the sessions of finished ones.
package spawn

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
)

// Log is the part of the store that is used here, with the projections flows, runs and sessions.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
	eventstore.Decider
}

// Spawner is the part of the messenger that sessions_spawn uses.
type Spawner interface {
	Spawn(ctx context.Context, r messenger.SpawnRequest) (messenger.SpawnResult, error)
}

// Stopper ends flows.
type Stopper interface {
	Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error)
}

// Options of Tools and Cleanup. Tools requires all; Cleanup needs neither Spawner nor Stopper.
type Options struct {
	Log     Log
	Spawner Spawner
	Stopper Stopper
	Now     func() time.Time
	NewID   func() string // returns a new UUID
}

// Tools returns the tools of this package.
func Tools(o Options) []tools.Tool { return []tools.Tool{Spawn(o), Subagents(o)} }

// depthOf returns the spawn depth of a call's session as far as the call knows it; at least one for a sub-agent's.
func depthOf(call *tools.Call) int {
	if call.Session.Kind != coordination.KeySubagent {
		return 0
	}
	return max(call.Depth, 1)
}

// tooDeep reports whether the session of a call is too deep to start sub-agents. The messenger, which looks the depth up, decides
// finally.
func tooDeep(call *tools.Call) bool {
	return depthOf(call) >= call.Config.Defaults.Subagents.MaxSpawnDepth
}

// Spawn is sessions_spawn.
func Spawn(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_spawn", Group: tool.GroupSessions, Label: "Sub-agent",
			Description: "Start a sub-agent in a new session, in the background, for work that can run in parallel to yours. The call returns at once; " +
				"the result arrives in this session as a message. Do not wait or poll for it.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["task"],"properties":{
				"task":{"type":"string","minLength":1,"maxLength":65536,
					"description":"What the sub-agent should do. Include all context: it does not see this session."},
				"label":{"type":"string","minLength":1,"maxLength":64,"description":"A short name for the sub-agent, unique among sessions."},
				"agentId":{"type":"string","minLength":1,"maxLength":64,"description":"Agent that does the work. Default: you. agents_list shows which agents you may start."},
				"model":{"type":"string","minLength":1,"maxLength":256,"description":"Model as provider/id. Default: as configured."},
				"thinking":{"type":"string","minLength":1,"maxLength":64,"description":"Thinking level: off, minimal, low, medium, high or xhigh."},
				"runTimeoutSeconds":{"type":"number","minimum":0,"maximum":31536000,"description":"Time limit in seconds; 0: no limit. Default: as configured."},
				"timeoutSeconds":{"type":"number","minimum":0,"maximum":31536000,"description":"Alias of runTimeoutSeconds."},
				"cleanup":{"type":"string","enum":["keep","delete"],"description":"keep (the default): keep its session for a while after it ends. delete: delete it."},
				"taskId":{"type":"string","maxLength":128,"description":"Id of the task this belongs to."},
				"workSessionId":{"type":"string","maxLength":128,"description":"Work session this belongs to. Default: determined automatically."},
				"parentConversationId":{"type":"string","maxLength":128,"description":"Conversation this comes from."},
				"depth":{"type":"integer","minimum":0,"maximum":1000,"description":"Depth of the sub-agent, if greater than the known depth. Limits ignore it."},
				"hop":{"type":"integer","minimum":0,"maximum":1000,"description":"How often the request was forwarded before."}
			}}`),
		},
		Who: tools.Who{Unless: tooDeep},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[spawnArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			result, err := o.Spawner.Spawn(ctx, args.request(call))
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

func (a *spawnArgs) request(call *tools.Call) messenger.SpawnRequest {
	r := messenger.SpawnRequest{
		From: call.Caller, Key: call.CallID, Agent: a.AgentID, Task: a.Task, Label: a.Label, Model: a.Model, Think: a.Thinking, Cleanup: a.Cleanup,
		TaskID: coordination.TrimJS(a.TaskID), WorkSessionID: coordination.TrimJS(a.WorkSessionID),
		ParentConversationID: coordination.TrimJS(a.ParentConversationID), Depth: a.Depth, Hop: a.Hop,
	}
	seconds := a.RunTimeoutSeconds
	if seconds == nil {
		seconds = a.TimeoutSeconds
	}
	if seconds != nil {
		whole := time.Duration(*seconds) * time.Second // whole seconds, as in the original
		r.Run = &whole
	}
	return r
}
