package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestDamageIsListedAndTheRestTaken(t *testing.T) {
	t.Parallel()
	const file = "agents/eden/sessions/t1.jsonl"
	for name, c := range map[string]struct {
		lines    []string // after the header and before the last one
		last     string
		reason   string
		place    string
		complete bool
	}{
		"torn last line":    {last: `{"type":"message","id":"x","mess`, reason: openclaw.ReasonTorn, place: file + ":3", complete: true},
		"line that is text": {lines: []string{"hello\n"}, reason: openclaw.ReasonInvalid, place: file + ":2"},
		"half a line":       {lines: []string{`{"type":"message","id"` + "\n"}, reason: openclaw.ReasonInvalid, place: file + ":2"},
		"line too deep": {lines: []string{`{"type":"message","id":"d","message":{"role":"user","content":[{"type":"x","a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}]}}\n"},
			reason: migrate.ReasonInvalidEntry, place: file + ":2"},
		"clock of 1970": {lines: []string{`{"type":"message","id":"o","timestamp":"1970-01-01T00:00:05.000Z","message":{"role":"system","content":"","timestamp":5000}}` + "\n"},
			reason: migrate.ReasonClock, place: file, complete: true},
		"clock of 9999": {lines: []string{`{"type":"custom_message","id":"o","timestamp":"9999-01-01T00:00:05.000Z"}` + "\n"}, reason: migrate.ReasonClock, place: file, complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.store(stored(mainKey, "t1", ""))
			h.transcript("t1.jsonl", header("t1"), strings.Join(c.lines, ""), said("a1", "user", "first", 1), c.last)
			r := h.migrate()
			wantReason(t, r, c.reason, c.complete)
			if len(r.Left) > 0 && r.Left[0].Place != c.place {
				t.Errorf("place %s, want %s", r.Left[0].Place, c.place)
			}
			if got := h.shown("t1"); len(got) == 0 || got[len(got)-1] != "user: first" {
				t.Errorf("transcript %q", got)
			}
			if s := h.session(mainKey); s.UpdatedAt < 1795859999000 || s.UpdatedAt > 1795888200000 {
				t.Errorf("updated at %d", s.UpdatedAt)
			}
		})
	}
}

// A clock that was set back, or far ahead, changes no order: messages are as they were written, each with its own time.
func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "at ten", 0), said("a2", "assistant", "a day later", 86_400), said("a3", "user", "at ten again", 1))
	if r := h.migrate(); !r.Complete || len(r.Left) > 0 {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1", "user: at ten", "assistant: a day later", "user: at ten again")
	before := h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the second run has added %d events", h.head()-before)
	}
}

// A line of 200 MB costs no memory, and is left.
func TestLongLinesAreLeft(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	f, err := os.OpenFile(filepath.Join(h.dir, "agents/eden/sessions/t1.jsonl"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(200<<20, io.SeekEnd); err != nil { // a hole: it takes no room on the disk
		t.Fatal(err)
	}
	_, err = f.WriteString("\n" + said("a2", "user", "second", 2))
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := migrate.Run(t.Context(), h.options())
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, r, openclaw.ReasonTooLong, false)
	h.wantShown("t1", "user: first", "user: second")
}

func TestStoresThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, reason, place string }{
		"cut":           {`{"agent:eden:main":{"sessionId":"t1"},"agent:e`, openclaw.ReasonInvalid, "agents/eden/sessions/sessions.json"},
		"a list":        {`[]`, openclaw.ReasonInvalid, "agents/eden/sessions/sessions.json"},
		"no id":         {`{"agent:eden:main":{"sessionId":"t1"},"agent:eden:x":{}}`, openclaw.ReasonInvalid, "agents/eden/sessions/sessions.json#agent:eden:x"},
		"bad key":       {`{"agent:eden:main":{"sessionId":"t1"},"agent::x":{"sessionId":"t9"}}`, openclaw.ReasonInvalidKey, "agents/eden/sessions/sessions.json#agent::x"},
		"no transcript": {`{"agent:eden:main":{"sessionId":"t1"},"agent:eden:x":{"sessionId":"t9"}}`, openclaw.ReasonNoTranscript, "agents/eden/sessions/sessions.json#agent:eden:x"},
		"same id":       {`{"agent:eden:main":{"sessionId":"t1"},"agent:eden:x":{"sessionId":"t1"}}`, migrate.ReasonIDInUse, "agents/eden/sessions/t1.jsonl"},
		"odd setting": {`{"agent:eden:main":{"sessionId":"t1","thinkingLevel":"cosmic","verboseLevel":"on"}}`, migrate.ReasonSetting,
			"agents/eden/sessions/sessions.json#agent:eden:main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.write("agents/eden/sessions/sessions.json", c.text)
			h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
			r := h.migrate()
			wantReason(t, r, c.reason, false)
			if len(r.Left) > 0 && r.Left[0].Place != c.place {
				t.Errorf("place %s, want %s", r.Left[0].Place, c.place)
			}
			if name != "a list" {
				h.wantShown("t1", "user: first")
			}
		})
	}
}

func TestLinksOutAreRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	secret := filepath.Join(t.TempDir(), "secret.jsonl")
	if err := os.WriteFile(secret, []byte(header("t1")+said("a1", "user", "secret", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	h.store(stored(mainKey, "t1", ""), stored("agent:eden:n", "t2", `,"sessionFile":"../../../../../../secret.jsonl"`))
	if err := os.Symlink(secret, filepath.Join(h.dir, "agents/eden/sessions/t1.jsonl")); err != nil {
		t.Fatal(err)
	}
	r := h.migrate()
	if r.Reasons[openclaw.ReasonLinkOut] != 1 || r.Reasons[openclaw.ReasonNoTranscript] != 1 || r.Complete {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1")
	h.wantShown("t2")
}

// The same id with other words is another message; the same id with the same words is the same one.
func TestEntriesWithOneID(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1), said("a1", "user", "second", 1), said("a1", "user", "first", 1),
		`{"message":{"role":"user","content":"no id","timestamp":1795860003000}}`+"\n", `{"message":{"role":"user","content":"no id","timestamp":1795860003000}}`+"\n")
	h.migrate()
	h.wantShown("t1", "user: first", "user: second", "user: no id", "user: no id")
}

func TestAgentsThatAreGone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("agents/olaf/sessions/sessions.json", `{"agent:olaf:main":{"sessionId":"o1"},"agent:olaf:x":{"sessionId":"o2"}}`)
	h.write("agents/olaf/sessions/o1.jsonl", header("o1")+said("a1", "user", "hello", 1))
	h.write("agents/olaf/sessions/o2.jsonl", header("o2"))
	wantReason(t, h.migrate(), migrate.ReasonAgentGone, true)
	h.wantShown("o1", "user: hello")
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	o := h.options()
	o.Only = []string{"everything"}
	if _, err := migrate.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `unknown part "everything"`) {
		t.Errorf("part: %v", err)
	}
	o = h.options()
	o.From = t.TempDir()
	if _, err := migrate.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no state of OpenClaw") {
		t.Errorf("empty directory: %v", err)
	}
	o.From += "/missing"
	if _, err := migrate.Run(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

// Texts that an agent is given stay as they were, whatever they look like.
func TestOtherStampsStay(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "[Discord eden 2026-11-28 10:00] hi", 1), said("a2", "assistant", "[Sat 2026-11-28 10:00 UTC] hi", 2))
	h.migrate()
	h.wantShown("t1", "user: [Discord eden 2026-11-28 10:00] hi", "assistant: [Sat 2026-11-28 10:00 UTC] hi")
}

