package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// scene is what an agent does when it hears something: one answer, and one more after each turn in which it has called tools.
type scene struct {
	agent, hears string
	answers      []func(a2atest.Asked) a2atest.Answer
}

// does is a scene in which tools are called, one in each turn, whatever comes of them.
func does(agent, hears, text string, calls ...a2atest.Call) scene {
	s := scene{agent: agent, hears: hears}
	for _, call := range calls {
		s.answers = append(s.answers, func(a2atest.Asked) a2atest.Answer { return a2atest.Use(call) })
	}
	s.answers = append(s.answers, func(a2atest.Asked) a2atest.Answer { return a2atest.Say(text) })
	return s
}

// plays has agents play scenes: of those in which an agent hears what it was told last, the first one.
func plays(t *testing.T, scenes ...scene) func(a2atest.Asked) a2atest.Answer {
	return func(a a2atest.Asked) a2atest.Answer {
		turn := 0
		for _, m := range a.Messages {
			if m.Role == "user" {
				turn = 0
			}
			turn += min(m.Calls, 1)
		}
		for i := range scenes {
			s := &scenes[i]
			if s.agent == a.Agent && strings.Contains(a.Message(), s.hears) && turn < len(s.answers) {
				return s.answers[turn](a)
			}
		}
		t.Errorf("%s has nothing to say in turn %d to %q", a.Agent, turn, a.Message())
		return a2atest.Say("I do not know what to say")
	}
}

// taskAnswer is what the tools of tasks say, as far as tests look at it.
type taskAnswer struct {
	Success                                           bool
	TaskID, Status, WorkSessionID, Code, Error, Field string
	Version                                           int64
	Duplicate                                         bool
	ProgressCount                                     int
	AgentID, ApprovedBy                               string
}

// uses has a client call a tool in the name of an agent's main session.
func uses(t testing.TB, c *client.Client, agent, name string, args map[string]any) taskAnswer {
	t.Helper()
	return invokes[taskAnswer](t, c, map[string]any{"name": name, "agentId": agent, "args": args})
}

