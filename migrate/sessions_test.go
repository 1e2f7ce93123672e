package migrate_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/migrate"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

func TestSessionsKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", `,"label":"the notes","thinkingLevel":"high","modelOverride":"echo-2","providerOverride":"fake"`),
		stored("agent:eden:subagent:u1", "t2", `,"spawnedBy":"agent:eden:main","spawnDepth":1`))
	h.transcript("t1.jsonl", header("t1"),
		`{"type":"model_change","id":"m1","timestamp":"2026-11-28T10:00:00.000Z","provider":"fake","modelId":"echo-1"}`+"\n",
		said("a1", "user", "[Sat 2026-11-28 10:00 UTC] hello", 1),
		`{"type":"message","id":"a2","timestamp":"2026-11-28T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},`+
			`{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"x"}}],"api":"openai-completions","provider":"fake","model":"echo-1",`+
			`"usage":{"input":100,"output":20,"cacheRead":5,"totalTokens":125},"stopReason":"toolUse","timestamp":1795860002000}}`+"\n",
		`{"type":"message","id":"a3","timestamp":"2026-11-28T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"read",`+
			`"content":[{"type":"text","text":"no file"}],"isError":true,"timestamp":1795860003000}}`+"\n",
		`{"type":"compaction","id":"a4","timestamp":"2026-11-28T10:00:04.000Z","summary":"They said hello."}`+"\n",
		said("a5", "assistant", "done", 5))
	h.transcript("t2.jsonl", header("t2"), said("b1", "user", "count", 1))
	r := h.migrate()
	if !r.Complete || count(r, migrate.Sessions).New != 2 || count(r, migrate.Messages).New != 6 {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1", "user: hello", "assistant: ", "tool: no file", "system: Compaction: They said hello.", "assistant: done")
	s := h.session(mainKey)
	if s.ID != "t1" || s.Label != "the notes" || s.Settings.Text("thinkingLevel") != "high" || s.Settings.Text("model") != "fake/echo-2" {
		t.Errorf("session %+v", s)
	}
	if s.InputTokens != 105 || s.OutputTokens != 20 || s.CreatedAt != 1795859999000 {
		t.Errorf("session %+v", s)
	}
	if sub := h.session("agent:eden:subagent:u1"); sub == nil || sub.Spawner != mainKey {
		t.Errorf("sub-agent %+v", sub)
	}
	m := projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Message, error) {
		return sessions.Newest(ctx, tx, "t1", 4, 1<<20)
	})
	if m[0].ID() != "a2" || m[0].At != 1795860002000 || m[0].Data.StopReason != "toolUse" || len(m[0].Data.Content) == 0 || m[1].Data.ToolCallID != "c1" || !m[1].Data.IsError {
		t.Errorf("messages %+v", m)
	}
}

// Usage is in the messages, so it is taken over once; what came since is added.
func TestUsageIsTakenOverOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	answer := func(id string, second int, usage string) string {
		text := strings.Replace(said(id, "assistant", "so", second), `"role"`, `"provider":"fake","model":"m","stopReason":"stop","usage":`+usage+`,"role"`, 1)
		return text
	}
	const priced = `{"input":10,"output":20,"cacheRead":30,"cacheWrite":40,"totalTokens":100,"cost":{"input":0.00001,"output":0.00004,"cacheRead":0.000003,"cacheWrite":0.00005,"total":0.000103}}`
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t0.jsonl.reset.2026-11-28T11-00-00.000Z", header("t0"), answer("z1", 1, priced))
	lines := []string{header("t1"), said("a1", "user", "hello", 1), answer("a2", 2, priced), answer("a3", 3, `{"input":1,"output":2}`), answer("a4", 4, `"none"`),
		answer("a5", 5, `{"input":-1,"output":1e300,"totalTokens":"x","cost":{"total":-1}}`)}
	h.transcript("t1.jsonl", lines...)
	used := func() map[string]sessions.Usage {
		all := map[string]sessions.Usage{}
		for _, u := range projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Usage, error) {
			return sessions.UsageIn(ctx, tx, sessions.UsageQuery{To: now.UnixMilli() * 2})
		}) {
			u.First, u.Last, u.Quarter = 0, 0, 0
			all[u.SessionKey] = u
		}
		return all
	}
	old := sessions.Usage{SessionKey: "agent:eden:archive:t0", Provider: "fake", Model: "m", Agent: "eden", Answers: 1, Questions: 1, Input: 80, Output: 20, Total: 100,
		CacheRead: 30, CacheWrite: 40, Cost: sessions.Cost{Input: 10_000, Output: 40_000, CacheRead: 3_000, CacheWrite: 50_000, Total: 103_000}}
	current := old
	current.SessionKey, current.Answers, current.Questions, current.Unpriced = mainKey, 3, 3, 2
	current.Input, current.Output, current.Total = 81, 22, 103
	want := map[string]sessions.Usage{old.SessionKey: old, mainKey: current}
	for range 2 {
		h.migrate()
		if diff := cmp.Diff(want, used()); diff != "" {
			t.Fatal(diff)
		}
	}
	h.transcript("t1.jsonl", append(lines, answer("a6", 6, `{"output":5,"total":7}`))...)
	h.migrate()
	current.Answers, current.Questions, current.Unpriced, current.Output, current.Total = 4, 4, 3, 27, 110
	want[mainKey] = current
	if diff := cmp.Diff(want, used()); diff != "" {
		t.Fatal(diff)
	}
}

