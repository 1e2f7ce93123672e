package callapproval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/callapproval"
)

// desk has eden's calls of exec and write wait for people.
type desk struct {
	*testing.T
	*callapproval.Service
	db    *sqlite.DB
	now   time.Time
	rules *config.Config
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, now: time.UnixMilli(1_800_000_000_000), rules: config.Default()}
	d.rules.Tools.Approvals = config.CallApprovals{Timeout: time.Hour, Rules: []config.CallRule{{Decision: config.CallAsk}}}
	d.db, _ = projectiontest.New(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed},
		sessions.Definition(), runs.Definition(), permissions.Definition())
	d.Service = callapproval.New(callapproval.Options{Log: d.db, Now: func() time.Time { return d.now }, Workspace: func(string) string { return "" }})
	return d
}

// parked is a run of an agent that waits for a decision about a call, with its approval.
func (d *desk) parked(runID, agent, name, args string) (approvalID string) {
	d.Helper()
	within := coordination.Context{EventRole: coordination.RoleObservability}
	key := "agent:" + agent + ":" + runID
	d.append(runID, agent, coordination.TypeRunQueued, coordination.RunQueued{Context: within, RunID: runID, SessionKey: key, Lane: run.LaneMain, Cause: "chat", Message: "go"})
	d.append(runID, agent, coordination.TypeRunStarted, coordination.RunStarted{Context: within, RunID: runID, SessionKey: key, SessionID: runID, StartedAtMs: d.now.UnixMilli(), Model: "fake/m"})
	waits := (*tool.WaitsError)(nil)
	if err := d.call(runID, agent, name, args); !errors.As(err, &waits) {
		d.Fatalf("%s of %s: %v, want it to wait", name, runID, err)
	}
	e := run.Park(within, run.Result{RunID: runID, SessionKey: key, SessionID: runID}, waits.ApprovalID, d.now.UnixMilli(), waits.Until)
	d.append(runID, agent, e.Type, e.Data)
	return waits.ApprovalID
}

func (d *desk) append(runID, agent, typ string, data any) {
	d.Helper()
	appends, err := eventstore.One(coordination.RunStream(runID), eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem}, data, d.now.UnixMilli())
	if err == nil {
		_, err = d.db.Decide(d.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	}
	if err != nil {
		d.Fatal(err)
	}
}

// call makes the first call of a run with these arguments, and returns why it is not made.
func (d *desk) call(runID, agent, name, args string) error {
	call := &tools.Call{Config: d.rules, Args: json.RawMessage(args),
		Caller: tool.Caller{Entry: tool.ByRun, AgentID: agent, SessionKey: "agent:" + agent + ":" + runID, RunID: runID, CallID: "a.1"}}
	return d.Guard(d.Context(), call, &tool.Spec{Name: name, Group: tool.GroupRuntime})
}

// woken are the runs that were woken, in order.
func (d *desk) woken() (ids []string) {
	d.Helper()
	events, err := d.db.Read(d.Context(), 0, 1_000)
	if err != nil {
		d.Fatal(err)
	}
	for i := range events {
		if events[i].Type == coordination.TypeRunWoken {
			ids = append(ids, strings.TrimPrefix(events[i].Stream, "run/"))
		}
	}
	return ids
}

const push = `{"command":"git push"}`

// A permission for always approves the calls of the agent that wait and that it covers, and has their runs go on; no others.
func TestALastingPermissionWakesWhatItCovers(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]string{permission.ThisCall: "[r1 r2]", permission.AnyCall: "[r1 r2 r3]"} {
		d := newDesk(t)
		first := d.parked("r1", "eden", "exec", push)
		d.parked("r2", "eden", "exec", push)
		d.parked("r3", "eden", "exec", `{"command":"ls"}`)
		d.parked("r4", "eden", "write", push)
		d.parked("r5", "seum", "exec", push)
		if _, err := d.Approve(t.Context(), first, "lee", scope); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.woken()); got != want {
			t.Errorf("%s wakes %s, want %s", scope, got, want)
		}
		if err := d.call("r2", "eden", "exec", push); err != nil {
			t.Errorf("%s: the call that waited is not made: %v", scope, err)
		}
		if _, err := d.Revoke(t.Context(), first, "lee"); err != nil {
			t.Fatal(err)
		}
		if err := d.call("r2", "eden", "exec", push); err != nil {
			t.Errorf("%s: what was approved is not made after the lasting permission was taken back: %v", scope, err)
		}
		waits := (*tool.WaitsError)(nil)
		if err := d.call("r6", "eden", "exec", push); !errors.As(err, &waits) {
			t.Errorf("%s: a call after the permission was taken back: %v, want it to wait", scope, err)
		}
	}
}

// A call that was refused, or that no one has decided about in time, is not made because such calls were permitted meanwhile.
func TestRefusalsOutlastPermissions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rejected := d.parked("r1", "eden", "exec", push)
	d.parked("r2", "eden", "exec", push)
	if _, err := d.Reject(t.Context(), rejected, "lee", "not today"); err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Hour)
	lasting := d.parked("r3", "eden", "exec", push)
	if _, err := d.Approve(t.Context(), lasting, "lee", permission.AnyCall); err != nil {
		t.Fatal(err)
	}
	for runID, want := range map[string]string{"r1": "lee has refused it: not today", "r2": "no one has approved it in time"} {
		if err := d.call(runID, "eden", "exec", push); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", runID, err, want)
		}
	}
	if err := d.call("r4", "eden", "exec", push); err != nil {
		t.Errorf("a later call: %v", err)
	}
}

// What waits is kept whole. A call that is too large for people to see does not wait, and one whose arguments are not kept, as earlier versions
// did with long ones, is not approved.
func TestNoOneApprovesWhatIsNotKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	arguments := func(bytes int) string {
		return `{"command":"` + strings.Repeat("x", bytes-len(`{"command":""}`)) + `"}`
	}
	if _, err := d.Approve(t.Context(), d.parked("r1", "eden", "exec", arguments(permission.MaxArguments)), "lee", ""); err != nil {
		t.Errorf("a call with the largest arguments: %v", err)
	}
	refused := (*tool.Error)(nil)
	if err := d.call("r2", "eden", "exec", arguments(permission.MaxArguments+1)); !errors.As(err, &refused) || refused.Code != tool.CodeNoDecision || refused.Hint == "" {
		t.Errorf("a call with larger ones: %v", err)
	}
	const old = "call_00000000000000000000"
	now := d.now.UnixMilli()
	e := permission.Request(&permission.Ask{ID: old, Agent: "eden", Tool: "exec", Args: json.RawMessage(arguments(permission.MaxArguments + 1)), Now: now, Expire: now + 1_000})
	appends, err := eventstore.One(coordination.CallApprovalStream(old), eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorAgent}, e.Data, now)
	if err == nil {
		_, err = d.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"", permission.ThisCall, permission.AnyCall} {
		_, err := d.Approve(t.Context(), old, "lee", scope)
		if unseen, is := errors.AsType[*permission.Refusal](err); !is || unseen.Reason != permission.CodeUnseen {
			t.Errorf("%q: %v", scope, err)
		}
	}
	if _, err := d.Reject(t.Context(), old, "lee", "too long"); err != nil {
		t.Error(err)
	}
}
