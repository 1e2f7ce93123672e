package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/talkerror"
	"github.com/pronto-lab/openclawd/internal/output"
)

// stopTime is how long the command waits for a stopped run to end.
const stopTime = 5 * time.Second

// exchange is one message and its answer.
type exchange struct {
	p       *process
	t       agentFlags
	runID   string
	gateway *client.Client
	events  *eventBuffer
	screen  *screen
	taken   takenAnswer
	losses  int  // of the connection
	started bool // time limit of the answer
	late    bool // started when the message was to be withdrawn
}

// takenAnswer is the first response of the method agent: the message is on disk.
type takenAnswer struct {
	AcceptedAt int64 `json:"acceptedAt"`
}

// finalAnswer is the second response. How the run ended comes from agent.wait.
type finalAnswer struct {
	Result struct {
		Payloads []struct{ Text string }
		Meta     struct {
			DurationMs int64
			StopReason string
			AgentMeta  struct {
				SessionID, Provider, Model string
				Usage                      json.RawMessage
			}
			Prompt json.RawMessage `json:"systemPromptReport"`
		}
	}
}

// stateAnswer is the response of agent.wait.
type stateAnswer struct {
	State      string
	StartedAt  int64
	EndedAt    int64
	Error      string
	QueueAhead *int // runs queued before it; nil: it is not queued
}

// talkAnswer is the JSON output of agent. Times are ms.
type talkAnswer struct {
	RunID      string          `json:"runId"`
	SessionKey string          `json:"sessionKey"`
	SessionID  string          `json:"sessionId,omitempty"`
	State      string          `json:"state"` // queued with --detach; ok, error, aborted, timed_out
	Text       string          `json:"text"`
	Error      string          `json:"error,omitempty"`
	Warning    string          `json:"warning,omitempty"` // the prompt was shortened to fit the context
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Ahead      *int            `json:"ahead,omitempty"` // with --detach: messages queued before it in its session
	WaitedMs   int64           `json:"waitedMs"`        // wait for the turn
	DurationMs int64           `json:"durationMs"`      // duration of the answer
}

func newExchange(p *process, t agentFlags, runID string) *exchange {
	return &exchange{p: p, t: t, runID: runID, events: newEventBuffer(runID), screen: newScreen(p)}
}

// receive receives every event of the gateway.
func (t *exchange) receive(e client.Event) { t.events.add(e) }

// leave sends the message without waiting for an answer.
func (t *exchange) leave(ctx context.Context, message string) error {
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	payload, err := t.gateway.Call(ctx, "agent", t.t.ask(t.runID, message))
	if err != nil {
		return t.refused(err)
	}
	if err := json.Unmarshal(payload, &t.taken); err != nil {
		return fmt.Errorf("decode the gateway's answer: %w", err)
	}
	if !t.t.asJSON {
		_, err := fmt.Fprintln(t.p.stdout, t.runID)
		return err
	}
	state, err := t.state(ctx)
	if err != nil {
		return t.refused(err)
	}
	if state.QueueAhead != nil {
		state.State = string(run.Queued)
	}
	return output.JSONLine(t.p.stdout, talkAnswer{RunID: t.runID, SessionKey: t.key(), State: state.State, Ahead: state.QueueAhead})
}

// requestResult is the result of the request of a run.
type requestResult struct {
	payload json.RawMessage
	err     error
}