func TestTwiceAddsNothingAndLaterWhatCameSince(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", `,"label":"one"`))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	h.migrate()
	before := h.head()
	if r := h.migrate(); h.head() != before || count(r, migrate.Messages).Already != 1 || count(r, migrate.Settings).Already != 1 {
		t.Errorf("the second run has added %d events; report %+v", h.head()-before, r)
	}
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1), said("a2", "assistant", "second", 2))
	h.migrate()
	h.wantShown("t1", "user: first", "assistant: second")

	// A reset in OpenClaw archives the transcript, under a name without the session's key.
	h.transcript("t1.jsonl.reset.2026-11-28T11-00-00.000Z", header("t1"), said("a1", "user", "first", 1), said("a2", "assistant", "second", 2), said("a3", "user", "third", 3))
	h.remove("agents/eden/sessions/t1.jsonl")
	h.store(stored(mainKey, "t2", `,"label":"two"`))
	h.transcript("t2.jsonl", header("t2"), said("c1", "user", "again", 9))
	if r := h.migrate(); !r.Complete {
		t.Errorf("report %+v", r)
	}
	h.wantShown("t1", "user: first", "assistant: second", "user: third")
	h.wantShown("t2", "user: again")
	if s := h.session(mainKey); s.ID != "t2" || s.Label != "two" {
		t.Errorf("session %+v", s)
	}
	before = h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the last run has added %d events", h.head()-before)
	}
}

func TestArchivesAreOldTranscripts(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t2", ""))
	h.transcript("t2.jsonl", header("t2"))
	h.transcript("t0.jsonl.deleted.2026-11-28T11-00-00.000Z", header("t0"), said("z", "user", "old", 1))
	h.migrate()
	list := projectiontest.Read(t, h.db, func(ctx context.Context, tx *sql.Tx) ([]sessions.Transcript, error) {
		return sessions.Transcripts(ctx, tx, "agent:eden:archive:t0")
	})
	if len(list) != 1 || list[0].ID != "t0" || list[0].Closed != "deleted" || h.session("agent:eden:archive:t0") != nil {
		t.Errorf("transcripts %+v", list)
	}
	h.wantShown("t0", "user: old")
	before := h.head()
	if h.migrate(); h.head() != before {
		t.Errorf("the second run has added %d events", h.head()-before)
	}
}

