package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type createParams struct {
	Key         string            `json:"key"`
	Agent       string            `json:"agentId"`
	Parent      string            `json:"parentSessionKey"`
	Once        string            `json:"idempotencyKey"`
	Message     string            `json:"message"`
	Task        string            `json:"task"` // older name of message
	Attachments []json.RawMessage `json:"attachments"`
	TimeoutMs   *int64            `json:"timeoutMs"`
	Label       *string           `json:"label"`
	Model       *string           `json:"model"`
	Thinking    *string           `json:"thinkingLevel"`
}

// createAnswer answers sessions.create. If the session was created but its first message refused, the answer says so
// and is no error.
type createAnswer struct {
	OK         bool            `json:"ok"`
	Key        string          `json:"key"`
	SessionID  string          `json:"sessionId"`
	Entry      map[string]any  `json:"entry"`
	Resolved   modelRef        `json:"resolved"`
	RunStarted bool            `json:"runStarted"`
	RunID      string          `json:"runId,omitempty"`
	RunError   *protocol.Error `json:"runError,omitempty"`
}

// createSession creates a session, or uses the one its key names, applies the settings, and queues the first message.
// A session without a key gets one derived from the request's idempotencyKey, so that a repeated request creates
// nothing twice.
func (s *Server) createSession(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[createParams](call)
	if err != nil {
		return nil, err
	}
	if err := notHeeded(call, "fork", "forkFrom", "incognito", "spawnDepth", "catalogId", "projectId", "projectGitUrl", "repository", "worktree",
		"worktreeSource", "worktreeBaseRef", "worktreeName", "execNode", "cwd", "toolOverrides", "agentRuntime", "contextWindow"); err != nil {
		return nil, err
	}
	if err := rejectWebchat(call.Peer, "create"); err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := p.key(c, s.opts.NewID)
	if err != nil {
		return nil, err
	}
	if err := mayHaveSessions(c, "agentId", agentOf(c, key)); err != nil {
		return nil, err
	}
	first := p.first(s.opts.NewID)
	if first != nil { // an unacceptable message creates no session
		if s.opts.Runs == nil {
			return nil, cannotRun()
		}
		if _, err := first.check(c); err != nil {
			return nil, err
		}
		if _, err := first.ask(call, c, key); err != nil {
			return nil, err
		}
	}
	values, err := p.settings()
	if err != nil {
		return nil, err
	}
	if before, err := s.sessionByKey(ctx, key); err != nil {
		return nil, err
	} else if before != nil && coordination.TrimJS(p.Key) == "" {
		values = nil // it was created with them; they may have been changed since
	}
	one, err := s.set(ctx, call, c, sessionChange{key: key, makes: true}, values)
	if err != nil {
		return nil, err
	}
	a := createAnswer{OK: true, Key: key.String(), SessionID: one.ID, Entry: entryOf(one, call.Peer.Protocol), Resolved: modelOf(c, one)}
	if first == nil {
		return a, nil
	}
	_, err = s.queueMessage(ctx, call, c, key, first)
	refused, is := errors.AsType[*protocol.Error](err)
	switch {
	case err == nil:
		a.RunStarted, a.RunID = true, first.RunID
	case is:
		a.RunError = refused
	default:
		return nil, err
	}
	return a, nil
}

func (p *createParams) key(c *config.Config, newID func() string) (coordination.SessionKey, error) {
	if coordination.TrimJS(p.Parent) != "" {
		if _, err := sessionKeyOf(c, "parentSessionKey", p.Parent); err != nil {
			return coordination.SessionKey{}, err
		}
	}
	if coordination.TrimJS(p.Key) != "" {
		return keyAsked(c, "key", p.Key, p.Agent)
	}
	agent, err := agentAsked(c, p.Agent)
	if err != nil {
		return coordination.SessionKey{}, err
	}
	id := newID()
	if p.Once != "" {
		id = idOf("session", agent, p.Once).String()
	}
	return keyAsked(c, "agentId", "dashboard:"+id, agent)
}

// first is the session's first message, nil if there is none.
func (p *createParams) first(newID func() string) *sendParams {
	text := cmp.Or(p.Message, p.Task)
	if coordination.TrimJS(text) == "" && len(p.Attachments) == 0 {
		return nil
	}
	return &sendParams{SessionKey: coordination.DefaultMainKey, Message: text, Attachments: p.Attachments, RunID: cmp.Or(p.Once, newID()),
		TimeoutMs: p.TimeoutMs}
}

func (p *createParams) settings() (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for name, value := range map[string]*string{"label": p.Label, "model": p.Model, "thinkingLevel": p.Thinking} {
		if value == nil || strings.TrimSpace(*value) == "" {
			continue
		}
		text, err := encoded(*value)
		if err != nil {
			return nil, err
		}
		values[name] = text
	}
	return values, nil
}
