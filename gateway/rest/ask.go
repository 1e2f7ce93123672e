package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

type agentRequest struct {
	sessionRequest

	said   runInput
	model  string // as the client wrote it
	stream bool
}

type responder interface {
	whole(o *outcome) any
	// begin, say and end format a streamed answer; end adds what begin and say left out.
	begin(s *stream)
	delta(s *stream, delta string)
	end(s *stream, o *outcome)
	// fail ends a stream that did not complete.
	fail(s *stream, why *failure)
}

// outcome is the result of a run. A model failure is part of the answer, as in the original.
type outcome struct {
	text string // the last answer
	note string // why the answer is incomplete
	stop string // stop, length, filtered

	usage coordination.SessionUsage // of all model calls; zero if not counted
}

func outcomeOf(r *run.Result) *outcome {
	o := &outcome{stop: "stop"}
	over := r.Over
	if over == nil {
		return o
	}
	o.text = over.Text
	if over.Usage != nil {
		o.usage = *over.Usage
	}
	switch r.State {
	case run.OK:
		if over.StopReason != "" {
			o.stop = over.StopReason
		}
	case run.Failed:
		o.note = "The run has failed."
		if over.Error != "" {
			o.note = over.Error
		}
	case run.TimedOut:
		o.note = "The run exceeded its time limit and was stopped."
	case run.Aborted:
		o.note = "The run was stopped."
	}
	return o
}

// statusOfClass maps a model failure's class to an HTTP status. Other classes are 502: an upstream failed.
var statusOfClass = map[string]int{
	"rate_limited": http.StatusTooManyRequests, "overloaded": http.StatusServiceUnavailable, "timeout": http.StatusGatewayTimeout,
	"context_exceeded": http.StatusBadRequest,
}

// failureOf returns a run's failure as an HTTP error, if failures are reported that way; else nil. The transcript
// keeps what was said before.
func (s *Server) failureOf(r *run.Result, o *outcome) *failure {
	if s.opts.FailsAsHTTP == nil || !s.opts.FailsAsHTTP() {
		return nil
	}
	f := &failure{status: http.StatusBadGateway, once: true, Message: o.note, Type: typeServer}
	switch r.State {
	case run.Failed:
		f.Code = orNull("model_failed")
		if r.Over != nil && r.Over.ErrorClass != "" {
			f.Code, f.status = orNull(r.Over.ErrorClass), cmp.Or(statusOfClass[r.Over.ErrorClass], f.status)
		}
	case run.TimedOut:
		f.Code, f.status = orNull("run_timed_out"), http.StatusGatewayTimeout
	case run.Aborted:
		f.Code, f.status = orNull("run_stopped"), http.StatusConflict
	default:
		return nil
	}
	return f
}

// all is the text with the note.
func (o *outcome) all() string {
	if o.text == "" {
		return o.note
	}
	return o.text + o.tail(true)
}

// tail is the note, as appended to the text.
func (o *outcome) tail(said bool) string {
	if said && o.note != "" {
		return between + o.note
	}
	return o.note
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, q *agentRequest, v responder) {
	if s.opts.Runs == nil {
		s.fail(w, &failure{status: http.StatusServiceUnavailable, Message: "no agents run here", Type: typeServer, Code: orNull("runs_not_available")})
		return
	}
	var hears *follower
	if q.stream {
		var leave func()
		hears, leave = s.ears.follow(q.runID)
		defer leave()
	}
	if bad := s.queue(r.Context(), q); bad != nil {
		s.fail(w, bad)
		return
	}
	if q.stream {
		s.answerAsItComes(w, r, q, v, hears)
		return
	}
	result, err := s.opts.Runs.Wait(r.Context(), q.runID)
	switch {
	case err == nil:
		o := outcomeOf(&result)
		if failed := s.failureOf(&result, o); failed != nil {
			s.fail(w, failed)
			return
		}
		s.writeJSON(w, http.StatusOK, v.whole(o))
	case s.isOver(r.Context(), q):
		s.fail(w, gatewayStopping()) // a client that has left does not read it
	default:
		s.opts.Logger.Error("cannot wait for a run", "run", q.runID, "err", err)
		s.fail(w, internalError())
	}
}

// queue accepts the message, even if the client leaves meanwhile: what happens to its run is decided later.
func (s *Server) queue(ctx context.Context, q *agentRequest) *failure {
	accepted, err := s.opts.Runs.Queue(context.WithoutCancel(ctx), run.Ask{
		RunQueued: coordination.RunQueued{
			RunID: q.runID, SessionKey: q.key.String(), Cause: "http", By: byHTTP,
			Message: q.said.message, Content: q.said.content, ExtraSystemPrompt: q.said.extra,
		},
		Session: q.key, Human: true,
	})
	if err != nil {
		return s.refused(err)
	}
	if accepted.SessionKey != q.key.String() {
		return invalid("this idempotency key belongs to a run of another session", "", "idempotency_key_in_use")
	}
	return nil
}

func (s *Server) refused(err error) *failure {
	if busy, ok := errors.AsType[*run.Busy](err); ok {
		return &failure{status: http.StatusTooManyRequests, again: busyAgain, Type: "rate_limit_error", Code: orNull(busy.Code()),
			Message: busy.Error() + ": " + strconv.Itoa(busy.Ahead) + " are ahead"}
	}
	no, ok := errors.AsType[*run.Refusal](err)
	if !ok {
		s.opts.Logger.Error("cannot accept a message", "err", err)
		return internalError()
	}
	f := invalid(no.Text, no.Field, no.Reason)
	if no.Value != "" && !strings.Contains(no.Text, no.Value) {
		f.Message += ": " + strconv.Quote(coordination.Clip(no.Value, maxHeader))
	}
	if no.HintText != "" {
		f.Message += " (" + no.HintText + ")"
	}
	if no.Reason == run.CodeNotAllowed {
		f.status, f.Type = http.StatusForbidden, "permission_error"
	}
	return f
}

// busyAgain is the retry delay for a message refused because the queue is full.
const busyAgain = 5 * time.Second

// isOver reports whether the answer is no longer awaited. If the client has left, its run is stopped unless the client
// can ask again; a gateway shutdown stops no run.
func (s *Server) isOver(ctx context.Context, q *agentRequest) bool {
	if ctx.Err() == nil {
		return false
	}
	s.leave(ctx, q)
	return true
}

// leave handles a client that has left, or a gateway that stops.
func (s *Server) leave(ctx context.Context, q *agentRequest) {
	if q.once || errors.Is(context.Cause(ctx), wire.ErrStopping) {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), s.opts.StopTime)
	defer done()
	if _, err := s.opts.Runs.Stop(ctx, run.Stop{SessionKey: q.key.String(), RunID: q.runID, Reason: "stop", By: "http: the client has left"}); err != nil {
		s.opts.Logger.Warn("cannot stop the run of a client that has left", "run", q.runID, "err", err)
	}
}
