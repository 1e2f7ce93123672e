// Package approvals decides on behalf of people and for every client: it approves and rejects tasks requested with
// requires_approval, plans, and single calls of tools, and changes tasks. Agents decide with the tools of tools/tasktools and tools/plantools.
package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Tasks decides about tasks. Errors are *task.Refusal, or the log's.
type Tasks interface {
	Approve(ctx context.Context, taskID, person string) (*task.Task, error)
	Reject(ctx context.Context, taskID, person, reason string) (*task.Task, error)
}

// Plans decides about plans. Errors are *plan.Refusal, or the log's.
type Plans interface {
	Approve(ctx context.Context, planID, person string) (*plan.Plan, error)
	Reject(ctx context.Context, planID, person, reason string) (*plan.Plan, error)
}

// Calls decides about calls of tools. Errors are *permission.Refusal, or the log's.
type Calls interface {
	Approve(ctx context.Context, id, person, scope string) (*permission.Approval, error)
	Answer(ctx context.Context, id, person string, values map[string]json.RawMessage) (*permission.Approval, error)
	Reject(ctx context.Context, id, person, reason string) (*permission.Approval, error)
	Revoke(ctx context.Context, id, person string) (*permission.Approval, error)
}

// Service decides for people. It is safe for concurrent use. The name of a configured agent is not accepted as a person's name.
type Service struct {
	Tasks    Tasks
	Plans    Plans
	Calls    Calls
	Operator Operator
	Config   func() *config.Config // in force
}

// Codes of refusals. Others come from tasks and plans.
const (
	CodeInvalid = "invalid_approval" // invalid id, name or reason
	CodeUnknown = "unknown_approval" // no such task or plan
	CodeState   = task.CodeState     // it does not wait, or no longer; used for plans, too
)

// Approve approves the task, plan or call with an id. A person without a name is DefaultPerson. Errors are *approval.Refusal, or the log's.
func (s *Service) Approve(ctx context.Context, id, person string) (approval.Decided, error) {
	return s.decide(id, person, verdict{
		task: func(id, person string) (*task.Task, error) { return s.Tasks.Approve(ctx, id, person) },
		plan: func(id, person string) (*plan.Plan, error) { return s.Plans.Approve(ctx, id, person) },
		call: func(id, person string) (*permission.Approval, error) { return s.Calls.Approve(ctx, id, person, "") },
	})
}

// Reject rejects it. The owner is told the reason, which is required. Person and errors are as for Approve.
func (s *Service) Reject(ctx context.Context, id, person, reason string) (approval.Decided, error) {
	if coordination.TrimJS(reason) == "" {
		return approval.Decided{}, &approval.Refusal{Reason: CodeInvalid, Field: "reason", Text: "reason is missing or blank", HintText: "give a reason: the agent is told it"}
	}
	return s.decide(id, person, verdict{
		task: func(id, person string) (*task.Task, error) { return s.Tasks.Reject(ctx, id, person, reason) },
		plan: func(id, person string) (*plan.Plan, error) { return s.Plans.Reject(ctx, id, person, reason) },
		call: func(id, person string) (*permission.Approval, error) { return s.Calls.Reject(ctx, id, person, reason) },
	})
}

type verdict struct {
	task func(id, person string) (*task.Task, error)
	plan func(id, person string) (*plan.Plan, error)
	call func(id, person string) (*permission.Approval, error)
}

