package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
)

func directives(t testing.TB) *scripted.Script {
	t.Helper()
	text, err := os.ReadFile("testdata/directives.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Read("directives.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func noPause(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func says(text string) *llm.Request {
	return &llm.Request{Model: "m", Agent: "eden", Messages: []llm.Message{{Role: llm.User, Text: text}}}
}

func TestRulesAnswer(t *testing.T) {
	t.Parallel()
	p := scripted.New(directives(t), noPause)
	again := says("[[busy]] [[say:now]]")
	again.Attempt = 2
	forecast := says("weather in \"Seoul\"\n")
	forecast.Tools = []llm.Tool{{Name: "forecast"}}
	second := &llm.Request{Model: "small", Agent: "eden", Messages: []llm.Message{{Role: llm.User, Text: "a"}, {Role: llm.Assistant, Text: "b"}, {Role: llm.User, Text: "c"}}}
	called := says("[[tool:look {}]]")
	called.Messages = append(called.Messages, llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llm.NewToolCall("a", "look", "")}},
		llm.Message{Role: llm.ToolRole, ToolCallID: "a", ToolName: "look", Text: "nothing"})
	for name, test := range map[string]struct {
		request *llm.Request
		chunks  string
		stop    llm.StopReason
		calls   []llm.ToolCall
	}{
		"template":      {says("Echo me"), "echo: |Echo |me |1 |m |eden |{{nothing}}", llm.Stop, nil},
		"group":         {says("[[say:안녕 하세요]]"), "안녕 |하세요", llm.Stop, nil},
		"attempt":       {again, "now", llm.Stop, nil},
		"turn and step": {second, "sec|ond", llm.Length, nil},
		"tool":          {called, "tool |said: |nothing", llm.Stop, nil},
		"arguments": {forecast, "I |look.", llm.ToolUse, []llm.ToolCall{{ID: "call_1_0", Name: "forecast",
			Arguments: json.RawMessage(`{"city":"weather in \"Seoul\"","days":3,"who":["eden",null,true]}`)}}},
		"raw":       {says(`[[tool:look {"a":1}]]`), "", llm.ToolUse, []llm.ToolCall{{ID: "call_1_0", Name: "look", Arguments: json.RawMessage(`{"a":1}`)}}},
		"malformed": {says(`[[tool:look {a}]]`), "", llm.ToolUse, []llm.ToolCall{{ID: "call_1_0", Name: "look", Arguments: json.RawMessage(`{}`), Malformed: "{a}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the same every time
				var said []string
				a, err := p.Complete(t.Context(), test.request, func(c llm.Chunk) {
					if c.ToolCall == nil {
						said = append(said, c.Text)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(said, "|"); got != test.chunks || a.Text != strings.Join(said, "") || a.StopReason != test.stop {
					t.Errorf("streamed %q, answers %q (%s), want %q (%s)", got, a.Text, a.StopReason, test.chunks, test.stop)
				}
				if diff := cmp.Diff(test.calls, a.ToolCalls); diff != "" {
					t.Error(diff)
				}
				if a.Usage.Input == 0 || a.Usage.Output == 0 || a.Usage.Total != a.Usage.Input+a.Usage.Output || a.Provider != "scripted" || a.Model != test.request.Model {
					t.Errorf("answers %+v", a)
				}
			}
		})
	}
}

func TestFaultsHappenAsScripted(t *testing.T) {
	t.Parallel()
	p := scripted.New(directives(t), noPause)
	for message, want := range map[string]llm.Error{
		"[[fail]]":   {Class: llm.Rejected, Status: 400, Message: "failed as asked"},
		"[[busy]]":   {Class: llm.RateLimited, Status: 429, RetryAfter: 2 * time.Second},
		"[[cut]]":    {Class: llm.Unavailable, Message: "cut off"},
		"what else?": {Class: llm.Rejected, Message: "no rule of the script matches; add one without conditions at its end"},
	} {
		want.Provider, want.Model = "scripted", "m"
		said := ""
		_, err := p.Complete(t.Context(), says(message), func(c llm.Chunk) { said += c.Text })
		var got *llm.Error
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%s: got %v, want %v", message, err, &want)
		}
		if message == "[[cut]]" && said != "one two " {
			t.Errorf("streamed %q before", said)
		}
	}
}

func TestTimesAreKeptAndHangsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted.New(directives(t), nil)
		began := time.Now()
		var at []time.Duration
		if _, err := p.Complete(t.Context(), says("[[slow]]"), func(llm.Chunk) { at = append(at, time.Since(began)) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{time.Second, 1250 * time.Millisecond, 1500 * time.Millisecond}, at); diff != "" {
			t.Error(diff)
		}
		for _, message := range []string{"[[hang]]", "[[slow]]"} {
			ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
			if _, err := p.Complete(ctx, says(message), nil); err != context.DeadlineExceeded {
				t.Errorf("%s: got %v", message, err)
			}
			cancel()
		}
	})
}

func TestScriptCanCallToolsForEver(t *testing.T) {
	t.Parallel()
	p := scripted.New(directives(t), noPause)
	r := says("[[loop:look]]")
	ids := map[string]bool{}
	for range 5 {
		a, err := p.Complete(t.Context(), r, nil)
		if err != nil || len(a.ToolCalls) != 1 || ids[a.ToolCalls[0].ID] {
			t.Fatalf("got %+v, %v", a, err)
		}
		ids[a.ToolCalls[0].ID] = true
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: a.ToolCalls}, llm.Message{Role: llm.ToolRole, ToolCallID: a.ToolCalls[0].ID})
	}
}

