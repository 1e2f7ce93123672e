package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/pairing"
)

// RefusedError is an error response of a server.
type RefusedError struct {
	Text     string `json:"error"`
	Why      string `json:"code"`
	Field    string `json:"field"` // that is rejected; "" if not about a single field
	HintText string `json:"hint"`
}

func (e *RefusedError) Error() string { return e.Text }
func (e *RefusedError) Code() string  { return e.Why }
func (e *RefusedError) Hint() string  { return e.HintText }

// NoServerError reports that no server answers.
type NoServerError struct{ Why string }

func (e *NoServerError) Error() string { return e.Why }
func (e *NoServerError) Code() string  { return "no_server" }
func (e *NoServerError) Hint() string {
	return "openclawd serve starts one; --state-dir, --db or --api select one elsewhere"
}

// ChangeWork asks the place's server to resend or cancel an effect. The change is on disk when ChangeWork returns. It
// returns the errors of change.
func (p *Place) ChangeWork(ctx context.Context, effectID, change string) error {
	return p.change(ctx, "/api/work/"+url.PathEscape(effectID)+"/"+change, nil, nil)
}

// CancelFlow asks the place's server to cancel a flow between agents, and returns the cancelled flows. The change is
// on disk when CancelFlow returns. It returns the errors of change.
func (p *Place) CancelFlow(ctx context.Context, jobID string) (stopped []string, err error) {
	var answer struct{ Stopped []string }
	err = p.change(ctx, "/api/a2a/jobs/"+url.PathEscape(jobID)+"/cancel", nil, &answer)
	return answer.Stopped, err
}

// RewriteTasks asks the place's server to rewrite the files of all tasks, and returns their number. It returns the
// errors of change.
func (p *Place) RewriteTasks(ctx context.Context) (written int, err error) {
	var answer struct{ Written int }
	err = p.change(ctx, "/api/tasks/rewrite", nil, &answer)
	return answer.Written, err
}

// Approve asks the place's server to approve a task or a plan on behalf of a person. The decision is on disk when
// Approve returns. It returns the errors of change.
func (p *Place) Approve(ctx context.Context, id, person string) (done approval.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/approve", decision{By: person}, &done)
	return done, err
}

// Answer is Approve with values for the fields that a call asks for; none is Approve.
func (p *Place) Answer(ctx context.Context, id, person string, values map[string]string) (done approval.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/approve", decision{By: person, Values: values}, &done)
	return done, err
}

// Reject is Approve for a rejection.
func (p *Place) Reject(ctx context.Context, id, person, reason string) (done approval.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/reject", decision{By: person, Reason: reason}, &done)
	return done, err
}

// ApproveAlways is Approve for a call of a tool and such calls from now on; scope is call, tool, or "" for call.
func (p *Place) ApproveAlways(ctx context.Context, id, person, scope string) (done approval.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/always", decision{By: person, Scope: scope}, &done)
	return done, err
}

// ForgetPermission takes back what ApproveAlways gave, with the errors of change.
func (p *Place) ForgetPermission(ctx context.Context, id, person string) (done approval.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/forget", decision{By: person}, &done)
	return done, err
}

// Pair asks the place's server to approve or revoke a person; said has the fields of the request. The decision is on disk
// when Pair returns. It returns the errors of change.
func (p *Place) Pair(ctx context.Context, change string, said map[string]any) (done pairing.Person, err error) {
	err = p.change(ctx, "/api/pairings/"+change, said, &done)
	return done, err
}

// OperateTask asks the place's server to change a task: change is cancel, unblock, reassign or priority, said has the
// fields of the request; empty ones are left out. The change is on disk when OperateTask returns. It returns the errors
// of change.
func (p *Place) OperateTask(ctx context.Context, id, change string, said map[string]string) (done approval.Operated, err error) {
	maps.DeleteFunc(said, func(_, text string) bool { return text == "" })
	err = p.change(ctx, "/api/tasks/"+url.PathEscape(id)+"/"+change, said, &done)
	return done, err
}

// decision is the request body of a decision.
type decision struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Scope  string `json:"scope,omitempty"`

	Values map[string]string `json:"values,omitempty"`
}

// change posts said as JSON to the place's server and decodes its answer; either may be nil. The configured write
// token is sent only to the API that was named explicitly, or to a server that is known to be ours (see
// GatewayEndpoint). Errors: *NoServerError, *RefusedError, *config.SettingError for a token that the server does not
// accept.
func (p *Place) change(ctx context.Context, path string, said, into any) error {
	return p.changeWithin(ctx, askTime, path, said, into)
}

// changeWithin is change with a given timeout.
func (p *Place) changeWithin(ctx context.Context, longest time.Duration, path string, said, into any) error {
	var body io.Reader = http.NoBody
	if said != nil {
		text, err := json.Marshal(said)
		if err != nil {
			return fmt.Errorf("ask for %s: %w", path, err)
		}
		body = bytes.NewReader(text)
	}
	server, why := p.Status(ctx)
	if server == nil {
		return &NoServerError{why}
	}
	shown := config.Secret("")
	if p.apiNamed || p.believes(server) {
		if shown = p.writeToken.Value; shown == "" {
			shown = p.readToken.Value
		}
	}
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+reachableAt(p.API)+path, body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.API, err)
	}
	if said != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if shown != "" {
		request.Header.Set("X-Task-Monitor-Token", shown.Reveal())
	}
	refused, status, err := p.send(request, maxAskBytes, into)
	switch {
	case err != nil:
		return err
	case refused == nil:
		return nil
	case status == http.StatusUnauthorized:
		return &config.SettingError{Setting: p.writeToken.Source, Value: p.writeToken.Value.String(), Err: errors.New("the server does not accept this write token"), HintText: refused.HintText}
	}
	return refused
}

// send makes a request and decodes its answer, of at most max bytes, into answer unless that is nil. A refusal
// returns the server's error with its status.
func (p *Place) send(request *http.Request, most int64, into any) (refused *RefusedError, status int, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", p.API, err)
	}
	defer response.Body.Close()
	answer := json.NewDecoder(io.LimitReader(response.Body, most))
	if response.StatusCode != http.StatusOK {
		refused = &RefusedError{}
		if err := answer.Decode(refused); err != nil || refused.Text == "" {
			return nil, 0, fmt.Errorf("unexpected response of the server at %s: %s", p.API, response.Status)
		}
		return refused, response.StatusCode, nil
	}
	if into != nil {
		if err := answer.Decode(into); err != nil {
			return nil, 0, fmt.Errorf("%s %s: unexpected response from %s: %w", request.Method, request.URL.Path, p.API, err)
		}
	}
	return nil, response.StatusCode, nil
}
