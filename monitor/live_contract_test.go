package monitor_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
)

// TestFramesKeepTheContract holds real frames against openapi.yaml as it is served.
func TestFramesKeepTheContract(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.importing(t, `{broken`, event("continuation.sent", "eden", 8, `"taskId":"t1"`), `{"type":"note"}`)
	b.appending(t, "work_session.category_set", `{"workSessionId":"ws_talk","category":"infra_ops"}`)
	b.appending(t, "config.applied", `{"agents":[{"id":"eden","name":"Eden"}]}`)
	contract := newContract(t, b)
	b.running(t)
	l, _, err := b.handshake(t, "/ws?since=0&scope=all")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for !told["config_update"] {
		told[contract.frame(t, l)] = true
	}
	b.monitor.Publish(push.Message{Type: "task_update", AgentID: "eden", TaskID: "t1", Data: []string{"any"}})
	b.monitor.Publish(push.Message{Type: "team_state_update"})
	for !told["team_state_update"] {
		told[contract.frame(t, l)] = true
	}
	for _, typ := range []string{"connected", "coordination_event_new", "work_session_update", "task_update"} {
		if !told[typ] {
			t.Errorf("no %s", typ)
		}
	}
}

// TestRefusalsToConnectKeepTheContract does the same for those who may not connect.
func TestRefusalsToConnectKeepTheContract(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Push.StartWait = time.Millisecond })
	contract := newContract(t, b)
	for _, c := range []struct {
		path   string
		status int
		header []string
	}{
		{"/ws?since=x", 400, nil}, {"/ws", 403, []string{"Origin", "https://evil.example"}}, {"/ws", 421, []string{"Host", "evil.example"}}, {"/ws", 503, nil},
	} {
		_, response, err := b.handshake(t, c.path, c.header...)
		if err == nil {
			t.Fatalf("%s %v: connected", c.path, c.header)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		contract.hold(t, http.MethodGet, c.path, c.status, response, body)
	}
}

// frame reads a frame, holds it and the data of those types that have a shape of their own against the contract, and returns its type.
func (c *contract) frame(t *testing.T, l *listener) string {
	t.Helper()
	_, text, err := l.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	frame := map[string]any{}
	if err := json.Unmarshal(text, &frame); err != nil {
		t.Fatal(err)
	}
	schemas := c.document.Components.Schemas
	if err := schemas["Frame"].Value.VisitJSON(frame); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	typ, _ := frame["type"].(string)
	if shape := map[string]string{"connected": "Connected", "coordination_event_new": "PushedEvents"}[typ]; shape != "" {
		if err := schemas[shape].Value.VisitJSON(frame["data"]); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	return typ
}
