package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// home is a state directory with its database. Only newHome makes one, so no two servers ever share one unless it is
// handed from one to the next.
type home string

// newHome returns a new state directory with this openclaw.json; "" for none.
func (b *bench) newHome(config string) (home, error) {
	dir, err := b.newDir("home")
	if err == nil && config != "" {
		err = os.WriteFile(filepath.Join(dir, "openclaw.json"), []byte(config), 0o600)
	}
	return home(dir), err
}

func (h home) db() string { return filepath.Join(string(h), database.Name) }

// open opens the log of a home with all projections, as the server does.
func (h home) open(ctx context.Context) (*sqlite.DB, *projections.Engine, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: h.db()})
	if err != nil {
		return nil, nil, err
	}
	rules := coordination.RulesV2
	engine, err := projections.Start(ctx, db, database.Projections(rules), projections.Options{Rules: rules})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, engine, nil
}

// with calls do with the log of a home, open as the server has it.
func (h home) with(ctx context.Context, do func(*sqlite.DB, *projections.Engine) error) error {
	log, engine, err := h.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(log, engine), log.Close())
}

// reading calls do with the log of a home, which a server may have open.
func (h home) reading(ctx context.Context, do func(*sqlite.DB) error) error {
	log, err := sqlite.Open(ctx, sqlite.Options{Path: h.db(), ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(do(log), log.Close())
}

// withLog calls do with the log of a new home, which is removed afterwards.
func (b *bench) withLog(ctx context.Context, do func(*sqlite.DB) error) error {
	h, err := b.newHome("")
	if err != nil {
		return err
	}
	err = h.with(ctx, func(log *sqlite.DB, _ *projections.Engine) error { return do(log) })
	return errors.Join(err, os.RemoveAll(string(h)))
}

// fixtures are logs of the corpus that are made once per run, since that takes long. They are never measured: each part
// gets copies.
type fixtures struct {
	dir  string
	made map[string]bool // by file
}

const fixtureLog = "log.ndjson"

// make returns the home of a fixture, whose file has been made.
func (f *fixtures) make(events int, name string, make func(home) error) (home, error) {
	h := home(filepath.Join(f.dir, fmt.Sprintf("log-%d", events)))
	path := filepath.Join(string(h), name)
	if f.made[path] {
		return h, nil
	}
	if err := errors.Join(os.MkdirAll(string(h), 0o700), make(h)); err != nil {
		return h, err
	}
	f.made[path] = true
	return h, nil
}

// lines returns the path of a log of so many events as NDJSON, which only is to be read.
func (b *bench) lines(events int) (string, error) {
	h, err := b.logs.make(events, fixtureLog, func(h home) error {
		return newSessions(events, time.Now()).write(filepath.Join(string(h), fixtureLog), events)
	})
	return filepath.Join(string(h), fixtureLog), err
}

// filled returns a new home whose database has a log of so many events. Its configuration has the agents of these.
func (b *bench) filled(ctx context.Context, events int) (home, error) {
	path, err := b.lines(events)
	if err != nil {
		return "", err
	}
	from, err := b.logs.make(events, database.Name, func(h home) error {
		took, err := seconds(func() error {
			return h.with(ctx, func(log *sqlite.DB, _ *projections.Engine) error { return importLog(ctx, log, path) })
		})
		b.logf("built a log of %d events in %.0f s", events, took)
		return err
	})
	if err != nil {
		return "", err
	}
	to, err := b.newHome("")
	if err != nil {
		return "", err
	}
	return to, errors.Join(makeTeam(string(to)), copyFile(from.db(), to.db()))
}

// searchable is filled with the search file, so that feeding it does not disturb a measurement.
func (b *bench) searchable(ctx context.Context, events int) (home, error) {
	to, err := b.filled(ctx, events)
	if err != nil {
		return "", err
	}
	from, err := b.logs.make(events, database.SearchFile(database.Name), func(h home) error {
		rate, err := feed(ctx, h, database.SearchFile(h.db()))
		b.logf("fed the search file of %d events, %.0f a second", events, rate)
		return err
	})
	if err != nil {
		return "", err
	}
	return to, copyFile(database.SearchFile(from.db()), database.SearchFile(to.db()))
}

// copyFile copies a file to a new one and waits until it is on disk, so that this does not slow down what is measured.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Sync(), target.Close())
}
