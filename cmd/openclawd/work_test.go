package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// giveUp stores something to be done that was tried and given up.
func giveUp(t *testing.T, db string, asked time.Time, what coordination.WorkScheduled, why string) {
	t.Helper()
	now := func() time.Time { return asked }
	log, err := database.OpenToWrite(t.Context(), db, "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: now}); err != nil {
		t.Fatal(err)
	}
	scheduled, err := worker.Schedule(what)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(coordination.WorkAttempt{EffectID: what.EffectID, Attempt: 1, Error: why})
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{coordination.TypeWorkLeased, coordination.TypeWorkDead} {
		scheduled.Events = append(scheduled.Events, eventstore.NewEvent{Type: typ, AgentID: what.Owner, Data: data})
	}
	if _, err := log.Append(t.Context(), scheduled); err != nil {
		t.Fatal(err)
	}
}

// What was given up is listed with all that is needed to settle it, and in columns whatever script it is in.
func TestDeadLettersAreListed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	db := filepath.Join(t.TempDir(), database.Name)
	giveUp(t, db, now.Add(-2*time.Hour), coordination.WorkScheduled{EffectID: "mail/42", Kind: "mail", Key: "box", Pool: "post", Owner: "eden"}, "no such box")
	giveUp(t, db, now.Add(-time.Hour), coordination.WorkScheduled{EffectID: "편지/7", Kind: "mail", Key: "이든의 상자", Pool: "post", Owner: "eden"},
		strings.Repeat("긴 ", 100))
	says := func(args ...string) string {
		t.Helper()
		var out, notes strings.Builder
		p := &process{args: append([]string{"work", "--db", db}, args...), stdout: &out, stderr: &notes, getenv: func(string) string { return "" },
			now: func() time.Time { return now }}
		if code := execute(t.Context(), p); code != exitOK {
			t.Fatalf("%v: exit %d: %s", args, code, notes.String())
		}
		return out.String()
	}
	dead := says("--dead")
	for _, want := range []string{`(?m)^EFFECT   KIND  KEY          ATTEMPTS  ASKED  +ERROR$`, `(?m)^mail/42  mail  box          1         \S.* +no such box$`,
		`(?m)^편지/7   mail  이든의 상자  1         \S.* +(긴 )+긴?…$`, `openclawd work resend EFFECT`} {
		if !regexp.MustCompile(want).MatchString(dead) {
			t.Errorf("%s does not say\n%s", dead, want)
		}
	}
	if lanes := says(); !strings.Contains(lanes, "2 dead letters; openclawd work --dead lists them") {
		t.Errorf("lanes: %s", lanes)
	}
	var answer workAnswer
	if err := json.Unmarshal([]byte(says("--dead", "--json")), &answer); err != nil || len(answer.Letters) != 2 || answer.Letters[0].Attempts != 1 ||
		answer.Letters[0].Since != now.Add(-2*time.Hour).UnixMilli() || answer.Letters[0].Error != "no such box" {
		t.Errorf("%+v, %v", answer, err)
	}
}
