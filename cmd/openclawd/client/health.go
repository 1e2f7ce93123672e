package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor"
)

// Health is what the server of a place answers to whoever only wants to know whether it is well.
type Health struct {
	Healthy bool             `json:"healthy"`
	API     string           `json:"api"`    // at which it was asked
	Status  string           `json:"status"` // as the server says; "" without an answer
	Reasons []monitor.Reason `json:"reasons,omitempty"`
	What    string           `json:"what"` // all of it in one line
}

// Health asks the server of the place whether it answers, and with ready whether it is ready. A server is looked for as by Status; ctx says for
// how long.
func (p *Place) Health(ctx context.Context, ready bool) Health {
	path := "/healthz"
	if ready {
		path = "/readyz"
	}
	addresses := []string{p.API}
	if at, _ := database.ServerOf(p.DB); at != "" && at != p.API && !p.apiNamed {
		addresses = []string{at, p.API}
	}
	health := Health{API: p.API, What: "no server answers at " + addresses[0]}
	for _, at := range addresses {
		var answer struct {
			Status  string
			Reasons []monitor.Reason
		}
		code, err := ask(ctx, at, path, &answer)
		if code == 0 {
			continue
		}
		health = Health{API: at, Status: answer.Status, Reasons: answer.Reasons}
		if err != nil || answer.Status == "" {
			health.What = "what answers at " + at + " is no openclawd"
			return health
		}
		if p.Named && !p.apiNamed {
			if status, why := p.statusAt(ctx, at, true); status == nil {
				health.What = why
				continue
			}
		}
		health.Healthy = code == http.StatusOK
		health.What = answer.Status + ": the server at " + at + " answers" + firstOf(answer.Reasons)
		return health
	}
	if ctx.Err() != nil {
		health.What += " in time"
	}
	return health
}

// firstOf says the first of the reasons, and how many more there are.
func firstOf(reasons []monitor.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	first := strings.ReplaceAll(reasons[0].Code+": "+reasons[0].What, "\n", " ")
	if more := len(reasons) - 1; more > 0 {
		first += " (and " + strconv.Itoa(more) + " more)"
	}
	return "; " + first
}
