package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// final asks agent and gives both answers, the first one through accepted.
func final(t *testing.T, c *client.Client, params string, accepted func(json.RawMessage)) (string, error) {
	t.Helper()
	payload, err := c.CallFinal(t.Context(), "agent", json.RawMessage(params), accepted)
	return string(payload), err
}

// A run from its message to its end, as everybody is told of it, to the byte: the events in order, and after them the second answer.
func TestARunAsClientsSeeIt(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{MaxProtocol: 3}, "agent", "chat")
	other := listen(t, url, client.Options{Scopes: []string{}}, "agent", "chat")
	at := b.now.Load()
	first := make(chan string, 1)
	second := make(chan string, 1)
	go func() {
		got, err := final(t, c.Client, `{"message":"hello","sessionKey":"AGENT:eden:main","idempotencyKey":"r-1"}`, func(p json.RawMessage) { first <- string(p) })
		second <- fmt.Sprint(got, err)
	}()
	if got, wanted := <-first, fmt.Sprintf(`{"runId":"r-1","status":"accepted","acceptedAt":%d}`, at); got != wanted {
		t.Errorf("\ngot  %s\nwant %s", got, wanted)
	}
	agents.begin("r-1")
	agents.does("r-1", run.Update{Kind: run.Thinking, Delta: "hm"})
	agents.does("r-1", run.Update{Kind: run.Text, Text: "Hel", Delta: "Hel"})
	b.tick(100 * time.Millisecond)
	agents.does("r-1", run.Update{Kind: run.Text, Text: "Hello", Delta: "lo"})
	b.tick(50 * time.Millisecond)
	agents.does("r-1", run.Update{Kind: run.Text, Text: "Hello <b>", Delta: " <b>"})
	b.tick(time.Second)
	agents.does("r-1", run.Update{Kind: run.Text, Text: "Again", Delta: "Again", Replaces: true})
	agents.end("r-1", run.OK, coordination.RunOver{Text: "Again", Provider: "fake", Model: "echo-1", Usage: &coordination.SessionUsage{Input: 100, Output: 20, Total: 120},
		LastUsage: &coordination.SessionUsage{Input: 50, Output: 10, Total: 60}, Prompt: json.RawMessage(`{"chars":7}`)})
	message := func(text string, at int64) string {
		return fmt.Sprintf(`"message":{"role":"assistant","content":[{"type":"text","text":%q}],"timestamp":%d}`, text, at)
	}
	agent := func(stream, data string, seq int, at int64) string {
		return fmt.Sprintf(`agent {"runId":"r-1","stream":%q,"data":%s,"sessionKey":"agent:eden:main","seq":%d,"ts":%d}`, stream, data, seq, at)
	}
	chat := func(seq int, state, rest string) string {
		return fmt.Sprintf(`chat {"runId":"r-1","sessionKey":"agent:eden:main","seq":%d,"state":%q,%s}`, seq, state, rest)
	}
	for _, one := range []*heard{c, other} {
		one.expect(t,
			agent("lifecycle", fmt.Sprintf(`{"phase":"start","startedAt":%d}`, at), 1, at),
			agent("assistant", `{"text":"Hel","delta":"Hel"}`, 2, at),
			chat(2, "delta", message("Hel", at)+`,"deltaText":"Hel"`),
			agent("assistant", `{"text":"Hello","delta":"lo"}`, 3, at+100),
			agent("assistant", `{"text":"Hello <b>","delta":" <b>"}`, 4, at+150),
			chat(4, "delta", message("Hello <b>", at+150)+`,"deltaText":"lo <b>"`),
			agent("assistant", `{"text":"Again","delta":"Again"}`, 5, at+1150),
			chat(5, "delta", message("Again", at+1150)+`,"deltaText":"Again","replace":true`),
			agent("lifecycle", fmt.Sprintf(`{"phase":"end","endedAt":%d}`, at+1150), 6, at+1150),
			chat(6, "final", message("Again", at+1150)))
	}
	wanted := `{"runId":"r-1","status":"ok","summary":"completed","result":{"payloads":[{"text":"Again","mediaUrl":null}],"meta":{"durationMs":1150,` +
		`"agentMeta":{"sessionId":"t-1","provider":"fake","model":"echo-1","usage":{"input":100,"output":20,"total":120},` +
		`"lastCallUsage":{"input":50,"output":10,"total":60},"promptTokens":50},"aborted":false,"systemPromptReport":{"chars":7}}}}<nil>`
	if got := <-second; got != wanted {
		t.Errorf("\ngot  %s\nwant %s", got, wanted)
	}
	c.silence(t)

	again, err := c.Call(t.Context(), "agent", json.RawMessage(`{"message":"other","sessionKey":"agent:eden","idempotencyKey":"r-1"}`))
	if string(again)+"<nil>" != wanted || err != nil {
		t.Errorf("again, with parameters that are wrong: %s %v", again, err)
	}
	if n := len(agents.asks); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// However a run ends, its caller gets an answer in a form that clients know.
