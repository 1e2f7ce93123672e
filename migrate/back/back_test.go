package back_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/back"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// source is a state directory of OpenClaw: names and contents.
var source = map[string]string{
	"openclaw.json": `{}`,
	"agents/eden/sessions/sessions.json": `{"agent:eden:main":{"sessionId":"t1","updatedAt":1795888200000,"label":"notes","thinkingLevel":"high","modelOverride":"echo-2",` +
		`"providerOverride":"fake"},"agent:eden:subagent:u":{"sessionId":"t2","updatedAt":1795888200000,"spawnedBy":"agent:eden:main","spawnDepth":1}}`,
	"agents/eden/sessions/t1.jsonl": `{"type":"session","version":3,"id":"t1","timestamp":"2026-11-28T09:59:59.000Z","cwd":"/w"}
{"type":"message","id":"a1","timestamp":"2026-11-28T10:00:01.000Z","message":{"role":"user","content":"1 < 2 & ü","timestamp":1795860001000,"provenance":{"kind":"external_user"}}}
{"type":"message","id":"a2","timestamp":"2026-11-28T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"x"}}],"api":"openai-completions","provider":"fake","model":"echo-1","usage":{"input":70,"output":20,"cacheRead":30,"totalTokens":120,"cost":{"input":0.1,"output":0.2,"total":0.3}},"stopReason":"toolUse","timestamp":1795860002000}}
{"type":"message","id":"a3","timestamp":"2026-11-28T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"no file"}],"isError":true,"timestamp":1795860003000}}
{"type":"message","id":"a3","timestamp":"2026-11-28T10:00:04.000Z","message":{"role":"user","content":"same id","timestamp":1795860004000}}
{"type":"compaction","id":"a4","timestamp":"2026-11-28T10:00:05.000Z","summary":"They compared numbers."}
`,
	"agents/eden/sessions/t2.jsonl":                                  `{"type":"session","version":3,"id":"t2","timestamp":"2026-11-28T09:59:59.000Z","cwd":"/w"}` + "\n",
	"agents/eden/sessions/t0.jsonl.deleted.2026-11-28T11-00-00.000Z": `{"type":"message","id":"z1","timestamp":"2026-11-28T09:00:01.000Z","message":{"role":"user","content":"old","timestamp":1795856401000}}` + "\n",
	"cron/jobs.json": `{"version":1,"jobs":[{"id":"j1","name":"ping","enabled":true,"createdAtMs":1795800000000,"updatedAtMs":1795800000000,` +
		`"schedule":{"kind":"every","everyMs":3600000},"sessionTarget":"main","wakeMode":"now","payload":{"kind":"systemEvent","text":"ping"},"state":{"nextRunAtMs":1795870000000}}]}`,
	"cron/runs/j1.jsonl": `{"ts":1795820000000,"jobId":"j1","action":"finished","status":"ok","summary":"pong","runAtMs":1795819999000,"durationMs":1000}` + "\n",
}

// moved is a log into which a directory was moved.
func moved(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed},
		sessions.Definition(), schedules.Definition(), routing.Definition())
	r, err := migrate.Run(t.Context(), migrate.Options{From: dir, OpenDatabase: sqlite.OpenCopy, Scratch: t.TempDir(), Log: db,
		Now: func() time.Time { return time.UnixMilli(1795860000000) }})
	if err != nil || !r.Complete {
		t.Fatalf("report %+v, %v", r, err)
	}
	return db
}

