package tasksync

import (
	"context"
	"database/sql"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	currentName = "CURRENT_TASK.md"
	tasksDir    = "tasks"
	monthsDir   = "task-history"
)

func taskName(id string) string     { return path.Join(tasksDir, id+".md") }
func monthName(month string) string { return path.Join(monthsDir, month+".md") }

// pathOf returns the path of a file as events name it, wherever the workspace is.
func pathOf(agent, name string) string { return "workspace-" + agent + "/" + name }

func subjectOf(agent, name string) (subject, bool) {
	dir, file := path.Split(name)
	stem, ok := strings.CutSuffix(file, ".md")
	switch {
	case name == currentName:
		return subject{agent: agent}, true
	case ok && dir == tasksDir+"/" && workspace.IsTaskID(stem):
		return subject{task: stem}, true
	case ok && dir == monthsDir+"/" && workspace.IsMonth(stem):
		return subject{agent: agent, month: stem}, true
	}
	return subject{}, false
}

// Number of newest months per agent that are checked: older ones no longer change.
const (
	recentMonths = 2
	allMonths    = 1 << 30
)

// everything returns the subjects to check without known changes: open tasks, tasks with a file, focuses, and the newest months. Its
// cost does not grow with the finished tasks. It searches for files put aside, too.
func (s *Syncer) everything(ctx context.Context, months int) ([]subject, error) {
	all := map[subject]bool{}
	agents := map[string]bool{}
	for _, agent := range s.o.Agents() {
		agents[agent] = true
	}
	err := s.o.Log.View(ctx, func(tx *sql.Tx) error {
		boards, err := tasks.Boards(ctx, tx)
		if err != nil {
			return err
		}
		for i := range boards {
			agents[boards[i].AgentID] = true
		}
		for agent := range agents {
			all[subject{agent: agent}] = true
			list, err := tasks.Months(ctx, tx, agent)
			if err != nil {
				return err
			}
			for _, month := range list[:min(len(list), months)] {
				all[subject{agent: agent, month: month}] = true
			}
		}
		open, err := tasks.OpenTasks(ctx, tx)
		for _, t := range open {
			all[subject{task: t.ID}] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		s.findConflicts(agent)
		for _, name := range s.fileNames(agent) {
			if subj, ok := subjectOf(agent, name); ok && subj.task != "" {
				all[subj] = true
			}
		}
	}
	return slices.Collect(maps.Keys(all)), nil
}

// fileNames returns the names of an agent's task files, none if they cannot be listed: then the writes fail with the reason.
func (s *Syncer) fileNames(agent string) []string { return s.listedIn(agent, s.o.Dir(agent)) }

// listedIn is fileNames for a known workspace.
func (s *Syncer) listedIn(agent, dir string) []string {
	if dir == "" {
		return nil
	}
	names, err := workspace.NewHome(dir).List()
	if err != nil {
		s.o.Logger.Warn("cannot list the task files of an agent", "agent", agent, "err", err)
	}
	return names
}
