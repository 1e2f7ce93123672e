package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// keptTask is what tools say of a task, as far as the test looks at it.
type keptTask struct {
	Success               bool
	TaskID, WorkSessionID string
	Version               int64
}

// An agent's task is what its tools made of it, in each answer of the API; messages sent meanwhile belong to the task; and clients get
// each event once, though files are written, too.
func TestAgentsKeepTasks(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"eden", "seum"}, func(a2atest.Asked) a2atest.Answer { return a2atest.Say("[NO_REPLY]") })
	conn, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(team.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer answer.Body.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	eden := func(name string, args map[string]any) keptTask {
		t.Helper()
		return invokes[keptTask](t, team.client, map[string]any{"name": name, "agentId": "eden", "args": args})
	}
	started := eden("task_start", map[string]any{"description": "포트 정리", "priority": "high", "steps": []map[string]string{{"content": "읽기"}, {"content": "쓰기"}}})
	if !started.Success || !strings.HasPrefix(started.TaskID, "task_") || !strings.HasPrefix(started.WorkSessionID, "ws_") {
		t.Fatalf("started: %+v", started)
	}
	if sent := team.hands(t, "hello", ""); sent.TaskID != started.TaskID || sent.WorkSessionID != started.WorkSessionID {
		t.Errorf("sent while the task is in focus: %+v", sent)
	}
	eden("task_update", map[string]any{"action": "complete_step", "step_id": "s1", "progress": "읽었다"})
	list := read[struct{ Tasks []monitor.TaskAnswer }](t, team.reloading, "/api/tasks").Tasks
	if len(list) != 1 || list[0].ID != started.TaskID || !list[0].Focus || list[0].StepsProgress.Done != 1 || list[0].DerivedFromSeq == 0 {
		t.Errorf("listed: %+v", list)
	}
	state := read[struct {
		Agents map[string]struct{ CurrentTaskID, Status, Role string }
	}](t, team.reloading, "/api/team-state")
	if got := state.Agents["eden"]; got.CurrentTaskID != started.TaskID || got.Status != "active" || got.Role != "worker" || len(state.Agents) != 2 {
		t.Errorf("team: %+v", state)
	}
	eden("task_update", map[string]any{"action": "complete_step", "step_id": "s2"})
	eden("task_complete", map[string]any{"summary": "fertig"})
	info := read[struct {
		WorkspaceDir   string
		HasCurrentTask bool
		TaskCount      int
	}](t, team.reloading, "/api/agents/eden/info")
	if info.HasCurrentTask || info.TaskCount != 0 || info.WorkspaceDir != team.Program.workspaceOf("eden") {
		t.Errorf("afterwards: %+v", info)
	}
	settledFiles(t, team.Program)
	team.write(t, "team-state.json", `{}`) // the watcher has passed those of tasks when it reports this one
	var got []string
	for {
		var f struct {
			Type, TaskID string
			Data         json.RawMessage
		}
		if err := conn.ReadJSON(&f); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
		if f.Type == "team_state_update" {
			break
		}
		if f.Type == "task_update" || f.Type == "agent_update" {
			got = append(got, fmt.Sprintf("%s %s", f.Type, f.Data))
		}
	}
	file := started.TaskID + ".md"
	want := []string{`task_update {"event":"add","file":"` + file + `"}`, `agent_update {"event":"change","file":"CURRENT_TASK.md"}`}
	for _, event := range []string{"change", "change", "unlink"} {
		want = append(want, `task_update {"event":"`+event+`","file":"`+file+`"}`, `agent_update {"event":"change","file":"CURRENT_TASK.md"}`)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
