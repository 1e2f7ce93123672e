// Package callapproval has single calls of tools wait for people, as tools.approvals says, and decides about them for people.
//
// It guarantees
//   - that a call that needs a decision is made only after an approval is in the log, or a lasting permission for it;
//   - that a request is in the log before its run waits, and that what is decided wakes the run in the same transaction;
//   - that an approval is for one occurrence of a call in a run and its repetitions: agent, tool, arguments and how often the run has made
//     the same call before. No id that a model chooses counts.
package callapproval

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

// Options of New. All are required.
type Options struct {
	Log       eventstore.Decider // with the projections permission and run in it
	Now       func() time.Time
	Workspace func(agentID string) string // "": it has none
}

// Service has calls wait for people. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service { return &Service{o} }

// Guard implements tools.Options.Guard.
func (s *Service) Guard(ctx context.Context, call *tools.Call, spec *tool.Spec) error {
	switch access.JudgeCall(call.Config, s.workspace(call), call.AgentID, spec, call.Args) {
	case config.CallAllow:
		return nil
	case config.CallDeny:
		return &tool.Error{Code: tool.CodeDenied, Text: "a rule of the configuration forbids this call of " + spec.Name,
			Hint: "do without it, or ask the people you work for to change tools.approvals"}
	}
	var refused error
	_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		refused, appends, err = s.ask(tx, call, spec)
		return appends, err
	})
	if err != nil {
		return err
	}
	return refused
}

// Allows reports whether the rules of the configuration allow a call without asking a person.
func (s *Service) Allows(call *tools.Call, spec *tool.Spec) bool {
	return access.JudgeCall(call.Config, s.workspace(call), call.AgentID, spec, call.Args) == config.CallAllow
}

