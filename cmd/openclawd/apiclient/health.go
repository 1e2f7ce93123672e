package apiclient

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/database"
)

// Health is the result of a health check.
type Health struct {
	Healthy bool            `json:"healthy"`
	API     string          `json:"api"`    // address that was checked
	Status  string          `json:"status"` // the server's own; "" without an answer
	Reasons []health.Reason `json:"reasons,omitempty"`
	What    string          `json:"what"` // the result in one line
}

// Health checks whether the place's server answers, and with ready whether it is ready. The server is found as by
// Status; ctx limits the time.
func (p *Place) Health(ctx context.Context, ready bool) Health {
	path := "/healthz"
	if ready {
		path = "/readyz"
	}
	addresses := []string{p.API}
	if at, _ := database.ServerOf(p.DB); at != "" && at != p.API && !p.apiNamed {
		addresses = []string{at, p.API}
	}
	found := Health{API: p.API, What: "no server answers at " + addresses[0]}
	for _, at := range addresses {
		var answer struct {
			Status  string
			Reasons []health.Reason
		}
		code, err := p.ask(ctx, at, path, &answer)
		if code == 0 {
			continue
		}
		found = Health{API: at, Status: answer.Status, Reasons: answer.Reasons}
		if err != nil || answer.Status == "" {
			found.What = "the process at " + at + " is not openclawd"
			return found
		}
		if p.Named && !p.apiNamed {
			if status, why := p.statusAt(ctx, at, true); status == nil {
				found.What = why
				continue
			}
		}
		found.Healthy = code == http.StatusOK
		found.What = answer.Status + ": the server at " + at + " answers" + firstOf(answer.Reasons)
		return found
	}
	if ctx.Err() != nil {
		found.What += " in time"
	}
	return found
}

// firstOf is the first reason, and the number of further ones.
func firstOf(reasons []health.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	first := strings.ReplaceAll(string(reasons[0].Code)+": "+reasons[0].What, "\n", " ")
	if more := len(reasons) - 1; more > 0 {
		first += " (and " + strconv.Itoa(more) + " more)"
	}
	return "; " + first
}
