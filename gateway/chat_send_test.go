package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// call asks over the wire and gives the answer as it came.
func (h *heard) call(t *testing.T, method, params string) (string, *protocol.Error) {
	t.Helper()
	got, err := h.Call(t.Context(), method, json.RawMessage(params))
	var refused *protocol.Error
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	return string(got), refused
}

// Clients choose the ids of their runs, but none of those of scheduled jobs.
func TestNoClientNamesARunOfAJob(t *testing.T) {
	t.Parallel()
	_, _, url := staged(t)
	c := listen(t, url, client.Options{}, "chat")
	for _, method := range []string{"chat.send", "agent"} {
		got, err := c.call(t, method, `{"sessionKey":"agent:eden:s1","message":"hello","idempotencyKey":"cron:j:1"}`)
		if err == nil {
			t.Errorf("%s: got %s, want a refusal", method, got)
			continue
		}
		details, _ := json.Marshal(err.Details)
		if !strings.Contains(string(details), `"field":"idempotencyKey"`) || !strings.Contains(string(details), "UUID") {
			t.Errorf("%s: %v, %s", method, err, details)
		}
	}
}

// chat.send returns the state of the message, however often it is sent.
func TestSendingSaysHowItStands(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "chat")
	const broken = "The run was interrupted because the gateway stopped or lost it. Ask again."
	for i, one := range []struct {
		state         run.State
		over          coordination.RunOver
		again, refuse string
	}{
		{run.OK, coordination.RunOver{Text: "x"}, "ok", ""},
		{run.Failed, coordination.RunOver{Error: "500", ErrorClass: "overloaded"}, "ok", ""},
		{run.Failed, coordination.RunOver{Error: "no files", ErrorClass: "prompt"}, "error", "no files"},
		{run.Aborted, coordination.RunOver{Reason: "rpc"}, "ok", ""},
		{run.Aborted, coordination.RunOver{Reason: "restart"}, "error", broken},
	} {
		id := fmt.Sprintf("c%d", i)
		params := fmt.Sprintf(`{"sessionKey":"main","message":"hi","idempotencyKey":%q,"timeoutMs":1500}`, id)
		for _, status := range []string{"started", "in_flight"} {
			if got, refused := c.call(t, "chat.send", params); refused != nil || got != fmt.Sprintf(`{"runId":%q,"status":%q}`, id, status) {
				t.Errorf("%s %v", got, refused)
			}
		}
		if ask := agents.ask(); ask.Cause != "chat" || ask.Session.String() != "agent:main:main" || ask.TimeoutMs == nil || *ask.TimeoutMs != 1500 {
			t.Errorf("%+v", ask)
		}
		agents.begin(id)
		agents.end(id, one.state, one.over)
		got, refused := c.call(t, "chat.send", params)
		switch {
		case one.refuse == "" && (refused != nil || got != fmt.Sprintf(`{"runId":%q,"status":"ok"}`, id)):
			t.Errorf("%s %v", got, refused)
		case one.refuse != "" && (refused == nil || refused.Message != one.refuse || refused.Code != protocol.CodeUnavailable ||
			got != fmt.Sprintf(`{"runId":%q,"status":"error","summary":%q}`, id, one.refuse)):
			t.Errorf("%s %v", got, refused)
		}
	}
}

// A person waits for the answer to chat.send, but for the end of a run that agent has asked for.
func TestSendingIsUrgent(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := listen(t, url, client.Options{})
	for i, method := range []string{"chat.send", "agent"} {
		if _, refused := c.call(t, method, fmt.Sprintf(`{"sessionKey":"main","message":"hi","idempotencyKey":"u%d"}`, i)); refused != nil {
			t.Fatal(refused)
		}
	}
	agents.mu.Lock()
	defer agents.mu.Unlock()
	if diff := cmp.Diff([]bool{true, false}, agents.urgent); diff != "" {
		t.Errorf("chat.send, agent (-want +got):\n%s", diff)
	}
}

