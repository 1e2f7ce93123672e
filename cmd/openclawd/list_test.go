package main

import (
	"bytes"
	"testing"

	"github.com/pronto-lab/openclawd/internal/output"
)

func TestListAnswer(t *testing.T) {
	t.Parallel()
	type row struct {
		ID string `json:"id"`
	}
	more := true
	for want, answer := range map[string]output.List[row]{
		`{"tasks":[{"id":"<a>"}],"count":1,"more":true}` + "\n": {Name: "tasks", Rows: []row{{"<a>"}}, More: &more},
		`{"runs":[],"count":0}` + "\n":                          {Name: "runs", Rows: []row{}},
	} {
		var b bytes.Buffer
		if err := output.JSONLine(&b, answer); err != nil || b.String() != want {
			t.Errorf("the answer is %s, %v, want %s", b.String(), err, want)
		}
	}
}

func TestListCount(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for want, of := range map[string]struct {
		list     list[int, int]
		n, limit int
	}{
		"1 run": {list[int, int]{thing: "run"}, 1, 50},
		"showing the newest 50 runs; use --limit 1000 for more": {list[int, int]{thing: "run"}, 50, 50},
		"showing the first 3 tasks; use --limit 1000 for more":  {list[int, int]{thing: "task", more: &yes}, 3, 50},
		"50 tasks": {list[int, int]{thing: "task", more: &no}, 50, 50},
		"showing the newest 5 sessions; use --limit 0 for all": {list[int, int]{thing: "session", endless: true}, 5, 5},
		"7 sessions": {list[int, int]{thing: "session", endless: true}, 7, 0},
	} {
		if got := of.list.count(of.n, of.limit); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
