package gateway

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// Causes of runs requested here.
const (
	causeAgent = "agent"
	causeChat  = "chat"
)

// greetingPrompt is the prompt after a session is started over without a message.
const greetingPrompt = "The user has just started this session over and has not asked for anything yet. Greet them in one or two short sentences, " +
	"in the manner that your files give you, and ask what they would like to do. Do not mention these instructions or any file."

const methodAgent = "agent"

// statusAccepted is the status of a first answer. No other method may use it: clients would keep waiting.
const statusAccepted = "accepted"

type agentParams struct {
	Message      string            `json:"message"`
	AgentID      string            `json:"agentId"`
	SessionKey   string            `json:"sessionKey"`
	SessionID    string            `json:"sessionId"`
	To           string            `json:"to"`
	ReplyTo      string            `json:"replyTo"` // instead of To, like replyChannel and replyAccountId for theirs
	Channel      string            `json:"channel"`
	ReplyChannel string            `json:"replyChannel"`
	AccountID    string            `json:"accountId"`
	ReplyAccount string            `json:"replyAccountId"`
	ThreadID     string            `json:"threadId"`
	Deliver      bool              `json:"deliver"`
	BestEffort   bool              `json:"bestEffortDeliver"`
	Attachments  []json.RawMessage `json:"attachments"`
	Timeout      *int64            `json:"timeout"` // s
	Lane         string            `json:"lane"`
	Extra        string            `json:"extraSystemPrompt"`
	Thinking     string            `json:"thinking"`
	Label        string            `json:"label"`
	SpawnedBy    string            `json:"spawnedBy"`
	RunID        string            `json:"idempotencyKey"`
	Provenance   *provenance       `json:"inputProvenance"`

	// Protocol 4.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Expected string `json:"expectedExistingSessionId"`
}

type provenance struct {
	Kind             string `json:"kind"`
	SourceSessionKey string `json:"sourceSessionKey"`
	SourceChannel    string `json:"sourceChannel"`
	SourceTool       string `json:"sourceTool"`
}

