package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/approvals"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/plantools"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(),
		tasks.Definition(), plans.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

const settings = `{agents: {list: [{id: 'ruda', role: 'lead', default: true}, {id: 'eden', name: '에덴 Kim'}]}}`

// team is agents whose tasks and plans people decide. The runs that report decisions are not carried out.
type team struct {
	*approvals.Service
	t   testing.TB
	db  *sqlite.DB
	box *tools.Registry
}

func setup(t testing.TB) *team {
	t.Helper()
	file, err := emptyLog()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "log.db")
	if err := errors.Join(os.WriteFile(path, file, 0o600), os.WriteFile(filepath.Join(dir, "openclaw.json"), []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
	})
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	conf, findings := config.Load(filepath.Join(dir, "openclaw.json"), func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	inForce := func() *config.Config { return conf }
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	models := catalogue.New(conf, catalogue.Options{})
	asks := runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Now: time.Now, NewID: uuid.NewString})
	ofTasks := tasktools.New(tasktools.Options{Log: db, Now: time.Now, NewID: uuid.NewString, NewTaskID: newID("task_"), Then: []tasktools.Then{tasktools.NotifyOwners(asks)}})
	ofPlans := plantools.New(plantools.Options{Log: db, Queue: asks, Config: inForce, Now: time.Now, NewPlanID: newID("plan_")})
	m := &team{Service: &approvals.Service{Tasks: ofTasks, Plans: ofPlans, Operator: ofTasks, Config: inForce}, t: t, db: db}
	m.box, err = tools.New(tools.Options{Config: inForce, Logger: log, Tools: append(ofTasks.Tools(), ofPlans.Tools()...)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newID(prefix string) func() string {
	return func() string { return prefix + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }
}

// does calls a tool in the name of an agent, and gives what it has said.
func (m *team) does(agent, name, args string, of ...any) map[string]any {
	m.t.Helper()
	caller := tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: coordination.MainKey(agent).String()}
	out, err := m.box.Call(m.t.Context(), caller, name, json.RawMessage(fmt.Sprintf(args, of...)))
	if err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	var said map[string]any
	if err := json.Unmarshal([]byte(out.Text), &said); err != nil || said["success"] != true {
		m.t.Fatalf("%s: %s, %v", name, out.Text, err)
	}
	return said
}

// task is a task of eden's that waits.
func (m *team) task() string {
	m.t.Helper()
	id, _ := m.does("eden", "task_start", `{"description":"집을 허문다","requires_approval":true}`)["taskId"].(string)
	return id
}

// plan is a plan of eden's that waits, and the task that it is for.
func (m *team) plan() (id, taskID string) {
	m.t.Helper()
	taskID, _ = m.does("eden", "task_start", `{"description":"집을 짓는다"}`)["taskId"].(string)
	id, _ = m.does("eden", "plan_submit", `{"title":"지하실부터","steps":["판다"],"tools_requested":["write"],"task_id":%q}`, taskID)["planId"].(string)
	return id, taskID
}

// types are how often each type is in the log.
func (m *team) types() map[string]int {
	m.t.Helper()
	all, err := m.db.Read(m.t.Context(), 0, 100_000)
	if err != nil {
		m.t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range all {
		n[e.Type]++
	}
	return n
}