// Stopping a session stops all its work, whichever client requested it, and all clients are notified before the answer.
func TestStopping(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "agent", "chat")
	over[any](t, c.Client, "chat.send", json.RawMessage(`{"sessionKey":"agent:eden:s","message":"x","idempotencyKey":"a"}`))
	go func() {
		_, _ = final(t, c.Client, `{"sessionKey":"agent:eden:s","message":"x","idempotencyKey":"b"}`, nil)
	}()
	<-agents.asked
	<-agents.asked
	if _, refused := c.call(t, "chat.abort", `{"sessionKey":"agent:eden:other","runId":"a"}`); refused == nil ||
		refused.Message != "runId does not match sessionKey" || refused.Code != protocol.CodeInvalidRequest {
		t.Errorf("%+v", refused)
	}
	if got, _ := c.call(t, "chat.abort", `{"sessionKey":"agent:eden:s","runId":"a"}`); got != `{"ok":true,"aborted":true,"runIds":["a"]}` {
		t.Error(got)
	}
	at := b.now.Load()
	ended := func(id, reason string) []string {
		return []string{fmt.Sprintf(`agent {"runId":%q,"stream":"lifecycle","data":{"phase":"end","endedAt":%d,"aborted":true},"sessionKey":"agent:eden:s","seq":1,"ts":%d}`, id, at, at),
			fmt.Sprintf(`chat {"runId":%q,"sessionKey":"agent:eden:s","seq":1,"state":"aborted","message":{"role":"assistant","content":[{"type":"text","text":"so far"}],"timestamp":%d},"stopReason":%q}`, id, at, reason)}
	}
	if len(c.events) != 2 {
		t.Errorf("%d events before the answer", len(c.events))
	}
	c.expect(t, ended("a", "rpc")...)
	if got, _ := c.call(t, "chat.abort", `{"sessionKey":"agent:eden:s","runId":"a"}`); got != `{"ok":true,"aborted":false,"runIds":[]}` {
		t.Error(got)
	}
	if got, _ := c.call(t, "chat.send", `{"sessionKey":"agent:eden:s","message":" STOP! ","idempotencyKey":"stop"}`); got != `{"ok":true,"aborted":true,"runIds":["b"]}` {
		t.Error(got)
	}
	c.expect(t, ended("b", "stop")...)
	if len(agents.asks) != 2 {
		t.Errorf("%+v", agents.asks)
	}
}

// A session is stopped before it is reset or deleted, but not if that is refused.
func TestSessionsAreStoppedBeforeTheyStartOver(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "agent")
	send := func(key, id string) {
		over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": key, "message": "x", "idempotencyKey": id})
	}
	b.patch(t, `{"key":"agent:eden:s"}`)
	send("main", "m")
	send("agent:eden:s", "s1")
	for method, params := range map[string]string{"sessions.delete": `{"key":"main"}`, "sessions.reset": `{"key":"agent:eden:s","expectedSessionId":"no"}`} {
		if _, refused := c.call(t, method, params); refused == nil {
			t.Errorf("%s %s was done", method, params)
		}
	}
	if len(agents.stops) != 0 {
		t.Errorf("%+v", agents.stops)
	}
	over[any](t, c.Client, "sessions.reset", map[string]string{"key": "agent:eden:s"})
	send("agent:eden:s", "s2")
	over[any](t, c.Client, "sessions.delete", map[string]string{"key": "agent:eden:s"})
	reasons := ""
	for _, stop := range agents.stops {
		reasons += stop.Reason + " " + stop.SessionKey + ";"
	}
	if reasons != "reset agent:eden:s;delete agent:eden:s;" {
		t.Error(reasons)
	}
	for _, id := range []string{"s1", "s2"} {
		if e := c.next(t); !strings.Contains(string(e.Payload), `"runId":"`+id+`"`) || !strings.Contains(string(e.Payload), `"aborted":true`) {
			t.Errorf("%s", e.Payload)
		}
	}
}

