package server

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/trace"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

func openLog(path string) (*sqlite.DB, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}

// talk lets eden write to seum, who is tried again once, answers, and hears one turn back; then to dajim, who breaks.
func talk(t *testing.T) (team *a2atest.Team, db *sqlite.DB, answered, broken string) {
	t.Helper()
	const busy = 3 // the runner itself asks so often
	team = a2atest.New(t, a2atest.Setting{
		Open: func(path string) (a2atest.Store, error) {
			log, err := openLog(path)
			db = log
			return log, err
		},
		Empty: projectiontest.File(a2atest.Definitions()...), Config: `{"session":{"agentToAgent":{"maxPingPongTurns":1}}}`,
		Answer: func(a a2atest.Asked) a2atest.Answer {
			switch {
			case a.Agent == "dajim":
				return a2atest.Fail(400)
			case a.Agent == "seum" && a.N <= busy:
				return a2atest.Fail(429)
			case a.Agent == "seum":
				return a2atest.Say("the roof leaks, what shall I do about it?")
			}
			return a2atest.Say("have it repaired until tomorrow evening, please")
		},
	})
	turns := func(r *messenger.Request) { r.NoTurns = false }
	answered = team.MustSend("eden", "seum", "let's discuss the state of the house together", turns).JobID
	team.Until(answered, func(f *flows.Row) bool { return f.Attempt == 2 })
	team.Advance(time.Minute)
	team.Over(answered)
	broken = team.MustSend("eden", "dajim", "let's discuss the cellar together", turns).JobID
	team.Over(broken)
	return team, db, answered, broken
}

// mirroredLine is a line of the coordination log.
type mirroredLine struct {
	Type, AgentID, ID string
	TS                int64
	Data              map[string]any
	members           []string
}

// mirrorOf are the lines that a mirror writes of a log.
func mirrorOf(t *testing.T, db *sqlite.DB) (lines []mirroredLine) {
	t.Helper()
	dir := t.TempDir()
	head, err := db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mirror := ndjson.NewMirror(ndjson.MirrorOptions{Log: db, StateDir: dir, Internal: coordination.Internal})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mirror.Run(ctx) }()
	status, err := mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Seq >= head.Seq || s.Error != "" })
	if err != nil || status.Error != "" {
		t.Fatal(err, status.Error)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "coordination-events.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var l mirroredLine
		var members map[string]any
		if json.Unmarshal(line, &l) != nil || json.Unmarshal(line, &members) != nil {
			t.Fatalf("no JSON: %s", line)
		}
		for name := range members {
			l.members = append(l.members, name)
		}
		slices.Sort(l.members)
		lines = append(lines, l)
	}
	return lines
}

// Our own agents' exchanges are logged as the original gateway writes them: the same types, actors and members, and an answer goes from
// the target to the requester, even if there is none.
func TestOwnExchangesAreMirroredInTheOriginalsShapes(t *testing.T) {
	t.Parallel()
	team, db, answered, broken := talk(t)
	child := a2a.BeginSpawn(coordination.A2AJobCreated{Context: coordination.Context{ConversationID: "c-child", WorkSessionID: "ws_child"}, JobID: "child-job",
		FromAgent: "eden", ToAgent: "seum", RequesterSessionKey: "agent:eden:main", TargetSessionKey: "agent:seum:subagent:child-job", Message: "read the log",
		Label: "reading"}, time.Now().UnixMilli())
	for _, e := range child.Events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := team.Log.Append(t.Context(), eventstore.StreamAppend{Stream: "conversation/c-child",
			Events: []eventstore.NewEvent{{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorAgent, Data: data}}}); err != nil {
			t.Fatal(err)
		}
	}
	const context = "conversationId workSessionId eventRole fromSessionType toSessionType fromAgent toAgent "
	shapes := map[string]struct {
		agent, from, members string
		is                   func(data map[string]any) bool
	}{
		"send":             {"eden", "eden", context + "targetSessionKey message runId", func(d map[string]any) bool { return d["jobId"] == answered }},
		"retry":            {"seum", "eden", context + "runId attempt maxAttempts errorCategory errorCode reason backoffMs elapsedMs", nil},
		"response":         {"seum", "seum", context + "message replyPreview", func(d map[string]any) bool { return d["jobId"] == answered && d["turn"] == nil }},
		"response (turn)":  {"eden", "eden", context + "message replyPreview turn maxTurns", func(d map[string]any) bool { return d["turn"] != nil }},
		"response (none)":  {"dajim", "dajim", context + "message replyPreview outcome waitStatus", func(d map[string]any) bool { return d["jobId"] == broken }},
		"complete":         {"eden", "eden", context + "announced targetSessionKey messageIntent configuredMaxTurns effectiveTurns actualTurns", func(d map[string]any) bool { return d["jobId"] == answered }},
		"complete (none)":  {"eden", "eden", context + "announced targetSessionKey outcome waitStatus", func(d map[string]any) bool { return d["jobId"] == broken }},
		"spawn":            {"eden", "eden", context + "targetSessionKey message replyPreview label", nil},
		"send (spawn)":     {"eden", "eden", context + "targetSessionKey message replyPreview", func(d map[string]any) bool { return d["jobId"] == "child-job" }},
		"spawn_result":     {"eden", "eden", context + "targetSessionKey runId status replyPreview label", nil},
		"job.created":      {"eden", "eden", "jobId eventRole", func(d map[string]any) bool { return d["jobId"] == answered }},
		"job.completed":    {"eden", "eden", "jobId eventRole outcome", func(d map[string]any) bool { return d["jobId"] == answered }},
		"job.failed":       {"eden", "eden", "jobId eventRole outcome", func(d map[string]any) bool { return d["jobId"] == broken }},
		"job.running turn": {"eden", "eden", "jobId eventRole phase turn", func(d map[string]any) bool { return d["phase"] == "turn" }},
	}
	lines := mirrorOf(t, db)
	for name, want := range shapes {
		typ, _, _ := strings.Cut(name, " ")
		var found []mirroredLine
		for _, l := range lines {
			if l.Type == "a2a."+typ && (want.is == nil || want.is(l.Data)) {
				found = append(found, l)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s: %d lines", name, len(found))
			continue
		}
		l := found[0]
		if l.AgentID != want.agent || l.Data["fromAgent"] != want.from || l.TS == 0 {
			t.Errorf("%s: agentId %s, from %v", name, l.AgentID, l.Data["fromAgent"])
		}
		for _, member := range strings.Fields(want.members) {
			if _, there := l.Data[member]; !there {
				t.Errorf("%s: no %s in %v", name, member, l.Data)
			}
		}
		if !slices.Equal(l.members, []string{"agentId", "data", "id", "ts", "type"}) {
			t.Errorf("%s: members %q", name, l.members)
		}
	}
	for _, l := range lines {
		text, _ := l.Data["message"].(string)
		preview, _ := l.Data["replyPreview"].(string)
		if strings.HasPrefix(l.Type, "a2a.") && (len([]rune(text)) > a2a.MessageLength || len([]rune(preview)) > a2a.PreviewLength) {
			t.Errorf("%s: %d and %d characters", l.Type, len([]rune(text)), len([]rune(preview)))
		}
		if coordination.Internal(l.Type) {
			t.Errorf("%s is our own book-keeping", l.Type)
		}
	}
}

