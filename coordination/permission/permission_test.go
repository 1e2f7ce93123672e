package permission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
)

// fold is an approval after events, nil data being redacted.
func fold(t *testing.T, events ...permission.Event) *permission.Approval {
	t.Helper()
	a := &permission.Approval{ID: "call_1"}
	for i, e := range events {
		var data []byte
		if e.Data != nil {
			var err error
			if data, err = json.Marshal(e.Data); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Apply(e.Type, "Eden", data, int64(i+1), int64(i+1), int64(100+i)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func asked(args string) permission.Event {
	return permission.Request(&permission.Ask{ID: "call_1", Agent: "eden", Tool: "exec", RunID: "r", FirstRunID: "r", Args: json.RawMessage(args), Now: 100, Expire: 200})
}

func decided(t *testing.T, d permission.Decision) permission.Event {
	t.Helper()
	e, err := fold(t, asked(`{}`)).Decide(d, 150)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The first decision counts, a redacted one refuses, and only an approval with a scope lasts until it is taken back.
func TestFirstDecisionCounts(t *testing.T) {
	t.Parallel()
	yes, always, no := permission.Decision{Status: permission.Approved, By: "lee"}, permission.Decision{Status: permission.Approved, Scope: permission.AnyCall},
		permission.Decision{Status: permission.Rejected, Reason: "no"}
	revoked, err := fold(t, asked(`{}`), decided(t, always)).Revoke("lee", 160)
	if err != nil {
		t.Fatal(err)
	}
	redacted := permission.Event{Type: coordination.TypeToolApprovalDecided}
	for name, c := range map[string]struct {
		events []permission.Event
		status string
		lasts  bool
	}{
		"nothing":                       {nil, "", false},
		"a decision about nothing":      {[]permission.Event{decided(t, yes)}, "", false},
		"pending":                       {[]permission.Event{asked(`{}`)}, permission.Pending, false},
		"asked twice":                   {[]permission.Event{asked(`{}`), decided(t, yes), asked(`{}`)}, permission.Approved, false},
		"once":                          {[]permission.Event{asked(`{}`), decided(t, yes), decided(t, no)}, permission.Approved, false},
		"refused":                       {[]permission.Event{asked(`{}`), decided(t, no), decided(t, always)}, permission.Rejected, false},
		"redacted decision":             {[]permission.Event{asked(`{}`), redacted}, permission.Rejected, false},
		"for good":                      {[]permission.Event{asked(`{}`), decided(t, always)}, permission.Approved, true},
		"taken back":                    {[]permission.Event{asked(`{}`), decided(t, always), revoked, decided(t, always)}, permission.Approved, false},
		"taken back before it is given": {[]permission.Event{asked(`{}`), revoked, decided(t, always)}, permission.Approved, true},
	} {
		if a := fold(t, c.events...); a.Status != c.status || a.Lasts() != c.lasts {
			t.Errorf("%s: %q, lasts %v; want %q, %v", name, a.Status, a.Lasts(), c.status, c.lasts)
		}
	}
	if a := fold(t, permission.Event{Type: coordination.TypeToolApprovalRequested}); a.Tool != "" || a.StatusAt(1) != permission.Expired {
		t.Errorf("a redacted request is %+v", a)
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	pending, over := fold(t, asked(`{}`)), fold(t, asked(`{}`), decided(t, permission.Decision{Status: permission.Approved}))
	for name, c := range map[string]struct {
		a    *permission.Approval
		d    permission.Decision
		now  int64
		code string
	}{
		"too late":     {pending, permission.Decision{Status: permission.Approved}, 200, permission.CodeState},
		"decided":      {over, permission.Decision{Status: permission.Rejected}, 150, permission.CodeState},
		"scope":        {pending, permission.Decision{Status: permission.Approved, Scope: "all"}, 150, permission.CodeInvalid},
		"long reason":  {pending, permission.Decision{Status: permission.Rejected, Reason: strings.Repeat("x", permission.MaxReason+1)}, 150, permission.CodeInvalid},
		"wrong reason": {pending, permission.Decision{Status: permission.Rejected, Reason: "a\x00"}, 150, permission.CodeInvalid},
	} {
		_, err := c.a.Decide(c.d, c.now)
		if r, is := errors.AsType[*permission.Refusal](err); !is || r.Code() != c.code || r.Hint() == "" {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if _, err := over.Revoke("lee", 160); err == nil {
		t.Error("an approval for one call was taken back")
	}
}

// What is stored has no secrets and bounds, and what identifies a call depends on all of it.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(asked(`{"token":"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`).Data)
	if err != nil || strings.Contains(string(text), "ghp_") {
		t.Errorf("%s, %v", text, err)
	}
	long, _ := asked(`{"a":"` + strings.Repeat("x", permission.MaxArguments) + `"}`).Data.(coordination.CallApprovalRequested)
	if long.Arguments != nil || long.ArgumentsBytes <= permission.MaxArguments {
		t.Errorf("%d bytes are stored of %d", len(long.Arguments), long.ArgumentsBytes)
	}
	hash := permission.CallHash("eden", "exec", json.RawMessage(`{}`))
	if hash != permission.CallHash("EDEN", "exec", json.RawMessage(`{}`)) || hash == permission.CallHash("seum", "exec", json.RawMessage(`{}`)) ||
		hash == permission.CallHash("eden", "exe", json.RawMessage(`c{}`)) || hash == permission.CallHash("eden", "exec", json.RawMessage(`{ }`)) {
		t.Error("calls are not told apart")
	}
}

// A command stands for a call only if it is all that exec gets: people approve what they see.
func TestLineOfACall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, args, want string
		command          bool
	}{
		{"exec", `{"command":"git push"}`, "git push", true},
		{"exec", `{"Command":"git push"}`, `exec {"Command":"git push"}`, false},
		{"exec", `{"COMMAND":"rm","command":"ls"}`, `exec {"COMMAND":"rm","command":"ls"}`, false},
		{"exec", `{"command":"ls","workdir":"x"}`, `exec {"command":"ls","workdir":"x"}`, false},
		{"exec", `{"command":["ls"]}`, `exec {"command":["ls"]}`, false},
		{"exec", `{"command":""}`, `exec {"command":""}`, false},
		{"exec", "", "exec", false},
		{"Exec", `{"command":"ls"}`, `Exec {"command":"ls"}`, false},
		{"shell__exec", `{"command":"ls"}`, `shell__exec {"command":"ls"}`, false},
	} {
		if got, command := permission.Line(c.tool, json.RawMessage(c.args)); got != c.want || command != c.command {
			t.Errorf("%s %s is %q, %v; want %q, %v", c.tool, c.args, got, command, c.want, c.command)
		}
	}
}
