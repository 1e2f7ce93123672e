package coordination

import (
	"reflect"
	"slices"
	"testing"
)

func TestReadRecord(t *testing.T) {
	t.Parallel()

	r := read(t, RulesV1, " a2a.send ", " eden ", `{
		"fromAgent":" Eden ","toAgent":"","targetAgentId":"seum","FROMAGENT":"no","message":"안녕","depth":0,"hop":"1",
		"requiresApproval":true,"concurrencyBlocked":"true","categoryManualOverride":true,
		"collabSubTags":[" a ","",null,{"x":"]"},"b"],"label":7,"taskId":"t1","taskId":null,"other":{"toAgent":"deep"}}`)
	if r.Type != "a2a.send" || r.AgentID != "eden" || r.FromAgent != "Eden" || r.ToAgent != "" || r.To() != "seum" || r.From() != "Eden" {
		t.Errorf("agents: %+v", r)
	}
	if r.Message != "안녕" || r.Label != "" || r.TaskID != "" {
		t.Errorf("texts: %+v", r)
	}
	if !r.HasDepth || r.Depth != 0 || r.HasHop {
		t.Errorf("numbers: %+v", r)
	}
	if !r.RequiresApproval || r.ConcurrencyBlocked || !r.ManualOverride || !slices.Equal(r.SubTags, []string{"a", "b"}) {
		t.Errorf("the rest: %+v", r)
	}
	if r.Time != 1_771_584_000_000 || r.TimeSource != TimeFromEvent {
		t.Errorf("time %v from %s", r.Time, r.TimeSource)
	}
}

func TestFromFallsBack(t *testing.T) {
	t.Parallel()

	for data, want := range map[string]string{
		`{"fromAgent":"a","senderAgentId":"b"}`: "a",
		`{"fromAgent":" ","senderAgentId":"b"}`: "b",
		`{}`:                                    "own",
	} {
		if r := read(t, RulesV2, "a2a.auto_route", "own", data); r.From() != want || r.To() != "" {
			t.Errorf("%s: from %q to %q", data, r.From(), r.To())
		}
	}
}

func TestDataThatIsNoObjectSaysNothing(t *testing.T) {
	t.Parallel()

	for _, data := range []string{``, `null`, `"text"`, `["fromAgent"]`, `7`} {
		r := ReadRecord(RulesV2, "a2a.send", "eden", 1, 2, []byte(data), nil)
		if !reflect.DeepEqual(r.Facts, Facts{}) {
			t.Errorf("%s: %+v", data, r.Facts)
		}
	}
}

func TestTimeOfImportedLine(t *testing.T) {
	t.Parallel()

	const recorded = 5000
	for _, tt := range []struct {
		line   string
		v1, v2 float64
		source string // under v2
	}{
		{`{"timestampMs":1771584600000,"ts":5}`, 1771584600000, 1771584600000, "event"},
		{`{"timestampMs":0,"ts":5}`, 5, 5, "event"},
		{`{"ts":1771584960000.5}`, 1771584960000.5, 1771584960000.5, "event"},
		{`{"ts":"1771584720000"}`, 0, 1771584720000, "event"},
		{`{"timestampMs":" 12 ","ts":5}`, 5, 12, "event"},
		{`{"ts":0,"timestamp":"2026-02-20"}`, 1771545600000, 1771545600000, "event"},
		{`{"timestamp":"2026-02-20T10:51:00.250Z"}`, 1771584660250, 1771584660250, "event"},
		{`{"timestamp":"2026-02-20T19:51:00+09:00"}`, 1771584660000, 1771584660000, "event"},
		{`{"timestamp":"Fri, 20 Feb 2026 10:51:00 GMT"}`, 1771584660000, 1771584660000, "event"},
		{`{"timestamp":"yesterday"}`, 0, recorded, "recorded"},
		{`{"ts":"soon"}`, 0, recorded, "recorded"},
		{`{"ts":null}`, 0, recorded, "recorded"},
		{`{}`, 0, recorded, "recorded"},
	} {
		v1 := ReadRecord(RulesV1, "x", "a", 99, recorded, []byte(`{}`), []byte(tt.line))
		v2 := ReadRecord(RulesV2, "x", "a", 99, recorded, []byte(`{}`), []byte(tt.line))
		if v1.Time != tt.v1 || v1.TimeSource != TimeFromEvent || v2.Time != tt.v2 || v2.TimeSource != tt.source {
			t.Errorf("%s: v1 %v, v2 %v from %s; want %v, %v from %s", tt.line, v1.Time, v2.Time, v2.TimeSource, tt.v1, tt.v2, tt.source)
		}
	}
}