// A script shows the parts of a result that people want to see.
func TestPartsOfResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, result, want string }{
		{"{{result.agents.id}}", `{"agents":[{"id":"eden"},{"name":"x"},{"id":"세움"},7,null]}`, "- eden\n- 세움"},
		{"{{result.count}} of {{result.all.0}}, {{message}}", `{"count":9007199254740993,"all":{"0":"{{message}}"}}`, "9007199254740993 of {{message}}, show"},
		{"{{result.a}}", `[{"a":["x",["y"]]},{"a":"z"}]`, "- x\n- y\n- z"},
		{"{{result.none}}", `{"error":"forbidden"}`, `{"error":"forbidden"}`},
		{"{{result.a.b}}", `{"a":true}`, `{"a":true}`},
		{"{{result.agents}}", "no JSON", "no JSON"},
		{"{{result.agents}}", `{"agents":[]}`, `{"agents":[]}`},
		{"{{result.}} {{result.a-b}}", `{}`, "{{result.}} {{result.a-b}}"},
	} {
		script, err := json.Marshal(map[string]any{"rules": []any{map[string]any{"when": map[string]any{"after": "tool"}, "answer": map[string]any{"text": c.text}}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := scripted.Read("x", script)
		if err != nil {
			t.Fatal(err)
		}
		r := says("show")
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llm.NewToolCall("a", "look", "")}},
			llm.Message{Role: llm.ToolRole, ToolCallID: "a", ToolName: "look", Text: c.result})
		if a, err := scripted.New(s, noPause).Complete(t.Context(), r, nil); err != nil || a.Text != c.want {
			t.Errorf("%s of %s: got %+v, %v, want %q", c.text, c.result, a, err, c.want)
		}
	}
}