func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "agent", "chat")
	at := b.now.Load()
	for i, one := range []struct {
		state            run.State
		over             coordination.RunOver
		lifecycle, chat  string
		summary, payload string
		meta             string
	}{
		{run.Failed, coordination.RunOver{Error: "400 no", ErrorClass: "rejected", Text: "partly"}, `{"phase":"error","error":"400 no","endedAt":AT}`,
			`"error","errorMessage":"400 no"`, "completed", `{"text":"400 no","mediaUrl":null,"isError":true}`,
			`"aborted":false,"error":{"kind":"rejected","message":"400 no"}`},
		{run.TimedOut, coordination.RunOver{Text: "partly"}, `{"phase":"end","startedAt":AT,"endedAt":AT,"aborted":true}`, `"final"`, "timed out",
			`{"text":"The run exceeded its time limit and was stopped before it had an answer. Ask again, or allow more time.","mediaUrl":null,"isError":true}`,
			`"aborted":true,"stopReason":"timeout"`},
		{run.Aborted, coordination.RunOver{Reason: "rpc", Text: "partly"}, `{"phase":"end","startedAt":AT,"endedAt":AT,"aborted":true}`,
			`"aborted","message":{"role":"assistant","content":[{"type":"text","text":"partly"}],"timestamp":AT},"stopReason":"rpc"`, "aborted",
			`{"text":"partly","mediaUrl":null}`, `"aborted":true,"stopReason":"rpc"`},
		{run.Aborted, coordination.RunOver{Reason: "restart"}, `{"phase":"end","startedAt":AT,"endedAt":AT,"aborted":true}`,
			`"aborted","stopReason":"restart"`, "aborted",
			`{"text":"The run was interrupted because the gateway stopped or lost it. Ask again.","mediaUrl":null,"isError":true}`,
			`"aborted":true,"stopReason":"restart"`},
		{run.OK, coordination.RunOver{Text: " NO_REPLY\n"}, `{"phase":"end","endedAt":AT}`, `"final"`, "completed", ``, `"aborted":false`},
		{run.OK, coordination.RunOver{}, `{"phase":"end","endedAt":AT}`, `"final"`, "completed", ``, `"aborted":false`},
	} {
		id := fmt.Sprintf("end-%d", i)
		accepted, answered := make(chan struct{}), make(chan string, 1)
		go func() {
			got, err := final(t, c.Client, fmt.Sprintf(`{"message":"x","agentId":"eden","idempotencyKey":%q}`, id), func(json.RawMessage) { close(accepted) })
			answered <- fmt.Sprint(got, err)
		}()
		<-accepted
		agents.begin(id)
		agents.end(id, one.state, one.over)
		moment := fmt.Sprint(at)
		now := func(text string) string { return strings.ReplaceAll(text, "AT", moment) }
		c.expect(t, fmt.Sprintf(`agent {"runId":%q,"stream":"lifecycle","data":{"phase":"start","startedAt":%d},"sessionKey":"agent:eden:main","seq":1,"ts":%d}`, id, at, at),
			fmt.Sprintf(`agent {"runId":%q,"stream":"lifecycle","data":%s,"sessionKey":"agent:eden:main","seq":2,"ts":%d}`, id, now(one.lifecycle), at),
			fmt.Sprintf(`chat {"runId":%q,"sessionKey":"agent:eden:main","seq":2,"state":%s}`, id, now(one.chat)))
		wanted := fmt.Sprintf(`{"runId":%q,"status":"ok","summary":%q,"result":{"payloads":[%s],"meta":{"durationMs":0,"agentMeta":{"sessionId":"t-1"},%s}}}<nil>`,
			id, one.summary, one.payload, one.meta)
		if got := <-answered; got != wanted {
			t.Errorf("\ngot  %s\nwant %s", got, wanted)
		}
	}
	if n := b.server.Telling(); n != 0 {
		t.Errorf("%d runs that are over are kept", n)
	}
}

