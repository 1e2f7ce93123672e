package coordination

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		text string
		want Display
	}{
		{"<@111122223333444455> 확인 부탁", Display{Text: "@세움 확인 부탁"}},
		{"<@!111122223333444455>님", Display{Text: "@세움님"}},
		{"<@999988887777666655> <@&12> <#3456789>", Display{Text: "@…6655 @…12 #…6789"}},
		{"잘했어요 <:party:123456789> <a:dance:1>", Display{Text: "잘했어요 :party: :dance:"}},
		{"a < b, x <@ y> and <https://a.b> <t:1:R>", Display{Text: "a < b, x <@ y> and <https://a.b> <t:1:R>"}},
		{"**굵게** `code`", Display{Text: "**굵게** `code`"}},
		{"[outcome] blocked: 응답을 받지 못했습니다", Display{Text: "응답을 받지 못했습니다", State: OutcomeBlocked}},
		{"[outcome] blocked: 응답을 받지 못했습니다 (대기 시간 300초 초과)", Display{Text: "응답을 받지 못했습니다 (대기 시간 300초 초과)", State: OutcomeBlocked, Reason: "대기 시간 300초 초과"}},
		{"[outcome] blocked: 응답을 받지 못했습니다 (LLM (gpt) 거절)", Display{Text: "응답을 받지 못했습니다 (LLM (gpt) 거절)", State: OutcomeBlocked, Reason: "LLM (gpt) 거절"}},
		{" [Outcome] NO_REPLY: 전달되었지만 응답을 받지 못했습니다", Display{Text: "전달되었지만 응답을 받지 못했습니다", State: OutcomeNoReply}},
		{"[outcome] failed: disk full", Display{Text: "disk full", State: OutcomeBlocked, Reason: "disk full"}},
		{"[outcome] blocked:", Display{Text: "메시지가 전달되지 않았습니다", State: OutcomeBlocked, Reason: "메시지가 전달되지 않았습니다"}},
		{"[outcome] done: 배포 끝", Display{Text: "배포 끝", State: OutcomeDone}},
		{"[outcome] 배포 결과: 정상", Display{Text: "배포 결과: 정상"}},
		{"the text [outcome] blocked: is quoted", Display{Text: "the text [outcome] blocked: is quoted"}},
		{"token=abcdef123456 쓰세요", Display{Text: "token=*** 쓰세요"}},
		{"", Display{}},
	} {
		if got := Clean(tt.text, testRoster()); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.text, got, tt.want)
		}
	}
	if got := Clean("<@111122223333444455>", nil).Text; got != "@…4455" {
		t.Errorf("without a roster: %q", got)
	}
}

