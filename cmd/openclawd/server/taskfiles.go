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

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/task/files"
	"github.com/pronto-lab/openclawd/workspace"
)

// taskFiles keeps the files of tasks, in each agent's workspace, as the log says. Where another gateway produces there is none.
type taskFiles struct {
	keeper  *files.Keeper
	program *Program
	logger  *slog.Logger

	mu      sync.Mutex
	refused map[string]string // by agent: why nothing is written into its workspace
}

// openTaskFiles takes over the files that are there, before agents work. Those that cannot be taken over now are at the next start.
func (p *Program) openTaskFiles(ctx context.Context) {
	if p.opts.Follow {
		return
	}
	t := &taskFiles{program: p, logger: p.opts.Logger.With("component", "tasks"), refused: map[string]string{}}
	t.keeper = files.New(files.Options{Log: p.log, Agents: t.agents, Dir: t.dir, Now: p.opts.Now, Logger: t.logger})
	p.taskFiles = t
	switch n, err := t.keeper.Import(ctx); {
	case err != nil && ctx.Err() == nil:
		t.logger.Error("files of tasks are not all imported; the next start goes on with it", "imported", n, "err", err)
	case n > 0:
		t.logger.Info("imported files of tasks", "files", n)
	}
}

// runTaskFiles keeps files until ctx ends. It begins when all tables are as new as the log.
func (p *Program) runTaskFiles(ctx context.Context) error {
	<-p.caughtUp
	if p.taskFiles == nil {
		return nil
	}
	return p.taskFiles.keeper.Run(ctx)
}

// agents are those that are configured, the one that answers where nobody is named, and those that have a workspace, by their ids.
func (t *taskFiles) agents() []string {
	c := t.program.newConfiguration().InForce()
	all := map[string]bool{c.DefaultAgentID(): true}
	for _, a := range c.Agents {
		all[strings.ToLower(a.ID)] = true
	}
	found, err := workspace.New(t.program.opts.StateDir, workspace.Options{}).Agents()
	if err != nil {
		t.logger.Warn("workspaces cannot be listed", "err", err)
	}
	for _, id := range found {
		all[strings.ToLower(id)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// dir is where the files of an agent's tasks lie, "" where nothing must be written: in what the database needs, or over those of another agent.
func (t *taskFiles) dir(agent string) string {
	dir := t.program.workspaceOf(agent)
	if dir == "" {
		return ""
	}
	reason := t.program.keptIn(dir)
	if other := t.sharing(agent, dir); reason == "" && other != "" {
		reason = "it is the workspace of " + other + " too, or lies in it, and that agent's files are kept there"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if reason != "" && t.refused[agent] != reason {
		t.logger.Warn("no files of tasks are written for an agent", "agent", agent, "workspace", dir, "reason", reason)
	}
	if reason == "" {
		delete(t.refused, agent)
		return dir
	}
	t.refused[agent] = reason
	return ""
}

// sharing is another agent in whose workspace one's own lies, or that is before it, by id, and has the same; "" for none.
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

// keptIn says why no files of tasks may be written into a workspace: the server itself keeps something where they would lie. "" is none.
func (p *Program) keptIn(dir string) string {
	places := []string{filepath.Join(dir, "tasks"), filepath.Join(dir, "task-history")}
	reserved := p.reserved()
	for _, own := range reserved.ReservedDirs {
		if isWithin(dir, own) || slices.ContainsFunc(places, func(place string) bool { return isSame(place, own) }) {
			return "backups lie in " + own
		}
	}
	for _, own := range reserved.Reserved {
		at := filepath.Dir(own)
		current := isSame(dir, at) && strings.HasPrefix(strings.ToLower(filepath.Base(own)), "current_task")
		if current || slices.ContainsFunc(places, func(place string) bool { return isSame(place, at) }) {
			return "the database lies in " + at
		}
	}
	return ""
}

// isSame reports whether two paths are those of one directory.
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

// isWithin reports whether a directory is another one, or lies somewhere in it.
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

// taskFilesState is how the files are; nil where another gateway keeps them.
func (p *Program) taskFilesState(ctx context.Context) *monitor.TaskFilesState {
	t := p.taskFiles
	if t == nil {
		return nil
	}
	s := t.keeper.State()
	state := &monitor.TaskFilesState{Seq: s.Seq, Written: s.Written, Conflicts: s.Conflicts, Failing: s.Failing, Kept: s.Kept, Error: s.LastError}
	if head, err := p.log.Head(ctx); err == nil {
		state.Lag = max(head.Seq-s.Seq, 0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, agent := range slices.Sorted(maps.Keys(t.refused)) {
		state.Refused = append(state.Refused, agent+": "+t.refused[agent])
	}
	return state
}

// taskFileReasons says what is wrong with the files of tasks. The log is right all the same.
func (f *facts) taskFileReasons() (list []monitor.Reason) {
	s := f.taskFiles
	if s == nil {
		return nil
	}
	if s.Error != "" {
		list = append(list, monitor.Reason{Code: "task_files_failing", What: fmt.Sprintf("files of tasks are not as the log says (%s): %s",
			output.Count(int64(s.Failing), "place"), s.Error), Mend: "see that the workspaces can be written and have room; it is tried again all the time"})
	}
	if n := len(s.Kept); n > 0 {
		list = append(list, monitor.Reason{Code: "task_files_edited", What: fmt.Sprintf("somebody has edited files of tasks: %s kept aside, such as %s",
			output.Count(int64(n), "file"), s.Kept[n-1]), Mend: "have what is wanted of it done with tools, then remove what was kept aside"})
	}
	if len(s.Refused) > 0 {
		list = append(list, monitor.Reason{Code: "task_files_refused", What: "no files of tasks are written for " + strings.Join(s.Refused, "; "),
			Mend: "give each agent a workspace of its own in openclaw.json, away from the database and its backups"})
	}
	return list
}
