package projections_test

import (
	"encoding/json"
	"strings"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// histories draws logs in which everything meets: few agents, sessions, conversations and tasks, times out of order, and what no
// producer should send.
func histories() *rapid.Generator[[]eventstore.NewEvent] {
	return rapid.SliceOfN(rapid.Custom(drawEvent), 1, 40)
}

func drawEvent(t *rapid.T) eventstore.NewEvent {
	e := eventstore.NewEvent{
		Type:    rapid.SampledFrom(types).Draw(t, "type"),
		AgentID: rapid.SampledFrom(agents).Draw(t, "agent"),
		Actor:   rapid.SampledFrom([]eventstore.Actor{"", "", eventstore.ActorAgent, eventstore.ActorImport}).Draw(t, "actor"),
		Data:    drawData(t),
	}
	if rapid.IntRange(0, 9).Draw(t, "timed") > 0 {
		e = e.WithTS(rapid.SampledFrom(times).Draw(t, "ts"))
	}
	if e.Type == coordination.TypeConfigApplied {
		e.Data = json.RawMessage(rapid.SampledFrom(configs).Draw(t, "config"))
	}
	if strings.HasPrefix(e.Type, "session.") {
		e.Data = drawSession(t)
	}
	if rapid.IntRange(0, 5).Draw(t, "whole line kept") == 0 {
		e.Actor = eventstore.ActorImport
		e.Original = json.RawMessage(rapid.SampledFrom(lines).Draw(t, "line"))
	}
	return e
}

// drawData draws the fields that folds look at.
func drawData(t *rapid.T) json.RawMessage {
	fields := []string{`"workSessionId":"ws_1"`} // most events are of one work session
	for _, f := range []struct {
		name   string
		rarely int
		values []string
	}{
		{"workSessionId", 3, []string{"ws_2", "작업 3", "", `ws\u0000`, "ws_1::main|eden"}},
		{"conversationId", 1, []string{"c1", "c2", "c3", "", `c\"4`}},
		{"parentConversationId", 6, []string{"c1", "c9"}},
		{"previousWorkSessionId", 6, []string{"ws_1", "ws_2"}},
		{"fromAgent", 1, agents},
		{"toAgent", 1, agents},
		{"eventRole", 4, []string{"conversation.main", "delegation.subagent", "orchestration.task", "nonsense"}},
		{"fromSessionType", 4, []string{"main", "subagent", "unknown", "?"}},
		{"toSessionType", 4, []string{"main", "subagent"}},
		{"taskId", 1, []string{"t1", "t2", `t\u0000`}},
		{"runId", 3, []string{"r1", "r2"}},
		{"status", 2, []string{"in_progress", "blocked", "completed", "failed", "accepted", "error", "backlog", "pending"}},
		{"outcome", 3, []string{"blocked", "no_reply", "failed", "done", "completed"}},
		{"waitStatus", 5, []string{"timeout", "error", "ok"}},
		{"error", 5, []string{"연결 끊김", "boom"}},
		{"reason", 4, []string{"권한이 없음", "waits for <@123>"}},
		{"title", 5, []string{"지붕 수리", "task_ab12", "한 줄\\n두 줄"}},
		{"label", 5, []string{"fix-login", "로그인 고치기", "task_ab12"}},
		{"message", 1, messages},
		{"replyPreview", 5, messages},
		{"collabCategory", 5, []string{"infra_ops", "docs_knowledge", "nonsense"}},
		{"category", 0, []string{"infra_ops", "legal_compliance", "docs_knowledge", "nonsense"}},
		{"updatedBy", 4, []string{"ops", "운영자"}},
		{"updatedAt", 4, []string{"2026-02-20T12:00:00.000Z", "?"}},
		{"action", 6, []string{"escalated", "backlog"}},
	} {
		if rapid.IntRange(0, f.rarely).Draw(t, f.name+"?") == 0 {
			fields = append(fields, `"`+f.name+`":"`+rapid.SampledFrom(f.values).Draw(t, f.name)+`"`)
		}
	}
	for _, f := range []struct {
		rarely int
		values []string
	}{
		{5, []string{`"collabSubTags":["배포","Deploy","deploy"]`, `"collabSubTags":["a\"b","\ud800","c\nd",7]`, `"collabSubTags":["𝒳","x\\y"]`}},
		{8, []string{`"requiresApproval":true`, `"concurrencyBlocked":true`, `"hop":1`, `"depth":0`}},
		{9, []string{`"workSessionId":17`, `"taskId":null`, `"message":{"nested":[1]}`, `"fromAgent":["main"]`}},
	} {
		if rapid.IntRange(0, f.rarely).Draw(t, "other?") == 0 {
			fields = append(fields, rapid.SampledFrom(f.values).Draw(t, "other"))
		}
	}
	return json.RawMessage("{" + strings.Join(fields, ",") + "}")
}

// drawSession draws data of the session types: few keys and transcripts, and what makes no sense.
func drawSession(t *rapid.T) json.RawMessage {
	fields := []string{`"sessionKey":"agent:eden:main"`} // most events are of one session
	for _, f := range []struct {
		rarely int
		values []string
	}{
		{2, []string{`"sessionKey":"agent:seum:main"`, `"sessionKey":"Agent:Eden:Subagent:U1"`, `"sessionKey":"global"`, `"sessionKey":"eden"`, `"sessionKey":7`}},
		{1, []string{`"sessionId":"t1"`, `"sessionId":"t2"`, `"sessionId":"t3"`, `"sessionId":"t\u0000"`, `"sessionId":""`, `"sessionId":["t1"]`}},
		{2, []string{`"parentSessionKey":"agent:main:main"`, `"parentSessionKey":"<x>"`}},
		{0, []string{`"author":"user"`, `"author":"assistant"`, `"author":"tool"`, `"author":""`, `"author":"누구"`}},
		{0, []string{`"text":"배포 파이프라인을 복구해 주세요"`, `"text":"a\u0000b"`, `"text":"token=abcdefghijkl"`, `"text":"<@123> 확인"`, `"text":"\ud800"`}},
		{1, []string{`"set":{"label":"x"}`, `"set":{"label":"y","model":"<m>"}`, `"set":{"label":"x","spawnedBy":"agent:main:main"}`, `"set":{"a":{"b":[1, 2]}}`, `"set":[1]`}},
		{3, []string{`"unset":["label"]`, `"unset":["model","a"]`, `"unset":"label"`, `"set":{"model":null}`}},
		{3, []string{`"usage":{"input":1,"output":2,"total":3}`, `"usage":{"input":-1e300,"output":1e300,"total":"3"}`, `"usage":7`}},
		{3, []string{`"stopReason":"aborted"`, `"stopReason":"stop"`, `"by":"cli"`, `"transcriptKept":true`, `"reason":"new"`}},
		{3, []string{`"provider":"fake","model":"echo-1"`, `"channel":"discord","to":"c\u0000","threadId":"9"`, `"channel":"webchat"`}},
	} {
		if rapid.IntRange(0, f.rarely).Draw(t, "field?") == 0 {
			fields = append(fields, rapid.SampledFrom(f.values).Draw(t, "field"))
		}
	}
	return json.RawMessage("{" + strings.Join(fields, ",") + "}")
}

var types = []string{
	"a2a.send", "a2a.send", "a2a.response", "a2a.response", "a2a.complete", "a2a.complete", "a2a.spawn", "a2a.spawn_result",
	"a2a.auto_route", "a2a.retry", "a2a.job.created", "delegation.retrying", "delegation.retrying", "task.started", "task.updated", "task.blocked", "task.resumed", "task.completed",
	"task.cancelled", "task.backlog_added", "zombie.abandoned", "continuation.sent", "continuation.complete", "config.applied",
	"work_session.category_set", "work_session.category_set", "work_session.category_set", "work_session.category_set",
	"work_session.category_set", "work_session.category_set", "work_session.category_cleared",
	"session.created", "session.patched", "session.message", "session.message", "session.message", "session.reset", "session.deleted",
	"import.rejected", "gateway.heartbeat", "unheard.of", "무엇",
}

var agents = []string{"main", "main", "ruda", "eden", "Eden", "세움", "", "seum", `a\u0000b`}

var messages = []string{
	"[Goal] 로그인 오류를 고친다", "배포 파이프라인을 복구해 주세요", "please review the deployment of the API", "[outcome] blocked: 대상 없음",
	"[outcome] no_reply: timeout", "법무 검토가 필요합니다", "write the docs", "NO_REPLY", "", "<@123> 확인", `a \"quoted title\" of it`,
}

// times lie around slots, hours and days, and far outside.
var times = []int64{
	epoch, epoch + 1, epoch + 2, epoch + 599_999, epoch + 600_000, epoch + 3_600_000, epoch - 600_001, epoch + 86_400_001, 0, -1,
	epoch, epoch + 5, epoch + 7, epoch + 7, 1 << 60,
}

var configs = []string{
	`{"agents":[{"id":"eden","name":"에덴"},{"id":"seum","name":"Seum","utility":true}],"mentions":{"123":"세움"}}`,
	`{"agents":[{"id":"eden","kind":"utility"},{"id":"세움"}]}`,
	`{"agents":[],"hash":"<h>"}`,
	`{"agents":"stranger"}`,
	`{}`,
}

// lines are envelopes that the columns of an event cannot give back.
var lines = []string{
	`{"type":"a2a.send","agentId":"eden","ts":1790000000000.25}`,
	`{"agentId":7,"timestampMs":1790000000600.125,"status":"completed"}`,
	`{"ts":"1790000001000","agentId":" main "}`,
	`{"timestamp":"2026-02-20T12:00:00.5Z","status":"blocked"}`,
	`{"ts":1.7e308}`,
	`{"ts":-1.7e308}`,
	`{"ts":0.1}`,
	`{"data":[1,2]}`,
	`{}`,
}
