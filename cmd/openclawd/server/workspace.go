package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/cmd/openclawd/watch"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/workspace"
)

// maxWatched is how many directories the system is asked to report changes of. The others are looked at once a second.
const maxWatched = 1_000

// workspaces tells everybody who is connected of changes of the files that agents and people edit, and, where another gateway produces
// the events, notes them in the log. Where we do, the log tells of tasks: a change of their files may be an edit by hand, and is checked.
type workspaces struct {
	stateDir string
	seen     *workspace.Watch
	watcher  *watch.Watcher
	publish  func(push.Message)
	changes  *changeLog               // nil where changes are not noted
	check    func(agent, name string) // of a file of tasks, by its name in the agent's workspace; nil where another gateway keeps these
	logger   *slog.Logger

	places  map[string]context.CancelFunc // that are looked at, with what ends their being watched; nil where the system does not report
	watched int
	dirty   chan string // a place where something may have changed
	waiting sync.WaitGroup

	begun chan struct{} // closed when what was there has been seen; what changes from then on is told
}

// newWorkspace is the state directory as agents and people edit it. The database, which is open, may lie there, even in a workspace. So
// may what belongs to it: beside the name that we were given, and beside the file that this stands for.
func (p *Program) newWorkspace() *workspace.Dir { return workspace.New(p.opts.StateDir, p.reserved()) }

// reserved is where the database and what belongs to it lie.
func (p *Program) reserved() (opts workspace.Options) {
	for _, db := range []string{p.opts.DB, p.log.Path()} {
		search := database.SearchFile(db)
		opts.Reserved = append(opts.Reserved, db, db+"-wal", db+"-shm", db+".lock", database.PositionsFile(db), database.MirrorFile(db), database.CheckFile(db),
			search, search+"-wal", search+"-shm")
		opts.ReservedDirs = append(opts.ReservedDirs, database.BackupsDir(db), past.Dir(db))
	}
	if dir := p.opts.Backups.Dir; dir != "" {
		opts.ReservedDirs = append(opts.ReservedDirs, dir)
	}
	return opts
}

func (p *Program) watchWorkspaces(ctx context.Context) error {
	w := &workspaces{
		stateDir: p.opts.StateDir, seen: p.newWorkspace().NewWatch(), watcher: p.watcher,
		publish: p.monitor.Publish, logger: p.opts.Logger.With("component", "workspaces"),
		places: map[string]context.CancelFunc{}, dirty: make(chan string), begun: make(chan struct{}),
	}
	if p.opts.Follow {
		w.changes = newChangeLog(p.log, w.seen.Gone, w.read, time.Now)
	} else {
		w.check = p.taskFiles.keeper.Check
	}
	return w.run(ctx)
}

// read gives a file of tasks.
func (w *workspaces) read(path string) ([]byte, error) {
	own, name, _ := strings.Cut(path, "/")
	return workspace.NewHome(filepath.Join(w.stateDir, own)).Read(name)
}

// run watches until ctx ends. What is there when it begins is news to the log at most.
func (w *workspaces) run(ctx context.Context) error {
	defer w.waiting.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var there []workspace.Change
	for _, place := range w.seen.Places() {
		w.watch(ctx, place)
		there = append(there, w.seen.Look(place)...)
	}
	w.note(ctx, func(l *changeLog) error { return l.begin(ctx, there) })
	close(w.begun)
	for {
		select {
		case <-ctx.Done():
			return nil
		case place := <-w.dirty:
			w.look(ctx, place)
			if place == "" {
				w.lookAround(ctx)
			}
		}
	}
}

