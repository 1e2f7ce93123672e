package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

const ping = `{"id":"j1","name":"ping","enabled":true,"createdAtMs":1795800000000,"updatedAtMs":1795800000000,"schedule":{"kind":"every","everyMs":3600000},` +
	`"sessionTarget":"main","wakeMode":"next-heartbeat","payload":{"kind":"systemEvent","text":"ping"}%s,"state":{"nextRunAtMs":%d}}`

// later is a due time after the test's clock.
const later = 1795870000000

// decided reads decision tables, and appends nothing.
func decided[R any](t *testing.T, h *home, read func(eventstore.Tx) (R, error)) (result R) {
	t.Helper()
	_, err := h.db.Decide(t.Context(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		result, err = read(tx)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (h *home) job(t *testing.T, id string) schedules.Row {
	t.Helper()
	return decided(t, h, func(tx eventstore.Tx) (schedules.Row, error) {
		row, _, err := schedules.Load(tx, id)
		return row, err
	})
}

func TestJobsWithTheirRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("cron/jobs.json", `{"version":1,"jobs":[`+fmt.Sprintf(ping, "", int64(later))+"]}")
	h.write("cron/runs/j1.jsonl", `{"ts":1795820000000,"jobId":"j1","action":"finished","status":"ok","summary":"pong","runAtMs":1795819999000,"durationMs":900}`+"\n"+
		`{"ts":1795830000000,"jobId":"j1","action":"finished","status":"error","error":"no model","runAtMs":1795829999000,"durationMs":5}`+"\n")
	r := h.migrate()
	row := h.job(t, "j1")
	if !r.Complete || count(r, migrate.CronRuns).New != 2 || row.Job.Name != "ping" || row.NextAt != later || row.Runs != 2 || row.LastStatus != schedule.Error ||
		row.LastError != "no model" || row.LastRunAt != 1795829999000 || row.RunID != "" {
		t.Errorf("report %+v, job %+v", r, row)
	}
	before := h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the second run has added %d events", h.head()-before)
	}
	h.write("cron/jobs.json", `{"version":1,"jobs":[`+fmt.Sprintf(ping, `,"description":"new"`, 5)+"]}")
	h.migrate()
	if row := h.job(t, "j1"); row.Job.Description != "new" || row.NextAt != later || row.Runs != 2 {
		t.Errorf("job %+v", row)
	}
	h.write("cron/jobs.json", `{"version":1,"jobs":[`+fmt.Sprintf(ping, `,"description":"newer"`, 5)+"]}")
	removed, err := eventstore.One(schedule.Stream("j1"), eventstore.NewEvent{Type: coordination.TypeCronJobRemoved}, coordination.CronJobRemoved{JobID: "j1"}, 1)
	if err == nil {
		_, err = h.db.Append(t.Context(), removed...)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, h.migrate(), migrate.ReasonRemovedHere, true)
	if row := h.job(t, "j1"); row.Job.ID != "" {
		t.Errorf("the job is back: %+v", row)
	}
}

// OpenClaw 2026.5 keeps apart when a job is due, and when it was changed.
func TestJobsWithTheirStateApart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("cron/jobs.json", `{"version":1,"jobs":[{"id":"j1","name":"ping","enabled":true,"createdAtMs":1795800000000,"schedule":{"kind":"every","everyMs":3600000},`+
		`"payload":{"kind":"agentTurn","message":"m"},"state":{}},{"id":"j2","name":"pong","enabled":true,"createdAtMs":1795800000000,`+
		`"schedule":{"kind":"every","everyMs":3600000},"payload":{"kind":"agentTurn","message":"m"},"state":{}}]}`)
	h.write("cron/jobs-state.json", fmt.Sprintf(`{"version":1,"jobs":{"j1":{"updatedAtMs":1795810000000,"state":{"nextRunAtMs":%d}}}}`, int64(later)))
	if r := h.migrate(); !r.Complete || count(r, migrate.Cron).New != 2 {
		t.Errorf("report %+v", r)
	}
	if row := h.job(t, "j1"); row.NextAt != later || row.Job.UpdatedAtMs != 1795810000000 {
		t.Errorf("job %+v", row)
	}
	if row := h.job(t, "j2"); row.NextAt == 0 || row.Job.UpdatedAtMs != 1795800000000 {
		t.Errorf("job %+v", row)
	}
}

