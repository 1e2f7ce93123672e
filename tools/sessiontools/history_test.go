package sessiontools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type history struct {
	SessionKey, SessionID                                         string
	Messages                                                      []json.RawMessage
	Truncated, DroppedMessages, ContentTruncated, ContentRedacted bool
	Bytes                                                         int
}

// brief is who said what.
func (h *history) brief(t *testing.T) (all []string) {
	t.Helper()
	for _, raw := range h.Messages {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		text := m.Role
		for _, block := range m.Content {
			text += fmt.Sprint(" ", block["type"], ":", block["text"])
		}
		all = append(all, text)
	}
	return all
}

func TestHistory(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	got, out := call[history](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"main"}`)
	want := []string{"user text:안녕하세요, 이슈를 봐 주세요. 열쇠는 ***", "assistant text:다 봤습니다."}
	if diff := cmp.Diff(want, got.brief(t)); diff != "" {
		t.Error(diff)
	}
	if got.SessionKey != "agent:eden:main" || got.SessionID != "id-eden" || got.Truncated || !got.ContentRedacted || out.Text != string(out.Details) {
		t.Errorf("%s", out.Text)
	}
	got, _ = call[history](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"main","limit":1}`)
	if diff := cmp.Diff(want[1:], got.brief(t)); diff != "" {
		t.Error(diff)
	}
}

// With tools: the calls and their results, without the secrets in the arguments and without thinking.
func TestHistoryWithTools(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	got, out := call[history](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"id-eden","includeTools":true}`)
	want := []string{"user text:안녕하세요, 이슈를 봐 주세요. 열쇠는 ***", "assistant toolCall:<nil>", "toolResult text:찾은 것", "assistant text:다 봤습니다."}
	if diff := cmp.Diff(want, got.brief(t)); diff != "" {
		t.Error(diff)
	}
	var asked struct{ Content []json.RawMessage }
	if err := json.Unmarshal(got.Messages[1], &asked); err != nil {
		t.Fatal(err)
	}
	if got, want := string(asked.Content[0]), `{"arguments":{"n":12345678901234567890,"password":"***","q":"이슈 5"},"id":"c1","name":"lookup","type":"toolCall"}`; got != want {
		t.Errorf("the call is %s, want %s", got, want)
	}
	if !strings.Contains(string(got.Messages[2]), `"toolCallId":"c1","toolName":"lookup","isError":false`) {
		t.Errorf("the result is %s", got.Messages[2])
	}
	for _, hidden := range []string{"속으로", "zzz", "hunter22"} {
		if strings.Contains(out.Text, hidden) {
			t.Errorf("%s is told", hidden)
		}
	}
	got, _ = call[history](t, f, "agent:eden:main", "sessions_history", `{"sessionKey":"main","includeTools":true,"limit":2}`)
	if diff := cmp.Diff(want[2:], got.brief(t)); diff != "" {
		t.Error(diff)
	}
}

// A session that does not exist, and the caller's own that has not started, are told apart.
func TestHistoryOfNothing(t *testing.T) {
	t.Parallel()
	f := setup(t, "", team()...)
	for _, ref := range []string{"agent:eden:none", "no such", "조", strings.Repeat("가", 100), "agent:", "agent:eden:a2a:" + strings.Repeat("x", 200)} {
		args, err := json.Marshal(map[string]string{"sessionKey": ref})
		if err != nil {
			t.Fatal(err)
		}
		got, out := call[struct{ Status, Error string }](t, f, "agent:eden:main", "sessions_history", string(args))
		if !out.IsError || got.Status != "error" || got.Error == "" {
			t.Errorf("%s: %s", ref, out.Text)
		}
	}
	got, out := call[history](t, f, "agent:eden:new", "sessions_history", `{"sessionKey":"agent:eden:new"}`)
	if out.IsError || got.SessionKey != "agent:eden:new" || got.Messages == nil || len(got.Messages) > 0 {
		t.Errorf("%s", out.Text)
	}
}

// Long texts are cut, too large ones replaced, and the oldest messages left out; the answer says so, and stays within its bound.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	const key = "agent:eden:main"
	long := strings.Repeat("긴", 5_000)
	blocks := `"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"`+strings.Repeat("가", 3_900)+`"},`, 10), ",") + `]`
	image := `"content":[{"type":"image","data":"` + strings.Repeat("A", 90_000) + `"},{"type":"image","source":{"data":"QUJD"}},{"type":"text","text":"그림"},null]`
	events := made(0, key, "id", "", "")
	for i := range 40 {
		events = append(events, said(int64(i), key, "user", fmt.Sprint(i, long)))
	}
	events = append(events, said(50, key, "assistant", "", blocks), said(51, key, "user", "", image), said(52, key, "user", "짧게"))
	f := setup(t, "", events...)
	got, out := call[history](t, f, key, "sessions_history", `{"sessionKey":"main"}`)
	if !got.Truncated || !got.DroppedMessages || !got.ContentTruncated || got.ContentRedacted || got.Bytes > 80<<10 || len(out.Text) > 81<<10 {
		t.Errorf("%d bytes: %+v", len(out.Text), got.Bytes)
	}
	said := got.brief(t)
	slices.Reverse(said)
	if diff := cmp.Diff([]string{"user text:짧게", "user image:<nil> image:<nil> text:그림", "assistant text:[sessions_history omitted: message too large]"},
		[]string{said[0], strings.TrimSuffix(said[1], " <nil>:<nil>"), said[2]}); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out.Text, `{"bytes":90000,"omitted":true,"type":"image"},{"bytes":4,"omitted":true,"type":"image"}`) {
		t.Errorf("images are not counted: %s", got.Messages[len(got.Messages)-2])
	}
	if want := "user text:39" + strings.Repeat("긴", 3_998) + "\n…(truncated)…"; said[3] != want {
		t.Errorf("cut to %d bytes, want %d", len(said[3]), len(want))
	}
	if total := len(said); total < 5 || total > 20 {
		t.Errorf("%d messages are told", total)
	}
	got, _ = call[history](t, f, key, "sessions_history", `{"sessionKey":"main","limit":2}`)
	if len(got.Messages) != 2 || got.DroppedMessages || got.Truncated {
		t.Errorf("%+v", got)
	}
}