// All events of an exchange name its work session.
func TestBug13_EveryEventOfAnExchangeNamesItsWorkSession(t *testing.T) {
	t.Parallel()
	team, _, answered, broken := talk(t)
	for _, e := range team.Events() {
		var d coordination.Context
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		row := team.Flow(answered)
		if job := a2atest.JobOf(t, &e); job == broken {
			row = team.Flow(broken)
		} else if job != answered {
			continue
		}
		if d.WorkSessionID != row.WorkSessionID || d.WorkSessionID == "" {
			t.Errorf("%s belongs to work session %q, its flow to %q", e.Type, d.WorkSessionID, row.WorkSessionID)
		}
	}
}

// Exchanges are traced as they happened: attempts, turns, and who began them.
func TestOwnExchangesAreTraced(t *testing.T) {
	t.Parallel()
	team, db, answered, broken := talk(t)
	row := team.Flow(answered)
	var found *trace.Trace
	err := db.View(t.Context(), func(tx *sql.Tx) (err error) {
		found, err = trace.Of(t.Context(), tx, row.ConversationID, trace.Options{Now: time.Now().UnixMilli()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Roots) != 1 || found.Roots[0].ID != answered || found.Open != 0 || found.Cut {
		t.Fatalf("%+v", found)
	}
	flow := found.Roots[0]
	var roles []string
	for _, n := range flow.Children {
		roles = append(roles, n.Role)
	}
	if !slices.Equal(roles, []string{trace.RoleAnswer, trace.RoleRetry, trace.RoleTurn}) || flow.Outcome != "ok" || len(flow.Messages) != 5 {
		t.Errorf("runs %q, outcome %s, messages %+v", roles, flow.Outcome, flow.Messages)
	}
	if r := flow.Children[1].Retry; r == nil || r.BackoffMs == 0 || r.Category != "transient" || flow.Children[1].BackoffMs != r.BackoffMs {
		t.Errorf("retry: %+v", r)
	}
	if err := db.View(t.Context(), func(tx *sql.Tx) (err error) {
		found, err = trace.Of(t.Context(), tx, broken, trace.Options{Now: time.Now().UnixMilli()})
		return err
	}); err != nil || found.Roots[0].Outcome != "no_reply" || found.Late != 0 {
		t.Errorf("%+v, %v", found.Roots[0], err)
	}
}

// Once the exchanges of a work session are over, it is quiet.
func TestWorkSessionOfOwnExchangesIsQuietInTheEnd(t *testing.T) {
	t.Parallel()
	team, _, answered, _ := talk(t)
	name := team.Flow(answered).WorkSessionID
	team.CheckSettled()
	team.Close()
	log, err := openLog(team.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	rules := coordination.RulesV2
	engine, err := projections.Start(t.Context(), log, database.Projections(rules), projections.Options{Rules: rules})
	if err == nil {
		err = engine.Rebuild(t.Context(), projections.RebuildOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	var found *trace.Trace
	err = log.View(t.Context(), func(tx *sql.Tx) (err error) {
		found, err = trace.Of(t.Context(), tx, name, trace.Options{Now: time.Now().UnixMilli()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.Session == nil || found.Session.Status != coordination.StatusQuiet || found.Open != 0 {
		t.Errorf("%+v, %+v", found, found.Session)
	}
}
