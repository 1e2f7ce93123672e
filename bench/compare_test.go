package main

import (
	"bytes"
	"strings"
	"testing"
)

// The old program prints an array at the end, as openclawd bench did; the new one figures line by line.
func TestCompareFigures(t *testing.T) {
	t.Parallel()
	read := func(texts ...string) (runs [][]figure) {
		for _, text := range texts {
			figures, err := readFigures([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, figures)
		}
		return runs
	}
	was := read(`[
  {"name": "rate", "value": 1000, "unit": "events/s", "baseline": 1, "goal": "ratio >= 0.2"},
  {"name": "p95", "value": 10, "unit": "ms", "baseline": 1, "goal": "<= 20 ms"},
  {"name": "heap", "value": -1, "unit": "MB", "baseline": 50, "goal": "<= 50 MB"},
  {"name": "gone", "value": 3, "unit": "ms", "goal": "<= 20 ms"}
]`, `[{"name": "rate", "value": 2000, "unit": "events/s", "goal": "ratio >= 0.2"}, {"name": "p95", "value": 12, "unit": "ms", "goal": "<= 20 ms"}]`)
	is := read(`{"name": "rate", "value": 1200, "unit": "events/s", "baseline": 1, "goal": ">= 900 events/s"}
{"name": "p95", "value": 5, "unit": "ms", "baseline": 1, "goal": "ratio <= 2"}
{"name": "heap", "value": 7, "unit": "MB", "baseline": 50, "goal": "<= 50 MB"}
{"name": "fresh", "value": 4, "unit": "ms", "goal": "<= 20 ms"}
`, "")
	var out bytes.Buffer
	write := comparisonPrinter(&out, false)
	for _, r := range compareFigures(was, is) {
		if err := write(r); err != nil {
			t.Fatal(err)
		}
	}
	want := `NAME   OLD   NEW   UNIT      RATIO
rate   1500  1200  events/s  0.80  WORSE
p95    11    5     ms        2.20
heap   -1    7     MB        -     WORSE
fresh  -     4     ms        -
gone   3     -     ms        -
`
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if got := words(out.String()); got != words(want) {
		t.Errorf("got\n%s", out.String())
	}
}

// A ratio is above 1 where new is better, whatever the direction of the goal.
func TestRatioOfFigures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, now float64
		goal     string
		ratio    float64
		worse    bool
	}{
		{100, 91, ">= 1 events/s", 0.91, false},
		{100, 89, ">= 1 events/s", 0.89, true},
		{100, 200, "<= 1 ms", 0.5, true},
		{100, 105, "ratio <= 1.5", 100.0 / 105, false},
		{0, 5, "<= 100 goroutines", 0, false},
		{0, 11, "<= 100 goroutines", 0, true},
	} {
		r := compared{Old: &c.old, New: &c.now}
		r.rate(&figure{Goal: c.goal, Baseline: 100})
		if r.Ratio != c.ratio || r.Worse != c.worse {
			t.Errorf("%g to %g with goal %s: ratio %g, worse %t", c.old, c.now, c.goal, r.Ratio, r.Worse)
		}
	}
}
