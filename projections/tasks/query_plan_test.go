package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func openLog(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// No decision walks through the tasks that are over, however many there are, and no list through others than it is asked for.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	db := openLog(t)
	at := position{key: [5]int64{1, 2, 3, 4, 5}}
	after := position{over: true, key: [5]int64{1, 2}}
	none := position{none: true}
	for name, c := range map[string]struct {
		f    Filter
		over bool
		at   position
		uses string
	}{
		"open":                      {Filter{}, false, none, "SEARCH t USING INDEX tasks_open (over=?)"},
		"open, after one":           {Filter{}, false, at, "SEARCH t USING INDEX tasks_open (over=?)"},
		"open of an agent":          {Filter{Agents: []string{"a"}}, false, none, "SEARCH t USING INDEX tasks_open (over=? AND agent=?)"},
		"open of agents":            {Filter{Agents: []string{"a", "b"}}, false, none, "SEARCH t USING INDEX tasks_open (over=? AND agent=?)"},
		"blocked of an agent":       {Filter{Agents: []string{"a"}, Statuses: []string{"blocked"}}, false, none, "SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)"},
		"open of a work session":    {Filter{WorkSession: "w"}, false, none, "SEARCH t USING INDEX tasks_open (over=?)"},
		"over, after one":           {Filter{}, true, after, "SEARCH t USING INDEX tasks_over (over_at<?)"},
		"over of an agent":          {Filter{Agents: []string{"a"}}, true, after, "SEARCH t USING INDEX tasks_over_by_agent (agent=? AND over_at<?)"},
		"over of agents, after one": {Filter{Agents: []string{"a", "b"}}, true, after, "SEARCH t USING INDEX tasks_over (over_at<?)"},
		"over of a work session":    {Filter{WorkSession: "w"}, true, none, "SEARCH t USING INDEX tasks_over_by_work_session (work_session_id=?)"},
		"of a work session and one": {Filter{WorkSession: "w", Agents: []string{"a"}}, true, none, "SEARCH t USING INDEX tasks_over_by_work_session (work_session_id=?)"},
	} {
		query, args := c.f.sql(c.over, c.at, 10)
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, query, args...)
			if steps := projectiontest.Plan(t, db, query, args...); c.over && strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("%s\nsorts all that is over", steps)
			}
		})
	}
	if plan := projectiontest.Plan(t, db, selectWaiters, "x"); !strings.Contains(plan, "SEARCH t USING INDEX tasks_open (over=?)") {
		t.Errorf("%s\nwalks through what is over", plan)
	}
	for name, c := range map[string]struct {
		uses, query string
		args        []any
	}{
		"by id":            {"SEARCH t USING INDEX sqlite_autoindex_tasks_1 (name=?)", selectByName, []any{"x"}},
		"focus":            {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectFocus, []any{"a"}},
		"focus of a board": {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectFocused, []any{"a"}},
		"first":            {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectFirst, []any{"a", "blocked"}},
		"standing":         {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectStanding, []any{"a"}},
		"backlog":          {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectBacklog, []any{"a"}},
		"open":             {"SEARCH t USING COVERING INDEX tasks_open (over=? AND agent=?)", selectOpen, []any{"a"}},
		"states":           {"SEARCH t USING INDEX sqlite_autoindex_tasks_1 (name=?)", selectStates, []any{"[]"}},
		"starter":          {"SEARCH t USING INDEX tasks_open (over=? AND agent=? AND status=?)", selectStarter, []any{"a"}},
		"blocked":          {"SEARCH t USING INDEX tasks_open (over=?", selectBlocked, []any{9}},
		"blocked, counted": {"SEARCH t USING INDEX tasks_open (over=?", countBlocked, nil},
		"delegation":       {"SEARCH d USING INDEX sqlite_autoindex_task_delegations_1 (name=?)", selectOneDelegation, []any{"d"}},
		"delegations":      {"SEARCH d USING INDEX task_delegations_by_task (task=?)", selectDelegations, []any{"x"}},
		"number":           {"SEARCH d USING COVERING INDEX task_delegations_by_task (task=?)", selectNumber, []any{"x"}},
		"counts":           {"SEARCH t USING COVERING INDEX tasks_open (over=?)", selectCounts, nil},
		"next agent":       {"SEARCH t USING INDEX tasks_over_by_agent (agent>?)", selectNextAgent, []any{"a"}},
		"last over":        {"SEARCH t USING INDEX tasks_over_by_agent (agent=?)", selectLastOver, []any{"a"}},
		"known files":      {"SEARCH f USING PRIMARY KEY (path>? AND path<?)", selectKnownFiles, []any{1, "x", "a", "b"}},
		"events of files":  {"SEARCH e USING INTEGER PRIMARY KEY (rowid=?)", selectKnownFiles, []any{1, "x", "a", "b"}},
		"month":            {"SEARCH t USING COVERING INDEX tasks_by_month (agent=? AND month<?)", selectMonth, []any{"a", "~"}},
		"entries":          {"SEARCH t USING INDEX tasks_by_month (agent=? AND month=? AND over>?)", selectEntries, []any{"a", "2026-02", 1}},
		"last entries":     {"SEARCH t USING INDEX tasks_by_month (agent=? AND month=?)", selectLastEntries, []any{"a", "2026-02", 1}},
		"delegations of":   {"SEARCH d USING INDEX task_delegations_by_task (task=?)", selectDelegationsOf, []any{"[1]"}},
		"had open":         {"SEARCH t USING INDEX tasks_open (over=? AND agent=?)", selectHadOwn, []any{"a"}},
		"had":              {"SEARCH t USING INDEX tasks_over_by_agent (agent=?)", selectHadOwn, []any{"a"}},
	} {
		t.Run(name, func(t *testing.T) { projectiontest.WantPlan(t, db, c.uses, c.query, c.args...) })
	}
	if steps := projectiontest.Plan(t, db, selectLines, "[1]"); strings.Contains(steps, "SCAN p") || strings.Count(steps, "SEARCH p USING INTEGER PRIMARY KEY") != 2 {
		t.Errorf("lines are read so:\n%s", steps)
	}
}

