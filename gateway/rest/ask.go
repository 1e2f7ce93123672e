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

// question is a request that has an agent answer.
type question struct {
	asked

	said   said
	model  string // as the client names it
	stream bool
}

// voice tells an answer in the words of one endpoint.
type voice interface {
	// whole is the answer at once.
	whole(o *outcome) any
	// begin, say and end are the answer as it comes; end says what begin and say have left.
	begin(s *stream)
	say(s *stream, delta string)
	end(s *stream, o *outcome)
	// fail ends a stream that has no end.
	fail(s *stream, why *failure)
}

// outcome is what has come of a run. That a model has failed is part of what an agent answers, as in the original.
type outcome struct {
	text string // what was said last
	note string // why that is not all
	stop string // stop, length, filtered

	usage coordination.SessionUsage // of all calls of models, zero where nobody has counted
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
		o.note = "The run has taken too long and was stopped."
	case run.Aborted:
		o.note = "The run was stopped."
	}
	return o
}

// statusOfClass is how a failure of a model is told as an error of HTTP, by its class. Others are 502: who was asked behind the gateway has failed.
var statusOfClass = map[string]int{
	"rate_limited": http.StatusTooManyRequests, "overloaded": http.StatusServiceUnavailable, "timeout": http.StatusGatewayTimeout,
	"context_exceeded": http.StatusBadRequest,
}

// failureOf is the failure of a run, where clients are told of it by HTTP; nil else, or where it has not failed. What was said before stays in the
// transcript of the session.
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

// tail is the note as it follows on what was said.
func (o *outcome) tail(said bool) string {
	if said && o.note != "" {
		return between + o.note
	}
	return o.note
}

// answer asks an agent, and tells what it says.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, q *question, v voice) {
	if s.opts.Runs == nil {
		s.fail(w, &failure{status: http.StatusServiceUnavailable, Message: "no agent runs here", Type: typeServer, Code: orNull("runs_not_available")})
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
		s.tell(w, http.StatusOK, v.whole(o))
	case s.isOver(r.Context(), q):
		s.fail(w, stopping()) // whoever has left does not read it
	default:
		s.opts.Logger.Error("a run cannot be waited for", "run", q.runID, "err", err)
		s.fail(w, internalError())
	}
}

// queue has the message accepted. That a client leaves meanwhile changes nothing: what becomes of its run is decided when that is known.
func (s *Server) queue(ctx context.Context, q *question) *failure {
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

// refused says why a message was not accepted.
func (s *Server) refused(err error) *failure {
	if busy, ok := errors.AsType[*run.Busy](err); ok {
		return &failure{status: http.StatusTooManyRequests, again: busyAgain, Type: "rate_limit_error", Code: orNull(busy.Code()),
			Message: busy.Error() + ": " + strconv.Itoa(busy.Ahead) + " are ahead"}
	}
	no, ok := errors.AsType[*run.Refusal](err)
	if !ok {
		s.opts.Logger.Error("a message cannot be accepted", "err", err)
		return internalError()
	}
	f := invalid(no.Text, no.Field, no.Code)
	if no.Value != "" && !strings.Contains(no.Text, no.Value) {
		f.Message += ": " + strconv.Quote(cut(no.Value))
	}
	if no.Mend != "" {
		f.Message += " (" + no.Mend + ")"
	}
	if no.Code == run.CodeNotAllowed {
		f.status, f.Type = http.StatusForbidden, "permission_error"
	}
	return f
}

// busyAgain is when somebody for whose message there is no room may try again.
const busyAgain = 5 * time.Second

// isOver reports whether nobody waits for an answer any more. The run of a client that has left is stopped, unless the client can come back
// for it; a gateway that ends stops none.
func (s *Server) isOver(ctx context.Context, q *question) bool {
	if ctx.Err() == nil {
		return false
	}
	s.leave(ctx, q)
	return true
}

// leave is for a client that is gone, or that the gateway has left.
func (s *Server) leave(ctx context.Context, q *question) {
	if q.once || errors.Is(context.Cause(ctx), wire.ErrStopping) {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), s.opts.StopTime)
	defer done()
	if _, err := s.opts.Runs.Stop(ctx, run.Stop{SessionKey: q.key.String(), RunID: q.runID, Reason: "stop", By: "http: the client has left"}); err != nil {
		s.opts.Logger.Warn("the run of a client that has left cannot be stopped", "run", q.runID, "err", err)
	}
}
