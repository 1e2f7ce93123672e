package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

const told = "금고의 비밀번호는 하늘색코끼리 이고, 열쇠는 창고의 오른쪽 선반 위에 있으니 아무에게도 말하지 마세요"

// Where a text is found, and in which member.
func TestTextsAreFound(t *testing.T) {
	t.Parallel()
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	nested := quoted(`{"inner":` + quoted(`{"deep":`+quoted(told)+`}`) + `}`)
	for name, tc := range map[string]struct{ payload, field string }{
		"itself":                 {`{"message":` + quoted(told) + `}`, "message"},
		"within another text":    {`{"a":{"b":["x",` + quoted("he said: "+told+"!") + `]}}`, "a.b"},
		"its beginning, cut":     {`{"preview":` + quoted(headTo(told, 45)+"...") + `}`, "preview"},
		"with other space":       {`{"t":` + quoted(strings.ReplaceAll(told, " ", "\n  ")) + `}`, "t"},
		"JSON in texts":          {`{"payloadJson":` + nested + `}`, "payloadJson"},
		"escaped":                {`{"m":"\uae08\uace0\uc758 ` + strings.TrimPrefix(told, "금고의 ") + `"}`, "m"},
		"a piece of it":          {`{"chunk":` + quoted("창고의 오른쪽 선반 위에 있으니") + `}`, "chunk"},
		"the name of a member":   {`{` + quoted(told) + `:1}`, nameOfMember},
		"something else":         {`{"message":"아무 말이나 합니다, 정말로 아무 말이나"}`, ""},
		"a word of it":           {`{"message":"비밀번호는"}`, ""},
		"how others begin":       {`{"message":"금고의 비밀번호는"}`, ""},
		"nothing":                {`{}`, ""},
		"an id that it mentions": {`{"taskId":"task_0011223344"}`, ""},
	} {
		n := newNeedles()
		n.addPayload(json.RawMessage(`{"eventRole":"conversation.main","message":` + quoted(told) + `,"taskId":"task_00112233445566"}`))
		n.complete()
		if field, ok := n.in(json.RawMessage(tc.payload)); ok != (tc.field != "") || field != tc.field {
			t.Errorf("%s: found in %q (%t), want %q", name, field, ok, tc.field)
		}
	}
}

// Ids, roles and times of a named event are not searched elsewhere.
func TestStructureIsNoText(t *testing.T) {
	t.Parallel()
	n := newNeedles()
	n.addPayload(json.RawMessage(`{"eventRole":"conversation.main","workSessionId":"ws_0197c9a4-5b1e-7c3d-9f00-112233445566","sessionKey":"agent:eden:discord:channel:1",
		"conversationId":"0197c9a4-5b1e-7c3d-9f00-112233445566","at":"2026-02-20T12:00:00.000Z","path":"workspace-eden/tasks/task_1.md","type":"a2a.send.policy_rejected",
		"other":"0197c9a4-5b1e-7c3d-9f00-112233445566","short":"twelve chars","fromSessionType":"main-session-type","apiKey":"sk-0123456789abcdef"}`))
	if len(n.whole) != 1 || n.whole[0] != "sk-0123456789abcdef" {
		t.Errorf("looked for: %q, want the key alone", n.whole)
	}
}

// A given text is found anywhere, numbers included, and nothing else is.
func TestOwnTexts(t *testing.T) {
	t.Parallel()
	for text, payloads := range map[string][2]string{
		"4711":    {`{"pin":104711}`, `{"pin":4712}`},
		"민수":      {`{"by":"김민수"}`, `{"by":"민지"}`},
		"a  b":    {`{"x":"a b"}`, `{"x":"ab"}`},
		`say "x"`: {`{"x":"they say \"x\" here"}`, `{"x":"say x"}`},
	} {
		n := ofText(text)
		if _, ok := n.in(json.RawMessage(payloads[0])); !ok {
			t.Errorf("%s is not found in %s", text, payloads[0])
		}
		if field, ok := n.in(json.RawMessage(payloads[1])); ok {
			t.Errorf("%s is found in %s of %s", text, field, payloads[1])
		}
	}
}

// A text is found in the forms that tables, previews and other systems give it: in NFC or not, with Markdown or
// without, hidden by a member of the same name, or cut off with enough of it left to recognise it.
func TestTextsAreFoundAsOthersHaveThem(t *testing.T) {
	t.Parallel()
	const text = "열쇠는 PurpleYak-9931"
	found := func(n *needles, payload any) bool {
		raw, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		_, ok := n.in(raw)
		return ok
	}
	for name, tc := range map[string]struct {
		look, stands string
		want         bool
	}{
		"decomposed":                       {text, norm.NFD.String("그 " + text + " 입니다"), true},
		"asked for decomposed":             {norm.NFD.String(text), text, true},
		"with Markdown":                    {text, "열쇠는 **Purple**Yak-9931", true},
		"without the Markdown of the text": {"열쇠는 **Purple**Yak-9931", text, true},
		"in a list":                        {"one PurpleYak", "# one\n- PurpleYak", true},
		"cut with dots":                    {text, "그리고 열쇠는 PurpleYak...", true},
		"cut with one sign":                {text, "그리고 열쇠는 Purpl\u2026", true},
		"cut within a word after a space":  {"hunter2", "it is hunt...", true},
		"its start":                        {text, "그리고 열쇠는...", false},
		"its start, too short":             {"hunter2", "it is hun...", false},
		"its start, not cut":               {text, "열쇠는 PurpleYak", false},
		"other letters":                    {text, "열쇠는 purpleyak-9931", false},
	} {
		if found(ofText(tc.look), map[string]string{"message": tc.stands}) != tc.want {
			t.Errorf("%s: %q in %q: found %t, want %t", name, tc.look, tc.stands, !tc.want, tc.want)
		}
	}
	if _, ok := ofText(text).in(json.RawMessage(`{"a":"` + text + `","a":"nothing"}`)); !ok {
		t.Error("a value hidden by a later member of the same name is not found")
	}
	if _, ok := ofText(text).in(json.RawMessage(`{"payloadJson":"{\"a\":\"` + text + `\",\"a\":1"}`)); !ok {
		t.Error("a text in truncated JSON is not found")
	}
	named := newNeedles()
	named.addPayload(json.RawMessage(`{"message":"안녕하세요, 열쇠는 **보라색** 코끼리에게 있습니다"}`))
	named.complete()
	for text, want := range map[string]bool{
		"안녕하세요, 열쇠는 보라색 코끼리에게 있습니다": true, "eden: 안녕하세요, 열쇠는 보라색...": true, "안녕하세요...": false, "다른 말: 안녕하세요...": false,
	} {
		if found(named, map[string]string{"text": text}) != want {
			t.Errorf("of a message that is named, %q: found %t, want %t", text, !want, want)
		}
	}
}

// What is found in a payload is found in its line, however JSON has escaped it.
func TestWhatIsFoundIsFoundRaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[가-힣a-z]{2}[가-힣a-z"\\/\n ]{2,28}`).Draw(t, "text")
		payload, err := json.Marshal(map[string]any{"a": []any{map[string]string{"b": "before " + text + " behind"}}})
		if err != nil {
			t.Fatal(err)
		}
		n := ofText(text)
		if _, ok := n.in(payload); !ok {
			t.Fatalf("%q is not found in %s", text, payload)
		}
		if !n.inRaw(payload) {
			t.Fatalf("%q is not found in the raw %s", text, payload)
		}
	})
}
