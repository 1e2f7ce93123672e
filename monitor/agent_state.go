package monitor

import (
	"context"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/projections/agents"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/problems"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

// agentState is how an agent is doing. Times are ms since 1970.
type agentState struct {
	Status   agents.Status   `json:"status"`
	Activity *index.Activity `json:"activity"` // null: no event of it
	Run      *agents.Run     `json:"run"`      // null: none is open
	Queue    agents.Queue    `json:"queue"`
	Next     *nextStep       `json:"next"`     // null: it is not continued automatically, or that is unknown
	Discord  *agentBot       `json:"discord"`  // null: it has no bot, or that is unknown
	Channels []agentChannel  `json:"channels"` // in which it has a bot; none if that is unknown
	Tokens   agents.Tokens   `json:"tokens"`
	Sandbox  sandboxes.State `json:"sandbox"`

	Approvals int `json:"approvals"` // plans and calls of tools of it that wait for approval
}

// nextStep is an agent's next continuation step.
type nextStep struct {
	Kind          continuation.Kind   `json:"kind"`
	Reason        continuation.Reason `json:"reason"`
	TaskID        string              `json:"taskId,omitempty"`
	LookAgainAtMs int64               `json:"lookAgainAtMs,omitempty"` // absent: an event changes it, not time
}

// agentBot is the state of an agent's connection to Discord.
type agentBot struct {
	State health.BotState `json:"state"`
}

// agentChannel is the state of an agent's connection to a channel.
type agentChannel struct {
	Channel string `json:"channel"`
	agentBot
}

func (v *view) agentState(ctx context.Context, agent *agentAnswer, s *agents.State) (a agentState, err error) {
	id := strings.ToLower(agent.ID)
	a = agentState{Activity: s.Activity, Run: s.Run, Queue: s.Queue, Tokens: s.Tokens, Approvals: s.Plans + s.Calls}
	if a.Next, err = v.nextStep(ctx, id); err != nil {
		return a, err
	}
	offline := false
	a.Channels, offline = v.botsOf(id)
	for i := range a.Channels {
		if a.Channels[i].Channel == coordination.Discord {
			a.Discord = &a.Channels[i].agentBot
		}
	}
	a.Status = agents.StatusOf(&agents.Situation{State: *s, Now: int64(v.now), Configured: v.configures(id), Offline: offline, Tasks: agent.TaskCounts})
	return a, nil
}

// configures reports whether the configuration in force has an agent. Where it is unknown, every agent counts as
// configured; so do the agents of another gateway.
func (v *view) configures(id string) bool {
	if v.OwnTasks == nil || v.OwnTasks.Team == nil {
		return true
	}
	team := v.OwnTasks.Team()
	return len(team) == 0 || slices.ContainsFunc(team, func(a config.Agent) bool { return strings.EqualFold(a.ID, id) })
}

// nextStep is nil if the agent is not continued here, or if the log does not have the configuration then in force.
func (v *view) nextStep(ctx context.Context, id string) (*nextStep, error) {
	if v.Continuation == nil || v.then != nil && v.then.Continuation == nil {
		return nil, nil
	}
	e, kept, err := v.Continuation(ctx, v.tx, id)
	if err != nil || !kept {
		return nil, err
	}
	d := &e.Decision
	return &nextStep{d.Kind, d.Reason, d.TaskID, d.LookAgainAt}, nil
}

// botsOf returns an agent's bots, of several in a channel the first that is not connected. The agent is offline if none of
// its channels is connected.
func (v *view) botsOf(id string) (channels []agentChannel, offline bool) {
	channels = []agentChannel{}
	if v.Bots == nil || v.then != nil {
		return channels, false
	}
	own := slices.DeleteFunc(slices.Clone(v.Bots()), func(b health.Bot) bool { return !strings.EqualFold(b.AgentID, id) })
	down := 0
	for _, name := range channelNames() {
		bots := health.OfBots(own, name)
		if len(bots) == 0 {
			continue
		}
		worst := max(0, slices.IndexFunc(bots, func(b health.Bot) bool { return problems.Offline(&b, int64(v.now)) }))
		channels = append(channels, agentChannel{name, agentBot{bots[worst].State}})
		if problems.Offline(&bots[worst], int64(v.now)) {
			down++
		}
	}
	return channels, down > 0 && down == len(channels)
}