// Commands are answered without a model, once for each key, and stand in the transcript.
func TestCommands(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "chat", "agent")
	for i, one := range []struct{ typed, says string }{
		{"/help", "Commands:\n/help: list these commands\n"},
		{"/model", "Model: fake/echo-1\nConfigured: fake/echo-1, fake/echo-2"},
		{"/model ECHO-2", "Model: fake/echo-2"},
		{"/model nope", `There is no model "nope". Configured: fake/echo-1, fake/echo-2`},
		{"/think", "Thinking: low"},
		{"/think: high", "Thinking: high"},
		{"/think much", "invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{"/verbose full", "Verbose: full"},
		{"/verbose", "Verbose: full"},
		{"/queue", "No runs are active or queued in this session."},
		{" /Status ", "openclawd test\nSession: agent:main:main, agent main\nModel: fake/echo-2, thinking high, verbose full\nRuns: 0 running, 0 waiting"},
		{"/new", "The session starts over."},
	} {
		id := fmt.Sprintf("cmd-%d", i)
		params := fmt.Sprintf(`{"sessionKey":"MAIN","message":%q,"idempotencyKey":%q}`, one.typed, id)
		if got, refused := c.call(t, "chat.send", params); got != fmt.Sprintf(`{"runId":%q,"status":"started"}`, id) {
			t.Errorf("%s: %s %v", one.typed, got, refused)
		}
		var told struct {
			RunID, SessionKey, State string
			Seq                      int64
			Message                  message
		}
		if e := c.next(t); e.Name != "chat" || json.Unmarshal(e.Payload, &told) != nil {
			t.Fatalf("%s %s", e.Name, e.Payload)
		}
		if told.RunID != id || told.SessionKey != "MAIN" || told.State != "final" || told.Seq != 1 || told.Message.Model != "gateway-injected" ||
			told.Message.Provider != "openclaw" || !strings.HasPrefix(told.Message.Content[0].Text, one.says) {
			t.Errorf("%s: %+v", one.typed, told)
		}
		if got, _ := c.call(t, "chat.send", params); got != fmt.Sprintf(`{"runId":%q,"status":"ok"}`, id) {
			t.Errorf("%s again: %s", one.typed, got)
		}
		h := want[history](t, b, "chat.history", `{"sessionKey":"main","limit":1}`).Messages
		if len(h) != 1 || h[0].Role != "assistant" || !strings.HasPrefix(h[0].Content[0].Text, one.says) {
			t.Errorf("%s: %+v", one.typed, h)
		}
	}
	c.silence(t)
	if len(agents.asks) != 0 {
		t.Errorf("%+v", agents.asks)
	}
	for i, typed := range []string{"/unknown x", "/new with a word", "/stop it now"} { // these are the model's
		over[any](t, c.Client, "chat.send", map[string]any{"sessionKey": "main", "message": typed, "idempotencyKey": fmt.Sprint(i)})
	}
	over[any](t, c.Client, "chat.send", map[string]any{"sessionKey": "main", "message": "/help", "idempotencyKey": "as-it-is", "suppressCommandInterpretation": true})
	if len(agents.asks) != 4 || agents.asks[1].Reset != "new" || agents.asks[1].Message != "with a word" || agents.asks[3].Message != "/help" {
		t.Errorf("%+v", agents.asks)
	}
	listed := over[struct{ Commands []struct{ Name string } }](t, c.Client, "commands.list", struct{}{}).Commands
	if len(listed) != 9 || listed[0].Name != "help" {
		t.Errorf("%+v", listed)
	}
}

// agent.wait in all its states.
func TestWaitingForARun(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{})
	send := func(id string) {
		over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": "main", "message": "x", "idempotencyKey": id})
	}
	at := b.now.Load()
	wait := func(id string, ms int) string {
		got, refused := c.call(t, "agent.wait", fmt.Sprintf(`{"runId":%q,"timeoutMs":%d}`, id, ms))
		if refused != nil {
			t.Error(refused)
		}
		return got
	}
	expect := func(got, wanted string) {
		t.Helper()
		if wanted = strings.ReplaceAll(wanted, "AT", fmt.Sprint(at)); got != wanted {
			t.Errorf("\ngot  %s\nwant %s", got, wanted)
		}
	}
	expect(wait("stranger", 10), `{"runId":"stranger","status":"timeout","state":"unknown"}`)
	send("w1")
	send("w2")
	expect(wait("w1", 0), `{"runId":"w1","status":"timeout","state":"running","queueAhead":0}`)
	expect(wait("w2", 10), `{"runId":"w2","status":"timeout","state":"running","queueAhead":1}`)
	agents.begin("w1")
	expect(wait("w1", 10), `{"runId":"w1","status":"timeout","state":"running"}`)
	waited := make(chan string, 1)
	go func() { waited <- wait("w1", 60_000) }()
	agents.end("w1", run.OK, coordination.RunOver{Text: "x"})
	expect(<-waited, `{"runId":"w1","status":"ok","state":"ok","startedAt":AT,"endedAt":AT}`)
	for id, one := range map[string]struct {
		state  run.State
		wanted string
	}{
		"w3": {run.Failed, `{"runId":"w3","status":"error","state":"error","startedAt":AT,"endedAt":AT,"error":"400 no"}`},
		"w4": {run.TimedOut, `{"runId":"w4","status":"timeout","state":"timed_out","startedAt":AT,"endedAt":AT}`},
		"w5": {run.Aborted, `{"runId":"w5","status":"timeout","state":"aborted","startedAt":AT,"endedAt":AT}`},
	} {
		send(id)
		agents.begin(id)
		agents.end(id, one.state, coordination.RunOver{Error: "400 no"})
		expect(wait(id, 0), one.wanted)
	}
}