// Secrets are put together here so that no scanner takes this file for a leak.
func TestMask(t *testing.T) {
	t.Parallel()

	discord := strings.Repeat("M", 24) + "." + "Gabc12" + "." + strings.Repeat("x9", 19)
	jwt := "eyJ" + "hbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxIn0" + "." + "c2lnbmF0dXJl"
	for text, want := range map[string]string{
		"key sk-" + strings.Repeat("a1", 12) + " end":                                 "key *** end",
		"sk-" + "ant-api03-" + strings.Repeat("b", 20):                                "***",
		"gh" + "p_" + strings.Repeat("Z9", 18):                                        "***",
		"xox" + "b-123456789012-abcdef":                                               "***",
		"AK" + "IA" + strings.Repeat("7Q", 8):                                         "***",
		"bot " + discord + "!":                                                        "bot ***!",
		"jwt " + jwt:                                                                  "jwt ***",
		"Authorization: Bearer " + strings.Repeat("q1", 8):                            "Authorization: Bearer ***",
		`{"authorization":"Basic dXNlcjpwYXNz"}`:                                      `{"authorization":"Basic ***"}`,
		"curl -H 'authorization: Bot abc.def.ghi'":                                    "curl -H 'authorization: Bot ***'",
		"Bearer abcd1234efgh":                                                         "Bearer ***",
		"postgres://app:s3cret@db:5432/x":                                             "postgres://app:***@db:5432/x",
		"https://discord.com/api/webhooks/123456/abc_DEF-1":                           "https://discord.com/api/webhooks/123456/***",
		"password=hunter2hunter2":                                                     "password=***",
		"PASSWORD: correcthorse":                                                      "PASSWORD: ***",
		`"apiKey": "abc123def"`:                                                       `"apiKey": "***"`,
		`{\"client_secret\":\"abc123def\"}`:                                           `{\"client_secret\":\"***\"}`,
		"DISCORD_TOKEN=abc.def.123, next":                                             "DISCORD_TOKEN=***, next",
		"비밀번호: qwer1234":                                                              "비밀번호: ***",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter": "***\nafter",

		"authorization: required":               "authorization: required",
		"bearer authentication is on":           "bearer authentication is on",
		"token: invalid, try again":             "token: invalid, try again",
		"max_tokens=4096":                       "max_tokens=4096",
		"sessionKey=agent:eden:main":            "sessionKey=agent:eden:main",
		"task-1234567890123456 risk-management": "task-1234567890123456 risk-management",
		"http://localhost:3847/api?x=a@b":       "http://localhost:3847/api?x=a@b",
		"b76def94-f73c-4dbb-ac50-a9b0419e90b0":  "b76def94-f73c-4dbb-ac50-a9b0419e90b0",
		"비밀번호 정책을 논의합시다":                        "비밀번호 정책을 논의합시다",
		"":                                      "",
	} {
		got := Mask(text)
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if again := Mask(got); again != got {
			t.Errorf("%q masked twice: %q", got, again)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("Authorization: Bearer x1 token=\"abc\" https://a:b@c")
	f.Add("password: 비밀번호=qwerty123 sk-aaaaaaaaaaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, text string) {
		once := Mask(text)
		if twice := Mask(once); twice != once {
			t.Errorf("%q: %q, then %q", text, once, twice)
		}
		Clean(text, nil)
		if n := utf8.RuneCountInString(Preview(text, nil, 40)); n > 40 {
			t.Errorf("%q: %d characters", text, n)
		}
	})
}

func TestPreview(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		text string
		max  int
		want string
	}{
		{"# 제목\n\n**굵게** _기울임_ ~~취소~~ `code`", 80, "제목 굵게 기울임 취소 code"},
		{"- [x] 하나\n* 둘\n1. 셋\n> 인용", 80, "하나 둘 셋 인용"},
		{"[문서](https://a.b/c_(d)) 와 ![그림](x.png \"t\")", 80, "문서 와 그림"},
		{"```go\nfunc main() {}\n```\n끝", 80, "func main() {} 끝"},
		{"snake_case_name 과 2*3*4 는 그대로", 80, "snake_case_name 과 2*3*4 는 그대로"},
		{"| a | b |\n|---|---|\n| 1 | 2 |", 80, "a b 1 2"},
		{"위\n---\n아래", 80, "위 아래"},
		{"***둘 다***", 80, "둘 다"},
		{"<@111122223333444455> 보세요", 80, "@세움 보세요"},
		{"가나다라마바사", 6, "가나다..."},
		{"가나다라마바", 6, "가나다라마바"},
		{"가나 다라마바사", 6, "가나..."},
		{"ab👩‍👩‍👧‍👦cdefghijk", 8, "ab..."},
		{"e\u0301e\u0301e\u0301e\u0301", 6, "e\u0301..."},
		{"🇰🇷🇰🇷🇰🇷🇰🇷", 6, "🇰🇷..."},
		{"abcdef", 2, ".."},
		{"abcdef", 0, ""},
		{"", 10, ""},
	} {
		if got := Preview(tt.text, testRoster(), tt.max); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.text, tt.max, got, tt.want)
		}
	}
}

