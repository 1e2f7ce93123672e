package prompt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func transcript(t testing.TB, messages ...string) (all []*sessions.Message) {
	t.Helper()
	for _, text := range messages {
		m := &sessions.Message{}
		if err := json.Unmarshal([]byte(text), &m.Data); err != nil {
			t.Fatal(err)
		}
		m.Redacted = m.Data.Text == "redacted"
		all = append(all, m)
	}
	return all
}

func TestTranscriptBecomesHistory(t *testing.T) {
	t.Parallel()
	got := prompt.History(transcript(t,
		`{"author":"user","text":"look","content":[{"type":"text","text":" look\n"},{"type":"image","data":"QUJD","mimeType":"image/png"},
			{"type":"image","source":{"type":"base64","data":"REVG","media_type":"image/jpeg"}},{"type":"image","data":"?","mimeType":"image/png"},{"type":"image","data":"QUJD","mimeType":"text/html"}]}`,
		`{"author":"assistant","text":"","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},
			{"type":"toolCall","id":"c1","name":"agents_list","arguments":{"a":1}},{"type":"toolCall","id":"c2","name":"odd","arguments":"{no"},
			{"type":"toolCall","id":"c3","name":"lost"},{"type":"toolCall","id":"c1","name":"again"},{"type":"toolCall","name":"nameless"},7]}`,
		`{"author":"tool","toolCallId":"c2","toolName":"odd","text":"wrong arguments","isError":true}`,
		`{"author":"tool","toolCallId":"c1","toolName":"agents_list","text":"","content":[{"type":"text","text":"main"},{"type":"text","text":"eden"}]}`,
		`{"author":"user","text":"redacted"}`,
		`{"author":"assistant","text":"half of an ans","stopReason":"aborted"}`,
		`{"author":"assistant","text":"","stopReason":"error","errorMessage":"400 no"}`,
		`{"author":"system","text":"The session was compacted."}`,
		`{"author":"assistant","text":"noted","label":"note","by":"cli"}`,
		`{"author":"tool","toolCallId":"c9","text":"of no call"}`,
		`{"author":"user","text":"and now?","content":"no blocks"}`,
	))
	want := []llm.Message{
		{Role: llm.User, Text: " look\n", Images: []llm.Image{{MediaType: "image/png", Data: []byte("ABC")}, {MediaType: "image/jpeg", Data: []byte("DEF")}}},
		{Role: llm.Assistant, Text: "I look.", ToolCalls: []llm.ToolCall{{ID: "c1", Name: "agents_list", Arguments: json.RawMessage(`{"a":1}`)},
			{ID: "c2", Name: "odd", Arguments: json.RawMessage(`{}`)}, {ID: "c3", Name: "lost", Arguments: json.RawMessage(`{}`)}}},
		{Role: llm.ToolRole, ToolCallID: "c1", ToolName: "agents_list", Text: "main\n\neden"},
		{Role: llm.ToolRole, ToolCallID: "c2", ToolName: "odd", Text: "wrong arguments", IsError: true},
		{Role: llm.ToolRole, ToolCallID: "c3", ToolName: "lost", Text: llm.NoResult, IsError: true},
		{Role: llm.Assistant, Text: "half of an ans"},
		{Role: llm.Assistant, Text: "The session was compacted."},
		{Role: llm.Assistant, Text: "noted"},
		{Role: llm.User, Text: "and now?"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// For any transcript, nothing panics, and the history is paired and the same every time.
func FuzzHistory(f *testing.F) {
	f.Add("user", "hello", `[{"type":"image","data":"QUJD","mimeType":"image/png"}]`, "", 200)
	f.Add("assistant", "", `[{"type":"toolCall","id":"a","name":"x","arguments":{"a":[1]}},{"type":"text","text":5}]`, "", 100)
	f.Add("tool", "said", `[null,{},[]]`, "a", 0)
	f.Add("system", "\xff\x00", `{"type":"text"}`, "a", -5)
	f.Fuzz(func(t *testing.T, author, text, content, id string, tokens int) {
		m := coordination.SessionMessage{Author: author, Text: text, Content: json.RawMessage(content), ToolCallID: id}
		called := coordination.SessionMessage{Author: "assistant", Content: json.RawMessage(`[{"type":"toolCall","id":"a","name":"x","arguments":{}}]`)}
		all := []*sessions.Message{{Data: called}, {Data: m}, {Data: m}, {Data: coordination.SessionMessage{Author: "user", Text: text}}}
		history := prompt.History(all)
		if diff := cmp.Diff(history, prompt.History(all)); diff != "" {
			t.Fatal(diff)
		}
		for i := range history {
			for _, call := range history[i].ToolCalls {
				var object map[string]json.RawMessage
				if json.Unmarshal(call.Arguments, &object) != nil || call.ID == "" || call.Name == "" {
					t.Fatalf("a call %+v", call)
				}
			}
		}
		fitted := prompt.Fit(history, tokens)
		if diff := cmp.Diff(llm.Paired(fitted.Messages), fitted.Messages); diff != "" || tokensOf(fitted.Messages) > max(tokens, 100) {
			t.Fatalf("%d tokens of %d, %s", fitted.Tokens, tokens, diff)
		}
	})
}

// Pictures beside the log are read for the newest messages, as many as there is room for; those that are gone are left out.
func TestShowReadsTheNewestPictures(t *testing.T) {
	t.Parallel()
	content := func(id string) json.RawMessage {
		return json.RawMessage(`[{"type":"text","text":"look"},{"type":"file","sha256":"` + id + `","mimeType":"image/png","bytes":1},
			{"type":"file","sha256":"` + id + `-text","mimeType":"text/plain","bytes":1}]`)
	}
	var messages []llm.Message
	for i := range 12 {
		messages = append(messages, prompt.Message(&coordination.SessionMessage{Author: "user", Content: content(fmt.Sprint(i))}))
	}
	blind := slices.Clone(messages)
	prompt.Show(blind, nil)
	var read []string
	prompt.Show(messages, func(id string) []byte {
		if id == "11" { // redacted
			return nil
		}
		read = append(read, id)
		return []byte("picture " + id)
	})
	if want := []string{"10", "9", "8", "7", "6", "5", "4", "3"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	for i := range messages {
		want := i >= 3 && i <= 10
		if shown := len(messages[i].Images) == 1 && string(messages[i].Images[0].Data) == fmt.Sprint("picture ", i); shown != want || len(blind[i].Images) > 0 {
			t.Errorf("message %d shows %v, without a store %v", i, messages[i].Images, blind[i].Images)
		}
	}
}