// Waiting work is shown in session lists while it waits.
func TestQueuesAreShown(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{})
	b.patch(t, `{"key":"agent:eden:s"}`)
	b.patch(t, `{"key":"agent:eden:idle"}`)
	type queue struct{ Depth, Running, OldestWaitMs int }
	type shown struct {
		Key   string
		Queue *queue
	}
	list := func() map[string]*queue {
		got := map[string]*queue{}
		for _, row := range over[struct{ Sessions []shown }](t, c.Client, "sessions.list", struct{}{}).Sessions {
			got[row.Key] = row.Queue
		}
		return got
	}
	if got := list(); got["agent:eden:s"] != nil {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{"q1", "q2"} {
		over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": "agent:eden:s", "message": "say " + id, "idempotencyKey": id})
	}
	b.tick(3 * time.Second)
	if got := list(); got["agent:eden:s"] == nil || *got["agent:eden:s"] != (queue{2, 0, 3000}) || got["agent:eden:idle"] != nil {
		t.Errorf("%+v", got["agent:eden:s"])
	}
	if got := over[struct{ Session shown }](t, c.Client, "sessions.describe", map[string]string{"key": "agent:eden:s"}).Session; got.Queue == nil || got.Queue.Depth != 2 {
		t.Errorf("%+v", got)
	}
	status := over[struct {
		Lanes []struct {
			Lane, AgentID                  string
			Waiting, Running, OldestWaitMs int
		}
		Sessions struct{ Recent []shown }
	}](t, c.Client, "status", struct{}{})
	if len(status.Lanes) != 1 || status.Lanes[0].Lane != "main" || status.Lanes[0].Waiting != 2 || status.Lanes[0].OldestWaitMs != 3000 {
		t.Errorf("%+v", status.Lanes)
	}
	if r := status.Sessions.Recent; len(r) != 2 || r[0].Queue == nil && r[1].Queue == nil {
		t.Errorf("%+v", r)
	}
	pending := over[struct {
		PendingInputs struct {
			Total int
			Items []struct {
				RunID, Status string
				Message       message
			}
		}
	}](t, c.Client, "chat.history", map[string]string{"sessionKey": "agent:eden:s"}).PendingInputs
	if pending.Total != 2 || len(pending.Items) != 2 || pending.Items[0].RunID != "q1" || pending.Items[0].Message.Content[0].Text != "say q1" ||
		pending.Items[0].Message.Role != "user" {
		t.Errorf("%+v", pending)
	}
	if got, _ := c.call(t, "chat.send", `{"sessionKey":"agent:eden:s","message":"/queue","idempotencyKey":"q"}`); got == "" || len(agents.asks) != 2 {
		t.Error(got)
	}
}

