package handoff_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pronto-lab/openclawd/coordination/handoff"
)

var types = []handoff.Type{handoff.TaskDelegation, handoff.StatusReport, handoff.Question, handoff.Answer}

// whole are payloads with every member of their type, and least ones with those that it needs.
var (
	whole = map[handoff.Type]string{
		handoff.TaskDelegation: `{"type":"task_delegation","taskId":"task-001","taskTitle":"API 문서 작성","taskDescription":"sessions_send 도구의 payloadJson 파라미터 문서화",` +
			`"context":"PR #42","deadline":"2026-02-20T18:00:00+09:00","priority":"high","acceptanceCriteria":["예제","검토"]}`,
		handoff.StatusReport: `{"type":"status_report","taskId":"task-001","status":"blocked","completedWork":"초안","remainingWork":"검토","blockers":["권한 없음","키 없음"],` +
			`"progressPercent":40.5,"artifacts":["docs/a.md"]}`,
		handoff.Question: `{"type":"question","questionId":"q-001","question":"기준이 몇 퍼센트인가요?","context":"배포 전","urgency":"urgent","options":["70","80"]}`,
		handoff.Answer:   `{"type":"answer","questionId":"q-001","answer":"80입니다","confidence":0.875,"references":["https://example.com"]}`,
	}
	least = map[handoff.Type]string{
		handoff.TaskDelegation: `{"type":"task_delegation","taskId":"t","taskTitle":"a","taskDescription":"b"}`,
		handoff.StatusReport:   `{"type":"status_report","taskId":"t","status":"in_progress"}`,
		handoff.Question:       `{"type":"question","questionId":"q","question":"a"}`,
		handoff.Answer:         `{"type":"answer","questionId":"q","answer":"b"}`,
	}
)

// parse reads a payload that has to be one.
func parse(t testing.TB, text string) *handoff.Payload {
	t.Helper()
	p, warnings := handoff.Parse(text)
	if p == nil || warnings != nil {
		t.Fatalf("%s: %v", text, warnings)
	}
	return p
}

func schemaOf(t testing.TB, of handoff.Type) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(handoff.Schema(of)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
