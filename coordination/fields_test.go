package coordination

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEachField(t *testing.T) {
	t.Parallel()

	var got []string
	err := EachField([]byte(` { "a" : 1 , "A":"x\"}" ,"b\u006b":{"n":[1,"]"]}, "e":[] ,"a":null, "":true } `), func(key string, raw []byte) bool {
		got = append(got, key+"="+string(raw))
		return true
	})
	want := []string{`a=1`, `A="x\"}"`, `bk={"n":[1,"]"]}`, `e=[]`, `a=null`, `=true`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEachFieldStops(t *testing.T) {
	t.Parallel()

	visits := 0
	if err := EachField([]byte(`{"a":1,"b":2}`), func(string, []byte) bool { visits++; return false }); err != nil || visits != 1 {
		t.Errorf("%d visits, %v", visits, err)
	}
}

func TestEachFieldOfOtherText(t *testing.T) {
	t.Parallel()

	for _, text := range []string{``, ` `, `[]`, `"x"`, `null`, `{`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1 "b":2}`, `{a:1}`, `{"a":"x`, `{"a":[1,2}`, `{"a\`} {
		if err := EachField([]byte(text), func(string, []byte) bool { return true }); !errors.Is(err, ErrNotObject) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEachFieldAllocatesNothing(t *testing.T) {
	object := []byte(`{"type":"a2a.send","data":{"message":"안녕","n":[1,2]},"ts":1}`)
	count := 0
	if n := testing.AllocsPerRun(100, func() {
		if err := EachField(object, func(string, []byte) bool { count++; return true }); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEachElement(t *testing.T) {
	t.Parallel()

	var got []string
	visit := func(raw []byte) bool {
		got = append(got, string(raw))
		return len(got) < 5
	}
	err := EachElement([]byte(` [ 1 , "x]\"," ,{"n":[1,"]"]}, [], null , 6] `), visit)
	if want := []string{`1`, `"x]\","`, `{"n":[1,"]"]}`, `[]`, `null`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	got = nil
	if err := EachElement([]byte("[ ]"), visit); err != nil || got != nil {
		t.Errorf("an empty array has %q, %v", got, err)
	}
}

func TestEachElementOfOtherText(t *testing.T) {
	t.Parallel()

	for _, text := range []string{``, ` `, `{}`, `"x"`, `null`, `[`, `[1`, `[1,`, `[,1]`, `[1 2]`, `["x`, `[[1}`, `["\`} {
		if err := EachElement([]byte(text), func([]byte) bool { return true }); !errors.Is(err, ErrNotArray) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTextValue(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]string{`""`: "", `" a\n "`: " a\n ", `"\ud83d\ude00\ud83d"`: "\U0001F600\uFFFD", "\"\xff\"": "\uFFFD"} {
		if got, ok := TextValue([]byte(raw)); got != want || !ok {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"`, `1`, `null`, `["a"]`} {
		if got, ok := TextValue([]byte(raw)); got != "" || ok {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
}

func TestStringValue(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]string{
		`"x"`:                         "x",
		`"  x y\n"`:                   "x y",
		`"\ufeff\u00a0x\u3000\u2028"`: "x",
		`"\u0085x"`:                   "\u0085x",
		`"한\uae00"`:                   "한글",
		`"\ud83e\udd9e"`:              "🦞",
		`"\ud83e x"`:                  "\ufffd x",
		`"\udd9e\ud83e"`:              "\ufffd\ufffd",
		"\"a\xffb\"":                  "a\ufffdb",
		`"\"\\\/\b\f\n\r\tz"`:         "\"\\/\b\f\n\r\tz",
		`"\u0000"`:                    "\x00",
		`""`:                          "",
		`" \t "`:                      "",
		`1`:                           "",
		`null`:                        "",
		`["x"]`:                       "",
	} {
		if got, ok := StringValue([]byte(raw)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", raw, got, ok)
		}
	}
}

func TestNumberValue(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]float64{`0`: 0, `-0.5`: -0.5, `1771584960000.5`: 1771584960000.5, `1e3`: 1000} {
		if got, ok := NumberValue([]byte(raw)); got != want || !ok {
			t.Errorf("%s: %v, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"1"`, `null`, `true`, `1e999`, `-1e999`, `{}`, `Infinity`, `-Infinity`, `0x`} {
		if got, ok := NumberValue([]byte(raw)); ok || got != 0 {
			t.Errorf("%s: %v, %v", raw, got, ok)
		}
	}
}

// Whatever is valid JSON, the walk sees the keys and values that encoding/json sees.
func FuzzEachField(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"b":[1,{"c":"]}"}]},"a":"\\\"","é":-1.5e3}`, `[1]`, `{"\ud800":"\u0041\n","\\":""}`, "{\"\xff\":\"\xff\"}", ` {"a" : null , "b":[ ] } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fields, values := map[string]string{}, map[string]string{}
		err := EachField(text, func(key string, raw []byte) bool {
			fields[strings.Clone(key)] = string(raw)
			if len(raw) > 0 && raw[0] == '"' {
				values[strings.Clone(key)] = fmt.Sprint(StringValue(raw))
			}
			return true
		})
		if !json.Valid(text) {
			return
		}
		var want map[string]json.RawMessage
		if wantErr := json.Unmarshal(text, &want); wantErr != nil || want == nil {
			if !errors.Is(err, ErrNotObject) {
				t.Fatalf("no object, but %v", err)
			}
			return
		}
		if err != nil || len(fields) != len(want) {
			t.Fatalf("%v: %d fields, want %d", err, len(fields), len(want))
		}
		for key, raw := range want {
			if got, ok := fields[key]; !ok || got != string(raw) {
				t.Errorf("%q is %s, want %s", key, got, raw)
			}
			if len(raw) > 0 && raw[0] == '"' {
				var text string
				if err := json.Unmarshal(raw, &text); err != nil {
					t.Fatal(err)
				}
				if trimmed := TrimJS(text); values[key] != fmt.Sprint(trimmed, trimmed != "") {
					t.Errorf("%q is %q, want %q", key, values[key], trimmed)
				}
				if !utf8.ValidString(values[key]) {
					t.Errorf("%q is not UTF-8", values[key])
				}
			}
		}
	})
}
