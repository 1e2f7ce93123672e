package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/session"
)

// chatMethods are those about what is said in a session.
func (s *Server) chatMethods() map[string]answer {
	return map[string]answer{
		"chat.history":  s.chatHistory,
		"chat.startup":  s.chatStartup,
		"chat.metadata": s.chatMetadata,
		"chat.inject":   s.injectChat,
		"commands.list": s.answerCommands,
		"chat.send":     s.sendChat,
		"chat.abort":    s.abortChat,
		"agent":         s.runAgent,
		"agent.wait":    s.waitForRun,
	}
}

// Bounds of chat.history.
const (
	usualHistory    = 200
	maxHistory      = 1_000
	maxHistoryBytes = 8 << 20 // read, before anything is cut
)

type historyParams struct {
	SessionKey string `json:"sessionKey"`
	Limit      int    `json:"limit"`

	// Of protocol 4.
	Agent     string `json:"agentId"`
	Pending   int64  `json:"pendingBefore"`
	SessionID string `json:"sessionId"` // of a transcript that the session has, or has had; "" is the present one
}

type historyAnswer struct {
	SessionKey    string            `json:"sessionKey"` // as asked
	SessionID     string            `json:"sessionId,omitempty"`
	Messages      []json.RawMessage `json:"messages"`
	ThinkingLevel string            `json:"thinkingLevel"`
	VerboseLevel  string            `json:"verboseLevel,omitempty"`

	// Of protocol 4.
	Session  *sessionRow   `json:"sessionInfo,omitempty"`
	Defaults *listDefaults `json:"defaults,omitempty"`
	Pending  *pendingPage  `json:"pendingInputs,omitempty"`
	Metadata *chatMetadata `json:"metadata,omitempty"` // only of chat.startup
}

// pendingPage is what was said and waits for its turn: it is not in the transcript yet.
type pendingPage struct {
	Items  []pendingInput `json:"items"` // the oldest first
	Total  int            `json:"total"`
	Before int64          `json:"nextBefore,omitempty"` // asked for as pendingBefore, there are older ones
}

type pendingInput struct {
	ID         string          `json:"id"`
	RunID      string          `json:"runId"`
	Message    json.RawMessage `json:"message"`
	AcceptedAt int64           `json:"acceptedAt"`
	State      string          `json:"state"` // queued
}

// maxPending is how many messages that wait are shown, the last of them.
const maxPending = 20

// chatHistory answers chat.history.
func (s *Server) chatHistory(ctx context.Context, call *wire.Call) (any, error) {
	a, err := s.history(ctx, call)
	if err != nil {
		return nil, err
	}
	return encoded(a)
}

// history gives the newest messages of a session's transcript, the oldest of them first. A session that is not there has none.
func (s *Server) history(ctx context.Context, call *wire.Call) (*historyAnswer, error) {
	p, err := paramsOf[historyParams](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := keyAsked(c, "sessionKey", p.SessionKey, p.Agent)
	if err != nil {
		return nil, err
	}
	limit := min(p.Limit, maxHistory)
	if limit == 0 {
		limit = usualHistory
	}
	var one *session.Session
	var messages []session.Message
	var waiting []run.Result
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if s.opts.Runs != nil && call.Peer.Protocol >= protocol.Newest {
			waiting, err = runs.List(ctx, tx, runs.Query{SessionKey: key.String(), States: []run.State{run.Queued}})
			if err != nil {
				return err
			}
		}
		if one, err = session.ByKey(ctx, tx, key.String()); err != nil || one == nil {
			return err
		}
		id, err := transcriptMeant(ctx, tx, one, p.SessionID)
		if err != nil || id == "" {
			return err
		}
		messages, err = session.Newest(ctx, tx, id, limit, maxHistoryBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &historyAnswer{SessionKey: p.SessionKey}
	if a.Messages, err = shown(messages); err != nil {
		return nil, err
	}
	if one == nil {
		one = &session.Session{Agent: key.Agent}
	}
	a.SessionID, a.VerboseLevel, a.ThinkingLevel = one.ID, textSetting(one, "verboseLevel"), thinkingOf(c, one)
	if call.Peer.Protocol >= protocol.Newest {
		usual := defaultsOf(c)
		a.Defaults = &usual
		if a.Pending, err = s.pending(ctx, waiting, p.Pending); err != nil {
			return nil, err
		}
		if one.ID != "" {
			row := rowOf(c, one, call.Peer.Protocol)
			a.Session = &row
		}
	}
	return a, nil
}

// pending shows what waits, of which the last comes first: what was accepted before a place of the log, 0 for all.
func (s *Server) pending(ctx context.Context, waiting []run.Result, before int64) (*pendingPage, error) {
	page := &pendingPage{Items: []pendingInput{}, Total: len(waiting)}
	if before > 0 {
		waiting = slices.DeleteFunc(waiting, func(r run.Result) bool { return r.Seq >= before })
	}
	if len(waiting) > maxPending {
		waiting = waiting[:maxPending]
		page.Before = waiting[maxPending-1].Seq
	}
	for _, r := range slices.Backward(waiting) {
		e, err := s.opts.Log.Event(ctx, r.Seq)
		if err != nil {
			return nil, err
		}
		m := session.Message{Seq: e.Seq, At: e.TS, Redacted: e.Redacted()}
		var q coordination.RunQueued
		if !m.Redacted && json.Unmarshal(projections.Current(&e).Data, &q) == nil {
			m.Data = coordination.SessionMessage{Author: authorUser, Text: q.Message, Content: q.Content, RunID: q.RunID}
		}
		said, err := showMessage(&m)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, pendingInput{r.RunID, r.RunID, said, e.TS, string(run.Queued)})
	}
	return page, nil
}

// transcriptMeant is the transcript of a session that is asked for, "" if it is none of this session's.
func transcriptMeant(ctx context.Context, tx *sql.Tx, one *session.Session, id string) (string, error) {
	if id == "" || id == one.ID {
		return one.ID, nil
	}
	all, err := session.Transcripts(ctx, tx, one.Key)
	if err != nil || !slices.ContainsFunc(all, func(t session.Transcript) bool { return t.ID == id }) {
		return "", err
	}
	return id, nil
}

// thinkingOf is how hard a session's model thinks: what is set for the session, else a little if the model can.
func thinkingOf(c *config.Config, one *session.Session) string {
	if set := textSetting(one, "thinkingLevel"); set != "" {
		return set
	}
	if m := c.ModelNamed(modelOf(c, one).String()); m != nil && m.Reasoning {
		return "low"
	}
	return "off"
}