// run sends the message and prints the answer until the run has ended.
func (t *exchange) run(ctx context.Context, message string) error {
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	taken, ended := make(chan json.RawMessage, 2), make(chan requestResult, 1)
	ask := func(gateway *client.Client) {
		payload, err := gateway.CallFinal(asking, "agent", t.t.ask(t.runID, message), func(payload json.RawMessage) { taken <- payload })
		ended <- requestResult{payload, err}
	}
	go ask(t.gateway)
	patience := time.NewTimer(defaultCallTime) // first for the acknowledgement, then for the turn
	defer patience.Stop()
	for {
		select {
		case payload := <-taken:
			if err := json.Unmarshal(payload, &t.taken); err != nil {
				return fmt.Errorf("decode the gateway's answer: %w", err)
			}
			if patience.Stop(); t.t.queueWait > 0 && !t.started {
				patience.Reset(t.t.queueWait)
			}
		case <-t.events.more:
			if t.show() {
				patience.Stop()
			}
			if t.screen.err != nil {
				return errors.Join(&talkerror.Unread{RunID: t.runID, Err: t.screen.err}, t.abort(ctx))
			}
		case <-patience.C:
			if t.taken.AcceptedAt == 0 {
				return &lateError{defaultCallTime}
			}
			if gone, err := t.giveUp(ctx); gone {
				return err
			}
		case <-ctx.Done():
			return t.interrupt(ctx, taken, ended)
		case end := <-ended:
			t.show()
			if end.err == nil {
				return t.finish(ctx, end.payload)
			}
			if !t.reconnect(ctx, end.err) {
				if ctx.Err() != nil {
					return errors.Join(&talkerror.Interrupted{RunID: t.runID}, t.refused(end.err))
				}
				return t.refused(end.err)
			}
			patience.Reset(defaultCallTime)
			go ask(t.gateway)
		}
	}
}

// How long to try to reconnect to a lost gateway, how often to try, and how many losses are tolerated.
const (
	returnTime  = 10 * time.Second
	returnEvery = 200 * time.Millisecond
	mostLosses  = 3
)

// reconnect reconnects if the connection was lost, and reports whether it succeeded. Asking for the run with the same idempotency key
// returns its current state and starts no second run.
func (t *exchange) reconnect(ctx context.Context, why error) bool {
	if closed := new(client.ClosedError); !errors.As(why, &closed) || t.losses == mostLosses {
		return false
	}
	t.losses++
	ctx, stop := context.WithTimeout(ctx, returnTime)
	defer stop()
	pause := time.NewTicker(returnEvery)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
		}
		if gateway, err := t.p.dial(ctx, t.t.gatewayFlags, t.receive); err == nil {
			_ = t.gateway.Close() // the run has ended
			t.gateway = gateway
			return true
		}
	}
}

// show prints what arrived since, and reports whether the answer has started.
func (t *exchange) show() (started bool) {
	for _, said := range t.events.drain() {
		t.started = true
		switch {
		case t.t.asJSON:
		case said.tool != "":
			t.screen.tool(said.tool)
		case !t.t.whole && said.text != "":
			t.screen.text(said.text)
		}
	}
	return t.started
}

// key is the session key, as reported by the gateway if it has done so.
func (t *exchange) key() string {
	if key := t.events.key(); key != "" {
		return key
	}
	return t.whole(t.t.key())
}

// whole expands a bare session name with the defaults that the gateway reported on connecting.
func (t *exchange) whole(name string) string {
	var greeting struct {
		SessionDefaults struct{ DefaultAgentID, MainSessionKey, Scope string }
	}
	if json.Unmarshal(t.gateway.Hello().Snapshot, &greeting) != nil {
		return name
	}
	defaults := greeting.SessionDefaults
	key, err := coordination.SessionKeyOf(name, defaults.DefaultAgentID)
	switch {
	case err != nil:
		return name // the gateway reports what is wrong with it
	case defaults.Scope == "global" && key.Agent != "" && key == coordination.MainKey(key.Agent):
		return defaults.MainSessionKey
	}
	return key.String()
}