func TestDefaultScriptAnswersInTheLanguageOfTheMessage(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Default(), noPause)
	ask := func(r *llm.Request) *llm.Answer {
		t.Helper()
		a, err := p.Complete(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for message, want := range map[string]string{
		"hello": "Hello, this is eden. You said: “hello”", "안녕하세요": "안녕하세요, eden입니다. 이렇게 말씀하셨네요: “안녕하세요”", "": "Hello", "ありがとう": "Hello",
		"Thank you!": "You are welcome", "고마워요": "천만에요",
	} {
		if got := ask(says(message)).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
	later := says("hello")
	later.Messages = append(later.Messages, llm.Message{Role: llm.Assistant, Text: "x"}, llm.Message{Role: llm.User, Text: "and 둘"})
	if got := ask(later).Text; got != "2번째 말씀을 잘 받았습니다: “and 둘”" {
		t.Errorf("got %q", got)
	}
	for _, test := range []struct{ message, tool, want string }{
		{"which agents are there?", "agents_list", "I can write to these agents, or start them:\n\nmain, eden"}, {"who is there?", "agents_list", "I can write to these agents, or start them:\n\nmain, eden"},
		{"Who's here", "agents_list", "I can write to these agents, or start them:\n\nmain, eden"}, {"누가 있어?", "agents_list", "제가 말을 걸거나 일을 맡길 수 있는 에이전트는 다음과 같습니다.\n\nmain, eden"},
		{"에이전트 목록 보여줘", "agents_list", "제가 말을 걸거나 일을 맡길 수 있는 에이전트는 다음과 같습니다.\n\nmain, eden"},
		{"show me the sessions", "sessions_list", "These are the sessions that I can see:\n\nmain, eden"},
		{"세션 목록 보여줘", "sessions_list", "제가 볼 수 있는 세션은 다음과 같습니다.\n\nmain, eden"},
		{"what is your status?", "session_status", "This is what the tool `session_status` has said:\n\nmain, eden"},
		{"지금 어떤 모델이야?", "session_status", "`session_status` 도구의 답은 다음과 같습니다.\n\nmain, eden"},
	} {
		r := says(test.message)
		if a := ask(r); a.ToolCalls != nil || a.Text == "" {
			t.Errorf("%q calls a tool that is not offered: %+v", test.message, a)
		}
		r.Tools = []llm.Tool{{Name: test.tool}}
		a := ask(r)
		if len(a.ToolCalls) != 1 || a.ToolCalls[0].Name != test.tool {
			t.Fatalf("%q: got %+v", test.message, a)
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, ToolCalls: a.ToolCalls},
			llm.Message{Role: llm.ToolRole, ToolCallID: a.ToolCalls[0].ID, ToolName: test.tool, Text: "main, eden"})
		if got := ask(r); got.Text != test.want || got.ToolCalls != nil {
			t.Errorf("%q: got %+v", test.message, got)
		}
	}
	for _, message := range []string{"hello there", "누나가 왔어", "list the files"} {
		r := says(message)
		r.Tools = []llm.Tool{{Name: "agents_list"}, {Name: "sessions_list"}}
		if a := ask(r); a.ToolCalls != nil {
			t.Errorf("%q calls %+v", message, a.ToolCalls)
		}
	}
}

// In Discord an answer repeats no text, which might mention others. In a thread of agents only those mentioned
// answer, as otherwise they would answer each other forever.
func TestDefaultScriptRepeatsNothingInDiscord(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Default(), noPause)
	for _, tt := range []struct{ message, first, later string }{
		{"[병욱 in #dev] @이든 @루다 봐줘", "안녕하세요, eden입니다. 아직", "아직 모델이"},
		{"[bob in #dev] @eden look", "Hello, this is eden. No model", "No model"},
		{"[bob in #공지] @eden look", "Hello, this is eden. No model", "No model"},
		{"[루다 in #[협업] 루다 → 이든 · 리뷰] @이든\n\n누가 있어?", "안녕하세요, eden입니다. 아직", "안녕하세요, eden입니다. 아직"},
		{"[ruda in #[협업] ruda → eden] @eden\n\nreview it", "Hello, this is eden. No model", "Hello, this is eden. No model"},
		{"[루다 in #[협업] 루다 → 이든 · 리뷰] 안녕하세요, ruda입니다. “누가 있어?”", "NO_REPLY", "NO_REPLY"},
		{"[병욱 in #dev] @이든 고마워", "천만에요", "천만에요"},
	} {
		r := says(tt.message)
		for turn, want := range []string{tt.first, tt.later} {
			a, err := p.Complete(t.Context(), r, nil)
			if err != nil || !strings.HasPrefix(a.Text, want) || strings.Contains(a.Text, "@") {
				t.Errorf("%q, the turn after %d: %+v (%v), want it to begin with %q and to mention no one", tt.message, turn, a, err, want)
			}
			r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Text: "x"}, llm.Message{Role: llm.User, Text: tt.message})
		}
	}
}

