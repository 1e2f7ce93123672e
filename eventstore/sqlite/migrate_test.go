package sqlite_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/migrations"
)

var update = flag.Bool("update", false, "write the golden files")

const schemaGolden = "testdata/schema.golden.sql"

func TestSchemaIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	got := schema(t, fillNew(t, 0))
	if *update {
		if err := os.WriteFile(schemaGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the schema differs from %s; if that is meant, go test -run Golden -update (-want +got):\n%s", schemaGolden, diff)
	}
}

func TestEveryMigrationCanBeTakenBack(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 5)
	newest := migrated(t, path)
	want := schema(t, path)
	for version := newest - 1; version >= 0; version -= testscale.Of[int64](8, 1) {
		migrate(t, path, func(p *goose.Provider) error { _, err := p.DownTo(t.Context(), version); return err })
		migrate(t, path, func(p *goose.Provider) error { _, err := p.UpTo(t.Context(), newest); return err })
		if diff := cmp.Diff(want, schema(t, path)); diff != "" {
			t.Errorf("schema after going down to %d and up again (-want +got):\n%s", version, diff)
		}
	}
	migrate(t, path, func(p *goose.Provider) error { _, err := p.DownTo(t.Context(), 0); return err })
	if left := schema(t, path); left != "" {
		t.Errorf("going all the way down leaves:\n%s", left)
	}
}