// Text that may turn out to be no answer is not shown while it comes.
func TestSilenceIsNotShown(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "chat")
	over[any](t, c.Client, "chat.send", json.RawMessage(`{"sessionKey":"main","message":"x","idempotencyKey":"s"}`))
	agents.begin("s")
	for _, text := range []string{"N", "NO_RE", "NO_REPLY"} {
		agents.does("s", run.Update{Kind: run.Text, Text: text})
	}
	agents.end("s", run.OK, coordination.RunOver{Text: "NO_REPLY"})
	c.expect(t, `chat {"runId":"s","sessionKey":"agent:main:main","seq":5,"state":"final"}`)
	c.silence(t)
}

// A long answer is sent in parts that add up to it, at a cost close to its length.
func TestLongAnswersAreToldInParts(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := listen(t, url, client.Options{}, "agent")
	over[any](t, c.Client, "chat.send", json.RawMessage(`{"sessionKey":"main","message":"x","idempotencyKey":"long"}`))
	agents.begin("long")
	const part, parts = 64, 1_000
	text := strings.Repeat("x", part*parts)
	for n := part; n <= len(text); n += part {
		agents.does("long", run.Update{Kind: run.Text, Text: text[:n], Delta: text[n-part : n]})
	}
	agents.end("long", run.OK, coordination.RunOver{Text: text})
	said, bytes := "", 0
	for {
		e := c.next(t)
		var a struct {
			Stream string
			Data   struct{ Text, Delta, Phase string }
		}
		if err := json.Unmarshal(e.Payload, &a); err != nil {
			t.Fatal(err)
		}
		if a.Data.Phase == "end" {
			break
		}
		if said += a.Data.Delta; said != a.Data.Text {
			t.Fatalf("%d bytes add up to %d", len(a.Data.Text), len(said))
		}
		bytes += len(e.Payload)
	}
	if said != text || bytes > 48*len(text) {
		t.Errorf("%d of %d bytes, in %d", len(said), len(text), bytes)
	}
}

