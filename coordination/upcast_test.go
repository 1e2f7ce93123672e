package coordination

import (
	"encoding/json"
	"testing"
)

func TestConfigAppliedOfVersion1HasNoSettings(t *testing.T) {
	t.Parallel()
	steps := Upcasters()[TypeConfigApplied]
	if len(steps)+1 != ConfigAppliedVersion {
		t.Errorf("%d steps to version %d", len(steps), ConfigAppliedVersion)
	}
	for data, want := range map[string]string{
		`{}`:                      `{"settings":{}}`,
		` { "agents" : [ ] } `:    ` { "agents" : [ ] ,"settings":{}}`,
		`{"settings":{"a":1}}`:    `{"settings":{"a":1}}`, // never written, but it must not become two members
		`{"hash":"}","agents":0}`: `{"hash":"}","agents":0,"settings":{}}`,
	} {
		got, err := steps[0](json.RawMessage(data))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s became %s, %v; want %s", data, got, err, want)
		}
	}
	if _, err := steps[0](json.RawMessage(`[]`)); err == nil {
		t.Error("a list passed for an object")
	}
}