// Operators read the file with other programs, without our functions and settings.
func TestOtherProcessReadsEveryView(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 20)
	db := open(t, sqlite.Options{Path: path, Now: atEpoch})
	project(t, db)
	for typ, data := range map[string]map[string]any{
		"task.blocked":              {"workSessionId": "ws_1", "taskId": "t1", "reason": "열쇠 없음"},
		"a2a.complete":              {"workSessionId": "ws_1", "conversationId": "c1", "fromAgent": "ruda", "toAgent": "main", "outcome": "blocked", "error": "boom"},
		"work_session.category_set": {"workSessionId": "ws_1", "category": "infra_ops", "updatedBy": "ops", "updatedAt": "2026-02-20T12:00:00.000Z"},
		"session.message":           {"sessionKey": "agent:eden:main", "author": "user", "text": "안녕"},
		"import.rejected":           {"file": "a.ndjson", "line": 7, "reason": "not JSON", "text": "{", "bytes": 1},
	} {
		mustAppend(t, db, to("log", eventstore.NewEvent{Type: typ, Data: object(data)}.WithTS(epoch+1_000)))
	}
	run := map[string]any{"runId": "r1", "sessionKey": "agent:eden:main", "lane": "main", "message": "안녕"}
	mustAppend(t, db, to("run/r1", eventstore.NewEvent{Type: "run.queued", AgentID: "eden", Data: object(run)}.WithTS(epoch+1_000)))
	started := map[string]any{"taskId": "task_ab", "description": "안녕", "progress": "Task started",
		"steps": []map[string]any{{"id": "s1", "content": "첫 단계", "status": "pending", "order": 1}}}
	mustAppend(t, db, to("task/task_ab", eventstore.NewEvent{Type: "task.started", AgentID: "eden", Data: object(started)}.WithTS(epoch+1_000)))
	delegated := map[string]any{"taskId": "task_ab", "delegationId": "d1", "fromAgent": "eden", "toAgent": "ruda"}
	mustAppend(t, db, to("task/task_ab", eventstore.NewEvent{Type: "delegation.spawned", AgentID: "eden", Data: object(delegated)}.WithTS(epoch+1_000)))
	written := map[string]any{"path": "workspace-eden/tasks/task_ab.md", "sha256": "0"}
	mustAppend(t, db, to("file/workspace-eden/tasks/task_ab.md", eventstore.NewEvent{Type: "file.written", Data: object(written)}.WithTS(epoch+1_000)))
	job := map[string]any{"job": map[string]any{"id": "j1", "name": "보고", "agentId": "eden", "enabled": true, "schedule": map[string]any{"kind": "every", "everyMs": 60_000},
		"sessionTarget": "isolated", "payload": map[string]any{"kind": "agentTurn", "message": "안녕"}}, "nextAtMs": epoch}
	mustAppend(t, db, to("cron/j1", eventstore.NewEvent{Type: "cron.job.added", AgentID: "eden", Data: object(job)}.WithTS(epoch+1_000)))
	due := map[string]any{"jobId": "j1", "runId": "cron:j1:1", "dueAtMs": epoch, "atMs": epoch, "nextAtMs": epoch + 60_000}
	mustAppend(t, db, to("cron/j1", eventstore.NewEvent{Type: "cron.run.due", AgentID: "eden", Data: object(due)}.WithTS(epoch+1_000)))
	prompted := map[string]any{"taskId": "task_ab", "reason": "idle", "runId": "r1"}
	mustAppend(t, db, to("agent/eden", eventstore.NewEvent{Type: "continuation.sent", AgentID: "eden", Data: object(prompted)}.WithTS(epoch+1_000)))
	planned := map[string]any{"planId": "p1", "agentId": "eden", "taskId": "task_ab", "title": "지붕", "steps": []string{"첫 단계"}, "stepsCount": 1}
	mustAppend(t, db, to("plan/p1", eventstore.NewEvent{Type: "plan.submitted", AgentID: "eden", Data: object(planned)}.WithTS(epoch+1_000)))
	for kind, payload := range map[string]string{"send": "question", "spawn": ""} {
		job := map[string]any{"jobId": kind, "kind": kind, "fromAgent": "ruda", "toAgent": "main", "phase": "waiting", "message": "안녕",
			"payloadType": payload, "payloadSubject": "q1"}
		mustAppend(t, db, to("job/"+kind, eventstore.NewEvent{Type: "a2a.job.created", AgentID: "ruda", Data: object(job)}.WithTS(epoch+1_000)))
		sent := map[string]any{"jobId": kind, "fromAgent": "ruda", "toAgent": "main", "message": "안녕", "payloadType": payload}
		mustAppend(t, db, to("conversation/c1", eventstore.NewEvent{Type: "a2a.send", AgentID: "ruda", Data: object(sent)}.WithTS(epoch+1_000)))
	}
	const message, seen, thread = "1100000000000000001", "1100000000000000002", "1100000000000000003"
	for _, e := range []struct {
		stream, typ string
		data        map[string]any
	}{
		{"discord/" + message, "discord.inbound.handled", map[string]any{"messageId": message, "channelId": thread, "authorId": "7", "decision": "handler",
			"reason": "mentioned", "text": "안녕"}},
		{"discord/" + seen, "discord.inbound.observed", map[string]any{"messageId": seen, "channelId": thread, "authorId": "7", "decision": "observer",
			"reason": "other_mentioned", "summary": "안녕"}},
		{"collab/q1", "a2a.collaborate.requested", map[string]any{"collabId": "q1", "key": "k", "content": "h", "base": epoch, "fromAgent": "eden", "toAgent": "ruda",
			"mode": "new_thread", "message": "안녕"}},
		{"work/e1", "thread.created", map[string]any{"threadId": thread, "channelId": "5", "effectId": "e1", "collabId": "q1", "kind": "collab", "reuseKey": "eden:ruda"}},
		{"work/e1", "discord.sent", map[string]any{"effectId": "e1", "channelId": "5", "threadId": thread, "messageId": "1100000000000000004", "purpose": "request"}},
		{"collab/q1", "a2a.collaborate.sent", map[string]any{"collabId": "q1", "fromAgent": "eden", "toAgent": "ruda", "threadId": thread, "reuseKey": "eden:ruda",
			"messageIds": []string{"1100000000000000004"}, "sentAt": epoch, "tracked": true}},
		{"call_approval/call_1", "tool.approval_requested", map[string]any{"approvalId": "call_1", "agentId": "eden", "tool": "exec", "callHash": "h",
			"requestedAtMs": epoch, "expiresAtMs": epoch + 60_000}},
		{"thread/" + thread, "thread.participant.registered", map[string]any{"threadId": thread, "agentId": "eden", "reason": "collaborate"}},
	} {
		mustAppend(t, db, to(e.stream, eventstore.NewEvent{Type: e.typ, AgentID: "eden", Data: object(e.data)}.WithTS(epoch+1_000)))
	}
	closeLog(t, db)
	views := column(t, path, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
	if len(views) == 0 {
		t.Fatal("the file has no view")
	}
	for _, view := range views {
		out := elsewhere(t, path, "SELECT count(*), 'rows' FROM (SELECT * FROM "+view+")")
		if strings.HasPrefix(out, "0|") {
			t.Errorf("%s has no row", view)
		}
	}
	for _, table := range column(t, path, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
		elsewhere(t, path, "SELECT * FROM "+table+" LIMIT 1")
	}
	if got := elsewhere(t, path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity_check of another process: %s", got)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 3)
	known := migrated(t, path)
	alter(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	for name, opts := range map[string]sqlite.Options{
		"to write":           {Path: path},
		"to read":            {Path: path, ReadOnly: true},
		"without migrations": {Path: path, NoMigrate: true},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqlite.Open(t.Context(), opts)
			if err == nil {
				closeLog(t, db)
			}
			refusal := wantAs[*eventstore.SchemaError](t, err)
			if refusal.Found != 999 || refusal.Known != known || refusal.Hint() == "" {
				t.Errorf("refused with %+v, hint %q", refusal, refusal.Hint())
			}
		})
	}
}

