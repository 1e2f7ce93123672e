package projections_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

var update = flag.Bool("update", false, "rewrite the tables of golden logs, and make logs that are missing")

// goldenLogs are the logs in testdata/golden with the hash of their last event. A log that is listed here never changes.
var goldenLogs = map[string]string{
	"1-every-type":      "2266881083ea7d53fd3c7191cd997554663d9c07f3a8beaa8aee5a250f8ed854",
	"1-imported":        "b3a17d995940491741b5bcf2a4bee81e603cce25978315dabeab9abc2d0532f2",
	"14-schedules":      "3aadc57321dfaefd68c9bdf07feb1d10e0f0b24a2dd770c4fdbe455ac5fb0718",
	"16-migrations":     "61f9b1fb8a696aaf6825f1ef48cfb4c29527a13f881a53dbb99f06ff9b677195",
	"15-approvals":      "67dad1e0b952ae25cf95c2ad33cacf7b51435f1d65a70973bb4bdf124f560584",
	"2-sessions":        "47cf09b8b4dc6c9c87ba3e6eeb8199ed73081c121995a1f7aa34321ee7db85da",
	"3-runs":            "80f10a677fdece1e24b6736d055bebccbd7f594982ca8d89d73490b0f6041060",
	"4-flows":           "98a361f3f5c8b0c513e9a2ce78fce1cc1bca0967293baec60f28f9776a29eb05",
	"5-tasks":           "0aae8bf397ccb92332edb59031f67b08d09971038ccf92d3fb96511c8f5c57f2",
	"6-continuation":    "c715cc9d5da2a49508ceeedb5855223f0c6f678fe3cc734ede1c38bb19189a06",
	"7-discord":         "52c035790689ff865ef7ee31f44c63343a498680c4ff45ba9999fe68e0c5b9e0",
	"8-redacted":        "ea1a6e8e734369599ed1d5c518775aea69b8b2319f05c417a929ae5b77498512",
	"10-pairing":        "e58eed2f78a004612bfde9897096364056a4914599a22c896ad8999e223d3cf7",
	"11-edits":          "9c8623bd8752b8ba67f75a8ee136b1f7ab50de0be653f52fa0c5d27b5ae1d490",
	"12-reactions":      "bca3856ee816b75569226bea21d4989305970e5cad838226ee662bbd13edddaf",
	"13-commands":       "2a94cfc18fda04d41a382da709dc9cd92e9ab70fdcac0bce9e6004a84986c027",
	"9-collab-messages": "a06e7aadfea1e117f07f6bcf0e1e897e4239afab09f03f3e90aa99a230d0d852",
}

func goldenPath(name string) string { return filepath.Join("..", "testdata", "golden", name) }

// Lines give the same events with the same ids for ever, or importing a log again would double it.
func TestGoldenLinesGiveTheSameEvents(t *testing.T) {
	t.Parallel()
	lines, err := filepath.Glob(goldenPath("*.lines"))
	if err != nil || len(lines) == 0 {
		t.Fatalf("no lines, %v", err)
	}
	for _, path := range lines {
		name := strings.TrimSuffix(filepath.Base(path), ".lines")
		b := setupGolden(t)
		if _, err := goldenImporter(b).Import(t.Context(), bytes.NewReader(readGolden(t, name+".lines")), "coordination-events.ndjson"); err != nil {
			t.Fatal(err)
		}
		log := b.export(t)
		if *update {
			addGolden(t, name+".ndjson", []byte(log))
		}
		wantSame(t, "events of "+name, strings.Split(log, "\n"), strings.Split(string(readGolden(t, name+".ndjson")), "\n"))
	}
}