// taskRows are all tasks of a log, with their progress and delegations, by id.
func taskRows(t testing.TB, p *Program) (rows []tasks.Row) {
	t.Helper()
	err := p.log.View(t.Context(), func(tx *sql.Tx) error {
		listed, _, err := tasks.List(t.Context(), tx, tasks.Filter{})
		for i := range listed {
			row, _, err := tasks.ByID(t.Context(), tx, listed[i].ID)
			if err != nil {
				return err
			}
			rows = append(rows, *row)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b tasks.Row) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// settles waits until the files of tasks are as the log says.
func settles(t testing.TB, p *Program) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	head, err := p.log.Head(ctx)
	if err == nil {
		err = p.taskFiles.syncer.Settled(ctx, head.Seq)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// taskFilesOf are the files of an agent's tasks, by their names in its workspace, but for what a kill has left of a write.
func taskFilesOf(t testing.TB, p *Program, agent string) map[string]string {
	t.Helper()
	files, dir := map[string]string{}, p.workspaceOf(agent)
	for _, pattern := range []string{"CURRENT_TASK.md*", "tasks/*", "task-history/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasPrefix(filepath.Base(path), ".openclawd-") {
				continue
			}
			text, err := os.ReadFile(path)
			name, is := filepath.Rel(dir, path)
			if err = errors.Join(err, is); err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(name)] = string(text)
		}
	}
	return files
}

// renderedOf are the files that an agent's tasks should have: they are told by the table of tasks alone.
func renderedOf(t testing.TB, p *Program, agent string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, row := range taskRows(t, p) {
		if row.AgentID != agent {
			continue
		}
		if len(files) == 0 {
			files["CURRENT_TASK.md"] = taskfile.FormatCurrent(nil)
		}
		if row.EndedMs == 0 {
			files["tasks/"+row.ID+".md"] = taskfile.Format(&row.Task)
		}
		if row.Focus {
			files["CURRENT_TASK.md"] = taskfile.FormatCurrent(&row.Task)
		}
	}
	err := p.log.View(t.Context(), func(tx *sql.Tx) error {
		months, err := tasks.Months(t.Context(), tx, agent)
		for _, month := range months {
			entries, _, err := tasks.Entries(t.Context(), tx, agent, month, 0)
			if err != nil {
				return err
			}
			text := taskfile.MonthHeader(month)
			for i := range entries {
				text += taskfile.FormatEntry(&entries[i])
			}
			files["task-history/"+month+".md"] = text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkTaskFiles checks that the files of agents' tasks are as the log says, and that there are no others.
func checkTaskFiles(t testing.TB, when string, p *Program, agents ...string) {
	t.Helper()
	settles(t, p)
	for _, agent := range agents {
		if diff := cmp.Diff(renderedOf(t, p, agent), taskFilesOf(t, p, agent)); diff != "" {
			t.Errorf("%s the files of %s are not as the log says (-log +files):\n%s", when, agent, diff)
		}
	}
}

// boardOf is how the only task of an agent stands.
type boardOf struct {
	status, session string // of the task and of its work session
	steps           string // done/in progress/pending/skipped
	last            string // line of progress
	lines           int    // of progress
	delegations     string // statuses, in order
}

// shows checks that all the API, and all files, show an agent's only task so.
func (team *liveTeam) shows(t *testing.T, when, agent, id string, want boardOf) {
	t.Helper()
	open := !slices.Contains([]string{"completed", "cancelled"}, want.status)
	inFocus := want.status == "in_progress"
	shown := read[struct{ Task monitor.TaskAnswer }](t, team.reloading, "/api/tasks/"+id).Task
	got := boardOf{status: shown.Status, session: team.session(t).Status, last: shown.LastProgress, lines: shown.ProgressCount}
	if n := shown.StepsProgress; n != nil {
		got.steps = fmt.Sprintf("%d/%d/%d/%d", n.Done, n.InProgress, n.Pending, n.Skipped)
	}
	var delegations []struct{ Status string }
	if len(shown.Delegations) > 0 {
		if err := json.Unmarshal(shown.Delegations, &delegations); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range delegations {
		got.delegations = strings.TrimSpace(got.delegations + " " + d.Status)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(boardOf{})); diff != "" {
		t.Errorf("%s (-want +shown):\n%s", when, diff)
	}
	if shown.DerivedFromSeq == 0 || shown.Focus != inFocus || shown.AgentID != agent || (shown.EndedAt == nil) != open {
		t.Errorf("%s the task is shown as %+v", when, shown)
	}

	listed := read[struct {
		Tasks  []monitor.TaskAnswer
		Counts map[string]int
	}](t, team.reloading, "/api/tasks?agent="+agent+"&status="+want.status)
	if len(listed.Tasks) != 1 || listed.Tasks[0].ID != id || listed.Tasks[0].ProgressCount != want.lines || listed.Tasks[0].DerivedFromSeq == 0 {
		t.Errorf("%s all tasks are %+v", when, listed.Tasks)
	}
	counts := map[string]int{}
	ids := []string{}
	if open {
		counts[want.status], ids = 1, []string{id}
	}
	if diff := cmp.Diff(counts, listed.Counts); diff != "" {
		t.Errorf("%s (-want +counts):\n%s", when, diff)
	}
	type named struct{ ID, Status string }
	own := read[struct{ Tasks []named }](t, team.reloading, "/api/agents/"+agent+"/tasks").Tasks
	if open && !slices.Equal(own, []named{{id, want.status}}) || !open && len(own) > 0 {
		t.Errorf("%s the tasks of %s are %+v", when, agent, own)
	}
	if want.status != "blocked" {
		ids = []string{}
	}
	waiting := []string{}
	for _, b := range read[struct{ BlockedTasks []named }](t, team.reloading, "/api/agents/"+agent+"/blocked").BlockedTasks {
		waiting = append(waiting, b.ID)
	}
	if !slices.Equal(waiting, ids) {
		t.Errorf("%s blocked are %q", when, waiting)
	}
	team.showsFocus(t, when, agent, id, inFocus)
	checkTaskFiles(t, when, team.Program, agent)
}

// showsFocus checks what the API shows of what an agent is at.
func (team *liveTeam) showsFocus(t *testing.T, when, agent, id string, inFocus bool) {
	t.Helper()
	at, status := "", "idle"
	if inFocus {
		at, status = id, "active"
	}
	current := read[struct {
		HasTask         bool
		TaskID, Content *string
	}](t, team.reloading, "/api/agents/"+agent+"/current")
	if current.HasTask != inFocus || inFocus && (current.TaskID == nil || *current.TaskID != id) || !inFocus && current.TaskID != nil {
		t.Errorf("%s the current task is %+v", when, current)
	}
	if file := renderedOf(t, team.Program, agent)["CURRENT_TASK.md"]; current.Content == nil || *current.Content != file {
		t.Errorf("%s the current task is shown as %+v, its file is\n%s", when, current.Content, file)
	}
	type member struct {
		CurrentTaskID *string
		Status        string
	}
	m := read[struct{ Agents map[string]member }](t, team.reloading, "/api/team-state").Agents[agent]
	if m.Status != status || inFocus && (m.CurrentTaskID == nil || *m.CurrentTaskID != at) || !inFocus && m.CurrentTaskID != nil {
		t.Errorf("%s in its team it is %+v", when, m)
	}
}

// taskFact is an event as far as it tells of tasks.
type taskFact struct {
	fact
	TaskID, DelegationID, Status, Progress, DecidedBy, Reason string
	RetryCount                                                int
}

// line is a taskFact in words: its type and whose it is; of a task who has decided it if not the owner, and the line of progress; of a
// delegation from whom to whom, and which time it is tried again.
func (f *taskFact) line() string {
	switch family, _, _ := strings.Cut(f.Type, "."); family {
	case "task":
		line := f.Type + " " + f.Agent
		if f.DecidedBy != "" {
			line += " by " + f.DecidedBy
		}
		if f.Progress != "" {
			line += ": " + f.Progress
		}
		return line
	case "delegation":
		line := fmt.Sprintf("%s %s: %s>%s", f.Type, f.Agent, f.FromAgent, f.ToAgent)
		if f.RetryCount > 0 {
			line += fmt.Sprintf(" again=%d", f.RetryCount)
		}
		return line
	}
	return f.fact.line()
}

// taskFacts are the events that outside programs are notified of, in order.
func (team *liveTeam) taskFacts(t testing.TB) (list []taskFact) {
	t.Helper()
	events, err := team.Program.log.Read(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if e := &events[i]; !coordination.Internal(e.Type) {
			var f taskFact
			if err := json.Unmarshal(e.Data, &f); err != nil {
				t.Fatalf("%s: %v in %s", e.Type, err, e.Data)
			}
			f.fact = factOf(t, e)
			list = append(list, f)
		}
	}
	return list
}

// hearsOfTasks follows the Task-Monitor over the wire. told returns its task notifications until one of that id is added; that is the
// last.
func (team *liveTeam) hearsOfTasks(t *testing.T) (told func(last string) []string) {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(team.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(answer.Body.Close(), conn.Close()) })
	if err := conn.SetReadDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	return func(last string) (list []string) {
		t.Helper()
		for {
			var m struct {
				Type, AgentID, TaskID string
				Data                  struct {
					Event, File string
					StepCount   int
				}
			}
			if err := conn.ReadJSON(&m); err != nil {
				t.Fatalf("%v after %q", err, list)
			}
			switch {
			case m.Type == "task_update" && m.TaskID == last:
				return list
			case m.Type == "task_update" && m.Data.File == m.TaskID+".md", m.Type == "task_step_update" && m.Data.StepCount == 3:
				list = append(list, m.Type+" "+m.AgentID+" "+m.TaskID+" "+m.Data.Event)
			case m.Type == "task_update" || m.Type == "task_step_update":
				t.Errorf("told: %+v", m)
			}
		}
	}
}

// streamOf are the events of a task's stream.
func streamOf(t testing.TB, p *Program, id string) (list []eventstore.Event) {
	t.Helper()
	list, err := p.log.ReadStream(t.Context(), coordination.TaskStream(id), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
