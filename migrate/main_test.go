package migrate_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// home is a state directory of OpenClaw, and a log to move into.
type home struct {
	t   testing.TB
	dir string
	db  *sqlite.DB
}

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), schedules.Definition(), routing.Definition()}
}

func newHome(t testing.TB) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	h.db, _ = projectiontest.New(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed}, definitions()...)
	h.write("openclaw.json", `{"agents":{"list":[{"id":"eden"}]}}`)
	return h
}

func (h *home) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// store writes sessions.json of agent eden: a member for each key.
func (h *home) store(entries ...string) {
	h.t.Helper()
	h.write("agents/eden/sessions/sessions.json", "{"+strings.Join(entries, ",")+"}")
}

// stored is a member of sessions.json. more begins with a comma.
func stored(key, id, more string) string {
	return fmt.Sprintf(`%q:{"sessionId":%q,"updatedAt":1795888200000%s}`, key, id, more)
}

// said is a line of a transcript.
func said(id, role, text string, second int) string {
	at := time.Date(2026, 11, 28, 10, 0, second, 0, time.UTC)
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":%q,"message":{"role":%q,"content":[{"type":"text","text":%q}],"timestamp":%d}}`+"\n",
		id, at.Format(time.RFC3339Nano), role, text, at.UnixMilli())
}

// header is the first line of a transcript.
func header(id string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-11-28T09:59:59.000Z","cwd":"/w"}`+"\n", id)
}

// transcript writes a transcript of agent eden.
func (h *home) transcript(name string, lines ...string) {
	h.t.Helper()
	h.write("agents/eden/sessions/"+name, strings.Join(lines, ""))
}

func (h *home) options() migrate.Options {
	return migrate.Options{From: h.dir, OpenDatabase: sqlite.OpenCopy, Scratch: h.t.TempDir(), Log: h.db, Now: func() time.Time { return now },
		HasAgent: func(id string) bool { return id == "eden" }, NewImporter: func(progress func(ndjson.Progress)) *ndjson.Importer {
			return ndjson.New(ndjson.Options{Log: h.db, Progress: progress, Stream: func(string, string, []byte, []byte) string { return coordination.LogStream },
				Reject: func(string, int64, ndjson.Rejection) (string, json.RawMessage) {
					return coordination.TypeImportRejected, json.RawMessage("{}")
				}})
		}}
}

// migrate moves in, and checks that the source is as before.
func (h *home) migrate() *migrate.Report {
	h.t.Helper()
	before := h.hash()
	report, err := migrate.Run(h.t.Context(), h.options())
	if err != nil {
		h.t.Fatal(err)
	}
	if h.hash() != before {
		h.t.Fatal("the source was changed")
	}
	return report
}

// hash is that of names, sizes and contents of the source.
func (h *home) hash() (sum [sha256.Size]byte) {
	h.t.Helper()
	all := sha256.New()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintln(all, path, len(text), sha256.Sum256(text))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	all.Sum(sum[:0])
	return sum
}

// shown lists the messages of a transcript: author and text.
func (h *home) shown(id string) (list []string) {
	h.t.Helper()
	for _, m := range projectiontest.Read(h.t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.Newest(ctx, tx, id, 1_000, 1<<20)
	}) {
		list = append(list, m.Data.Author+": "+m.Data.Text)
	}
	return list
}

// session returns a session here, or nil.
func (h *home) session(key string) *sessions.Session {
	h.t.Helper()
	return projectiontest.Read(h.t, h.db, func(ctx context.Context, tx *sql.Tx) (*sessions.Session, error) { return sessions.ByKey(ctx, tx, key) })
}

func (h *home) wantShown(id string, want ...string) {
	h.t.Helper()
	if got := h.shown(id); !slices.Equal(got, want) {
		h.t.Errorf("transcript %s has\n%q, want\n%q", id, got, want)
	}
}

// head is the number of events.
func (h *home) head() int64 {
	h.t.Helper()
	head, err := h.db.Head(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return head.Seq
}

func wantReason(t *testing.T, r *migrate.Report, reason string, complete bool) {
	t.Helper()
	if r.Reasons[reason] != 1 || r.Complete != complete || len(r.Left) == 0 {
		text, _ := json.Marshal(r)
		t.Errorf("want one %s and complete %v, got %s", reason, complete, text)
	}
}

func count(r *migrate.Report, part string) migrate.Count {
	for _, c := range r.Counts {
		if c.Part == part {
			return *c
		}
	}
	return migrate.Count{}
}

var mainKey = coordination.MainKey("eden").String()

func (h *home) remove(name string) {
	h.t.Helper()
	if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
		h.t.Fatal(err)
	}
}
