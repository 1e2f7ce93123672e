package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/projections/tasks"
)

// kept is all that is shown of tasks.
type kept struct {
	rows    []tasks.Row
	files   map[string]map[string]string
	answers map[string]string
}

// keeps returns what is shown of tasks now.
func (s *story) keeps(t *testing.T) kept {
	t.Helper()
	settles(t, s.Program)
	k := kept{rows: taskRows(t, s.Program), files: map[string]map[string]string{}, answers: map[string]string{}}
	for _, agent := range []string{"ruda", "eden", "seum", "dajim"} {
		k.files[agent] = taskFilesOf(t, s.Program, agent)
		for _, path := range []string{"info", "tasks", "current", "blocked", "history"} {
			path = "/api/agents/" + agent + "/" + path
			k.answers[path] = s.shown(t, path, ofRuns...)
		}
	}
	k.answers["/api/team-state"] = string(read[json.RawMessage](t, s.reloading, "/api/team-state"))
	for _, path := range []string{"/api/tasks", "/api/tasks/" + s.id} {
		k.answers[path] = s.shown(t, path, "asOfSeq") // what a start notes in the log counts it up
	}
	return k
}

// ofRuns are the fields of an agent that tell what it does now. A restart changes them: it resumes the runs under way.
var ofRuns = []string{"status", "activity", "run", "queue"}

// shown is an answer of the API without some of its fields.
func (s *story) shown(t *testing.T, path string, without ...string) string {
	t.Helper()
	fields := read[map[string]json.RawMessage](t, s.reloading, path)
	for _, name := range without {
		delete(fields, name)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// restarts has the program end and begin again, and checks that nothing has happened to tasks and to their files.
func (s *story) restarts(t *testing.T, when string) {
	t.Helper()
	before, files, lines := s.keeps(t), s.fileEvents(t), len(s.facts(t, "task.", "delegation."))
	s.again(t)
	if diff := cmp.Diff(before, s.keeps(t), cmp.AllowUnexported(kept{})); diff != "" {
		t.Errorf("after a restart %s (-before +after):\n%s", when, diff)
	}
	if after := s.fileEvents(t); !slices.Equal(files, after) {
		t.Errorf("a restart %s has files written: %q, before %q", when, after, files)
	}
	if after := s.facts(t, "task.", "delegation."); len(after) != lines {
		t.Errorf("a restart %s has %+v happen", when, after[lines:])
	}
}

// fileEvents are the events of files, in order.
func (s *story) fileEvents(t *testing.T) (list []string) {
	t.Helper()
	for _, f := range s.facts(t, "file.") {
		list = append(list, fmt.Sprintf("%d %s", f.Seq, f.Type))
	}
	return list
}

// Restarts change nothing of tasks, delegations and files, in whatever state these are; and the story goes on after each.
func TestRestartKeepsTasks(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.begins(t)
	s.restarts(t, "while sub-agents are at it")
	s.moneyIsThere(t)
	s.roofIsSeen(t)
	s.restarts(t, "while it is blocked")
	s.goesOn(t)
	s.ends(t)
	s.restarts(t, "at the end")
	s.checkLog(t)
	s.checkSession(t)
	s.checkHistory(t)
}