// finish reports how the run ended.
func (t *exchange) finish(ctx context.Context, payload json.RawMessage) error {
	var final finalAnswer
	if err := json.Unmarshal(payload, &final); err != nil {
		return fmt.Errorf("decode the gateway's answer: %w", err)
	}
	state, err := t.state(ctx)
	if err != nil {
		return t.refused(err)
	}
	meta := final.Result.Meta
	a := talkAnswer{RunID: t.runID, SessionKey: t.key(), SessionID: meta.AgentMeta.SessionID, State: state.State, Error: state.Error,
		Provider: meta.AgentMeta.Provider, Model: meta.AgentMeta.Model, Usage: meta.AgentMeta.Usage, DurationMs: meta.DurationMs}
	if state.StartedAt > 0 && t.taken.AcceptedAt > 0 {
		a.WaitedMs = max(state.StartedAt-t.taken.AcceptedAt, 0)
	}
	if state.StartedAt > 0 && state.EndedAt > 0 {
		a.DurationMs = state.EndedAt - state.StartedAt
	}
	if state.State == string(run.OK) {
		a.Text = textOf(&final)
	}
	if a.Error == "" && state.State == string(run.Aborted) {
		a.Error = meta.StopReason
	}
	a.Warning = prompt.CutWarning(meta.Prompt)
	if t.t.asJSON {
		err = output.JSONLine(t.p.stdout, a)
	} else {
		err = t.screen.end(a.Text)
		if a.Warning != "" {
			fmt.Fprintf(t.p.stderr, "warning: %s\n", a.Warning)
		}
	}
	if state.State == string(run.OK) {
		return err
	}
	return errors.Join(&talkerror.Ended{RunID: t.runID, State: state.State, Cause: a.Error, Late: t.late}, err)
}

func textOf(final *finalAnswer) string {
	var parts []string
	for _, payload := range final.Result.Payloads {
		if payload.Text != "" {
			parts = append(parts, payload.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// state asks for the state of the run.
func (t *exchange) state(ctx context.Context) (*stateAnswer, error) {
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	payload, err := t.gateway.Call(ctx, "agent.wait", map[string]any{"runId": t.runID, "timeoutMs": 0})
	if err != nil {
		return nil, err
	}
	var state stateAnswer
	if err := json.Unmarshal(payload, &state); err != nil {
		return nil, fmt.Errorf("decode the gateway's answer: %w", err)
	}
	return &state, nil
}

// giveUp withdraws the message if its turn has not come, and reports that. A run that started before the gateway handled the withdrawal was
// stopped like any other, or had ended already: then its outcome is reported as usual.
func (t *exchange) giveUp(ctx context.Context) (gone bool, err error) {
	before, err := t.state(ctx)
	if err != nil {
		return true, t.refused(err)
	}
	if before.QueueAhead == nil {
		return false, nil // its turn came at the last moment
	}
	if err := t.abort(ctx); err != nil {
		return true, t.refused(err)
	}
	after, err := t.state(ctx)
	if err != nil {
		return true, t.refused(err)
	}
	if t.late = after.StartedAt > 0; t.late || after.State != string(run.Aborted) {
		return false, nil
	}
	return true, &busyError{session: t.key(), ahead: *before.QueueAhead, waited: t.t.queueWait}
}

// interrupt stops the run on the user's request. A message that is still in flight can be stopped once it is
// acknowledged.
func (t *exchange) interrupt(ctx context.Context, taken <-chan json.RawMessage, ended <-chan requestResult) error {
	if t.taken.AcceptedAt == 0 {
		late := time.NewTimer(stopTime)
		defer late.Stop()
		select {
		case <-taken:
		case end := <-ended:
			if end.err != nil {
				return errors.Join(&talkerror.Interrupted{RunID: t.runID}, t.refused(end.err))
			}
		case <-late.C:
		}
	}
	err := t.abort(ctx)
	t.show()
	_ = t.screen.end("")
	return errors.Join(&talkerror.Interrupted{RunID: t.runID}, err)
}

func (t *exchange) abort(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer stop()
	_, err := t.gateway.Call(ctx, "chat.abort", map[string]any{"sessionKey": t.key(), "runId": t.runID})
	if err != nil {
		return fmt.Errorf("stop run %s: %w", t.runID, err)
	}
	return nil
}

// refused converts the gateway's error to a typed one.
func (t *exchange) refused(err error) error {
	if why := new(protocol.Error); errors.As(err, &why) {
		if busy := busyOf(why, t.t.key()); busy != nil {
			return busy
		}
		return &callError{reason: why}
	}
	if closed := new(client.ClosedError); errors.As(err, &closed) {
		return &talkerror.Lost{RunID: t.runID, Taken: t.taken.AcceptedAt != 0, Err: err}
	}
	return err
}
