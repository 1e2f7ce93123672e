package backup_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

func TestBackupNamesItsArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, database.Name)
	atNoon := func() time.Time { return noon }
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed, Payloads: database.Payloads(path)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	fill(t, db, 90)
	if b := create(t, db, filepath.Join(dir, "backups"), noon.Add(-time.Hour)); b.Manifest.Archives != nil {
		t.Errorf("nothing is archived: %+v", b.Manifest.Archives)
	}
	for _, last := range []int64{30, 60} {
		_, err := archiving.Run(t.Context(), db, &archiving.Plan{First: last - 29, Last: last}, &archiving.Request{Now: atNoon}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := database.Archives(db).List()
	if err != nil || len(list) != 2 {
		t.Fatalf("%d archives, %v", len(list), err)
	}
	want := &backup.Archives{Dir: filepath.Join(dir, "archive"), Files: []backup.Archive{
		{First: 1, Last: 30, File: "1-30.ndjson.zst", SHA256: list[0].SHA256, There: true},
		{First: 31, Last: 60, File: "31-60.ndjson.zst", SHA256: list[1].SHA256, There: false},
	}}
	if err := os.Remove(filepath.Join(dir, "archive", "31-60.ndjson.zst")); err != nil {
		t.Fatal(err)
	}
	b := create(t, db, filepath.Join(dir, "backups"), noon)
	if diff := cmp.Diff(want, b.Manifest.Archives); diff != "" {
		t.Errorf("archives in the manifest (-want +got):\n%s", diff)
	}
	m, err := backup.Verify(t.Context(), b.File, atNoon, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m.Archives); diff != "" {
		t.Errorf("archives after another verification (-want +got):\n%s", diff)
	}
}