// Tools are told to those who asked for that and have started a run in the session; what they answered only where the session shows all.
func TestToolEventsGoToSubscribers(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	caps := client.Options{Caps: []string{"tool-events"}}
	mine, without, elsewhere := listen(t, url, caps, "agent"), listen(t, url, client.Options{}, "agent"), listen(t, url, caps, "agent")
	send := func(c *heard, key, id string) {
		over[any](t, c.Client, "chat.send", map[string]string{"sessionKey": key, "message": "x", "idempotencyKey": id})
	}
	send(mine, "agent:eden:s", "t1")
	send(without, "agent:eden:s", "t2")
	send(elsewhere, "agent:eden:other", "t3")
	call := func(id string) {
		agents.does(id, run.Update{Kind: run.ToolStart, ToolCallID: "c1", ToolName: "agents_list", Args: []byte(`{"a":1}`)})
		agents.does(id, run.Update{Kind: run.ToolResult, ToolCallID: "c1", ToolName: "agents_list", Output: "out", IsError: true})
	}
	call("t2") // of another one, in the same session
	at := b.now.Load()
	mine.expect(t,
		fmt.Sprintf(`agent {"runId":"t2","stream":"tool","data":{"phase":"start","name":"agents_list","toolCallId":"c1","args":{"a":1}},"sessionKey":"agent:eden:s","seq":1,"ts":%d}`, at),
		fmt.Sprintf(`agent {"runId":"t2","stream":"tool","data":{"phase":"result","name":"agents_list","toolCallId":"c1","isError":true},"sessionKey":"agent:eden:s","seq":2,"ts":%d}`, at))
	over[any](t, mine.Client, "sessions.patch", map[string]string{"key": "agent:eden:s", "verboseLevel": "full"})
	call("t1")
	if e := mine.next(t); e.Seq != 0 {
		t.Errorf("it has number %d", e.Seq)
	}
	mine.expect(t, fmt.Sprintf(`agent {"runId":"t1","stream":"tool","data":{"phase":"result","name":"agents_list","toolCallId":"c1","isError":true,`+
		`"result":{"content":[{"type":"text","text":"out"}]}},"sessionKey":"agent:eden:s","seq":2,"ts":%d}`, at))
	for _, c := range []*heard{mine, without, elsewhere} {
		c.silence(t)
	}
}

// A message that names a session is stored in that session, with all its content.
func TestWhatIsAskedOfAnAgent(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := dial(t, url, client.Options{MaxProtocol: 3})
	id := b.patch(t, `{"key":"agent:seum:known"}`).Entry.SessionID
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0123456789"))
	for i, one := range []struct{ params, wanted string }{
		{`"message":"a","sessionKey":"agent:eden:s1","lane":"nested","extraSystemPrompt":"brief","thinking":"Think-Hard","timeout":60`,
			`{"runId":"RUN","sessionKey":"agent:eden:s1","lane":"nested","cause":"agent","by":"cli","message":"a","extraSystemPrompt":"brief","thinking":"low","timeoutMs":60000}`},
		{`"message":"a","agentId":"EDEN","timeout":0,"deliver":true,"bestEffortDeliver":true,"channel":"last"`,
			`{"runId":"RUN","sessionKey":"agent:eden:main","lane":"","cause":"agent","by":"cli","message":"a","timeoutMs":0}`},
		{`"message":"a","sessionId":"` + id + `"`,
			`{"runId":"RUN","sessionKey":"agent:seum:known","sessionId":"` + id + `","lane":"","cause":"agent","by":"cli","message":"a"}`},
		{`"message":"a","to":"+491234"`, `{"runId":"RUN","sessionKey":"agent:main:main","lane":"","cause":"agent","by":"cli","message":"a","to":"+491234"}`},
		{`"message":" /NEW say hi","sessionKey":"agent:eden:s1"`,
			`{"runId":"RUN","sessionKey":"agent:eden:s1","lane":"","cause":"agent","by":"cli","reset":"new","message":"say hi"}`},
		{`"message":"/news","sessionKey":"agent:eden:s1"`, `{"runId":"RUN","sessionKey":"agent:eden:s1","lane":"","cause":"agent","by":"cli","message":"/news"}`},
		{`"message":"a","agentId":"eden","inputProvenance":{"kind":"inter_session","sourceSessionKey":"agent:main:main","sourceTool":"sessions_send"}`,
			`{"runId":"RUN","sessionKey":"agent:eden:main","lane":"","cause":"agent","by":"cli","message":"a","provenance":"inter_session","fromAgent":"main",` +
				`"sourceSessionKey":"agent:main:main","sourceTool":"sessions_send"}`},
		{`"message":"look","agentId":"eden","attachments":[{"type":"image","mimeType":"text/plain","fileName":"a.png","content":"data:image/jpeg;base64,` + image + `"}]`,
			`{"runId":"RUN","sessionKey":"agent:eden:main","lane":"","cause":"agent","by":"cli","message":"look",` +
				`"content":[{"type":"text","text":"look"},{"type":"image","data":"` + image + `","mimeType":"image/png"}]}`},
	} {
		name := fmt.Sprintf("ask-%d", i)
		accepted := make(chan json.RawMessage, 1)
		go func() {
			_, _ = final(t, c, `{"idempotencyKey":"`+name+`",`+one.params+`}`, func(p json.RawMessage) { accepted <- p })
		}()
		select {
		case <-accepted:
		case <-time.After(testscale.Patience):
			t.Fatalf("%s is not accepted", one.params)
		}
		ask := agents.ask()
		ask.SessionKey = ask.Session.String()
		ask.By, _, _ = strings.Cut(ask.By, "/")
		got, err := json.Marshal(ask.RunQueued)
		if wanted := strings.ReplaceAll(one.wanted, "RUN", name); err != nil || string(got) != wanted || !ask.Human {
			t.Errorf("%s\ngot  %s %v\nwant %s", one.params, got, err, wanted)
		}
		agents.end(name, run.Aborted, coordination.RunOver{Reason: "stop"})
	}
}

