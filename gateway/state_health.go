package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Caching of health. An answer is checked after healthFresh, and rebuilt after healthKept even if nothing changed.
const (
	healthFresh  = time.Second
	healthKept   = time.Minute
	healthTime   = 10 * time.Second // that the store has
	healthRecent = 5                // sessions per agent
)

type healthAnswer struct {
	OK               bool                     `json:"ok"`
	Reason           *healthReason            `json:"reason,omitempty"` // absent if OK
	TS               int64                    `json:"ts"`
	DurationMs       int64                    `json:"durationMs"`
	Channels         map[string]*channelState `json:"channels"`
	ChannelOrder     []string                 `json:"channelOrder"`
	ChannelLabels    map[string]string        `json:"channelLabels"`
	HeartbeatSeconds int                      `json:"heartbeatSeconds"`
	DefaultAgentID   string                   `json:"defaultAgentId"`
	Agents           []agentHealth            `json:"agents"`
	Sessions         sessionsHealth           `json:"sessions"`
}

// healthReason says what is wrong. The cause is only in the program's log, since anyone may ask for health.
type healthReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type agentHealth struct {
	AgentID   string          `json:"agentId"`
	Name      string          `json:"name,omitempty"`
	IsDefault bool            `json:"isDefault"`
	Heartbeat heartbeatHealth `json:"heartbeat"`
	Sessions  sessionsHealth  `json:"sessions"`
}

// heartbeatHealth is the heartbeat state of an agent without heartbeats.
type heartbeatHealth struct {
	Enabled     bool   `json:"enabled"`
	Every       string `json:"every"`
	EveryMs     *int64 `json:"everyMs"`
	Prompt      string `json:"prompt"`
	Target      string `json:"target"`
	AckMaxChars int    `json:"ackMaxChars"`
}

type sessionsHealth struct {
	Path   string          `json:"path"`
	Count  int64           `json:"count"`
	Recent []sessionHealth `json:"recent"`
}

type sessionHealth struct {
	Key       string `json:"key"`
	UpdatedAt int64  `json:"updatedAt"`
	Age       int64  `json:"age"`
}

// healthCache caches the newest answer, so that frequent requests are cheap. The zero value is ready.
type healthCache struct {
	flight singleflight.Group
	last   atomic.Pointer[healthState]
}

// healthState is an answer and its inputs. It is immutable.
type healthState struct {
	answer   *healthAnswer
	encoded  json.RawMessage
	config   *config.Config
	changed  int64 // sessions.Changed
	bots     []bot
	made     time.Time
	lookedAt time.Time // when it was last confirmed
}

func (h *healthState) isFresh(now time.Time, c *config.Config) bool {
	age := now.Sub(h.lookedAt)
	return h.config == c && age >= 0 && age < healthFresh
}

func (s *Server) answerHealth(ctx context.Context, call *wire.Call) (any, error) {
	var p struct {
		Probe bool `json:"probe"`
	}
	if len(call.Params) > len(`{}`) && json.Unmarshal(call.Params, &p) != nil {
		p.Probe = false // unknown parameters are accepted, as in the original
	}
	h, err := s.currentHealth(ctx, p.Probe)
	if err != nil {
		return nil, err
	}
	return h.encoded, nil
}

