package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/projections/task"
)

// kept is all that is told of tasks where somebody can see it.
type kept struct {
	rows    []task.Row
	files   map[string]map[string]string
	answers map[string]string
}

// keeps is all that is told of tasks now.
func (s *story) keeps(t *testing.T) kept {
	t.Helper()
	settles(t, s.Program)
	k := kept{rows: taskRows(t, s.Program), files: map[string]map[string]string{}, answers: map[string]string{}}
	for _, agent := range []string{"ruda", "eden", "seum", "dajim"} {
		k.files[agent] = taskFilesOf(t, s.Program, agent)
		for _, path := range []string{"info", "tasks", "current", "blocked", "history"} {
			path = "/api/agents/" + agent + "/" + path
			k.answers[path] = string(read[json.RawMessage](t, s.reloading, path))
		}
	}
	k.answers["/api/team-state"] = string(read[json.RawMessage](t, s.reloading, "/api/team-state"))
	for _, path := range []string{"/api/tasks", "/api/tasks/" + s.id} {
		shown := read[map[string]json.RawMessage](t, s.reloading, path)
		delete(shown, "asOfSeq") // what a start notes in the log counts it up
		text, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		k.answers[path] = string(text)
	}
	return k
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

// Restarts change nothing of tasks, of what is delegated for them and of their files, in whatever state these are; and the story goes on after
// each.
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
