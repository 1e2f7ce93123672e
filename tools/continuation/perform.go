package continuation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	decide "github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/run"
	sessions "github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

const (
	cause          = "continuation" // of prompts
	origin         = coordination.OriginUnblock
	internalSystem = "internal_system" // provenance of prompts
)

// join has the tasks that have no work session belong to one, and the task that may be picked go on in another one where its own is archived.
func (x *Executor) join(tx eventstore.Tx, s *decide.Situation, now time.Time) (err error) {
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

func (x *Executor) joins(tx eventstore.Tx, t *task.Task, now int64) error {
	if t.WorkSessionID != "" {
		return nil
	}
	joined, err := x.o.Tasks.Joins(tx, t, now)
	if joined != "" {
		t.WorkSessionID = joined
	}
	return err
}

// performing is a decision on its way into the log.
type performing struct {
	x    *Executor
	tx   eventstore.Tx
	conf *config.Config
	s    *decide.Situation
	now  time.Time

	unsent bool // the agent was to be told, and could not be
}

// perform gives what is appended for a decision: its events, and what it asks for. Errors are the log's.
func (p *performing) perform(d *decide.Decision) ([]eventstore.StreamAppend, error) {
	switch {
	case d.Kind == decide.Ask:
		return p.ask(d)
	case d.Kind == decide.Reset:
		return p.reset(d)
	case d.Prompt == "" || d.To == "":
		return p.happen(d.Events(p.s, ""))
	}
	return p.prompt(d)
}

// prompt has an agent run. Where that is refused, the agent itself is left alone for a while; in place of a lead the next one is told, and people
// are anyway.
func (p *performing) prompt(d *decide.Decision) ([]eventstore.StreamAppend, error) {
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
		queued, err := p.x.o.Runs.Ask(p.tx, ask, p.now)
		switch {
		case err == nil:
			return p.happen(d.Events(p.s, d.Key), append(told, queued...)...)
		case !isRefused(err):
			return nil, err
		}
		if cut := a2a.CutOf(err); cut != nil {
			a, err := a2a.Cut(tool.Caller{AgentID: from.agent}, d.To, ask.Context, cut, eventstore.ID{}, p.now)
			if err != nil {
				return nil, err
			}
			told = append(told, a)
		}
		refused = err
		p.x.o.Logger.Warn("a prompt was refused", "agent", p.s.Agent, "to", d.To, "kind", string(d.Kind), "task", d.TaskID, "err", err)
	}
	if d.To == p.s.Agent {
		p.unsent = true
		return p.happen([]decide.Event{decide.Unsent(p.s, d, refused.Error(), p.now.UnixMilli())}, told...)
	}
	d.To = ""
	return p.happen(d.Events(p.s, ""), told...)
}

// caused is where the run stands that a prompt follows from, and whose it is; zero where a person has caused it.
type caused struct {
	chain.Link
	agent string
}

// cause finds the run that a decision follows from: the one that has last had something happen to the task, else the agent's last one. A prompt that
// nothing but time asks for is no further from the beginning of its chain than its agent was at first, but it belongs to it.
func (p *performing) cause(d *decide.Decision) (caused, error) {
	link, r, found, err := chain.Link{}, run.Result{}, false, error(nil)
	if d.TaskID != "" {
		link, r, found, err = runs.LastCause(p.tx, coordination.TaskStream(d.TaskID))
	} else if last := p.s.State.Ended.RunID; last != "" {
		link, r, found, err = runs.Link(p.tx, last)
	}
	if err != nil || !found {
		return caused{}, err
	}
	if r.EndedAt > 0 {
		link = link.Rested(p.now.Sub(time.UnixMilli(max(r.EndedAt, p.s.State.Ended.At))))
	}
	return caused{link, r.AgentID}, nil
}

