//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package archiving_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/projections"
)

// Archived events are read, exported, verified, folded and imported as before.
//
// Promise: archives
func TestArchivedLogIsReadAsBefore(t *testing.T) {
	t.Parallel()
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := open(t, filepath.Join(dir, database.Name))
			b.golden(t, name)
			last := b.head(t)
			events, text := b.all(t, last), b.export(t, last)

			done := b.archive(t, 1, last/2)
			more := b.archive(t, last/2+1, last)
			if len(done.Archives) != 1 || more.Blanked == 0 || b.full(t, last) != 0 {
				t.Fatalf("%+v, %+v; %d payloads are still in the file", done, more, b.full(t, last))
			}
			if _, err := os.Stat(filepath.Join(dir, "archive", more.Archives[0].File)); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(events, b.all(t, last)); diff != "" {
				t.Errorf("events (-before +archived):\n%s", diff)
			}
			if b.export(t, last) != text {
				t.Error("the export differs from before")
			}
			b.wantEachWay(t, events)
			proof, err := b.Verify(t.Context(), false, nil)
			if err != nil || proof.Archived != done.Blanked+more.Blanked {
				t.Errorf("verify: %+v, %v; want %d archived", proof, err, done.Blanked+more.Blanked)
			}

			tables := b.dump(t)
			if err := b.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tables, b.dump(t)); diff != "" {
				t.Errorf("tables (-before +rebuilt from archives):\n%s", diff)
			}
			whole := b.whole(t, filepath.Join(dir, "whole.db"))
			if proof, err := whole.Verify(t.Context(), false, nil); err != nil || proof.Archived != 0 {
				t.Errorf("restored: %+v, %v; want nothing archived", proof, err)
			}
			if diff := cmp.Diff(tables, whole.dump(t)); diff != "" {
				t.Errorf("tables (-archived +restored):\n%s", diff)
			}
			wantSamePast(t, b, whole, last/3)

			again, err := database.NewImporter(b.DB, slog.New(slog.DiscardHandler), nil).Import(t.Context(), strings.NewReader(text), name)
			if err != nil || again.New != 0 {
				t.Errorf("imported again: %d new, %v; want none", again.New, err)
			}
		})
	}
}

func TestAnswersFromArchivesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := open(t, filepath.Join(dir, database.Name))
			b.golden(t, name)
			b.archive(t, 1, b.head(t))
			whole, archived := asker(b.whole(t, filepath.Join(dir, "whole.db"))), asker(b)
			compared, differ := 0, []string{}
			monitortest.Record(t, func(path string) (int, http.Header, []byte) {
				status, header, body := whole(path)
				gotStatus, _, got := archived(path)
				if compared++; gotStatus != status || !bytes.Equal(got, body) {
					bySQL := slices.ContainsFunc(readBySQL, func(below string) bool { return strings.HasPrefix(path, below) })
					if differ = append(differ, path); !bySQL {
						t.Errorf("GET %s: %s", path, cmp.Diff(string(body), string(got)))
					}
				}
				return status, header, body
			}, "the")
			if compared < 40 {
				t.Errorf("%d answers were compared", compared)
			}
			t.Logf("%d answers, %d by SQL without their texts: %v", compared, len(differ), differ)
		})
	}
}
