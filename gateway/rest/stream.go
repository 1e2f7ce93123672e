package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// stream is an answer of server-sent events, buffered until flush.
type stream struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	writeTime func(bytes int) time.Duration
	buffer    bytes.Buffer
	err       error // of encoding
}

// event appends an event; without a name it has only data.
func (s *stream) event(name string, data any) {
	if name != "" {
		s.buffer.WriteString("event: " + name + "\n")
	}
	s.buffer.WriteString("data: ")
	encoder := json.NewEncoder(&s.buffer)
	encoder.SetEscapeHTML(false)
	s.err = errors.Join(s.err, encoder.Encode(data))
	s.buffer.WriteByte('\n')
}

func (s *stream) done() { s.buffer.WriteString("data: [DONE]\n\n") }

// heartbeat appends a comment, which readers skip, to keep the connection alive.
func (s *stream) heartbeat() { s.buffer.WriteString(": waiting\n\n") }

// flush sends the buffer. An error means that the client is gone.
func (s *stream) flush() error {
	if s.err != nil {
		return s.err
	}
	if s.buffer.Len() == 0 {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.writeTime(s.buffer.Len()))) // a connection without deadlines blocks
	_, err := s.w.Write(s.buffer.Bytes())
	s.buffer.Reset()
	if s.buffer.Cap() > 1<<20 {
		s.buffer = bytes.Buffer{}
	}
	return errors.Join(err, s.control.Flush())
}

type waitResult struct {
	result run.Result
	err    error
}

func (s *Server) answerAsItComes(w http.ResponseWriter, r *http.Request, q *agentRequest, v responder, hears *follower) {
	ctx, done := context.WithCancel(r.Context())
	defer done()
	ended := make(chan waitResult, 1)
	go func() {
		result, err := s.opts.Runs.Wait(ctx, q.runID)
		ended <- waitResult{result, err}
	}()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	out := &stream{w: w, control: http.NewResponseController(w), writeTime: s.writeTime}
	v.begin(out)
	if out.flush() != nil {
		s.leave(ctx, q)
		return
	}
	if s.pass(ctx, q, v, hears, out, ended) {
		_ = out.flush() // a client that does not read the end misses it
	}
}

// pass sends updates until the run is over. It reports whether the last of them is still buffered.
func (s *Server) pass(ctx context.Context, q *agentRequest, v responder, hears *follower, out *stream, ended <-chan waitResult) bool {
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	heard := false
	for {
		keepsUp := true
		select {
		case <-hears.news:
			var delta string
			if delta, keepsUp = hears.next(); delta != "" {
				heard = true
				v.delta(out, delta)
				beat.Reset(s.opts.Heartbeat)
			}
		case <-beat.C:
			out.heartbeat()
		case w := <-ended:
			return s.finish(ctx, q, v, hears, out, w, heard)
		}
		if !keepsUp {
			s.opts.Logger.Info("client too slow for its stream", "run", q.runID)
		}
		if !keepsUp || out.flush() != nil {
			s.leave(ctx, q)
			return false
		}
	}
}

func (s *Server) finish(ctx context.Context, q *agentRequest, v responder, hears *follower, out *stream, w waitResult, heard bool) bool {
	var why *failure
	switch {
	case w.err == nil:
		o := outcomeOf(&w.result)
		failed := s.failureOf(&w.result, o)
		delta, keepsUp := hears.last(o.text)
		if !keepsUp {
			return false
		}
		if failed == nil {
			delta += o.tail(heard || delta != "")
		}
		if delta != "" {
			v.delta(out, delta)
		}
		if failed != nil {
			v.fail(out, failed)
			return true
		}
		v.end(out, o)
		out.done()
		return true
	case errors.Is(context.Cause(ctx), wire.ErrStopping):
		why = gatewayStopping()
	case s.isOver(ctx, q):
		return false
	default:
		s.opts.Logger.Error("cannot wait for a run", "run", q.runID, "err", w.err)
		why = internalError()
	}
	v.fail(out, why)
	return true
}
