package files

import (
	"context"
	"database/sql"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/workspace"
)

// Names of files in a workspace.
const (
	currentName = "CURRENT_TASK.md"
	tasksDir    = "tasks"
	monthsDir   = "task-history"
)

func taskName(id string) string     { return path.Join(tasksDir, id+".md") }
func monthName(month string) string { return path.Join(monthsDir, month+".md") }

// pathOf is a file as events name it, wherever the workspace lies.
func pathOf(agent, name string) string { return "workspace-" + agent + "/" + name }

// subjectOf is what a file follows from.
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

// Months of each agent that are looked at: older ones do not change any more.
const (
	recentMonths = 2
	allMonths    = 1 << 30
)

// everything lists what is looked at where nothing is known to have changed: the tasks that are open, and those that have a file, what each
// agent has in focus, and its newest months. It costs as much as there is of that, not of what is over. What was kept aside is looked for too.
func (k *Keeper) everything(ctx context.Context, months int) ([]subject, error) {
	all := map[subject]bool{}
	agents := map[string]bool{}
	for _, agent := range k.o.Agents() {
		agents[agent] = true
	}
	err := k.o.Log.View(ctx, func(tx *sql.Tx) error {
		boards, err := task.Boards(ctx, tx)
		if err != nil {
			return err
		}
		for i := range boards {
			agents[boards[i].AgentID] = true
		}
		for agent := range agents {
			all[subject{agent: agent}] = true
			list, err := task.Months(ctx, tx, agent)
			if err != nil {
				return err
			}
			for _, month := range list[:min(len(list), months)] {
				all[subject{agent: agent, month: month}] = true
			}
		}
		open, err := task.OpenTasks(ctx, tx)
		for _, t := range open {
			all[subject{task: t.ID}] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		k.seekKept(agent)
		for _, name := range k.listed(agent) {
			if s, ok := subjectOf(agent, name); ok && s.task != "" {
				all[s] = true
			}
		}
	}
	return slices.Collect(maps.Keys(all)), nil
}

// listed names the files of an agent's tasks. What cannot be listed now has none; what is written there will say why.
func (k *Keeper) listed(agent string) []string { return k.listedIn(agent, k.o.Dir(agent)) }

// listedIn is listed for a workspace that is known.
func (k *Keeper) listedIn(agent, dir string) []string {
	if dir == "" {
		return nil
	}
	names, err := workspace.NewHome(dir).List()
	if err != nil {
		k.o.Logger.Warn("the files of an agent's tasks cannot be listed", "agent", agent, "err", err)
	}
	return names
}
