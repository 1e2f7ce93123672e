package tasktools

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/delegations"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
)

const (
	actionAccept  = "accept"
	actionRetry   = "retry"
	actionAbandon = "abandon"
)

const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusRejected  = "rejected"
)

// verifyTool returns task_verify, which judges the work of a sub-agent for a task.
func (s *Service) verifyTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_verify", Group: tool.GroupTasks, Label: "Verify a delegation",
			Description: "Verify the work of a sub-agent for one of your tasks: accept it, reject it, have a sub-agent do it again " +
				"(retry; note says what to do differently), or give it up (abandon).",
			Schema: tools.Object("", activeIDProperties, versionProperty,
				`"delegationId":{"type":"string","maxLength":200,"description":"Id of the delegation or of its last run. Default: the latest `+
					`completed delegation; for retry and abandon the latest rejected or failed one."}`,
				`"action":{"type":"string","enum":["accept","reject","retry","abandon"],"description":"Default accept."}`,
				`"note":{"type":"string","maxLength":4000,"description":"The reason; for retry, additional instructions for the sub-agent."}`),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[verifyArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			args.Action = cmp.Or(args.Action, actionAccept)
			v := verification{service: s, args: args, change: s.asks(call, "task_verify", args.Version)}
			id, err := args.id()
			if err != nil {
				return refuse(err, nil)
			}
			v.change.find = v.change.findTask(id, focused, nil)
			if args.Action == actionRetry {
				return v.retry(ctx)
			}
			return v.judge(ctx)
		},
	}
}

type verifyArgs struct {
	target
	DelegationID string `json:"delegationId"`
	Action       string `json:"action"`
	Note         string `json:"note"`
}

type verified struct {
	taskAnswer
	DelegationID string       `json:"delegationId"`
	Action       string       `json:"action"`
	Delegation   string       `json:"delegationStatus"`
	RetryCount   int          `json:"retryCount"`
	MaxRetries   int          `json:"maxRetries"`
	Summary      task.Summary `json:"delegations"` // of the task

	// Of a retry.
	RunID           string `json:"runId,omitempty"`
	ChildSessionKey string `json:"childSessionKey,omitempty"`
	Note            string `json:"note,omitempty"`
	Warning         string `json:"warning,omitempty"`
}

type verification struct {
	service *Service
	args    verifyArgs
	change  *taskChange

	// Results of the last attempt at deciding.
	delegation *task.Delegation
	all        []task.Delegation // all of the task's, including that one
}

func (v *verification) judge(ctx context.Context) (tool.Output, error) {
	v.change.decide = func(tx eventstore.Tx, t *task.Task) (events []task.Event, err error) {
		if err := v.find(tx, t); err != nil {
			return nil, err
		}
		events, err = task.Verify(t, v.delegation, task.VerifyAsk{Asked: v.change.asked, Action: v.args.Action, Note: v.args.Note})
		if err != nil {
			return nil, err
		}
		if *v.delegation, err = delegations.Applied(v.delegation, events, v.change.asked.Now); err != nil {
			return nil, err
		}
		f, found, err := flows.Load(tx, v.delegation.JobID)
		if found {
			for i := range events {
				events[i].Data = delegations.InFlow(events[i].Data, f)
			}
		}
		return events, err
	}
	done, err := v.service.change(ctx, v.change)
	if err != nil {
		return refuse(err, &done.Task)
	}
	if done.Again { // nothing was decided: this is the current state
		if err := v.read(ctx, done); err != nil {
			return tool.Output{}, err
		}
	}
	return tools.Answer(v.answer(done))
}

func (v *verification) answer(done *changeResult) verified {
	x := v.delegation
	return verified{taskAnswer: done.answer(), DelegationID: x.ID, Action: v.args.Action, Delegation: x.Status, RetryCount: x.Retries, MaxRetries: x.Most,
		Summary: task.Summarize(v.all)}
}

// find finds the delegation: the named one, else the latest one that the action applies to.
func (v *verification) find(tx eventstore.Tx, t *task.Task) (err error) {
	if v.all, err = tasks.DelegationsOf(tx, t.ID); err != nil {
		return err
	}
	v.delegation = nil
	if id := coordination.TrimJS(v.args.DelegationID); id != "" {
		for i := range v.all {
			if x := &v.all[i]; x.ID == id || x.JobID == id {
				v.delegation = x
				return nil
			}
		}
		return task.UnknownDelegation(id)
	}
	for _, states := range v.usual() {
		for i := range v.all {
			if x := &v.all[i]; slices.Contains(states, x.Status) && (v.delegation == nil || x.Last > v.delegation.Last) {
				v.delegation = x
			}
		}
		if v.delegation != nil {
			return nil
		}
	}
	return &task.Refusal{Reason: task.CodeDelegation, Field: "delegationId",
		Text: fmt.Sprintf("task %s has no delegation to %s", t.ID, v.args.Action), HintText: "task_status shows how its delegations stand"}
}

// usual returns the states of delegations that an action applies to, the likeliest first.
func (v *verification) usual() [][]string {
	switch v.args.Action {
	case actionRetry:
		return [][]string{{statusRejected, statusFailed}, {statusCompleted}}
	case actionAbandon:
		return [][]string{{statusRejected, statusFailed}}
	}
	return [][]string{{statusCompleted}}
}

