package projections_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// everyType gives an event of every type in the catalogue as it is produced today, all members of its data filled, and before them the
// versions that came before today's.
func everyType(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	add := func(typ string, ver int, data []byte) {
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: streamOf(typ, "eden", data, nil), Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n)}), Type: typ, Ver: ver, AgentID: "eden", Actor: eventstore.ActorAgent,
			TS: goldenTime.UnixMilli() - 3_600_000 + int64(n)*1_000, CorrelationID: "conv-golden", CausationID: "cause-golden", Data: data,
		}}})
	}
	add(coordination.TypeConfigApplied, 1, []byte(`{"eventRole":"system.observability","hash":"sha256:0","source":"openclaw.json",`+
		`"agents":[{"id":"eden","name":"이든"},{"id":"worker-quick","utility":true}],"mentions":{"1001":"이든"}}`))
	add(coordination.TypeConfigApplied, 2, []byte(`{"eventRole":"system.observability","hash":"sha256:1","source":"openclaw.json",`+
		`"agents":[{"id":"eden","name":"이든"},{"id":"seum","name":"세움"}],"mentions":{"1001":"이든","1002":"세움"},`+
		`"settings":{"agents":{"list":[{"id":"eden"}]},"channels":{"discord":{"token":"***"}}}}`))
	for _, info := range coordination.Catalogue() {
		shape, ok := dataTypeOf(info.Type)
		if !ok {
			t.Errorf("no data type for %s", info.Type)
			continue
		}
		if info.Type == coordination.TypeConfigApplied {
			continue
		}
		value := reflect.New(shape).Elem()
		fill(value, "")
		value.FieldByName("EventRole").SetString(string(info.Role))
		data, err := json.Marshal(value.Interface())
		if err != nil {
			t.Fatal(err)
		}
		add(info.Type, 1, data)
	}
	return appends
}

// fill sets every member of a value, by its name in JSON.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(sampleText(name))
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(name != "requiresApproval" && name != "concurrencyBlocked")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, "key")
		fill(element, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fill(v.Field(i), member)
		}
	default:
		panic(fmt.Sprintf("no sample for %s, a %s", name, v.Type()))
	}
}

// sampleText is a value that readers can make something of.
func sampleText(name string) string {
	switch name {
	case "workSessionId":
		return "ws_golden"
	case "previousWorkSessionId":
		return "ws_before"
	case "taskId", "rootTaskId":
		return "task_ab12"
	case "fromAgent", "fromAgentId", "senderAgentId", "agentId":
		return "eden"
	case "toAgent", "toAgentId", "targetAgentId", "assignee", "unblockedBy":
		return "seum"
	case "fromSessionType", "toSessionType":
		return "main"
	case "collabCategory", "category":
		return "infra_ops"
	case "categorySource":
		return "rule"
	case "message", "text":
		return "[Goal] 배포 파이프라인을 복구한다 <@1002> **확인**"
	case "targetSessionKey":
		return "agent:seum:main"
	case "sessionKey":
		return "agent:eden:main"
	case "outcome":
		return "no_reply"
	case "status":
		return "completed"
	case "updatedAt":
		return "2026-11-21T12:00:00.000Z"
	case "threadId", "channelId", "messageId", "guildId", "botUserId":
		return "100200300400500600"
	}
	return name + "-golden"
}