func TestTitleOf(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("가", 70)
	for _, tt := range []struct {
		name, typ, data, want string
		priority              int
	}{
		{"task", "task.started", `{"title":"**결제** 흐름을 고친다","description":"결제 흐름을 고친다\n둘째 줄"}`, "결제 흐름을 고친다", TitleOfTask},
		{"task without a title", "task.started", `{"description":"\n  로그인 복구  \n- 하나"}`, "로그인 복구", TitleOfTask},
		{"task in the backlog", "task.backlog_added", `{"description":"rename \"foo\" to \"bar\"","assignee":"seum"}`, `rename "foo" to "bar"`, TitleOfTask},
		{"long task", "task.started", `{"title":"` + long + `"}`, strings.Repeat("가", 61) + "...", TitleOfTask},
		{"task called by an id", "task.started", `{"title":"task_1606e4644e0d4887d6e1","progress":"Task started"}`, "", 0},
		{"title of something else", "task.updated", `{"title":"결제 흐름","message":"절반 끝"}`, "절반 끝", titleOther},
		{"label", "a2a.spawn", `{"label":"login-page_redesign","message":"x"}`, "login page redesign", -1},
		{"label too short", "a2a.spawn", `{"label":"ab","message":"결제 흐름을 살펴봐 주세요"}`, "결제 흐름을 살펴봐 주세요", titleSpawn},
		{"generic label", "a2a.send", `{"label":"Work-Session","message":"결제 흐름"}`, "결제 흐름", titleSend},
		{"label that is an id", "a2a.send", `{"label":"task_1606e4644e0d4887d6e1","message":"결제 흐름"}`, "결제 흐름", titleSend},
		{"goal", "a2a.response", `{"message":"[Goal] 로그인 복구\n[Context] 어제부터"}`, "로그인 복구", titleGoal},
		{"goal after other tags", "a2a.send", `{"message":"[URGENT] [goal]: 서버 복구"}`, "서버 복구", titleGoal},
		{"quoted", "a2a.response", `{"message":"A subagent task \"정산 배치 점검\" just completed successfully."}`, "정산 배치 점검", titleResponse},
		{"subagent wording", "a2a.response", `{"message":"A cron job nightly report just timed out"}`, "nightly report", titleResponse},
		{"run suffix", "continuation.sent", `{"message":"보고서 작성 - run 5e1f-22"}`, "보고서 작성", titleContinuation},
		{"preview", "a2a.response", `{"replyPreview":"네,   확인했습니다"}`, "네, 확인했습니다", titleResponse},
		{"other types", "task.updated", `{"message":"절반 끝"}`, "절반 끝", titleOther},
		{"mention", "a2a.send", `{"message":"<@111122223333444455> <@&9> 배포 부탁드려요"}`, "배포 부탁드려요", titleSend},
		{"Markdown", "a2a.send", `{"message":"**배포** 부탁"}`, "배포 부탁", titleSend},
		{"id inside", "a2a.send", `{"message":"task_1606e4644e0d4887d6e1 배포 부탁"}`, "배포 부탁", titleSend},
		{"cut", "a2a.send", `{"message":"` + long + `"}`, strings.Repeat("가", 61) + "...", titleSend},
		{"outcome", "a2a.response", `{"message":"[outcome] blocked: 응답을 받지 못했습니다"}`, "", 0},
		{"raw id", "a2a.send", `{"message":"ws_a198c9f9-21b5-44b7-a5e9-2003d9f44d7b"}`, "", 0},
		{"uuid", "a2a.send", `{"message":"b76def94-f73c-4dbb-ac50-a9b0419e90b0"}`, "", 0},
		{"silent", "a2a.response", `{"message":" NO_REPLY "}`, "", 0},
		{"only a mention", "a2a.send", `{"message":"<@111122223333444455>"}`, "", 0},
		{"spawn accepted", "a2a.spawn_result", `{"message":"Spawn accepted: child"}`, "", 0},
		{"nothing", "task.started", `{"taskId":"task_1"}`, "", 0},
		{"generic", "a2a.send", `{"message":"협업 작업"}`, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := read(t, RulesV2, tt.typ, "eden", tt.data)
			got, ok := TitleOf(&r, testRoster())
			if got != (TitleCandidate{tt.want, tt.priority}) || ok != (tt.want != "") {
				t.Errorf("got %+v, %v, want %q %d", got, ok, tt.want, tt.priority)
			}
			if utf8.RuneCountInString(got.Text) > maxTitle {
				t.Errorf("%q is too long", got.Text)
			}
		})
	}
}

func TestMessageText(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ typ, data, want string }{
		{"a2a.send", `{"message":"a\n\n b","replyPreview":"c"}`, "a b"},
		{"a2a.response", `{"message":" ","replyPreview":"c"}`, "c"},
		{"a2a.spawn_result", `{"status":"accepted"}`, "하위 에이전트가 작업을 맡아 진행하고 있습니다"},
		{"a2a.spawn_result", `{"status":"error","error":"no slot"}`, "하위 에이전트를 시작하지 못했습니다: no slot"},
		{"a2a.spawn_result", `{"status":"error"}`, "하위 에이전트를 시작하지 못했습니다"},
		{"a2a.spawn_result", `{"status":"error","replyPreview":"said"}`, "said"},
		{"task.started", `{}`, ""},
	} {
		r := read(t, RulesV2, tt.typ, "eden", tt.data)
		if got := MessageText(&r); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.typ, tt.data, got, tt.want)
		}
	}
}
