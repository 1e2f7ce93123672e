package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
)

// RefusedError is what a server says instead of doing what it was asked for.
type RefusedError struct {
	Text string `json:"error"`
	Why  string `json:"code"`
	Mend string `json:"hint"`
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
	return p.change(ctx, "/api/work/"+url.PathEscape(effectID)+"/"+change, nil)
}

// CancelFlow has the server of the place end a flow between agents, and says which ones that were. It is on disk when CancelFlow returns.
// Errors are those of change.
func (p *Place) CancelFlow(ctx context.Context, jobID string) (stopped []string, err error) {
	var answer struct{ Stopped []string }
	err = p.change(ctx, "/api/a2a/jobs/"+url.PathEscape(jobID)+"/cancel", &answer)
	return answer.Stopped, err
}

// RewriteTasks has the server of the place write the files of all tasks anew, and says how many files that were. Errors are those of change.
func (p *Place) RewriteTasks(ctx context.Context) (written int, err error) {
	var answer struct{ Written int }
	err = p.change(ctx, "/api/tasks/rewrite", &answer)
	return answer.Written, err
}

// change posts to the server of the place, and reads its answer, which may be nil for none. The write token that is configured is shown to
// the API that is named, or to a server that is ours (see GatewayDoor). Errors: *NoServerError, *RefusedError, *settings.Error for a token
// that the server does not take.
func (p *Place) change(ctx context.Context, path string, into any) error {
	status, why := p.Status(ctx)
	if status == nil {
		return &NoServerError{why}
	}
	shown := config.Secret("")
	if p.apiNamed || p.believes(status) {
		shown = p.writeToken.Value
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+reachableAt(p.API)+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.API, err)
	}
	if shown != "" {
		request.Header.Set("X-Task-Monitor-Token", shown.Reveal())
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.API, err)
	}
	defer response.Body.Close()
	answer := json.NewDecoder(io.LimitReader(response.Body, maxAskBytes))
	switch {
	case response.StatusCode == http.StatusOK && into == nil:
		return nil
	case response.StatusCode == http.StatusOK:
		if err := answer.Decode(into); err != nil {
			return fmt.Errorf("ask %s: the answer of %s is not ours: %w", p.API, path, err)
		}
		return nil
	}
	refused := &RefusedError{}
	if err := answer.Decode(refused); err != nil || refused.Text == "" {
		return fmt.Errorf("the server at %s answers %s", p.API, response.Status)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return &settings.Error{Setting: p.writeToken.Source, Value: p.writeToken.Value.String(), Err: errors.New("the server does not take this write token"), Mend: refused.Mend}
	}
	return refused
}