// runAgent answers agent twice: when the message is on disk, and when the run is over. A repeated key, even after a
// restart, gets the same answers and starts nothing. Faults of the request are reported before "no agents run here",
// so that fixing them is not in vain.
func (s *Server) runAgent(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[agentParams](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	ask, err := s.askOf(ctx, call, c, &p)
	switch {
	case s.opts.Runs == nil && (err == nil || errors.Is(err, errNoSession)):
		return nil, cannotRun()
	case errors.Is(err, errNoSession):
		return s.chooseSession(call, p.RunID)
	case err != nil:
		return s.agentAgain(ctx, call, p.RunID, err)
	}
	s.listenToTools(ctx, call, ask.Session)
	return s.answerTwice(ctx, call, p.RunID, func() (run.Accepted, error) { return s.opts.Runs.Queue(ctx, ask) })
}

// answerTwice answers that a run is accepted, and later how it ended. Meanwhile only the request's id is kept.
func (s *Server) answerTwice(ctx context.Context, call *wire.Call, runID string, accept func() (run.Accepted, error)) (any, error) {
	waiting := s.notifier.await(ctx, call.Peer.ConnID, runID)
	if waiting == nil {
		return nil, crowded()
	}
	accepted, err := accept()
	switch {
	case err != nil:
		waiting.leave()
		return nil, runRefusalOf(call.Method, err)
	case accepted.Again && accepted.Now.State.Over():
		waiting.leave()
		return finalOf(&accepted.Now), nil
	}
	call.Interim(acceptedAnswer{accepted.RunID, statusAccepted, accepted.AcceptedAt})
	answer := call.Later()
	waiting.then(func(r run.Result) { answer(finalOf(&r), nil) })
	return nil, nil
}

// agentAgain answers an invalid request. If it repeats an accepted one, the parameters no longer matter.
func (s *Server) agentAgain(ctx context.Context, call *wire.Call, runID string, wrong error) (any, error) {
	if s.opts.Runs == nil {
		return nil, wrong
	}
	if _, found, err := s.opts.Runs.Get(ctx, runID); err != nil || !found {
		return nil, wrong
	}
	return s.answerTwice(ctx, call, runID, func() (run.Accepted, error) {
		r, _, err := s.opts.Runs.Get(ctx, runID)
		return run.Accepted{RunID: runID, SessionKey: r.SessionKey, AcceptedAt: r.QueuedAt, Again: true, Now: r}, err
	})
}

// errNoSession is for a request that names neither session nor agent.
var errNoSession = errors.New("no session is named")

// chooseSession answers a request without a session twice, like the original: clients wait for the second answer.
func (s *Server) chooseSession(call *wire.Call, runID string) (any, error) {
	const why = "Error: Pass --to <E.164>, --session-id, or --agent to choose a session"
	call.Interim(acceptedAnswer{runID, statusAccepted, s.opts.Now().UnixMilli()})
	return failedAnswer{runID, "error", why}, &protocol.Error{Code: protocol.CodeUnavailable, Message: why,
		Details: fault{Code: "no_session_named", Field: "sessionKey", Hint: "give sessionKey, agentId, sessionId or to"}}
}

type failedAnswer struct {
	RunID   string `json:"runId"`
	Status  string `json:"status"` // error
	Summary string `json:"summary"`
}

// askOf turns a request into a run request.
func (s *Server) askOf(ctx context.Context, call *wire.Call, c *config.Config, p *agentParams) (ask run.Ask, err error) {
	if err := notHeeded(call, "cwd", "swarmCollector", "swarmOutputSchema", "suppressPromptPersistence"); err != nil {
		return ask, err
	}
	key, err := s.sessionMeantBy(ctx, call.Method, c, p)
	named := err == nil
	if err != nil && !errors.Is(err, errNoSession) {
		return ask, err
	}
	out, err := s.deliveryOf(ctx, c, key, p)
	if err != nil {
		return ask, err
	}
	if !named {
		return ask, errNoSession
	}
	ask = run.Ask{Session: key, Label: p.Label, Human: isHuman(call.Peer), RunQueued: coordination.RunQueued{
		RunID: p.RunID, SessionID: p.SessionID, Lane: p.Lane, Cause: causeAgent, By: clientOf(call.Peer), Message: p.Message,
		ExtraSystemPrompt: p.Extra, Model: p.Model, Deliver: out.deliver, Channel: out.channel, To: out.to, AccountID: out.account, ThreadID: out.thread,
	}}
	if p.Expected != "" {
		ask.SessionID = p.Expected
	}
	if p.Provider != "" && p.Model != "" {
		ask.Model = p.Provider + "/" + p.Model
	}
	if ask.Thinking, err = thinkingAsked(call.Method, c, key, p.Thinking); err != nil {
		return ask, err
	}
	if ask.SpawnedBy, err = spawnerOf(c, p.SpawnedBy); err != nil {
		return ask, ofParams(call.Method, err)
	}
	if p.Timeout != nil {
		ms := min(*p.Timeout, math.MaxInt32) * 1_000
		ask.TimeoutMs = &ms
	}
	p.Provenance.of(&ask)
	startOver(&ask)
	if strings.Contains(ask.Message, "\x00") {
		return ask, nulInMessage()
	}
	if ask.Content, err = withAttachments(ask.Message, p.Attachments); err != nil {
		return ask, err
	}
	return ask, nil
}

func nulInMessage() error {
	return invalidRequest("message must not contain null bytes", fault{Field: "message", Hint: "take out U+0000"})
}

// notHeeded refuses unsupported parameters instead of ignoring them.
func notHeeded(call *wire.Call, names ...string) error {
	params, err := paramsOf[map[string]json.RawMessage](call)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch value := string(params[name]); value {
		case "", "null", "false":
		default:
			return invalidRequest(call.Method+": "+name+" is not supported", fault{Code: "not_kept", Field: name, Hint: "leave it out"})
		}
	}
	return nil
}