// lookAround finds new places and looks at those of which the system does not report. It runs at least once a second, because the watcher
// wakes whoever waits for the state directory that often.
func (w *workspaces) lookAround(ctx context.Context) {
	there := map[string]bool{}
	for _, place := range w.seen.Places() {
		there[place] = true
		forget, known := w.places[place]
		if !known {
			forget = w.watch(ctx, place)
		}
		if !known || forget == nil {
			w.look(ctx, place)
		}
	}
	for place, forget := range w.places {
		if there[place] {
			continue
		}
		delete(w.places, place)
		if forget != nil {
			w.watched--
			forget()
		}
	}
	w.note(ctx, func(l *changeLog) error { return l.append(ctx) })
}

// watch has a place looked at whenever the system reports something there, as long as there are not too many.
func (w *workspaces) watch(ctx context.Context, place string) (forget context.CancelFunc) {
	if w.watched >= maxWatched {
		w.places[place] = nil
		return nil
	}
	w.watched++
	ctx, forget = context.WithCancel(ctx)
	w.places[place] = forget
	path, changed := w.watchedPath(place), make(chan struct{}, 1)
	w.watcher.Path(path, changed)
	w.waiting.Go(func() {
		defer w.watcher.Forget(path, changed)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			select {
			case <-ctx.Done():
				return
			case w.dirty <- place:
			}
		}
	})
	return forget
}

// watchedPath is what the watcher is asked about. In the state directory itself it is one file: the database may lie there too, and
// changes with every event.
func (w *workspaces) watchedPath(place string) string {
	if place == "" {
		place = workspace.TeamStateName
	}
	return filepath.Join(w.stateDir, filepath.FromSlash(place))
}

// look publishes and notes what has changed at a place.
func (w *workspaces) look(ctx context.Context, place string) {
	changes := w.seen.Look(place)
	if len(changes) == 0 {
		return
	}
	for i := range changes {
		if c := &changes[i]; w.check != nil && (c.Kind == workspace.KindTask || c.Kind == workspace.KindCurrent || c.Kind == workspace.KindHistory) {
			_, name, _ := strings.Cut(c.Path, "/")
			w.check(c.Agent, name)
			continue
		}
		for _, m := range messagesOf(&changes[i]) {
			w.publish(m)
		}
	}
	w.note(ctx, func(l *changeLog) error {
		l.add(changes)
		return l.append(ctx)
	})
}

// note does something with the log. What could not be noted is tried again within a second.
func (w *workspaces) note(ctx context.Context, do func(*changeLog) error) {
	if w.changes == nil {
		return
	}
	if err := do(w.changes); err != nil && ctx.Err() == nil {
		w.logger.Warn("changes of files not noted in the log yet", "waiting", len(w.changes.pending), "err", err)
	}
}

// messagesOf is what everybody is told of a change. Of history nobody is: the task's own file tells it.
func messagesOf(c *workspace.Change) []push.Message {
	news := monitor.FileNews{Event: c.Op, File: c.File()}
	switch c.Kind {
	case workspace.KindTask:
		messages := []push.Message{{Type: "task_update", AgentID: c.Agent, TaskID: c.TaskID, Data: news}}
		if c.Steps != nil {
			messages = append(messages, push.Message{Type: "task_step_update", AgentID: c.Agent, TaskID: c.TaskID,
				Data: monitor.StepNews{FileNews: news, StepsProgress: c.Steps, StepCount: c.Steps.Total}})
		}
		return messages
	case workspace.KindMilestones:
		return []push.Message{{Type: "task_update", AgentID: c.Agent, Data: news}}
	case workspace.KindCurrent:
		return []push.Message{{Type: "agent_update", AgentID: c.Agent, Data: news}}
	case workspace.KindPlan:
		return []push.Message{{Type: "plan_update", AgentID: planAgent(c), Data: news}}
	case workspace.KindTeamState:
		return []push.Message{{Type: "team_state_update", Data: news}}
	}
	return nil
}

// planAgent is whose plan it is; of the team's plans the beginning of the name says it.
func planAgent(c *workspace.Change) string {
	if c.Agent != "" {
		return c.Agent
	}
	agent, _, _ := strings.Cut(c.File(), "_")
	return agent
}
