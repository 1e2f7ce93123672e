package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Codes of messages that are refused, beside those of sub-agents and of coordination/chain. A run that cannot be queued has those of run.Refusal and run.Busy; what came
// to no answer has the outcome of its flow.
const (
	codeUnknownSession = "unknown_session"
	codePolicy         = "policy_denied"
	codeKeyReused      = "idempotency_key_reused" // the key was said before, with another message
)

// Statuses of results, beside those of sub-agents.
const (
	statusOK      = "ok"
	statusTimeout = "timeout"
)

// argument is one that a caller gives.
type argument struct{ name, value string }

// checkIDs says which of some ids, all of which may be left out, can be none.
func checkIDs(ids ...argument) *refusal {
	for _, id := range ids {
		if len(id.value) > MaxID || !utf8.ValidString(id.value) || strings.ContainsRune(id.value, 0) {
			return &refusal{statusError, codeInvalid, id.name + " is no id", fmt.Sprintf("give one of at most %d bytes of UTF-8 without NUL, or none", MaxID)}
		}
	}
	return nil
}

// unknownAgent says that there is no such agent, nil if there is. Where none is configured, any may be.
func unknownAgent(conf *config.Config, agent string) *refusal {
	if len(conf.Agents) == 0 || conf.AgentNamed(agent) != nil {
		return nil
	}
	why := &refusal{statusError, codeUnknownAgent, fmt.Sprintf("there is no agent %q", agent), "agents_list tells which there are"}
	if near := conf.AgentLike(agent); near != "" {
		why.mend = fmt.Sprintf("did you mean %q? %s", near, why.mend)
	}
	return why
}

// refusing is who is refused what, for the event that tells it.
type refusing struct {
	from             tool.Caller
	fromAgent, to    string
	target           string // key of the session that was asked for
	workSession      string // as far as they are known
	conversation     string
	parent, task     string
	root             string // of the chain of causes, where that stands against it
	fromType, toType coordination.SessionType
}

// locate finds the work session and the task of what is refused. No work session begins with a refusal, but that of a run may.
func (c *Coordinator) locate(tx eventstore.Tx, r *refusing, b *belonging) (err error) {
	r.workSession, r.task, err = c.knownWorkSession(tx, b)
	return err
}

// event tells that a message was refused.
func (r *refusing) event(why *refusal, now time.Time) ([]eventstore.StreamAppend, error) {
	typ := coordination.TypeA2ADispatchFailed
	if why.status == statusForbidden {
		typ = coordination.TypeA2AForbidden
	}
	data := coordination.A2ARefusal{
		Context: coordination.Context{
			WorkSessionID: r.workSession, TaskID: r.task, ConversationID: r.conversation, ParentConversationID: r.parent, ParentRunID: r.from.RunID,
			RootRunID: r.root,
			EventRole: coordination.RoleObservability, FromSessionType: r.fromType, ToSessionType: r.toType,
		},
		FromAgent: r.fromAgent, ToAgent: r.to, TargetSessionKey: r.target, Code: why.code,
		Reason: decide.Cut(coordination.Mask(why.reason), maxReason),
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", typ, err)
	}
	stream := coordination.StreamOf(&coordination.Record{Type: typ, AgentID: r.fromAgent, Facts: coordination.Facts{ConversationID: r.conversation}})
	return []eventstore.StreamAppend{{Stream: stream, Events: []eventstore.NewEvent{eventstore.NewEvent{
		Type: typ, AgentID: r.fromAgent, Actor: eventstore.ActorSystem, CorrelationID: r.conversation, Data: text}.WithTS(now.UnixMilli())}}}, nil
}

// maxReason is how many characters of a reason an event has.
const maxReason = 500
