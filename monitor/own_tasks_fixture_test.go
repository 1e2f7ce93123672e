package monitor_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/workspace"
)

// withOwnTasks serves an empty log in which agents keep their tasks; eden and seum are configured.
func withOwnTasks(t testing.TB, change ...func(*monitor.Options)) (b *testBundle, dir string) {
	t.Helper()
	dir = t.TempDir()
	own := func(o *monitor.Options) {
		o.Workspace = workspace.New(dir, workspace.Options{})
		o.OwnTasks = &monitor.OwnTasks{Team: func() []config.Agent {
			return []config.Agent{{ID: "Eden", Role: "worker"}, {ID: "seum", Role: "lead"}}
		}}
	}
	return setup(t, append([]func(*monitor.Options){own}, change...)...), dir
}

// tasked stores an event of a task, at a minute after noon, and returns its seq.
func (b *testBundle) tasked(t testing.TB, agent, id, typ string, minute float64, data any) int64 {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: coordination.TaskStream(id),
		Events: []eventstore.NewEvent{eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorAgent, Data: text}.WithTS(int64(at(minute)))}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

func ofTask(id, workSession string) coordination.Context {
	return coordination.Context{TaskID: id, WorkSessionID: workSession, EventRole: coordination.RoleOrchestration}
}

// ownTasks has eden and ruda keep tasks in several states. Eden is at task_a.
func (b *testBundle) ownTasks(t testing.TB) {
	t.Helper()
	started := func(agent, id, priority, description string, minute float64, change func(*coordination.TaskStarted)) {
		data := coordination.TaskStarted{Context: ofTask(id, "ws_"+agent), Priority: priority, Description: description, Progress: "Task started",
			SessionKey: "agent:" + agent + ":main", Source: "user"}
		if change != nil {
			change(&data)
		}
		b.tasked(t, agent, id, coordination.TypeTaskStarted, minute, data)
	}
	ended := func(id, typ, status, summary, reason, progress string, minute float64) {
		b.tasked(t, "eden", id, typ, minute, coordination.TaskState{Context: ofTask(id, "ws_eden"), Status: status, Summary: summary, Reason: reason, Progress: progress})
	}
	started("eden", "task_h", "low", "끝난 일", -3*24*60, func(d *coordination.TaskStarted) { d.Background = "배경" })
	ended("task_h", coordination.TypeTaskCompleted, "completed", "다 했다\n둘째 줄", "", "Task completed", -2*24*60)
	started("eden", "task_x", "high", "그만둔 일", -30*24*60, nil)
	ended("task_x", coordination.TypeTaskCancelled, "cancelled", "", "중복", "Task cancelled: 중복", -29*24*60)
	started("eden", "task_b", "low", "키가 필요한 일", 0, nil)
	b.tasked(t, "eden", "task_b", coordination.TypeTaskBlocked, 1, coordination.TaskBlocked{Context: ofTask("task_b", "ws_eden"), Reason: "키 대기",
		UnblockedBy: []string{"ruda"}, UnblockedAction: "키를 보내기", Progress: "[BLOCKED] 키 대기"})
	b.tasked(t, "ruda", "task_c", coordination.TypeTaskBacklogAdded, 2, coordination.TaskBacklogAdded{Context: ofTask("task_c", "ws_ruda"), Assignee: "eden",
		IsCrossAgent: true, Priority: "urgent", Description: "나중에 할 일", CreatedBy: "ruda", DependsOn: []string{"task_a"}, DueDate: "2026-02-28", Progress: "Added by ruda"})
	started("eden", "task_d", "medium", "허락이 필요한 일", 3, func(d *coordination.TaskStarted) { d.RequiresApproval = true })
	started("eden", "task_a", "high", "로그인 구현\n둘째 줄", 4, func(d *coordination.TaskStarted) {
		d.Steps = []coordination.TaskStep{{ID: "s1", Content: "하나", Status: "in_progress", Order: 1}, {ID: "s2", Content: "둘", Status: "pending", Order: 2}}
	})
	b.tasked(t, "eden", "task_a", coordination.TypeTaskUpdated, 5, coordination.TaskUpdated{Context: ofTask("task_a", "ws_eden"), ProgressCount: 2,
		Action: "complete_step", StepID: "s1", Progress: "[s1] 하나 ## 끝",
		Steps: []coordination.TaskStep{{ID: "s1", Content: "하나", Status: "done", Order: 1}, {ID: "s2", Content: "둘", Status: "in_progress", Order: 2}}})
	started("ruda", "task_r", "medium", "조사", 6, nil)
	delegated := coordination.Delegation{Context: ofTask("task_r", "ws_ruda"), DelegationID: "d1", FromAgent: "ruda", ToAgent: "seum", JobID: "d1",
		Work: "찾아보기", Status: "spawned", MaxRetries: 3}
	b.tasked(t, "ruda", "task_r", coordination.TypeDelegationSpawned, 7, delegated)
}

// filesOf writes the files that the tasks of the log have.
func (b *testBundle) filesOf(t testing.TB, dir string, agents ...string) {
	t.Helper()
	err := b.db.View(context.Background(), func(tx *sql.Tx) error {
		ctx := context.Background()
		for _, agent := range agents {
			open := true
			rows, _, err := tasks.List(ctx, tx, tasks.Filter{Agents: []string{agent}, Open: &open})
			if err != nil {
				return err
			}
			current := taskfile.FormatCurrent(nil)
			for i := range rows {
				row, _, err := tasks.ByID(ctx, tx, rows[i].ID)
				if err != nil {
					return err
				}
				if row.Focus {
					current = taskfile.FormatCurrent(&row.Task)
				}
				put(t, dir, "workspace-"+agent+"/tasks/"+row.ID+".md", taskfile.Format(&row.Task))
			}
			put(t, dir, "workspace-"+agent+"/CURRENT_TASK.md", current)
			months, err := tasks.Months(ctx, tx, agent)
			if err != nil {
				return err
			}
			for _, month := range months {
				entries, _, err := tasks.Entries(ctx, tx, agent, month, 0)
				if err != nil {
					return err
				}
				text := taskfile.MonthHeader(month)
				for i := range entries {
					text += taskfile.FormatEntry(&entries[i])
				}
				put(t, dir, "workspace-"+agent+"/task-history/"+month+".md", text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stamp is how answers write a time.
func stamp(minute float64) string {
	return noon.Add(time.Duration(minute * float64(time.Minute))).Format("2006-01-02T15:04:05.000Z")
}
