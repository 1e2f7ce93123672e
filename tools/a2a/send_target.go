package a2a

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/access"
)

// target finds the session that a call asks for. Sessions of agents to which the caller may not write are to him
// as if there were none: what names such an agent is not looked for, and refused by Send.
func (c *Coordinator) target(ctx context.Context, call *tools.Call, a *sendArgs) (key coordination.SessionKey, refused *refusal, err error) {
	asked, label := coordination.TrimJS(cmp.Or(a.SessionKey, a.SessionID)), coordination.TrimJS(a.Label)
	agent := coordination.TrimJS(a.AgentID)
	invalid := func(text, mend string) (coordination.SessionKey, *refusal, error) {
		return key, &refusal{statusError, codeInvalid, text, mend}, nil
	}
	if id := coordination.NormalizeAgentID(agent); agent != "" && id == "" {
		return invalid("agentId is no id of an agent", "agents_list tells which there are")
	} else if agent != "" {
		agent = id
	}
	switch {
	case asked != "" && label != "":
		return invalid("sessionKey and label are both given", "give one of them")
	case a.SessionKey != "" && a.SessionID != "" && coordination.TrimJS(a.SessionID) != asked:
		return invalid("sessionKey and sessionId are two sessions", "give one of them")
	case asked != "":
		key, refused, err = c.named(ctx, call, asked, agent)
		if refused == nil && err == nil && agent != "" && key.Agent != agent {
			return invalid(fmt.Sprintf("the session is not one of agent %s", agent), "give sessionKey or agentId alone")
		}
		return key, refused, err
	case label != "":
		return c.labelled(ctx, call, label, agent)
	case agent != "":
		return tools.InScope(call.Config, coordination.MainKey(agent)), nil, nil
	}
	return invalid("nobody is named to write to", "give agentId, sessionKey or label")
}

// named is the session that somebody calls by its key, or by its id, of an agent if one is named too.
func (c *Coordinator) named(ctx context.Context, call *tools.Call, asked, agent string) (key coordination.SessionKey, refused *refusal, err error) {
	key, malformed := coordination.SessionKeyOf(asked, call.AgentID)
	key = tools.InScope(call.Config, key)
	isMain := key.Kind == coordination.KeyMain && key.ID == coordination.DefaultMainKey // which begins when it is needed
	if malformed == nil && (key == call.Session || isMain || !reaches(call, key.Agent)) {
		return key, nil, nil
	}
	if agent != "" && !reaches(call, agent) {
		return coordination.MainKey(agent), nil, nil
	}
	var found *session.Session
	err = c.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if malformed == nil {
			if found, err = session.ByKey(ctx, tx, key.String()); found != nil || err != nil {
				return err
			}
		}
		found, err = session.ByID(ctx, tx, asked)
		return err
	})
	switch {
	case err != nil:
		return key, nil, err
	case found == nil:
		return key, unknownSession(asked), nil
	}
	if key, err = coordination.ParseSessionKey(found.Key); err == nil && !reaches(call, key.Agent) {
		return coordination.SessionKey{}, unknownSession(asked), nil
	}
	return key, nil, err
}

// labelled is the session that has a label, of an agent if one is named.
func (c *Coordinator) labelled(ctx context.Context, call *tools.Call, label, agent string) (key coordination.SessionKey, refused *refusal, err error) {
	if agent != "" && !reaches(call, agent) {
		return coordination.MainKey(agent), nil, nil
	}
	var found []session.Session
	err = c.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		found, err = session.ByLabel(ctx, tx, label, agent)
		return err
	})
	switch {
	case err != nil:
		return key, nil, err
	case len(found) == 0:
		return key, unknownSession(label), nil
	}
	if key, err = coordination.ParseSessionKey(found[0].Key); err == nil && !reaches(call, key.Agent) {
		return coordination.SessionKey{}, unknownSession(label), nil
	}
	return key, nil, err
}

func unknownSession(asked string) *refusal {
	return &refusal{statusError, codeUnknownSession, fmt.Sprintf("there is no session %q", asked),
		"sessions_list tells which there are; agentId alone names the main session of an agent"}
}

// reaches reports whether the caller may write to an agent at all; "" is the agent whose sessions are nobody's.
func reaches(call *tools.Call, agent string) bool {
	to := strings.ToLower(cmp.Or(agent, call.Config.DefaultAgentID()))
	return access.PolicyOf(call.Config.Tools.AgentToAgent).Judge(call.AgentID, to).Allowed
}

// unsent is the result of a call that names nobody to write to. That is told by an event, unless the arguments alone are at fault.
func (c *Coordinator) unsent(ctx context.Context, r *Request, a *sendArgs, why *refusal) (Result, error) {
	result := Result{RunID: c.o.NewID(), Status: why.status, Code: why.code, Error: coordination.Mask(why.reason), Mend: why.mend}
	if why.code == codeInvalid {
		return result, nil
	}
	from, err := coordination.ParseSessionKey(r.From.SessionKey)
	if err != nil {
		return result, err
	}
	asked := refusing{from: r.From, fromAgent: r.From.AgentID, to: coordination.NormalizeAgentID(a.AgentID), fromType: sessionTypeOf(from),
		toType: coordination.SessionMain, conversation: r.ConversationID, parent: r.ParentConversationID}
	explicit, task := r.WorkSessionID, r.TaskID
	if checkIDs(argument{"taskId", task}, argument{"workSessionId", explicit}, argument{"conversationId", asked.conversation},
		argument{"parentConversationId", asked.parent}) != nil {
		explicit, task, asked.conversation, asked.parent = "", "", "", ""
	}
	belongs := belonging{from: r.From, agent: r.From.AgentID, explicit: explicit, taskID: task}
	now := c.o.Now()
	_, err = c.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		if err := c.locate(tx, &asked, &belongs); err != nil {
			return nil, err
		}
		return asked.event(why, now)
	})
	return result, err
}
