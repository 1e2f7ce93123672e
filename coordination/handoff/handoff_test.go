package handoff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

func TestEveryTypeIsRead(t *testing.T) {
	t.Parallel()
	want := map[handoff.Type][2]string{
		handoff.TaskDelegation: {"task-001", ""}, handoff.StatusReport: {"task-001", "blocked"}, handoff.Question: {"q-001", ""}, handoff.Answer: {"q-001", ""},
	}
	for _, typ := range types {
		p := parse(t, whole[typ])
		if p.Type != typ || p.Subject != want[typ][0] || p.Status != want[typ][1] || string(p.JSON) != whole[typ] || len(p.Hash) != 64 {
			t.Errorf("%s: %+v", typ, p)
		}
		parse(t, least[typ])
		parse(t, " \n"+least[typ]+"\t")
	}
}

// Each text of seed 002 §4.3 stands here as it stands there.
func TestWhatIsWrongIsSaidInTheWordsOfTheSeed(t *testing.T) {
	t.Parallel()
	const notJSON, noObject = "payloadJson이 올바른 JSON이 아닙니다", "payloadJson은 JSON 객체여야 합니다"
	delegation := []string{"taskId 필드가 필요합니다", "taskTitle 필드가 필요합니다", "taskDescription 필드가 필요합니다"}
	for text, want := range map[string][]string{
		"": nil, " \n\t\u00a0": nil,
		`not-json`: {notJSON}, `{"type":"answer"`: {notJSON}, `{} {}`: {notJSON}, "{\"type\":\"\xff\"}": {notJSON}, "\ufeff{}": {notJSON},
		strings.Repeat("[", 20_000): {notJSON},
		`null`:                      {noObject}, `[]`: {noObject}, `"answer"`: {noObject}, `1`: {noObject},
		`{}`: {"type 필드가 필요합니다"}, `{"type":null}`: {"type 필드가 필요합니다"}, `{"Type":"answer"}`: {"type 필드가 필요합니다"},
		`{"type":1}`: {"type 필드는 문자열이어야 합니다"}, `{"type":["answer"]}`: {"type 필드는 문자열이어야 합니다"},
		`{"type":"unknown_type","data":"..."}`:         {"알 수 없는 페이로드 타입: unknown_type"},
		`{"type":"Answer"}`:                            {"알 수 없는 페이로드 타입: Answer"},
		`{"type":""}`:                                  {"알 수 없는 페이로드 타입: "},
		`{"type":"` + strings.Repeat("가", 1000) + `"}`: {"알 수 없는 페이로드 타입: " + strings.Repeat("가", 21) + "..."},
		`{"type":"sk-0123456789abcdef0123"}`:           {"알 수 없는 페이로드 타입: ***"},

		`{"type":"task_delegation"}`: delegation,
		`{"type":"task_delegation","taskId":"","taskTitle":null,"taskDescription":0}`:       delegation,
		`{"type":"task_delegation","taskId":false,"taskTitle":-0.0,"taskDescription":0e7}`:  delegation,
		`{"type":"task_delegation","taskId":7,"taskTitle":["x"],"taskDescription":{"x":1}}`: {"taskId 필드는 문자열이어야 합니다", "taskTitle 필드는 문자열이어야 합니다", "taskDescription 필드는 문자열이어야 합니다"},
		`{"type":"task_delegation","taskTitle":"제목만 있음"}`:                                   {"taskId 필드가 필요합니다", "taskDescription 필드가 필요합니다"},
		`{"type":"task_delegation","taskId":"t","taskTitle":"a","taskDescription":"b","context":1,"deadline":null,"priority":"HIGH","acceptanceCriteria":["a",1]}`: {
			"context 필드는 문자열이어야 합니다", "deadline 필드는 문자열이어야 합니다", "priority는 critical | high | medium | low 중 하나여야 합니다",
			"acceptanceCriteria 필드는 문자열 배열이어야 합니다"},

		`{"type":"status_report"}`:                          {"taskId 필드가 필요합니다", "status 필드가 필요합니다"},
		`{"type":"status_report","taskId":"t","status":""}`: {"status 필드가 필요합니다"},
		`{"type":"status_report","taskId":"t","status":"done","completedWork":[],"remainingWork":1,"blockers":"x","progressPercent":"5","artifacts":{}}`: {
			"status는 in_progress | completed | blocked | failed 중 하나여야 합니다", "completedWork 필드는 문자열이어야 합니다", "remainingWork 필드는 문자열이어야 합니다",
			"blockers 필드는 문자열 배열이어야 합니다", "progressPercent 필드는 숫자여야 합니다", "artifacts 필드는 문자열 배열이어야 합니다"},
		`{"type":"status_report","taskId":"t","status":"failed","progressPercent":100.01}`: {"progressPercent는 0~100 범위여야 합니다"},
		`{"type":"status_report","taskId":"t","status":1}`:                                 {"status는 in_progress | completed | blocked | failed 중 하나여야 합니다"},

		`{"type":"question"}`: {"questionId 필드가 필요합니다", "question 필드가 필요합니다"},
		`{"type":"question","questionId":"q","question":"a","urgency":"now","options":[null],"context":true}`: {
			"context 필드는 문자열이어야 합니다", "urgency는 urgent | normal | low 중 하나여야 합니다", "options 필드는 문자열 배열이어야 합니다"},

		`{"type":"answer"}`: {"questionId 필드가 필요합니다", "answer 필드가 필요합니다"},
		`{"type":"answer","questionId":"q-001","answer":"네","confidence":1.5}`:             {"confidence는 0.0~1.0 범위여야 합니다"},
		`{"type":"answer","questionId":"q","answer":"a","confidence":null,"references":1}`: {"confidence 필드는 숫자여야 합니다", "references 필드는 문자열 배열이어야 합니다"},
	} {
		p, warnings := handoff.Parse(text)
		if p != nil || !slices.Equal(warnings, want) {
			t.Errorf("%.80s: %+v, %s", text, p, cmp.Diff(want, warnings))
		}
	}
}

