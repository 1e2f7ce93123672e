package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// board is what there is to know of agents and of their tasks, for one answer. It is read from files where another gateway keeps them
// (fileBoard), and from the log where agents keep their tasks here (logBoard); the answers have one shape. The methods that name an agent
// are for agents that has knows; fileBoard answers with workspace.ErrNoAgent where one has gone since.
type board interface {
	agents() (ids []string, err error) // sorted
	has(agent string) (bool, error)
	agent(id string) (*agentAnswer, error)
	// tasks are an agent's open tasks of a status, "" for any, in no order.
	tasks(agent, status string) ([]boardTask, []workspace.Fault, error)
	// task is an open task, or else the newest finished one of that id; nil for none.
	task(agent, id string) (*boardTask, location, error)
	current(agent string) (*currentAnswer, error)
	// history is the end of a month, "" for the newest: its last pieces, at most limit.
	history(agent, month string, limit int) (*historyAnswer, error)
	team() (*teamStateAnswer, error)
}

// boardTask is a task with the seq of the event that it is made from; 0 where that is a file.
type boardTask struct {
	taskfile.Task
	DerivedFromSeq int64 `json:"derivedFromSeq,omitempty"`
}

// location is where a task was found.
type location string

const (
	locatedActive  location = "active"
	locatedHistory location = "history"
	locatedNowhere location = "not_found"
)

// described is an answer about agents before it says what the configuration says of them.
type described interface{ describe(*coordination.Roster) }

// fromBoard answers with what read finds.
func (s *Server) fromBoard(c echo.Context, read func(board) (any, error)) error {
	p := parametersOf(c)
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	if err := s.opts.knowsTasks(); err != nil {
		return err
	}
	if s.opts.OwnTasks != nil {
		return s.fromLog(c, minSeq, read)
	}
	return s.fromFiles(c, minSeq, read)
}

// fromFiles reads files first and then, in a short transaction, what the configuration says of agents and of whom texts mention.
func (s *Server) fromFiles(c echo.Context, minSeq int64, read func(board) (any, error)) error {
	ctx := c.Request().Context()
	if err := s.await(ctx, minSeq); err != nil {
		return err
	}
	b := &fileBoard{ctx: ctx, opts: &s.opts}
	defer b.end()
	body, err := read(b)
	if err != nil {
		return err
	}
	return s.answer(c, minSeq, func(_ context.Context, v *view) (any, error) {
		if body, ok := body.(described); ok {
			body.describe(v.roster)
		}
		return body, nil
	})
}

// homes are the agents that have a workspace; none as of an event, for which directories were there then is not in the log.
func (s *Server) homes() ([]string, error) {
	if s.opts.then != nil {
		return nil, nil
	}
	return s.opts.Workspace.Agents()
}

// fromLog reads everything in one transaction.
func (s *Server) fromLog(c echo.Context, minSeq int64, read func(board) (any, error)) error {
	homes, err := s.homes()
	if err != nil {
		return err
	}
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		b, err := newLogBoard(ctx, v, homes)
		if err != nil {
			return nil, err
		}
		body, err := read(b)
		if body, ok := body.(described); ok && err == nil {
			body.describe(v.roster)
		}
		return body, err
	})
}
