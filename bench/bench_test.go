package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// runParts runs parts with tiny sizes, and returns what they print.
func runParts(ctx context.Context, t *testing.T, asJSON bool, rounds int, parts ...benchmark) (*bytes.Buffer, error) {
	t.Helper()
	var out bytes.Buffer
	return &out, runAll(ctx, options{Events: smallLog, Rounds: rounds, Dir: t.TempDir(), Log: io.Discard, Report: printer(&out, asJSON)}, parts)
}

// A part finds an empty directory, and a log as it was made, whatever earlier parts did with theirs.
func TestPartsShareNothing(t *testing.T) {
	t.Parallel()
	var earlier []string
	var heads []int64
	part := func(ctx context.Context, b *bench) error {
		for _, dir := range earlier {
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what another part left in %s is still there: %v", dir, err)
			}
		}
		if entries, err := os.ReadDir(b.Dir); len(entries) > 0 || err != nil {
			t.Errorf("a part begins with %v, %v", entries, err)
		}
		h, err := b.filled(ctx, smallLog)
		if err != nil {
			return err
		}
		another, err := b.filled(ctx, smallLog)
		if err != nil || another == h {
			t.Errorf("two logs are in %s and %s, %v", h, another, err)
		}
		log, _, err := h.open(ctx)
		if err != nil {
			return err
		}
		head, err := log.Head(ctx)
		if err == nil {
			err = into(ctx, log)(newCorpus(1, 1).next().append())
		}
		earlier, heads = append(earlier, b.Dir, string(h), string(another)), append(heads, head.Seq)
		return errors.Join(err, log.Close())
	}
	if _, err := runParts(t.Context(), t, false, 1, benchmark{"one", "", part}, benchmark{"two", "", part}); err != nil {
		t.Fatal(err)
	}
	if heads[0] != heads[1] || heads[0] < smallLog {
		t.Errorf("two parts begin at events %v of logs of %d", heads, smallLog)
	}
}

// The parts that measure on the log itself run on it one after the other.
func TestParts(t *testing.T) {
	t.Parallel()
	parts, err := chosen(benchmarks(), []string{"lookup", "rebuild"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := runParts(t.Context(), t, true, 1, parts...)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := readFigures(out.Bytes())
	var names []string
	for _, f := range figures {
		if names = append(names, f.Name); f.Value <= 0 || f.Baseline <= 0 || f.Note == "" {
			t.Errorf("%+v", f)
		}
	}
	if got, want := strings.Join(names, " "), "rebuild.rate lookup.speedup lookup.growth"; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// What was measured before a run is stopped has been printed: complete parts, and complete rounds of the part that runs.
func TestStoppedRunHasPrinted(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		first := benchmark{"first", "", func(_ context.Context, b *bench) error { return b.report(within("first.value", 1, "ms", 2, "")) }}
		second := benchmark{"second", "", func(ctx context.Context, b *bench) error {
			return b.rounds(ctx, func(ctx context.Context, round int, v values) error {
				if round == 2 {
					stop()
				}
				v.add("value", float64(7+round))
				return ctx.Err()
			}, func(v values) []figure {
				return []figure{reaches("second.value", v.mid("value"), "events/s", 9, b.medians())}
			})
		}}
		third := benchmark{"third", "", func(context.Context, *bench) error { return errors.New("a part begins after the stop") }}
		out, err := runParts(ctx, t, asJSON, 5, first, second, third)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "third") {
			t.Errorf("a stopped run ends with %v", err)
		}
		if asJSON {
			var f figure
			lines := strings.SplitAfter(out.String(), "\n")
			if err := json.Unmarshal([]byte(lines[1]), &f); err != nil || len(lines) != 3 || f.Value != 8 || f.Note != "median of 2 rounds" {
				t.Errorf("%q: %+v, %v", lines, f, err)
			}
			continue
		}
		for _, want := range []string{"NAME", "first.value", "1 ms", "ok\n", "second.value", "8 events/s", "MISSED\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in %s", want, out)
			}
		}
	}
}
