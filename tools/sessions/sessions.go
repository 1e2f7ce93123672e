// Package sessions holds the tools with which agents look at sessions. What each call reads of the database, it reads in one transaction.
package sessions

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/access"
)

// Log is where sessions are.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
	Decide(ctx context.Context, decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)) (eventstore.Result, error)
}

// Options of Tools. All but CheckModel are required.
type Options struct {
	Log   Log
	Now   func() time.Time
	NewID func() string // a UUID that nobody has had
	// CheckModel says why a model, named as provider/id, cannot be used. nil lets sessions have any.
	CheckModel func(ref string) error
}

// Tools are all tools of this package.
func Tools(o Options) []tools.Tool {
	return []tools.Tool{List(o), History(o), Status(o)}
}

// notSubagents may call the tools of this package: a sub-agent does the work that it was given, and looks at nothing else.
func notSubagents() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}}
}

// refusal says why a tool does not do what it was asked for.
type refusal struct {
	Status     string `json:"status"` // forbidden, error
	Error      string `json:"error"`
	SessionKey string `json:"sessionKey,omitempty"` // as asked
}

// Statuses of refusals.
const (
	statusForbidden = "forbidden"
	statusError     = "error"
)

// view answers with what read finds, within one transaction.
func view(ctx context.Context, log Log, read func(tx *sql.Tx) (any, *refusal, error)) (tool.Output, error) {
	var found any
	var refused *refusal
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		found, refused, err = read(tx)
		return err
	})
	switch {
	case err != nil:
		return tool.Output{}, err
	case refused != nil:
		return tools.Refuse(refused)
	}
	return tools.Answer(found)
}

// target finds the session that somebody calls by its key, its id or its label, if they may see it. "" is their own, which need not
// exist: then one has nothing but its key.
func target(ctx context.Context, tx *sql.Tx, call *tools.Call, asked string) (one *session.Session, refused *refusal, err error) {
	guard := access.For(call)
	name := coordination.TrimJS(asked)
	refuse := func(status, why string) (*session.Session, *refusal, error) {
		return nil, &refusal{status, why, coordination.Mask(asked)}, nil
	}
	key := call.Session
	if name != "" {
		var malformed error
		key, malformed = coordination.SessionKeyOf(name, call.AgentID)
		key = tools.InScope(call.Config, key)
		if malformed != nil {
			key = coordination.SessionKey{}
		} else if why := guard.DenyKey(key); why != "" {
			return refuse(statusForbidden, why)
		}
	}
	if key != (coordination.SessionKey{}) {
		if one, err = session.ByKey(ctx, tx, key.String()); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case one == nil && key == call.Session:
		return &session.Session{Key: key.String(), Agent: key.Agent, Kind: key.Kind}, nil, nil
	case one == nil:
		if one, err = byName(ctx, tx, name); err != nil {
			return nil, nil, err
		}
	}
	if one == nil {
		return refuse(statusError, "no session has this key, id or label; sessions_list tells which there are")
	}
	why, err := guard.DenySession(ctx, tx, one)
	if why != "" {
		return refuse(statusForbidden, why)
	}
	return one, nil, err
}

func byName(ctx context.Context, tx *sql.Tx, name string) (*session.Session, error) {
	one, err := session.ByID(ctx, tx, name)
	if one != nil || err != nil {
		return one, err
	}
	labelled, err := session.ByLabel(ctx, tx, name, "")
	if len(labelled) == 0 || err != nil {
		return nil, err
	}
	return &labelled[0], nil
}
