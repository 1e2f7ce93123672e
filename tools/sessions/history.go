package sessions

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Bounds of sessions_history.
const (
	usualMessages   = 200
	maxHistoryBytes = 80 << 10
)

// History is sessions_history.
func History(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_history", Group: tool.GroupSessions, Label: "Session history",
			Description: "Read the newest messages of a session that you may see. Long texts are cut, and secrets masked.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["sessionKey"],"properties":{
				"sessionKey":{"type":"string","minLength":1,"maxLength":512,"description":"The key of the session, its id or its label."},
				"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"At most this many messages; 200 if absent."},
				"includeTools":{"type":"boolean","description":"With calls of tools and their results; false if absent."}
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
	SessionKey string `json:"sessionKey"` // the whole key
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
