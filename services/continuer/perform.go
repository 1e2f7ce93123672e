package continuer

import (
	"errors"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/messenger"
)

const (
	cause          = "continuation" // of prompts
	origin         = coordination.OriginUnblock
	internalSystem = "internal_system" // provenance of prompts
)

// join assigns a work session to tasks without one, and a new one to the next backlog task if its own is archived.
func (x *Service) join(tx eventstore.Tx, s *continuation.Situation, now time.Time) (err error) {
	at := now.UnixMilli()
	if s.Pickable != nil {
		if s.Renewed, err = x.o.Tasks.Renewed(tx, s.Pickable, at); err != nil {
			return err
		}
		if err := x.joins(tx, s.Pickable, at); err != nil {
			return err
		}
	}
	if s.Stuck.First != nil {
		if err := x.joins(tx, s.Stuck.First, at); err != nil {
			return err
		}
	}
	for i := range s.Tasks {
		if err := x.joins(tx, &s.Tasks[i], at); err != nil {
			return err
		}
	}
	return nil
}

func (x *Service) joins(tx eventstore.Tx, t *task.Task, now int64) error {
	if t.WorkSessionID != "" {
		return nil
	}
	joined, err := x.o.Tasks.Joins(tx, t, now)
	if joined != "" {
		t.WorkSessionID = joined
	}
	return err
}

// decisionAppend is a decision that is being appended.
type decisionAppend struct {
	x    *Service
	tx   eventstore.Tx
	conf *config.Config
	s    *continuation.Situation
	now  time.Time

	unsent bool // the agent could not be told
}

// perform returns the events of a decision and of what it requests. Errors are the log's.
func (p *decisionAppend) perform(d *continuation.Decision) ([]eventstore.StreamAppend, error) {
	switch {
	case d.Kind == continuation.Ask:
		return p.ask(d)
	case d.Kind == continuation.Reset:
		return p.reset(d)
	case d.Prompt == "" || d.To == "":
		return p.happen(d.Events(p.s, ""))
	}
	return p.prompt(d)
}

// prompt queues a run of an agent. If that is refused, the agent is left alone for a while; a refused lead is replaced by the next one,
// and people are told anyway.
func (p *decisionAppend) prompt(d *continuation.Decision) ([]eventstore.StreamAppend, error) {
	to := []string{d.To}
	if d.To != p.s.Agent {
		to = leadsOf(p.conf, p.s.Agent)
	}
	from, err := p.cause(d)
	if err != nil {
		return nil, err
	}
	var refused error
	var told []eventstore.StreamAppend
	for _, d.To = range to {
		ask, err := p.run(d)
		if err != nil {
			return nil, err
		}
		from.leadsTo(&ask, d.To)
		queued, err := p.x.o.Queue.Ask(p.tx, ask, p.now)
		switch {
		case err == nil:
			return p.happen(d.Events(p.s, d.Key), append(told, queued...)...)
		case !isRefused(err):
			return nil, err
		}
		if cut := messenger.ChainRefusalOf(err); cut != nil {
			a, err := messenger.ChainRefusedEvent(tool.Caller{AgentID: from.agent}, d.To, ask.Context, cut, eventstore.ID{}, p.now)
			if err != nil {
				return nil, err
			}
			told = append(told, a)
		}
		refused = err
		p.x.o.Logger.Warn("continuation prompt refused", "agent", p.s.Agent, "to", d.To, "kind", string(d.Kind), "task", d.TaskID, "err", err)
	}
	if d.To == p.s.Agent {
		p.unsent = true
		return p.happen([]continuation.Event{continuation.Unsent(p.s, d, refused.Error(), p.now.UnixMilli())}, told...)
	}
	d.To = ""
	return p.happen(d.Events(p.s, ""), told...)
}

// promptCause is the chain position and the agent of the run that a prompt follows from; zero if a person caused it.
type promptCause struct {
	chain.Link
	agent string
}

// cause finds the run that a decision follows from: the last one that changed the task, else the agent's last one. A prompt that only
// time causes belongs to the chain but is no further from its beginning than the agent was.
func (p *decisionAppend) cause(d *continuation.Decision) (promptCause, error) {
	link, r, found, err := chain.Link{}, run.Result{}, false, error(nil)
	if d.TaskID != "" {
		link, r, found, err = runs.LastCause(p.tx, coordination.TaskStream(d.TaskID))
	} else if last := p.s.State.Ended.RunID; last != "" {
		link, r, found, err = runs.Link(p.tx, last)
	}
	if err != nil || !found {
		return promptCause{}, err
	}
	if r.EndedAt > 0 {
		link = link.Rested(p.now.Sub(time.UnixMilli(max(r.EndedAt, p.s.State.Ended.At))))
	}
	return promptCause{link, r.AgentID}, nil
}

