package answers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/points"
)

// selectSubjects names rows of tables that people know, by their numeric key: what it is called, an agent, another one, a text, and the work
// session.
var selectSubjects = map[string]string{
	"tasks":          "SELECT t.id, CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END, t.agent, '', t.description, t.work_session_id FROM tasks t",
	"plans":          "SELECT t.id, CASE t.plan_id WHEN '' THEN t.name ELSE t.plan_id END, t.agent, '', t.title, t.work_session_id FROM plans t",
	"work_sessions":  "SELECT t.id, t.name, '', '', p.title, t.name FROM work_sessions t LEFT JOIN session_profiles p ON p.id = t.id",
	"threads":        "SELECT t.id, t.key, t.from_agent, t.to_agent, p.title, s.name FROM threads t JOIN work_sessions s ON s.id = t.session_id LEFT JOIN session_profiles p ON p.id = t.session_id",
	"runs":           "SELECT t.id, CASE t.run_id WHEN '' THEN t.name ELSE t.run_id END, t.agent, '', '', t.work_session FROM runs t",
	"work":           "SELECT t.seq, t.effect_id, t.owner, '', t.kind, '' FROM work t",
	"a2a_jobs":       "SELECT t.id, CASE t.job_id WHEN '' THEN t.name ELSE t.job_id END, t.from_agent, t.to_agent, t.preview, t.work_session_id FROM a2a_jobs t",
	"collaborations": "SELECT t.id, CASE t.collab_id WHEN '' THEN t.name ELSE t.collab_id END, t.from_agent, t.target_agent, '', '' FROM collaborations t",
}

// subjectText is the most of a text that names a row, in characters.
const subjectText = 200

// subjects names the rows of a difference, as they are after it, or before it if they are gone then.
func subjects(ctx context.Context, before, after compare.Viewer, rows []compare.Change) ([]points.Subject, error) {
	sides := map[bool]map[string][]int64{false: {}, true: {}} // by whether the row is gone
	for i := range rows {
		r := &rows[i]
		if selectSubjects[r.Table] == "" || len(r.Key) != 1 {
			continue
		}
		if id, is := r.Key[0].After.(int64); is {
			gone := r.Kind == compare.Removed
			sides[gone][r.Table] = append(sides[gone][r.Table], id)
		}
	}
	list := []points.Subject{}
	for gone, file := range map[bool]compare.Viewer{false: after, true: before} {
		err := file.View(ctx, func(tx *sql.Tx) error {
			for table, ids := range sides[gone] {
				found, err := name(ctx, tx, table, ids)
				if err != nil {
					return fmt.Errorf("name rows of %s: %w", table, err)
				}
				list = append(list, found...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func name(ctx context.Context, tx *sql.Tx, table string, ids []int64) (list []points.Subject, err error) {
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	key := "t.id"
	if table == "work" {
		key = "t.seq"
	}
	rows, err := tx.QueryContext(ctx, selectSubjects[table]+" WHERE "+key+" IN (SELECT value FROM json_each(?))", string(text))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		s := points.Subject{Table: table}
		var text sql.NullString
		if err := rows.Scan(&s.Key, &s.ID, &s.AgentID, &s.ToAgentID, &text, &s.WorkSessionID); err != nil {
			return nil, err
		}
		if runes := []rune(coordination.Mask(text.String)); len(runes) > subjectText {
			s.Text = string(runes[:subjectText]) + "…"
		} else {
			s.Text = string(runes)
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
