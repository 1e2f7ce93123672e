package plantools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// causeApproval is the cause of the runs that report a decision.
const causeApproval = "approval"

// notifySubmitter returns the run that reports a decision to the plan's agent. notTold says why there is none: the decision stands without it,
// except one that agents make in a loop. runID is the deciding run, "" for none. p is the plan after the decision.
func (s *Service) notifySubmitter(tx eventstore.Tx, runID string, p *plan.Plan, now time.Time) (appends []eventstore.StreamAppend, notTold string, err error) {
	conf := s.o.Config()
	if conf.AgentNamed(p.Agent) == nil && p.Agent != conf.DefaultAgentID() {
		return nil, "there is no agent " + p.Agent + " any more", nil
	}
	ask, err := notificationRun(tx, conf, p)
	if err != nil {
		return nil, "", err
	}
	ask.ParentRunID, ask.Pass = runID, runID != ""
	appends, err = s.o.Queue.Ask(tx, ask, now)
	if cut := messenger.ChainRefusalOf(err); cut != nil {
		return nil, "", &plan.Refusal{Reason: cut.Reason, Text: fmt.Sprintf("an agent cannot decide plan %s now: %s", p.ID, cut.Text), HintText: cut.HintText}
	}
	if refusal, is := errors.AsType[*run.Refusal](err); is {
		return nil, refusal.Text, nil
	}
	if busy, is := errors.AsType[*run.Busy](err); is {
		return nil, busy.Error(), nil
	}
	return appends, "", err
}

// notificationRun returns the id of the run that reports, one per plan, since a plan is decided once.
func notificationRun(tx eventstore.Tx, conf *config.Config, p *plan.Plan) (ask run.Ask, err error) {
	if ask.Session, err = sessionOf(tx, p); err != nil {
		return ask, err
	}
	if ask.Message, err = prompt(tx, conf, p); err != nil {
		return ask, err
	}
	ask.Context = coordination.Context{TaskID: p.TaskID, WorkSessionID: p.WorkSessionID, EventRole: coordination.RoleOrchestration}
	ask.RunID, ask.Cause, ask.Provenance = "plan:"+p.ID+":"+p.Status, causeApproval, "internal_system"
	return ask, nil
}

// sessionOf returns the session in which the plan's agent is told: the one that submitted the plan, if it lasts, else the agent's main
// session.
func sessionOf(tx eventstore.Tx, p *plan.Plan) (coordination.SessionKey, error) {
	key, err := coordination.ParseSessionKey(p.SessionKey)
	if err != nil || key.Agent != p.Agent {
		return coordination.MainKey(p.Agent), nil
	}
	switch key.Kind {
	case coordination.KeyMain, coordination.KeyA2A, coordination.KeyDirect, coordination.KeyGroup, coordination.KeyChannel, coordination.KeyOther:
	default: // sessions for a single purpose, which end with it
		return coordination.MainKey(p.Agent), nil
	}
	if _, found, err := sessions.Load(tx, key); !found || err != nil {
		return coordination.MainKey(p.Agent), err
	}
	return key, nil
}

func prompt(tx eventstore.Tx, conf *config.Config, p *plan.Plan) (string, error) {
	over, open, err := taskState(tx, conf, p)
	if err != nil {
		return "", err
	}
	word := "Approved"
	if p.Status == plan.Rejected {
		word = "Rejected"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] Your plan %s for task %s was %s by %s.\n\nPlan: %s\n", word, p.ID, p.TaskID, p.Status, p.DecidedBy, p.Title)
	if p.Reason != "" {
		fmt.Fprintf(&b, "Reason: %s\n", p.Reason)
	}
	if conf.Tools.PlanGate.Enabled {
		fmt.Fprintf(&b, "Tools that approved plans open to you for this task now: %s\n", bulletList(open))
	}
	switch {
	case over:
		b.WriteString("\nThe task is over, so nothing is left to do for it.\n")
	case p.Status == plan.Approved:
		fmt.Fprintf(&b, "\nGo on with the task as the plan says: plan_status (plan_id %q) shows its steps. "+
			"Say how it goes with task_update (task_id %q).\n", p.ID, p.TaskID)
	default:
		fmt.Fprintf(&b, "\nDo not do what the plan says. Submit a better one with plan_submit (task_id %q), or end the task with task_cancel (task_id %q) "+
			"if there is none.\n", p.TaskID, p.TaskID)
	}
	return b.String(), nil
}

// taskState reports whether the task of a plan that was just decided is over, and which gated tools are open to its agent now.
func taskState(tx eventstore.Tx, conf *config.Config, p *plan.Plan) (over bool, open []string, err error) {
	t, found, err := tasks.Load(tx, p.TaskID)
	if over = !found || t.Terminal(); over || err != nil {
		return over, nil, err
	}
	plans, err := plans.Of(tx, p.Agent, p.TaskID)
	if err != nil {
		return false, nil, err
	}
	for i, other := range plans {
		if other.ID == p.ID {
			plans[i] = p
		}
	}
	gate := plan.NewGate(plans, p.Agent, p.TaskID)
	known := gated(conf)
	return false, slices.DeleteFunc(gate.Open(), func(name string) bool { return !plan.IsKnown(known, name) }), nil
}

func bulletList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
