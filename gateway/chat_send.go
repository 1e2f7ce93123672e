package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type sendParams struct {
	SessionKey  string            `json:"sessionKey"`
	Message     string            `json:"message"`
	Attachments []json.RawMessage `json:"attachments"`
	RunID       string            `json:"idempotencyKey"`
	Thinking    string            `json:"thinking"`
	TimeoutMs   *int64            `json:"timeoutMs"`

	// Protocol 4.
	Agent       string `json:"agentId"`
	SessionID   string `json:"sessionId"`
	AsItIs      bool   `json:"suppressCommandInterpretation"`
	FromChannel string `json:"originatingChannel"`
}

const methodSend = "chat.send"

// sentAnswer is the answer to chat.send. The conversation follows as events.
type sentAnswer struct {
	RunID  string `json:"runId"`
	Status string `json:"status"` // started, in_flight, ok
}

// sendChat answers chat.send: the message is on disk, and its run starts when its turn comes. Stop words stop the
// session's runs, and commands are answered without a model.
func (s *Server) sendChat(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[sendParams](call)
	if err != nil {
		return nil, err
	}
	c := s.opts.Configuration.InForce()
	key, err := p.check(c)
	if err != nil {
		return s.chatAgain(ctx, p.RunID, err)
	}
	if s.opts.Runs == nil {
		return nil, cannotRun()
	}
	return s.queueMessage(ctx, call, c, key, &p)
}

// queueMessage does the work of sendChat for a checked message.
func (s *Server) queueMessage(ctx context.Context, call *wire.Call, c *config.Config, key coordination.SessionKey, p *sendParams) (any, error) {
	if len(p.Attachments) == 0 && !p.AsItIs {
		if run.IsStop(p.Message) {
			return s.stopTyped(ctx, call, c, key, p)
		}
		if a, done, err := s.command(ctx, call, c, key, p); done || err != nil {
			return a, err
		}
	}
	ask, err := p.ask(call, c, key)
	if err != nil {
		return s.chatAgain(ctx, p.RunID, err)
	}
	s.listenToTools(ctx, call, key)
	if call.Method == methodSend && waitsAfterAnswer(call.Peer) {
		return s.sendHeld(ctx, call, ask)
	}
	return s.queueSent(ctx, call, ask)
}

func (s *Server) queueSent(ctx context.Context, call *wire.Call, ask run.Ask) (any, error) {
	accepted, err := s.opts.Runs.Queue(ctx, ask)
	switch {
	case err != nil:
		return nil, runRefusalOf(call.Method, err)
	case accepted.Again:
		return sentBefore(&accepted.Now)
	}
	return sentAnswer{accepted.RunID, "started"}, nil
}

// sendHeld holds back the end of the run until the client has read that its message is accepted.
func (s *Server) sendHeld(ctx context.Context, call *wire.Call, ask run.Ask) (any, error) {
	s.notifier.hold(ask.RunID)
	release := func() { s.notifier.release(ask.RunID) }
	accepted := false
	defer func() {
		if !accepted {
			release()
		}
	}()
	a, err := s.queueSent(ctx, call, ask)
	if err != nil {
		return a, err
	}
	accepted = true
	call.Interim(a)
	call.Later() // nothing more to do
	call.Read(release)
	return nil, nil
}

// check validates a request and returns the session it addresses.
func (p *sendParams) check(c *config.Config) (key coordination.SessionKey, err error) {
	switch {
	case strings.Contains(p.Message, "\x00"):
		return key, nulInMessage()
	case coordination.TrimJS(p.Message) == "" && len(p.Attachments) == 0:
		return key, invalidRequest("message or attachment required", fault{Field: "message", Value: p.Message, Hint: "say something"})
	}
	if key, err = keyAsked(c, "sessionKey", p.SessionKey, p.Agent); err != nil {
		return key, err
	}
	return key, mayHaveSessions(c, "sessionKey", agentOf(c, key))
}

