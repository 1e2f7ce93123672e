package coordination

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestCatalogue(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{}
	for _, info := range Catalogue() {
		if seen[info.Type] || info.Type == "" || info.Doc == "" || !info.Role.Valid() {
			t.Errorf("entry %+v", info)
		}
		seen[info.Type] = true
		if found, ok := Lookup(info.Type); !ok || found != info || info.Internal != Internal(info.Type) {
			t.Errorf("lookup of %s: %+v", info.Type, found)
		}
	}
	if _, ok := Lookup("custom.thing"); ok {
		t.Error("found a type that is not there")
	}
}

// Where a role can be told from the type, guessing must agree with what producers claim.
func TestCatalogueRolesMatchGuesses(t *testing.T) {
	t.Parallel()

	for _, info := range Catalogue() {
		if got := classify(t, RulesV2, info.Type, "eden", `{"fromAgent":"eden","toAgent":"seum"}`).Role; got != info.Role {
			t.Errorf("%s: guessed %s, catalogued %s", info.Type, got, info.Role)
		}
	}
}

func TestInternal(t *testing.T) {
	t.Parallel()

	for typ, want := range map[string]bool{
		"session.message": true, "run.started": true, "discord.inbound.handled": true, "thread.suspended": true, "config.applied": true,
		"import.rejected": true, "projection.parked": true, "run.of_the_mill": true, "work_session.category_set": true, "file.changed": true,
		"a2a.send": false, "task.started": false, "gateway.heartbeat": false, "milestone.sync_failed": false, "sessions": false, "": false,
	} {
		if Internal(typ) != want {
			t.Errorf("%s: internal is %v", typ, !want)
		}
	}
}

func TestStreamOf(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ typ, agent, data, want string }{
		{"a2a.send", "eden", `{"conversationId":"c-1","taskId":"t1"}`, "conversation/c-1"},
		{"a2a.send", "eden", `{"conversationId":"c 1","taskId":"t1"}`, "task/t1"},
		{"a2a.send", "eden", `{"conversationId":"c/1","taskId":"` + strings.Repeat("t", 129) + `"}`, "agent/eden"},
		{"a2a.send", "eden", `{"conversationId":"` + strings.Repeat("가", 42) + `"}`, "conversation/" + strings.Repeat("가", 42)},
		{"a2a.send", "eden", `{"conversationId":"` + strings.Repeat("가", 43) + `"}`, "agent/eden"},
		{"a2a.job.created", "eden", `{"jobId":"j1","conversationId":"c1"}`, "job/j1"},
		{"a2a.job.created", "eden", `{"conversationId":"c1"}`, "conversation/c1"},
		{"a2a.collaborate.sent", "eden", `{"threadId":"123"}`, "thread/123"},
		{"task.started", "eden", `{"taskId":"task_ab12","conversationId":"c1"}`, "task/task_ab12"},
		{"zombie.abandoned", "Eden", `{}`, "agent/eden"},
		{"plan.submitted", "eden", `{"planId":"p1","taskId":"t1"}`, "plan/p1"},
		{"plan.submitted", "eden", `{"taskId":"t1"}`, "task/t1"},
		{"thread.suspended", "", `{"threadId":"9"}`, "thread/9"},
		{"continuation.sent", "eden", `{"taskId":"t1"}`, "agent/eden"},
		{"run.started", "이든", `{"runId":"r1"}`, "agent/이든"},
		{"config.applied", "eden", `{"taskId":"t1"}`, "log"},
		{"custom.thing", "eden", `{}`, "log"},
		{"continuation.sent", "", `{}`, "log"},
		{"continuation.sent", "a b", `{}`, "log"},
	} {
		r := read(t, RulesV2, tt.typ, tt.agent, tt.data)
		if got := StreamOf(&r); got != tt.want {
			t.Errorf("%s by %q %s: %s, want %s", tt.typ, tt.agent, tt.data, got, tt.want)
		}
	}
}

// What a producer marshals, a reader of the log reads.
func TestDataIsReadBack(t *testing.T) {
	t.Parallel()

	zero := 0
	text, err := json.Marshal(A2AResponse{
		Context: Context{
			WorkSessionID: "ws_1", PreviousWorkSessionID: "ws_0", TaskID: "t1", RootTaskID: "t0", ConversationID: "c1", ParentConversationID: "c0",
			ParentRunID: "r0", Depth: &zero, TopicID: "topic", EventRole: RoleDelegation, FromSessionType: SessionSubagent, ToSessionType: SessionMain,
			CollabCategory: QAValidation, CollabSubTags: []string{"회귀"}, CollabIntent: "ask", CategoryVersion: "v2", CategoryManualOverride: true,
		},
		FromAgent: "seum", ToAgent: "eden", Message: "m", ReplyPreview: "p", RunID: "r1", JobID: "j1", MessageIntent: "question",
		Outcome: OutcomeValueNoReply, WaitStatus: "timeout", WaitError: "e",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, RulesV2, TypeA2AResponse, "seum", string(text))
	want := Facts{
		FromAgent: "seum", ToAgent: "eden", ConversationID: "c1", ParentConversationID: "c0", WorkSessionID: "ws_1", PreviousWorkSessionID: "ws_0",
		TaskID: "t1", RootTaskID: "t0", RunID: "r1", ParentRunID: "r0", JobID: "j1", TopicID: "topic", EventRole: "delegation.subagent",
		FromSessionType: "subagent", ToSessionType: "main", Message: "m", ReplyPreview: "p", CollabIntent: "ask", CollabCategory: "qa_validation",
		CategoryVersion: "v2", Outcome: "no_reply", WaitStatus: "timeout", WaitError: "e", MessageIntent: "question", ManualOverride: true, HasDepth: true,
	}
	if got := strings.Join(r.SubTags, ","); got != "회귀" {
		t.Errorf("sub-tags %q", got)
	}
	r.SubTags = nil
	if !reflect.DeepEqual(r.Facts, want) {
		t.Errorf("got %+v\nwant %+v", r.Facts, want)
	}
	if text, err := json.Marshal(Context{}); err != nil || string(text) != "{}" {
		t.Errorf("an empty context is %s, %v", text, err)
	}
}
