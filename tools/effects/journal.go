// Package effects records calls of tools whose effect is outside of this program, so that no kill hides one or repeats one.
//
// It guarantees
//   - that the intent of a call is on disk before the call is made, and its outcome before its caller learns it;
//   - that every intent has exactly one outcome in the end: an end, or unknown, which the next start writes for what a kill left open;
//   - that a repetition of a call, by its key, returns the recorded outcome; only one that was not made is made again, and one that is
//     unknown if the tool says that it may be, and one that has ended without input that it wanted, after a person has given that: it
//     is in the log that a person is asked as soon as it is there that the call has ended.
//
// The state of a call is its stream, so there are no tables.
package effects

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/once"
)

// Limits of what is recorded, in bytes.
const (
	MaxArguments = 16 << 10
	MaxText      = 64 << 10
	maxError     = 500
)

// Options of New. All but Desk are required.
type Options struct {
	Log    Log
	Now    func() time.Time
	NewID  func() string
	Logger *slog.Logger
	Desk   Desk // nil: no one is asked for input
}

// Log is the part of the store that a Journal needs, with the projection run in it.
type Log interface {
	eventstore.Decider
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Fatal distinguishes errors of the whole file from those of a statement.
	Fatal(err error) bool
}

// Journal implements tools.Journal. It is safe for concurrent use.
type Journal struct {
	opts    Options
	backoff backoff.Backoff
}

// New returns a Journal.
func New(o Options) *Journal {
	return &Journal{opts: o, backoff: backoff.Backoff{First: 100 * time.Millisecond, Most: 5 * time.Second}}
}

// patience is how long writing an outcome is retried after its caller has gone; the next start writes what is left.
const patience = 30 * time.Second

// Perform implements tools.Journal.
func (j *Journal) Perform(ctx context.Context, call *tools.Call, t *tools.Tool, do func(context.Context) (tool.Output, error)) (tool.Output, error) {
	a, err := j.intend(ctx, call, t)
	if err != nil {
		return tool.Output{}, err
	}
	if a.waits != nil {
		return tool.Output{}, a.waits
	}
	if a.earlier != nil {
		return a.earlier.output(t)
	}
	closed := false
	defer func() {
		if !closed { // do panicked
			_, _ = j.settle(ctx, a, &state{unknown: reasonBroken, text: "it broke inside"}) // logged, and written at the next start
		}
	}()
	out, err := do(context.WithValue(context.WithValue(ctx, callKey{}, a.CallID), inputsKey{}, &a.inputs))
	closed = true
	s, failed := j.settle(ctx, a, a.outcome(ctx, out, err))
	switch {
	case failed != nil:
		return tool.Output{}, failed
	case a.waits != nil:
		return tool.Output{}, a.waits
	case s.unknown != "":
		return s.output(t)
	case err == nil:
		out.Text = s.text
	}
	return out, err
}

type callKey struct{}

// CallID is the id of the call that is performed with a context: the same for all its attempts, so a recipient may recognize it. "" is none.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}

// Reasons of an unknown outcome.
const (
	ReasonRestart    = "restart"
	ReasonTimeout    = "timeout"
	ReasonConnection = "connection"
	reasonStopped    = "stopped"
	reasonBroken     = "broken"
)

// attempt is a call about to be made.
type attempt struct {
	number int
	intent
	call    *tools.Call
	tool    *tools.Tool
	earlier *state           // the outcome of the same call made earlier
	waits   *tool.WaitsError // for input that a person gives
	inputs  Inputs
	asked   int // requests for input so far
	closing []eventstore.StreamAppend
}

// intent is a tool.called.
type intent struct {
	coordination.ToolCalled
	stream         string
	agentID, cause string // of the event
}

// state is the outcome of a call.
type state struct {
	unknown string       // the reason, if it is unknown
	repeat  tools.Repeat // of an unknown one: what the tool said when it was called
	isError bool
	code    string
	text    string
}

// outcome judges what a tool returned.
func (a *attempt) outcome(ctx context.Context, out tool.Output, err error) *state {
	var unknown *tools.UnknownOutcomeError
	var refused *tool.Error
	switch {
	case err == nil:
		return &state{isError: out.IsError, text: out.Text}
	case errors.As(err, &unknown):
		return &state{unknown: unknown.Reason, text: unknown.Err.Error()}
	case errors.As(err, &refused):
		return &state{isError: true, code: refused.Code, text: refused.Text}
	case ctx.Err() != nil:
		return &state{unknown: reasonStopped, text: context.Cause(ctx).Error()}
	}
	return &state{unknown: reasonBroken, text: err.Error()}
}

