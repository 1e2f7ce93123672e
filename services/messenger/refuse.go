package messenger

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Codes of refused messages, in addition to those of sub-agents and of coordination/chain. A run that cannot be queued has the code of
// run.Refusal or run.Busy; a message without an answer has the outcome of its flow.
const (
	codeUnknownSession = "unknown_session"
	codePolicy         = "policy_denied"
	codeKeyReused      = "idempotency_key_reused" // the key was used before with another message
)

// Statuses of results, in addition to those of sub-agents.
const (
	statusOK      = "ok"
	statusTimeout = "timeout"
)

type namedValue struct{ name, value string }

// checkIDs refuses the first invalid id; empty ones are valid.
func checkIDs(ids ...namedValue) *refusal {
	for _, id := range ids {
		if len(id.value) > MaxID || !utf8.ValidString(id.value) || strings.ContainsRune(id.value, 0) {
			return &refusal{StatusError, codeInvalid, id.name + " is not a valid id", fmt.Sprintf("give one of at most %d bytes of UTF-8 without NUL, or none", MaxID)}
		}
	}
	return nil
}

// unknownAgent refuses an agent that is not configured, nil if it is. If no agent is configured, all are accepted.
func unknownAgent(conf *config.Config, agent string) *refusal {
	if len(conf.Agents) == 0 || conf.AgentNamed(agent) != nil {
		return nil
	}
	why := &refusal{StatusError, codeUnknownAgent, fmt.Sprintf("there is no agent %q", agent), "agents_list shows the agents"}
	if near := conf.AgentLike(agent); near != "" {
		why.hint = fmt.Sprintf("did you mean %q? %s", near, why.hint)
	}
	return why
}

// refusalEvent describes a refused message for its event.
type refusalEvent struct {
	from             tool.Caller
	fromAgent, to    string
	target           string // key of the requested session
	workSession      string // as far as known
	conversation     string
	parent, task     string
	root             string // of the chain of causes, if that is the reason
	fromType, toType coordination.SessionType
}

// locate finds the work session and the task of a refused message. A refusal begins no work session, except that of a run.
func (s *Service) locate(tx eventstore.Tx, r *refusalEvent, b *workContext) (err error) {
	r.workSession, r.task, err = s.knownWorkSession(tx, b)
	return err
}

func (r *refusalEvent) event(why *refusal, now time.Time) ([]eventstore.StreamAppend, error) {
	typ := coordination.TypeA2ADispatchFailed
	if why.status == StatusForbidden {
		typ = coordination.TypeA2AForbidden
	}
	data := coordination.A2ARefusal{
		Context: coordination.Context{
			WorkSessionID: r.workSession, TaskID: r.task, ConversationID: r.conversation, ParentConversationID: r.parent, ParentRunID: r.from.RunID,
			RootRunID: r.root,
			EventRole: coordination.RoleObservability, FromSessionType: r.fromType, ToSessionType: r.toType,
		},
		FromAgent: r.fromAgent, ToAgent: r.to, TargetSessionKey: r.target, Code: why.code,
		Reason: a2a.Cut(coordination.Mask(why.reason), maxReason),
	}
	stream := coordination.StreamOf(&coordination.Record{Type: typ, AgentID: r.fromAgent, Facts: coordination.Facts{ConversationID: r.conversation}})
	return eventstore.One(stream, eventstore.NewEvent{Type: typ, AgentID: r.fromAgent, Actor: eventstore.ActorSystem, CorrelationID: r.conversation},
		data, now.UnixMilli())
}

const maxReason = 500