// sessionMeantBy returns a request's session: named by key or id, else the main session of its agent. Messages
// addressed by phone number share the main session.
func (s *Server) sessionMeantBy(ctx context.Context, method string, c *config.Config, p *agentParams) (key coordination.SessionKey, err error) {
	agent, err := agentMeant(c, method, p.AgentID, p.SessionKey)
	if err != nil {
		return key, err
	}
	if err := mayHaveSessions(c, "agentId", agent); err != nil {
		return key, ofParams(method, err)
	}
	switch {
	case coordination.TrimJS(p.SessionKey) != "":
		key, err = sessionKeyOf(c, "sessionKey", p.SessionKey)
		return key, ofParams(method, err)
	case p.SessionID != "" && s.opts.Runs != nil:
		return s.sessionOfID(ctx, c, agent, p)
	case coordination.TrimJS(p.AgentID) != "" || coordination.TrimJS(p.To) != "":
		return mainSessionOf(c, agent), nil
	}
	return key, errNoSession
}

func (s *Server) sessionOfID(ctx context.Context, c *config.Config, agent string, p *agentParams) (key coordination.SessionKey, err error) {
	var one *sessions.Session
	err = s.opts.Log.View(ctx, func(tx *sql.Tx) (err error) {
		one, err = sessions.ByID(ctx, tx, p.SessionID)
		return err
	})
	switch {
	case err != nil:
		return key, err
	case one == nil || coordination.TrimJS(p.AgentID) != "" && ownerOf(c, one) != agent:
		return key, invalidRequest("No session found: "+echo(p.SessionID), fault{Code: "no_session", Field: "sessionId", Value: echo(p.SessionID),
			Hint: "name one from sessions.list, or give sessionKey"})
	}
	return coordination.ParseSessionKey(one.Key)
}

func (p *provenance) of(ask *run.Ask) {
	if p == nil {
		return
	}
	ask.Provenance, ask.SourceSessionKey, ask.SourceChannel, ask.SourceTool = p.Kind, p.SourceSessionKey, p.SourceChannel, p.SourceTool
	if source, err := coordination.ParseSessionKey(p.SourceSessionKey); err == nil && p.Kind == "inter_session" {
		ask.FromAgent = source.Agent
	}
}

// startOver strips /new or /reset from the start of a message: the session starts over before the rest is answered.
func startOver(ask *run.Ask) {
	word, rest := commandIn(ask.Message)
	if word != "new" && word != "reset" {
		return
	}
	if ask.Reset, ask.Message = word, rest; rest == "" {
		ask.Message = greetingPrompt
	}
}

// thinkingAsked is a run's thinking level, in the words of sessions.patch; "" is the configured one.
func thinkingAsked(method string, c *config.Config, key coordination.SessionKey, asked string) (string, error) {
	if coordination.TrimJS(asked) == "" {
		return "", nil
	}
	raw, err := encoded(asked)
	if err != nil {
		return "", err
	}
	events, err := session.Patch(session.State{Key: key, ID: key.String()}, session.PatchCommand{Values: map[string]json.RawMessage{"thinkingLevel": raw},
		Model: c.ModelFor(agentOf(c, key)).Primary}, func(string) (string, error) { return "", nil })
	if refused, ok := errors.AsType[*session.Refusal](err); ok {
		return "", invalidRequest("invalid "+method+" params: "+refused.Text, fault{Code: refused.Reason, Field: "thinking", Value: echo(asked)})
	}
	if err != nil {
		return "", err
	}
	for _, e := range events {
		if set, ok := e.Data.(coordination.SessionPatched); ok {
			var level struct{ ThinkingLevel string }
			return level.ThinkingLevel, errors.Join(json.Unmarshal(set.Set, &level))
		}
	}
	return "", nil
}

// isHuman reports whether a person sent the request through a client.
func isHuman(p *wire.Peer) bool { return actorOf(p) == "human" }

// listenToTools subscribes a connection to tool events of a session in which it starts a run, if it wants them.
func (s *Server) listenToTools(ctx context.Context, call *wire.Call, key coordination.SessionKey) {
	if !slices.Contains(call.Peer.Caps, capToolEvents) {
		return
	}
	s.notifier.listeners.listen(ctx, call.Peer.ConnID, key.String())
	if one, err := s.sessionByKey(ctx, key); err == nil && one != nil {
		s.notifier.listeners.show(key.String(), textSetting(one, "verboseLevel") == verboseFull)
	}
}

const verboseFull = "full"
