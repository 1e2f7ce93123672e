package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// statusRecent is how many sessions status shows, per agent and overall.
const statusRecent = 10

type statusAnswer struct {
	RuntimeVersion     string          `json:"runtimeVersion,omitempty"`
	Heartbeat          statusHeartbeat `json:"heartbeat"`
	ChannelSummary     []string        `json:"channelSummary"`
	QueuedSystemEvents []string        `json:"queuedSystemEvents"`
	Sessions           statusSessions  `json:"sessions"`
	Lanes              []laneAnswer    `json:"lanes,omitempty"` // if anything waits or runs
}

type statusHeartbeat struct {
	DefaultAgentID string                 `json:"defaultAgentId"`
	Agents         []statusAgentHeartbeat `json:"agents"`
}

type statusAgentHeartbeat struct {
	AgentID string `json:"agentId"`
	Enabled bool   `json:"enabled"`
	Every   string `json:"every"`
	EveryMs *int64 `json:"everyMs"`
}

type statusSessions struct {
	Paths    []string        `json:"paths"`
	Count    int64           `json:"count"`
	Defaults statusDefaults  `json:"defaults"`
	Recent   []statusSession `json:"recent"`
	ByAgent  []statusAgent   `json:"byAgent"`
}

type statusDefaults struct {
	Model         string `json:"model"`
	ContextTokens int    `json:"contextTokens"`
}

type statusAgent struct {
	AgentID string          `json:"agentId"`
	Path    string          `json:"path"`
	Count   int64           `json:"count"`
	Recent  []statusSession `json:"recent"`
}

// statusSession is a session in status. Tokens are null until a model has reported them.
type statusSession struct {
	AgentID          string        `json:"agentId,omitempty"`
	Key              string        `json:"key"`
	Kind             string        `json:"kind"`
	SessionID        string        `json:"sessionId"`
	UpdatedAt        int64         `json:"updatedAt"`
	Age              int64         `json:"age"`
	ThinkingLevel    string        `json:"thinkingLevel,omitempty"`
	VerboseLevel     string        `json:"verboseLevel,omitempty"`
	ReasoningLevel   string        `json:"reasoningLevel,omitempty"`
	ElevatedLevel    string        `json:"elevatedLevel,omitempty"`
	AbortedLastRun   bool          `json:"abortedLastRun"`
	InputTokens      *int64        `json:"inputTokens,omitempty"`
	OutputTokens     *int64        `json:"outputTokens,omitempty"`
	TotalTokens      *int64        `json:"totalTokens"`
	TotalTokensFresh bool          `json:"totalTokensFresh"`
	RemainingTokens  *int64        `json:"remainingTokens"`
	PercentUsed      *int64        `json:"percentUsed"`
	Model            string        `json:"model"`
	ContextTokens    int           `json:"contextTokens"`
	Flags            []string      `json:"flags"`
	Queue            *sessionQueue `json:"queue,omitempty"`
}

func (s *Server) answerStatus(ctx context.Context, call *wire.Call) (any, error) {
	var p struct {
		IncludeChannelSummary *bool `json:"includeChannelSummary"`
	}
	if json.Unmarshal(call.Params, &p) != nil {
		p.IncludeChannelSummary = nil // the original does not check the parameters either
	}
	c := s.opts.Configuration.InForce()
	a := &statusAnswer{RuntimeVersion: s.opts.Version, ChannelSummary: []string{}, QueuedSystemEvents: []string{}}
	if p.IncludeChannelSummary == nil || *p.IncludeChannelSummary {
		a.ChannelSummary = s.channelSummary(c)
	}
	a.Heartbeat.DefaultAgentID = c.DefaultAgentID()
	for _, agent := range agentsOf(c) {
		a.Heartbeat.Agents = append(a.Heartbeat.Agents, statusAgentHeartbeat{AgentID: agent.ID, Every: "disabled"})
	}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if s.opts.Runs != nil {
			if a.Lanes, err = s.readLanes(ctx, tx); err != nil {
				return err
			}
		}
		return s.readStatus(ctx, tx, c, &a.Sessions, len(a.Lanes) == 0)
	})
	return a, err
}

func (s *Server) channelSummary(c *config.Config) []string {
	lines, states := []string{}, s.bots()
	for _, channel := range coordination.Channels() {
		if accounts := accountsIn(c, states, channel.Name); len(accounts) > 0 {
			lines = append(lines, channel.Title+": "+summaryLine(accounts))
		}
	}
	return lines
}