// What openclawd produces is recorded in every version that it ever had.
func TestGoldenLogsHoldEveryTypeInEveryVersion(t *testing.T) {
	t.Parallel()
	if *update {
		recordGolden(t, "1-every-type.ndjson", everyType(t))
		recordGolden(t, "2-sessions.ndjson", sessionHistory(t))
		recordGolden(t, "3-runs.ndjson", runHistory(t))
		recordGolden(t, "4-flows.ndjson", flowHistory(t))
		recordGolden(t, "5-tasks.ndjson", taskHistory(t))
		recordGolden(t, "6-continuation.ndjson", continuationHistory(t))
		recordGolden(t, "7-discord.ndjson", discordHistory(t))
		recordGolden(t, "8-redacted.ndjson", redactedHistory(t), redactedSeqs...)
		recordGolden(t, "9-collab-messages.ndjson", collabHistory(t))
		recordGolden(t, "13-commands.ndjson", commandHistory(t))
		recordGolden(t, "10-pairing.ndjson", pairingHistory(t))
		recordGolden(t, "11-edits.ndjson", editHistory(t))
		recordGolden(t, "12-reactions.ndjson", reactionHistory(t))
		recordGolden(t, "14-schedules.ndjson", cronHistory(t))
		recordGolden(t, "15-approvals.ndjson", approvalHistory(t))
		recordGolden(t, "16-migrations.ndjson", migrationHistory(t))
	}
	type version struct {
		typ string
		ver int
	}
	held := map[version]bool{}
	for name := range goldenLogs {
		for line := range strings.Lines(string(readGolden(t, name+".ndjson"))) {
			parsed, rejection := ndjson.ParseLine([]byte(line))
			if rejection != nil || parsed.Exported == nil {
				t.Fatalf("%s: no exported event: %.200s", name, line)
			}
			if e := parsed.Exported; e.Actor != eventstore.ActorImport {
				held[version{e.Type, e.Ver}] = true
			}
		}
	}
	upcasters := eventstore.Upcasters(coordination.Upcasters())
	for _, info := range coordination.Catalogue() {
		for ver := 1; ver <= upcasters.Version(info.Type); ver++ {
			if !held[version{info.Type, ver}] {
				t.Errorf("no golden log holds %s of version %d: record it in a new file (see testdata/golden/README.md)", info.Type, ver)
			}
		}
	}
}

// goldenTime is what the clock showed when the golden logs of this version were made.
var goldenTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// setupGolden is a log whose clock stands still and whose chance is always the same.
func setupGolden(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{path: filepath.Join(t.TempDir(), "golden.db"), defs: definitions(), now: func() time.Time { return goldenTime }}
	b.open(t, sqlite.Options{Random: rand.NewChaCha8([32]byte{1})})
	t.Cleanup(func() { b.close(t) })
	return b
}

// recordGolden makes a log of events unless it is there. The payloads of some of them are blanked at the end.
func recordGolden(t *testing.T, name string, appends []eventstore.StreamAppend, redacted ...int64) {
	t.Helper()
	b := setupGolden(t)
	for _, a := range appends {
		if _, err := b.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, seq := range redacted {
		if err := b.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	addGolden(t, name, []byte(b.export(t)))
}

// goldenImporter imports as the program does.
func goldenImporter(b *bundle) *ndjson.Importer {
	return ndjson.New(ndjson.Options{Log: b, Restorer: b, Stream: streamOf,
		Reject: func(file string, line int64, r ndjson.Rejection) (string, json.RawMessage) {
			data, err := json.Marshal(coordination.ImportRejected{
				Context: coordination.Context{EventRole: coordination.RoleObservability}, File: file, Line: line, Reason: string(r.Reason),
				Text: coordination.Mask(r.Text), Bytes: r.Bytes, SHA256: r.SHA256.String(),
			})
			if err != nil {
				panic(err)
			}
			return coordination.TypeImportRejected, data
		},
	})
}

func streamOf(typ, agentID string, data, original []byte) string {
	r := coordination.ReadRecord(rules, typ, agentID, 0, 0, data, original)
	return coordination.StreamOf(&r)
}

func (b *bundle) export(t testing.TB) string {
	t.Helper()
	var text strings.Builder
	if _, err := ndjson.Export(t.Context(), b, &text, ndjson.ExportOptions{Format: ndjson.FormatFull}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeGolden(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(goldenPath(name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// addGolden makes a file unless it is there: what was released stays.
func addGolden(t testing.TB, name string, text []byte) {
	t.Helper()
	if _, err := os.Stat(goldenPath(name)); err != nil {
		writeGolden(t, name, text)
		t.Logf("made %s: list it in goldenLogs with the hash of its last event", name)
	}
}