// A reset without text starts with a greeting.
func TestStartingOverWithoutAWord(t *testing.T) {
	t.Parallel()
	_, agents, url := staged(t)
	c := dial(t, url, client.Options{})
	go func() { _, _ = final(t, c, `{"message":"/reset","agentId":"eden","idempotencyKey":"greet"}`, nil) }()
	<-agents.asked
	if ask := agents.ask(); ask.Reset != "reset" || !strings.Contains(ask.Message, "Greet") {
		t.Errorf("%+v", ask)
	}
	agents.end("greet", run.OK, coordination.RunOver{})
}

// Invalid requests are refused with the field, and nothing is queued.
func TestWhatIsNotAskedOfAnAgent(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	c := dial(t, url, client.Options{})
	text := base64.StdEncoding.EncodeToString([]byte("just text"))
	large := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n" + strings.Repeat("x", 5_000_000)))
	for _, one := range []struct{ method, params, field, message string }{
		{"agent", `"agentId":"eden","attachments":[{"fileName":"a.txt","content":"` + text + `"}]`, "attachments/0",
			"Error: attachment a.txt: only image attachments are supported, and this is text/plain"},
		{"agent", `"agentId":"eden","attachments":[{"type":"image","content":"%%"}]`, "attachments/0", "Error: attachment image: invalid base64 content"},
		{"agent", `"agentId":"eden","attachments":[{"content":"` + large + `"}]`, "attachments/0",
			"Error: attachment attachment-1: exceeds size limit (5000008 > 5000000 bytes)"},
		{"agent", `"agentId":"eden","attachments":[7]`, "attachments/0", "Error: attachment attachment-1: must be an object"},
		{"agent", `"agentId":"eden","lane":"fast"`, "lane", `invalid agent params: unknown lane "fast"`},
		{"agent", `"agentId":"eden","thinking":"much"`, "thinking", "invalid agent params: invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{"agent", `"sessionId":"nope"`, "sessionId", "No session found: nope"},
		{"agent", `"agentId":"eden","cwd":"/tmp"`, "cwd", "agent: cwd is not supported"},
		{"agent", `"agentId":"eden","channel":"discord","deliver":true`, "", "no channel is configured"},
		{"agent", `"agentId":"eden","channel":"last","deliver":true`, "channel", "delivery channel is required: pass --channel"},
		{"chat.send", `"sessionKey":"main","attachments":[{"type":"image","content":"%%"}]`, "attachments/0", "Error: attachment image: invalid base64 content"},
	} {
		_, err := c.Call(t.Context(), one.method, json.RawMessage(`{"message":"x","idempotencyKey":"wrong",`+one.params+`}`))
		var refused *protocol.Error
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Message, one.message) {
			t.Errorf("%.80s: %v, want %s", one.params, err, one.message)
			continue
		}
		details, _ := refused.Details.(map[string]any)
		if one.field != "" && details["field"] != one.field {
			t.Errorf("%.80s: %+v", one.params, refused.Details)
		}
	}
	if got := b.queued(t); len(got) != 0 || len(agents.asks) != 0 {
		t.Errorf("queued %+v", got)
	}

	agents.refuse = &run.Busy{SessionKey: "agent:eden:main", Ahead: 12, OldestMs: 3_400}
	for _, method := range []string{"agent", "chat.send"} {
		params := map[string]string{"message": "x", "idempotencyKey": "busy", "sessionKey": "agent:eden:main"}
		_, err := c.Call(t.Context(), method, params)
		var busy *protocol.Error
		if !errors.As(err, &busy) || busy.Code != protocol.CodeUnavailable || !busy.Retryable || busy.RetryAfter <= 0 {
			t.Fatalf("%s: %+v", method, err)
		}
		if d, _ := busy.Details.(map[string]any); d["code"] != "busy" || d["queueAhead"] != 12.0 || d["waitedMs"] != 3400.0 {
			t.Errorf("%s: %+v", method, busy.Details)
		}
	}
}

