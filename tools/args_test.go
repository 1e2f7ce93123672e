package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

const judging = `{"type":"object","additionalProperties":false,"required":["to"],"properties":{
	"to":{"type":"string","minLength":1,"maxLength":8},
	"limit":{"type":"integer","minimum":1,"maximum":200},
	"share":{"type":"number"},
	"state":{"enum":["open","done"]},
	"one":{"const":1},
	"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","pattern":"^[a-z]+$"}},
	"more":{"type":"object","required":["id"],"properties":{"id":{"type":["string","null"]}}},
	"any":{"anyOf":[{"type":"string"},{"type":"boolean"}]},
	"never":false
}}`

// A model can correct its arguments from the error: every fault names the field, the value and what to write instead.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, echo("deed", "x", judging))
	deep := strings.Repeat("[", tools.MaxArgsDepth) + strings.Repeat("]", tools.MaxArgsDepth)
	for _, c := range []struct{ args, field, text string }{
		{``, "/to", "/to is missing (add it)"},
		{`null`, "/to", "/to is missing (add it)"},
		{`{}`, "/to", "/to is missing (add it)"},
		{`{"to":7}`, "/to", "/to is 7, must be a text (make it a text)"},
		{`{"to":1234567890123456789}`, "/to", "/to is 1234567890123456789, must be a text (make it a text)"},
		{`{"to":null}`, "/to", "/to is null, must be a text (make it a text)"},
		{`{"to":""}`, "/to", `/to is "", must have at least 1 characters, has 0 (give a longer text)`},
		{`{"to":"123456789"}`, "/to", `/to is "123456789", must have at most 8 characters, has 9 (shorten it)`},
		{`{"to":"a","limit":"5"}`, "/limit", `/limit is "5", must be a whole number (make it a whole number)`},
		{`{"to":"a","limit":1.5}`, "/limit", "/limit is 1.5, must be a whole number (make it a whole number)"},
		{`{"to":"a","limit":0}`, "/limit", "/limit is 0, must be at least 1 (give 1 or more)"},
		{`{"to":"a","limit":1e3}`, "/limit", "/limit is 1000, must be at most 200 (give 200 or less)"},
		{`{"to":"a","state":"shut"}`, "/state", `/state is "shut", must be one of "open", "done" (give one of these)`},
		{`{"to":"a","one":2}`, "/one", "/one is 2, must be 1 (give that)"},
		{`{"to":"a","tags":[]}`, "/tags", "/tags is a list, must have at least 1 items, has 0 (add some)"},
		{`{"to":"a","tags":["a","b","c"]}`, "/tags", "/tags is a list, must have at most 2 items, has 3 (leave some out)"},
		{`{"to":"a","tags":["A"]}`, "/tags/0", `/tags/0 is "A", must match ^[a-z]+$ (match this pattern)`},
		{`{"to":"a","more":{}}`, "/more/id", "/more/id is missing (add it)"},
		{`{"to":"a","more":{"id":1}}`, "/more/id", "/more/id is 1, must be null or a text"},
		{`{"to":"a","any":1}`, "/any", "/any is 1, must be a text (make it a text); /any is 1, must be true or false"},
		{`{"to":"a","never":1}`, "/never", "/never is 1, does not match the schema"},
		{`{"to":"a","To":"b"}`, "/To", "/To is not an argument (write to)"},
		{`{"to":"a","whom":"b"}`, "/whom", "/whom is not an argument (leave it out, there are any, limit, more, never, one, share, state, tags, to)"},
		{`{"limit":0,"state":1}`, "/limit", `/limit is 0, must be at least 1 (give 1 or more); /state is 1, must be one of "open", "done" (give one of these); /to is missing (add it)`},
		{`{"to":"` + strings.Repeat("가", 500) + `"}`, "/to", "must have at most 8 characters, has 500"},
		{`{"to":"x","` + "a/b~c" + `":1}`, "/a~1b~0c", "/a~1b~0c is not an argument"},
		{`{"to":{"token":"abc"}}`, "/to", "/to is an object, must be a text"},
		{`{"to":7,"to":["a"]}`, "/to", "/to is a list, must be a text"},

		{`[]`, "", "they are a list, must be an object"},
		{`"x"`, "", "they are a text, must be an object"},
		{`7`, "", "they are a number, must be an object"},
		{`true`, "", "they are a boolean, must be an object"},
		{`{`, "", "they are not valid JSON"},
		{`{"to":"a"} {}`, "", "they are not valid JSON: something follows the value"},
		{`{"to":'a'}`, "", "they are not valid JSON"},
		{`{"to":"a","share":1e999}`, "", "the number 1e999 is too large"},
		{`{"to":"a","share":1e999999999}`, "", "is too large"},
		{`{"to":` + deep + `}`, "", "nested more than 64 deep"},
		{strings.Repeat("[", 100_000), "", "nested more than 64 deep"},
		{`{"to":"` + strings.Repeat("a", tools.MaxArgs) + `"}`, "", fmt.Sprintf("must have at most %d", tools.MaxArgs)},
	} {
		out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(c.args))
		e := refused(t, err)
		shown := c.args[:min(len(c.args), 80)]
		if e.Code != tool.CodeInvalid || e.Field != c.field || e.Tool != "deed" || e.Hint == "" {
			t.Errorf("%s: error is %+v, want %s of %q", shown, e, tool.CodeInvalid, c.field)
		}
		if !strings.Contains(e.Text, c.text) || !strings.HasPrefix(e.Text, "invalid arguments of deed: ") || len(e.Text) > 4_000 {
			t.Errorf("%s: text is\n%s\nwant\n%s", shown, e.Text, c.text)
		}
		if out.Text != "" {
			t.Errorf("%s: was called", shown)
		}
	}
	if got := r.Stats(); got.Invalid != got.Calls || got.Calls == 0 {
		t.Errorf("stats are %+v", got)
	}
}

