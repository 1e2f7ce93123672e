package monitor

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// Schedules runs, pauses and resumes scheduled jobs for people. Errors are *schedule.Refusal, or the log's.
type Schedules interface {
	Now(ctx context.Context, id string, onlyDue bool, by string) (schedule.Ran, error)
	Enable(ctx context.Context, id string, enabled bool, by string) (row schedules.Row, changed bool, err error)
	// On reports whether jobs are started when they are due.
	On() bool
}

const (
	runTail    = "/run"
	pauseTail  = "/pause"
	resumeTail = "/resume"
)

// jobChanged answers POST /api/schedules/:id/pause and /resume.
type jobChanged struct {
	OK      bool      `json:"ok"`
	Changed bool      `json:"changed"` // false: it was so already
	Job     jobAnswer `json:"job"`
}

// jobStarted answers POST /api/schedules/:id/run. The run goes on after the answer.
type jobStarted struct {
	OK      bool   `json:"ok"`
	Started bool   `json:"started"`
	RunID   string `json:"runId,omitempty"`
	Reason  string `json:"reason,omitempty"` // why it was not started: already-running
}

func (s *Server) runJob(c echo.Context) error {
	return s.changeJob(c, runTail, func(ctx context.Context, id, by string) (any, error) {
		ran, err := s.opts.Schedules.Now(ctx, id, false, by)
		return jobStarted{OK: true, Started: ran.RunID != "", RunID: ran.RunID, Reason: ran.Reason}, err
	})
}

func (s *Server) pauseJob(c echo.Context) error  { return s.enableJob(c, pauseTail, false) }
func (s *Server) resumeJob(c echo.Context) error { return s.enableJob(c, resumeTail, true) }

func (s *Server) enableJob(c echo.Context, tail string, enabled bool) error {
	return s.changeJob(c, tail, func(ctx context.Context, id, by string) (any, error) {
		row, changed, err := s.opts.Schedules.Enable(ctx, id, enabled, by)
		return jobChanged{OK: true, Changed: changed, Job: jobAnswerOf(&row)}, err
	})
}

// changeJob changes a job for a person. The change is on disk when the answer is sent, and completes even if the client leaves.
func (s *Server) changeJob(c echo.Context, tail string, change func(ctx context.Context, id, by string) (any, error)) error {
	id, err := pathID(c, tail)
	if err != nil {
		return err
	}
	body, err := readBodyIfAny(c)
	if err != nil {
		return err
	}
	if s.opts.Schedules == nil {
		return noAgents()
	}
	said, err := textsIn(body, []string{"by"})
	if err != nil {
		return err
	}
	by, err := personIn(c, said["by"])
	if err != nil {
		return err
	}
	answer, err := change(context.WithoutCancel(c.Request().Context()), id, by)
	if err != nil {
		return jobProblem(err)
	}
	s.opts.Logger.Info("scheduled job changed by a person", "job", id, "what", tail[1:], "by", by)
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// jobProblem maps a refused change to a status.
func jobProblem(err error) error {
	refused, ok := errors.AsType[*schedule.Refusal](err)
	if !ok {
		return err
	}
	p := &problem{Status: http.StatusConflict, Code: "conflict", Message: refused.Error(), Field: refused.Field, Value: cut(refused.Value), Hint: refused.HintText}
	switch refused.Reason {
	case schedule.CodeUnknown:
		p.Status, p.Code, p.Hint = http.StatusNotFound, "not_found", "GET "+schedulesPath+" lists the jobs"
	case schedule.CodeFixed:
		p.Code = "not_allowed"
	case schedule.CodeInvalid: // it cannot be due any more
		p.Code = "wrong_state"
	}
	return p
}
