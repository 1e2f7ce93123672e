package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// approvalHistory has a run that waited twice, for what was approved for good and for what was refused, a permission that was taken back,
// and a request of a client that no one has decided.
func approvalHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	begin := goldenTime.UnixMilli() - 3_600_000
	add := func(stream string, actor eventstore.Actor, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 15}), Type: typ, AgentID: "eden", Actor: actor, TS: begin + int64(n)*1_000, Data: text,
		}}})
	}
	at := func(n int64) int64 { return begin + n*1_000 }
	ofRun := run.Result{RunID: "r1", SessionKey: "agent:eden:main", SessionID: "s1"}
	within := coordination.Context{EventRole: coordination.RoleObservability}
	start := func(n int64) {
		add(coordination.RunStream("r1"), eventstore.ActorSystem, coordination.TypeRunStarted, coordination.RunStarted{Context: within, RunID: "r1", SessionKey: "agent:eden:main",
			SessionID: "s1", StartedAtMs: at(n), Model: "fake/m"})
	}
	ask := func(id, args string) permission.Event {
		return permission.Request(&permission.Ask{ID: id, Agent: "eden", Tool: "exec", SessionKey: "agent:eden:main", RunID: "r1", FirstRunID: "r1", Args: json.RawMessage(args),
			Now: at(3), Expire: at(3_603)})
	}
	ofCall := func(id string, actor eventstore.Actor, e permission.Event) {
		add(coordination.CallApprovalStream(id), actor, e.Type, e.Data)
	}
	park := func(id string, n int64) {
		e := run.Park(within, ofRun, id, at(n), at(3_603))
		add(coordination.RunStream("r1"), eventstore.ActorSystem, e.Type, e.Data)
	}
	decide := func(id string, e permission.Event, n int64) {
		ofCall(id, eventstore.ActorHuman, e)
		woken := run.Wake(ofRun, id, at(n))
		add(coordination.RunStream("r1"), eventstore.ActorSystem, woken.Type, woken.Data)
	}
	decision := func(id, status, scope, reason string, n int64) permission.Event {
		a := permission.Approval{ID: id, Agent: "eden", Tool: "exec", Status: permission.Pending, ExpireAt: at(3_603)}
		e, err := a.Decide(permission.Decision{Status: status, Scope: scope, By: "지민", Reason: reason}, at(n))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first, second, third := "call_00000000000000000001", "call_00000000000000000002", "request of a client"
	add(coordination.RunStream("r1"), eventstore.ActorHuman, coordination.TypeRunQueued, coordination.RunQueued{Context: within, RunID: "r1", SessionKey: "agent:eden:main", Lane: "main",
		Cause: "chat", Message: "배포해"})
	start(2)
	ofCall(first, eventstore.ActorAgent, ask(first, `{"command":"git push"}`))
	park(first, 4)
	decide(first, decision(first, permission.Approved, permission.ThisCall, "", 5), 6)
	start(7)
	ofCall(second, eventstore.ActorAgent, ask(second, `{"command":"rm -r build"}`))
	park(second, 9)
	decide(second, decision(second, permission.Rejected, "", "아직", 10), 11)
	start(12)
	add(coordination.RunStream("r1"), eventstore.ActorAgent, coordination.TypeRunEnded, coordination.RunOver{Context: within, RunID: "r1", SessionKey: "agent:eden:main", SessionID: "s1",
		StartedAtMs: at(2), EndedAtMs: at(13), Text: "올렸습니다"})
	lasting := permission.Approval{ID: first, Agent: "eden", Tool: "exec", Status: permission.Approved, Scope: permission.ThisCall}
	revoked, err := lasting.Revoke("지민", at(14))
	if err != nil {
		t.Fatal(err)
	}
	ofCall(first, eventstore.ActorHuman, revoked)
	ofCall(third, eventstore.ActorAgent, permission.Request(&permission.Ask{ID: third, Agent: "eden", Tool: "exec", By: "node", Args: json.RawMessage(`{"command":"ls"}`), Now: at(15), Expire: at(75)}))
	return appends
}
