package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// RefusedError is what a server says instead of doing what it was asked for.
type RefusedError struct {
	Text  string `json:"error"`
	Why   string `json:"code"`
	Field string `json:"field"` // that is refused; "" where it is none alone
	Mend  string `json:"hint"`
}

func (e *RefusedError) Error() string { return e.Text }
func (e *RefusedError) Code() string  { return e.Why }
func (e *RefusedError) Hint() string  { return e.Mend }

// NoServerError says that there is no server to ask.
type NoServerError struct{ Why string }

func (e *NoServerError) Error() string { return e.Why }
func (e *NoServerError) Code() string  { return "no_server" }
func (e *NoServerError) Hint() string {
	return "openclawd serve starts one; --state-dir, --db or --api name one that runs elsewhere"
}

// ChangeWork has the server of the place resend or cancel an effect. It is on disk when ChangeWork returns. Errors are those of change.
func (p *Place) ChangeWork(ctx context.Context, effectID, change string) error {
	return p.change(ctx, "/api/work/"+url.PathEscape(effectID)+"/"+change, nil, nil)
}

// CancelFlow has the server of the place end a flow between agents, and says which ones that were. It is on disk when CancelFlow returns.
// Errors are those of change.
func (p *Place) CancelFlow(ctx context.Context, jobID string) (stopped []string, err error) {
	var answer struct{ Stopped []string }
	err = p.change(ctx, "/api/a2a/jobs/"+url.PathEscape(jobID)+"/cancel", nil, &answer)
	return answer.Stopped, err
}

// RewriteTasks has the server of the place write the files of all tasks anew, and says how many files that were. Errors are those of change.
func (p *Place) RewriteTasks(ctx context.Context) (written int, err error) {
	var answer struct{ Written int }
	err = p.change(ctx, "/api/tasks/rewrite", nil, &answer)
	return answer.Written, err
}

// Approve has the server of the place agree to a task or a plan for a person. It is on disk when Approve returns. Errors are those of change.
func (p *Place) Approve(ctx context.Context, id, person string) (done monitor.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/approve", decision{By: person}, &done)
	return done, err
}

// Reject has it not agree. It is on disk when Reject returns. Errors are those of change.
func (p *Place) Reject(ctx context.Context, id, person, reason string) (done monitor.Decided, err error) {
	err = p.change(ctx, "/api/approvals/"+url.PathEscape(id)+"/reject", decision{By: person, Reason: reason}, &done)
	return done, err
}

// decision is what a person says to decide something.
type decision struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// change posts to the server of the place what said is in JSON, and reads its answer; either may be nil for none. The write token that is configured is shown to
// the API that is named, or to a server that is ours (see GatewayDoor). Errors: *NoServerError, *RefusedError, *settings.Error for a token
// that the server does not take.
func (p *Place) change(ctx context.Context, path string, said, into any) error {
	return p.changeWithin(ctx, askTime, path, said, into)
}

// changeWithin is change with another time for the answer.
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
		shown = p.writeToken.Value
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
		return &settings.Error{Setting: p.writeToken.Source, Value: p.writeToken.Value.String(), Err: errors.New("the server does not take this write token"), Mend: refused.Mend}
	}
	return refused
}

// send makes a request of the API and reads its answer, of at most so many bytes, into what is not nil. One that is refused gives what the server says,
// with its status.
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
			return nil, 0, fmt.Errorf("the server at %s answers %s", p.API, response.Status)
		}
		return refused, response.StatusCode, nil
	}
	if into != nil {
		if err := answer.Decode(into); err != nil {
			return nil, 0, fmt.Errorf("ask %s: the answer of %s is not ours: %w", p.API, request.URL.Path, err)
		}
	}
	return nil, response.StatusCode, nil
}
