//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package projections_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/projections"
)

// Every golden log is restored, byte by byte, and gives the tables that it gave when it was recorded, live and rebuilt.
//
// Promise: old-logs
func TestGoldenLogsGiveTheSameTables(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(goldenPath("*.ndjson"))
	if err != nil || len(files) != len(goldenLogs) {
		t.Errorf("%d files for %d golden logs, %v", len(files), len(goldenLogs), err)
	}
	for name, head := range goldenLogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := readGolden(t, name+".ndjson")
			b := setup(t, definitions()...)
			report, err := goldenImporter(b).Import(t.Context(), bytes.NewReader(log), name)
			if err != nil || report.Restored != report.Lines {
				t.Fatalf("%d of %d lines restored, %v", report.Restored, report.Lines, err)
			}
			if _, err := b.Verify(t.Context(), false, nil); err != nil {
				t.Error(err)
			}
			if at, err := b.Head(t.Context()); err != nil || at.Hash.String() != head {
				t.Errorf("the log ends with %s, released as %s, %v", at.Hash, head, err)
			}
			if text := b.export(t); text != string(log) {
				t.Errorf("exported again it is %d bytes, was %d", len(text), len(log))
			}
			for name, s := range b.statuses(t) {
				if s.State != projections.Live {
					t.Errorf("projection %s is %s at %d: %s", name, s.State, s.ParkedSeq, s.ParkedError)
				}
			}
			tables := b.dump(t)
			if *update {
				writeGolden(t, name+".tables", []byte(strings.Join(tables, "\n")+"\n"))
			}
			want := strings.Split(strings.TrimSuffix(string(readGolden(t, name+".tables")), "\n"), "\n")
			wantSame(t, "tables; if that is meant, run this test with -update", tables, want)
			b.rebuild(t, projections.RebuildOptions{})
			wantSame(t, "tables rebuilt", b.dump(t), want)
		})
	}
}
