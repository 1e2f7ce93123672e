package gateway

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// chatMethods read and write the conversation of a session.
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

// Limits of chat.history.
const (
	usualHistory    = 200
	maxHistory      = 1_000
	maxHistoryBytes = 8 << 20 // read before truncation
)

type historyParams struct {
	SessionKey string `json:"sessionKey"`
	Limit      int    `json:"limit"`

	// Protocol 4.
	Agent     string `json:"agentId"`
	Pending   int64  `json:"pendingBefore"`
	Inputs    []any  `json:"inputRunIds"` // run ids of sent messages whose state the client asks for
	SessionID string `json:"sessionId"`   // id of the session's current or an earlier transcript; "" is the current one
	Cursor    string `json:"cursor"`      // nextCursor of an answer: the messages before it
}

type historyAnswer struct {
	SessionKey    string            `json:"sessionKey"` // as requested
	SessionID     string            `json:"sessionId,omitempty"`
	Messages      []json.RawMessage `json:"messages"`
	ThinkingLevel string            `json:"thinkingLevel"`
	VerboseLevel  string            `json:"verboseLevel,omitempty"`

	// Protocol 4.
	Session  *sessionRow   `json:"sessionInfo,omitempty"`
	Defaults *listDefaults `json:"defaults,omitempty"`
	Next     string        `json:"nextCursor,omitempty"` // there are older messages
	Pending  *pendingPage  `json:"pendingInputs,omitempty"`
	Receipts []receipt     `json:"inputReceipts,omitempty"` // of the requested runs
	Metadata *chatMetadata `json:"metadata,omitempty"`      // chat.startup only
}

// pendingPage holds messages that wait for their turn and are not in the transcript yet.
type pendingPage struct {
	Items  []pendingInput `json:"items"` // oldest first
	Total  int            `json:"total"`
	Before int64          `json:"nextBefore,omitempty"` // older ones exist; ask with pendingBefore
}

type pendingInput struct {
	ID         string          `json:"id"`
	RunID      string          `json:"runId"`
	Message    json.RawMessage `json:"message"`
	AcceptedAt int64           `json:"acceptedAt"`
	State      string          `json:"state"` // queued
}

// receipt is the state of a message a client sent. An unknown message has none.
type receipt struct {
	RunID string `json:"runId"`
	State string `json:"state"`                       // pending: waits for its turn; consumed
	Event string `json:"consumedByEventId,omitempty"` // the transcript message it became
}

// maxPending is how many waiting messages are shown, the newest ones.
const maxPending = 20

func (s *Server) chatHistory(ctx context.Context, call *wire.Call) (any, error) {
	a, err := s.history(ctx, call)
	if err != nil {
		return nil, err
	}
	return a.encode()
}

// historyRows separates the parts of an answer before and after its messages.
const historyRows = `"messages":[]`

// encode is the answer as JSON. The messages are JSON already, and most of it: they are not parsed again.
func (a *historyAnswer) encode() (json.RawMessage, error) {
	outer := *a
	outer.Messages = []json.RawMessage{}
	body, err := encoded(&outer)
	if err != nil {
		return nil, err
	}
	head, tail, _ := bytes.Cut(body, []byte(historyRows)) // unescaped quotes cannot occur inside a JSON string
	size := len(body)
	for _, one := range a.Messages {
		size += len(one) + 1
	}
	text := append(append(make([]byte, 0, size), head...), `"messages":[`...)
	for i, one := range a.Messages {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
	}
	return append(append(text, ']'), tail...), nil
}

