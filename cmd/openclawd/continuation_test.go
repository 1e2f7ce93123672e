package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/server/settings"
)

// idling stores a task of 이든, in a state directory of its own, that was started at a time.
func idling(t *testing.T, at time.Time) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	if err := os.WriteFile(settings.File(stateDir), []byte(`{agents: {list: [{id: 'eden', name: '이든', default: true}, {id: 'seum', name: '세움'}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return at }
	log, err := database.OpenToWrite(t.Context(), filepath.Join(stateDir, database.Name), "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: now}); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(coordination.TaskStarted{Context: coordination.Context{TaskID: "task_한글", WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration},
		Priority: "high", Description: "문서 정리", Progress: "Task started",
		Steps: []coordination.TaskStep{{ID: "s1", Content: "읽기 \u202etxt", Status: "in_progress", Order: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	started := eventstore.NewEvent{Type: coordination.TypeTaskStarted, AgentID: "eden", Actor: eventstore.ActorAgent, Data: data}.WithTS(at.UnixMilli())
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.TaskStream("task_한글"), Events: []eventstore.NewEvent{started}}); err != nil {
		t.Fatal(err)
	}
	return stateDir
}

// Without a server the prompt is shown that one would send by now, and columns stand in whatever script; nothing is written by that.
func TestContinuationShowsThePromptThatWouldBeSent(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)
	now := started.Add(time.Minute)
	stateDir := idling(t, started)
	says := func(args ...string) string {
		t.Helper()
		var out, notes strings.Builder
		p := &process{args: append([]string{"continuation", "--state-dir", stateDir}, args...), stdout: &out, stderr: &notes, now: func() time.Time { return now },
			getenv: func(name string) string { return map[string]string{"TASK_MONITOR_PORT": "1"}[name] }}
		if code := execute(t.Context(), p); code != exitOK {
			t.Fatalf("%v: exit %d: %s", args, code, notes.String())
		}
		return out.String()
	}
	const early = `AGENT  NOW      WHY       TASK       FAILURES  BACK-OFF UNTIL  LOOKS AGAIN
eden   nothing  not_idle  task_한글                            in 2m0s
seum   nothing  done                                           after an event
2 agents; openclawd continuation explain AGENT shows details
`
	if got := says(); !strings.HasPrefix(got, early) {
		t.Errorf("a minute later:\n%s\nwant\n%s", got, early)
	}
	if got := says("explain", "eden"); strings.Contains(got, "PROMPT") || !strings.Contains(got, "\nlooks again   in 2m0s\n") {
		t.Errorf("nothing is sent yet, and that is told as\n%s", got)
	}
	now = started.Add(4 * time.Minute)
	if got := says(); !strings.Contains(got, "\neden   continue  idle  task_한글                            now\n") {
		t.Errorf("four minutes later:\n%s", got)
	}
	got := says("explain", "eden")
	for _, want := range []string{"eden is prompted to continue task task_한글: nothing has happened for a while.\n", "\nnow           continue (idle)\n",
		"\ntells         eden\n", "\nPROMPT\n", "문서 정리", "읽기 \uFFFDtxt", "\nNOTE\nno server answers at 127.0.0.1:1: no agent is being continued now; "} {
		if !strings.Contains(got, want) {
			t.Errorf("explained without %q:\n%s", want, got)
		}
	}
	if strings.ContainsRune(got, '\u202e') {
		t.Errorf("what turns a terminal around is shown as it is: %q", got)
	}
	var answer explainedContinuation
	if err := json.Unmarshal([]byte(says("explain", "EDEN", "--json")), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Source != "file" || answer.Note == "" || answer.Decision.Kind != "continue" || answer.Decision.To != "eden" || answer.Decision.Prompt == "" ||
		answer.AtMs != now.UnixMilli() || answer.DerivedFromSeq != 1 {
		t.Errorf("in JSON: %+v", answer)
	}
}

// Who decides is called as the system calls them, by something that any log can hold.
func TestPersonNameIsStorable(t *testing.T) {
	t.Parallel()
	p := &process{getenv: func(string) string { return "" }}
	if name := p.person(); strings.TrimSpace(name) != name || len([]rune(name)) > 60 {
		t.Errorf("this user is called %q", name)
	}
	for given, want := range map[string]string{"민수": "민수", `TEAM\minsu`: "minsu", " a\nb\u202ec ": "abc", "\x00": "", strings.Repeat("가", 61): strings.Repeat("가", 60),
		"a\xffb": "ab"} {
		if got := personNamed(given); got != want {
			t.Errorf("%q is called %q, want %q", given, got, want)
		}
	}
}

// Only agents that may have tasks are offered for explain: of the others it says that they are none.
func TestExplainIsCompletedWithAgentsThatMayHaveTasks(t *testing.T) {
	t.Parallel()
	stateDir := t.TempDir()
	const team = `{agents: {list: [{id: 'Eden', name: '이든'}, {id: 'explorer', utility: true}, {id: 'quick', kind: 'utility'}, {id: 'seum'}]}}`
	if err := os.WriteFile(settings.File(stateDir), []byte(team), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, notes strings.Builder
	p := &process{args: []string{"__complete", "continuation", "explain", "--state-dir", stateDir, ""}, stdout: &out, stderr: &notes, now: time.Now,
		getenv: func(string) string { return "" }}
	if code := execute(t.Context(), p); code != exitOK {
		t.Fatalf("exit %d: %s", code, notes.String())
	}
	if got, want := out.String(), "eden\t이든\nseum\n:4\n"; got != want {
		t.Errorf("offered:\n%s\nwant:\n%s", got, want)
	}
}

// A table of what was done for a task says whether someone was told that no one unblocks it.
func TestExplainNamesNotifiedPeople(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	e := &explainedContinuation{ContinuationAnswer: monitor.ContinuationAnswer{AgentID: "eden", State: monitor.CareAnswer{
		Tasks: []monitor.TaskCareAnswer{{TaskID: "task_a", Told: true}, {TaskID: "task_b", Prompts: 2}}}}}
	if err := (&process{stdout: &out, now: time.Now}).writeExplained(e); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" TOLD\n", "\ntask_a  0                                                      yes\n", "\ntask_b  2\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, out.String())
		}
	}
}