// leadsTo returns the position of a prompt in the chain: a hop further if another agent caused it.
func (c *promptCause) leadsTo(ask *run.Ask, agent string) {
	if c.Root == "" {
		return
	}
	to := c.Link
	if ask.Pass = !strings.EqualFold(c.agent, agent); ask.Pass {
		to, ask.PassedBy = to.Next(), c.agent
	}
	if ask.RootRunID = to.Root; to.Hop > 0 {
		ask.Hop = &to.Hop
	}
}

// isRefused reports whether an error is a refusal of the run, not a failure of the log.
func isRefused(err error) bool {
	return errors.As(err, new(*run.Refusal)) || errors.As(err, new(*run.Busy))
}

// run returns the run of a decision's prompt. It is not repeated after a restart, since the next prompt mentions the interruption. Its
// output goes to the configured channel: where the agent was last spoken to there, else the agents' own channel.
func (p *decisionAppend) run(d *continuation.Decision) (run.Ask, error) {
	key := coordination.MainKey(strings.ToLower(d.To))
	ask := run.Ask{Session: key, RunQueued: coordination.RunQueued{
		Context: p.within(d.TaskID), RunID: d.Key, SessionKey: key.String(), Cause: cause, Message: d.Prompt, Provenance: internalSystem,
		OnRestart: run.OnRestartReport, Deliver: d.Visible}}
	channel := p.conf.Defaults.Continuation.Channel
	if !d.Visible || channel == "" {
		return ask, nil
	}
	last, err := sessions.LoadRoute(p.tx, key)
	if err != nil {
		return ask, err
	}
	meeting := p.conf.Discord.Collaboration.DefaultChannel
	switch {
	case last.Channel == channel:
		ask.Channel, ask.To, ask.AccountID, ask.ThreadID = last.Channel, last.To, last.AccountID, last.ThreadID
	case channel == discordChannel && meeting != "":
		ask.Channel, ask.To = channel, "channel:"+meeting
	}
	return ask, nil
}

// discordChannel is the agents' own channel, used where no one has spoken to them.
const discordChannel = "discord"

func (p *decisionAppend) within(taskID string) coordination.Context {
	c := coordination.Context{TaskID: taskID, EventRole: coordination.RoleOrchestration}
	if t := p.s.Task(taskID); t != nil {
		c.WorkSessionID = t.WorkSessionID
		if t == p.s.Pickable && p.s.Renewed != "" {
			c.WorkSessionID, c.PreviousWorkSessionID = p.s.Renewed, t.WorkSessionID
		}
	}
	return c
}

func (p *decisionAppend) ask(d *continuation.Decision) ([]eventstore.StreamAppend, error) {
	in := p.within(d.TaskID)
	from, err := p.cause(d)
	if err != nil {
		return nil, err
	}
	result, sent, err := p.x.o.Messages.Ask(p.tx, messenger.Request{
		From:   tool.Caller{AgentID: p.s.Agent, SessionKey: coordination.MainKey(p.s.Agent).String()},
		Origin: origin, Key: d.Key, Target: coordination.MainKey(strings.ToLower(d.To)), Message: d.Prompt, TaskID: d.TaskID, WorkSessionID: in.WorkSessionID,
		NoTurns: true, NoAnnounce: !d.Visible, Cause: from.Link,
	}, p.now)
	if err != nil {
		return nil, err
	}
	if why := refusalOf(&result); why != "" {
		return p.happen([]continuation.Event{continuation.Undelivered(p.s.Task(d.TaskID), d.To, why)}, sent...)
	}
	return p.happen(d.Events(p.s, result.JobID), sent...)
}

// refusalOf returns why a message was refused, "" if it was accepted.
func refusalOf(r *messenger.Result) string {
	switch {
	case r.Duplicate:
		return ""
	case r.Error != "":
		return r.Error
	case r.JobID == "":
		return r.Status
	}
	return ""
}

func (p *decisionAppend) reset(d *continuation.Decision) ([]eventstore.StreamAppend, error) {
	state, _, err := sessions.Load(p.tx, coordination.MainKey(p.s.Agent))
	if err != nil {
		return nil, err
	}
	by := session.Command{By: cause, NewID: p.x.o.NewID()}
	decided, err := session.Reset(state, session.ResetCommand{Command: by})
	if err != nil {
		return nil, err
	}
	resets, err := sessions.Append(state, eventstore.ActorSystem, p.now.UnixMilli(), decided)
	if err != nil {
		return nil, err
	}
	return p.happen(d.Events(p.s, ""), resets...)
}

// happen appends the events about an agent and its tasks, and then their consequences.
func (p *decisionAppend) happen(events []continuation.Event, follows ...eventstore.StreamAppend) (appends []eventstore.StreamAppend, err error) {
	for _, e := range events {
		stream := coordination.TaskStream(e.TaskID)
		if e.TaskID == "" {
			stream = coordination.StreamOf(&coordination.Record{Type: e.Type, AgentID: e.AgentID})
		}
		one, err := eventstore.One(stream, eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem}, e.Data, p.now.UnixMilli())
		if err != nil {
			return nil, err
		}
		appends = append(appends, one...)
	}
	return append(appends, follows...), nil
}