// No one hears the end of a run of the original's terminal program before that has read that its message was accepted, nor what happens in the
// session after that; in other sessions it goes on.
func TestTheTerminalHearsTheEndAfterTheAnswer(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	reads, started := make(chan struct{}), make(chan struct{})
	stall := sync.OnceFunc(func() {
		close(started)
		<-reads
	})
	terminal := dial(t, url, client.Options{ID: "gateway-client", DisplayName: "openclaw-tui", Mode: "ui", Event: func(e client.Event) {
		if e.Name == "agent" {
			stall()
		}
	}})
	other := listen(t, url, client.Options{}, "agent", "chat")
	begin := func(key, id string) {
		t.Helper()
		over[any](t, other.Client, "chat.send", map[string]string{"sessionKey": key, "message": "x", "idempotencyKey": id})
		<-agents.asked
	}
	begin("agent:eden:s", "a")
	agents.begin("a")
	other.next(t)
	<-started // from now on the terminal reads nothing
	start := time.Now()
	var sent sync.WaitGroup
	for _, id := range []string{"quick", "next"} {
		sent.Go(func() {
			over[any](t, terminal, "chat.send", map[string]string{"sessionKey": "agent:main:main", "message": "x", "idempotencyKey": id})
		})
		<-agents.asked
	}
	agents.begin("quick")
	agents.end("quick", run.OK, coordination.RunOver{Text: "pong"})
	agents.begin("next")
	agents.does("next", run.Update{Kind: run.Text, Text: "a"})
	agents.does("next", run.Update{Kind: run.Text, Text: "ab"})
	agents.end("next", run.OK, coordination.RunOver{Text: "abc"})
	agents.end("a", run.OK, coordination.RunOver{Text: "done"})
	told := func() string {
		e := other.next(t)
		var p struct {
			RunID, State string
			Data         struct{ Phase, Text string }
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		return p.RunID + " " + p.State + p.Data.Phase + p.Data.Text
	}
	want := []string{"quick start", "a end", "a final", "quick end", "quick final", "next start", "next ab", "next delta", "next end", "next final"}
	for i, one := range want {
		if i == 3 {
			over[any](t, other.Client, "health", nil)
			if n := len(other.events); n != 0 && time.Since(start) < wire.DefaultReadTime {
				t.Errorf("%d events were told before the terminal had read its answer", n)
			}
			close(reads)
		}
		if got := told(); got != one && (i < 3 || time.Since(start) < wire.DefaultReadTime) {
			t.Errorf("told %q, want %q", got, one)
		}
	}
	sent.Wait()
	again, end := time.NewTicker(time.Millisecond), time.After(testscale.Patience)
	defer again.Stop()
	for b.server.Held() != 0 {
		select {
		case <-again.C:
		case <-end:
			t.Fatal("something is held back for ever")
		}
	}
}

// The answer to a command is told to the original's terminal program when it has read that the command was accepted.
func TestTheTerminalHearsWhatCommandsSay(t *testing.T) {
	t.Parallel()
	_, _, url := staged(t)
	tui := listen(t, url, client.Options{ID: "gateway-client", DisplayName: "openclaw-tui", Mode: "ui"}, "chat")
	for range 20 {
		over[any](t, tui.Client, "chat.send", map[string]string{"sessionKey": "main", "message": "/help", "idempotencyKey": uuid.NewString()})
		if e := tui.next(t); !strings.Contains(string(e.Payload), "Commands:") {
			t.Errorf("%s", e.Payload)
		}
	}
}

// A command whose request is sent again does nothing again, also after a restart; nor does one whose key was a run's.
func TestCommandsAreDoneOnce(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{})
	over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": "main", "message": "x", "idempotencyKey": "run"})
	const params = `{"sessionKey":"main","message":"/new","idempotencyKey":"new"}`
	if got, refused := c.call(t, "chat.send", params); got != `{"runId":"new","status":"started"}` {
		t.Fatalf("%s %v", got, refused)
	}
	before := len(b.events(t, coordination.SessionStream(coordination.MainKey("main"))))
	if got, _ := c.call(t, "chat.send", `{"sessionKey":"main","message":"/new","idempotencyKey":"run"}`); got != `{"runId":"run","status":"ok"}` {
		t.Error(got)
	}
	var many sync.WaitGroup
	for range 8 {
		many.Go(func() {
			got, refused := c.call(t, "chat.send", `{"sessionKey":"main","message":"/reset","idempotencyKey":"reset"}`)
			if refused != nil || !strings.HasPrefix(got, `{"runId":"reset","status":"`) {
				t.Errorf("%s %v", got, refused)
			}
		})
	}
	many.Wait()
	if n := len(b.events(t, coordination.SessionStream(coordination.MainKey("main")))); n != before+2 { // it has started over, and said so
		t.Errorf("%d events after %d", n, before)
	}
	_ = c.Close()
	b.runs = agents
	b.reopen(t)
	c = listen(t, b.serve(t), client.Options{})
	if got, refused := c.call(t, "chat.send", params); got != `{"runId":"new","status":"ok"}` {
		t.Errorf("%s %v", got, refused)
	}
	if n := len(b.events(t, coordination.SessionStream(coordination.MainKey("main")))); n != before+2 {
		t.Errorf("%d events after a restart, %d before", n, before+2)
	}
}

