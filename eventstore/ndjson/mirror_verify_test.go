package ndjson_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// verifies returns the violations, as "kind seq file:line".
func (m *mirrored) verifies(t testing.TB) (faults []string, proof ndjson.MirrorVerification) {
	t.Helper()
	proof, err := ndjson.VerifyMirror(t.Context(), ndjson.MirrorOptions{Log: m.Model, StateDir: m.dir, Internal: bookkeeping, Mark: m.mark},
		func(f ndjson.MirrorFault) {
			if f.What == "" || f.Events < 1 {
				t.Errorf("a fault says too little: %+v", f)
			}
			faults = append(faults, fmt.Sprintf("%s %d %s:%d", f.Kind, f.Seq, f.File, f.Line))
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if proof.Faults != int64(len(faults)) {
		t.Errorf("%d faults counted, %d told", proof.Faults, len(faults))
	}
	return faults, proof
}

// Everything that a mirror writes, killed or not, over months and sizes, with lines of other programs between, passes
// verification.
func TestMirrorVerifiesWhatItHasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMirrored(t)
		o := ndjson.MirrorOptions{Mark: m.mark, MaxBytes: int64(rapid.IntRange(1, 2_000).Draw(rt, "max"))}
		lines := 0
		for round := range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			if rapid.Bool().Draw(rt, "foreign") {
				m.writes(t, fmt.Sprintf(`{"type":"note","agentId":"eden","ts":%d,"data":{}}`, round)+"\n")
			}
			for i := range rapid.IntRange(0, 5).Draw(rt, "events") {
				typ := rapid.SampledFrom([]string{"a2a.send", "run.started"}).Draw(rt, "type")
				m.happens(t, typ, fmt.Sprint(round, i), eventstore.ActorAgent)
				if typ == "a2a.send" {
					lines++
				}
			}
			m.now = m.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "days")) * 24 * time.Hour)
			m.runs(t, o)
			if faults, proof := m.verifies(t); len(faults) > 0 || proof.Lines != int64(lines) {
				rt.Fatalf("found %q among %d lines, want none among %d", faults, proof.Lines, lines)
			}
		}
	})
}

func TestMirrorThatNeverRanHasNothingToVerify(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	m.happens(t, "a2a.send", "one", eventstore.ActorAgent)
	m.writes(t, `{"type":"note","agentId":"eden","ts":1,"data":{},"id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`+"\n")
	faults, proof := m.verifies(t)
	if diff := cmp.Diff(ndjson.MirrorVerification{Files: 1, Others: 1}, proof); diff != "" || len(faults) > 0 {
		t.Errorf("found %q; -want +got:\n%s", faults, diff)
	}
}

// Each kind of damage to a log of five lines is found, and named by event, file and line.
//
// Promise: verify
func TestMirrorVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	const live = "coordination-events.ndjson"
	for name, c := range map[string]struct {
		damage func(lines []string) []string
		want   []string
	}{
		"none":           {func(l []string) []string { return l }, nil},
		"edited":         {func(l []string) []string { l[2] = strings.Replace(l[2], "three", "THREE", 1); return l }, []string{"changed 3 " + live + ":3"}},
		"another id":     {func(l []string) []string { l[2] = flipID(l[2]); return l }, []string{"missing 3 " + live + ":4"}},
		"id moved":       {func(l []string) []string { l[1] = strings.TrimSuffix(l[1], "}") + `,"x":1}`; return l }, []string{"changed 2 " + live + ":2"}},
		"removed":        {func(l []string) []string { return slices.Delete(l, 1, 3) }, []string{"missing 2 " + live + ":2"}},
		"removed first":  {func(l []string) []string { return l[1:] }, []string{"missing 1 " + live + ":1"}},
		"removed last":   {func(l []string) []string { return l[:4] }, []string{"missing 5 :0"}},
		"all removed":    {func([]string) []string { return []string{"{}"} }, []string{"missing 1 :0"}},
		"doubled":        {func(l []string) []string { return slices.Insert(l, 4, l[1]) }, []string{"twice 2 " + live + ":5"}},
		"swapped":        {func(l []string) []string { l[0], l[1] = l[1], l[0]; return l }, []string{"order 1 " + live + ":2"}},
		"blank too soon": {func(l []string) []string { l[3] = blanked(l[3]); return l }, []string{"changed 4 " + live + ":4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored(t)
			for _, text := range []string{"one", "two", "three", "four", "five"} {
				m.happens(t, "a2a.send", text, eventstore.ActorAgent)
			}
			m.runs(t, ndjson.MirrorOptions{Mark: m.mark})
			text := strings.Join(c.damage(m.files(t)), "\n") + "\n"
			if err := os.WriteFile(m.live(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			faults, _ := m.verifies(t)
			if diff := cmp.Diff(c.want, faults); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// flipID gives a line an unknown id.
func flipID(line string) string {
	digit := "0"
	if strings.HasSuffix(line, `0"}`) {
		digit = "1"
	}
	return line[:len(line)-3] + digit + `"}`
}

// blanked is a line after its redaction.
func blanked(line string) string {
	front := line[:strings.Index(line, `"data":`)] + `"data":{},"redacted":true`
	tail := line[strings.LastIndex(line, `,"id":`):]
	return front + strings.Repeat(" ", max(len(line)-len(front)-len(tail), 0)) + tail
}

// Lines of redacted events have to be blank, and lines that were blanked are as they should be.
func TestMirrorVerifyLooksAtRedactedLines(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	long := strings.Repeat("secret ", 10)
	for range 3 {
		m.happens(t, "a2a.send", long, eventstore.ActorAgent)
	}
	m.runs(t, ndjson.MirrorOptions{Mark: m.mark})
	if err := m.Redact(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	faults, _ := m.verifies(t)
	if diff := cmp.Diff([]string{"not_blank 2 coordination-events.ndjson:2"}, faults); diff != "" {
		t.Errorf("before the line is blank, -want +got:\n%s", diff)
	}
	e, err := m.Event(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ndjson.Blank(t.Context(), ndjson.BlankOptions{StateDir: m.dir, Log: m.Model, IDs: map[eventstore.ID]bool{e.ID: false}}); err != nil {
		t.Fatal(err)
	}
	faults, proof := m.verifies(t)
	if len(faults) > 0 || proof.Redacted != 1 || proof.Lines != 3 {
		t.Errorf("once the line is blank: found %q, %+v", faults, proof)
	}
}

// Archives that were moved away take the lines of their months with them, and no others may be missing.
func TestMirrorVerifyKnowsOfArchivesThatAreGone(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	for range 3 {
		m.happens(t, "a2a.send", "text", eventstore.ActorAgent)
		m.now = m.now.Add(40 * 24 * time.Hour)
	}
	m.runs(t, ndjson.MirrorOptions{Mark: m.mark})
	logs, err := ndjson.Logs(m.dir)
	if err != nil || len(logs) != 3 {
		t.Fatalf("logs %q, %v, want three", logs, err)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Fatal(err)
	}
	if faults, proof := m.verifies(t); len(faults) > 0 || proof.Gone != 1 {
		t.Errorf("the oldest gone: found %q, %+v", faults, proof)
	}
	if err := os.Rename(logs[1], filepath.Join(m.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if faults, proof := m.verifies(t); len(faults) > 0 || proof.Gone != 2 {
		t.Errorf("both gone: found %q, %+v", faults, proof)
	}
}
