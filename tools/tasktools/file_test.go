package tasktools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
)

// appends appends an event to a stream.
func (o *fixture) appends(stream, typ, agent string, actor eventstore.Actor, data any) {
	o.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		o.t.Fatal(err)
	}
	e := eventstore.NewEvent{Type: typ, AgentID: agent, Actor: actor, Data: text}.WithTS(o.now().UnixMilli())
	if _, err := o.db.Append(o.t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{e}}); err != nil {
		o.t.Fatal(err)
	}
}

// imports tells the log of a file of ruda's task.
func (o *fixture) imports(id, text string) {
	o.t.Helper()
	path := "workspace-ruda/tasks/" + id + ".md"
	o.appends(coordination.FileStream(path), coordination.TypeFileImported, "ruda", eventstore.ActorSystem, coordination.FileImported{
		Context: coordination.Context{EventRole: coordination.RoleObservability}, Path: path, Bytes: int64(len(text)), SHA256: strings.Repeat("0", 64), Text: text})
}

// The first event of a task whose file names no work session joins it to one: that of its last activity, unless that is archived.
func TestTasksOfFilesJoinAWorkSession(t *testing.T) {
	t.Parallel()
	for said, after := range map[string]time.Duration{"": 0, "ws_of_the_flow": time.Hour, "ws_archived": 25 * time.Hour} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			o := setup(t, team)
			for _, call := range []struct{ status, tool, more string }{
				{"in_progress", "task_update", `,"progress":"p"`},
				{"in_progress", "task_block", `,"reason":"r","unblock_by":["eden"]`},
				{"backlog", "task_cancel", ``},
				{"in_progress", "task_complete", ``},
				{"backlog", "task_pick_backlog", ``},
				{"interrupted", "task_resume", ``},
			} {
				id := newTaskID()
				o.imports(id, "# Task: "+id+"\n\n## Metadata\n- **Status:** "+call.status+"\n- **Created:** 2026-02-01T00:00:00.000Z\n\n## Description\nx\n")
				if said != "" {
					o.appends(coordination.TaskStream(id), coordination.TypeDelegationSpawned, "ruda", eventstore.ActorAgent, coordination.Delegation{
						Context:      coordination.Context{TaskID: id, WorkSessionID: said, EventRole: coordination.RoleDelegation},
						DelegationID: "d-" + id, JobID: "d-" + id, FromAgent: "ruda", ToAgent: "eden"})
					o.pass(after)
				}
				a := o.does("ruda", call.tool, `{"task_id":%q%s}`, id, call.more)
				ws := a.text("workSessionId")
				if joined := ws == said; !strings.HasPrefix(ws, "ws_") || joined != (said == "ws_of_the_flow") || a["previousWorkSessionId"] != nil {
					t.Errorf("%s: it belongs to %v", call.tool, a)
				}
				all := o.events(id)
				if e := all[len(all)-1]; !strings.Contains(string(e.Data), `"workSessionId":"`+ws+`"`) {
					t.Errorf("%s: %s says %s", call.tool, e.Type, e.Data)
				}
				if status := a.text("status"); status != "cancelled" && status != "completed" {
					o.does("ruda", "task_cancel", `{"task_id":%q}`, id)
				}
			}
		})
	}
}

// A task that only a file has is at version 0, which is a version like others: one of ten calls that expect it changes the task, and it
// is not confused with a missing version.
func TestVersionZeroIsAVersion(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	const id = "task_0123456789abcdef0123"
	o.imports(id, "# Task: "+id+"\n\n## Metadata\n- **Status:** in_progress\n- **Created:** 2026-02-01T00:00:00.000Z\n\n## Description\nx\n")
	if v := o.task("ruda", id)["version"]; v != 0.0 {
		t.Fatalf("the version is %v", v)
	}
	if a := o.refuses(task.CodeConflict, "ruda", "task_update", `{"task_id":%q,"progress":"p","version":1}`, id); a["version"] != 0.0 {
		t.Errorf("the present version is not told: %v", a)
	}
	all := expecting(o, "ruda", id, 0, 10)
	if diff := cmp.Diff(map[string]int{"": 1, task.CodeConflict: 9}, count(t, all)); diff != "" {
		t.Errorf("outcomes (-want +got)\n%s", diff)
	}
	o.refuses(task.CodeConflict, "ruda", "task_update", `{"task_id":%q,"progress":"p","version":0}`, id)
	o.refuses(task.CodeConflict, "ruda", "task_update", `{"task_id":%q,"progress":"p","version":0}`, o.starts("ruda", "y"))
	o.does("ruda", "task_update", `{"task_id":%q,"progress":"p"}`, id)
}

