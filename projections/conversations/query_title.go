package conversations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

const selectTitle = "SELECT coalesce(p.title, ''), " + taskOfSession + " FROM work_sessions w LEFT JOIN session_profiles p ON p.id = w.id WHERE w.name = ?"

// Title returns the title of a work session and, if a task has given it that title, the description of the task; both are "" for an unknown
// work session.
func Title(ctx context.Context, tx *sql.Tx, workSessionID string) (title, task string, err error) {
	err = tx.QueryRowContext(ctx, selectTitle, coordination.TitleOfTask, workSessionID).Scan(&title, &task)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("read title of a work session: %w", err)
	}
	return title, task, nil
}