func summaryLine(accounts []*channelState) string {
	bots, connected := 0, 0
	for _, a := range accounts {
		if *a.Enabled && a.Configured {
			bots++
		}
		if a.Connected != nil && *a.Connected {
			connected++
		}
	}
	switch {
	case !isConfigured(accounts):
		return "no token"
	case connected == 0:
		return "configured, not connected"
	}
	return fmt.Sprintf("%d of %d bots connected", connected, bots)
}

func (s *Server) readStatus(ctx context.Context, tx *sql.Tx, c *config.Config, a *statusSessions, idle bool) error {
	counts, err := sessions.Count(ctx, tx)
	if err != nil {
		return err
	}
	usual := defaultsOf(c)
	a.Paths, a.Defaults = []string{s.opts.Database}, statusDefaults{Model: usual.Model, ContextTokens: usual.ContextTokens}
	if a.Recent, err = s.recentStatus(ctx, tx, c, "", idle); err != nil {
		return err
	}
	ids := make([]string, 0, len(counts))
	for _, agent := range agentsOf(c) {
		ids = append(ids, agent.ID)
	}
	for _, agent := range slices.Sorted(maps.Keys(counts)) {
		a.Count += counts[agent]
		if agent != "" && !slices.Contains(ids, agent) { // no longer configured, but has sessions
			ids = append(ids, agent)
		}
	}
	a.ByAgent = []statusAgent{}
	for _, agent := range ids {
		one := statusAgent{AgentID: agent, Path: s.opts.Database, Count: counts[agent], Recent: []statusSession{}}
		if one.Count > 0 {
			if one.Recent, err = s.recentStatus(ctx, tx, c, agent, idle); err != nil {
				return err
			}
		}
		a.ByAgent = append(a.ByAgent, one)
	}
	return nil
}

func (s *Server) recentStatus(ctx context.Context, tx *sql.Tx, c *config.Config, agent string, idle bool) ([]statusSession, error) {
	found, err := sessions.List(ctx, tx, sessions.Query{Agent: agent, Limit: statusRecent})
	if err != nil {
		return nil, err
	}
	var queues map[string]*sessionQueue
	if !idle {
		keys := make([]string, len(found))
		for i := range found {
			keys[i] = found[i].Key
		}
		if queues, err = s.queues(ctx, tx, keys); err != nil {
			return nil, err
		}
	}
	rows := make([]statusSession, 0, len(found))
	for i := range found {
		row := statusOf(&found[i], c, s.opts.Now().UnixMilli())
		row.Queue = queues[row.Key]
		rows = append(rows, row)
	}
	return rows, nil
}

func statusOf(one *sessions.Session, c *config.Config, now int64) statusSession {
	model, owner := modelOf(c, one), ownerOf(c, one)
	row := statusSession{
		AgentID: owner, Key: one.Key, Kind: kindOf(one), SessionID: one.ID, UpdatedAt: one.UpdatedAt, Age: max(0, now-one.UpdatedAt),
		ThinkingLevel: textSetting(one, "thinkingLevel"), VerboseLevel: textSetting(one, "verboseLevel"),
		ReasoningLevel: textSetting(one, "reasoningLevel"), ElevatedLevel: textSetting(one, "elevatedLevel"),
		AbortedLastRun: one.AbortedLastRun, TotalTokensFresh: one.TokensFresh, Model: model.Model,
		ContextTokens: c.ContextTokens(owner, model.String()),
	}
	if hasTokens(one) {
		total := contextUsed(one)
		row.InputTokens, row.OutputTokens, row.TotalTokens = &one.InputTokens, &one.OutputTokens, &total
	}
	if one.TokensFresh {
		window := int64(row.ContextTokens)
		remaining, percent := max(0, window-contextUsed(one)), int64(math.Round(float64(contextUsed(one))/float64(window)*100))
		row.RemainingTokens, row.PercentUsed = &remaining, &percent
	}
	for _, level := range [][2]string{{"think", row.ThinkingLevel}, {"verbose", row.VerboseLevel}, {"reasoning", row.ReasoningLevel},
		{"elevated", row.ElevatedLevel}} {
		if level[1] != "" {
			row.Flags = append(row.Flags, level[0]+":"+level[1])
		}
	}
	if one.AbortedLastRun {
		row.Flags = append(row.Flags, "aborted")
	}
	row.Flags = append(row.Flags, "id:"+one.ID)
	return row
}