// ask turns a request into a run request.
func (p *sendParams) ask(call *wire.Call, c *config.Config, key coordination.SessionKey) (ask run.Ask, err error) {
	ask = run.Ask{Session: key, Human: isHuman(call.Peer), RunQueued: coordination.RunQueued{
		RunID: p.RunID, SessionID: p.SessionID, Lane: run.LaneMain, Cause: causeChat, By: clientOf(call.Peer), Message: p.Message,
		SourceChannel: p.FromChannel,
	}}
	if !p.AsItIs {
		startOver(&ask)
	}
	if ask.Thinking, err = thinkingAsked(call.Method, c, key, p.Thinking); err != nil {
		return ask, err
	}
	if p.TimeoutMs != nil {
		ms := min(*p.TimeoutMs, math.MaxInt32*1_000)
		ask.TimeoutMs = &ms
	}
	ask.Content, err = withAttachments(ask.Message, p.Attachments)
	return ask, err
}

// chatAgain answers an invalid request. If it repeats an accepted one, the parameters no longer matter.
func (s *Server) chatAgain(ctx context.Context, runID string, wrong error) (any, error) {
	if s.opts.Runs == nil {
		return nil, wrong
	}
	r, found, err := s.opts.Runs.Get(ctx, runID)
	if err != nil || !found {
		return nil, wrong
	}
	return sentBefore(&r)
}

// sentBefore answers a request that was accepted before. A model failure has been broadcast already; a failure of our
// own side is an error here too.
func sentBefore(r *run.Result) (any, error) {
	over := r.Over
	if over == nil {
		over = &coordination.RunOver{}
	}
	why := ""
	switch {
	case !r.State.Over():
		return sentAnswer{r.RunID, "in_flight"}, nil
	case r.State == run.Aborted && isBroken(over):
		why = brokenText
	case r.State == run.Failed && slices.Contains([]string{"tools", "prompt", "internal"}, over.ErrorClass):
		why = errorText(over)
	default:
		return sentAnswer{r.RunID, "ok"}, nil
	}
	return failedAnswer{r.RunID, "error", why}, &protocol.Error{Code: protocol.CodeUnavailable, Message: why}
}

// abortAnswer answers chat.abort, and stop words.
type abortAnswer struct {
	OK      bool     `json:"ok"`
	Aborted bool     `json:"aborted"`
	RunIDs  []string `json:"runIds"`
}

// abortChat answers chat.abort: it stops one run or all of a session's, regardless of who started them. The end has
// been broadcast before it answers.
func (s *Server) abortChat(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		SessionKey string `json:"sessionKey"`
		RunID      string `json:"runId"`
		Agent      string `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	key, err := keyAsked(s.opts.Configuration.InForce(), "sessionKey", p.SessionKey, p.Agent)
	if err != nil {
		return nil, err
	}
	return s.stopRuns(ctx, run.Stop{SessionKey: key.String(), RunID: p.RunID, Reason: "rpc", By: clientOf(call.Peer)}, call.Method)
}

// stopRuns stops runs and returns when their end is on disk and broadcast.
func (s *Server) stopRuns(ctx context.Context, stop run.Stop, method string) (a abortAnswer, err error) {
	a = abortAnswer{OK: true, RunIDs: []string{}}
	if s.opts.Runs == nil {
		return a, nil
	}
	told := s.notifier.newStopRequest()
	defer told.leave()
	stopped, err := s.opts.Runs.Stop(ctx, stop)
	if err != nil {
		return a, runRefusalOf(method, err)
	}
	told.wait(ctx, stopped)
	a.Aborted, a.RunIDs = len(stopped) > 0, append(a.RunIDs, stopped...)
	return a, nil
}

// stopTime is how long to wait for a session's runs to end before the session is reset or deleted.
const stopTime = 15 * time.Second

// clear stops a session's runs before the session is changed.
func (s *Server) clear(ctx context.Context, call *wire.Call, key coordination.SessionKey, reason string) (stopped bool, err error) {
	if s.opts.Runs == nil {
		return false, nil
	}
	patient, stop := context.WithTimeout(ctx, stopTime)
	defer stop()
	a, err := s.stopRuns(patient, run.Stop{SessionKey: key.String(), Reason: reason, By: clientOf(call.Peer)}, call.Method)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = &protocol.Error{Code: protocol.CodeUnavailable, Message: "Session " + key.String() + " is still active; try again in a moment.",
			Retryable: true, RetryAfter: busyRetry, Details: absence{"still_active"}}
	}
	return a.Aborted, err
}