// output is the outcome for the caller.
func (s *state) output(t *tools.Tool) (tool.Output, error) {
	if s.unknown == "" {
		return tool.Output{Text: s.text, IsError: s.isError}, nil
	}
	return tools.Refuse(unknownAnswer{Status: "unknown", Code: tool.CodeOutcomeUnknown, Tool: t.Name, Reason: s.unknown,
		Error: "It is unknown whether this call had its effect: " + reasonText(s.unknown) + ". It was not repeated.",
		Hint:  "find out whether it did, for example with a tool that only reads, before you make it again"})
}

type unknownAnswer struct {
	Status string `json:"status"`
	Code   string `json:"code"`
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
	Error  string `json:"error"`
	Hint   string `json:"hint"`
}

func reasonText(reason string) string {
	switch reason {
	case ReasonRestart:
		return "openclawd was restarted while it was under way"
	case ReasonTimeout:
		return "there was no answer in time"
	case ReasonConnection:
		return "the connection was lost while it was under way"
	case reasonStopped:
		return "it was stopped while it was under way"
	}
	return "it failed inside"
}

// intend records that a call is about to be made, unless it was made before.
func (j *Journal) intend(ctx context.Context, call *tools.Call, t *tools.Tool) (*attempt, error) {
	var a *attempt
	random := j.opts.NewID()
	_, err := j.opts.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		key, err := once.KeyOf(tx, call, t.Name)
		if err != nil {
			return nil, err
		}
		id := random
		if key != (once.Key{}) {
			id = hex.EncodeToString(key[:16])
		}
		if a, err = j.next(tx, id, t.Effect.Repeat); err != nil {
			return nil, err
		}
		if a.earlier != nil || a.waits != nil {
			return a.closing, nil
		}
		at := j.opts.Now().UnixMilli()
		a.call, a.tool = call, t
		a.ToolCalled, a.agentID, a.cause = calledBy(call, t, id, a.number, at), call.AgentID, call.AskedID
		return a.append(eventstore.NoStream(), coordination.TypeToolCalled, a.ToolCalled, at)
	})
	return a, err
}

// maxAttempts bounds how often a call is made that stays unknown or is never made.
const maxAttempts = 8

// next finds the attempt to make: the first, or the one after those that were not made, whose outcome is unknown, or for which people have
// given what they wanted.
func (j *Journal) next(tx eventstore.Tx, id string, repeat tools.Repeat) (*attempt, error) {
	a := &attempt{}
	for n := 1; ; n++ {
		a.number, a.stream = n, streamOf(id, n)
		s, open, err := read(tx, a.stream)
		switch {
		case err != nil:
			return nil, err
		case open:
			return nil, &tool.Error{Code: tool.CodeUnderWay, Text: "the same call is under way", Hint: "wait for its end"}
		case s == nil:
			return a, nil
		case s.code == CodeInputWanted:
			if more, err := j.inputSoFar(tx, id, a, s); err != nil || !more {
				return a, err
			}
		case s.code == tool.CodeUnavailable && n < maxAttempts: // it was not made
		case s.unknown == "" || repeat == tools.RepeatNever || s.repeat == tools.RepeatNever || n >= maxAttempts:
			a.earlier = s
			return a, nil
		}
	}
}

func streamOf(id string, number int) string {
	if number > 1 {
		id += "." + strconv.Itoa(number)
	}
	return coordination.ToolCallStream(id)
}

const selectCall = `SELECT e.type, e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? ORDER BY e.version`

