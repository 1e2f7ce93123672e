package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/problems"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

const (
	problemsPath = "/api/problems"

	usualProblems   = 100
	mostProblems    = 500
	mostSkippedOver = 10_000
)

// ProblemsAnswer answers GET /api/problems.
type ProblemsAnswer struct {
	problems.List
	Unknown []problems.Kind `json:"unknown"` // kinds about which nothing is known here, or then; in the order of problems.Kinds
	AsOfSeq int64           `json:"asOfSeq"`
}

// listProblems lists who and what is stuck.
func (s *Server) listProblems(c echo.Context) error {
	p := parametersOf(c)
	limit, offset := int(p.integer("limit", usualProblems, 1, mostProblems)), int(p.integer("offset", 0, 0, mostSkippedOver))
	var known []string
	for _, kind := range problems.Kinds() {
		known = append(known, string(kind))
	}
	var kinds []problems.Kind
	for _, kind := range p.words("kind", known...) {
		kinds = append(kinds, problems.Kind(kind))
	}
	minSeq := p.minSeq()
	if p.err != nil {
		return p.err
	}
	ctx := c.Request().Context()
	var inFiles []problems.BlockedTask
	if s.opts.tasksInFiles() {
		if err := s.await(ctx, minSeq); err != nil {
			return err
		}
		var err error
		if inFiles, err = s.blockedInFiles(ctx); err != nil {
			return err
		}
	}
	program := s.programNow(ctx)
	return s.answer(c, minSeq, func(ctx context.Context, v *view) (any, error) {
		return v.problems(ctx, program, inFiles, kinds, offset, limit)
	})
}

// Problems returns what GET /api/problems answers, without tasks in files. It works without Run.
func (s *Server) Problems(ctx context.Context) (answer *ProblemsAnswer, err error) {
	program := s.programNow(ctx)
	err = s.opts.Store.View(ctx, func(tx *sql.Tx) error {
		v := view{Options: &s.opts, tx: tx, now: float64(s.opts.Now().UnixMilli())}
		if v.asOf, err = projections.AsOf(ctx, tx); err != nil {
			return fmt.Errorf("read position: %w", err)
		}
		w, err := WordingOf(ctx, tx, s.opts.Names)
		if err != nil {
			return err
		}
		v.roster = w.roster
		answer, err = v.problems(ctx, program, nil, nil, 0, usualProblems)
		return err
	})
	return answer, err
}

// programNow is the program's state; nothing in a snapshot of the past.
func (s *Server) programNow(ctx context.Context) programState {
	if s.opts.then != nil {
		return programState{}
	}
	return s.program(ctx)
}

// tasksInFiles reports whether the tasks are in another gateway's files, whose present contents are readable.
func (o *Options) tasksInFiles() bool { return o.OwnTasks == nil && !o.NoFiles && o.then == nil }

// blockedInFiles reads the blocked tasks from another gateway's files.
func (s *Server) blockedInFiles(ctx context.Context) (list []problems.BlockedTask, err error) {
	b := &fileBoard{ctx: ctx, opts: &s.opts}
	defer b.end()
	agents, err := b.agents()
	if err != nil {
		return nil, err
	}
	for _, agent := range agents {
		found, _, err := b.tasks(agent, coordination.StateBlocked)
		if err != nil {
			return nil, err
		}
		for i := range found {
			list = append(list, problems.BlockedTask{Row: tasks.Row{Task: found[i].Task, AgentID: agent}})
		}
	}
	return list, nil
}

func (v *view) problems(ctx context.Context, program programState, inFiles []problems.BlockedTask, kinds []problems.Kind, offset, limit int) (*ProblemsAnswer, error) {
	q := problems.Query{Now: int64(v.now), Kinds: kinds, Most: offset + limit, Tasks: v.OwnTasks != nil, Events: v.Store.EventsIn}
	if v.then == nil && v.Operations.Capacity != nil {
		q.Capacity = v.Operations.Capacity()
	}
	f, err := problems.Read(ctx, v.tx, q)
	if err != nil {
		return nil, err
	}
	f.Tasks = append(f.Tasks, inFiles...)
	if v.then == nil {
		f.Reasons = program.reasons
		if v.Bots != nil {
			f.Bots = v.Bots()
		}
		f.Able = v.able(&program)
	}
	f.Name = v.roster.Name
	w := v.wording()
	for i := range f.Threads {
		t := &f.Threads[i]
		t.Title, t.Reason = cmp.Or(coordination.TaskTitle(t.Task, v.roster), t.Title), coordination.ForPeople(t.Reason, v.roster).Text
	}
	for i := range f.Imported {
		f.Imported[i].Reason = coordination.ForPeople(f.Imported[i].Reason, v.roster).Text
	}
	for i := range f.Places {
		p := &f.Places[i]
		p.Name = cmp.Or(w.Text(p.Name), w.channel(p.ID))
	}
	return &ProblemsAnswer{problems.Decide(f, kinds, offset, limit), v.unknownProblems(), v.asOf}, nil
}

// able says which actions exist here.
func (v *view) able(program *programState) problems.Able {
	a := problems.Able{Work: v.Work != nil, Flows: v.Flows != nil, TaskFiles: v.OwnTasks != nil && v.OwnTasks.Files != nil, Backup: v.Backup != nil,
		Tasks: v.Operator != nil}
	if g := program.running.Gateway; g != nil && g.Error == "" {
		a.Message = func(agent string) bool { return v.roster.Main[agent] || v.roster.Utility[agent] }
	}
	return a
}

// unknownProblems are the kinds about which nothing is known: the program's state is not in the log, and what another
// gateway does is in its own files.
func (v *view) unknownProblems() []problems.Kind {
	program := v.then == nil && v.Operations.Reasons != nil
	own := v.OwnTasks != nil
	list := []problems.Kind{}
	for _, kind := range problems.Kinds() {
		known := true
		switch kind {
		case problems.NotReady, problems.Warning:
			known = program
		case problems.BotDown:
			known = program && (own || v.Bots != nil)
		case problems.Blocked, problems.NoReply: // in any log
		case problems.TaskBlocked:
			known = own || v.tasksInFiles()
		default:
			known = own
		}
		if !known {
			list = append(list, kind)
		}
	}
	return list
}