// A task that only a file had continues with the tools, whatever an imported log says of it, before or after.
func TestTasksOfFiles(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	const id = "task_0123456789abcdef0123"
	imported := func() {
		o.appends(coordination.TaskStream(id), coordination.TypeTaskUpdated, "ruda", eventstore.ActorImport, map[string]any{"taskId": id, "progressCount": 7})
	}
	imported()
	text := "# Task: " + id + "\n\n## Metadata\n- **Status:** in_progress\n- **Priority:** high\n- **Created:** 2026-02-01T00:00:00.000Z\n\n" +
		"## Description\n파일의 일\n\n## Steps\n- [>] (s1) one\n- [ ] (s2) two\n\n## Progress\n- started\n\n## Last Activity\n2026-02-01T01:00:00.000Z\n\n---\n*Managed by task tools*\n"
	o.imports(id, text)
	shown := o.task("ruda", id)
	if shown.text("description") != "파일의 일" || shown.text("status") != "in_progress" || len(shown.list("steps")) != 2 {
		t.Fatalf("the task is %v", shown)
	}
	a := o.does("ruda", "task_update", `{"task_id":%q,"action":"complete_step","step_id":"s1","version":%d}`, id, shown.number("version"))
	ws := a.text("workSessionId") // the file names none
	if a.text("currentStep") != "s2" || !strings.HasPrefix(ws, "ws_") {
		t.Errorf("updated: %v", a)
	}
	imported()
	o.refuses(task.CodeStopGuard, "ruda", "task_complete", `{"task_id":%q}`, id)
	o.does("ruda", "task_block", `{"task_id":%q,"reason":"r","unblock_by":["eden"]}`, id)
	r := o.does("ruda", "task_resume", `{}`)
	if r.text("workSessionId") != ws || r["previousWorkSessionId"] != nil {
		t.Errorf("resumed: %v", r)
	}
	o.does("ruda", "task_complete", `{"force_complete":true}`)
	if got := o.task("ruda", id); got.text("status") != "completed" || got.number("version") != len(o.events(id)) {
		t.Errorf("the task is %v of %d events", got, len(o.events(id)))
	}
}

// The original forgot how often a task had gone back to the backlog as soon as it was picked again.
func TestBug21_ReassignmentsAreRemembered(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	ws := o.task("ruda", id).text("workSessionId")
	for n := 1; n <= 2; n++ {
		o.pass(25 * time.Hour)
		o.appends(coordination.TaskStream(id), coordination.TypeZombieAbandoned, "ruda", eventstore.ActorSystem, coordination.ZombieAbandoned{
			Context:  coordination.Context{TaskID: id, WorkSessionID: ws, EventRole: coordination.RoleOrchestration},
			AgeHours: 25, ReassignCount: n, Action: coordination.ZombieMovedToBacklog})
		if got := o.task("ruda", id); got.text("status") != "backlog" || got.number("reassignCount") != n {
			t.Fatalf("taken away: %v", got)
		}
		o.does("ruda", "task_pick_backlog", `{}`)
		o.does("ruda", "task_update", `{"progress":"on"}`)
		o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
		o.does("ruda", "task_resume", `{}`)
		if got := o.task("ruda", id); got.number("reassignCount") != n {
			t.Errorf("after %d times it has %v", n, got["reassignCount"])
		}
	}
}