// currentHealth returns the newest answer. Concurrent callers share one check; a caller that leaves does not stop it.
func (s *Server) currentHealth(ctx context.Context, probe bool) (*healthState, error) {
	if last := s.health.last.Load(); !probe && last != nil && last.isFresh(s.opts.Now(), s.opts.Configuration.InForce()) {
		return last, nil
	}
	flight := "look"
	if probe {
		flight = "probe"
	}
	result := s.health.flight.DoChan(flight, func() (any, error) {
		looking, stop := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
		defer stop()
		return s.checkHealth(looking, probe), nil
	})
	select {
	case r := <-result:
		return r.Val.(*healthState), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkHealth returns the last answer if nothing has changed, else a new one, and broadcasts it if its outcome
// differs.
func (s *Server) checkHealth(ctx context.Context, probe bool) *healthState {
	last, now, c := s.health.last.Load(), s.opts.Now(), s.opts.Configuration.InForce()
	next := &healthState{config: c, bots: s.bots(), made: now, lookedAt: now, answer: &healthAnswer{OK: true, TS: now.UnixMilli(), DefaultAgentID: c.DefaultAgentID()}}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if next.changed, err = sessions.Changed(ctx, tx); err != nil {
			return err
		}
		if !probe && last != nil && last.holds(next) {
			next.answer = nil
			return nil
		}
		return s.readHealth(ctx, tx, next)
	})
	switch {
	case err != nil:
		s.opts.Logger.WarnContext(ctx, "cannot read the store for health", "err", err)
		next.fail(last)
	case next.answer == nil:
		next.answer, next.encoded, next.made = last.answer, last.encoded, last.made
		s.health.last.Store(next)
		return next
	}
	next.answer.Channels, next.answer.ChannelOrder, next.answer.ChannelLabels = s.healthChannels(c, now.UnixMilli())
	next.answer.DurationMs = s.opts.Now().Sub(now).Milliseconds()
	if next.encoded, err = encoded(next.answer); err != nil {
		s.opts.Logger.ErrorContext(ctx, "cannot encode health", "err", err)
		next.encoded = json.RawMessage(`{"ok":false}`)
	}
	s.health.last.Store(next)
	if last != nil && (last.answer.OK != next.answer.OK || last.config != c || !slices.Equal(last.bots, next.bots)) {
		s.hub.Broadcast(wire.Event{Name: "health", Payload: next.encoded, Droppable: true, State: true})
	}
	return next
}

// holds reports whether an answer is still valid for the current inputs.
func (h *healthState) holds(next *healthState) bool {
	age := next.made.Sub(h.made)
	return h.answer.OK && h.config == next.config && h.changed == next.changed && slices.Equal(h.bots, next.bots) && age >= 0 && age < healthKept
}

// fail builds an answer for an unreadable store, with the last known data.
func (h *healthState) fail(last *healthState) {
	h.answer.OK = false
	h.answer.Reason = &healthReason{"store_unreadable", "the log cannot be read: sessions are shown as last known; see the gateway's own log"}
	h.answer.Agents, h.answer.Sessions.Recent = []agentHealth{}, []sessionHealth{}
	if last != nil {
		h.answer.Agents, h.answer.Sessions = last.answer.Agents, last.answer.Sessions
	}
}

func (s *Server) readHealth(ctx context.Context, tx *sql.Tx, h *healthState) error {
	counts, err := sessions.Count(ctx, tx)
	if err != nil {
		return err
	}
	a := h.answer
	a.Sessions = sessionsHealth{Path: s.opts.Database}
	for _, n := range counts {
		a.Sessions.Count += n
	}
	if a.Sessions.Recent, err = recentHealth(ctx, tx, "", a.TS); err != nil {
		return err
	}
	for _, agent := range agentsOf(h.config) {
		one := agentHealth{AgentID: agent.ID, Name: agent.Name, IsDefault: agent.ID == a.DefaultAgentID,
			Heartbeat: heartbeatHealth{Every: "disabled", Target: "none"}, Sessions: sessionsHealth{Path: s.opts.Database, Count: counts[agent.ID]}}
		one.Sessions.Recent = []sessionHealth{}
		if one.Sessions.Count > 0 {
			if one.Sessions.Recent, err = recentHealth(ctx, tx, agent.ID, a.TS); err != nil {
				return err
			}
		}
		a.Agents = append(a.Agents, one)
	}
	return nil
}

func recentHealth(ctx context.Context, tx *sql.Tx, agent string, now int64) ([]sessionHealth, error) {
	found, err := sessions.List(ctx, tx, sessions.Query{Agent: agent, Limit: healthRecent})
	if err != nil {
		return nil, err
	}
	recent := make([]sessionHealth, 0, len(found))
	for i := range found {
		recent = append(recent, sessionHealth{Key: found[i].Key, UpdatedAt: found[i].UpdatedAt, Age: max(0, now-found[i].UpdatedAt)})
	}
	return recent, nil
}