// leadsTo puts a prompt for an agent into the chain: what another agent has caused is passed on.
func (c *caused) leadsTo(ask *run.Ask, agent string) {
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

// isRefused reports whether an error says that a run is not wanted, not that the log is in trouble.
func isRefused(err error) bool {
	return errors.As(err, new(*run.Refusal)) || errors.As(err, new(*run.Busy))
}

// run is the prompt of a decision. A restart that breaks it off is told of by the next one, so it is not repeated. What is to be seen goes to the
// configured channel: where the agent was spoken to there last, else where agents ask each other.
func (p *performing) run(d *decide.Decision) (run.Ask, error) {
	key := coordination.MainKey(strings.ToLower(d.To))
	ask := run.Ask{Session: key, RunQueued: coordination.RunQueued{
		Context: p.within(d.TaskID), RunID: d.Key, SessionKey: key.String(), Cause: cause, Message: d.Prompt, Provenance: internalSystem,
		OnRestart: run.OnRestartReport, Deliver: d.Visible}}
	channel := p.conf.Defaults.Continuation.Channel
	if !d.Visible || channel == "" {
		return ask, nil
	}
	last, err := session.LoadRoute(p.tx, key)
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

// discordChannel is the channel that agents have for each other where nobody has spoken to them.
const discordChannel = "discord"

// within is where what is asked for about a task belongs.
func (p *performing) within(taskID string) coordination.Context {
	c := coordination.Context{TaskID: taskID, EventRole: coordination.RoleOrchestration}
	if t := p.s.Task(taskID); t != nil {
		c.WorkSessionID = t.WorkSessionID
		if t == p.s.Pickable && p.s.Renewed != "" {
			c.WorkSessionID, c.PreviousWorkSessionID = p.s.Renewed, t.WorkSessionID
		}
	}
	return c
}

// ask sends a request to unblock a task.
func (p *performing) ask(d *decide.Decision) ([]eventstore.StreamAppend, error) {
	in := p.within(d.TaskID)
	from, err := p.cause(d)
	if err != nil {
		return nil, err
	}
	result, sent, err := p.x.o.Messages.Ask(p.tx, a2a.Request{
		From:   tool.Caller{AgentID: p.s.Agent, SessionKey: coordination.MainKey(p.s.Agent).String()},
		Origin: origin, Key: d.Key, Target: coordination.MainKey(strings.ToLower(d.To)), Message: d.Prompt, TaskID: d.TaskID, WorkSessionID: in.WorkSessionID,
		NoTurns: true, NoAnnounce: !d.Visible, Cause: from.Link,
	}, p.now)
	if err != nil {
		return nil, err
	}
	if why := refusalOf(&result); why != "" {
		return p.happen([]decide.Event{decide.Undelivered(p.s.Task(d.TaskID), d.To, why)}, sent...)
	}
	return p.happen(d.Events(p.s, result.JobID), sent...)
}

// refusalOf says why a message was not taken on, "" if it was.
func refusalOf(r *a2a.Result) string {
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

// reset has the main session of an agent start over.
func (p *performing) reset(d *decide.Decision) ([]eventstore.StreamAppend, error) {
	state, _, err := session.Load(p.tx, coordination.MainKey(p.s.Agent))
	if err != nil {
		return nil, err
	}
	by := sessions.Command{By: cause, NewID: p.x.o.NewID()}
	decided, err := sessions.Reset(state, sessions.ResetCommand{Command: by})
	if err != nil {
		return nil, err
	}
	anew, err := session.Append(state, eventstore.ActorSystem, p.now.UnixMilli(), decided)
	if err != nil {
		return nil, err
	}
	return p.happen(d.Events(p.s, ""), anew...)
}

// happen appends what has happened to an agent and its tasks, and then what follows from it.
func (p *performing) happen(events []decide.Event, follows ...eventstore.StreamAppend) (appends []eventstore.StreamAppend, err error) {
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.Type, err)
		}
		stream := coordination.TaskStream(e.TaskID)
		if e.TaskID == "" {
			stream = coordination.StreamOf(&coordination.Record{Type: e.Type, AgentID: e.AgentID})
		}
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
			eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorSystem, Data: data}.WithTS(p.now.UnixMilli())}})
	}
	return append(appends, follows...), nil
}
