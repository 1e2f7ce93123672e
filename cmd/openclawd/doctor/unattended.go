package doctor

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/task"
)

// Unattended are the tasks of an agent that is not configured: nobody goes on with them, and nobody is told of them.
type Unattended struct {
	AgentID string `json:"agentId"`
	Tasks   int    `json:"tasks"` // that are not over
}

// CodeUnattended is the code of findings about Unattended, MendUnattended what to do about them.
const (
	CodeUnattended = "tasks_unattended"
	MendUnattended = `add the agent to openclaw.json again; to be rid of its tasks (openclawd tasks --agent AGENT), ` +
		`cancel them then with openclawd tools call task_cancel '{"task_id": "ID"}' --agent AGENT, and remove it`
)

// TasksUnattended lists the agents that have tasks which are not over, but are not in a team, by id. A team that is nil is not known, and then
// nobody is listed. Imported history has no tasks.
func TasksUnattended(ctx context.Context, tx *sql.Tx, team *config.Config) (list []Unattended, err error) {
	if team == nil {
		return nil, nil
	}
	boards, err := task.Boards(ctx, tx)
	for i := range boards {
		b := &boards[i]
		if team.AgentNamed(b.AgentID) != nil {
			continue
		}
		open := 0
		for _, n := range b.Counts {
			open += n
		}
		if open > 0 {
			list = append(list, Unattended{b.AgentID, open})
		}
	}
	return list, err
}

// UnattendedLine says whose tasks nobody sees, as many as a line has room for.
func UnattendedLine(list []Unattended) string {
	const named = 5
	var parts []string
	for _, u := range list[:min(len(list), named)] {
		parts = append(parts, output.Count(int64(u.Tasks), "open task")+" of "+u.AgentID)
	}
	if more := len(list) - named; more > 0 {
		parts = append(parts, "those of "+output.Count(int64(more), "more agent"))
	}
	return strings.Join(parts, ", ") + ": no such agent is configured, and nobody goes on with them"
}

// checkUnattended looks for tasks of agents that were removed from the configuration.
func (c *checkup) checkUnattended(ctx context.Context, log *sqlite.DB) {
	team := c.place.Team(c.server)
	if team == nil {
		return
	}
	var list []Unattended
	err := log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = TasksUnattended(ctx, tx, team)
		return err
	})
	switch {
	case err != nil:
		c.failed("tables_unreadable", c.place.DB, "openclawd verify says more", err)
	case len(list) > 0:
		c.warn(CodeUnattended, team.File, MendUnattended, "%s", UnattendedLine(list))
	default:
		c.ok(CodeUnattended, team.File, "every task that is not over has an agent that is configured")
	}
}