// What was redacted here does not come back.
func TestRedactedMessagesStayRedacted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "secret", 1))
	h.migrate()
	m := projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.Newest(ctx, tx, "t1", 1, 1<<20)
	})
	if err := h.db.Redact(t.Context(), m[0].Seq); err != nil {
		t.Fatal(err)
	}
	before := h.head()
	r := h.migrate()
	if h.head() != before || count(r, migrate.Messages).Already != 1 {
		t.Errorf("%d new events; report %+v", h.head()-before, r)
	}
	h.wantShown("t1", ": ")
}

// Messages before the first time that can be have that of their session, which changes. They are still the same messages.
func TestMessagesWithoutATimeAreTakenOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.transcript("t1.jsonl", `{"type":"message","id":"a1","message":{"role":"user","content":"no time"}}`+"\n",
		`{"type":"message","id":"a2","timestamp":"1970-01-01T00:00:05.000Z","message":{"role":"user","content":"of 1970"}}`+"\n",
		said("a3", "user", "third", 3), `{"type":"message","id":"a4","message":{"role":"user","content":"fourth"}}`+"\n")
	for i, updated := range []int{1795888200000, 1795888300000} {
		h.write("agents/eden/sessions/sessions.json", fmt.Sprintf(`{"agent:eden:main":{"sessionId":"t1","updatedAt":%d}}`, updated))
		r := h.migrate()
		h.wantShown("t1", "user: no time", "user: of 1970", "user: third", "user: fourth")
		if already := int64(4 * i); count(r, migrate.Messages).Already != already {
			t.Errorf("run %d: report %+v", i, r)
		}
	}
	m := projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.Newest(ctx, tx, "t1", 4, 1<<20)
	})
	if m[0].At != 1795888200000 || m[3].At != m[2].At {
		t.Errorf("messages at %d, %d and %d", m[0].At, m[2].At, m[3].At)
	}
}
