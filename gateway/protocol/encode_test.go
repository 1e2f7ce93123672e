package protocol_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/gateway/protocol"
	"pgregory.net/rapid"
)

func TestFramesAreWrittenAsClientsReadThem(t *testing.T) {
	t.Parallel()
	seq, version := int64(0), &protocol.StateVersion{Presence: 1}
	refused := &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "no <b> & no"}
	for _, c := range []struct {
		what  string
		frame func() ([]byte, error)
		want  string
	}{
		{"a response", func() ([]byte, error) { return protocol.Response("1", map[string]string{"a": "<&>"}) },
			`{"type":"res","id":"1","ok":true,"payload":{"a":"<&>"}}`},
		{"one without payload", func() ([]byte, error) { return protocol.Response("1", nil) },
			`{"type":"res","id":"1","ok":true,"payload":null}`},
		{"raw JSON stays as it is", func() ([]byte, error) { return protocol.Response("1", json.RawMessage(" { \"a\" : 1e400 }\n")) },
			`{"type":"res","id":"1","ok":true,"payload":{ "a" : 1e400 }}`},
		{"no raw JSON", func() ([]byte, error) { return protocol.Response("1", json.RawMessage(nil)) },
			`{"type":"res","id":"1","ok":true,"payload":null}`},
		{"ids are quoted", func() ([]byte, error) { return protocol.Response("\"\\\x00\xff<", true) },
			"{\"type\":\"res\",\"id\":\"\\\"\\\\\\u0000\\ufffd<\",\"ok\":true,\"payload\":true}"},
		{"bytes are replaced", func() ([]byte, error) { return protocol.Response("1", json.RawMessage("\"\xff\"")) },
			"{\"type\":\"res\",\"id\":\"1\",\"ok\":true,\"payload\":\"\uFFFD\"}"},
		{"no id", func() ([]byte, error) { return protocol.Response("", 1) },
			`{"type":"res","id":"invalid","ok":true,"payload":1}`},
		{"a failure", func() ([]byte, error) { return protocol.Failure("1", refused, nil) },
			`{"type":"res","id":"1","ok":false,"error":{"code":"INVALID_REQUEST","message":"no <b> & no"}}`},
		{"one with payload", func() ([]byte, error) { return protocol.Failure("1", refused, json.RawMessage(`{"runId":"r"}`)) },
			`{"type":"res","id":"1","ok":false,"error":{"code":"INVALID_REQUEST","message":"no <b> & no"},"payload":{"runId":"r"}}`},
		{"all of an error", func() ([]byte, error) {
			return protocol.Failure("1", &protocol.Error{Code: "UNAVAILABLE", Message: "later", Details: []int{1}, Retryable: true, RetryAfter: 5}, nil)
		}, `{"type":"res","id":"1","ok":false,"error":{"code":"UNAVAILABLE","message":"later","details":[1],"retryable":true,"retryAfterMs":5}}`},
		{"an empty error", func() ([]byte, error) { return protocol.Failure("1", &protocol.Error{RetryAfter: -1}, nil) },
			`{"type":"res","id":"1","ok":false,"error":{"code":"UNAVAILABLE","message":"the gateway gave no reason"}}`},
		{"no error", func() ([]byte, error) { return protocol.Failure("1", nil, nil) },
			`{"type":"res","id":"1","ok":false,"error":{"code":"UNAVAILABLE","message":"the gateway gave no reason"}}`},
		{"an event", func() ([]byte, error) { return protocol.Event("tick", map[string]int{"ts": 1}, nil, nil) },
			`{"type":"event","event":"tick","payload":{"ts":1}}`},
		{"one with all", func() ([]byte, error) { return protocol.Event("health", json.RawMessage(`[]`), &seq, version) },
			`{"type":"event","event":"health","payload":[],"seq":0,"stateVersion":{"presence":1,"health":0}}`},
		{"one with nothing", func() ([]byte, error) { return protocol.Event("x", nil, nil, nil) },
			`{"type":"event","event":"x"}`},
	} {
		got, err := c.frame()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v, want %s", c.what, got, err, c.want)
		}
	}
}