func TestImportedLineIsBelieved(t *testing.T) {
	t.Parallel()

	r := ReadRecord(RulesV2, "task.updated", "system", 7, 8, []byte(`{"taskId":"t1"}`), []byte(`{"type":"task.updated","ts":"7","status":" completed ","eventRole":"conversation.main"}`))
	if r.AgentID != "" || r.Status != "completed" || r.TaskID != "t1" || r.EventRole != "" {
		t.Errorf("%+v", r)
	}
	r = ReadRecord(RulesV2, "a2a.send", "eden", 7, 8, []byte(`{"message":"invented"}`), []byte(`{"agentId":"seum","ts":7,"data":["array"]}`))
	if r.AgentID != "seum" || r.Message != "" {
		t.Errorf("%+v", r)
	}
	r = ReadRecord(RulesV2, "a2a.send", "eden", 7, 8, []byte(`{"message":"kept"}`), []byte(`not JSON`))
	if r.AgentID != "eden" || r.Time != 7 || r.Message != "kept" {
		t.Errorf("%+v", r)
	}
}

func TestRecordedTimeStandsIn(t *testing.T) {
	t.Parallel()

	if r := ReadRecord(RulesV2, "x", "a", 0, 42, nil, nil); r.Time != 42 || r.TimeSource != TimeFromRecorded {
		t.Errorf("%v from %s", r.Time, r.TimeSource)
	}
	if r := ReadRecord(RulesV1, "x", "a", 0, 42, nil, nil); r.Time != 0 || r.TimeSource != TimeFromEvent {
		t.Errorf("%v from %s", r.Time, r.TimeSource)
	}
}

// Every text of Facts must have a name in data, and only one.
func TestEveryTextHasAField(t *testing.T) {
	t.Parallel()

	fields := map[*string]bool{}
	var f Facts
	names := []string{
		"fromAgent", "toAgent", "senderAgentId", "targetAgentId", "conversationId", "parentConversationId", "workSessionId", "previousWorkSessionId",
		"taskId", "rootTaskId", "runId", "parentRunId", "planId", "jobId", "topicId", "threadId", "eventRole", "fromSessionType", "toSessionType",
		"targetSessionKey", "sourceSessionKey", "requesterSessionKey", "sessionKey", "message", "replyPreview", "label", "description", "summary",
		"reason", "title", "collabIntent", "collabCategory", "categoryVersion", "status", "error", "outcome", "waitStatus", "waitError",
		"errorClass", "errorCode", "messageIntent", "action", "origin",
	}
	for _, name := range names {
		text := f.text(name)
		if text == nil || fields[text] {
			t.Errorf("%s is not read, or read twice", name)
		}
		fields[text] = true
	}
	texts := 0
	for i := range reflect.TypeFor[Facts]().NumField() {
		if reflect.TypeFor[Facts]().Field(i).Type.Kind() == reflect.String {
			texts++
		}
	}
	if texts != len(names) {
		t.Errorf("%d texts, %d names", texts, len(names))
	}
}

func TestParseRules(t *testing.T) {
	t.Parallel()

	if rules, err := ParseRules("v1"); rules != RulesV1 || err != nil {
		t.Errorf("%s, %v", rules, err)
	}
	if _, err := ParseRules("v3"); err == nil || err.Error() != `coordination: unknown classification rules "v3": valid are "v1" and "v2"` {
		t.Errorf("%v", err)
	}
}

func TestRoster(t *testing.T) {
	t.Parallel()

	roster := testRoster()
	for _, tt := range []struct {
		agent  string
		v1, v2 bool
	}{{"eden", true, true}, {"SEUM", true, true}, {"explorer", true, false}, {"Worker-Quick", true, false}, {"main", true, true}, {"ruda", true, true}, {"x", false, false}, {"", false, false}} {
		if v1, v2 := roster.IsMain(tt.agent, RulesV1), roster.IsMain(tt.agent, RulesV2); v1 != tt.v1 || v2 != tt.v2 {
			t.Errorf("%s: v1 %v, v2 %v", tt.agent, v1, v2)
		}
	}
	var none *Roster
	if !none.IsMain("Ruda", RulesV2) || none.IsMain("eden", RulesV1) || none.Name("eden") != "eden" || roster.Name("Eden") != "이든" {
		t.Error("a nil roster knows more or less than the default")
	}
}