// Faults are reported without secrets, and their number is bounded.
func TestFaultsAreMaskedAndBounded(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, echo("deed", "x", judging))
	const secret = "sk-abcdefghijklmnop0123456789"
	_, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(`{"to":"a","limit":"`+secret+`","`+secret+`":1}`))
	if e := refused(t, err); strings.Contains(e.Text+e.Field+e.Hint, secret[:12]) {
		t.Errorf("error is %+v", e)
	}
	many := map[string]int{}
	for i := range 1_000 {
		many[fmt.Sprint("a", i)] = i
	}
	args, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Call(t.Context(), eden(), "deed", args)
	if e := refused(t, err); len(e.Text) > 4_000 || !strings.HasSuffix(e.Text, "and 991 more") {
		t.Errorf("text has %d bytes: %s", len(e.Text), e.Text)
	}
}

// A tool gets exactly the validated arguments: one value per name, whole numbers as integers, Korean as it is.
func TestArgumentsAreThoseThatWereJudged(t *testing.T) {
	t.Parallel()
	r, _ := setup(t, nil, echo("deed", "x", judging), echo("free", "x", anything))
	for args, want := range map[string]string{
		`{"to":7,"to":"a"}`:             `{"to":"a"}`,
		`{"to":"a","limit":5.0}`:        `{"limit":5,"to":"a"}`,
		`{"to":"a","limit":1e2}`:        `{"limit":100,"to":"a"}`,
		`{"to":"안녕 <b>"}`:               `{"to":"안녕 <b>"}`,
		` { "to" : "a" } ` + "\n":       `{"to":"a"}`,
		`{"to":"a","share":0.25}`:       `{"share":0.25,"to":"a"}`,
		`{"to":"a","share":-0}`:         `{"share":0,"to":"a"}`,
		`{"to":"a","more":{"id":null}}`: `{"more":{"id":null},"to":"a"}`,
	} {
		out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(args))
		if err != nil || out.Text != want {
			t.Errorf("%s becomes %s, %v, want %s", args, out.Text, err, want)
		}
	}
	ids := `{"a":1234567890123456789,"b":-12345678901234567890123,"c":[9007199254740993]}` // longer than what a float tells apart
	if out, err := r.Call(t.Context(), eden(), "free", json.RawMessage(ids)); err != nil || out.Text != ids {
		t.Errorf("%s becomes %s, %v", ids, out.Text, err)
	}
	brackets := `{"a":"\"` + strings.Repeat("[", 2*tools.MaxArgsDepth) + `"}` // in a text they are no depth
	if out, err := r.Call(t.Context(), eden(), "free", json.RawMessage(brackets)); err != nil || out.Text != brackets {
		t.Errorf("%s becomes %s, %v", brackets, out.Text, err)
	}
	for _, args := range []string{"", "null", " ", "{}"} {
		if out, err := r.Call(t.Context(), eden(), "free", json.RawMessage(args)); err != nil || out.Text != "{}" {
			t.Errorf("%q becomes %s, %v", args, out.Text, err)
		}
	}
}

// Other names of arguments are replaced before anything judges the call, also in lists, and never stand beside the name.
func TestAliasesOfArguments(t *testing.T) {
	t.Parallel()
	deed := echo("deed", "x", `{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"},
		"edits":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"old":{"type":"string"}}}}}}`)
	deed.Aliases = map[string]string{"file_path": "path", "old_string": "old"}
	r, _ := setup(t, nil, deed)
	for args, want := range map[string]string{
		`{"file_path":"a"}`: `{"path":"a"}`,
		`{"path":"a","edits":[{"old_string":"x"},{"old":"y"}]}`: `{"edits":[{"old":"x"},{"old":"y"}],"path":"a"}`,
		`{"path":"a","file_path":"b"}`:                          "",
		`{"path":"a","edits":[{"old":"x","old_string":"y"}]}`:   "",
	} {
		out, err := r.Call(t.Context(), eden(), "deed", json.RawMessage(args))
		if out.Text != want || (err != nil) != (want == "") {
			t.Errorf("%s becomes %s, %v, want %s", args, out.Text, err, want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	type args struct {
		To    string `json:"to"`
		Limit int    `json:"limit"`
	}
	got, err := tools.Decode[args](&tools.Call{Args: json.RawMessage(`{"to":"a","limit":5}`)})
	if err != nil || got != (args{"a", 5}) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	for _, wrong := range []string{`{"limit":"5"}`, `{"limit":1e+300}`} { // that a schema has let through
		_, err = tools.Decode[args](&tools.Call{Args: json.RawMessage(wrong)})
		if e := refused(t, err); e.Code != tool.CodeInvalid || e.Hint == "" {
			t.Errorf("%s: error is %+v", wrong, e)
		}
	}
}