// history returns the newest messages of a session's transcript, oldest first. A missing session has none.
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
	before, err := parseHistoryCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	limit := min(p.Limit, maxHistory)
	if limit == 0 {
		limit = usualHistory
	}
	var one *sessions.Session
	var messages []sessions.Message
	var waiting []run.Result
	var receipts []receipt
	var last int64 // position of the last message
	transcripts := s.opts.Transcripts.Open()
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if s.opts.Runs != nil && call.Peer.Protocol >= protocol.Newest {
			waiting, err = runs.List(ctx, tx, runs.Query{SessionKey: key.String(), States: []run.State{run.Queued}})
			if err != nil {
				return err
			}
		}
		if one, err = sessions.ByKey(ctx, tx, key.String()); err != nil || one == nil {
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
		if before != nil {
			last = before.position - 1
			messages, err = transcripts.ShownBefore(ctx, tx, id, before.seq, limit, maxHistoryBytes)
			return err
		}
		messages, err = transcripts.Shown(ctx, tx, id, limit, maxHistoryBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &historyAnswer{SessionKey: p.SessionKey, Receipts: receipts}
	if a.Messages, err = s.shown.shown(messages, last); err != nil {
		return nil, err
	}
	if one == nil {
		one = &sessions.Session{Agent: key.Agent}
	}
	a.SessionID, a.VerboseLevel, a.ThinkingLevel = one.ID, textSetting(one, "verboseLevel"), thinkingOf(c, one)
	if call.Peer.Protocol >= protocol.Newest {
		usual := defaultsOf(c)
		a.Defaults = &usual
		a.Next = nextHistory(messages[len(messages)-len(a.Messages):], last)
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

// historyCursor is a message of a transcript, before which older ones are asked for.
type historyCursor struct {
	seq      int64 // of its event
	position int64 // in its transcript, from 1
}

// parseHistoryCursor parses a cursor that nextHistory has made; nil for "".
func parseHistoryCursor(text string) (*historyCursor, error) {
	if text == "" {
		return nil, nil
	}
	seq, position, _ := strings.Cut(text, ".")
	c := new(historyCursor)
	var errs [2]error
	c.seq, errs[0] = strconv.ParseInt(seq, 10, 64)
	c.position, errs[1] = strconv.ParseInt(position, 10, 64)
	if errs[0] != nil || errs[1] != nil || c.seq <= 0 || c.position <= 0 {
		return nil, invalidRequest("invalid chat.history params: at /cursor: unknown cursor",
			fault{Field: "cursor", Value: echo(text), Hint: "give nextCursor of an earlier answer"})
	}
	return c, nil
}

// nextHistory is the cursor of the messages before these; "" if these begin the transcript. last is the position of the last one.
func nextHistory(messages []sessions.Message, last int64) string {
	if len(messages) == 0 {
		return ""
	}
	position := last - messages[0].After
	if position <= 1 {
		return ""
	}
	return fmt.Sprintf("%d.%d", messages[0].Seq, position)
}

// pending returns waiting messages, newest first, accepted before a log position; 0 for all.
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
		m := sessions.Message{Seq: e.Seq, At: e.TS, Redacted: e.Redacted()}
		var q coordination.RunQueued
		if !m.Redacted && json.Unmarshal(projections.Current(&e).Data, &q) == nil {
			m.Data = coordination.SessionMessage{Author: authorUser, Text: q.Message, Content: q.Content, RunID: q.RunID}
		}
		if q.Internal {
			page.Total--
			continue
		}
		said, err := showMessage(&m, &messagePosition{ID: r.RunID, Key: sentKey(r.RunID)})
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, pendingInput{r.RunID, r.RunID, said, e.TS, string(run.Queued)})
	}
	return page, nil
}

// maxInputs is how many receipts a client may request at once.
const maxInputs = 50

// inputsAsked returns the run ids whose receipts a client requests.
func inputsAsked(method string, list []any) (runIDs []string, err error) {
	if len(list) > maxInputs {
		return nil, invalidRequest(fmt.Sprintf("invalid %s params: at /inputRunIds: must NOT have more than %d items", method, maxInputs),
			fault{Field: "inputRunIds", Value: fmt.Sprintf("%d items", len(list)), Hint: "ask for fewer at once"})
	}
	for i, one := range list {
		runID, is := one.(string)
		if !is {
			return nil, invalidRequest(fmt.Sprintf("invalid %s params: at /inputRunIds/%d: must be string", method, i),
				fault{Field: fmt.Sprintf("inputRunIds[%d]", i), Value: echo(fmt.Sprint(one)), Hint: "give a run id"})
		}
		runIDs = append(runIDs, runID)
	}
	return runIDs, nil
}

// receiptsOf returns the receipts of messages sent into the session with this transcript id.
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
		event, err := sessions.Asked(ctx, tx, id, runID, r.Seq)
		if err != nil {
			return nil, err
		}
		if event != "" {
			all = append(all, receipt{RunID: runID, State: "consumed", Event: event})
		}
	}
	return all, nil
}

// transcriptMeant returns the requested transcript of a session and its message count; "" if it does not belong to the
// session.
func transcriptMeant(ctx context.Context, tx *sql.Tx, one *sessions.Session, id string) (string, int64, error) {
	if id == "" || id == one.ID {
		return one.ID, one.Messages, nil
	}
	all, err := sessions.Transcripts(ctx, tx, one.Key)
	if i := slices.IndexFunc(all, func(t sessions.Transcript) bool { return t.ID == id }); err == nil && i >= 0 {
		return id, all[i].Messages, nil
	}
	return "", 0, err
}

// thinkingOf returns a session's thinking level: its own setting, else low if the model supports thinking.
func thinkingOf(c *config.Config, one *sessions.Session) string {
	if set := textSetting(one, "thinkingLevel"); set != "" {
		return set
	}
	if m := c.ModelNamed(modelOf(c, one).String()); m != nil && m.Reasoning {
		return "low"
	}
	return "off"
}