func TestBoundsOfNumbersAreExact(t *testing.T) {
	t.Parallel()
	for number, inside := range map[string]bool{
		"0": true, "-0": true, "-0.0e5": true, "0.5": true, "1": true, "1.0": true, "10e-1": true, "0.00001E5": true, "1e-400": true, "0.999999999999999999999": true,
		"1.000000000000000000001": false, "1e400": false, "1e99999999999999999999": false, "-1e-400": false, "-1": false, "2": false, "1e1": false, "1.1": false,
		"1e-99999999999999999999": true, "0e99999999999999999999": true,
	} {
		p, warnings := handoff.Parse(`{"type":"answer","questionId":"q","answer":"a","confidence":` + number + `}`)
		if (p != nil) != inside {
			t.Errorf("%s: %v", number, warnings)
		}
	}
}

func TestPayloadsAreBounded(t *testing.T) {
	t.Parallel()
	const frame = `{"type":"answer","questionId":"q","answer":""}`
	full := strings.Replace(frame, `""`, `"`+strings.Repeat("x", handoff.MaxPayload-len(frame))+`"`, 1)
	parse(t, full)
	if p, warnings := handoff.Parse(full + " "); p != nil || !slices.Equal(warnings, []string{"payloadJson은 32768바이트를 넘을 수 없습니다"}) {
		t.Errorf("%v", warnings)
	}
}

func TestUnknownMembersAreKept(t *testing.T) {
	t.Parallel()
	const text = `{"type":"answer","questionId":"q","answer":"b","extra":{"deep":[1,null,true]},"taskId":7,"status":["x"]}`
	p := parse(t, text)
	if string(p.JSON) != text || p.Subject != "q" || p.Status != "" || p.Hash == parse(t, least[handoff.Answer]).Hash {
		t.Errorf("%+v", p)
	}
}

// What is said counts, and nothing else.
func TestHash(t *testing.T) {
	t.Parallel()
	const one = `{"type":"answer","questionId":"q","answer":"b","confidence":1,"references":["x","y"],"more":{"a":null,"b":false}}`
	same := []string{
		` { "more" : {"b":false,"a":null}, "references": ["x", "y"], "confidence":1.0, "answer":"b", "questionId":"q", "type":"answer" }` + "\n",
		strings.Replace(one, `"confidence":1`, `"confidence":10e-1`, 1),
		strings.Replace(one, `"b","c`, `"\u0062","c`, 1),
		strings.Replace(one, `{"type"`, `{"answer":"other","type"`, 1), // of members with one name the last counts
	}
	others := []string{
		strings.Replace(one, `"confidence":1`, `"confidence":0.1`, 1),
		strings.Replace(one, `"confidence":1,`, ``, 1),
		strings.Replace(one, `["x","y"]`, `["y","x"]`, 1),
		strings.Replace(one, `["x","y"]`, `["x,y"]`, 1),
		strings.Replace(one, `["x","y"]`, `[]`, 1),
		strings.Replace(one, `null`, `"null"`, 1),
		strings.Replace(one, `false`, `0`, 1),
		strings.Replace(one, `false`, `-1`, 1),
		strings.Replace(one, `false`, `1`, 1),
		strings.Replace(one, `"q"`, `"q "`, 1),
	}
	hash, seen := parse(t, one).Hash, map[string]string{}
	for _, text := range same {
		if text == one || parse(t, text).Hash != hash {
			t.Errorf("%s is another one", text)
		}
	}
	for _, text := range append(others, one) {
		h := parse(t, text).Hash
		if seen[h] != "" {
			t.Errorf("%s is taken for %s", text, seen[h])
		}
		seen[h] = text
	}
}

func FuzzParse(f *testing.F) {
	for _, typ := range types {
		f.Add(whole[typ])
		f.Add(least[typ])
	}
	f.Add(`{"type":"answer","questionId":"q","answer":"a","confidence":-1e-9}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, warnings := handoff.Parse(text)
		if p == nil {
			if warnings == nil && coordination.TrimJS(text) != "" {
				t.Fatal("no warning")
			}
			return
		}
		if warnings != nil || !slices.Contains(types, p.Type) || p.Subject == "" || string(p.JSON) != text {
			t.Fatalf("%+v, %v", p, warnings)
		}
		again := parse(t, string(p.JSON))
		if again.Hash != p.Hash || again.Summary() != p.Summary() || !strings.Contains(handoff.Message("a", "b", p), p.Summary()) {
			t.Fatal("not the same twice")
		}
	})
}
