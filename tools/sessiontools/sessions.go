// Package sessiontools defines the tools with which agents read sessions. Each call reads the database in one transaction.
package sessiontools

import (
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/tools"
)

// Log is the part of the store that is used here.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
	eventstore.Decider
}

// Options of Tools. All but CheckModel are required.
type Options struct {
	Log   Log
	Now   func() time.Time
	NewID func() string // returns a new UUID
	// CheckModel returns why a model, named as provider/id, cannot be used. nil allows any.
	CheckModel func(ref string) error
}

// Tools returns the tools of this package.
func Tools(o Options) []tools.Tool {
	return []tools.Tool{List(o), History(o), Status(o)}
}

// notSubagents forbids the tools of this package to sub-agents: they do their work and look at nothing else.
func notSubagents() tools.Who {
	return tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}}
}

type refusal struct {
	Status     string `json:"status"` // forbidden, error
	Error      string `json:"error"`
	SessionKey string `json:"sessionKey,omitempty"` // as requested
}

const (
	statusForbidden = "forbidden"
	statusError     = "error"
)

// view answers with the result of read, which runs in one transaction.
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

// target finds the session with a key, id or label, if the caller may see it. "" is the caller's own, which need not exist: then it has
// only its key.
func target(ctx context.Context, tx *sql.Tx, call *tools.Call, asked string) (one *sessions.Session, refused *refusal, err error) {
	guard := access.For(call.Config, call.Session, call.AgentID)
	name := coordination.TrimJS(asked)
	refuse := func(status, why string) (*sessions.Session, *refusal, error) {
		return nil, &refusal{status, why, coordination.Mask(asked)}, nil
	}
	key := call.Session
	if name != "" {
		var malformed error
		key, malformed = coordination.SessionKeyOf(name, call.AgentID)
		key = call.Config.SessionInScope(key)
		if malformed != nil {
			key = coordination.SessionKey{}
		} else if why := guard.DenyKey(key); why != "" {
			return refuse(statusForbidden, why)
		}
	}
	if key != (coordination.SessionKey{}) {
		if one, err = sessions.ByKey(ctx, tx, key.String()); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case one == nil && key == call.Session:
		return &sessions.Session{Key: key.String(), Agent: key.Agent, Kind: key.Kind}, nil, nil
	case one == nil:
		if one, err = byName(ctx, tx, name); err != nil {
			return nil, nil, err
		}
	}
	if one == nil {
		return refuse(statusError, "no session has this key, id or label; sessions_list shows those that exist")
	}
	why, err := guard.DenySession(ctx, tx, one)
	if why != "" {
		return refuse(statusForbidden, why)
	}
	return one, nil, err
}

func byName(ctx context.Context, tx *sql.Tx, name string) (*sessions.Session, error) {
	one, err := sessions.ByID(ctx, tx, name)
	if one != nil || err != nil {
		return one, err
	}
	labelled, err := sessions.ByLabel(ctx, tx, name, "")
	if len(labelled) == 0 || err != nil {
		return nil, err
	}
	return &labelled[0], nil
}