func TestScriptMistakesNamePosition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                 `s.json:1:1: unexpected end of the script (close open brackets and quotes; if the file was cut off, restore it)`,
		`{"rules": [`:      `s.json:1:12: unexpected end of the script`,
		`{"rules": [}`:     `s.json:1:12: not JSON`,
		"{\n  // no\n}":    `s.json:2:3: not JSON`,
		`{"rules": []} x`:  `s.json:1:15: `,
		`{"rules": []} {}`: `s.json:1:15: not JSON: invalid character '{' after top-level value`,
		`[]`:               `s.json:1:1: must be an object, not a list`,
		`{}`:               `s.json:1:1: rules: there are no rules`,
		`{"rules": {}}`:    `s.json:1:11: rules: must be a list, not an object`,
		`{"rules": [{}]}`:  `s.json:1:12: rules[0]: the rule has no answer`,
		"{\"rules\": [\n {\"answer\": {\"tekst\": 1}}]}":                                               `s.json:2:14: rules[0].answer.tekst: unknown key (known keys: chunk, delay, fault, stop, text, toolCalls, wait)`,
		`{"rules": [{"가": 1, "answer": {"text": 1}}]}`:                                                 `s.json:1:13: rules[0].가: unknown key (known keys: answer, when); s.json:1:40: rules[0].answer.text: must be a text, not a number`,
		`{"rules": [{"answer": {"text": "a", "text": "b"}}]}`:                                          `rules[0].answer.text: duplicate key`,
		`{"rules": [{"when": {"matches": "("}, "answer": {}}]}`:                                        `s.json:1:33: rules[0].when.matches: error parsing regexp`,
		`{"rules": [{"when": {"after": "me"}, "answer": {}}]}`:                                         `rules[0].when.after: must be one of user, tool, any`,
		`{"rules": [{"when": {"turn": 0}, "answer": {}}]}`:                                             `rules[0].when.turn: must be a whole number from 1`,
		`{"rules": [{"when": {"contains": ""}, "answer": {}}]}`:                                        `rules[0].when.contains: must not be empty`,
		`{"rules": [{"answer": {"wait": "2h"}}]}`:                                                      `rules[0].answer.wait: must be a duration of at most an hour (write it as "250ms", "2s" or "1m")`,
		`{"rules": [{"answer": {"delay": 5}}]}`:                                                        `rules[0].answer.delay: must be a duration`,
		`{"rules": [{"answer": {"fault": {}}}]}`:                                                       `rules[0].answer.fault: a fault has a class or hangs`,
		`{"rules": [{"answer": {"fault": {"class": "bad"}}}]}`:                                         `rules[0].answer.fault.class: must be one of rate_limited`,
		`{"rules": [{"answer": {"toolCalls": [{}]}}]}`:                                                 `rules[0].answer.toolCalls[0]: the call names no tool`,
		`{"rules": [{"answer": {"toolCalls": [{"name": "x", "arguments": []}]}}]}`:                     `arguments: must be an object, not a list`,
		`{"rules": [{"answer": {"toolCalls": [{"name": "x", "arguments": {}, "rawArguments": ""}]}}]}`: `exclude each other`,
		`{"rules": [{"when": {"result": "["}, "answer": {}}]}`:                                         `s.json:1:32: rules[0].when.result: error parsing regexp`,
		`{"rules": [{"when": {"matches": "(?P<tool>x)"}, "answer": {}}]}`:                              `s.json:1:33: rules[0].when.matches: the group name tool is reserved (rename the group: {{tool}} has another meaning)`,
		`{"rules": [{"when": {"matches": "(?P<1st>x)"}, "answer": {}}]}`:                               `s.json:1:33: rules[0].when.matches: the group name 1st begins with a digit`,
		`{"rules": [{"answer": {"text": "{{1}}"}}]}`:                                                   `s.json:1:32: rules[0].answer.text: there is no group {{1}}: when.matches has 0 (remove it, `,
		`{"rules": [{"answer": {"text": "{{3}}{{0}}{{01}}{{2}}"}, "when": {"matches": "(.)(.)"}}]}`:    `s.json:1:32: rules[0].answer.text: there is no group {{3}}: when.matches has 2 (groups are {{1}} to {{2}}); s.json:1:32: rules[0].answer.text: there is no group {{0}}: when.matches has 2 (groups are {{1}} to {{2}}); s.json:1:32: rules[0].answer.text: there is no group {{01}}: `,
		`{"rules": [{"answer": {"toolCalls": [{"name": "x", "arguments": {"a": ["{{9}}"]}}]}}]}`:       `s.json:1:72: rules[0].answer.toolCalls[0].arguments.a[0]: there is no group {{9}}`,
		`{"rules": [{"answer": {"toolCalls": [{"name": "x", "arguments": {"{{8}}": 1}}]}}]}`:           `s.json:1:66: rules[0].answer.toolCalls[0].arguments.{{8}}: there is no group {{8}}`,
		`{"rules": [{"answer": {"toolCalls": [{"name": "x", "rawArguments": "{{7}}"}]}}]}`:             `rules[0].answer.toolCalls[0].rawArguments: there is no group {{7}}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100):                                            `brackets are nested more than 32 deep`,
		"\xff":                     `not UTF-8`,
		strings.Repeat(" ", 2<<20): `more than 1048576 bytes`,
	} {
		s, err := scripted.Read("s.json", []byte(text))
		var mistakes *scripted.Error
		if s != nil || !errors.As(err, &mistakes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %s", text, err, want)
		}
	}
}

// Any script is either rejected with positions inside it, or answers, the same every time.
func FuzzScript(f *testing.F) {
	text, err := os.ReadFile("testdata/directives.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "[[tool:x {}]]")
	f.Add(`{"rules":[{"when":{"matches":"(.)(.)"},"answer":{"text":"{{2}}{{1}}","chunk":1,"toolCalls":[{"name":"x","arguments":{"{{1}}":"{{2}}"}}]}}]}`, "\"\\")
	f.Add(`{"rules":[{"answer":{"fault":{"class":"timeout","after":3},"text":"a b c d"}}]}`, "")
	f.Fuzz(func(t *testing.T, script, message string) {
		s, err := scripted.Read("s", []byte(script))
		var mistakes *scripted.Error
		if errors.As(err, &mistakes) {
			for _, m := range mistakes.Mistakes {
				if m.Line < 1 || m.Line > strings.Count(script, "\n")+1 || m.Column < 1 || m.Column > len(script)+1 || m.Hint == "" {
					t.Fatalf("%+v", m)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		defer cancel()
		p := scripted.New(s, noPause)
		said := ""
		a, err := p.Complete(ctx, says(message), func(c llm.Chunk) { said += c.Text })
		b, again := p.Complete(ctx, says(message), nil)
		if diff := cmp.Diff(a, b); diff != "" || (err == nil) != (again == nil) {
			t.Fatalf("not the same: %s (%v, %v)", diff, err, again)
		}
		if err != nil {
			return
		}
		if a.Text != said {
			t.Fatalf("answers %q, streamed %q", a.Text, said)
		}
		for _, c := range a.ToolCalls {
			var object map[string]any
			if json.Unmarshal(c.Arguments, &object) != nil || c.Name == "" {
				t.Fatalf("a call %+v", c)
			}
		}
	})
}
