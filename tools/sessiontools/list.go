package sessiontools

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	usualRows    = 50
	maxListBytes = 160 << 10
)

// List is sessions_list.
func List(o Options) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_list", Group: tool.GroupSessions, Label: "Sessions",
			Description: "List the sessions that you may see, most recently changed first, optionally with their newest messages.",
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
				"kinds":{"type":"array","items":{"type":"string","maxLength":32},"maxItems":16,
					"description":"Only sessions of these kinds: main, group, cron, hook, node, other."},
				"limit":{"type":"integer","minimum":1,"maximum":200,"description":"Maximum number of sessions. Default 50."},
				"activeMinutes":{"type":"integer","minimum":1,"maximum":5256000,"description":"Only sessions changed in the last N minutes."},
				"messageLimit":{"type":"integer","minimum":0,"maximum":20,
					"description":"Number of newest messages to include for each session, without tool messages."}
			}}`),
		},
		Who: notSubagents(),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[listArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			return view(ctx, o.Log, func(tx *sql.Tx) (any, *refusal, error) {
				found, err := args.read(ctx, tx, call, o.Now())
				return found, nil, err
			})
		},
	}
}

type listArgs struct {
	Kinds         []string `json:"kinds"`
	Limit         int      `json:"limit"`
	ActiveMinutes int      `json:"activeMinutes"`
	MessageLimit  int      `json:"messageLimit"`
}

type listAnswer struct {
	Count     int          `json:"count"`
	Sessions  []sessionRow `json:"sessions"`
	Truncated bool         `json:"truncated,omitempty"` // there are more
}

func (a *listArgs) read(ctx context.Context, tx *sql.Tx, call *tools.Call, now time.Time) (*listAnswer, error) {
	limit, since := a.Limit, int64(0)
	if limit == 0 {
		limit = usualRows
	}
	if a.ActiveMinutes > 0 {
		since = now.Add(-time.Duration(a.ActiveMinutes) * time.Minute).UnixMilli()
	}
	kinds := slices.DeleteFunc(slices.Clone(a.Kinds), func(kind string) bool { return !slices.Contains(kindNames(), kind) })
	result, bytes := &listAnswer{Sessions: []sessionRow{}}, 0
	err := access.For(call.Config, call.Session, call.AgentID).List(ctx, tx, since, func(one *sessions.Session) (bool, error) {
		if len(kinds) > 0 && !slices.Contains(kinds, kindOf(one)) {
			return true, nil
		}
		if len(result.Sessions) == limit {
			result.Truncated = true
			return false, nil
		}
		r := rowOf(call.Config, one)
		if a.MessageLimit > 0 {
			said, err := read(ctx, tx, one.ID, a.MessageLimit, false, maxRowBytes)
			if err != nil {
				return false, err
			}
			r.Messages = said.Messages
		}
		size, err := sizeOf(r)
		if err != nil {
			return false, err
		}
		if bytes += size; bytes > maxListBytes {
			result.Truncated = true
			return false, nil
		}
		result.Sessions = append(result.Sessions, r)
		return true, nil
	})
	result.Count = len(result.Sessions)
	return result, err
}
