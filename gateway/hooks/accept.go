package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/hook"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// accept queues the run of an admitted request.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, conf *config.Config, path string) (answer, *failure) {
	payload, bad := read(w, r, conf.Hooks.MaxBodyBytes)
	if bad != nil {
		return answer{}, bad
	}
	asked, bad := s.asked(r, conf, path, payload)
	if bad != nil {
		return answer{}, bad
	}
	key, bad := idempotencyKey(r, asked)
	if bad != nil {
		return answer{}, bad
	}
	ask, bad := s.ask(r.Context(), conf, path, asked, key)
	if bad != nil {
		return answer{}, bad
	}
	accepted, err := s.o.Runs.Queue(context.WithoutCancel(r.Context()), ask) // a sender that leaves may send it again
	if err != nil {
		return answer{}, s.refused(err)
	}
	if asked.Action == hook.ActionWake {
		return answer{status: http.StatusOK, OK: true, RunID: accepted.RunID, Mode: "now"}, nil
	}
	return answer{status: http.StatusAccepted, OK: true, RunID: accepted.RunID}, nil
}

// read reads a body, which is empty or a JSON object.
func read(w http.ResponseWriter, r *http.Request, most int) (hook.Payload, *failure) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(most)))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, &failure{status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: "the body is too large", Field: "body",
			Value: strconv.FormatInt(r.ContentLength, 10), Hint: "send at most " + strconv.Itoa(most) + " bytes, or set hooks.maxBodyBytes"}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &failure{status: http.StatusRequestTimeout, Code: "body_timeout", Message: "the body took too long", Field: "body", Hint: "send it within 30 seconds"}
	case err != nil:
		return nil, &failure{status: http.StatusBadRequest, Code: "incomplete_request", Message: "the body was cut short", Field: "body", Hint: "send it again"}
	case len(bytes.TrimSpace(text)) == 0:
		return hook.Payload{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var payload hook.Payload
	err = d.Decode(&payload)
	if err == nil && (payload == nil || d.More()) {
		err = errors.New("one JSON object was expected")
	}
	if err != nil {
		return nil, &failure{status: http.StatusBadRequest, Code: "invalid_json", Message: "the body is not a JSON object: " + coordination.Quoted(err.Error()), Field: "body",
			Hint: "send one JSON object"}
	}
	return payload, nil
}

// asked is what a request asks for.
func (s *Server) asked(r *http.Request, conf *config.Config, path string, payload hook.Payload) (asked *hook.Asked, bad *failure) {
	var refusal *hook.Refusal
	switch path {
	case hook.ActionWake:
		asked, refusal = hook.Wake(payload)
	case hook.ActionAgent:
		asked, refusal = hook.Agent(payload)
	default:
		query := r.URL.Query()
		found := false
		asked, found, refusal = hook.Mapped(conf.Hooks.Mappings, &hook.Input{Path: path, Payload: payload, Header: r.Header.Get, Query: query.Get,
			Now: s.o.Now().UTC().Format(time.RFC3339)})
		if !found || path == "" {
			return nil, &failure{status: http.StatusNotFound, Code: "unknown_hook", Message: "there is no such hook", Field: "path", Value: coordination.Quoted(path),
				Hint: "use wake, agent, or a path of hooks.mappings"}
		}
	}
	if refusal != nil {
		return nil, failureOf(refusal, http.StatusBadRequest)
	}
	return asked, nil
}

// idempotencyKey identifies a repeated request, "" if the sender gave none.
func idempotencyKey(r *http.Request, asked *hook.Asked) (string, *failure) {
	key := cmp.Or(coordination.TrimJS(r.Header.Get("Idempotency-Key")), coordination.TrimJS(r.Header.Get("X-Openclaw-Idempotency-Key")), asked.IdempotencyKey)
	if len(key) > hook.MaxIdempotencyKey {
		return "", &failure{status: http.StatusBadRequest, Code: "invalid_idempotency_key", Message: "the idempotency key is too long", Field: "idempotencyKey",
			Value: coordination.Quoted(key), Hint: "use at most " + strconv.Itoa(hook.MaxIdempotencyKey) + " bytes"}
	}
	return key, nil
}

// ask is the run of a request.
func (s *Server) ask(ctx context.Context, conf *config.Config, path string, asked *hook.Asked, key string) (run.Ask, *failure) {
	agent, bad := agentOf(conf, asked.AgentID)
	if bad != nil {
		return run.Ask{}, bad
	}
	main := mainOf(conf, agent)
	id := s.o.NewID()
	place, refusal := hook.SessionOf(&conf.Hooks.Policy, asked, agent, main, id)
	if refusal != nil {
		status := http.StatusBadRequest
		if refusal.Reason == hook.CodeAgent {
			status = http.StatusForbidden
		}
		return run.Ask{}, failureOf(refusal, status)
	}
	ask := run.Ask{Session: place.Key, RunQueued: coordination.RunQueued{RunID: hook.RunID(path, key, id), SessionKey: place.Key.String(), Lane: run.LaneCron,
		Cause: coordination.CauseHook, By: coordination.CauseHook + ":" + coordination.Clip(path, 200), Message: hook.Message(asked.Name, asked.Text, s.boundary()),
		Provenance: "external_user", OnRestart: run.OnRestartRetry, Model: asked.Model, Thinking: asked.Thinking}}
	if asked.TimeoutSeconds > 0 {
		ms := asked.TimeoutSeconds * 1000
		ask.TimeoutMs = &ms
	}
	if place.Reset {
		ask.Reset = "new"
	}
	if place.Key.IsHook() {
		ask.Label = "Hook: " + coordination.Head(hook.Label(asked.Name), 50) + " " + coordination.Head(id, 8)
	}
	return ask, s.address(ctx, &ask, asked, main)
}

// boundary is what the sender of a text cannot know.
func (s *Server) boundary() string { return strings.ReplaceAll(s.o.NewID(), "-", "")[:16] }

// address says where the answer is posted.
func (s *Server) address(ctx context.Context, ask *run.Ask, asked *hook.Asked, main coordination.SessionKey) *failure {
	if !asked.Deliver {
		return nil
	}
	ask.Channel, ask.To, ask.AccountID = asked.Channel, asked.To, asked.AccountID
	if asked.Channel == hook.ChannelLast {
		last, err := s.o.LastRoute(ctx, main)
		if err != nil {
			return s.broken(err)
		}
		ask.Channel, ask.To, ask.AccountID, ask.ThreadID = last.Channel, last.To, cmp.Or(asked.AccountID, last.AccountID), last.ThreadID
		if asked.To != "" {
			ask.To, ask.ThreadID = asked.To, ""
		}
	}
	ask.Deliver = ask.Channel != ""
	return nil
}

// agentOf resolves an agent that a request or a mapping names. An unknown one never becomes another agent.
func agentOf(conf *config.Config, id string) (string, *failure) {
	agent := strings.ToLower(cmp.Or(id, conf.DefaultAgentID()))
	known := len(conf.Agents) == 0 && agent == conf.DefaultAgentID() || conf.AgentNamed(agent) != nil
	if !known || coordination.NormalizeAgentID(agent) != agent {
		return "", &failure{status: http.StatusBadRequest, Code: "unknown_agent", Message: "there is no such agent", Field: "agentId", Value: coordination.Quoted(id),
			Hint: "name an agent of the configuration, or none for the default agent"}
	}
	return agent, nil
}

// mainOf is the main session of an agent.
func mainOf(conf *config.Config, agent string) coordination.SessionKey {
	if conf.Session.Scope == "global" {
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: "global"}
	}
	return coordination.MainKey(agent)
}
