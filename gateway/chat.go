package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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
		methodSend:      s.sendChat,
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
	Inputs    []any  `json:"inputRunIds"` // ids of runs whose messages the client has sent and wants to know of
	SessionID string `json:"sessionId"`   // of a transcript that the session has, or has had; "" is the present one
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
	Receipts []receipt     `json:"inputReceipts,omitempty"` // of the runs that were asked for
	Metadata *chatMetadata `json:"metadata,omitempty"`      // only of chat.startup
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

// receipt says what has become of a message that a client has sent. One that nothing is known of has none.
type receipt struct {
	RunID string `json:"runId"`
	State string `json:"state"`                       // pending: it waits for its turn; consumed
	Event string `json:"consumedByEventId,omitempty"` // the message of the transcript that it has become
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
	inputs, err := inputsAsked(call.Method, p.Inputs)
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
	var receipts []receipt
	var last int64 // the place of the last message
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
		id, count, err := transcriptMeant(ctx, tx, one, p.SessionID)
		if err != nil || id == "" {
			return err
		}
		if call.Peer.Protocol >= protocol.Newest {
			last = count
			if receipts, err = receiptsOf(ctx, tx, one.Key, id, inputs); err != nil {
				return err
			}
		}
		messages, err = session.Shown(ctx, tx, id, limit, maxHistoryBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &historyAnswer{SessionKey: p.SessionKey, Receipts: receipts}
	if a.Messages, err = shown(messages, last); err != nil {
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
		if q.Internal {
			page.Total--
			continue
		}
		said, err := showMessage(&m, &place{ID: r.RunID, Key: sentKey(r.RunID)})
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, pendingInput{r.RunID, r.RunID, said, e.TS, string(run.Queued)})
	}
	return page, nil
}

// maxInputs is of how many messages a client is told at once what has become of them.
const maxInputs = 50

// inputsAsked are the runs that a client asks for.
func inputsAsked(method string, list []any) (runIDs []string, err error) {
	if len(list) > maxInputs {
		return nil, invalidRequest(fmt.Sprintf("invalid %s params: at /inputRunIds: must NOT have more than %d items", method, maxInputs),
			fault{Field: "inputRunIds", Value: fmt.Sprintf("%d items", len(list)), Mend: "ask for fewer at once"})
	}
	for i, one := range list {
		runID, is := one.(string)
		if !is {
			return nil, invalidRequest(fmt.Sprintf("invalid %s params: at /inputRunIds/%d: must be string", method, i),
				fault{Field: fmt.Sprintf("inputRunIds[%d]", i), Value: echo(fmt.Sprint(one)), Mend: "give the id of a run"})
		}
		runIDs = append(runIDs, runID)
	}
	return runIDs, nil
}

// receiptsOf says what has become of messages that were sent into a session whose transcript has an id.
func receiptsOf(ctx context.Context, tx *sql.Tx, key, id string, runIDs []string) ([]receipt, error) {
	var all []receipt
	for _, runID := range runIDs {
		r, found, err := runs.ByID(ctx, tx, runID)
		switch {
		case err != nil:
			return nil, err
		case !found || r.SessionKey != key:
			continue
		case r.State == run.Queued:
			all = append(all, receipt{RunID: runID, State: "pending"})
			continue
		}
		event, err := session.Asked(ctx, tx, id, runID, r.Seq)
		if err != nil {
			return nil, err
		}
		if event != "" {
			all = append(all, receipt{RunID: runID, State: "consumed", Event: event})
		}
	}
	return all, nil
}

// transcriptMeant is the transcript of a session that is asked for, and how many messages it has; "" if it is none of this session's.
func transcriptMeant(ctx context.Context, tx *sql.Tx, one *session.Session, id string) (string, int64, error) {
	if id == "" || id == one.ID {
		return one.ID, one.Messages, nil
	}
	all, err := session.Transcripts(ctx, tx, one.Key)
	if i := slices.IndexFunc(all, func(t session.Transcript) bool { return t.ID == id }); err == nil && i >= 0 {
		return id, all[i].Messages, nil
	}
	return "", 0, err
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
