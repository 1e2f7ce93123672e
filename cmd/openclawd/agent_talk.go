package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// stopTime is how long a run that is stopped may take to end before the command leaves without its word.
const stopTime = 5 * time.Second

// talk is one message and its answer.
type talk struct {
	p       *process
	t       talking
	runID   string
	gateway *client.Client
	heard   *heard
	screen  *screen
	taken   takenAnswer
	losses  int  // of the connection
	started bool // the answer has
	late    bool // it had when the message was to be taken back
}

// takenAnswer is the first answer of agent: the message is on disk.
type takenAnswer struct {
	AcceptedAt int64 `json:"acceptedAt"`
}

// finalAnswer is the second one. How the run has ended says agent.wait.
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

// stateAnswer is that of agent.wait.
type stateAnswer struct {
	State      string
	StartedAt  int64
	EndedAt    int64
	Error      string
	QueueAhead *int // runs that come before it; nil: it waits no more
}

// talkAnswer is the answer of agent in JSON. Times are ms.
type talkAnswer struct {
	RunID      string          `json:"runId"`
	SessionKey string          `json:"sessionKey"`
	SessionID  string          `json:"sessionId,omitempty"`
	State      string          `json:"state"` // queued with --detach; ok, error, aborted, timed_out
	Text       string          `json:"text"`
	Error      string          `json:"error,omitempty"`
	Warning    string          `json:"warning,omitempty"` // the model was told less than there is
	Provider   string          `json:"provider,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Ahead      *int            `json:"ahead,omitempty"` // with --detach: messages that come before it in its session
	WaitedMs   int64           `json:"waitedMs"`        // for its turn
	DurationMs int64           `json:"durationMs"`      // of the answer
}

func newTalk(p *process, t talking, runID string) *talk {
	return &talk{p: p, t: t, runID: runID, heard: newHeard(runID), screen: newScreen(p)}
}

// hear is told of every event of the gateway.
func (t *talk) hear(e client.Event) { t.heard.add(e) }

// leave says the message and waits for no answer.
func (t *talk) leave(ctx context.Context, message string) error {
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	payload, err := t.gateway.Call(ctx, "agent", t.t.ask(t.runID, message))
	if err != nil {
		return t.refused(err)
	}
	if err := json.Unmarshal(payload, &t.taken); err != nil {
		return fmt.Errorf("answer of the gateway: %w", err)
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
		state.State = string(coordrun.Queued)
	}
	return output.JSONLine(t.p.stdout, talkAnswer{RunID: t.runID, SessionKey: t.key(), State: state.State, Ahead: state.QueueAhead})
}

// ending is how the request of a run has ended.
type ending struct {
	payload json.RawMessage
	err     error
}

// hold says the message and prints what comes, until the run has ended.
func (t *talk) hold(ctx context.Context, message string) error {
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	taken, ended := make(chan json.RawMessage, 2), make(chan ending, 1)
	ask := func(gateway *client.Client) {
		payload, err := gateway.CallFinal(asking, "agent", t.t.ask(t.runID, message), func(payload json.RawMessage) { taken <- payload })
		ended <- ending{payload, err}
	}
	go ask(t.gateway)
	patience := time.NewTimer(defaultCallTime) // for the message to be taken; then, for its turn
	defer patience.Stop()
	for {
		select {
		case payload := <-taken:
			if err := json.Unmarshal(payload, &t.taken); err != nil {
				return fmt.Errorf("answer of the gateway: %w", err)
			}
			if patience.Stop(); t.t.queueWait > 0 && !t.started {
				patience.Reset(t.t.queueWait)
			}
		case <-t.heard.more:
			if t.show() {
				patience.Stop()
			}
			if t.screen.err != nil {
				return errors.Join(&unreadError{t.runID, t.screen.err}, t.abort(ctx))
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
			if !t.again(ctx, end.err) {
				if ctx.Err() != nil {
					return errors.Join(&interruptedError{t.runID}, t.refused(end.err))
				}
				return t.refused(end.err)
			}
			patience.Reset(defaultCallTime)
			go ask(t.gateway)
		}
	}
}

// How long a gateway that is gone may take to come back, how often that is tried, and how many times it may go.
const (
	returnTime  = 10 * time.Second
	returnEvery = 200 * time.Millisecond
	mostLosses  = 3
)

// again connects again if the connection was lost, and reports whether it is there. Whoever asks for the run by the same key is answered
// as it stands then, and starts no other one.
func (t *talk) again(ctx context.Context, why error) bool {
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
		if gateway, err := t.p.dial(ctx, t.t.doorway, t.hear); err == nil {
			_ = t.gateway.Close() // it has ended
			t.gateway = gateway
			return true
		}
	}
}

// show prints what was heard since, and reports whether the answer has begun.
func (t *talk) show() (begun bool) {
	for _, said := range t.heard.take() {
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

// key is the session's, as the gateway calls it where it has said so.
func (t *talk) key() string {
	if key := t.heard.key(); key != "" {
		return key
	}
	return t.whole(t.t.key())
}

// whole gives a bare name of a session what is left out of it, by what the gateway has said when it let us in.
func (t *talk) whole(name string) string {
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
		return name // the gateway says what is wrong with it
	case defaults.Scope == "global" && key.Agent != "" && key == coordination.MainKey(key.Agent):
		return defaults.MainSessionKey
	}
	return key.String()
}

// finish says how the run has ended.
func (t *talk) finish(ctx context.Context, payload json.RawMessage) error {
	var final finalAnswer
	if err := json.Unmarshal(payload, &final); err != nil {
		return fmt.Errorf("answer of the gateway: %w", err)
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
	if state.State == string(coordrun.OK) {
		a.Text = textOf(&final)
	}
	if a.Error == "" && state.State == string(coordrun.Aborted) {
		a.Error = meta.StopReason
	}
	a.Warning = cutWarning(meta.Prompt)
	if t.t.asJSON {
		err = output.JSONLine(t.p.stdout, a)
	} else {
		err = t.screen.end(a.Text)
		if a.Warning != "" {
			fmt.Fprintf(t.p.stderr, "warning: %s\n", a.Warning)
		}
	}
	if state.State == string(coordrun.OK) {
		return err
	}
	return errors.Join(&runError{runID: t.runID, state: state.State, cause: a.Error, late: t.late}, err)
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

// state asks how the run stands.
func (t *talk) state(ctx context.Context) (*stateAnswer, error) {
	ctx, stop := context.WithTimeoutCause(ctx, defaultCallTime, &lateError{defaultCallTime})
	defer stop()
	payload, err := t.gateway.Call(ctx, "agent.wait", map[string]any{"runId": t.runID, "timeoutMs": 0})
	if err != nil {
		return nil, err
	}
	var state stateAnswer
	if err := json.Unmarshal(payload, &state); err != nil {
		return nil, fmt.Errorf("answer of the gateway: %w", err)
	}
	return &state, nil
}

// giveUp takes the message back if its turn has not come, and says so. Whoever has begun to answer before the gateway heard of that was
// stopped like any run, or was done already: then how it has ended is told as always.
func (t *talk) giveUp(ctx context.Context) (gone bool, err error) {
	before, err := t.state(ctx)
	if err != nil {
		return true, t.refused(err)
	}
	if before.QueueAhead == nil {
		return false, nil // its turn has come at the last moment
	}
	if err := t.abort(ctx); err != nil {
		return true, t.refused(err)
	}
	after, err := t.state(ctx)
	if err != nil {
		return true, t.refused(err)
	}
	if t.late = after.StartedAt > 0; t.late || after.State != string(coordrun.Aborted) {
		return false, nil
	}
	return true, &busyError{session: t.key(), ahead: *before.QueueAhead, waited: t.t.queueWait}
}

// interrupt stops the run, because whoever asked for it wants no answer any more. A message that is still on its way can be stopped once
// it is taken.
func (t *talk) interrupt(ctx context.Context, taken <-chan json.RawMessage, ended <-chan ending) error {
	if t.taken.AcceptedAt == 0 {
		late := time.NewTimer(stopTime)
		defer late.Stop()
		select {
		case <-taken:
		case end := <-ended:
			if end.err != nil {
				return errors.Join(&interruptedError{t.runID}, t.refused(end.err))
			}
		case <-late.C:
		}
	}
	err := t.abort(ctx)
	t.show()
	_ = t.screen.end("")
	return errors.Join(&interruptedError{t.runID}, err)
}

func (t *talk) abort(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer stop()
	_, err := t.gateway.Call(ctx, "chat.abort", map[string]any{"sessionKey": t.key(), "runId": t.runID})
	if err != nil {
		return fmt.Errorf("stop run %s: %w", t.runID, err)
	}
	return nil
}

// refused gives what the gateway says instead of an answer its type.
func (t *talk) refused(err error) error {
	if why := new(protocol.Error); errors.As(err, &why) {
		if busy := busyOf(why, t.t.key()); busy != nil {
			return busy
		}
		return &callError{reason: why}
	}
	if closed := new(client.ClosedError); errors.As(err, &closed) {
		return &runLostError{t.runID, t.taken.AcceptedAt != 0, err}
	}
	return err
}
