package milestone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/milestone"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

func TestMain(m *testing.M) { storetest.CrashMain(m, following) }

// patience bounds every wait for something that has to happen.
const patience time.Duration = testscale.Patience

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), sessions.Definition(), runs.Definition(), workqueue.Definition(), tasks.Definition(),
		index.Definition(rules), conversations.Definition(rules)}
}

func openLog(path string) (*sqlite.DB, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) { return openLog(path) }, definitions()...))

// team is the configuration of all tests.
const team = `{agents: {list: [{id: 'ruda', default: true}, {id: 'eden'}, {id: 'seum'}, {id: 'quick', utility: true}]}}`

// fixture is a log with a task service whose milestones are at a Task-Hub, behind a registry, and a worker that does not run yet.
type fixture struct {
	path   string
	hubURL string
	db     *sqlite.DB
	engine *projections.Engine
	box    *tools.Registry
	worker *worker.Worker
	logged *strings.Builder // of the registry and the worker; read when the worker has ended
	ahead  atomic.Int64     // ms that the clock is ahead

	stop    context.CancelFunc
	stopped chan error
}

// openAt opens a fixture at an existing log.
func openAt(path, hubURL, configFile string, timeout time.Duration) (*fixture, error) {
	db, err := openLog(path)
	if err != nil {
		return nil, err
	}
	o := &fixture{path: path, hubURL: hubURL, db: db, logged: &strings.Builder{}}
	if o.engine, err = projections.Start(context.Background(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	conf, findings := config.Load(configFile, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	logger := slog.New(slog.NewTextHandler(o.logged, nil))
	hub := taskhub.New(taskhub.Options{Address: func() (string, string) { return hubURL, "session=" + cookie }, Timeout: timeout})
	service := tasktools.New(tasktools.Options{Log: db, Now: o.now, NewID: uuid.NewString,
		NewTaskID: func() string { return "task_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }, Then: []tasktools.Then{milestone.Follow}})
	o.box, err = tools.New(tools.Options{Config: func() *config.Config { return conf }, Logger: logger, Tools: append(service.Tools(), milestone.Tools(hub, db)...)})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	o.worker = worker.New(worker.Options{Log: db, Handlers: map[string]worker.Handler{milestone.Kind: milestone.Sync(hub)}, Now: o.now, Logger: logger,
		Pools: func() map[string]int { return map[string]int{milestone.Pool: 2} }, Jitter: func() float64 { return 1 }})
	return o, nil
}

// setup opens a fixture at a new log, with the hub of its milestones. It is closed at the end of the test at the latest.
func setup(t testing.TB, h *hub) *fixture {
	t.Helper()
	return setupWithin(t, h, patience)
}

// setupWithin is setup with a time for each answer of the hub.
func setupWithin(t testing.TB, h *hub, timeout time.Duration) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	return reopenWithin(t, path, h.URL, 0, timeout)
}

func reopen(t testing.TB, path, hubURL string, ahead int64) *fixture {
	t.Helper()
	return reopenWithin(t, path, hubURL, ahead, patience)
}

func reopenWithin(t testing.TB, path, hubURL string, ahead int64, timeout time.Duration) *fixture {
	t.Helper()
	configFile := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(configFile, []byte(team), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := openAt(path, hubURL, configFile, timeout)
	if err != nil {
		t.Fatal(err)
	}
	o.ahead.Store(ahead)
	t.Cleanup(func() {
		if err := o.end(); err != nil {
			t.Error(err)
		}
		if err := o.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
			t.Error(err)
		}
	})
	return o
}

// restarted is the fixture after a restart, which closes the one before.
func (o *fixture) restarted(t testing.TB) *fixture {
	t.Helper()
	if err := errors.Join(o.end(), o.db.Close()); err != nil {
		t.Fatal(err)
	}
	return reopen(t, o.path, o.hubURL, o.ahead.Load())
}

func (o *fixture) now() time.Time {
	return time.Now().Add(time.Duration(o.ahead.Load()) * time.Millisecond)
}

// begin has the worker work.
func (o *fixture) begin() *fixture {
	ctx, stop := context.WithCancel(context.Background())
	o.stop, o.stopped = stop, make(chan error, 1)
	go func() { o.stopped <- o.worker.Run(ctx) }()
	return o
}

// end has the worker end, if it is at work.
func (o *fixture) end() error {
	if o.stop == nil {
		return nil
	}
	o.stop()
	o.stop = nil
	return <-o.stopped
}

// advance sets the clock forward, and has the worker look at it.
func (o *fixture) advance(t testing.TB, d time.Duration) {
	t.Helper()
	o.ahead.Add(d.Milliseconds())
	if _, err := o.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.LogStream,
		Events: []eventstore.NewEvent{{Type: "test.clock", Data: json.RawMessage(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
}

// until waits for an event.
func (o *fixture) until(t testing.TB, what string, is func(eventstore.Event) bool) (found eventstore.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := eventstore.Subscribe(ctx, o.db, 0, func(e eventstore.Event) error {
		if is(e) {
			found = e
			return io.EOF
		}
		return nil
	})
	if !errors.Is(err, io.EOF) {
		t.Fatalf("wait for %s: %v", what, err)
	}
	return found
}

// answer is what a tool has said.
type answer map[string]any

func (a answer) text(name string) string { s, _ := a[name].(string); return s }

// call calls a tool as an agent, whatever the result.
func (o *fixture) call(agent, callID, name, args string) (answer, tool.Output, error) {
	return o.callIn("", agent, callID, name, args)
}

// callIn is call in a run.
func (o *fixture) callIn(runID, agent, callID, name, args string) (answer, tool.Output, error) {
	caller := tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: coordination.MainKey(agent).String(), RunID: runID, CallID: callID}
	out, err := o.box.Call(context.Background(), caller, name, json.RawMessage(args))
	if err != nil {
		return nil, out, err
	}
	var a answer
	if err := json.Unmarshal([]byte(out.Text), &a); err != nil {
		return nil, out, fmt.Errorf("%s: %w", out.Text, err)
	}
	if success, _ := a["success"].(bool); success == out.IsError {
		return a, out, fmt.Errorf("success is %t, but the output says %t", success, !out.IsError)
	}
	return a, out, nil
}

// does calls a tool as an agent, and fails the test on a refusal.
func (o *fixture) does(t testing.TB, agent, name, args string, of ...any) answer {
	t.Helper()
	args = fmt.Sprintf(args, of...)
	a, _, err := o.call(agent, "", name, args)
	if err != nil || a["success"] != true {
		t.Fatalf("%s %s: %v, %v", name, args, a, err)
	}
	return a
}

// linked is a task of an agent, in progress, that is linked to an item.
func (o *fixture) linked(t testing.TB, agent, milestoneID, itemID string) (taskID string) {
	t.Helper()
	taskID = o.does(t, agent, "task_backlog_add", `{"description":"x","milestone_id":%q,"milestone_item_id":%q}`, milestoneID, itemID).text("taskId")
	o.does(t, agent, "task_pick_backlog", `{"task_id":%q}`, taskID)
	return taskID
}

// ofTask are the types of the events of a task's stream, with what those of milestones say.
func (o *fixture) ofTask(t testing.TB, taskID string) (list []string) {
	t.Helper()
	events, err := o.db.ReadStream(t.Context(), coordination.TaskStream(taskID), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		line := e.Type
		if strings.HasPrefix(e.Type, "milestone.") {
			var data coordination.Milestone
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			if data.TaskID != taskID || data.WorkSessionID == "" || data.EventRole != coordination.RoleObservability || e.Actor != eventstore.ActorSystem {
				t.Errorf("%s says %s, actor %s", e.Type, e.Data, e.Actor)
			}
			line = strings.TrimSuffix(fmt.Sprint(e.Type, " of ", e.AgentID, ": ", data.MilestoneID, "/", data.MilestoneItemID, " ", data.Status, " ", data.Error), " ")
		}
		list = append(list, line)
	}
	return list
}