// OpenClaw notes each run as a change of its job. What was changed here stays.
func TestRunsInOpenClawDoNotUndoChangesHere(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("cron/jobs.json", `{"jobs":[`+fmt.Sprintf(ping, "", int64(later))+"]}")
	h.migrate()
	changed := h.job(t, "j1").Job
	changed.Name = "pong"
	here, err := eventstore.One(schedule.Stream("j1"), eventstore.NewEvent{Type: coordination.TypeCronJobUpdated},
		coordination.CronJobChanged{Job: changed, NextAtMs: later}, now.UnixMilli())
	if err == nil {
		_, err = h.db.Append(t.Context(), here...)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.write("cron/jobs.json", `{"jobs":[`+strings.Replace(fmt.Sprintf(ping, "", int64(later)), `"updatedAtMs":1795800000000`, `"updatedAtMs":1795850000000`, 1)+"]}")
	if r := h.migrate(); count(r, migrate.Cron).Already != 1 || h.job(t, "j1").Job.Name != "pong" {
		t.Errorf("job %+v; report %+v", h.job(t, "j1").Job, r)
	}
}

// A due time that OpenClaw has missed is not made up for at the first start here.
func TestMissedDueTimesAreNotRun(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("cron/jobs.json", `{"jobs":[`+fmt.Sprintf(ping, "", 1795800000000)+`,{"id":"j2","name":"once","enabled":true,"schedule":{"kind":"at","atMs":1795800000000},`+
		`"payload":{"kind":"agentTurn","message":"m"}}]}`)
	h.migrate()
	if row := h.job(t, "j1"); row.NextAt <= now.UnixMilli() || row.NextAt > now.UnixMilli()+3_600_000 {
		t.Errorf("next run at %d", row.NextAt)
	}
	if row := h.job(t, "j2"); row.NextAt != 0 || row.Job.Schedule.At == "" {
		t.Errorf("job %+v", row)
	}
}

func TestJobsThatWouldDoSomethingElseAreLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more, reason string
		complete     bool
	}{
		"some tools only":    {`,"payload":{"kind":"agentTurn","message":"m","toolsAllow":["read"]}`, migrate.ReasonUnsupported, false},
		"heartbeat":          {`,"payload":{"kind":"heartbeat"}`, migrate.ReasonManaged, true},
		"of a plugin":        {`,"declarationKey":"memory-core:x"`, migrate.ReasonManaged, true},
		"agent that is gone": {`,"agentId":"olaf"`, migrate.ReasonUnsupported, false},
		"other target":       {`,"sessionTarget":"session:x"`, migrate.ReasonUnsupported, false},
		"trigger":            {`,"trigger":{"script":"x"}`, migrate.ReasonUnsupported, false},
		"bad expression":     {`,"schedule":{"kind":"cron","expr":"no"}`, migrate.ReasonUnsupported, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write("cron/jobs.json", `{"jobs":[`+fmt.Sprintf(ping, c.more, 5)+"]}")
			wantReason(t, h.migrate(), c.reason, c.complete)
			if h.head() != 0 {
				t.Errorf("%d events", h.head())
			}
		})
	}
}

// stateSchema has the columns of the shared database of 2026.9 that are read.
const stateSchema = `CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, app_version TEXT) STRICT;
CREATE TABLE cron_jobs (job_id TEXT, job_json TEXT, state_json TEXT, sort_order INTEGER, updated_at INTEGER) STRICT;
CREATE TABLE cron_run_receipts (receipt_id TEXT, job_id TEXT, status TEXT, started_at_ms INTEGER, finished_at_ms INTEGER, error_text TEXT) STRICT;
CREATE TABLE channel_pairing_allow_entries (channel_key TEXT, account_id TEXT, entry TEXT, sort_order INTEGER) STRICT;
INSERT INTO schema_meta VALUES ('primary', 'global', 18, '2026.9.6');
`