func write(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range source {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// state is what a log says of sessions, messages and jobs.
func state(t *testing.T, db *sqlite.DB) (lines []string) {
	t.Helper()
	add := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	projectiontest.Read(t, db, func(ctx context.Context, tx *sql.Tx) (struct{}, error) {
		for _, key := range []string{"agent:eden:main", "agent:eden:subagent:u", "agent:eden:archive:t0"} {
			s, err := sessions.ByKey(ctx, tx, key)
			if err != nil {
				return struct{}{}, err
			}
			if s != nil {
				s.Row, s.Seq, s.LastRole, s.LastText = 0, 0, "", ""
			}
			add(s)
		}
		for _, id := range []string{"t0", "t1", "t2"} {
			list, err := sessions.MessagesAfter(ctx, tx, id, 0, 100)
			if err != nil {
				return struct{}{}, err
			}
			for i := range list {
				if m := &list[i].Data; m.MessageID != "" && m.Author != "system" {
					add(m)
				}
			}
		}
		return struct{}{}, nil
	})
	rows := projectiontest.Dump(t, db, schedules.Definition())
	for _, row := range rows {
		if strings.Contains(row, `"job"`) {
			lines = append(lines, row[strings.Index(row, `{"job"`):])
		}
	}
	return lines
}

func TestThereAndBackIsTheSame(t *testing.T) {
	t.Parallel()
	first := moved(t, write(t))
	to := filepath.Join(t.TempDir(), "again")
	r, err := back.Write(t.Context(), back.Options{Log: first, To: to, DefaultAgent: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (back.Report{To: to, Sessions: 2, Transcripts: 3, Messages: 6, Jobs: 1, JobRuns: 1}); *r != want {
		t.Errorf("report %+v, want %+v", *r, want)
	}
	want, got := state(t, first), state(t, moved(t, to))
	if len(want) < 8 {
		t.Fatalf("state %q", want)
	}
	// The second message of one id gets another, and notes of the system are the agent's there.
	replace := func(lines []string) (list []string) {
		for _, l := range lines {
			if !strings.Contains(l, "same id") && !strings.Contains(l, "They compared numbers.") {
				list = append(list, l)
			}
		}
		return list
	}
	if diff := cmp.Diff(replace(want), replace(got)); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	dir := write(t)
	db := moved(t, dir)
	for name, o := range map[string]back.Options{
		"is not empty":   {Log: db, To: dir, DefaultAgent: "main"},
		"agent: bad":     {Log: db, To: filepath.Join(dir, "new"), DefaultAgent: "../main"},
		"not a director": {Log: db, To: filepath.Join(dir, "openclaw.json"), DefaultAgent: "main"},
	} {
		if _, err := back.Write(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMessagesWithoutTextAreCounted(t *testing.T) {
	t.Parallel()
	db := moved(t, write(t))
	m := projectiontest.Read(t, db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.MessagesAfter(ctx, tx, "t1", 0, 1)
	})
	if err := db.Redact(t.Context(), m[0].Seq); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "again")
	r, err := back.Write(t.Context(), back.Options{Log: db, To: to, DefaultAgent: "main"})
	if err != nil || r.Blank != 1 || r.Messages != 5 {
		t.Errorf("report %+v, %v", r, err)
	}
	text, err := os.ReadFile(filepath.Join(to, "agents/eden/sessions/t1.jsonl"))
	if err != nil || strings.Contains(string(text), "1 <") {
		t.Errorf("%s, %v", text, err)
	}
}

// Models of OpenClaw refuse blocks that they do not know. Pictures are written out, within a limit.
func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	db, store := moved(t, write(t)), media.Open(t.TempDir(), func() int64 { return 1 << 30 })
	png := []byte("\x89PNG\r\n\x1a\n and a picture")
	put := func(content []byte, name, mime string) attach.Stored {
		info, err := store.Put(1<<30, func(w io.Writer) error { _, err := w.Write(content); return err })
		if err != nil {
			t.Fatal(err)
		}
		return attach.Stored{Name: name, Type: mime, Size: info.Bytes, SHA256: info.SHA256}
	}
	large := append(bytes.Clone(png), make([]byte, 5_000_000)...)
	notes := put([]byte("notes"), "notes.txt", "text/plain")
	for _, found := range []attach.Result{
		{Files: []attach.Stored{put(png, "a.png", "image/png"), notes, put(large, "large.png", "image/png"), {Name: "gone.png", Type: "image/png", SHA256: strings.Repeat("0", 64)}}},
		{Files: []attach.Stored{notes}},
	} {
		m := coordination.SessionMessage{SessionKey: "agent:eden:main", SessionID: "t1", Author: "user", Text: "look" + found.Text()}
		m.Content = found.Content(m.Text)
		said, err := eventstore.One(coordination.SessionStream(coordination.MainKey("eden")), eventstore.NewEvent{Type: coordination.TypeSessionMessage}, m, 1795860009000)
		if err == nil {
			_, err = db.Append(t.Context(), said...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		files          back.Files
		pictures, left int64
	}{"with files": {store, 1, 4}, "without": {nil, 0, 5}} {
		to := filepath.Join(t.TempDir(), "again")
		r, err := back.Write(t.Context(), back.Options{Log: db, Files: c.files, To: to, DefaultAgent: "main"})
		if err != nil || r.Pictures != c.pictures || r.FilesLeft != c.left {
			t.Errorf("%s: report %+v, %v", name, r, err)
		}
		text, err := os.ReadFile(filepath.Join(to, "agents/eden/sessions/t1.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		picture := `{"type":"image","data":"` + base64.StdEncoding.EncodeToString(png) + `","mimeType":"image/png"}`
		if strings.Contains(string(text), `"type":"file"`) || strings.Count(string(text), picture) != int(c.pictures) || !strings.Contains(string(text), "[attachment: notes.txt") {
			t.Errorf("%s: transcript %.2000s", name, text)
		}
	}
}
