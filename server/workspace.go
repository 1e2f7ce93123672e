package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/watch"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/workspace"
)

// maxWatched is the maximum number of directories watched through the system. The others are polled once a second.
const maxWatched = 1_000

// workspaces notifies connected clients of changes of the files that agents and people edit, and, where another gateway produces the
// events, records them in the log. Where this program produces them, the log has the tasks: a change of their files may be an edit by hand,
// and is checked.
type workspaces struct {
	stateDir string
	seen     *workspace.Watch
	watcher  *watch.Watcher
	publish  func(push.Message)
	changes  *changeLog               // nil where changes are not recorded
	check    func(agent, name string) // of a task file, by its name in the agent's workspace; nil where another gateway writes them
	logger   *slog.Logger

	places  map[string]context.CancelFunc // polled or watched places, with the functions that stop watching; nil for polled ones
	watched int
	dirty   chan string // a place that may have changed
	waiting sync.WaitGroup

	started chan struct{} // closed after the initial scan; later changes are reported
}

// newWorkspace returns the state directory as agents and people edit it. The open database may be in it, even in a workspace, and so may
// its companion files: beside the given path, and beside the file that this resolves to.
func (p *Program) newWorkspace() *workspace.Dir { return workspace.New(p.opts.StateDir, p.reserved()) }

// reserved lists the paths of the database and its companion files.
func (p *Program) reserved() (opts workspace.Options) {
	for _, db := range []string{p.opts.DB, p.log.Path()} {
		search := database.SearchFile(db)
		opts.Reserved = append(opts.Reserved, db, db+"-wal", db+"-shm", db+".lock", database.PositionsFile(db), database.MirrorFile(db), database.CheckFile(db),
			search, search+"-wal", search+"-shm")
		opts.ReservedDirs = append(opts.ReservedDirs, database.BackupsDir(db), database.MediaDir(db), asof.Dir(db))
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
		places: map[string]context.CancelFunc{}, dirty: make(chan string), started: make(chan struct{}),
	}
	switch {
	case p.follows():
	case p.opts.Follow:
		w.changes = newChangeLog(p.log, w.seen.Gone, w.read, time.Now)
	default:
		w.check = p.taskFiles.syncer.Check
	}
	return w.run(ctx)
}

func (w *workspaces) read(path string) ([]byte, error) {
	own, name, _ := strings.Cut(path, "/")
	return workspace.NewHome(filepath.Join(w.stateDir, own)).Read(name)
}

// run watches until ctx ends. What exists at the start is at most recorded in the log, not reported.
func (w *workspaces) run(ctx context.Context) error {
	defer w.waiting.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var there []workspace.Change
	for _, place := range w.seen.Places() {
		w.watch(ctx, place)
		there = append(there, w.seen.Check(place)...)
	}
	w.record(ctx, func(l *changeLog) error { return l.begin(ctx, there) })
	close(w.started)
	for {
		select {
		case <-ctx.Done():
			return nil
		case place := <-w.dirty:
			w.poll(ctx, place)
			if place == "" {
				w.pollAll(ctx)
			}
		}
	}
}

// pollAll finds new places and polls those that the system does not watch. It runs at least once a second, because the watcher of the state
// directory wakes its waiters that often.
func (w *workspaces) pollAll(ctx context.Context) {
	there := map[string]bool{}
	for _, place := range w.seen.Places() {
		there[place] = true
		forget, known := w.places[place]
		if !known {
			forget = w.watch(ctx, place)
		}
		if !known || forget == nil {
			w.poll(ctx, place)
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
	w.record(ctx, func(l *changeLog) error { return l.append(ctx) })
}

// watch registers a place with the system's watcher, unless there are too many.
func (w *workspaces) watch(ctx context.Context, place string) (forget context.CancelFunc) {
	if w.watched >= maxWatched {
		w.places[place] = nil
		return nil
	}
	w.watched++
	ctx, forget = context.WithCancel(ctx)
	w.places[place] = forget
	path, changed := w.watchedPath(place), make(chan struct{}, 1)
	if place == "" { // what it wakes polls all the others
		w.watcher.Path(path, changed)
	} else {
		w.watcher.PathRarely(path, changed)
	}
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

// watchedPath is the path to watch. In the state directory itself it is a single file: the database may be there too, and changes with
// every event.
func (w *workspaces) watchedPath(place string) string {
	if place == "" {
		place = workspace.TeamStateName
	}
	return filepath.Join(w.stateDir, filepath.FromSlash(place))
}

// poll reports and records the changes at a place.
func (w *workspaces) poll(ctx context.Context, place string) {
	changes := w.seen.Check(place)
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
	w.record(ctx, func(l *changeLog) error {
		l.add(changes)
		return l.append(ctx)
	})
}

// record runs an operation on the log. On failure it is retried within a second.
func (w *workspaces) record(ctx context.Context, do func(*changeLog) error) {
	if w.changes == nil {
		return
	}
	if err := do(w.changes); err != nil && ctx.Err() == nil {
		w.logger.Warn("file changes not recorded yet; will retry", "waiting", len(w.changes.pending), "err", err)
	}
}

// messagesOf lists the client messages for a change. There are none for history files: the task's own file is
// reported.
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

// planAgent is the agent of a plan; for plans of the team it is the prefix of the name.
func planAgent(c *workspace.Change) string {
	if c.Agent != "" {
		return c.Agent
	}
	agent, _, _ := strings.Cut(c.File(), "_")
	return agent
}