func TestOlderSchemaIsRefusedWhereItMayNotBeMigrated(t *testing.T) {
	t.Parallel()
	path := fillNew(t, 3)
	known := migrated(t, path)
	downTo(t, path, 1)
	for name, opts := range map[string]sqlite.Options{
		"to read":            {Path: path, ReadOnly: true},
		"without migrations": {Path: path, NoMigrate: true},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqlite.Open(t.Context(), opts)
			if err == nil {
				closeLog(t, db)
			}
			if refusal := wantAs[*eventstore.SchemaError](t, err); refusal.Found != 1 || refusal.Known != known || refusal.Hint() == "" {
				t.Errorf("refused with %+v, hint %q", refusal, refusal.Hint())
			}
		})
	}
	verify(t, open(t, sqlite.Options{Path: path, ReadOnly: true, OlderSchema: true}), 3) // what later versions added is not missing
	if backups := backupsOf(t, path); len(backups) > 0 {
		t.Errorf("a refusal left %v", backups)
	}
}

func TestMigrationBacksUpFirst(t *testing.T) {
	t.Parallel()
	const events = 30
	path := fillNew(t, events)
	downTo(t, path, 1)
	// The name is taken, as by an attempt in the same second.
	taken := path + ".backup-v1-" + atEpoch().UTC().Format("20060102T150405Z")
	if err := os.WriteFile(taken, []byte("taken"), 0o600); err != nil {
		t.Fatal(err)
	}
	verify(t, open(t, sqlite.Options{Path: path, Now: atEpoch}), events)

	if kept, err := os.ReadFile(taken); err != nil || string(kept) != "taken" {
		t.Errorf("the file that was there holds %q now, %v", kept, err)
	}
	backup := taken + "-2"
	if diff := cmp.Diff([]string{taken, backup}, backupsOf(t, path)); diff != "" {
		t.Fatalf("backups (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("backup has mode %v, %v; want 0600", info.Mode(), err)
	}
	if got := migrated(t, backup); got != 1 {
		t.Errorf("the backup has schema %d, want that of before", got)
	}
	verify(t, open(t, sqlite.Options{Path: backup, Now: atEpoch}), events)
}

func TestFreshFileNeedsNoBackup(t *testing.T) {
	t.Parallel()
	if backups := backupsOf(t, fillNew(t, 0)); len(backups) > 0 {
		t.Errorf("a new log has backups: %v", backups)
	}
}

func TestMigrationsAreListed(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	list, err := db.Migrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		if m.Version != int64(i+1) || m.Name == "" || !m.Applied {
			t.Errorf("migration %d is %+v", i+1, m)
		}
	}
	if newest := migrated(t, db.Path()); int64(len(list)) != newest {
		t.Errorf("%d migrations are listed of %d", len(list), newest)
	}
}

func TestBackupIsTheLogAtOneMoment(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	project(t, db)
	for i := range 20 {
		mustAppend(t, db, send(i))
	}
	target := filepath.Join(t.TempDir(), "사본 1.db")
	if err := db.Backup(t.Context(), target); err != nil {
		t.Fatalf("backup: %v", err)
	}
	mustAppend(t, db, send(20))
	verify(t, open(t, sqlite.Options{Path: target, ReadOnly: true}), 20)
	if err := db.Backup(t.Context(), target); !errors.Is(err, os.ErrExist) {
		t.Errorf("backup over a file: %v, want %v", err, os.ErrExist)
	}
	verify(t, db, 21)
}

// schema is the DDL of everything in a closed file but what goose keeps for itself.
func schema(t testing.TB, path string) string {
	t.Helper()
	ddl := column(t, path, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'
 ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'trigger' THEN 3 ELSE 4 END, tbl_name, name`)
	if len(ddl) == 0 {
		return ""
	}
	return strings.Join(ddl, ";\n\n") + ";\n"
}

func column(t testing.TB, path, query string) (texts []string) {
	t.Helper()
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

// migrated is the schema version of a closed file.
func migrated(t testing.TB, path string) (version int64) {
	t.Helper()
	migrate(t, path, func(p *goose.Provider) (err error) { version, err = p.GetDBVersion(t.Context()); return err })
	return version
}

func downTo(t testing.TB, path string, version int64) {
	t.Helper()
	migrate(t, path, func(p *goose.Provider) error { _, err := p.DownTo(t.Context(), version); return err })
}

func migrate(t testing.TB, path string, run func(*goose.Provider) error) {
	t.Helper()
	if err := withGoose(path, run); err != nil {
		t.Fatalf("migrate: %v", err)
	}
}

func withGoose(path string, run func(*goose.Provider) error) (err error) {
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		return err
	}
	defer func(db *sql.DB) { err = errors.Join(err, db.Close()) }(db)
	p, err := goose.NewProvider(database.DialectSQLite3, db, migrations.Files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	return run(p)
}

func backupsOf(t testing.TB, path string) []string {
	t.Helper()
	list, err := filepath.Glob(path + ".backup-*")
	if err != nil {
		t.Fatal(err)
	}
	return list
}
