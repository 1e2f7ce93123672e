package task

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
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	runs "github.com/pronto-lab/openclawd/projections/run"
	projection "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// Actions of task_verify.
const (
	actionAccept  = "accept"
	actionReject  = "reject"
	actionRetry   = "retry"
	actionAbandon = "abandon"
)

// verifyTool is task_verify: what becomes of what a sub-agent has done for a task.
func (d *Desk) verifyTool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "task_verify", Group: tool.GroupTasks, Label: "Verify a delegation",
			Description: "Judge what a sub-agent has done for one of your tasks: accept it, reject it, have it tried again by a sub-agent with the same work " +
				"(retry, with what to do otherwise as note), or give it up (abandon).",
			Schema: tools.Object("", activeIDProperties, versionProperty,
				`"delegationId":{"type":"string","maxLength":200,"description":"The delegation, or the run of its last attempt. If absent, the one that came in last: `+
					`of those that are completed, or for retry and abandon of those that are rejected or failed."}`,
				`"action":{"type":"string","enum":["accept","reject","retry","abandon"],"description":"accept if absent."}`,
				`"note":{"type":"string","maxLength":4000,"description":"Why; of retry, what the sub-agent is told beside its work."}`),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}, NotUtility: true},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[verifyArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			args.Action = cmp.Or(args.Action, actionAccept)
			v := verifying{d: d, args: args, change: d.asks(call, "task_verify", args.Version)}
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

// verified is the answer to a verification.
type verified struct {
	told
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

// verifying is one call.
type verifying struct {
	d      *Desk
	args   verifyArgs
	change *change

	// What the last attempt at deciding has led to.
	delegation *task.Delegation
	all        []task.Delegation // of the task, that one included
}

// judge accepts, rejects or abandons.
func (v *verifying) judge(ctx context.Context) (tool.Output, error) {
	v.change.decide = func(tx eventstore.Tx, t *task.Task) (events []task.Event, err error) {
		if err := v.find(tx, t); err != nil {
			return nil, err
		}
		events, err = task.Verify(t, v.delegation, task.VerifyAsk{Asked: v.change.asked, Action: v.args.Action, Note: v.args.Note})
		if err != nil {
			return nil, err
		}
		a := account{task: t, delegation: v.delegation, at: v.change.asked.Now}
		if err := a.add(events, nil); err != nil {
			return nil, err
		}
		*v.delegation = *a.delegation
		f, found, err := flows.Load(tx, v.delegation.JobID)
		if found {
			for i := range events {
				events[i].Data = ofFlow(events[i].Data, f)
			}
		}
		return events, err
	}
	done, err := v.d.change(ctx, v.change)
	if err != nil {
		return refuse(err, &done.Task)
	}
	if done.Again { // nothing was decided: it is as it stands now
		if err := v.read(ctx, done); err != nil {
			return tool.Output{}, err
		}
	}
	return tools.Answer(v.answer(done))
}

// answer is what is said of the delegation, and of its task after the change.
func (v *verifying) answer(done *changed) verified {
	x := v.delegation
	return verified{told: done.told(), DelegationID: x.ID, Action: v.args.Action, Delegation: x.Status, RetryCount: x.Retries, MaxRetries: x.Most,
		Summary: task.Summarize(v.all)}
}

// find finds the delegation that is meant: the one that is named, else that which came in last of those that the action is for.
func (v *verifying) find(tx eventstore.Tx, t *task.Task) (err error) {
	if v.all, err = projection.DelegationsOf(tx, t.ID); err != nil {
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
		return unknownDelegation(id)
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
		Text: fmt.Sprintf("task %s has no delegation to %s", t.ID, v.args.Action), Mend: "task_status shows how its delegations stand"}
}

// usual are the states of delegations that an action is for, the likeliest first.
func (v *verifying) usual() [][]string {
	switch v.args.Action {
	case actionRetry:
		return [][]string{{statusRejected, statusFailed}, {statusCompleted}}
	case actionAbandon:
		return [][]string{{statusRejected, statusFailed}}
	}
	return [][]string{{statusCompleted}}
}

// retry has a sub-agent try again. The Coordinator asks the desk for what that means to the task: see Delegated.
func (v *verifying) retry(ctx context.Context) (tool.Output, error) {
	var t task.Task
	var ask a2a.SpawnRequest
	err := v.d.o.Log.View(ctx, func(view *sql.Tx) error {
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
	result, err := v.d.o.Spawner.Spawn(ctx, ask)
	switch {
	case err != nil:
		return tool.Output{}, err
	case result.Error != "":
		return tools.Refuse(refused{Error: result.Error, Code: result.Code, Mend: result.Mend, TaskID: t.ID})
	}
	done := &changed{Task: t, Again: result.Duplicate}
	if err := v.read(ctx, done); err != nil {
		return tool.Output{}, err
	}
	answer := v.answer(done)
	answer.RunID, answer.ChildSessionKey, answer.Note, answer.Warning = result.RunID, result.ChildSessionKey, result.Note, result.Warning
	return tools.Answer(answer)
}

// read sees how the task and its delegation stand.
func (v *verifying) read(ctx context.Context, done *changed) error {
	return v.d.o.Log.View(ctx, func(view *sql.Tx) error {
		tx := projections.Reading(ctx, view)
		t, found, err := projection.Load(tx, done.ID)
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

// judged finds the delegation that the same call has judged before: the one that is named, else that which was judged last.
func (v *verifying) judged(tx eventstore.Tx, t *task.Task) error {
	if v.args.DelegationID != "" {
		return v.find(tx, t)
	}
	all, err := projection.DelegationsOf(tx, t.ID)
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

// attempt is what a sub-agent is asked for that tries a delegation again: what the first one was asked for, with a note.
func (v *verifying) attempt(tx eventstore.Tx, t *task.Task) (ask a2a.SpawnRequest, err error) {
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
		return ask, &task.Refusal{Reason: task.CodeDelegation, Field: "delegationId", Text: "it is not known any more what delegation " + x.ID + " was",
			Mend: "abandon it, and start another sub-agent with sessions_spawn"}
	}
	ask = a2a.SpawnRequest{From: call.Caller, Key: call.CallID, Agent: x.Agent, Task: f.Message, Label: f.Label, Model: f.Model, Think: f.Thinking,
		Cleanup: f.Cleanup, TaskID: t.ID, ParentConversationID: f.ParentConversationID, Delegation: x.ID}
	if f.RunMs != nil {
		most := time.Duration(*f.RunMs) * time.Millisecond
		ask.Run = &most
	}
	if note := coordination.TrimJS(v.args.Note); note != "" {
		ask.Note = note
		ask.Task += "\n\nThis was tried before. What is to be done otherwise:\n" + note
	}
	return ask, nil
}

// before is the delegation that the same call has had tried again before, nil for none.
func (v *verifying) before(tx eventstore.Tx, t *task.Task) (*task.Delegation, error) {
	call := v.change.call
	if call.CallID == "" {
		return nil, nil
	}
	root, err := rootOf(tx, call.RunID)
	if err != nil {
		return nil, err
	}
	all, err := projection.DelegationsOf(tx, t.ID)
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

// rootOf is the run that was asked for at first; "" is none.
func rootOf(tx eventstore.Tx, runID string) (string, error) {
	if runID == "" {
		return "", nil
	}
	one, _, err := runs.Load(tx, runID)
	return run.RootOf(runID, one.RetryOf), err
}
