package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/verify"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestEachReasonHasCodeAndHint(t *testing.T) {
	t.Parallel()
	table := func(state projections.State) []projections.Status {
		return []projections.Status{{Name: "index", State: state, Seq: 5, Lag: 7, ParkedSeq: 6, ParkedError: "defect"}}
	}
	for codes, f := range map[string]facts{
		"":                      {tables: table(projections.Live)},
		"database_unreadable":   {err: errors.New("damaged")},
		"database_failing":      {gauges: sqlite.Gauges{Failing: errors.New("disk full")}},
		"database_lost":         {lost: &eventstore.LostError{Path: "log.db", Detail: "log.db was removed"}, err: errors.New("gone"), gauges: sqlite.Gauges{Failing: errors.New("gone")}},
		"io_error":              {lost: &eventstore.IOError{Path: "log.db", Err: errors.New("no device")}},
		"database_linked":       {linked: true},
		"database_stalled":      {gauges: sqlite.Gauges{Writing: time.Minute}},
		"disk_low":              {free: 1, freeKnown: true},
		"projection_parked":     {tables: table(projections.Parked)},
		"projection_rebuilding": {tables: table(projections.Rebuilding)},
		"importing":             {importing: true},
		"log_unreadable":        {following: true, follow: followStatus{LastError: "no"}},
		"log_behind":            {following: true, follow: followStatus{Behind: 2 << 20}},
		"overrides_differ":      {overrides: "no"},
		"config_invalid":        {config: configStatus{Error: "no"}},
		"search_failing":        {search: &health.SearchState{Error: "no"}},
		"search_behind":         {search: &health.SearchState{Lag: 20_000}},
		"task_files_failing":    {taskFiles: &health.TaskFilesState{Failing: 1, Error: "no"}},
		"task_files_edited":     {taskFiles: &health.TaskFilesState{Kept: []string{"workspace-eden/tasks/task_a.md.conflict"}}},
		"task_files_refused":    {taskFiles: &health.TaskFilesState{Refused: []string{"eden: no"}}},
		"redaction_failing":     {redaction: "no"},
		"backup_failed":         {backup: backup.State{Error: "no"}},
		"backup_overdue":        {backup: backup.State{Last: &backup.Backup{}}, overdue: true},
		"chain_broken":          {chain: chainState{Last: &verify.Check{Error: "no"}}},
		"chain_overdue":         {at: time.UnixMilli(1).Add(3 * time.Hour), chain: chainState{Every: time.Hour, Started: time.UnixMilli(1)}},
		"gateway_ended":         {gateway: &gatewayFacts{ended: errors.New("no")}},
		"work_stuck":            {agents: &agentFacts{worker: worker.Stats{Stuck: 1}}},
		"work_unknown":          {agents: &agentFacts{worker: worker.Stats{Unknown: []string{"mail"}}}},
		"worker_missing":        {workerless: []workerless{{agent: "main", waiting: 2, labels: []string{"gpu"}}}},
		"work_dead":             {lanes: []workqueue.Lane{{Pool: "post", Dead: 2}, {Pool: "main", Waiting: 3}}},
		"discord_undelivered":   {lanes: []workqueue.Lane{{Pool: "discord", Dead: 2}}, channels: channelFacts{states: map[string]health.ChannelState{"discord": {Undelivered: 2}}}},
	} {
		var got []string
		for _, r := range f.reasons() {
			got = append(got, string(r.Code))
			if r.What == "" || r.Hint == "" || r.Severity == "" {
				t.Errorf("%s says too little: %+v", codes, r)
			}
		}
		if diff := cmp.Diff(strings.Fields(codes), got, cmp.Transformer("joined", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// The metrics say what the facts say, under names that stay.
func TestMetricsSayWhatTheFactsSay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	f := &facts{at: now, head: 12, badLines: 2, doubts: index.Doubts{UnknownSender: 3, UnknownReceiver: 4, GuessedRoles: 5, FallbackCategory: 6},
		tables: []projections.Status{{Name: "index", State: projections.Parked, Seq: 5, Lag: 7}, {Name: "route", State: projections.Live, Seq: 12}},
		gauges: sqlite.Gauges{WALBytes: 4096, OldestReader: 1500 * time.Millisecond, QueuedEvents: 9, Busy: 1},
		follow: followStatus{Behind: 77}, backup: backup.State{Last: &backup.Backup{Time: now.Add(-time.Hour)}}, search: &health.SearchState{Lag: 8},
		lanes: []workqueue.Lane{{Pool: "main", Owner: "eden", Waiting: 2, Leased: 1, Since: now.Add(-3 * time.Second).UnixMilli()},
			{Pool: "main", Owner: "seum", Waiting: 1, Since: now.Add(-time.Second).UnixMilli()}, {Pool: "post", Dead: 4},
			{Pool: "a2a", Owner: "seum", Waiting: 3, Since: now.Add(-time.Hour).UnixMilli()}},
		heads: []workqueue.Head{{Pool: "a2a", Kind: "job", Free: true, ReadyAt: now.Add(time.Minute).UnixMilli()},
			{Pool: "a2a", Kind: "subagent_cleanup", Free: true, ReadyAt: now.Add(-2 * time.Second).UnixMilli()}, {Pool: "a2a", ReadyAt: 1}},
		flows: flowFacts{tallies: []flows.Tally{{Kind: "send", Phase: "dispatching", Flows: 5}, {Kind: "send", Phase: "waiting", Flows: 2}, {Kind: "send", Phase: "turn", Flows: 1},
			{Kind: "spawn", Phase: "waiting", Flows: 4}, {Kind: "send", Phase: "over", Outcome: "blocked", Flows: 6}}, throttled: 7, permitless: 6},
		runs: map[run.State]int64{run.OK: 7, run.Queued: 3},
		channels: channelFacts{states: map[string]health.ChannelState{"discord": {OpenCollaborations: 31, Escalated: 33, Suspended: 34, Undelivered: 35},
			"slack": {OpenCollaborations: 1, Suspended: 36, Undelivered: 37}},
			bots: []health.Bot{{Channel: "discord", AccountID: "eden", State: health.BotReady}, {Channel: "discord", AccountID: "seum", State: health.BotFailed},
				{Channel: "discord", AccountID: "spare", State: health.BotOff}, {Channel: "slack", AccountID: "eden", State: health.BotReady}}},
		going: &continuationFacts{pausing: 13, told: 14, happened: map[string]int64{"continuation.sent": 15, "zombie.abandoned": 16},
			approvals: map[string]pending.Kind{"plan": {N: 17, SinceMs: now.Add(-time.Minute).UnixMilli()}}},
		gateway: &gatewayFacts{stats: wire.Stats{Clients: 21, Accepted: 22, Requests: 23, InFlight: 24, Events: 25, Skipped: 26, Slow: 27, Silent: 28,
			QueuedBytes: 29, Refused: map[string]int64{"auth": 30}, Failures: map[string]int64{"INVALID_REQUEST": 31}}}}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(newMetricsCollector(func() *facts { return f })); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "openclawd_")
			for _, l := range m.GetLabel() {
				name += "/" + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"log_head_seq": 12, "wal_bytes": 4096, "oldest_reader_seconds": 1.5, "log_queue_events": 9, "log_append_errors_total/busy": 1,
		"projection_lag_events/index": 7, "projection_parked_events/index": 7, "projection_parked_events/route": 0, "projection_live/route": 1,
		"bad_lines_total": 2, "unknown_session_types_total/from": 3, "unknown_session_types_total/to": 4, "guessed_roles_total": 5,
		"category_fallbacks_total": 6, "follow_behind_bytes": 77, "search_lag_events": 8, "backup_age_seconds": 3600, "backup_ok": 1,
		"work_waiting/main": 3, "work_leased/main": 1, "work_dead/post": 4, "work_oldest_wait_seconds/main": 3, "work_oldest_wait_seconds/post": 0,
		"work_waiting/a2a": 3, "work_oldest_wait_seconds/a2a": 2, "a2a_flows_open/send/dispatching": 5, "a2a_flows_open/spawn/waiting": 4,
		"a2a_flows_open/spawn/posting": 0, "a2a_flows_total/send/blocked": 6, "a2a_permits_in_use": 3, "a2a_throttled_total": 7, "a2a_permit_timeouts_total": 6,
		"runs_total/ok": 7, "runs_total/error": 0, "runs_open/queued": 3,
		"continuation_agents_backoff": 13, "tasks_blocked_told": 14, "continuation_events_total/continuation.sent": 15,
		"continuation_events_total/zombie.abandoned": 16, "continuation_events_total/unblock.failed": 0, "approvals_waiting/plan": 17,
		"approvals_waiting/task": 0, "approvals_oldest_wait_seconds/plan": 60, "approvals_oldest_wait_seconds/task": 0,
		"discord_bot_up/eden": 1, "discord_bot_up/seum": 0, "discord_bots/ready": 1, "discord_bots/failed": 1, "discord_bots/off": 1, "discord_bots/resuming": 0,
		"channel_bot_up/eden/discord": 1, "channel_bot_up/eden/slack": 1, "channel_bots/slack/ready": 1, "channel_bots/telegram/ready": 0,
		"channel_undelivered/slack": 37, "channel_suspended_places/slack": 36, "channel_undelivered/discord": 35, "channel_undelivered/telegram": 0,
		"discord_undelivered": 35, "discord_suspended_places": 34, "collaborations_open": 32, "collaborations_escalated": 33,
		"config_valid": 1, "ready": 0, "ws_clients": 0, "ws_slow_closes_total": 0,
		"gateway_up": 1, "gateway_clients": 21, "gateway_connections_total": 22, "gateway_requests_total": 23, "gateway_running_requests": 24,
		"gateway_events_total": 25, "gateway_skipped_frames_total": 26, "gateway_slow_closes_total": 27, "gateway_silent_closes_total": 28,
		"gateway_queue_bytes": 29, "gateway_refused_total/auth": 30, "gateway_errors_total/INVALID_REQUEST": 31,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (there: %v), want %v", name, value, ok, want)
		}
	}
	if up, there := got["discord_bot_up/spare"]; there {
		t.Errorf("discord_bot_up of a bot that is switched off is %v, want none", up)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("names: %v, %v", problems, err)
	}
}

// A running program answers operators: liveness, readiness, metrics, and the state on one screen.
func TestProgramAnswersOperators(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	at, stop := starts(t, p, ready)
	api := at.String()
	for path, want := range map[string]string{
		"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ok","reasons":[]}`, "/metrics": "openclawd_build_info{", "/api/status": fmt.Sprintf(`"api":%q`, api),
	} {
		response, err := http.Get("http://" + api + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %s %.300s, %v", path, response.Status, body, err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
