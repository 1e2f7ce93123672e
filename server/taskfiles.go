package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/services/tasksync"
	"github.com/pronto-lab/openclawd/workspace"
)

// taskFiles keeps the task files in the agents' workspaces in line with the log. Where another gateway produces the
// events there is none.
type taskFiles struct {
	syncer  *tasksync.Syncer
	program *Program
	logger  *slog.Logger

	mu      sync.Mutex
	refused map[string]string      // by agent: why nothing is written into its workspace
	dirs    map[string]resolvedDir // by agent: where its files are
}

// resolvedDir is what dir has found. It holds for a configuration, and briefly, since directories may be moved.
type resolvedDir struct {
	dir    string
	config *config.Config
	until  time.Time
}

// dirsHold is how long a directory is not resolved again: thousands of files are checked one after the other, and to resolve a directory
// takes the file system longer than a file does.
const dirsHold = time.Second

func newTaskFiles(p *Program) *taskFiles {
	return &taskFiles{program: p, logger: p.opts.Logger.With("component", "tasks"), refused: map[string]string{}, dirs: map[string]resolvedDir{}}
}

// openTaskFiles imports existing files before agents start. Those that cannot be imported now are imported at the next
// start.
func (p *Program) openTaskFiles(ctx context.Context) {
	if p.withoutAgents() {
		return
	}
	t := newTaskFiles(p)
	t.syncer = tasksync.New(tasksync.Options{Log: p.log.Paced(), Agents: t.agents, Dir: t.dir, Now: p.opts.Now, Logger: t.logger})
	p.taskFiles = t
	switch n, err := t.syncer.Import(ctx); {
	case err != nil && ctx.Err() == nil:
		t.logger.Error("not all task files imported; the next start continues", "imported", n, "err", err)
	case n > 0:
		t.logger.Info("imported task files", "files", n)
	}
}

// runTaskFiles maintains the files until ctx ends. It starts when all tables are up to date.
func (p *Program) runTaskFiles(ctx context.Context) error {
	<-p.caughtUp
	if p.taskFiles == nil {
		return nil
	}
	p.answered.wait(ctx)
	return p.taskFiles.syncer.Run(ctx)
}

// agents lists the configured agents, the default agent, and those that have a workspace, by id.
func (t *taskFiles) agents() []string {
	c := t.program.newConfiguration().InForce()
	all := map[string]bool{c.DefaultAgentID(): true}
	for _, a := range c.Agents {
		all[strings.ToLower(a.ID)] = true
	}
	found, err := workspace.New(t.program.opts.StateDir, workspace.Options{}).Agents()
	if err != nil {
		t.logger.Warn("cannot list workspaces", "err", err)
	}
	for _, id := range found {
		all[strings.ToLower(id)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dir is the directory of an agent's task files, "" where none may be written: in the database's directories, or over
// another agent's files.
func (t *taskFiles) dir(agent string) string {
	inForce, now := t.program.newConfiguration().InForce(), t.program.opts.Now()
	t.mu.Lock()
	known, ok := t.dirs[agent]
	t.mu.Unlock()
	if ok && known.config == inForce && now.Before(known.until) {
		return known.dir
	}
	dir := t.resolve(agent)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs[agent] = resolvedDir{dir, inForce, now.Add(dirsHold)}
	return dir
}

func (t *taskFiles) resolve(agent string) string {
	dir := t.program.workspaceOf(agent)
	if dir == "" {
		return ""
	}
	reason := t.program.conflictWith(dir)
	if other := t.sharing(agent, dir); reason == "" && other != "" {
		reason = "it is the workspace of " + other + " too, or lies inside it, and that agent's files are kept there"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if reason != "" && t.refused[agent] != reason {
		t.logger.Warn("not writing task files of an agent", "agent", agent, "workspace", dir, "reason", reason)
	}
	if reason == "" {
		delete(t.refused, agent)
		return dir
	}
	t.refused[agent] = reason
	return ""
}

// sharing is another agent whose workspace contains this one's, or that has the same one and precedes it by id; "" for
// none.
func (t *taskFiles) sharing(agent, dir string) string {
	for _, other := range t.agents() {
		theirs := t.program.workspaceOf(other)
		if other == agent || theirs == "" {
			continue
		}
		if same := isSame(theirs, dir); same && other < agent || !same && isWithin(dir, theirs) {
			return other
		}
	}
	return ""
}

// conflictWith says why no task files may be written into a workspace: the server stores its own files where they would be.
// "" for none.
func (p *Program) conflictWith(dir string) string {
	places := []string{filepath.Join(dir, "tasks"), filepath.Join(dir, "task-history")}
	reserved := p.reserved()
	for _, own := range reserved.ReservedDirs {
		if isWithin(dir, own) || slices.ContainsFunc(places, func(place string) bool { return isSame(place, own) }) {
			return "backups are stored in " + own
		}
	}
	for _, own := range reserved.Reserved {
		at := filepath.Dir(own)
		current := isSame(dir, at) && strings.HasPrefix(strings.ToLower(filepath.Base(own)), "current_task")
		if current || slices.ContainsFunc(places, func(place string) bool { return isSame(place, at) }) {
			return "the database is stored in " + at
		}
	}
	return ""
}

func isSame(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// isWithin reports whether a directory is another one, or inside it.
func isWithin(dir, other string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if isSame(at, other) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// taskFilesState is the state of the task files; nil where another gateway writes them.
func (p *Program) taskFilesState(ctx context.Context) *health.TaskFilesState {
	t := p.taskFiles
	if t == nil {
		return nil
	}
	state := t.syncer.State()
	if head, err := p.log.Head(ctx); err == nil {
		state.Lag = max(head.Seq-state.Seq, 0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, agent := range slices.Sorted(maps.Keys(t.refused)) {
		state.Refused = append(state.Refused, agent+": "+t.refused[agent])
	}
	return &state
}

// taskFileReasons reports problems of the task files. The log is not affected.
func (f *facts) taskFileReasons() (list []health.Reason) {
	s := f.taskFiles
	if s == nil {
		return nil
	}
	if s.Error != "" {
		list = append(list, health.Reason{Code: health.CodeTaskFilesFailing, What: fmt.Sprintf("task files do not match the log (%s): %s",
			output.Count(int64(s.Failing), "place"), s.Error), Hint: "check that the workspaces are writable and have space; writing is retried continuously"})
	}
	if n := len(s.Kept); n > 0 {
		list = append(list, health.Reason{Code: health.CodeTaskFilesEdited, What: fmt.Sprintf("task files were edited by hand: %s saved, such as %s",
			output.Count(int64(n), "file"), s.Kept[n-1]), Hint: "apply the wanted edits with tools, then remove the saved copies"})
	}
	if len(s.Refused) > 0 {
		list = append(list, health.Reason{Code: health.CodeTaskFilesRefused, What: "no task files are written for " + strings.Join(s.Refused, "; "),
			Hint: "give each agent a workspace of its own in openclaw.json, away from the database and its backups"})
	}
	return list
}
