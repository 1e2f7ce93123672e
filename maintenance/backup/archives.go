package backup

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Archives lists the archive files that a copy needs beside it: payloads that were moved out of the database are not
// in the copy.
type Archives struct {
	Dir   string    `json:"dir"` // where they lay when the copy was made; "" if unknown
	Files []Archive `json:"files"`
}

// Archive is one of these files.
type Archive struct {
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	There  bool   `json:"there"` // it lay in Dir, with its manifest
}

// readArchives lists what was archived according to the log of a copy; nil for nothing.
func readArchives(ctx context.Context, db *sqlite.DB) (a *Archives, err error) {
	err = db.View(ctx, func(tx *sql.Tx) error {
		list, err := database.Archived(ctx, tx)
		for _, x := range list {
			if a == nil {
				a = &Archives{}
			}
			if i := slices.IndexFunc(a.Files, func(f Archive) bool { return f.First == x.First && f.Last == x.Last }); i >= 0 {
				a.Files = slices.Delete(a.Files, i, i+1)
			}
			a.Files = append(a.Files, Archive{First: x.First, Last: x.Last, File: x.File, SHA256: x.SHA256})
		}
		return err
	})
	return a, err
}

// locate marks the archives that lie beside the copied log, under their present names.
func (a *Archives) locate(log Source) {
	db, ok := log.(*sqlite.DB)
	if a == nil || !ok {
		return
	}
	dir := database.Archives(db)
	a.Dir = dir.Path()
	list, _ := dir.List() // an unreadable one counts as missing
	for i := range a.Files {
		f := &a.Files[i]
		at := slices.IndexFunc(list, func(m archive.Manifest) bool { return m.First == f.First && m.Last == f.Last })
		if at < 0 {
			continue
		}
		f.File, f.SHA256 = list[at].File, list[at].SHA256
		_, err := os.Stat(filepath.Join(a.Dir, f.File))
		f.There = err == nil
	}
}