// A client that names no session gets two answers, as clients expect.
func TestNoSessionIsNamed(t *testing.T) {
	t.Parallel()
	_, _, url := staged(t)
	var first string
	got, err := final(t, dial(t, url, client.Options{}), `{"message":"x","idempotencyKey":"k"}`, func(p json.RawMessage) { first = string(p) })
	const why = "Error: Pass --to <E.164>, --session-id, or --agent to choose a session"
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || refused.Message != why || !strings.Contains(first, `"status":"accepted"`) ||
		got != `{"runId":"k","status":"error","summary":"`+why+`"}` {
		t.Errorf("%s, then %s %v", first, got, err)
	}
}

// A repeated request during the run gets two answers too, and a client that has left is not waited for.
func TestAskingAgainWhileItRuns(t *testing.T) {
	t.Parallel()
	b, agents, url := staged(t)
	const params = `{"message":"x","agentId":"eden","idempotencyKey":"twice"}`
	gone := dial(t, url, client.Options{})
	accepted := make(chan string, 2)
	tell := func(p json.RawMessage) { accepted <- string(p) }
	go func() { _, _ = final(t, gone, params, tell) }()
	first := <-accepted
	b.tick(time.Second)
	answered := make(chan string, 1)
	stays := dial(t, url, client.Options{})
	go func() {
		got, err := final(t, stays, params, tell)
		answered <- fmt.Sprint(got, err)
	}()
	if again := <-accepted; again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
	agents.begin("twice")
	agents.end("twice", run.OK, coordination.RunOver{Text: "done"})
	if got := <-answered; !strings.Contains(got, `"text":"done"`) || len(agents.asks) != 1 {
		t.Errorf("%s, %d runs", got, len(agents.asks))
	}
	if n := b.server.Awaited(); n != 0 {
		t.Errorf("%d answers are waited for", n)
	}
}

// A client may have many more runs accepted than it may have requests under way, and is heard meanwhile.
func TestAcceptedRunsHoldNothingUp(t *testing.T) {
	t.Parallel()
	const many = 200
	_, agents, url := staged(t)
	c := dial(t, url, client.Options{})
	answered := make(chan error, many)
	for i := range many {
		go func() {
			_, err := final(t, c, fmt.Sprintf(`{"message":"x","agentId":"eden","idempotencyKey":"m%d"}`, i), nil)
			answered <- err
		}()
	}
	for range many {
		<-agents.asked
	}
	got := over[struct{ RunIDs []string }](t, c, "chat.abort", map[string]string{"sessionKey": "agent:eden:main"})
	if len(got.RunIDs) != many {
		t.Errorf("%d were stopped", len(got.RunIDs))
	}
	for range many {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}
