package conversations_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// working is a log in which agents of ours work, and its story.
func working(t *testing.T) (*sqlite.DB, *projectiontest.Story) {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, runs.Definition(), flows.Definition(), conversations.Definition(coordination.RulesV2))
	return db, projectiontest.Tell(t, db, time.Now().UnixMilli()) // views know the time of day
}

// standing is how a work session is told to stand.
type standing struct {
	Status           coordination.Status
	Outcome          coordination.Outcome
	OpenFlows        int64
	OpenRuns         int64
	OpenThreads      int64
	Thread           coordination.Outcome // of its conversation; "" for none
	ThreadOpen       bool
	View, ViewThread string // status, and outcome of the conversation, as the views for people who ask SQL tell them
}

// stands reads how a session stands at a moment: from the session itself, from what lists with a filter find, from the counts of operators and
// from the views, which must agree.
func stands(t *testing.T, db *sqlite.DB, name string, now int64) (s standing) {
	t.Helper()
	err := db.View(t.Context(), func(tx *sql.Tx) error {
		id, ok, err := conversations.ByName(t.Context(), tx, name)
		if err != nil || !ok {
			return fmt.Errorf("%s is there: %v, %w", name, ok, err)
		}
		kinds, err := conversations.SelectKinds(t.Context(), tx, conversations.Scope{Internal: true})
		if err != nil {
			return err
		}
		list, err := conversations.Load(t.Context(), tx, kinds, []int64{id}, 0)
		if err != nil {
			return err
		}
		w := &list[0]
		s = standing{Status: w.Status(float64(now)), Outcome: w.Outcome(), OpenFlows: w.OpenFlows, OpenRuns: w.OpenRuns, OpenThreads: w.OpenThreads}
		for _, th := range w.Threads {
			if th.ConversationID() != "" {
				s.Thread, s.ThreadOpen = th.Outcome, th.Open
			}
		}
		for _, status := range []coordination.Status{coordination.StatusActive, coordination.StatusQuiet, coordination.StatusArchived} {
			found, err := conversations.Find(t.Context(), tx, conversations.Query{Scope: conversations.Scope{Internal: true}, Statuses: []coordination.Status{status},
				Now: float64(now), Limit: 10})
			if err != nil {
				return err
			}
			if listed := slices.Contains(found.IDs, id); listed != (status == s.Status) {
				t.Errorf("%s: it is %s, and listed as %s: %v", name, s.Status, status, listed)
			}
		}
		for _, outcome := range []coordination.Outcome{"waiting", "active", "blocked", "no_reply", "done"} {
			found, err := conversations.Find(t.Context(), tx, conversations.Query{Outcomes: []coordination.Outcome{outcome}, Now: float64(now), Limit: 10})
			if err != nil {
				return err
			}
			if listed := slices.Contains(found.IDs, id); listed != (outcome == s.Outcome) {
				t.Errorf("%s: it is %s, and listed as %s: %v", name, s.Outcome, outcome, listed)
			}
		}
		for _, open := range []bool{true, false} {
			found, err := conversations.Find(t.Context(), tx, conversations.Query{Open: &open, Now: float64(now), Limit: 10})
			if err != nil {
				return err
			}
			is := w.OpenThreads+w.OpenTasks+w.BlockedTasks+w.OpenFlows+w.OpenRuns > 0
			if listed := slices.Contains(found.IDs, id); listed != (open == is) || found.Matched != int64(len(found.IDs)) {
				t.Errorf("%s: open is %v, and listed with open=%v: %v of %d", name, is, open, listed, found.Matched)
			}
		}
		r, err := conversations.CountRecent(t.Context(), tx, float64(now))
		if want := map[coordination.Status]conversations.Recent{coordination.StatusActive: {Active: 1}, coordination.StatusQuiet: {Quiet: 1}}[s.Status]; r.Active != want.Active || r.Quiet != want.Quiet {
			t.Errorf("%s: it is %s, and counted as %+v", name, s.Status, r)
		}
		if err != nil {
			return err
		}
		var outcome string
		var threads, flows, runs int64
		if err := tx.QueryRow("SELECT status, outcome, open_threads, open_flows, open_runs FROM v_work_sessions WHERE work_session = ?", name).
			Scan(&s.View, &outcome, &threads, &flows, &runs); err != nil {
			return err
		}
		if outcome != string(s.Outcome) || threads != s.OpenThreads || flows != s.OpenFlows || runs != s.OpenRuns {
			t.Errorf("the view says %s, %d threads, %d flows, %d runs; the answer is %+v", outcome, threads, flows, runs, s)
		}
		rows, err := tx.Query("SELECT outcome, open FROM v_conversations WHERE work_session = ? AND conversation IS NOT NULL", name)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var open bool
			if err := rows.Scan(&s.ViewThread, &open); err != nil {
				return err
			}
			if open != s.ThreadOpen {
				t.Errorf("the view says open %v; the answer is %+v", open, s)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A work session is quiet only once its latest event ends something and nothing of it is open: no thread, task, flow or run. A conversation in
// which a flow is open is not done, though another one has just ended in it.
func TestSessionIsQuietOnlyWhenNothingIsOpen(t *testing.T) {
	t.Parallel()
	db, s := working(t)
	in := coordination.Context{WorkSessionID: "ws", ConversationID: "conv"}
	begin := func(id, phase string) {
		s.Say(coordination.JobStream(id), coordination.TypeA2AJobCreated, "eden", coordination.A2AJobCreated{Context: in, JobID: id, Kind: "send", FromAgent: "eden",
			ToAgent: "seum", Phase: phase, RequesterSessionKey: "agent:eden:main", TargetSessionKey: "agent:seum:a2a:conv", Message: "?"})
		s.Say("", coordination.TypeA2ASend, "eden", coordination.A2ASend{Context: in, FromAgent: "eden", ToAgent: "seum", Message: "?", JobID: id})
	}
	end := func(id string) {
		s.Say("", coordination.TypeA2AResponse, "seum", coordination.A2AResponse{Context: in, FromAgent: "seum", ToAgent: "eden", Message: "!", JobID: id})
		s.Say("", coordination.TypeA2AComplete, "eden", coordination.A2AComplete{Context: in, FromAgent: "eden", ToAgent: "seum", JobID: id})
		s.Job(coordination.TypeA2AJobCompleted, coordination.A2AJob{Context: in, JobID: id, FromAgent: "eden", ToAgent: "seum", Outcome: "ok"})
	}
	started := func(id string) {
		s.Queue("seum", coordination.RunQueued{Context: in, RunID: id, SessionKey: "agent:seum:a2a:conv", JobID: id, Message: "?"})
		s.Start("seum", id)
	}
	for _, step := range []struct {
		name string
		do   func()
		want standing
	}{
		{"one waits for an answer", func() { begin("a", "waiting"); started("a") },
			standing{Status: "ACTIVE", Outcome: "waiting", OpenFlows: 1, OpenRuns: 1, OpenThreads: 1, Thread: "waiting", ThreadOpen: true}},
		{"another one waits for a permit", func() { begin("b", "dispatching") },
			standing{Status: "ACTIVE", Outcome: "waiting", OpenFlows: 2, OpenRuns: 1, OpenThreads: 1, Thread: "waiting", ThreadOpen: true}},
		{"the first is over, the other not", func() {
			s.End("seum", coordination.TypeRunEnded, coordination.RunOver{Context: in, RunID: "a"})
			end("a")
		}, standing{Status: "ACTIVE", Outcome: "waiting", OpenFlows: 1, OpenThreads: 1, Thread: "waiting", ThreadOpen: true}},
		{"the other has its answer, and announces it", func() {
			s.Job(coordination.TypeA2AJobRunning, coordination.A2AJob{Context: in, JobID: "b", Phase: "announcing", RunID: "b.a"})
		}, standing{Status: "ACTIVE", Outcome: "active", OpenFlows: 1, OpenThreads: 1, Thread: "active", ThreadOpen: true}},
		{"all is over", func() { end("b") }, standing{Status: "QUIET", Outcome: "done", Thread: "done"}},
		{"a run goes on", func() {
			s.Queue("eden", coordination.RunQueued{Context: coordination.Context{WorkSessionID: "ws"}, RunID: "late", SessionKey: "agent:eden:main", Message: "?"})
			s.Start("eden", "late")
			s.Say("", coordination.TypeTaskCompleted, "eden", coordination.Context{WorkSessionID: "ws", TaskID: "task_1"})
		}, standing{Status: "ACTIVE", Outcome: "active", OpenRuns: 1, Thread: "done"}},
		{"it fails", func() {
			s.End("eden", coordination.TypeRunFailed, coordination.RunOver{Context: coordination.Context{WorkSessionID: "ws"}, RunID: "late"})
		}, standing{Status: "QUIET", Outcome: "done", Thread: "done"}},
		{"a refusal is no work", func() {
			s.Say("", coordination.TypeA2AForbidden, "eden", coordination.A2ARefusal{Context: in, FromAgent: "eden", ToAgent: "seum", Code: "policy_denied"})
		}, standing{Status: "QUIET", Outcome: "done", Thread: "done"}},
	} {
		s.After(1_000)
		step.do()
		step.want.View, step.want.ViewThread = string(step.want.Status), string(step.want.Thread)
		if diff := cmp.Diff(step.want, stands(t, db, "ws", s.Now)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	if got := stands(t, db, "ws", s.Now+25*3_600_000); got.Status != coordination.StatusArchived || got.View == "" {
		t.Errorf("a day later: %+v", got)
	}
}

// A task that is completed is the end of its work session, though its event carries no status.
func TestBug12_TaskCompletedIsTerminal(t *testing.T) {
	t.Parallel()
	db, s := working(t)
	in := coordination.Context{WorkSessionID: "ws", TaskID: "task_1"}
	for typ, want := range map[string]coordination.Status{coordination.TypeTaskCompleted: coordination.StatusQuiet, coordination.TypeTaskCancelled: coordination.StatusQuiet} {
		s.After(1).Say("", coordination.TypeTaskStarted, "eden", in)
		if got := stands(t, db, "ws", s.Now).Status; got != coordination.StatusActive {
			t.Errorf("after task.started it is %s", got)
		}
		s.After(1).Say("", typ, "eden", in)
		if got := stands(t, db, "ws", s.Now).Status; got != want {
			t.Errorf("after %s it is %s", typ, got)
		}
	}
}

// What is read of what is open is found in indexes that hold nothing else.
func TestOpenWorkIsReadFromIndexes(t *testing.T) {
	t.Parallel()
	db, _ := working(t)
	for query, args := range map[string][]any{conversations.SelectCandidates: {1, "[]"}, conversations.SelectRecent: {1, 1}} {
		projectiontest.WantPlan(t, db, "SEARCH f USING COVERING INDEX a2a_jobs_open_by_work_session (work_session_id=? AND over_seq=?)", query, args...)
		projectiontest.WantPlan(t, db, "SEARCH r USING COVERING INDEX runs_open_by_work_session (work_session=? AND over_seq=?)", query, args...)
	}
	projectiontest.WantPlan(t, db, "SEARCH r USING COVERING INDEX runs_open_by_work_session (work_session=? AND over_seq=?)", conversations.SelectOpenRuns, "[]")
	projectiontest.WantPlan(t, db, "SEARCH f USING INDEX a2a_jobs_open_by_work_session (work_session_id=? AND over_seq=?)", conversations.SelectOpenFlows, "[]")
}
