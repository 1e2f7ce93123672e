package migrate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// A transcript that no session names is an old one; a later run adds what it got since.
func TestTranscriptsWithoutASession(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	h.transcript("t2.jsonl", header("t2"), said("b1", "user", "unnamed", 1))
	if r := h.migrate(); !r.Complete || count(r, migrate.Sessions).New != 2 {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t2", "user: unnamed")
	if s := h.session("agent:eden:archive:t2"); s != nil {
		t.Errorf("the session is open: %+v", s)
	}
	before := h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the second run has added %d events", h.head()-before)
	}
	h.transcript("t2.jsonl", header("t2"), said("b1", "user", "unnamed", 1), said("b2", "user", "more", 2))
	if h.migrate(); h.head() != before+1 {
		t.Errorf("the third run has added %d events", h.head()-before)
	}
	h.wantShown("t2", "user: unnamed", "user: more")

	other := newHome(t)
	other.transcript("t2.jsonl", header("t2"), said("b1", "user", "unnamed", 1))
	if r := other.migrate(); !r.Complete {
		t.Errorf("report without sessions.json %+v", r)
	}
	other.wantShown("t2", "user: unnamed")
}

// As long as sessions.json cannot be read, a transcript may have a session.
func TestTranscriptsOfADamagedStoreWait(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("agents/eden/sessions/sessions.json", `{"agent:eden:main"`)
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	wantReason(t, h.migrate(), openclaw.ReasonInvalid, false)
	h.store(stored(mainKey, "t1", ""))
	if r := h.migrate(); !r.Complete {
		t.Errorf("report %+v", r)
	}
	if s := h.session(mainKey); s == nil || s.ID != "t1" {
		t.Errorf("session %+v", s)
	}
}

func TestOtherFilesBesideTranscriptsAreListed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""), stored("agent:eden:x", "t2.r1", ""))
	for _, name := range []string{"t1.jsonl", "t2.r1.jsonl", "t1.trajectory.jsonl", "t9.trajectory.jsonl", "t1.jsonl.lock"} {
		h.transcript(name, header("t1"))
	}
	r := h.migrate()
	wantReason(t, r, migrate.ReasonUnsupported, false)
	if got, want := r.Left[0].Detail, `files that are not transcripts: 2 of the kind "trajectory"`; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
	h.transcript("t3.jsonl.bak-1-2", header("t3"))
	h.transcript("t4.jsonl.bak-3-4", header("t4"))
	if r := h.migrate(); r.Reasons[migrate.ReasonUnsupported] != 2 {
		t.Errorf("report %+v", r)
	}
}

// Nothing that is a link out of the directory is passed over in silence, and no older form is read in its place.
func TestLinksInPlaceOfDirectoriesAndDatabases(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"agents/eden", "agents", edenDatabase, "agents/eden/agent", "state/openclaw.sqlite", "state"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			if !slices.Contains([]string{"agents/eden", "agents"}, name) {
				h.store(stored(mainKey, "t1", ""))
				h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
			}
			link := filepath.Join(h.dir, name)
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), link); err != nil {
				t.Fatal(err)
			}
			r := h.migrate()
			if r.Complete || r.Reasons[openclaw.ReasonLinkOut]+r.Reasons[openclaw.ReasonUnreadable] == 0 {
				t.Errorf("report %+v", r)
			}
			if isState := filepath.Dir(name) == "state" || name == "state"; (len(h.shown("t1")) > 0) != isState {
				t.Errorf("transcript %q", h.shown("t1"))
			}
		})
	}
}

// What OpenClaw has not moved to an agent's database is listed.
func TestFilesBesideADatabase(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.edenDatabase()
	h.transcript("t1.jsonl", header("t1"))
	h.transcript("t7.jsonl.reset.2026-11-28T11-00-00.000Z", header("t7"))
	r := h.migrate()
	wantReason(t, r, migrate.ReasonUnsupported, false)
	if got, want := r.Left[0].Place, "agents/eden/sessions/t7.jsonl.reset.2026-11-28T11-00-00.000Z"; got != want {
		t.Errorf("place %s, want %s", got, want)
	}
	h.store(stored("agent:eden:old", "t7", ""))
	if r := h.migrate(); r.Reasons[migrate.ReasonUnsupported] != 2 {
		t.Errorf("report %+v", r)
	}
}

func TestWhatIsKeptElsewhereIsListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		file   string
		places []string
	}{
		"usual places":  {config: `{"session":{"store":"~/.openclaw/agents/{agentId}/sessions/sessions.json"},"cron":{"store":"~/.openclaw/cron/jobs.json"}}`},
		"no settings":   {config: `{"session":[],"cron":{"store":1}}`},
		"sessions":      {config: `{"session":{"store":"/data/{agentId}.json"}}`, places: []string{"openclaw.json#session.store"}},
		"jobs":          {config: `{"cron":{"store":"/data/cron/jobs.json"}}`, places: []string{"openclaw.json#cron.store"}},
		"files":         {file: "media/inbound/1.png", places: []string{"media"}},
		"other program": {file: "mediation/1.png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			if c.file != "" {
				h.write(c.file, "x")
			}
			o := h.options()
			o.Config = []byte(c.config)
			r, err := migrate.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, p := range r.Left {
				if p.Reason != migrate.ReasonUnsupported || p.Hint == "" {
					t.Errorf("problem %+v", p)
				}
				places = append(places, p.Place)
			}
			if !slices.Equal(places, c.places) {
				t.Errorf("places %q, want %q", places, c.places)
			}
		})
	}
}
