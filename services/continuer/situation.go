package continuer

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/access"
)

// outline is read first: for most agents it shows whether anything is due.
type outline struct {
	*continuation.Situation
	conf *config.Config
	now  time.Time
	open int // open tasks
}

// outlined reads the outline of an agent. For one without tasks, or with continuation switched off, nothing else is read.
func outlined(tx eventstore.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (o outline, err error) {
	c := &conf.Defaults.Continuation
	s := &continuation.Situation{Agent: agent, Policy: continuation.DefaultPolicy(), Lead: leadOf(conf, agent)}
	s.Policy.Enabled, s.Policy.Idle, s.Policy.ZombieTTL = c.Enabled, c.IdleThreshold, c.ZombieTaskTTL
	if !restartedAt.IsZero() {
		s.RestartedAt = restartedAt.UnixMilli()
	}
	o = outline{Situation: s, conf: conf, now: now}
	if !c.Enabled {
		return o, nil
	}
	if o.open, err = tasks.OpenOf(tx, agent); err != nil || o.open == 0 {
		return o, err
	}
	s.Busy, err = workqueue.Busy(tx, workqueue.KindRun, agent)
	return o, err
}

// nothingToDo reports whether nothing is due, whatever the rest would say. The end of the agent's run causes the next check.
func (o *outline) nothingToDo() bool { return !o.Policy.Enabled || o.open == 0 || o.Busy }

// situation reads everything that a decision about an agent depends on, except the work sessions that its tasks join.
func situation(tx eventstore.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (*continuation.Situation, error) {
	o, err := outlined(tx, conf, agent, now, restartedAt)
	if err != nil {
		return nil, err
	}
	return o.Situation, o.fill(tx)
}

func (o *outline) fill(tx eventstore.Tx) (err error) {
	if o.open == 0 {
		return nil
	}
	s := o.Situation
	if s.Tasks, err = tasks.Standing(tx, s.Agent); err != nil {
		return err
	}
	if s.State, err = continuations.Load(tx, s.Agent); err != nil {
		return err
	}
	s.Waiting = o.open - len(s.Tasks)
	if s.Waiting > 0 && !slices.ContainsFunc(s.Tasks, inProgress) {
		if err := readBacklog(tx, s, o.now.UnixMilli()); err != nil {
			return err
		}
	}
	if s.Planned, err = planned(tx, s.Agent, s.Tasks); err != nil {
		return err
	}
	s.Barred = barred(o.conf, s.Agent, s.Tasks)
	return nil
}

// leadsOf returns the other agents that are leads, the first configured first.
func leadsOf(conf *config.Config, agent string) []string {
	return slices.DeleteFunc(conf.Leads(), func(lead string) bool { return lead == agent })
}

func leadOf(conf *config.Config, agent string) string {
	for _, lead := range leadsOf(conf, agent) {
		return lead
	}
	return ""
}

func inProgress(t task.Task) bool { return t.Status == coordination.StateInProgress }

const chunk = 64

// readBacklog finds the first backlog task that can begin, else the earliest start of those that only wait for their date, and those
// that never can begin.
func readBacklog(tx eventstore.Tx, s *continuation.Situation, now int64) error {
	all, err := tasks.Backlog(tx, s.Agent)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all, chunk) {
		var ids []string
		for i := range some {
			ids = append(ids, some[i].Backlog.DependsOn...)
		}
		states, err := tasks.States(tx, ids)
		if err != nil {
			return err
		}
		for i := range some {
			t := &some[i]
			if task.Pickable(t, states, now) == "" {
				s.Stuck = continuation.Stuck{}
				s.Pickable, _, err = tasks.Load(tx, t.ID)
				return err
			}
			s.Stuck.Add(&s.State, t, states)
			if at := startOf(t); at > now && task.Pickable(t, states, at) == "" && (s.PickableAt == 0 || at < s.PickableAt) {
				s.PickableAt = at
			}
		}
	}
	return readStuck(tx, &s.Stuck)
}

func readStuck(tx eventstore.Tx, s *continuation.Stuck) (err error) {
	if s.First == nil {
		return nil
	}
	if s.First, _, err = tasks.Load(tx, s.First.ID); err != nil {
		return err
	}
	gone, found, err := tasks.Load(tx, s.DependsOn)
	if found {
		s.Since = gone.ActiveAt
	}
	return err
}

// startOf returns when a task may begin, in ms since 1970; 0 is at once.
func startOf(t *task.Task) int64 {
	at, ok := coordination.ParseTime(t.Backlog.StartDate)
	if !ok || at > maxTime {
		return 0
	}
	return int64(math.Ceil(at))
}

// planned returns the tasks in progress whose last plan waits for approval.
func planned(tx eventstore.Tx, agent string, all []task.Task) (ids []string, err error) {
	for i := range all {
		if !inProgress(all[i]) {
			continue
		}
		of, err := plans.Of(tx, agent, all[i].ID)
		if err != nil {
			return nil, err
		}
		if len(of) > 0 && of[0].Status == plan.Pending {
			ids = append(ids, all[i].ID)
		}
	}
	return ids, nil
}

// maxTime is the latest time that a JSON number represents exactly, in ms since 1970.
const maxTime = 1 << 53

// barred returns the potential helpers that do not exist, work only for others, or may not be written to.
func barred(conf *config.Config, agent string, all []task.Task) (names []string) {
	policy := access.PolicyOf(conf.Tools.AgentToAgent)
	for i := range all {
		if all[i].Status != coordination.StateBlocked {
			continue
		}
		for _, name := range all[i].Blocked.By {
			a := conf.AgentNamed(name)
			known := len(conf.Agents) == 0 || a != nil && !a.IsUtility()
			if !slices.Contains(names, name) && (!known || !policy.Judge(agent, name).Allowed) {
				names = append(names, name)
			}
		}
	}
	return names
}

// reports returns the failures to report: requests that did not reach their targets, and failed prompts.
func reports(tx eventstore.Tx, s *continuation.Situation) (news []continuation.Event, err error) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		asked := s.State.Tasks[t.ID].Asked
		if asked == "" || t.Status != coordination.StateBlocked {
			continue
		}
		target, why, err := lost(tx, asked)
		if err != nil {
			return nil, err
		}
		if why != "" {
			news = append(news, continuation.Undelivered(t, target, why))
		}
	}
	return append(news, continuation.Outcome(s)...), nil
}

// lost returns why a message has not reached its target, "" if it has or still may. A target without an answer was reached, unless its
// run failed.
func lost(tx eventstore.Tx, jobID string) (target, why string, err error) {
	_, outcome, err := flows.End(tx, jobID)
	if outcome == "" || outcome == a2a.OutcomeOK || err != nil {
		return "", "", err
	}
	flow, _, err := flows.Load(tx, jobID)
	if err != nil {
		return "", "", err
	}
	target, why = cmp.Or(flow.ToAgent, "unknown"), "the message ended with outcome "+outcome
	if outcome != coordination.OutcomeValueNoReply {
		return target, why, nil
	}
	last, _, err := runs.Load(tx, flow.RunID)
	if err != nil {
		return "", "", err
	}
	switch last.State {
	case run.Failed:
		return target, "the run that was to answer it failed", nil
	case run.TimedOut:
		return target, "the run that was to answer it timed out", nil
	}
	return "", "", nil
}