func TestJobsAndPeopleOfADatabase(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	db := h.database("state/openclaw.sqlite", stateSchema)
	h.exec(db, "INSERT INTO cron_jobs VALUES ('j1', ?, ?, 0, 7)", fmt.Sprintf(ping, "", 0), fmt.Sprintf(`{"nextRunAtMs":%d}`, int64(later)))
	h.exec(db, "INSERT INTO cron_run_receipts VALUES ('r1', 'j1', 'interrupted', 1795819999000, 1795820000000, NULL), ('r2', 'j1', 'running', 1795830000000, NULL, NULL)")
	h.exec(db, "INSERT INTO channel_pairing_allow_entries VALUES ('telegram', 'default', '42', 0)")
	if r := h.migrate(); !r.Complete {
		t.Errorf("report %+v", r)
	}
	if row := h.job(t, "j1"); row.NextAt != later || row.LastStatus != schedule.Error || row.LastError != "interrupted" || row.LastDurationMs != 1_000 {
		t.Errorf("job %+v", row)
	}
	if p := h.person(t, "telegram", "42"); p.State != pairing.Approved {
		t.Errorf("person %+v", p)
	}
}

func (h *home) person(t *testing.T, channel, id string) pairing.Person {
	t.Helper()
	return decided(t, h, func(tx eventstore.Tx) (pairing.Person, error) { return routing.PersonOf(tx, channel, id) })
}

func TestPeopleWhoWerePaired(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("credentials/discord-default-allowFrom.json", `{"version":1,"allowFrom":["discord:111","<@!222>"]}`)
	h.write("credentials/telegram-second-allowFrom.json", `{"version":1,"allowFrom":["333"]}`)
	h.write("credentials/signal-allowFrom.json", `{"version":1,"allowFrom":["+4912"]}`)
	r := h.migrate()
	if count(r, migrate.People).New != 2 || count(r, migrate.People).Left != 2 || r.Reasons[migrate.ReasonUnsupported] != 2 {
		t.Errorf("report %+v", r)
	}
	for id, state := range map[string]pairing.State{"111": pairing.Approved, "222": pairing.Approved, "333": ""} {
		if p := h.person(t, "discord", id); p.State != state {
			t.Errorf("person %s is %q", id, p.State)
		}
	}
	revoked, err := eventstore.One(coordination.PairingStream("discord", "111"), eventstore.NewEvent{Type: coordination.TypePairingRevoked},
		coordination.Pairing{Channel: "discord", UserID: "111"}, now.UnixMilli())
	if err == nil {
		_, err = h.db.Append(t.Context(), revoked...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if h.migrate(); h.person(t, "discord", "111").State != pairing.Revoked {
		t.Error("the person was approved again")
	}
}

// Files beside a database that cannot be read are older than it: who was revoked and what was deleted does not come back.
func TestOlderFilesDoNotStandInForADatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(*home)
		reason string
		times  int64
		jobs   int64
	}{
		"busy": {func(h *home) {
			h.database(stateName, stateSchema)
			h.write(stateName+"-journal", "a transaction is under way")
		}, openclaw.ReasonBusy, 1, 0},
		"newer schema": {func(h *home) {
			h.exec(h.database(stateName, stateSchema), "UPDATE schema_meta SET schema_version = 99")
		}, openclaw.ReasonSchema, 1, 0},
		"no jobs": {func(h *home) { h.exec(h.database(stateName, stateSchema), "DROP TABLE cron_jobs") }, openclaw.ReasonSchema, 1, 0},
		"no people or runs": {func(h *home) {
			db := h.database(stateName, stateSchema)
			h.exec(db, "ALTER TABLE channel_pairing_allow_entries DROP COLUMN entry")
			h.exec(db, "DROP TABLE cron_run_receipts")
			h.exec(db, "INSERT INTO cron_jobs VALUES ('j1', ?, '{}', 0, 7)", fmt.Sprintf(ping, "", 0))
		}, openclaw.ReasonSchema, 2, 1},
		"directory": {func(h *home) { h.write(stateName+"/x", "x") }, openclaw.ReasonInvalid, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write("cron/jobs.json", `{"jobs":[{"id":"gone","name":"gone","enabled":true,"schedule":{"kind":"every","everyMs":3600000},"payload":{"kind":"agentTurn","message":"m"}}]}`)
			h.write("credentials/discord-allowFrom.json", `{"allowFrom":["111"]}`)
			c.make(h)
			r := h.migrate()
			if r.Complete || r.Reasons[c.reason] != c.times || len(r.Reasons) != 1 {
				t.Errorf("report %+v", r)
			}
			if count(r, migrate.Cron).New != c.jobs || h.job(t, "gone").Job.ID != "" || h.person(t, "discord", "111").State != "" {
				t.Errorf("older files were taken over; report %+v", r)
			}
		})
	}
}

const stateName = "state/openclaw.sqlite"