// A stop word stops once for each key: what begins later goes on when the request is sent again, also after a restart.
func TestStopWordsStopOnce(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{})
	send := func(id, message string) string {
		t.Helper()
		got, refused := c.call(t, "chat.send", fmt.Sprintf(`{"sessionKey":"agent:eden:s","message":%q,"idempotencyKey":%q}`, message, id))
		if refused != nil {
			t.Error(refused)
		}
		return got
	}
	for _, one := range []struct{ id, message, answer string }{
		{"nothing", "stop", `{"ok":true,"aborted":false,"runIds":[]}`},
		{"a", "x", `{"runId":"a","status":"started"}`},
		{"some", "Wait!", `{"ok":true,"aborted":true,"runIds":["a"]}`},
		{"b", "x", `{"runId":"b","status":"started"}`},
		{"nothing", "stop", `{"runId":"nothing","status":"ok"}`},
		{"some", "wait", `{"runId":"some","status":"ok"}`},
		{"some", "/help", `{"runId":"some","status":"ok"}`},
		{"b", "stop", `{"runId":"b","status":"in_flight"}`},
	} {
		if got := send(one.id, one.message); got != one.answer {
			t.Errorf("%s %s: %s, want %s", one.id, one.message, got, one.answer)
		}
	}
	said := want[history](t, b, "chat.history", `{"sessionKey":"agent:eden:s"}`).Messages
	if len(said) != 2 || said[0].Content[0].Text != "There was nothing to stop." || said[1].Content[0].Text != "Stopped." {
		t.Errorf("%+v", said)
	}
	_ = c.Close()
	b.runs = agents
	b.reopen(t)
	c = listen(t, b.serve(t), client.Options{})
	if got := send("some", "wait"); got != `{"runId":"some","status":"ok"}` {
		t.Error(got)
	}
	if r, _, _ := agents.Get(t.Context(), "b"); r.State.Over() || len(agents.stops) != 2 {
		t.Errorf("%+v, stopped %+v", r, agents.stops)
	}
}

// A run that repeats an interrupted one takes its place in agent.wait and in /queue.
func TestWhatIsRunAgainKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "chat")
	for _, id := range []string{"w1", "w2", "w3"} {
		over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": "main", "message": "x", "idempotencyKey": id})
	}
	at := b.now.Load()
	broken, err := run.End(*agents.runs["w1"], run.Aborted, coordination.RunOver{Reason: "restart", EndedAtMs: at})
	if err != nil {
		t.Fatal(err)
	}
	again := *agents.runs["w1"]
	again.RunID, again.RetryOf = "w1-again", "w1"
	q := coordination.RunQueued{RunID: "w1", SessionKey: again.SessionKey, Cause: "chat", Message: "x"}
	if _, err = agents.append(t.Context(), "w1", at, broken); err == nil {
		again.Seq, err = agents.append(t.Context(), "w1-again", at, run.Retry(q, "w1-again"))
	}
	if err != nil {
		t.Fatal(err)
	}
	agents.mu.Lock()
	agents.runs["w1-again"] = &again
	agents.mu.Unlock()
	for ahead, id := range []string{"w1-again", "w2", "w3"} {
		got, refused := c.call(t, "agent.wait", fmt.Sprintf(`{"runId":%q,"timeoutMs":0}`, id))
		if wanted := fmt.Sprintf(`{"runId":%q,"status":"timeout","state":"running","queueAhead":%d}`, id, ahead); refused != nil || got != wanted {
			t.Errorf("%s %v, want %s", got, refused, wanted)
		}
	}
	over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": "main", "message": "/queue", "idempotencyKey": "q"})
	const shown = `3 in this session:\nqueued w1-again, asked for 0 s ago\nqueued w2, asked for 0 s ago\nqueued w3, asked for 0 s ago`
	if e := c.next(t); !strings.Contains(string(e.Payload), shown) {
		t.Errorf("%s", e.Payload)
	}
}

// broken is agents whose queue panics.
type broken struct{ *stage }

func (broken) Queue(context.Context, run.Ask) (run.Accepted, error) { panic("no queue") }

// A message for the terminal that cannot even be queued holds nothing back.
func TestAPanicInTheQueueHoldsNothingBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.runs = broken{newStage(b)}
	b.reopen(t)
	tui := listen(t, b.serve(t), client.Options{ID: "gateway-client", DisplayName: "openclaw-tui", Mode: "ui"})
	if _, refused := tui.call(t, "chat.send", `{"sessionKey":"main","message":"x","idempotencyKey":"k"}`); refused == nil ||
		refused.Message != "internal error in chat.send" {
		t.Errorf("%+v", refused)
	}
	if n := b.server.Held(); n != 0 {
		t.Errorf("%d are held back", n)
	}
}
