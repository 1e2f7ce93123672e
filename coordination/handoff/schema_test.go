package handoff_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/handoff"
)

func TestSchemaOfNoTypeIsNone(t *testing.T) {
	t.Parallel()
	for _, typ := range []handoff.Type{"", "answer ", "Answer", "../schema/answer"} {
		if handoff.Schema(typ) != nil {
			t.Errorf("%q has one", typ)
		}
	}
}

// A program that judges by the schema comes to the judgement of Parse.
func TestSchemaTakesWhatParseTakes(t *testing.T) {
	t.Parallel()
	schemas := map[handoff.Type]*jsonschema.Schema{}
	for _, typ := range types {
		schemas[typ] = schemaOf(t, typ)
	}
	judge := func(t interface{ Errorf(string, ...any) }, typ handoff.Type, text string) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		err = schemas[typ].Validate(value)
		p, warnings := handoff.Parse(text)
		if parsed := p != nil && p.Type == typ; parsed != (err == nil) {
			t.Errorf("%s as %s: parsed as %v; the schema says %v", text, typ, warnings, err)
		}
	}
	for _, typ := range types {
		for _, other := range types { // a payload of another type is none of this one
			judge(t, typ, whole[other])
			judge(t, typ, least[other])
		}
		eachChange(whole[typ], func(text string) { judge(t, typ, text) })
	}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		judge(t, typ, draw(t, typ))
	})
}

// values are what a member is replaced by: of every kind, and around every bound.
var values = []string{`null`, `true`, `false`, `0`, `-0`, `1`, `1.0`, `0.5`, `7`, `100`, `1e2`, `100.0000000000000000001`, `1.0000000000000000001`, `-1`, `-1e-30`, `101`,
	`""`, `" "`, `"x"`, `"high"`, `"low"`, `"normal"`, `"completed"`, `"in_progress"`, `"done"`, `[]`, `["x"]`, `["x",""]`, `["x",1]`, `[null]`, `[[]]`, `{}`, `{"x":1}`,
	`"task_delegation"`, `"answer"`}

// eachChange visits what becomes of a payload when one member is left out, or is another value.
func eachChange(text string, visit func(string)) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		panic(err)
	}
	write := func() {
		changed, err := json.Marshal(members)
		if err != nil {
			panic(err)
		}
		visit(string(changed))
	}
	for name, value := range members {
		delete(members, name)
		write()
		for _, other := range values {
			members[name] = json.RawMessage(other)
			write()
		}
		members[name] = value
	}
}

// draw makes a payload that is mostly as it should be.
func draw(t *rapid.T, typ handoff.Type) string {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(whole[typ]), &members); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, of := range types {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(whole[of]), &all); err != nil {
			t.Fatal(err)
		}
		for name := range all {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		name := rapid.SampledFrom(names).Draw(t, "name")
		if rapid.Bool().Draw(t, "left out") {
			delete(members, name)
		} else if rapid.Bool().Draw(t, "any text") {
			text, err := json.Marshal(rapid.String().Draw(t, "text"))
			if err != nil {
				t.Fatal(err)
			}
			members[name] = text
		} else {
			members[name] = json.RawMessage(rapid.SampledFrom(values).Draw(t, "value"))
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