// read returns the outcome of a call, nil if it was never made; open is one that has none yet. Redacted outcomes have no text.
func read(tx eventstore.Tx, stream string) (s *state, open bool, err error) {
	repeat := tools.RepeatNever
	err = tx.Query(selectCall, []any{stream}, func(row eventstore.Row) error {
		var data struct {
			IsError            bool
			Code, Text, Reason string
			Repeat             tools.Repeat
		}
		if !row.Null(1) {
			if err := json.Unmarshal([]byte(row.Text(1)), &data); err != nil {
				return err
			}
		}
		open = false
		switch row.Text(0) {
		case coordination.TypeToolEnded:
			s = &state{isError: data.IsError, code: data.Code, text: data.Text}
			if row.Null(1) {
				s.text = "This call was made before; its result is no longer in the log."
			}
		case coordination.TypeToolOutcomeUnknown:
			s = &state{unknown: data.Reason, repeat: repeat}
			if s.unknown == "" {
				s.unknown = reasonBroken // redacted
			}
		default:
			open, repeat = true, data.Repeat
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the tool call %s: %w", stream, err)
	}
	return s, open, nil
}

func calledBy(call *tools.Call, t *tools.Tool, id string, number int, at int64) coordination.ToolCalled {
	c := coordination.ToolCalled{
		Context: coordination.Context{EventRole: coordination.RoleObservability, WorkSessionID: call.WorkSessionID, TaskID: call.TaskID, ConversationID: call.ConversationID},
		CallID:  id, Attempt: number, Tool: t.Name, Server: t.Effect.Server, Repeat: string(t.Effect.Repeat), SessionKey: call.SessionKey,
		SessionID: call.SessionID, RunID: call.RunID, Entry: string(call.Entry), By: coordination.Mask(call.By), CalledAtMs: at,
	}
	masked := json.RawMessage(coordination.Mask(string(call.Args)))
	if len(masked) <= MaxArguments && json.Valid(masked) {
		c.Arguments = masked
	} else {
		c.ArgumentsBytes = len(call.Args)
	}
	return c
}

// append is an event of the call.
func (c *intent) append(expect eventstore.Expect, typ string, data any, at int64) ([]eventstore.StreamAppend, error) {
	e := eventstore.NewEvent{Type: typ, AgentID: c.agentID, Actor: eventstore.ActorAgent, CausationID: c.cause, CorrelationID: c.ConversationID}
	appends, err := eventstore.One(c.stream, e, data, at)
	if err == nil {
		appends[0].Expect = expect
	}
	return appends, err
}

// settle writes the outcome of a call, with a request for the input that it wants, and returns it as it is written. It retries until the
// log accepts, or its caller has been gone for too long.
func (j *Journal) settle(ctx context.Context, a *attempt, s *state) (*state, error) {
	asks := a.inputs.wanted != nil && s.unknown == "" && s.code == ""
	patient, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		if wait.For(patient, patience) == nil {
			stop()
		}
	})()
	for again := 1; ; again++ {
		done := s
		_, err := j.opts.Log.Decide(patient, func(tx eventstore.Tx) (asked []eventstore.StreamAppend, err error) {
			_, open, err := read(tx, a.stream)
			if err != nil || !open {
				return nil, err
			}
			if done, a.waits = s, nil; asks {
				if done, a.waits, asked, err = j.asking(tx, a, s); err != nil {
					return nil, err
				}
			}
			ended, err := a.close(done, j.opts.Now().UnixMilli())
			return append(ended, asked...), err
		})
		if err == nil {
			return done, nil
		}
		if errors.Is(err, eventstore.ErrClosed) || patient.Err() != nil || eventstore.Refused(err, j.opts.Log.Fatal) {
			j.opts.Logger.Error("cannot record the outcome of a tool call; it is recorded as unknown at the next start", "tool", a.Tool, "call", a.CallID, "err", err)
			return nil, fmt.Errorf("record the outcome of a tool call: %w", err)
		}
		if again == 1 {
			j.opts.Logger.Warn("cannot record the outcome of a tool call; will retry", "tool", a.Tool, "call", a.CallID, "err", err)
		}
		if wait.For(patient, j.backoff.After(again)) != nil {
			return nil, err
		}
	}
}

// close is the event that ends the call.
func (c *intent) close(s *state, at int64) ([]eventstore.StreamAppend, error) {
	text := coordination.Mask(strings.ToValidUTF8(s.text, "\uFFFD"))
	if s.unknown != "" {
		return c.append(eventstore.Exactly(1), coordination.TypeToolOutcomeUnknown, coordination.ToolOutcomeUnknown{
			Context: c.Context, CallID: c.CallID, Attempt: c.Attempt, Tool: c.Tool, Server: c.Server, SessionKey: c.SessionKey, RunID: c.RunID,
			EndedAtMs: at, Reason: s.unknown, Error: coordination.Clipped(text, maxError),
		}, at)
	}
	return c.append(eventstore.Exactly(1), coordination.TypeToolEnded, coordination.ToolEnded{
		Context: c.Context, CallID: c.CallID, Attempt: c.Attempt, Tool: c.Tool, Server: c.Server, SessionKey: c.SessionKey, RunID: c.RunID,
		EndedAtMs: at, TookMs: max(at-c.CalledAtMs, 0), IsError: s.isError, Code: s.code, Text: coordination.Clipped(text, MaxText),
	}, at)
}
