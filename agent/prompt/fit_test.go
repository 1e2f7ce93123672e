package prompt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/prompt"
)

func user(text string) llm.Message   { return llm.Message{Role: llm.User, Text: text} }
func answer(text string) llm.Message { return llm.Message{Role: llm.Assistant, Text: text} }
func result(id, text string) llm.Message {
	return llm.Message{Role: llm.ToolRole, ToolCallID: id, ToolName: "look", Text: text}
}
func calls(arguments string, ids ...string) llm.Message {
	m := llm.Message{Role: llm.Assistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, llm.NewToolCall(id, "look", arguments))
	}
	return m
}

func tokensOf(messages []llm.Message) (n int) {
	for i := range messages {
		n += messages[i].EstimateTokens()
	}
	return n
}

// A long history is not copied for each run: it has room for the run's message, and what fits is used as it is.
func TestWhatFitsIsNotCopied(t *testing.T) {
	t.Parallel()
	history := prompt.History(transcript(t, `{"author":"user","text":"1"}`, `{"author":"assistant","text":"2"}`))
	all := append(history, user("3"))
	if &all[0] != &history[0] {
		t.Error("the history is copied for one more message")
	}
	if f := prompt.Fit(all, 1_000); len(f.Messages) != 3 || &f.Messages[0] != &all[0] || cap(f.Messages) != 3 {
		t.Errorf("%d messages, with room for %d, are not those that were given", len(f.Messages), cap(f.Messages))
	}
}

func TestHistoryIsCutAtAMessageOfAUser(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 40) // 50 tokens, 54 with its frame
	all := []llm.Message{user("1" + long), answer("2"), user("3"), calls("{}", "a"), result("a", long), answer("4"), user("5")}
	for tokens, want := range map[int]struct{ first, leftOut int }{1_000: {0, 0}, 155: {0, 0}, 100: {2, 2}} {
		f := prompt.Fit(all, tokens)
		if diff := cmp.Diff(all[want.first:], f.Messages); diff != "" || f.LeftOut != want.leftOut || f.Shortened != 0 || f.Tokens != tokensOf(f.Messages) {
			t.Errorf("%d tokens: %+v %s", tokens, f, diff)
		}
	}
	all[4].Text = strings.Repeat("word ", 200)
	if f := prompt.Fit(all, 150); f.LeftOut != 6 || !cmp.Equal(f.Messages, all[6:]) {
		t.Errorf("%+v", f)
	}
}

func TestNewestMessageIsCutInItsMiddle(t *testing.T) {
	t.Parallel()
	whole := "begin " + strings.Repeat("가", 5_000) + " end"
	f := prompt.Fit([]llm.Message{user("before"), answer("x"), user(whole)}, 300)
	if len(f.Messages) != 1 || f.LeftOut != 2 || f.Shortened != 1 || f.Tokens > 300 || f.Tokens < 290 {
		t.Fatalf("%+v", f)
	}
	if text := f.Messages[0].Text; !strings.HasPrefix(text, "begin 가") || !strings.HasSuffix(text, "가 end") || strings.Count(text, "cut here") != 1 {
		t.Errorf("%s", text)
	}
}

