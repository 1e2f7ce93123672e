package sessiontools

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	usualMessages   = 200
	maxHistoryBytes = 80 << 10
)

// History is sessions_history.
func History(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_history", Group: tool.GroupSessions, Label: "Session history",
			Description: "Read the newest messages of a session that you may see. Long texts are shortened and secrets masked.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["sessionKey"],"properties":{
				"sessionKey":{"type":"string","minLength":1,"maxLength":512,"description":"Key, id or label of the session."},
				"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"Maximum number of messages. Default 200."},
				"includeTools":{"type":"boolean","description":"Include tool calls and their results. Default false."}
			}}`),
		},
		Who: notSubagents(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[historyArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return view(ctx, o.Log, func(tx *sql.Tx) (any, *refusal, error) { return args.read(ctx, tx, call) })
		},
	}
}

type historyArgs struct {
	SessionKey   string `json:"sessionKey"`
	Limit        int    `json:"limit"`
	IncludeTools bool   `json:"includeTools"`
}

type historyAnswer struct {
	SessionKey string `json:"sessionKey"` // full key
	SessionID  string `json:"sessionId,omitempty"`
	transcript
}

func (a *historyArgs) read(ctx context.Context, tx *sql.Tx, call *tools.Call) (any, *refusal, error) {
	one, refused, err := target(ctx, tx, call, a.SessionKey)
	if err != nil || refused != nil {
		return nil, refused, err
	}
	limit := a.Limit
	if limit == 0 {
		limit = usualMessages
	}
	said, err := read(ctx, tx, one.ID, limit, a.IncludeTools, maxHistoryBytes)
	return &historyAnswer{SessionKey: one.Key, SessionID: one.ID, transcript: said}, nil, err
}
