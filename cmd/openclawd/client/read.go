package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/monitor"
)

// Continuation is what the server of the place would do about an agent now. Errors are those of read.
func (p *Place) Continuation(ctx context.Context, agent string) (answer monitor.ContinuationAnswer, err error) {
	err = p.read(ctx, "/api/agents/"+url.PathEscape(agent)+"/continuation", &answer)
	return answer, err
}

// Continuations are what the server of the place would do about each agent now. Errors are those of read.
func (p *Place) Continuations(ctx context.Context) ([]monitor.ContinuationAnswer, error) {
	var answer struct{ Agents []monitor.ContinuationAnswer }
	err := p.read(ctx, "/api/continuation", &answer)
	return answer.Agents, err
}

// read asks the server of the place. Errors: *NoServerError, *RefusedError.
func (p *Place) read(ctx context.Context, path string, into any) error {
	if status, why := p.Status(ctx); status == nil {
		return &NoServerError{why}
	}
	var text json.RawMessage
	code, err := ask(ctx, p.API, path, &text)
	if err != nil {
		return err
	}
	if code == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("ask %s: the answer of %s is not ours: %w", p.API, path, err)
		}
		return nil
	}
	refused := &RefusedError{}
	if err := json.Unmarshal(text, refused); err != nil || refused.Text == "" {
		return fmt.Errorf("the server at %s answers %d %s", p.API, code, http.StatusText(code))
	}
	return refused
}
