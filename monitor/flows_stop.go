package monitor

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// Flows lets operators stop flows between agents.
type Flows interface {
	// Stop ends a flow, the sub-agents started by its runs, and their runs. It returns the ids of the flows that were
	// open.
	Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error)
}

// flowStopped answers POST /api/a2a/jobs/:id/cancel.
type flowStopped struct {
	OK      bool     `json:"ok"`
	JobID   string   `json:"jobId"`
	Stopped []string `json:"stopped"` // the open flows: this one, and those started by its runs
}

// CancelReason is the stored reason of a flow stopped by an operator.
const CancelReason = "cancelled by an operator"

const byAPI = "api" // actor of requests through this API

// cancelFlow ends a flow. The end is on disk when the answer is sent, and completes even if the client leaves.
func (s *Server) cancelFlow(c echo.Context) error {
	id, err := pathID(c, cancelTail)
	switch {
	case err != nil:
		return err
	case !skipBody(c):
		return tooLarge()
	case s.opts.Flows == nil:
		return noAgents()
	}
	ctx := context.WithoutCancel(c.Request().Context())
	stopped, err := s.opts.Flows.Stop(ctx, id, askerOf(c), CancelReason)
	if err == nil && len(stopped) == 0 {
		err = s.notStopped(ctx, id)
	}
	if err != nil {
		return err
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, flowStopped{true, id, stopped})
}

func (s *Server) notStopped(ctx context.Context, id string) error {
	row, found := flows.Row{}, false
	err := s.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		row, found, err = flows.ByID(ctx, tx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return noFlow(id)
	}
	return &problem{Status: http.StatusConflict, Code: "conflict", Message: fmt.Sprintf("Flow %.80q has ended: %s", id, row.Outcome), Field: "id",
		Hint: "GET " + flowsPath + "?open=true lists the flows that can be stopped"}
}

func pathID(c echo.Context, tail string) (string, error) {
	id := coordination.TrimJS(idBefore(c, tail))
	switch {
	case id == "":
		return "", echo.ErrNotFound
	case !utf8.ValidString(id):
		return "", &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "id", Message: fmt.Sprintf("Bad value %.80q for id", id),
			Hint: "escape everything but letters and digits as %XX, in UTF-8"}
	case utf8.RuneCountInString(id) > maxEffect:
		return "", tooLong("id", id, maxEffect)
	}
	return id, nil
}

func noAgents() *problem {
	return &problem{Status: http.StatusConflict, Code: "runs_not_available", Message: "No agents run here", Hint: "ask the server that runs them"}
}
