package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

func TestRequestsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.Request{
		`{"type":"req","id":"1","method":"health"}`:               {ID: "1", Method: "health"},
		`{"type":"req","id":"1","method":"health","params":null}`: {ID: "1", Method: "health"},
		" \t\r\n{ \"params\" : [ 1 , {\"a\":\"}\"} ] , \"method\":\"m\",\"id\":\"1:ab\",\"type\":\"req\" } \n": {
			ID: "1:ab", Method: "m", Params: json.RawMessage(`[ 1 , {"a":"}"} ]`)},
		`{"type":"req","id":"\u00e9\"\\","method":"m","params":{"x":"\"}"}}`: {ID: `é"\`, Method: "m", Params: json.RawMessage(`{"x":"\"}"}`)},
		`{"type":"req","id":"a","method":"m","traceparent":"00-1-2-01","expectedProfileId":"p","params":{}}`: {
			ID: "a", Method: "m", Params: json.RawMessage(`{}`)},
		// As JavaScript reads it, the last one of a name counts.
		`{"type":"res","id":1,"id":"b","method":"","method":"m","params":1,"params":{"k":2},"type":"req"}`: {
			ID: "b", Method: "m", Params: json.RawMessage(`{"k":2}`)},
		`{"typ\u0065":"req","id":"c","method":"m","params":-1.5e3}`:               {ID: "c", Method: "m", Params: json.RawMessage(`-1.5e3`)},
		"{\"type\":\"req\",\"id\":\"\xff\",\"method\":\"m\",\"params\":\"\xc3\"}": {ID: "\uFFFD", Method: "m", Params: json.RawMessage("\"\uFFFD\"")},
		`{"type":"req","id":"\u0000","method":"a\u0000b"}`:                        {ID: "\x00", Method: "a\x00b"},
		`{"type":"req","id":"` + strings.Repeat("한", 256) + `","method":"m"}`:     {ID: strings.Repeat("한", 256), Method: "m"},
	} {
		got, err := protocol.ParseRequest([]byte(text))
		if err != nil || got.ID != want.ID || got.Method != want.Method || string(got.Params) != string(want.Params) ||
			(got.Params == nil) != (want.Params == nil) {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
}

func TestFrameThatIsNoRequestIsToldWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]protocol.FrameError{
		`[]`:                      {ID: "invalid", Reason: "must be object"},
		`null`:                    {ID: "invalid", Reason: "must be object"},
		`"req"`:                   {ID: "invalid", Reason: "must be object"},
		`1`:                       {ID: "invalid", Reason: "must be object"},
		`{}`:                      {ID: "invalid", Reason: "must have required property 'type'; must have required property 'id'; must have required property 'method'"},
		`{"type":"req","id":"x"}`: {ID: "x", Reason: "must have required property 'method'"},
		`{"type":"req","id":"x1","method":"health","foo":1}`: {ID: "x1", Reason: "at root: unexpected property 'foo'"},
		`{"zz":1,"type":"req","id":"x","method":"m","aa":1,"zz":2}`: {ID: "x",
			Reason: "at root: unexpected property 'zz'; at root: unexpected property 'aa'"},
		`{"type":"event","event":"tick"}`: {ID: "invalid", Reason: "must have required property 'id'; must have required property 'method'; " +
			"at root: unexpected property 'event'; at /type: must be equal to constant"},
		`{"type":1,"id":"x","method":"m"}`: {ID: "x",
			Reason: "at /type: must be string; at /type: must be equal to constant"},
		`{"TYPE":"req","id":"x","method":"m"}`: {ID: "x",
			Reason: "must have required property 'type'; at root: unexpected property 'TYPE'"},
		`{"type":"req","id":7,"method":"m"}`:    {ID: "invalid", Reason: "at /id: must be string"},
		`{"type":"req","id":null,"method":"m"}`: {ID: "invalid", Reason: "at /id: must be string"},
		`{"type":"req","id":"","method":""}`: {ID: "invalid",
			Reason: "at /id: must NOT have fewer than 1 characters; at /method: must NOT have fewer than 1 characters"},
		`{"type":"req","id":"x","method":["m"]}`:                               {ID: "x", Reason: "at /method: must be string"},
		`{"type":"req","id":"x","method":"m","":1}`:                            {ID: "x", Reason: "must NOT have additional properties"},
		`{"type":"req","id":"` + strings.Repeat("i", 257) + `","method":"m"}`:  {ID: "invalid", Reason: "at /id: must NOT have more than 256 characters"},
		`{"type":"req","id":"x","method":"` + strings.Repeat("m", 9999) + `"}`: {ID: "x", Reason: "at /method: must NOT have more than 256 characters"},
		`{"type":"req","id":"x","method":"m","params":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`: {ID: "x",
			Reason: "must NOT be nested deeper than 128 levels"},
		`{"type":"req","id":"x","method":"m","params":[` + strings.Repeat("1,", 100_000) + `1]}`: {ID: "x",
			Reason: "must NOT have more than 100000 values"},
		`{"type":"req","id":"x","method":"m","` + strings.Repeat("n", 100) + `":1}`: {ID: "x",
			Reason: "at root: unexpected property '" + strings.Repeat("n", 64) + "…'"},
	} {
		_, err := protocol.ParseRequest([]byte(text))
		var got *protocol.FrameError
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%.120s: %v, want %+v", text, err, want)
			continue
		}
		if e := got.Answer(); e.Code != protocol.CodeInvalidRequest || e.Message != "invalid request frame: "+want.Reason {
			t.Errorf("%.120s is answered %+v", text, e)
		}
	}
}

func TestFaultsOfAFrameAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"type":"req","id":"x","method":"m"`)
	for i := range 50_000 {
		fmt.Fprintf(&text, `,"k%d":1`, i)
	}
	_, err := protocol.ParseRequest([]byte(text.String() + "}"))
	var got *protocol.FrameError
	if !errors.As(err, &got) || len(got.Reason) > 2000 || !strings.HasSuffix(got.Reason, "'k19'; and more") {
		t.Errorf("%.3000v", err)
	}
}

func TestWhatIsNoJSONIsNoFrame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "hello", "{", `{"type":"req"`, `{"type":"req",}`, "{\"id\":\"a\x00b\"}", "\xff", "{}{}", `{"a":01}`, "nul",
		strings.Repeat("[", 1<<20), `{"a":` + strings.Repeat(`{"a":`, 20_000)} {
		if _, err := protocol.ParseRequest([]byte(text)); !errors.Is(err, protocol.ErrNotJSON) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{`{"type":"req","id":"1","method":"health","params":{"a":[1,"\u00e9\\"]}}`, `{}`, `[`,
		`{"type":"req","id":"\ud800","method":"m"}`,
		"{\"type\":\"req\",\"id\":\"\xff\"}", `{"type":"req","id":"a","id":2,"method":"m","x":{"y":"}"}}`, `"`, `{"":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := protocol.ParseRequest(text)
		var fault *protocol.FrameError
		switch {
		case err == nil:
			var reference map[string]json.RawMessage
			if json.Unmarshal(text, &reference) != nil || r.ID == "" || r.Method == "" || r.Params != nil && !json.Valid(r.Params) || !utf8.Valid(r.Params) {
				t.Errorf("%q is read as %+v", text, r)
			}
			for name := range reference {
				switch name {
				case "type", "id", "method", "params", "traceparent", "expectedProfileId":
				default:
					t.Errorf("%q was taken with %q", text, name)
				}
			}
		case errors.Is(err, protocol.ErrNotJSON):
			if json.Valid(text) {
				t.Errorf("%q is JSON", text)
			}
		case !errors.As(err, &fault) || fault.ID == "" || fault.Reason == "":
			t.Errorf("%q: %v", text, err)
		}
	})
}

func BenchmarkParseRequest(b *testing.B) {
	text := []byte(`{"type":"req","id":"1:8a60f3de-0e5c-4be1-9d1b-3f1a90b7c7aa","method":"sessions.list","params":{"limit":100,"includeDerivedTitles":true}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := protocol.ParseRequest(text); err != nil {
			b.Fatal(err)
		}
	}
}
