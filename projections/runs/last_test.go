package runs_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// last is what a decision finds by an id: the run that was asked for last, and what has been said.
func (l *log) last(t testing.TB, id string) string {
	t.Helper()
	var r run.Result
	var found, over bool
	var text string
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		if r, found, err = runs.LoadLast(tx, id); err != nil {
			return err
		}
		text, over, err = runs.TextOf(tx, id)
		return err
	})
	if !found {
		return "none"
	}
	line := brief(r)
	if over {
		line += "; said " + text
	}
	return line
}

// By the id of a run that was asked for at first one finds what repeats it, however often; by another id that run itself. What was said is
// that of the newest that is over.
func TestLastRepetition(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const state = ": agent:eden:main eden/t1 main agent "
	for i, c := range []struct {
		then eventstore.StreamAppend
		want map[string]string
	}{
		{queued(1, "실행 / 1", "main"), map[string]string{"실행 / 1": "실행 / 1 queued: agent:eden:main eden/ main agent [1 0 0]", "": "none"}},
		{event(2, "started", "실행 / 1", over), map[string]string{"실행 / 1": "실행 / 1 running" + state + "[1 2 0]"}},
		{event(3, "aborted", "실행 / 1", over, `"reason":"restart","text":"half"`),
			map[string]string{"실행 / 1": "실행 / 1 aborted" + state + "[1 2 3] | half restart; said half"}},
		{queued(4, "b", "main", `"retryOf":"실행 / 1"`), map[string]string{
			"실행 / 1": "b queued: agent:eden:main eden/ main agent [4 0 0] again 실행 / 1; said half",
			"b":      "b queued: agent:eden:main eden/ main agent [4 0 0] again 실행 / 1"}},
		{event(5, "started", "b", over), nil},
		{event(6, "aborted", "b", over, `"reason":"restart"`), map[string]string{"실행 / 1": "b aborted" + state + "[4 5 6] again 실행 / 1 |  restart; said "}},
		{queued(7, "c", "main", `"retryOf":"실행 / 1"`), nil},
		{event(8, "started", "c", over), nil},
		{event(9, "ended", "c", over, `"text":"답"`), map[string]string{
			"실행 / 1": "c ok" + state + "[7 8 9] again 실행 / 1 | 답; said 답", "b": "b aborted" + state + "[4 5 6] again 실행 / 1 |  restart; said "}},
		{queued(10, "d", "main"), map[string]string{"실행 / 1": "c ok" + state + "[7 8 9] again 실행 / 1 | 답; said 답", "never": "none", "": "none"}},
	} {
		l.append(t, c.then)
		for id, want := range c.want {
			if diff := cmp.Diff(want, l.last(t, id)); diff != "" {
				t.Errorf("after %d, by %q (-want +got):\n%s", i+1, id, diff)
			}
		}
	}
	events, err := l.ReadStream(t.Context(), coordination.RunStream("c"), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Redact(t.Context(), events[len(events)-1].Seq); err != nil {
		t.Fatal(err)
	}
	if got, want := l.last(t, "실행 / 1"), "c ok"+state+"[7 8 9] again 실행 / 1; said "; got != want {
		t.Errorf("redacted: %s, want %s", got, want)
	}
}

// Runs are found by where they belong, and operators see that too.
func TestRunsOfAJob(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, e := range []eventstore.StreamAppend{
		queued(1, "none", "main"), queued(2, "a", "main", `"jobId":"j1","workSessionId":"ws_1","conversationId":"c1","parentRunId":"p1"`),
		queued(3, "b", "other", `"jobId":"j1","workSessionId":"ws_1","conversationId":"c2"`), event(4, "aborted", "b"),
		queued(5, "c", "other", `"jobId":"j2","workSessionId":"ws_1","conversationId":"c1"`), queued(6, "d", "other", `"jobId":"j3","workSessionId":"ws_2"`),
	} {
		l.append(t, e)
	}
	for name, c := range map[string]struct {
		q    runs.Query
		want []string
	}{
		"job":                          {runs.Query{JobID: "j1"}, []string{"b", "a"}},
		"work session":                 {runs.Query{WorkSessionID: "ws_1"}, []string{"c", "b", "a"}},
		"work session, before":         {runs.Query{WorkSessionID: "ws_1", Before: 5, Limit: 1}, []string{"b"}},
		"work session, open":           {runs.Query{WorkSessionID: "ws_1", States: []run.State{run.Queued, run.Running}}, []string{"c", "a"}},
		"conversation":                 {runs.Query{ConversationID: "c1"}, []string{"c", "a"}},
		"conversation of a session":    {runs.Query{ConversationID: "c1", SessionKey: "agent:eden:main"}, []string{"a"}},
		"conversation of another job":  {runs.Query{ConversationID: "c1", JobID: "j3"}, nil},
		"work session that is unknown": {runs.Query{WorkSessionID: "ws_9"}, nil},
	} {
		var ids []string
		for _, r := range l.list(t, c.q) {
			ids = append(ids, r.RunID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	seen := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (all []string, err error) {
		rows, err := tx.QueryContext(ctx, "SELECT run_id || ': ' || concat_ws(' ', job, work_session, conversation, parent_run) FROM v_runs ORDER BY seq LIMIT 3")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return nil, err
			}
			all = append(all, line)
		}
		return all, rows.Err()
	})
	if diff := cmp.Diff([]string{"none: ", "a: j1 ws_1 c1 p1", "b: j1 ws_1 c2"}, seen); diff != "" {
		t.Errorf("in v_runs (-want +got):\n%s", diff)
	}
}