// decide decides about the task, plan or call with an id. The prefix of the id says that it is a call; else it suggests which, since
// imported ids may differ.
func (s *Service) decide(id, person string, v verdict) (approval.Decided, error) {
	id = coordination.TrimJS(id)
	if id == "" {
		return approval.Decided{}, &approval.Refusal{Reason: CodeInvalid, Field: "id", Text: "id is missing or blank", HintText: hintList}
	}
	person, err := s.nameOf(person)
	if err != nil {
		return approval.Decided{}, err
	}
	if strings.HasPrefix(id, permission.Prefix) {
		return onCall(id, person, v.call)
	}
	kinds := []func() (approval.Decided, error){
		func() (approval.Decided, error) { return onTask(id, person, v) },
		func() (approval.Decided, error) { return onPlan(id, person, v) },
	}
	if strings.HasPrefix(id, planPrefix) {
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	for _, on := range kinds {
		done, err := on()
		if r, is := errors.AsType[*approval.Refusal](err); !is || !r.Details.Unknown {
			return done, err
		}
	}
	return approval.Decided{}, &approval.Refusal{Reason: CodeUnknown, Field: "id", Text: fmt.Sprintf("there is no task or plan %q", shown(id)), HintText: hintList,
		Details: approval.Details{Unknown: true}}
}

const (
	planPrefix = "plan_"
	hintList   = "openclawd approvals lists what waits"
)

func onTask(id, person string, v verdict) (approval.Decided, error) {
	t, err := v.task(id, person)
	if r, is := errors.AsType[*task.Refusal](err); is {
		return approval.Decided{}, refusal(r.Reason, r.Field, r.Text, r.HintText, r.Reason == task.CodeUnknown)
	}
	if err != nil {
		return approval.Decided{}, err
	}
	return approval.Decided{ID: t.ID, Kind: approval.OfTask, AgentID: t.Agent, TaskID: t.ID, Status: t.Status, DecidedBy: person}, nil
}

func onPlan(id, person string, v verdict) (approval.Decided, error) {
	p, err := v.plan(id, person)
	if r, is := errors.AsType[*plan.Refusal](err); is {
		return approval.Decided{}, refusal(r.Reason, r.Field, r.Text, r.HintText, r.Reason == plan.CodeUnknown)
	}
	if err != nil {
		return approval.Decided{}, err
	}
	return approval.Decided{ID: p.ID, Kind: approval.OfPlan, AgentID: p.Agent, TaskID: p.TaskID, Status: p.Status, DecidedBy: cmp.Or(p.DecidedBy, person)}, nil
}

// refusal words a refusal of a task or plan for people, who have no tools.
func refusal(reason, field, text, hint string, unknown bool) *approval.Refusal {
	switch field {
	case "task_id", "plan_id":
		field = "id"
	}
	switch {
	case reason == task.CodeInvalid, reason == plan.CodeInvalid:
		reason = CodeInvalid
	case reason == CodeState, unknown:
		hint = hintList
	}
	return &approval.Refusal{Reason: reason, Field: field, Text: text, HintText: hint, Details: approval.Details{Unknown: unknown}}
}

// DefaultPerson decides if no name is given.
const DefaultPerson = "operator"

// maxPerson bounds a person's name, in bytes: as for tasks.
const maxPerson = 200

func (s *Service) nameOf(person string) (string, error) {
	name := cmp.Or(coordination.Mask(coordination.TrimJS(person)), DefaultPerson)
	switch {
	case !utf8.ValidString(name), len(name) > maxPerson, strings.ContainsFunc(name, unicode.IsControl), seen(name) == "":
		return "", &approval.Refusal{Reason: CodeInvalid, Field: "by", Text: fmt.Sprintf("%q is not a valid name", shown(name)),
			HintText: fmt.Sprintf("give a name of one line and at most %d bytes, or none", maxPerson)}
	case s.isAgent(name):
		return "", &approval.Refusal{Reason: CodeInvalid, Field: "by", Text: fmt.Sprintf("%q is an agent, but only people decide here", shown(name)),
			HintText: "give your own name"}
	}
	return name, nil
}

// isAgent reports whether a name looks like an agent's id or name, ignoring case and invisible characters.
func (s *Service) isAgent(name string) bool {
	name = seen(name)
	conf := s.Config()
	return name == conf.DefaultAgentID() ||
		slices.ContainsFunc(conf.Agents, func(a config.Agent) bool { return name == seen(a.ID) || name == seen(a.Name) })
}

// seen returns the visible part of a name, in lower case.
func seen(name string) string {
	return strings.ToLower(coordination.TrimJS(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)))
}

const maxShown = 80

func shown(text string) string {
	return coordination.Head(coordination.Mask(strings.ToValidUTF8(text, "\uFFFD")), maxShown)
}
