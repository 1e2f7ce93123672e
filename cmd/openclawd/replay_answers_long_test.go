//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheAPIReplaysAsTheCommandsDo compares answers of the API with what openclawd replay diff and step print, at random points.
func TestTheAPIReplaysAsTheCommandsDo(t *testing.T) {
	t.Parallel()
	m := startReplayed(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 22))
	var answer any

	for _, c := range []struct{ a, b, table, limit string }{
		{"0", fmt.Sprint(m.head), "", "0"},
		{fmt.Sprint(dice.Int64N(m.head)), fmt.Sprint(1 + dice.Int64N(m.head)), "", "1000"},
		{fmt.Sprint(m.head - 3), fmt.Sprint(m.head), "work_sessions,threads", "2"},
		{fmt.Sprint(m.head), fmt.Sprint(m.head - 5), "", ""},
	} {
		args := []string{"replay", "diff", c.a, c.b, "--json"}
		query := url.Values{"a": {c.a}, "b": {c.b}}
		if c.table != "" {
			args = append(args, "--table", c.table)
			query.Set("table", c.table)
		}
		if c.limit != "" {
			args = append(args, "--limit", c.limit)
			query.Set("limit", c.limit)
		}
		got := decoded(t, m.get(t, "/api/replay/diff?"+query.Encode(), &answer))
		if cut := got["cut"]; cut != false {
			t.Errorf("from %s to %s rows are missing", c.a, c.b)
		}
		delete(got, "cut")
		delete(got, "subjects")
		if diff := cmp.Diff(decoded(t, m.says(t, args...)), got); diff != "" {
			t.Errorf("from %s to %s (-command +API):\n%s", c.a, c.b, diff)
		}
	}

	for range 3 {
		at, n := 1+dice.Int64N(m.head-8), 1+dice.Int64N(6)
		want := lines(t, m.says(t, "replay", "step", "--json", "--from", fmt.Sprint(at), "--to", fmt.Sprint(at+n-1)))
		steps := m.steps(t, fmt.Sprintf("at=%d&n=%d", at, n), int(n))
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("%d steps from %d (-command +API):\n%s", n, at, diff)
		}
	}

	wrong := lines(t, m.says(t, "replay", "step", "--json", "--errors", "--to", fmt.Sprint(m.head)))
	if len(wrong) < 3 {
		t.Fatalf("the sample reports %d failures", len(wrong))
	}
	var found []object
	var previous, next any
	for at := json.Number("1"); ; {
		answered := decoded(t, m.get(t, "/api/replay/step?errors=true&n=50&at="+at.String(), &answer))
		for _, step := range answered["steps"].([]any) {
			found = append(found, plain(t, step.(object)))
		}
		previous = answered["previousError"]
		if next = answered["next"]; next == nil {
			break
		}
		at = next.(json.Number)
	}
	if diff := cmp.Diff(wrong, found); diff != "" {
		t.Errorf("failures (-command +API):\n%s", diff)
	}
	last := answeredSeq(wrong[len(wrong)-1])
	beyond := decoded(t, m.get(t, fmt.Sprintf("/api/replay/step?at=%d&errors=true", m.head+1), &answer))
	if beyond["previousError"] != last || beyond["nextError"] != nil || beyond["next"] != nil || len(beyond["steps"].([]any)) != 0 {
		t.Errorf("after the lines: %v, want the last failure, %s, before it and none after it; before the last page of failures was %v", beyond, last, previous)
	}
	m.wantPoints(t, wrong[0])
}
