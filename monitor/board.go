package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// board is the source of answers about agents and their tasks, for one request: files, if another gateway stores them
// (fileBoard), or the log, if agents keep their tasks here (logBoard). Both give answers of the same shape. Methods
// that take an agent require one that has knows; fileBoard returns workspace.ErrNoAgent for one that has disappeared
// since.
type board interface {
	agents() (ids []string, err error) // sorted
	has(agent string) (bool, error)
	agent(id string) (*agentAnswer, error)
	// tasks returns an agent's open tasks of a status, "" for any, unordered.
	tasks(agent, status string) ([]boardTask, []workspace.Fault, error)
	// task returns an open task, or else the newest finished one with the id; nil if none.
	task(agent, id string) (*boardTask, location, error)
	current(agent string) (*currentAnswer, error)
	// history returns the last entries of a month, "" for the newest, at most limit.
	history(agent, month string, limit int) (*historyAnswer, error)
	team() (*teamStateAnswer, error)
}

// boardTask is a task with the seq of its last event; 0 if from a file.
type boardTask struct {
	taskfile.Task
	DerivedFromSeq int64 `json:"derivedFromSeq,omitempty"`
}

type location string

const (
	locatedActive  location = "active"
	locatedHistory location = "history"
	locatedNowhere location = "not_found"
)

// described is an answer about agents before their configuration and state are added.
type described interface {
	describe(context.Context, *view) error
}

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

// fromFiles reads files, and then, in a short transaction, agents' configuration and the names for mentions.
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
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		if body, ok := body.(described); ok {
			return body, body.describe(ctx, v)
		}
		return body, nil
	})
}

// homes are the agents with a workspace; none in a snapshot of the past, since the log does not contain directories.
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
			return body, body.describe(ctx, v)
		}
		return body, err
	})
}
