package monitor

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Operator changes tasks for people. Errors are *approval.Refusal, or the log's.
type Operator interface {
	CancelTask(ctx context.Context, taskID, person, reason string) (approval.Operated, error)
	UnblockTask(ctx context.Context, taskID, person, note string) (approval.Operated, error)
	ReassignTask(ctx context.Context, taskID, person, to string) (approval.Operated, error)
	PrioritiseTask(ctx context.Context, taskID, person, priority string) (approval.Operated, error)
}

const (
	unblockTail  = "/unblock"
	reassignTail = "/reassign"
	priorityTail = "/priority"
)

// operatedAnswer answers POST /api/tasks/:id/cancel, /unblock, /reassign and /priority.
type operatedAnswer struct {
	OK bool `json:"ok"`
	approval.Operated
}

func (s *Server) cancelTask(c echo.Context) error {
	return s.operate(c, cancelTail, []string{"by", "reason"}, func(ctx context.Context, o Operator, id, person string, said map[string]string) (approval.Operated, error) {
		return o.CancelTask(ctx, id, person, said["reason"])
	})
}

func (s *Server) unblockTask(c echo.Context) error {
	return s.operate(c, unblockTail, []string{"by", "reason"}, func(ctx context.Context, o Operator, id, person string, said map[string]string) (approval.Operated, error) {
		return o.UnblockTask(ctx, id, person, said["reason"])
	})
}

func (s *Server) reassignTask(c echo.Context) error {
	return s.operate(c, reassignTail, []string{"by", "to"}, func(ctx context.Context, o Operator, id, person string, said map[string]string) (approval.Operated, error) {
		if coordination.TrimJS(said["to"]) == "" {
			return approval.Operated{}, missing("to", "name the agent that is to do it")
		}
		return o.ReassignTask(ctx, id, person, said["to"])
	})
}

func (s *Server) prioritiseTask(c echo.Context) error {
	return s.operate(c, priorityTail, []string{"by", "priority"}, func(ctx context.Context, o Operator, id, person string, said map[string]string) (approval.Operated, error) {
		switch priority := said["priority"]; {
		case priority == "":
			return approval.Operated{}, missing("priority", "name the new priority")
		case !slices.Contains(task.Priorities(), priority):
			bad := badField("priority", "Bad value "+shownJSON(priority)+" for priority", "use one of the allowed values")
			bad.Value, bad.Allowed = coordination.Beginning(priority, maxField), task.Priorities()
			return approval.Operated{}, bad
		}
		return o.PrioritiseTask(ctx, id, person, said["priority"])
	})
}

func missing(field, hint string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "missing_field", Message: field + " is required", Field: field, Hint: hint}
}

// operation changes the task with this id for a person; said holds the other body fields.
type operation func(ctx context.Context, o Operator, id, person string, said map[string]string) (approval.Operated, error)

// operate changes a task. The change is on disk when the answer is sent, and completes even if the client leaves.
func (s *Server) operate(c echo.Context, tail string, fields []string, change operation) error {
	id, err := pathID(c, tail)
	if err != nil {
		return err
	}
	body, err := readBodyIfAny(c)
	if err != nil {
		return err
	}
	if s.opts.Operator == nil {
		return noAgents()
	}
	said, err := textsIn(body, fields)
	if err != nil {
		return err
	}
	person, err := personIn(c, said["by"])
	if err != nil {
		return err
	}
	done, err := change(context.WithoutCancel(c.Request().Context()), s.opts.Operator, id, person, said)
	if err != nil {
		return operatorProblem(err)
	}
	s.opts.Logger.Info("task changed by a person", "id", done.ID, "what", tail[1:], "changed", done.Changed, "by", done.By)
	s.position(c)
	return writeJSON(c, http.StatusOK, operatedAnswer{true, done})
}

// operatorProblem maps a refused change to a status.
func operatorProblem(err error) error {
	mapped := approvalProblem(err)
	if p, is := errors.AsType[*problem](mapped); is && p.Code == "not_found" {
		p.Hint = "GET " + taskListPath + " lists tasks"
	}
	return mapped
}
