package messenger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/access"
)

// Address names the target session of a message: by key or id, by label, or by agent.
type Address struct {
	SessionKey, SessionID string // alias of SessionKey
	Label                 string
	AgentID               string // owner of the session; alone: the agent's main session
}

// SendTo sends a message to the session that an address names for its sender; r.Target is ignored. An address that names no session is
// refused as by Send.
func (s *Service) SendTo(ctx context.Context, r Request, to Address) (Result, error) {
	key, err := coordination.ParseSessionKey(r.From.SessionKey)
	if err != nil {
		return s.Send(ctx, r) // Send refuses it
	}
	l := lookup{service: s, config: s.o.Config(), session: key, agent: r.From.AgentID}
	target, refused, err := l.target(ctx, &to)
	switch {
	case err != nil:
		return Result{}, err
	case refused != nil:
		return s.unsent(ctx, &r, to.AgentID, refused)
	}
	r.Target = target
	return s.Send(ctx, r)
}

// lookup finds sessions that are visible to an agent's session.
type lookup struct {
	service *Service
	config  *config.Config
	session coordination.SessionKey
	agent   string
}

// target finds the session that an address names. Sessions of agents that the sender may not write to are hidden: an address that names
// such an agent is not looked up, and Send refuses it.
func (l *lookup) target(ctx context.Context, a *Address) (key coordination.SessionKey, refused *refusal, err error) {
	asked, label := coordination.TrimJS(cmp.Or(a.SessionKey, a.SessionID)), coordination.TrimJS(a.Label)
	agent := coordination.TrimJS(a.AgentID)
	invalid := func(text, hint string) (coordination.SessionKey, *refusal, error) {
		return key, &refusal{StatusError, codeInvalid, text, hint}, nil
	}
	if id := coordination.NormalizeAgentID(agent); agent != "" && id == "" {
		return invalid("agentId is not a valid agent id", "agents_list shows the agents")
	} else if agent != "" {
		agent = id
	}
	switch {
	case asked != "" && label != "":
		return invalid("sessionKey and label are both given", "give one of them")
	case a.SessionKey != "" && a.SessionID != "" && coordination.TrimJS(a.SessionID) != asked:
		return invalid("sessionKey and sessionId name different sessions", "give one of them")
	case asked != "":
		key, refused, err = l.named(ctx, asked, agent)
		if refused == nil && err == nil && agent != "" && key.Agent != agent {
			return invalid(fmt.Sprintf("the session does not belong to agent %s", agent), "give only one of sessionKey and agentId")
		}
		return key, refused, err
	case label != "":
		return l.labelled(ctx, label, agent)
	case agent != "":
		return l.config.SessionInScope(coordination.MainKey(agent)), nil, nil
	}
	return invalid("there is no target", "give agentId, sessionKey or label")
}

// named finds the session with a key or id, of the named agent if there is one.
func (l *lookup) named(ctx context.Context, asked, agent string) (key coordination.SessionKey, refused *refusal, err error) {
	key, malformed := coordination.SessionKeyOf(asked, l.agent)
	key = l.config.SessionInScope(key)
	isMain := key.Kind == coordination.KeyMain && key.ID == coordination.DefaultMainKey // created when needed
	if malformed == nil && (key == l.session || isMain || !l.reaches(key.Agent)) {
		return key, nil, nil
	}
	if agent != "" && !l.reaches(agent) {
		return coordination.MainKey(agent), nil, nil
	}
	var found *sessions.Session
	err = l.service.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if malformed == nil {
			if found, err = sessions.ByKey(ctx, tx, key.String()); found != nil || err != nil {
				return err
			}
		}
		found, err = sessions.ByID(ctx, tx, asked)
		return err
	})
	switch {
	case err != nil:
		return key, nil, err
	case found == nil:
		return key, unknownSession(asked), nil
	}
	if key, err = coordination.ParseSessionKey(found.Key); err == nil && !l.reaches(key.Agent) {
		return coordination.SessionKey{}, unknownSession(asked), nil
	}
	return key, nil, err
}

// labelled finds the session with a label, of the named agent if there is one.
func (l *lookup) labelled(ctx context.Context, label, agent string) (key coordination.SessionKey, refused *refusal, err error) {
	if agent != "" && !l.reaches(agent) {
		return coordination.MainKey(agent), nil, nil
	}
	var found []sessions.Session
	err = l.service.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		found, err = sessions.ByLabel(ctx, tx, label, agent)
		return err
	})
	switch {
	case err != nil:
		return key, nil, err
	case len(found) == 0:
		return key, unknownSession(label), nil
	}
	if key, err = coordination.ParseSessionKey(found[0].Key); err == nil && !l.reaches(key.Agent) {
		return coordination.SessionKey{}, unknownSession(label), nil
	}
	return key, nil, err
}

func unknownSession(asked string) *refusal {
	return &refusal{StatusError, codeUnknownSession, fmt.Sprintf("there is no session %q", asked),
		"sessions_list shows the sessions; agentId alone names the main session of an agent"}
}

// reaches reports whether the caller may write to an agent at all; "" is the agent of sessions without one.
func (l *lookup) reaches(agent string) bool {
	to := strings.ToLower(cmp.Or(agent, l.config.DefaultAgentID()))
	return access.PolicyOf(l.config.Tools.AgentToAgent).Judge(l.agent, to).Allowed
}

// unsent returns the result of a call without a valid target. An event records it, unless only the arguments are at fault.
func (s *Service) unsent(ctx context.Context, r *Request, agent string, why *refusal) (Result, error) {
	result := Result{RunID: s.o.NewID(), Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Hint: why.hint}
	if why.code == codeInvalid {
		return result, nil
	}
	from, err := coordination.ParseSessionKey(r.From.SessionKey)
	if err != nil {
		return result, err
	}
	asked := refusalEvent{from: r.From, fromAgent: r.From.AgentID, to: coordination.NormalizeAgentID(agent), fromType: sessionTypeOf(from),
		toType: coordination.SessionMain, conversation: r.ConversationID, parent: r.ParentConversationID}
	explicit, task := r.WorkSessionID, r.TaskID
	if checkIDs(namedValue{"taskId", task}, namedValue{"workSessionId", explicit}, namedValue{"conversationId", asked.conversation},
		namedValue{"parentConversationId", asked.parent}) != nil {
		explicit, task, asked.conversation, asked.parent = "", "", "", ""
	}
	belongs := workContext{from: r.From, agent: r.From.AgentID, explicit: explicit, taskID: task}
	now := s.o.Now()
	_, err = s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		if err := s.locate(tx, &asked, &belongs); err != nil {
			return nil, err
		}
		return asked.event(why, now)
	})
	return result, err
}
