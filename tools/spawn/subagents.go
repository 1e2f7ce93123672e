package spawn

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	usualRecent = 30  // minutes
	maxRecent   = 200 // finished sub-agents
)

const (
	actionList  = "list"
	actionKill  = "kill"
	actionSteer = "steer"
)

const (
	statusOK        = "ok"
	statusDone      = "done" // there was nothing to stop
	statusForbidden = "forbidden"
	statusError     = "error"
)

// Subagents is subagents: it lists and stops the sub-agents of a session.
func Subagents(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "subagents", Group: tool.GroupSessions, Label: "Sub-agents",
			Description: "List the sub-agents of this session (action list), or stop sub-agents together with those they started (action kill). " +
				"Results arrive automatically: do not poll with list.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"action":{"type":"string","enum":["list","kill","steer"],"description":"Default list."},
				"target":{"type":"string","minLength":1,"maxLength":256,
					"description":"For kill: label, list number, run id or session key of a sub-agent; or last, or all."},
				"message":{"type":"string","maxLength":4000,"description":"For steer, which is not supported: kill the sub-agent and start a new one."},
				"recentMinutes":{"type":"integer","minimum":1,"maximum":1440,
					"description":"Also list sub-agents that ended in the last N minutes. Default 30."}
			}}`),
		},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[subagentsArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			s := subagents{o: &o, call: call, args: args, now: o.Now()}
			return s.do(ctx)
		},
	}
}

type subagentsArgs struct {
	Action        string `json:"action"`
	Target        string `json:"target"`
	RecentMinutes int    `json:"recentMinutes"`
}

type subagents struct {
	o    *Options
	call *tools.Call
	args subagentsArgs
	now  time.Time
}

type refusal struct {
	Status string `json:"status"` // forbidden, error
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	Code   string `json:"code"`
	Error  string `json:"error"`
	Hint   string `json:"hint"`
}

func (s *subagents) refuse(status, code, why, hint string) (tool.Output, error) {
	return tools.Refuse(refusal{Status: status, Action: s.args.Action, Target: s.args.Target, Code: code, Error: why, Hint: hint})
}

func (s *subagents) do(ctx context.Context) (tool.Output, error) {
	if s.args.Action == "" {
		s.args.Action = actionList
	}
	if s.args.RecentMinutes == 0 {
		s.args.RecentMinutes = usualRecent
	}
	if s.args.Action == actionSteer {
		return s.refuse(statusError, "not_supported", "a sub-agent cannot be given another message while it works",
			"kill it, and start another one with sessions_spawn")
	}
	own, err := s.read(ctx)
	if err != nil {
		return tool.Output{}, err
	}
	if s.args.Action == actionKill {
		return s.kill(ctx, own)
	}
	return tools.Answer(s.list(own))
}
