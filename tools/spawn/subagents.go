package spawn

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Bounds of subagents.
const (
	usualRecent = 30  // minutes
	maxRecent   = 200 // sub-agents that are done
)

// Actions of subagents.
const (
	actionList  = "list"
	actionKill  = "kill"
	actionSteer = "steer"
)

// Statuses of answers.
const (
	statusOK        = "ok"
	statusDone      = "done" // there was nothing to stop
	statusForbidden = "forbidden"
	statusError     = "error"
)

// Subagents is subagents: what has become of the sub-agents that a session has started.
func Subagents(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "subagents", Group: tool.GroupSessions, Label: "Sub-agents",
			Description: "List the sub-agents that this session has started (action list), or stop some with all that they have started (action kill). " +
				"Their results come by themselves: do not list them again and again to wait.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"action":{"type":"string","enum":["list","kill","steer"],"description":"list if absent."},
				"target":{"type":"string","minLength":1,"maxLength":256,
					"description":"Of kill: the label, number in the list, run id or session key of a sub-agent; last, or all."},
				"message":{"type":"string","maxLength":4000,"description":"Of steer, which is not there: kill and start anew instead."},
				"recentMinutes":{"type":"integer","minimum":1,"maximum":1440,
					"description":"Of those that are done, only what ended within so many minutes; 30 if absent."}
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

// subagents is one call.
type subagents struct {
	o    *Options
	call *tools.Call
	args subagentsArgs
	now  time.Time
}

// refusal says why nothing is done.
type refusal struct {
	Status string `json:"status"` // forbidden, error
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	Code   string `json:"code"`
	Error  string `json:"error"`
	Mend   string `json:"mend"`
}

func (s *subagents) refuse(status, code, why, mend string) (tool.Output, error) {
	return tools.Refuse(refusal{Status: status, Action: s.args.Action, Target: s.args.Target, Code: code, Error: why, Mend: mend})
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