func TestWhatIsNoFrameIsNotWritten(t *testing.T) {
	t.Parallel()
	below := int64(-1)
	for what, frame := range map[string]func() ([]byte, error){
		"a payload that is no JSON": func() ([]byte, error) { return protocol.Response("1", math.NaN()) },
		"details that are none":     func() ([]byte, error) { return protocol.Failure("1", &protocol.Error{Details: make(chan int)}, nil) },
		"a torn payload":            func() ([]byte, error) { return protocol.Response("1", json.RawMessage(`{"a":1`)) },
		"a lone brace":              func() ([]byte, error) { return protocol.Event("x", json.RawMessage(`{`), nil, nil) },
		"a lone quote":              func() ([]byte, error) { return protocol.Event("x", json.RawMessage(`"`), nil, nil) },
		"two payloads":              func() ([]byte, error) { return protocol.Event("x", json.RawMessage(`1,2`), nil, nil) },
		"an event without name":     func() ([]byte, error) { return protocol.Event("", nil, nil, nil) },
		"a number below zero":       func() ([]byte, error) { return protocol.Event("x", nil, &below, nil) },
	} {
		if got, err := frame(); err == nil {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// Real clients check these closed shapes, and silently drop frames that do not match.
func TestEveryFrameFitsTheClosedShape(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		payload := rapid.SampledFrom([]any{nil, 1, "x\xff<", []string{},
			map[string]any{"error": nil}, json.RawMessage("null"), json.RawMessage("{\"a\":\"\xfe\"}"), (*int)(nil)}).Draw(t, "payload")
		e := &protocol.Error{Code: text.Draw(t, "code"), Message: text.Draw(t, "message"), Details: payload,
			Retryable: rapid.Bool().Draw(t, "retryable"), RetryAfter: rapid.Int64().Draw(t, "after")}
		var seq *int64
		var version *protocol.StateVersion
		if rapid.Bool().Draw(t, "with seq") {
			seq = new(rapid.Int64Min(0).Draw(t, "seq"))
			version = &protocol.StateVersion{Presence: rapid.Int64().Draw(t, "presence"), Health: rapid.Int64().Draw(t, "health")}
		}
		name := text.Draw(t, "name")
		frames := [][]byte{written(t)(protocol.Response(name, payload)), written(t)(protocol.Failure(name, e, payload)),
			written(t)(protocol.Event("e"+name, payload, seq, version))}
		for _, frame := range frames {
			fits(t, frame)
		}
	})
}

func written(t *rapid.T) func([]byte, error) []byte {
	return func(frame []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
}

func fits(t *rapid.T, frame []byte) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(frame, &f); err != nil || !utf8.Valid(frame) {
		t.Fatalf("%q %v", frame, err)
	}
	shape := map[string][]string{`"res"`: {"type", "id", "ok", "payload", "error"}, `"event"`: {"type", "event", "payload", "seq",
		"stateVersion"}}[string(f["type"])]
	for name, value := range f {
		if !slices.Contains(shape, name) || name != "payload" && string(value) == "null" {
			t.Fatalf("%s has %s: %s", frame, name, value)
		}
	}
	var r struct {
		ID    *string
		Event *string
		OK    *bool
		Error *struct {
			Code, Message string
			RetryAfterMs  *float64
		}
		Seq          *int64
		StateVersion map[string]int64
	}
	if err := json.Unmarshal(frame, &r); err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	right := r.Event != nil && *r.Event != "" && (r.Seq == nil || *r.Seq >= 0) && (r.StateVersion == nil || len(r.StateVersion) == 2)
	if string(f["type"]) == `"res"` {
		right = r.ID != nil && *r.ID != "" && r.OK != nil && *r.OK == (r.Error == nil)
	}
	if r.Error != nil && (r.Error.Code == "" || r.Error.Message == "" || r.Error.RetryAfterMs != nil && *r.Error.RetryAfterMs <= 0) || !right {
		t.Fatalf("%s", frame)
	}
}

func TestReasonOfClosingFitsIntoItsFrame(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"slow consumer":                 "slow consumer",
		strings.Repeat("a", 120):        strings.Repeat("a", 120),
		strings.Repeat("a", 121):        strings.Repeat("a", 120),
		"a" + strings.Repeat("한", 40):   "a" + strings.Repeat("한", 39),
		strings.Repeat("🌿", 31):         strings.Repeat("🌿", 30),
		"\xff" + strings.Repeat("b", 9): "\uFFFD" + strings.Repeat("b", 9),
	} {
		if got := protocol.CloseReason(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		if got := protocol.CloseReason(text); len(got) > 120 || !utf8.ValidString(got) || !strings.HasPrefix(strings.ToValidUTF8(text, "\uFFFD"), got) {
			t.Fatalf("%q: %q", text, got)
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	payload := json.RawMessage(`{"ok":true,"list":[` + strings.Repeat(`{"key":"agent:eden:main","updatedAt":1795299770355},`, 40) + `1]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := protocol.Response("1:8a60f3de-0e5c-4be1-9d1b-3f1a90b7c7aa", payload); err != nil {
			b.Fatal(err)
		}
	}
}