// A session of ours is not touched, and one that went on here is not reset.
func TestSessionsOfOursStay(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.begin(t, mainKey, "ours")
	h.store(stored(mainKey, "t1", `,"label":"theirs"`), stored("agent:eden:other", "t3", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	h.transcript("t3.jsonl", header("t3"), said("a1", "user", "first", 1))
	r := h.migrate()
	wantReason(t, r, migrate.ReasonSessionHere, false)
	if s := h.session(mainKey); s.ID != "ours" || s.Label != "" || s.Messages != 0 {
		t.Errorf("session %+v", s)
	}
	h.reset(t, "agent:eden:other", "t3", "mine")
	h.store(stored("agent:eden:other", "t4", ""))
	h.transcript("t3.jsonl.reset.2026-11-28T11-00-00.000Z", header("t3"), said("a1", "user", "first", 1), said("a2", "user", "late", 2))
	h.transcript("t4.jsonl", header("t4"), said("a1", "user", "second", 1))
	wantReason(t, h.migrate(), migrate.ReasonSessionHere, false)
	if s := h.session("agent:eden:other"); s.ID != "mine" {
		t.Errorf("session %+v", s)
	}
	h.wantShown("t3", "user: first", "user: late")
}

// A run that ends anywhere is completed by the next.
func TestInterruptedRunsAreCompleted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	lines := []string{header("t1")}
	for i := range 5_000 {
		lines = append(lines, said("a"+string(rune('a'+i%26))+string(rune('0'+i/26%10)), "user", "same words", i/60))
	}
	h.transcript("t1.jsonl", lines...)
	h.store(stored(mainKey, "t1", ""))
	ctx, cancel := context.WithCancel(t.Context())
	o := h.options()
	o.Progress = func(done, total int64) {
		if done > total*84/100 {
			cancel()
		}
	}
	if _, err := migrate.Run(ctx, o); err == nil {
		t.Fatal("the run was not interrupted")
	}
	part := h.head()
	if part == 0 {
		t.Fatal("nothing was stored")
	}
	h.migrate()
	whole := newHome(t)
	whole.transcript("t1.jsonl", lines...)
	whole.store(stored(mainKey, "t1", ""))
	whole.migrate()
	if h.head() != whole.head() {
		t.Errorf("%d events after an interruption at %d, want %d", h.head(), part, whole.head())
	}
}

// What OpenClaw tells the model about its own programs is not what was said; who spoke in a channel is.
func TestProgramsAreNotWhatWasSaid(t *testing.T) {
	t.Parallel()
	sender := func(id string) string {
		return "Sender (untrusted metadata):\n```json\n{\n  \"label\": \"" + id + "\",\n  \"id\": \"" + id + "\"\n}\n```\n\n"
	}
	h := newHome(t)
	h.store(stored(mainKey, "t1", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", sender("cli")+"[Sat 2026-11-28 10:00 UTC] hello", 1),
		said("a2", "user", sender("4711")+"hello", 2), said("a3", "assistant", sender("cli"), 3))
	h.migrate()
	h.wantShown("t1", "user: hello", "user: "+sender("4711")+"hello", "assistant: "+sender("cli"))
}

func TestPlansWriteNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored(mainKey, "t1", `,"label":"one"`))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	o := h.options()
	o.Log = nil
	r, err := migrate.Run(t.Context(), o)
	if err != nil || !r.Plan || count(r, migrate.Messages).Found != 1 || h.head() != 0 {
		t.Errorf("plan %+v, %v; %d events", r, err, h.head())
	}
}

// begin creates a session here.
func (h *home) begin(t *testing.T, key, id string) {
	t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		t.Fatal(err)
	}
	h.decide(t, k, func(s session.State) ([]session.Event, error) {
		return session.Reset(s, session.ResetCommand{Command: session.Command{NewID: id}})
	})
}

// reset resets a session here.
func (h *home) reset(t *testing.T, key, from, to string) {
	t.Helper()
	if s := h.session(key); s == nil || s.ID != from {
		t.Fatalf("session %s is %+v, want transcript %s", key, s, from)
	}
	h.begin(t, key, to)
}

func (h *home) decide(t *testing.T, k coordination.SessionKey, decide func(session.State) ([]session.Event, error)) {
	t.Helper()
	_, err := h.db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		s, _, err := sessions.Load(tx, k)
		if err != nil {
			return nil, err
		}
		events, err := decide(s)
		if err != nil {
			return nil, err
		}
		return sessions.Append(s, eventstore.ActorHuman, now.UnixMilli(), events)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// OpenClaw lists the last run of a scheduled job as a session of its own, which has the transcript of the job's session. The run before has
// its own.
func TestRunsOfJobsAreNotSecondSessions(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.store(stored("agent:eden:cron:j1", "t2", ""), stored("agent:eden:cron:j1:run:t1", "t1", ""), stored("agent:eden:cron:j1:run:t2", "t2", ""))
	h.transcript("t1.jsonl", header("t1"), said("a1", "user", "first", 1))
	h.transcript("t2.jsonl", header("t2"), said("a2", "user", "second", 2))
	for range 2 {
		if r := h.migrate(); !r.Complete || len(r.Left) > 0 {
			t.Errorf("report %+v", r)
		}
		h.wantShown("t1", "user: first")
		h.wantShown("t2", "user: second")
	}
	if s := h.session("agent:eden:cron:j1"); s == nil || s.ID != "t2" {
		t.Errorf("session %+v", s)
	}
}
