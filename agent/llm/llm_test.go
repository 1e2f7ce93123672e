package llm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/llm"
)

func TestErrorSaysWhatHappened(t *testing.T) {
	t.Parallel()
	e := &llm.Error{Class: llm.RateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond, Provider: "fake", Model: "echo-1", Message: "slowly"}
	if got, want := e.Error(), "fake/echo-1: rate limit reached (429): slowly; try again in 1.5s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	said := map[string]bool{}
	for _, class := range llm.Classes() {
		e := &llm.Error{Class: class, Provider: "fake", Model: "echo-1"}
		if said[e.Error()] || e.Hint() == "" || e.Code() != "llm_"+string(class) {
			t.Errorf("%s: %q, %q, %q", class, e.Error(), e.Code(), e.Hint())
		}
		said[e.Error()] = true
	}
}

func TestOnlyTransientErrorsAreRetryable(t *testing.T) {
	t.Parallel()
	retryable := []llm.Class{llm.RateLimited, llm.Overloaded, llm.Unavailable, llm.Timeout, llm.Malformed}
	for _, class := range llm.Classes() {
		e := &llm.Error{Class: class}
		want := strings.Contains(fmt.Sprint(retryable), string(class))
		if e.Retryable() != want {
			t.Errorf("%s: retryable is %v", class, e.Retryable())
		}
	}
}

func TestCleanTextIsShortAndHoldsNoSecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=%._~-]{6,60}`).Draw(t, "secret")
		text := rapid.String().Draw(t, "before") + secret + rapid.String().Draw(t, "after")
		got := llm.Clean(text, secret)
		if strings.Contains(got, secret) || !utf8.ValidString(got) || utf8.RuneCountInString(got) > 401 || strings.ContainsAny(got, "\n\r\t\x00\u200b\u202e") {
			t.Fatalf("%q", got)
		}
	})
	if got := llm.Clean("a key sk-abcdefghijklmnopqrstuv\nof someone"); got != "a key *** of someone" {
		t.Errorf("got %q", got)
	}
}

func TestCallsAndResultsArePaired(t *testing.T) {
	t.Parallel()
	call := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, llm.NewToolCall(id, "x", "{}"))
		}
		return m
	}
	result := func(id, text string) llm.Message { return llm.Message{Role: llm.ToolRole, ToolCallID: id, Text: text} }
	lost := func(id string) llm.Message {
		return llm.Message{Role: llm.ToolRole, ToolCallID: id, ToolName: "x", Text: llm.NoResult, IsError: true}
	}
	user := llm.Message{Role: llm.User, Text: "hi"}
	for name, test := range map[string]struct{ have, want []llm.Message }{
		"whole":            {[]llm.Message{user, call("a", "b"), result("a", "1"), result("b", "2"), user}, []llm.Message{user, call("a", "b"), result("a", "1"), result("b", "2"), user}},
		"no result":        {[]llm.Message{user, call("a"), user}, []llm.Message{user, call("a"), lost("a"), user}},
		"at the end":       {[]llm.Message{user, call("a")}, []llm.Message{user, call("a"), lost("a")}},
		"no call":          {[]llm.Message{user, result("a", "1"), user}, []llm.Message{user, user}},
		"two results":      {[]llm.Message{call("a"), result("a", "1"), result("a", "2")}, []llm.Message{call("a"), result("a", "1")}},
		"other order":      {[]llm.Message{call("a", "b"), result("b", "2"), result("a", "1")}, []llm.Message{call("a", "b"), result("a", "1"), result("b", "2")}},
		"too late":         {[]llm.Message{call("a"), user, result("a", "1")}, []llm.Message{call("a"), result("a", "1"), user}},
		"the same id":      {[]llm.Message{call("a"), user, call("a"), result("a", "2")}, []llm.Message{call("a"), lost("a"), user, call("a"), result("a", "2")}},
		"silent assistant": {[]llm.Message{user, {Role: llm.Assistant}}, []llm.Message{user}},
	} {
		if diff := cmp.Diff(test.want, llm.Paired(test.have)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What is lost is not looked for again and again: a long history of calls that were broken off takes no longer for each of them.
func TestManyLostResults(t *testing.T) {
	t.Parallel()
	const n = 100_000 // would take minutes if each were looked for through all of them
	messages := make([]llm.Message, 0, 2*n)
	for i := range n {
		messages = append(messages, llm.Message{Role: llm.User, Text: "go on"},
			llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{llm.NewToolCall(fmt.Sprint(i), "x", "{}")}})
	}
	messages = append(messages, llm.Message{Role: llm.ToolRole, ToolCallID: "0", Text: "late"})
	got := llm.Paired(messages)
	if len(got) != 3*n || got[2].Text != "late" || got[3*n-1].Text != llm.NoResult || got[3*n-1].ToolCallID != fmt.Sprint(n-1) {
		t.Errorf("%d messages, %+v, %+v", len(got), got[2], got[len(got)-1])
	}
}

// Whatever a history holds, what is made of it needs no mending.
func TestPairedStaysPaired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c"})
		messages := rapid.SliceOf(rapid.Custom(func(t *rapid.T) llm.Message {
			m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant, llm.ToolRole}).Draw(t, "role"), Text: rapid.SampledFrom([]string{"", "x"}).Draw(t, "text")}
			switch m.Role {
			case llm.Assistant:
				for _, one := range rapid.SliceOfNDistinct(id, 0, 3, rapid.ID).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, llm.NewToolCall(one, "x", ""))
				}
			case llm.ToolRole:
				m.ToolCallID = id.Draw(t, "id")
			}
			return m
		})).Draw(t, "messages")
		once := llm.Paired(messages)
		var open []string
		for i := range once {
			if once[i].Role == llm.ToolRole {
				if len(open) == 0 || open[0] != once[i].ToolCallID {
					t.Fatalf("a result without a call: %+v", once)
				}
				open = open[1:]
				continue
			}
			if len(open) > 0 {
				t.Fatalf("a call without a result: %+v", once)
			}
			for _, c := range once[i].ToolCalls {
				open = append(open, c.ID)
			}
		}
		if len(open) > 0 || cmp.Diff(once, llm.Paired(once)) != "" {
			t.Fatalf("not whole: %+v", once)
		}
	})
}

func TestTokensAreEstimated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "안녕하세요": 5, "hi 안녕": 3} {
		if got := llm.EstimateTokens(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	r := &llm.Request{System: "abcd", Messages: []llm.Message{{Text: "abcd"}, {ToolCalls: []llm.ToolCall{llm.NewToolCall("a", "name", "{}")}}}, Tools: []llm.Tool{{Name: "name"}}}
	if got := r.EstimateTokens(); got != 1+5+4+4+2+5 {
		t.Errorf("got %d", got)
	}
}
