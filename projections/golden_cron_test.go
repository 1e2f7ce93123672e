package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// cronHistory has a job with a run that was delivered, a run in progress and missed times, and a job that is gone.
func cronHistory(t *testing.T) (appends []eventstore.StreamAppend) {
	t.Helper()
	begin := goldenTime.UnixMilli() - 3_600_000
	within := coordination.Context{EventRole: coordination.RoleObservability}
	add := func(job, typ string, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		n := len(appends) + 1
		appends = append(appends, eventstore.StreamAppend{Stream: coordination.CronStream(job), Events: []eventstore.NewEvent{{
			ID: eventstore.DerivedID(goldenTime.UnixMilli(), [32]byte{7: byte(n), 8: 10}), Type: typ, AgentID: "eden", Actor: eventstore.ActorSchedule,
			TS: begin + int64(n)*1_000, Data: text,
		}}})
	}
	stagger := int64(0)
	job := coordination.CronJob{ID: "0b0e0d5e-0000-4000-8000-000000000001", Name: "보고", AgentID: "eden", Enabled: true, CreatedAtMs: begin, UpdatedAtMs: begin,
		Schedule:      coordination.CronSchedule{Kind: "cron", Expr: "*/10 * * * *", Tz: "Asia/Seoul", StaggerMs: &stagger},
		SessionTarget: "isolated", WakeMode: "now", Payload: coordination.CronPayload{Kind: "agentTurn", Message: "보고서를 쓰세요"},
		Delivery: &coordination.CronDelivery{Mode: "announce", Channel: "discord", To: "channel:1"}, Missed: "all", MaxRuns: 9}
	due := func(n int64) int64 { return begin + n*600_000 }
	first, second := "cron:"+job.ID+":1", "cron:"+job.ID+":2"
	add(job.ID, coordination.TypeCronJobAdded, coordination.CronJobChanged{Context: within, Job: job, NextAtMs: due(1), By: "cli"})
	add(job.ID, coordination.TypeCronRunDue, coordination.CronRunDue{Context: within, JobID: job.ID, RunID: first, DueAtMs: due(1), AtMs: due(1) + 5, NextAtMs: due(2), Check: true})
	add(job.ID, coordination.TypeCronRunStarted, coordination.CronRunStarted{Context: within, JobID: job.ID, RunID: first, SessionKey: "agent:eden:cron:" + job.ID})
	add(job.ID, coordination.TypeCronRunFinished, coordination.CronRunFinished{Context: within, JobID: job.ID, RunID: first, Status: "ok", Summary: "다 됐습니다", AtMs: due(1) + 900,
		DurationMs: 895, SessionKey: "agent:eden:cron:" + job.ID, SessionID: "s1", Provider: "fake", Model: "echo-1", ModelCalls: 1,
		Usage: &coordination.SessionUsage{Input: 100, Output: 20, Total: 120}, DeliveryStatus: "unknown"})
	add(job.ID, coordination.TypeCronRunDelivered, coordination.CronRunDelivered{Context: within, JobID: job.ID, RunID: first, Status: "delivered"})
	job.Name, job.UpdatedAtMs = "아침 보고", due(2)
	add(job.ID, coordination.TypeCronJobUpdated, coordination.CronJobChanged{Context: within, Job: job, NextAtMs: due(2)})
	add(job.ID, coordination.TypeCronRunMissed, coordination.CronRunMissed{Context: within, JobID: job.ID, FromMs: due(2), ToMs: due(3), Count: 2, NextAtMs: due(4), Rule: "last"})
	add(job.ID, coordination.TypeCronRunDue, coordination.CronRunDue{Context: within, JobID: job.ID, RunID: second, DueAtMs: due(4), AtMs: due(4), NextAtMs: due(5)})
	gone := coordination.CronJob{ID: "j2", Name: "once", Enabled: true, CreatedAtMs: begin, UpdatedAtMs: begin, Schedule: coordination.CronSchedule{Kind: "at", At: "2026-12-24T18:00:00Z"},
		SessionTarget: "main", WakeMode: "now", Payload: coordination.CronPayload{Kind: "systemEvent", Text: "hello"}}
	add(gone.ID, coordination.TypeCronJobAdded, coordination.CronJobChanged{Context: within, Job: gone, NextAtMs: due(9)})
	add(gone.ID, coordination.TypeCronJobRemoved, coordination.CronJobRemoved{Context: within, JobID: gone.ID, By: "cli"})
	return appends
}