// retry has a sub-agent try again. Package delegations records the attempt for the task.
func (v *verification) retry(ctx context.Context) (tool.Output, error) {
	var t task.Task
	var ask messenger.SpawnRequest
	err := v.service.o.Log.View(ctx, func(view *sql.Tx) error {
		tx := projections.Reading(ctx, view)
		found, err := v.change.find(tx)
		if err != nil {
			return err
		}
		t = *found
		ask, err = v.attempt(tx, found)
		return err
	})
	if err != nil {
		return refuse(err, &t)
	}
	result, err := v.service.o.Spawner.Spawn(ctx, ask)
	switch {
	case err != nil:
		return tool.Output{}, err
	case result.Error != "":
		return tools.Refuse(refused{Error: result.Error, Code: result.Code, Hint: result.Hint, TaskID: t.ID})
	}
	done := &changeResult{Task: t, Again: result.Duplicate}
	if err := v.read(ctx, done); err != nil {
		return tool.Output{}, err
	}
	answer := v.answer(done)
	answer.RunID, answer.ChildSessionKey, answer.Note, answer.Warning = result.RunID, result.ChildSessionKey, result.Note, result.Warning
	return tools.Answer(answer)
}

func (v *verification) read(ctx context.Context, done *changeResult) error {
	return v.service.o.Log.View(ctx, func(view *sql.Tx) error {
		tx := projections.Reading(ctx, view)
		t, found, err := tasks.Load(tx, done.ID)
		if !found || err != nil {
			return err
		}
		done.Task = *t
		if v.delegation == nil {
			return v.judged(tx, t)
		}
		v.args.DelegationID = v.delegation.ID
		return v.find(tx, t)
	})
}

// judged finds the delegation that the same call has judged before: the named one, else the one judged last.
func (v *verification) judged(tx eventstore.Tx, t *task.Task) error {
	if v.args.DelegationID != "" {
		return v.find(tx, t)
	}
	all, err := tasks.DelegationsOf(tx, t.ID)
	if err != nil {
		return err
	}
	v.all, v.delegation = all, &task.Delegation{}
	for i := range all {
		if x := &all[i]; x.DecidedBy != "" && x.Last > v.delegation.Last {
			v.delegation = x
		}
	}
	return nil
}

// attempt returns the request for another attempt: that of the first one, with a note.
func (v *verification) attempt(tx eventstore.Tx, t *task.Task) (ask messenger.SpawnRequest, err error) {
	call := v.change.call
	before, err := v.before(tx, t)
	if err != nil {
		return ask, err
	}
	if v.delegation = before; before == nil {
		if err := v.find(tx, t); err != nil {
			return ask, err
		}
		if err := v.change.asked.Expects(t); err != nil {
			return ask, err
		}
	}
	x := v.delegation
	f, found, err := flows.Load(tx, x.ID)
	if err != nil {
		return ask, err
	}
	if !found || f.Redacted || f.Message == "" {
		return ask, &task.Refusal{Reason: task.CodeDelegation, Field: "delegationId", Text: "the request of delegation " + x.ID + " is no longer available",
			HintText: "abandon it, and start another sub-agent with sessions_spawn"}
	}
	ask = messenger.SpawnRequest{From: call.Caller, Key: call.CallID, Agent: x.Agent, Task: f.Message, Label: f.Label, Model: f.Model, Think: f.Thinking,
		Cleanup: f.Cleanup, TaskID: t.ID, ParentConversationID: f.ParentConversationID, Delegation: x.ID}
	if f.RunMs != nil {
		most := time.Duration(*f.RunMs) * time.Millisecond
		ask.Run = &most
	}
	if note := coordination.TrimJS(v.args.Note); note != "" {
		ask.Note = note
		ask.Task += "\n\nThis was tried before. What to do differently:\n" + note
	}
	return ask, nil
}

// before returns the delegation that the same call has retried before, nil for none.
func (v *verification) before(tx eventstore.Tx, t *task.Task) (*task.Delegation, error) {
	call := v.change.call
	if call.CallID == "" {
		return nil, nil
	}
	root, err := rootOf(tx, call.RunID)
	if err != nil {
		return nil, err
	}
	all, err := tasks.DelegationsOf(tx, t.ID)
	if err != nil {
		return nil, err
	}
	for i := range all {
		x := &all[i]
		if x.JobID == x.ID || v.args.DelegationID != "" && v.args.DelegationID != x.ID && v.args.DelegationID != x.JobID {
			continue
		}
		f, found, err := flows.Load(tx, x.JobID)
		if err != nil {
			return nil, err
		}
		if !found || f.IdempotencyKey != coordination.Mask(call.CallID) || f.RequesterSessionKey != call.SessionKey {
			continue
		}
		if by, err := rootOf(tx, f.RequesterRunID); err != nil || by == root {
			return x, err
		}
	}
	return nil, nil
}

// rootOf returns the original run of a repeated one; "" for none.
func rootOf(tx eventstore.Tx, runID string) (string, error) {
	if runID == "" {
		return "", nil
	}
	one, _, err := runs.Load(tx, runID)
	return run.RootOf(runID, one.RetryOf), err
}