// workspace has the names of the agent's workspace: the configured one, and the one without links.
func (s *Service) workspace(call *tools.Call) []string {
	dir := s.o.Workspace(call.AgentID)
	if dir == "" || len(call.Config.Tools.Approvals.Rules) == 0 {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// ask decides about a call that needs a permission: refused is nil if it has one. A call that was not requested before is requested. What was
// refused stays refused, although a lasting permission was given meanwhile.
func (s *Service) ask(tx eventstore.Tx, call *tools.Call, spec *tool.Spec) (refused error, appends []eventstore.StreamAppend, err error) {
	now := s.o.Now().UnixMilli()
	key, err := once.KeyOf(tx, call, spec.Name)
	if err != nil {
		return nil, nil, err
	}
	id := permission.Prefix + hex.EncodeToString(key[:10])
	a, found, err := permissions.Load(tx, id)
	switch {
	case err != nil:
		return nil, nil, err
	case found && a.StatusAt(now) == permission.Approved:
		return nil, nil, nil
	case found && a.StatusAt(now) != permission.Pending:
		return s.refuse(a, spec, now)
	}
	permitted, err := permissions.Permitted(tx, call.AgentID, spec.Name, permission.CallHash(call.AgentID, spec.Name, call.Args))
	if err != nil || permitted {
		return nil, nil, err
	}
	if found {
		return &tool.WaitsError{ApprovalID: a.ID, Until: a.ExpireAt}, nil, nil
	}
	if refusal := mayNotWait(call, spec); refusal != nil {
		return refusal, nil, nil
	}
	return s.request(tx, call, spec, id, now)
}

// refuse refuses a call whose approval is over, and records that it has expired.
func (s *Service) refuse(a *permission.Approval, spec *tool.Spec, now int64) (refused error, appends []eventstore.StreamAppend, err error) {
	if a.Status == permission.Pending {
		appends, err = appendTo(a, a.Close(permission.Expired, now), eventstore.ActorSystem, now)
	}
	return refusalOf(a, spec.Name, now), appends, err
}

// mayNotWait says why a call cannot wait; nil if it can.
func mayNotWait(call *tools.Call, spec *tool.Spec) error {
	switch {
	case call.Entry != tool.ByRun || call.RunID == "" || call.CallID == "":
		return &tool.Error{Code: tool.CodeNoDecision, Text: "this call of " + spec.Name + " needs a decision of a person, for which only a run of an agent can wait",
			Hint: "have the agent make it, or permit it with a rule of tools.approvals"}
	case coordination.Mask(string(call.Args)) != string(call.Args):
		return &tool.Error{Code: tool.CodeNoDecision, Text: "this call of " + spec.Name + " needs a decision of a person, and its arguments contain a secret, which is not kept while it waits",
			Hint: "make the call without the secret, for example with the name of an environment variable"}
	case len(call.Args) > permission.MaxArguments:
		return &tool.Error{Code: tool.CodeNoDecision, Text: fmt.Sprintf("this call of %s needs a decision of a person, and its arguments have %d bytes, more than the %d that people are shown",
			spec.Name, len(call.Args), permission.MaxArguments), Hint: "make smaller calls: write a long text in parts, or put it into a file that the call names"}
	}
	return nil
}

func (s *Service) request(tx eventstore.Tx, call *tools.Call, spec *tool.Spec, id string, now int64) (error, []eventstore.StreamAppend, error) {
	result, _, err := runs.Load(tx, call.RunID)
	if err != nil {
		return nil, nil, err
	}
	return s.requestOf(tx, call, spec, &permission.Ask{ID: id, FirstRunID: run.RootOf(call.RunID, result.RetryOf), Now: now})
}

// requestOf requests what a call waits for.
func (s *Service) requestOf(tx eventstore.Tx, call *tools.Call, spec *tool.Spec, ask *permission.Ask) (error, []eventstore.StreamAppend, error) {
	now := ask.Now
	waiting, err := permissions.Waiting(tx, call.AgentID, now)
	if err != nil {
		return nil, nil, err
	}
	if waiting >= permission.MaxPending {
		return &tool.Error{Code: tool.CodeNoDecision, Text: fmt.Sprintf("%d calls of yours wait for people already", waiting), Hint: "wait until some are decided"}, nil, nil
	}
	ask.Context = coordination.Context{TaskID: call.TaskID, WorkSessionID: call.WorkSessionID, ConversationID: call.ConversationID}
	ask.Agent, ask.Tool, ask.Server, ask.SessionKey, ask.RunID, ask.Args = call.AgentID, spec.Name, serverOf(spec), call.SessionKey, call.RunID, call.Args
	ask.Expire = now + call.Config.Tools.Approvals.Timeout.Milliseconds()
	appends, err := appendTo(&permission.Approval{ID: ask.ID}, permission.Request(ask), eventstore.ActorAgent, now)
	if err == nil {
		appends[0].Events[0].CausationID, appends[0].Events[0].CorrelationID = call.AskedID, call.ConversationID
	}
	return &tool.WaitsError{ApprovalID: ask.ID, Until: ask.Expire}, appends, err
}

// serverOf is the MCP server whose tool it is; "" if it is none's. The name of a server has no "__".
func serverOf(spec *tool.Spec) string {
	if spec.Group != tool.GroupMCP {
		return ""
	}
	server, _, _ := strings.Cut(spec.Name, "__")
	return server
}

// refusalOf tells the agent what was decided.
func refusalOf(a *permission.Approval, name string, now int64) error {
	e := &tool.Error{Code: tool.CodeDenied, Hint: "do not make it again unless you are told to; go on without it, or say what you need"}
	switch a.StatusAt(now) {
	case permission.Rejected:
		e.Text = "this call of " + name + " was not made: " + by(a) + " has refused it"
		if a.Reason != "" {
			e.Text += ": " + a.Reason
		}
	case permission.Expired:
		e.Text = "this call of " + name + " was not made: no one has approved it in time"
	default:
		e.Text = "this call of " + name + " was not made: it is not wanted any more"
	}
	return e
}

func by(a *permission.Approval) string {
	if a.DecidedBy == "" {
		return "a person"
	}
	return a.DecidedBy
}

// appendTo appends an event to the stream of an approval.
func appendTo(a *permission.Approval, e permission.Event, actor eventstore.Actor, now int64) ([]eventstore.StreamAppend, error) {
	appends, err := eventstore.One(coordination.CallApprovalStream(a.ID), eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: actor}, e.Data, now)
	if err == nil {
		appends[0].Expect = eventstore.Exactly(a.Version)
		if a.Version == 0 {
			appends[0].Expect = eventstore.NoStream()
		}
	}
	return appends, err
}
