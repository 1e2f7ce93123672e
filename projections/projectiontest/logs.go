package projectiontest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
)

// templates are the files that File has made in this process, by the names and versions of their projections.
var templates sync.Map

// File gives the content of a database that has the tables of some projections and no event. Migrating a new file takes much longer than
// copying one, so each is made once per process.
func File(defs ...projections.Definition) func() ([]byte, error) {
	var key strings.Builder
	for _, d := range defs {
		key.WriteString(d.Name + " " + d.Version + "\n")
	}
	file, _ := templates.LoadOrStore(key.String(), storetest.File(func(path string) error { return makeFile(path, defs) }))
	return file.(func() ([]byte, error))
}

func makeFile(path string, defs []projections.Definition) error {
	log, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		return err
	}
	_, err = projections.Start(context.Background(), log, defs, projections.Options{Rules: coordination.RulesV2})
	return errors.Join(err, log.Close())
}

// Copy writes the file that File gives to path.
func Copy(t testing.TB, path string, defs ...projections.Definition) {
	t.Helper()
	storetest.Copy(t, File(defs...), path)
}

// New opens a log of its own, with the tables of some projections and no event. It is closed when the test ends. Without a path the file
// lies in a temporary directory; commits survive the end of the process, not a power cut, unless opts asks for more.
func New(t testing.TB, opts sqlite.Options, defs ...projections.Definition) (*sqlite.DB, *projections.Engine) {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "log.db")
	}
	Copy(t, opts.Path, defs...)
	return Open(t, opts, defs...)
}

// Open is New for a file that is there already.
func Open(t testing.TB, opts sqlite.Options, defs ...projections.Definition) (*sqlite.DB, *projections.Engine) {
	t.Helper()
	if opts.Durability == "" {
		opts.Durability = sqlite.DurabilityRelaxed
	}
	log, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	engine, err := projections.Start(context.Background(), log, defs, projections.Options{Rules: coordination.RulesV2, Now: opts.Now})
	if err != nil {
		t.Fatal(err)
	}
	return log, engine
}
