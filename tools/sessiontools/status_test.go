package sessiontools_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestStatusOfOnesOwn(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	got, out := call[map[string]any](t, f, "agent:eden:main", "session_status", `{}`)
	text := `Session: agent:eden:main
Model: fake/echo-2
Tokens: 900 in, 100 out, 1000 of 64000 in view (1%)
Messages: 4
Queue: no run under way; 0 waiting
Lane: main
Time: ` + "2026-09-22T00:13:20Z"
	want := map[string]any{
		"ok": true, "sessionKey": "agent:eden:main", "sessionId": "id-eden", "agentId": "eden", "modelProvider": "fake", "model": "echo-2",
		"modelOverride": false, "changedModel": false, "inputTokens": 900.0, "outputTokens": 100.0, "totalTokens": 1000.0, "contextTokens": 64000.0,
		"messages": 4.0, "running": false, "queueDepth": 0.0, "lane": "main", "updatedAt": float64(base + 12*60_000),
		"now": "2026-09-22T00:13:20Z", "statusText": text,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(text, out.Text); diff != "" {
		t.Error(diff)
	}
	// One that has not started has a card too.
	got, _ = call[map[string]any](t, f, "agent:seum:new", "session_status", `{"sessionKey":""}`)
	if got["sessionKey"] != "agent:seum:new" || got["model"] != "echo-1" || got["sessionId"] != nil {
		t.Errorf("%v", got)
	}
}

// The card shows what waits, for how long, and what is running.
func TestStatusOfQueues(t *testing.T) {
	t.Parallel()
	queued := func(minutes int64, id string) eventstore.StreamAppend {
		return eventstore.StreamAppend{Stream: "run/" + id, Events: []eventstore.NewEvent{event(minutes, coordination.TypeRunQueued,
			fmt.Sprintf(`"runId":%q,"sessionKey":"agent:eden:main","lane":"nested","cause":"agent","message":"x"`, id))}}
	}
	f := setup(t, "", team()...)
	read := func() map[string]any {
		got, _ := call[map[string]any](t, f, "agent:eden:main", "session_status", `{}`)
		return got
	}
	for _, a := range []eventstore.StreamAppend{queued(10, "r1"), queued(20, "r2"), queued(30, "r3")} {
		if _, err := f.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(); got["queueDepth"] != 3.0 || got["running"] != false || got["lane"] != "nested" || got["oldestWaitMs"] != float64(590*60_000) {
		t.Errorf("three wait: %v", got)
	}
	started := event(40, coordination.TypeRunStarted, fmt.Sprintf(`"runId":"r1","sessionKey":"agent:eden:main","sessionId":"id-eden","startedAtMs":%d,"model":"fake/echo-1"`, base+40*60_000))
	if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "run/r1", Events: []eventstore.NewEvent{started}}); err != nil {
		t.Fatal(err)
	}
	got := read()
	if got["queueDepth"] != 2.0 || got["running"] != true || got["runId"] != "r1" || got["startedAt"] != float64(base+40*60_000) || got["lane"] != "nested" {
		t.Errorf("one runs: %v", got)
	}
}

// An agent sets the model of its own sessions, for the next run on; the log has who did it. Nothing else changes.
func TestStatusSetsTheModel(t *testing.T) {
	t.Parallel()
	f := setup(t, all, team()...)
	modelOf := func(key string) (set string) {
		t.Helper()
		err := f.View(t.Context(), func(tx *sql.Tx) error {
			one, err := sessions.ByKey(t.Context(), tx, key)
			if one != nil {
				set = one.Settings.Text("model")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	change := func(args string) map[string]any {
		t.Helper()
		got, out := call[map[string]any](t, f, "agent:eden:main", "session_status", args)
		if out.IsError {
			t.Fatalf("%s: %s", args, out.Text)
		}
		return got
	}
	if got := change(`{"model":"echo-2"}`); got["model"] != "echo-2" || got["modelOverride"] != true || got["changedModel"] != true || modelOf("agent:eden:main") != "fake/echo-2" {
		t.Errorf("%v", got)
	}
	if got := change(`{"model":"other/big/one","sessionKey":"조사"}`); got["modelProvider"] != "other" || got["model"] != "big/one" || modelOf("agent:eden:subagent:s1") != "other/big/one" {
		t.Errorf("%v", got)
	}
	if got := change(`{"model":"Default"}`); got["model"] != "echo-2" || got["modelOverride"] != false || modelOf("agent:eden:main") != "" {
		t.Errorf("%v", got) // the one that answered last
	}

	f.checks = func(ref string) error { return errors.New("model " + ref + " needs a key; token=abcdef123456") }
	for args, want := range map[string]string{
		`{"model":"echo-2","sessionKey":"agent:seum:main"}`: `{"status":"forbidden","error":"an agent sets the models of its own sessions only","sessionKey":"agent:seum:main"}`,
		`{"model":"none"}`: `{"status":"error","error":"model fake/none needs a key; token=***"}`,
		`{"model":"echo-2","sessionKey":"agent:eden:none"}`: `{"status":"error","error":"no session has this key, id or label; sessions_list shows those that exist","sessionKey":"agent:eden:none"}`,
	} {
		if _, out := call[struct{}](t, f, "agent:eden:main", "session_status", args); !out.IsError || out.Text != want {
			t.Errorf("%s: %s", args, out.Text)
		}
	}
	f.checks = nil
	if _, out := call[struct{}](t, f, "agent:eden:new", "session_status", `{"model":"echo-2"}`); !out.IsError || modelOf("agent:eden:new") != "" {
		t.Errorf("a session that has not started: %s", out.Text)
	}
	if _, out := call[struct{}](t, f, "agent:eden:main", "session_status", `{"model":"a\u0000b/c"}`); !out.IsError || modelOf("agent:eden:main") != "" {
		t.Errorf("an invalid model: %s", out.Text)
	}

	var patched []string
	log, err := f.Read(t.Context(), 0, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log {
		var data coordination.SessionPatched
		if e.Type == coordination.TypeSessionPatched && json.Unmarshal(e.Data, &data) == nil && data.By != "" {
			patched = append(patched, fmt.Sprint(e.Actor, " ", data.By, " ", data.SessionKey, " ", string(data.Set), data.Unset))
		}
	}
	if diff := cmp.Diff([]string{`agent agent/eden agent:eden:main {"model":"fake/echo-2"}[]`, `agent agent/eden agent:eden:subagent:s1 {"model":"other/big/one"}[]`,
		`agent agent/eden agent:eden:main [model]`}, patched); diff != "" {
		t.Error(diff)
	}
}

// A caller that has left gets its ctx's error, and nothing is written.
func TestCallersThatHaveGone(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.box.Call(ctx, caller("agent:eden:main"), "session_status", json.RawMessage(`{"model":"echo-2"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
