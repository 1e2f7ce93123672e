package projections_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// commandHistory has a probe of a sandbox, the output of a command, and calls with an effect outside whose outcome is known and unknown.
func commandHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	ours, at := coordination.Context{EventRole: coordination.RoleObservability}, goldenTime.UnixMilli()
	for i, one := range []struct {
		typ, stream string
		data        any
	}{
		{coordination.TypeSandboxProbed, coordination.SandboxStream("eden"), coordination.SandboxProbed{Context: ours, Kind: "landlock", Workspace: "/srv/eden", Sandboxed: true,
			Findings: []coordination.SandboxFinding{{Check: "network"}, {Check: "workspace", Reached: true, Detail: "the workspace can be changed"}}, ProbedAtMs: at, TookMs: 17}},
		{coordination.TypeToolCalled, coordination.ToolCallStream("c1"), coordination.ToolCalled{Context: ours, CallID: "c1", Attempt: 1, Tool: "exec",
			SessionKey: "agent:eden:main", RunID: "r1", Entry: "run", CalledAtMs: at, Arguments: []byte(`{"command":"echo 안녕"}`)}},
		{coordination.TypeToolEnded, coordination.ToolCallStream("c1"), coordination.ToolEnded{Context: ours, CallID: "c1", Attempt: 1, Tool: "exec",
			SessionKey: "agent:eden:main", RunID: "r1", EndedAtMs: at, TookMs: 5, IsError: true, Text: "안녕\n[the command was ended: timeout]"}},
		{coordination.TypeToolCalled, coordination.ToolCallStream("c2"), coordination.ToolCalled{Context: ours, CallID: "c2", Attempt: 1, Tool: "files__append",
			Server: "files", SessionKey: "agent:eden:main", RunID: "r1", Entry: "run", CalledAtMs: at, ArgumentsBytes: 20_000}},
		{coordination.TypeToolOutcomeUnknown, coordination.ToolCallStream("c2"), coordination.ToolOutcomeUnknown{Context: ours, CallID: "c2", Attempt: 1,
			Tool: "files__append", Server: "files", SessionKey: "agent:eden:main", RunID: "r1", EndedAtMs: at, Reason: "restart", Error: "the process ended"}},
		{coordination.TypeToolOutput, coordination.ToolOutputStream("p1"), coordination.ToolOutput{Context: ours, CallID: "c1", ProcessID: "p1",
			SessionKey: "agent:eden:main", RunID: "r1", AtMs: at, Text: "안녕\n", Ended: true, Exit: 1, Reason: "timeout"}},
	} {
		event := eventstore.NewEvent{ID: eventstore.DerivedID(at, [32]byte{7: byte(i + 1), 8: 13}), Type: one.typ, AgentID: "eden", Actor: eventstore.ActorAgent}
		added, err := eventstore.One(one.stream, event, one.data, at)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, added...)
	}
	return appends
}
