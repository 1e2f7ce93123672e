package continuer

import (
	"context"
	"database/sql"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Unattended counts the tasks of an agent that is not configured: no agent works on them or is reminded of them.
type Unattended struct {
	AgentID string `json:"agentId"`
	Tasks   int    `json:"tasks"` // unfinished tasks
}

// CodeUnattended is the code of findings about Unattended, HintUnattended their hint.
const (
	CodeUnattended = "tasks_unattended"
	HintUnattended = `add the agent to openclaw.json again; or, to drop its tasks (openclawd tasks --agent AGENT), add it, ` +
		`cancel them with openclawd tools call task_cancel '{"task_id": "ID"}' --agent AGENT, and remove it again`
)

// TasksUnattended lists the agents that have unfinished tasks but are not in the team, by id. A nil team is unknown,
// and nothing is listed. Imported history has no tasks.
func TasksUnattended(ctx context.Context, tx *sql.Tx, team *config.Config) (list []Unattended, err error) {
	if team == nil {
		return nil, nil
	}
	boards, err := tasks.Boards(ctx, tx)
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

// UnattendedLine names the owners of unattended tasks, as many as fit on a line.
func UnattendedLine(list []Unattended) string {
	const named = 5
	var parts []string
	for _, u := range list[:min(len(list), named)] {
		parts = append(parts, output.Count(int64(u.Tasks), "open task")+" of "+u.AgentID)
	}
	if more := len(list) - named; more > 0 {
		parts = append(parts, "those of "+output.Count(int64(more), "more agent"))
	}
	return strings.Join(parts, ", ") + ": no such agent is configured, so no agent works on them"
}
