package continuation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	flows "github.com/pronto-lab/openclawd/coordination/a2a"
	decide "github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/continuation"
	plans "github.com/pronto-lab/openclawd/projections/plan"
	runs "github.com/pronto-lab/openclawd/projections/run"
	tasks "github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/projections/work"
	"github.com/pronto-lab/openclawd/tools/access"
)

// outline is what is read of an agent first: it says of most whether anything is to be done.
type outline struct {
	*decide.Situation
	conf *config.Config
	now  time.Time
	open int // tasks that are not over
}

// outlined reads the outline of an agent. Of one without tasks, or where nobody is kept going, it is all that there is to read.
func outlined(tx eventstore.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (o outline, err error) {
	c := &conf.Defaults.Continuation
	s := &decide.Situation{Agent: agent, Policy: decide.DefaultPolicy(), Lead: leadOf(conf, agent)}
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
	s.Busy, err = work.Busy(tx, work.KindRun, agent)
	return o, err
}

// waits reports whether nothing is done about the agent, whatever else there is to know of it. The end of its run has it looked at again.
func (o *outline) waits() bool { return !o.Policy.Enabled || o.open == 0 || o.Busy }

// situation reads all that a decision about an agent depends on, but for the work sessions that its tasks join.
func situation(tx eventstore.Tx, conf *config.Config, agent string, now, restartedAt time.Time) (*decide.Situation, error) {
	o, err := outlined(tx, conf, agent, now, restartedAt)
	if err != nil {
		return nil, err
	}
	return o.Situation, o.fill(tx)
}

// fill reads the rest.
func (o *outline) fill(tx eventstore.Tx) (err error) {
	if o.open == 0 {
		return nil
	}
	s := o.Situation
	if s.Tasks, err = tasks.Standing(tx, s.Agent); err != nil {
		return err
	}
	if s.State, err = continuation.Load(tx, s.Agent); err != nil {
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

// leadsOf are the leads that are other agents, the first one first.
func leadsOf(conf *config.Config, agent string) []string {
	return slices.DeleteFunc(conf.Leads(), func(lead string) bool { return lead == agent })
}

// leadOf is the first of them, "" for none.
func leadOf(conf *config.Config, agent string) string {
	for _, lead := range leadsOf(conf, agent) {
		return lead
	}
	return ""
}

func inProgress(t task.Task) bool { return t.Status == coordination.StateInProgress }

// chunk is how many tasks of a backlog are looked at together.
const chunk = 64

// readBacklog finds the first task of the backlog that can begin, else when the first of those can that wait for their day alone, and those that
// never can.
func readBacklog(tx eventstore.Tx, s *decide.Situation, now int64) error {
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
				s.Stuck = decide.Stuck{}
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

// readStuck reads what is told of a task that can never begin.
func readStuck(tx eventstore.Tx, s *decide.Stuck) (err error) {
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

// startOf is when a task may begin, ms since 1970; 0 is at once.
func startOf(t *task.Task) int64 {
	at, ok := coordination.ParseTime(t.Backlog.StartDate)
	if !ok || at > maxTime {
		return 0
	}
	return int64(math.Ceil(at))
}

// planned are the tasks in progress whose last plan waits for approval.
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

// maxTime is the latest time that JSON numbers have exactly, ms since 1970.
const maxTime = 1 << 53

// barred are those who could help with what is blocked, and whom an agent must not write to, or who do not exist or work for others only.
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

// reports are what is to be told of what was done before: a request that did not reach its target, a prompt that has failed.
func reports(tx eventstore.Tx, s *decide.Situation) (news []decide.Event, err error) {
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
			news = append(news, decide.Undelivered(t, target, why))
		}
	}
	return append(news, decide.Outcome(s)...), nil
}

// lost says why a message has not reached its target, "" if it has, or still may. A target that says nothing was reached, unless it could not
// answer.
func lost(tx eventstore.Tx, jobID string) (target, why string, err error) {
	_, outcome, err := a2a.End(tx, jobID)
	if outcome == "" || outcome == flows.OutcomeOK || err != nil {
		return "", "", err
	}
	flow, _, err := a2a.Load(tx, jobID)
	if err != nil {
		return "", "", err
	}
	target, why = cmp.Or(flow.ToAgent, "unknown"), "the message has ended as "+outcome
	if outcome != coordination.OutcomeValueNoReply {
		return target, why, nil
	}
	last, _, err := runs.Load(tx, flow.RunID)
	if err != nil {
		return "", "", err
	}
	switch last.State {
	case run.Failed:
		return target, "the run that was to answer it has failed", nil
	case run.TimedOut:
		return target, "the run that was to answer it has taken too long", nil
	}
	return "", "", nil
}
