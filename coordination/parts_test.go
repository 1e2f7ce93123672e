package coordination

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// known is a directory of one agent's bot, one person and one task.
type known struct{}

func (known) Mentioned(userID string) MentionPart {
	switch userID {
	case "1001":
		return MentionPart{UserID: userID, AgentID: "eden", Name: "이든"}
	case "2002":
		return MentionPart{UserID: userID, Name: "병욱"}
	}
	return MentionPart{UserID: userID}
}

func (known) TaskTitle(id string) string {
	if id == "task_ab12" {
		return "로그인 고치기"
	}
	return ""
}

func TestPartsForPeople(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              `null`,
		"배포가 **끝났습니다**":                 `null`,
		"task_zz99 를 끝냈습니다":             `null`, // nothing is known of it
		"<#123> 에 있습니다":                 `null`, // a channel
		"task_update로 알려 주세요":           `null`,
		"\uE000 <@1001>":                `null`,
		"<@1001>":                       `[{"mention":{"userId":"1001","agentId":"eden","name":"이든"}}]`,
		"<@!2002> 님, 확인 부탁합니다":          `[{"mention":{"userId":"2002","name":"병욱"}},{"text":" 님, 확인 부탁합니다"}]`,
		"안녕하세요 <@146589212345678901> 님": `[{"text":"안녕하세요 "},{"mention":{"userId":"146589212345678901"}},{"text":" 님"}]`,
		"작업 `task_ab12`을(를) 다시 합니다":     `[{"text":"작업 "},{"ref":{"kind":"task","id":"task_ab12","title":"로그인 고치기"}},{"text":"를 다시 합니다"}]`,
		"task_ab12, task_zz99: 끝":       `[{"ref":{"kind":"task","id":"task_ab12","title":"로그인 고치기"}},{"text":", 끝"}]`,
		"파일은 tasks/task_ab12.md 입니다":    `null`,
		"[outcome] blocked: 응답 없음 (<@1001> 세션 없음)": `[{"text":"응답 없음 ("},{"mention":{"userId":"1001","agentId":"eden","name":"이든"}},{"text":" 세션 없음)"}]`,
		"[Continue] Your task task_ab12 is due":    `[{"text":"Your task "},{"ref":{"kind":"task","id":"task_ab12","title":"로그인 고치기"}},{"text":" is due"}]`,
		"<@1001> key sk-abcdefghijklmnop1234":      `[{"mention":{"userId":"1001","agentId":"eden","name":"이든"}},{"text":" key ***"}]`,
	} {
		got, err := json.Marshal(PartsForPeople(text, nil, known{}))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestHostileTextsAreBounded: neither mentions nor ids of a large text become more parts or look-ups than an answer can hold.
func TestHostileTextsAreBounded(t *testing.T) {
	t.Parallel()
	parts := PartsForPeople(strings.Repeat("<@1001> task_ab12 ", 3_000), nil, known{})
	if n := len(parts); n > 2*maxParts+1 || parts[n-1].Text == "" {
		t.Errorf("%d parts", n)
	}
	if parts := PartsForPeople(strings.Repeat("<@1001> ", 13_000), nil, known{}); parts != nil {
		t.Errorf("%d parts of 104 kB", len(parts))
	}
	var different strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&different, "task_%d ", i)
	}
	if ids := TaskIDs([]byte(different.String())); len(ids) != maxTaskIDs || ids[0] != "task_0" {
		t.Errorf("%d ids", len(ids))
	}
	if ids := TaskIDs([]byte(strings.Repeat("task_1 ", 60_000) + "task_2")); len(ids) != 1 {
		t.Errorf("ids %q, want those of the first places", ids)
	}
}

// TestPromptsAreNotSaid: what keeps agents working is neither a title nor a last message.
func TestPromptsAreNotSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, data  string
		said, text string // the latter is shown with the event
	}{
		{"a2a.send", `{"message":"배포해 주세요"}`, "배포해 주세요", "배포해 주세요"},
		{"a2a.send", `{"message":"[Continue] Your task task_bb22 is not finished. Go on."}`, "", "Your task is not finished. Go on."},
		{"a2a.send", `{"message":"[ESCALATION] Agent eden still waits for you"}`, "", "Agent eden still waits for you"},
		{"a2a.send", `{"message":"[eden]: [escalation] Agent eden waits"}`, "", "[eden]: [escalation] Agent eden waits"},
		{"a2a.response", `{"message":"[Stuck] [Restart] x"}`, "", "x"},
		{"continuation.sent", `{"message":"보고서 작성"}`, "", "보고서 작성"},
		{"unblock.requested", `{"message":"키를 주세요"}`, "", "키를 주세요"},
		{"run.queued", `{"message":"x"}`, "", ""},
		{"a2a.response", `{"message":"그때 [outcome] blocked: 가 왔어요"}`, "그때 [outcome] blocked: 가 왔어요", "그때 blocked: 가 왔어요"},
		{"a2a.response", `{"message":"<@U12AB> 와 <@Override 확인"}`, "<@U12AB> 와 <@Override 확인", "@U12AB 와 @Override 확인"},
	} {
		r := read(t, RulesV2, c.typ, "eden", c.data)
		if got := Said(&r); got != c.said {
			t.Errorf("%s %s: said %q, want %q", c.typ, c.data, got, c.said)
		}
		if got := ForPeople(Words(&r), nil).Text; got != c.text {
			t.Errorf("%s %s: shown %q, want %q", c.typ, c.data, got, c.text)
		}
		if title, ok := TitleOf(&r, nil); c.said == "" && c.typ == "a2a.send" && ok {
			t.Errorf("%s %s: title %q", c.typ, c.data, title.Text)
		}
	}
}

// TestTitlesWithIDs: an id is never part of a title, and a sentence that names one is a title only for want of a better.
func TestTitlesWithIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data, title string
		priority    int
	}{
		{`{"message":"작업 task_bb22을(를) 다시 하실 수 있습니다"}`, "작업을 다시 하실 수 있습니다", titleNamesID},
		{`{"message":"task_bb22: 로그인을 고쳐 주세요"}`, "로그인을 고쳐 주세요", titleSend},
		{`{"label":"fix task_bb22 login","message":"x"}`, "fix login", titleLabel},
		{`{"message":"<@1465892> 님, 대시보드 건 봐주세요"}`, "대시보드 건 봐주세요", titleSend},
		{`{"message":"<@1465892>님! 대시보드 건 봐주세요"}`, "대시보드 건 봐주세요", titleSend},
		{`{"message":"대시보드 건 봐주세요, <@1465892> 님"}`, "대시보드 건 봐주세요", titleSend},
	} {
		r := read(t, RulesV2, "a2a.send", "eden", c.data)
		if got, _ := TitleOf(&r, nil); got.Text != c.title || got.Priority != c.priority {
			t.Errorf("%s: %q, %d; want %q, %d", c.data, got.Text, got.Priority, c.title, c.priority)
		}
	}
}
