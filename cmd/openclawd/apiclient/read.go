package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/monitor"
)

// Continuation returns the place's server's current decision about an agent. It returns the errors of read.
func (p *Place) Continuation(ctx context.Context, agent string) (answer monitor.ContinuationAnswer, err error) {
	err = p.read(ctx, "/api/agents/"+url.PathEscape(agent)+"/continuation", &answer)
	return answer, err
}

// MCPServers reads how the MCP servers of the running server are.
func (p *Place) MCPServers(ctx context.Context) ([]health.MCPServer, error) {
	var answer monitor.MCPServersAnswer
	err := p.read(ctx, "/api/mcp/servers", &answer)
	return answer.Servers, err
}

// Continuations returns the place's server's current decision about each agent. It returns the errors of read.
func (p *Place) Continuations(ctx context.Context) ([]monitor.ContinuationAnswer, error) {
	var answer struct{ Agents []monitor.ContinuationAnswer }
	err := p.read(ctx, "/api/continuation", &answer)
	return answer.Agents, err
}

// read gets a path from the place's server. Errors: *NoServerError, *RefusedError.
func (p *Place) read(ctx context.Context, path string, into any) error {
	if status, why := p.Status(ctx); status == nil {
		return &NoServerError{why}
	}
	var text json.RawMessage
	code, err := p.ask(ctx, p.API, path, &text)
	if err != nil {
		return err
	}
	if code == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			return fmt.Errorf("GET %s: unexpected response from %s: %w", path, p.API, err)
		}
		return nil
	}
	refused := &RefusedError{}
	if err := json.Unmarshal(text, refused); err != nil || refused.Text == "" {
		return fmt.Errorf("unexpected response of the server at %s: %d %s", p.API, code, http.StatusText(code))
	}
	return refused
}

// Problems asks the server that answered Status for the problems; nil if it is older, or is not answering now.
func (p *Place) Problems(ctx context.Context) *monitor.ProblemsAnswer {
	var answer monitor.ProblemsAnswer
	if code, err := p.ask(ctx, p.API, "/api/problems?limit=500", &answer); err != nil || code != http.StatusOK {
		return nil
	}
	return &answer
}
