package coordination

import (
	"encoding/json"
	"testing"
)

func TestRedactionTraceReadsBothNamesOfItsHint(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{`{"place":"a","hint":"remove it"}`, `{"place":"a","mend":"remove it"}`} {
		var got RedactionTrace
		if err := json.Unmarshal([]byte(stored), &got); err != nil || got != (RedactionTrace{Place: "a", Hint: "remove it"}) {
			t.Errorf("%s is read as %+v, %v", stored, got, err)
		}
	}
	if text, err := json.Marshal(RedactionTrace{Place: "a", Hint: "b"}); err != nil || string(text) != `{"place":"a","hint":"b"}` {
		t.Errorf("it is written as %s, %v", text, err)
	}
}