// A run keeps its message and its last calls, whatever its tools return.
func TestTurnThatIsTooLongKeepsItsEnds(t *testing.T) {
	t.Parallel()
	turn := []llm.Message{user("do it")}
	for i := range 30 {
		id := fmt.Sprint("call", i)
		turn = append(turn, calls(`{"n":1}`, id), result(id, strings.Repeat("long ", 2_000)))
	}
	f := prompt.Fit(append([]llm.Message{user("old"), answer("old")}, turn...), 1_000)
	last := len(f.Messages) - 1
	if f.Tokens > 1_000 || f.Messages[0].Text != "do it" || f.Messages[last].ToolCallID != "call29" || f.Messages[last-1].ToolCalls[0].ID != "call29" ||
		f.LeftOut+len(f.Messages) != len(turn)+2 || f.LeftOut == 2 || f.Shortened == 0 {
		t.Errorf("%+v", f)
	}
	big := []llm.Message{user("do it"), calls(`{"text":"`+strings.Repeat("x", 10_000)+`"}`, "a", "b"), result("a", "done"), result("b", "done")}
	f = prompt.Fit(big, 200)
	if f.Tokens > 200 || len(f.Messages) != 4 || string(f.Messages[1].ToolCalls[0].Arguments) != "{}" || f.Shortened != 1 {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(string(big[1].ToolCalls[0].Arguments), "xxx") {
		t.Error("the messages were changed")
	}
	many := []llm.Message{user("do it"), calls("{}", strings.Split("abcdefghijklmnopqrstuvwxyz", "")...)}
	f = prompt.Fit(many, 100)
	if diff := cmp.Diff([]llm.Message{user("do it")}, f.Messages); diff != "" || f.LeftOut != 27 {
		t.Errorf("%+v %s", f, diff)
	}
	if f = prompt.Fit(many[1:], 100); f.Tokens > 100 || len(f.Messages) != 1 || f.Messages[0].Text == "" || f.Messages[0].ToolCalls != nil || many[1].ToolCalls == nil {
		t.Errorf("%+v", f)
	}
	pictures := user("see")
	pictures.Images = []llm.Image{{MediaType: "image/png", Data: []byte("1")}, {MediaType: "image/png", Data: []byte("2")}}
	if f = prompt.Fit([]llm.Message{pictures}, 2_000); f.Tokens > 2_000 || len(f.Messages[0].Images) != 1 || string(f.Messages[0].Images[0].Data) != "2" {
		t.Errorf("%+v", f)
	}
}

// A long turn is traversed a few times, not once per call.
func TestTurnOfManyCalls(t *testing.T) {
	t.Parallel()
	const n = 100_000 // would take minutes if each call were left out by itself
	turn := []llm.Message{user("do it")}
	for i := range n {
		id := fmt.Sprint(i)
		turn = append(turn, calls("{}", id), result(id, strings.Repeat("x", 80)))
	}
	f := prompt.Fit(turn, 1_000)
	last := len(f.Messages) - 1
	if f.Tokens > 1_000 || f.Tokens < 900 || f.Messages[0].Text != "do it" || f.Messages[last].ToolCallID != fmt.Sprint(n-1) || f.LeftOut+last != 2*n {
		t.Errorf("%d messages, %d tokens, %d left out, the last is %+v", len(f.Messages), f.Tokens, f.LeftOut, f.Messages[last])
	}
}

// drawn generates messages as a transcript may contain them, complete or not.
func drawn(t *rapid.T) []llm.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(rapid.SampledFrom([]string{"", "x", "word ", "한글", "🌿"}).Draw(t, "text"), rapid.SampledFrom([]int{0, 1, 30, 400}).Draw(t, "times"))
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) llm.Message {
		m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, llm.Assistant, llm.ToolRole, llm.ToolRole}).Draw(t, "role"), Text: text.Draw(t, "text")}
		switch m.Role {
		case llm.User:
			m.Images = make([]llm.Image, rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "images"))
		case llm.Assistant:
			for _, one := range rapid.SliceOfNDistinct(id, 0, 3, rapid.ID).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, llm.NewToolCall(one, "look", `{"a":"`+strings.Repeat("y", rapid.SampledFrom([]int{0, 900}).Draw(t, "arguments"))+`"}`))
			}
		case llm.ToolRole:
			m.ToolCallID = id.Draw(t, "id")
		}
		return m
	}), 0, 20).Draw(t, "messages")
}

// For any messages, the selection stays within its budget, its calls and results are paired, it contains the newest
// message, it begins with a message of a user if earlier ones are left out, and it is the same every time.
func TestFitKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := append(drawn(t), user("newest "+strings.Repeat("n", rapid.SampledFrom([]int{0, 4_000}).Draw(t, "newest"))))
		tokens := rapid.IntRange(100, 5_000).Draw(t, "tokens")
		before, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		f := prompt.Fit(messages, tokens)
		if f.Tokens > tokens || f.Tokens != tokensOf(f.Messages) {
			t.Fatalf("%d tokens, reported as %d, of a budget of %d", tokensOf(f.Messages), f.Tokens, tokens)
		}
		if diff := cmp.Diff(f.Messages, llm.Paired(f.Messages)); diff != "" {
			t.Fatalf("not paired: %s", diff)
		}
		if last := f.Messages[len(f.Messages)-1]; last.Role != llm.User || !strings.HasPrefix(last.Text, "newest ") {
			t.Fatalf("the newest message is %+v", last)
		}
		if f.LeftOut > 0 && f.Messages[0].Role != llm.User {
			t.Fatalf("begins with %+v", f.Messages[0])
		}
		if diff := cmp.Diff(f, prompt.Fit(messages, tokens)); diff != "" {
			t.Fatal(diff)
		}
		if after, _ := json.Marshal(messages); string(after) != string(before) {
			t.Fatal("the messages were changed")
		}
	})
}

// The same holds for the newest turn of a run, however it ends.
func TestFitOfAnyTurnStaysWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := drawn(t)
		tokens := rapid.IntRange(-1, 3_000).Draw(t, "tokens")
		f := prompt.Fit(messages, tokens)
		if n := tokensOf(f.Messages); n > max(tokens, 100) || n != f.Tokens || f.LeftOut+len(f.Messages) != len(llm.Paired(messages)) {
			t.Fatalf("%d tokens of %d: %+v", n, tokens, f)
		}
		if diff := cmp.Diff(llm.Paired(f.Messages), f.Messages); diff != "" {
			t.Fatalf("not paired: %s", diff)
		}
		if paired := llm.Paired(messages); len(paired) > 0 && len(f.Messages) == 0 {
			t.Fatal("no messages are left")
		}
	})
}