// dataTypes lists the type of the data of events, by how their type begins; the first that fits counts.
var dataTypes = []struct {
	prefix string
	data   any
}{
	{"a2a.send.policy_rejected", coordination.A2ARefusal{}},
	{"a2a.send.", coordination.A2ASendStep{}},
	{"a2a.send", coordination.A2ASend{}},
	{"a2a.response", coordination.A2AResponse{}},
	{"a2a.complete", coordination.A2AComplete{}},
	{"a2a.auto_route", coordination.A2AAutoRoute{}},
	{"a2a.retry", coordination.A2ARetry{}},
	{"a2a.forbidden", coordination.A2ARefusal{}},
	{"a2a.dispatch_failed", coordination.A2ARefusal{}},
	{"a2a.concurrency.", coordination.A2AConcurrency{}},
	{"run.parked", coordination.RunParked{}}, {"run.woken", coordination.RunWoken{}}, {"tool.approval_requested", coordination.CallApprovalRequested{}},
	{"tool.approval_decided", coordination.CallApprovalDecided{}}, {"tool.approval_revoked", coordination.CallApprovalRevoked{}},
	{"cron.job.added", coordination.CronJobChanged{}}, {"cron.job.updated", coordination.CronJobChanged{}}, {"cron.job.removed", coordination.CronJobRemoved{}},
	{"cron.run.due", coordination.CronRunDue{}}, {"cron.run.missed", coordination.CronRunMissed{}}, {"cron.run.started", coordination.CronRunStarted{}},
	{"cron.run.finished", coordination.CronRunFinished{}}, {"cron.run.delivered", coordination.CronRunDelivered{}},
	{"a2a.job.created", coordination.A2AJobCreated{}},
	{"a2a.job.", coordination.A2AJob{}},
	{"a2a.collaborate.", coordination.A2ACollaborate{}},
	{"a2a.spawn_result", coordination.A2ASpawnResult{}},
	{"a2a.spawn", coordination.A2ASpawn{}},
	{"collab.message", coordination.CollabMessage{}},
	{"collab.", coordination.Collab{}},
	{"delegation.", coordination.Delegation{}},
	{"task.started", coordination.TaskStarted{}},
	{"task.updated", coordination.TaskUpdated{}},
	{"task.blocked", coordination.TaskBlocked{}},
	{"task.backlog_added", coordination.TaskBacklogAdded{}},
	{"task.", coordination.TaskState{}},
	{"backlog.", coordination.TaskState{}},
	{"continuation.", coordination.Continuation{}},
	{"resume_reminder.", coordination.Continuation{}},
	{"unblock.", coordination.Unblock{}},
	{"zombie.", coordination.ZombieAbandoned{}},
	{"plan.", coordination.Plan{}},
	{"milestone.", coordination.Milestone{}},
	{"session.message", coordination.SessionMessage{}},
	{"session.patched", coordination.SessionPatched{}},
	{"session.", coordination.Session{}},
	{"run.queued", coordination.RunQueued{}},
	{"run.started", coordination.RunStarted{}},
	{"run.", coordination.RunOver{}},
	{"work.scheduled", coordination.WorkScheduled{}},
	{"work.", coordination.WorkAttempt{}},
	{"discord.reaction", coordination.DiscordReaction{}},
	{"discord.inbound.edited", coordination.DiscordChange{}},
	{"discord.inbound.deleted", coordination.DiscordChange{}},
	{"discord.inbound.", coordination.DiscordInbound{}},
	{"discord.", coordination.DiscordOutbound{}},
	{"identity.", coordination.IdentityBot{}},
	{"pairing.", coordination.Pairing{}},
	{"thread.participant.", coordination.ThreadParticipant{}},
	{"thread.", coordination.Thread{}},
	{"tool.called", coordination.ToolCalled{}},
	{"tool.ended", coordination.ToolEnded{}},
	{"tool.outcome_unknown", coordination.ToolOutcomeUnknown{}},
	{"tool.output", coordination.ToolOutput{}},
	{"sandbox.", coordination.SandboxProbed{}},
	{"sink.", coordination.SinkAdvanced{}},
	{"config.patched", coordination.ConfigPatched{}},
	{"config.", coordination.ConfigApplied{}},
	{"import.rejected", coordination.ImportRejected{}},
	{"import.migrating", coordination.ImportMigrating{}},
	{"import.migrated", coordination.ImportMigrated{}},
	{"import.", coordination.ImportCompleted{}},
	{"projection.", coordination.Projection{}},
	{"work_session.", coordination.WorkSessionCategory{}},
	{"file.imported", coordination.FileImported{}},
	{"file.written", coordination.FileWritten{}},
	{"file.conflict", coordination.FileConflict{}},
	{"file.", coordination.FileChanged{}},
	{"log.redacted", coordination.LogRedacted{}},
	{"log.forgotten", coordination.LogForgotten{}},
	{"log.archived", coordination.LogArchived{}},
	{"gateway.", coordination.Gateway{}},
}

func dataTypeOf(typ string) (t reflect.Type, ok bool) {
	for _, d := range dataTypes {
		if strings.HasPrefix(typ, d.prefix) {
			return reflect.TypeOf(d.data), true
		}
	}
	return nil, false
}