// counting counts what is written to the tables.
type counting struct {
	eventstore.Tx
	writes int
}

func (c *counting) Exec(query string, args ...any) (int64, error) {
	c.writes++
	return c.Tx.Exec(query, args...)
}

// An update of a task with one step and a line of progress writes one narrow row and the line, whatever the task is made of.
func TestUpdateWritesLittle(t *testing.T) {
	t.Parallel()
	db := openLog(t)
	if _, err := projections.Start(t.Context(), db, nil, projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	p := Definition().New(func(table string) string { return table })
	fold := func(tx eventstore.Tx, version int64, typ string, data any) error {
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		e := &eventstore.Event{Seq: version, Stream: "task/task_a", Version: version, Type: typ, AgentID: "eden", Actor: eventstore.ActorAgent, TS: version, Data: text}
		return p.Apply(tx, &projections.Event{Event: e, Record: coordination.Record{Type: typ, Facts: coordination.Facts{TaskID: "task_a"}}})
	}
	flush := func(tx eventstore.Tx) (writes int, err error) {
		c := &counting{Tx: tx}
		for _, rows := range p.Rows() {
			err = errors.Join(err, rows.Flush(c))
		}
		return c.writes, err
	}
	_, err := db.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		steps := []coordination.TaskStep{{ID: "s1", Content: "one", Status: "in_progress", Order: 1}}
		ctx := coordination.Context{TaskID: "task_a", WorkSessionID: "ws_1"}
		err := fold(tx, 1, coordination.TypeTaskStarted, coordination.TaskStarted{Context: ctx, Description: "d", Steps: steps, Progress: "Task started"})
		if n, err2 := flush(tx); n != 3 || err != nil || err2 != nil {
			t.Errorf("the first event writes %d rows, %v, %v", n, err, err2)
		}
		for i := range 3 {
			steps[0].Content = fmt.Sprint("one ", i)
			err := fold(tx, int64(2+i), coordination.TypeTaskUpdated, coordination.TaskUpdated{Context: ctx, Action: "start_step", Steps: steps, Progress: "[s1] x"})
			if n, err2 := flush(tx); n != 2 || err != nil || err2 != nil {
				t.Errorf("an update writes %d rows, %v, %v", n, err, err2)
			}
		}
		return nil, errors.New("nothing is kept of it")
	})
	if err == nil {
		t.Error("it was kept")
	}
}
