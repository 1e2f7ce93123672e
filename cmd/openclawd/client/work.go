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

// ChangeWork has the server of the place resend or cancel an effect. The write token that is configured is shown to the API that is named,
// or to a server that is ours (see GatewayDoor). It is on disk when ChangeWork returns. Errors: *NoServerError, *RefusedError, *settings.Error for a token that the server does not take.
func (p *Place) ChangeWork(ctx context.Context, effectID, change string) error {
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
	address := "http://" + reachableAt(p.API) + "/api/work/" + url.PathEscape(effectID) + "/" + change
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
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
	if response.StatusCode == http.StatusOK {
		return nil
	}
	refused := &RefusedError{}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAskBytes)).Decode(refused); err != nil || refused.Text == "" {
		return fmt.Errorf("the server at %s answers %s", p.API, response.Status)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return &settings.Error{Setting: p.writeToken.Source, Value: p.writeToken.Value.String(), Err: errors.New("the server does not take this write token"), Mend: refused.Mend}
	}
	return refused
}
