package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pronto-lab/openclawd/cmd/openclawd/watch"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
)

// limits say what is done before the API answers, so that the first answer is complete. Anything larger is done while it answers.
type limits struct {
	importFirstBytes   int64 // of all logs, into an empty database
	reimportFirstBytes int64 // of all logs, into one that holds an import already
	rebuildFirstEvents int64 // in the log
}

func defaultLimits() limits {
	return limits{importFirstBytes: 64 << 20, reimportFirstBytes: 4 << 20, rebuildFirstEvents: 20_000}
}

// drainTime is how long requests under way may take to finish once the program is told to end.
const drainTime = 5 * time.Second

// Options of a Program. All fields are required unless they say otherwise.
type Options struct {
	StateDir   string // of OpenClaw; need not exist
	DB         string
	API        string // host:port; port 0 takes any free one
	Follow     bool   // another gateway produces the events of StateDir
	Rules      coordination.Rules
	Now        func() time.Time
	Logger     *slog.Logger
	Hosts      []string // further names under which the API may be asked; may be empty
	Durability sqlite.Durability
	Ready      func(api net.Addr) // called once, when the API answers; may be nil
}

// Program is the whole server: the log, its projections, the import of what is there already, and the API.
//
// Run does everything; Close gives everything back and may be called at any time, more than once, and without Run.
type Program struct {
	opts   Options
	limits limits
	log    *sqlite.DB
	engine *projections.Engine

	monitor   *monitor.Server
	watcher   *watch.Watcher
	importing importState

	caughtUp chan struct{} // closed when nothing is left to import or to rebuild
}

// New returns a program that has not touched anything yet.
func New(opts Options) *Program {
	return &Program{opts: opts, limits: defaultLimits(), caughtUp: make(chan struct{})}
}

// Run serves until ctx ends, then stops listening, lets requests under way finish and returns nil. Its errors say why it could not
// begin or go on: *eventstore.LockedError, *configError for an address that cannot be bound, and what opening the log returns.
func (p *Program) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while it was still beginning
	}
	return err
}

func (p *Program) run(ctx context.Context) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	listener, err := listen(ctx, p.opts.API)
	if err != nil {
		return err
	}
	defer listener.Close() // serve has closed it, unless run ends before
	later, err := p.catchUp(ctx)
	if err != nil {
		return err
	}
	p.monitor = p.newMonitor()
	p.watcher = watch.New(watch.DefaultInterval, p.opts.Logger.With("component", "watch"))
	services, ctx := errgroup.WithContext(ctx)
	services.Go(func() error {
		defer close(p.caughtUp)
		for _, job := range later {
			job(ctx)
		}
		return nil
	})
	services.Go(func() error { return p.serve(ctx, listener) })
	for _, s := range p.services() {
		services.Go(func() error {
			if err := s.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			return nil
		})
	}
	return services.Wait()
}

// Close closes the log. What was acknowledged is on disk.
func (p *Program) Close() error {
	if p.log == nil {
		return nil
	}
	return p.log.Close()
}

func (p *Program) open(ctx context.Context) (err error) {
	p.log, err = sqlite.Open(ctx, sqlite.Options{
		Path: p.opts.DB, Owner: "serve on " + p.opts.API, Durability: p.opts.Durability, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "eventstore"),
	})
	if err != nil {
		return openError(p.opts.DB, err)
	}
	p.engine, err = projections.Start(ctx, p.log, definitions(p.opts.Rules), projections.Options{
		Rules: p.opts.Rules, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "projections"),
	})
	return err
}

// catchUp brings tables and log up to date as far as that is quickly done, and returns what is left to do while the API answers.
func (p *Program) catchUp(ctx context.Context) (later []func(context.Context), err error) {
	stale, err := p.stale(ctx)
	if err != nil {
		return nil, err
	}
	head, err := p.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case len(stale) == 0:
	case head.Seq < p.limits.rebuildFirstEvents:
		p.rebuild(ctx, projections.RebuildOptions{Names: stale})
	default:
		later = append(later, func(ctx context.Context) { p.rebuild(ctx, projections.RebuildOptions{Names: stale, Live: true}) })
	}
	if err := p.applyTeam(ctx); err != nil {
		return nil, err
	}
	logs, err := p.newLogs(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case len(logs.Files) == 0:
	case logs.bytes() < p.limits.importFirstBytes && (head.Seq == 0 || logs.bytes() < p.limits.reimportFirstBytes):
		p.tryImport(ctx, logs)
	default:
		later = append(later, func(ctx context.Context) { p.tryImport(ctx, logs) })
	}
	return later, ctx.Err()
}

// stale lists the projections to rebuild: those made by another version of the code or with other rules. One that this very version
// had to park would be parked again; it waits for somebody to look at it.
func (p *Program) stale(ctx context.Context) (names []string, err error) {
	ours := map[string]string{}
	for _, d := range definitions(p.opts.Rules) {
		ours[d.Name] = d.Version
	}
	var list []projections.Status
	err = p.log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = projections.List(ctx, tx)
		return err
	})
	for _, s := range list {
		version, known := ours[s.Name]
		switch {
		case !known || s.State == projections.Live:
		case s.State == projections.Parked && s.Version == version:
			p.opts.Logger.Warn("projection is parked: openclawd projections resume "+s.Name, "projection", s.Name, "seq", s.ParkedSeq,
				"err", s.ParkedError)
		default:
			names = append(names, s.Name)
		}
	}
	return names, err
}

// rebuild makes tables anew. If it cannot, the old ones go on answering, as old as they are.
func (p *Program) rebuild(ctx context.Context, opts projections.RebuildOptions) {
	start := p.opts.Now()
	p.opts.Logger.Info("rebuilding projections", "names", opts.Names, "live", opts.Live)
	opts.Progress = everyNow(p.opts.Now, func(done, total int64) {
		p.opts.Logger.Info("rebuilding projections", "done", done, "events", total)
	})
	switch err := p.engine.Rebuild(ctx, opts); {
	case err == nil:
		p.opts.Logger.Info("rebuilt projections", "names", opts.Names, "took", p.opts.Now().Sub(start))
	case ctx.Err() == nil:
		p.opts.Logger.Error("rebuild failed; the old tables go on answering", "names", opts.Names, "err", err)
	}
}

// applyTeam tells the log whom the configuration names. One that cannot be read changes nothing.
func (p *Program) applyTeam(ctx context.Context) error {
	path := filepath.Join(p.opts.StateDir, configName)
	team, err := readTeam(path, p.opts.Logger.With("component", "config"))
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		p.opts.Logger.Warn("configuration not applied: the team stays as it was", "err", err)
		return nil
	}
	changed, err := applyTeam(ctx, p.log, team)
	if changed {
		p.opts.Logger.Info("configuration applied", "agents", len(team.Agents), "hash", team.Hash)
	}
	return err
}

// newLogs lists the logs of the state directory, or none if they are what was imported last.
func (p *Program) newLogs(ctx context.Context) (*fingerprint, error) {
	paths, err := ndjson.Logs(p.opts.StateDir)
	if err != nil {
		return nil, err
	}
	logs, err := takeFingerprint(paths)
	if err != nil {
		return nil, err
	}
	known, err := logs.imported(ctx, p.log, fingerprintPath(p.opts.DB))
	if err != nil {
		return nil, err
	}
	if known {
		p.opts.Logger.Debug("logs unchanged since the last import", "files", len(paths))
		logs.Files = nil
	}
	return logs, nil
}

// importState is how far the import of logs is, in bytes. The API shows it while an import runs.
type importState struct{ done, total atomic.Int64 }

func (s *importState) progress() (done, total int64, running bool) {
	total = s.total.Load()
	return s.done.Load(), total, total > 0
}

// tryImport imports what it can. A log that cannot be read, or a disk that is full, is no reason not to serve what is there.
func (p *Program) tryImport(ctx context.Context, logs *fingerprint) {
	if err := p.importLogs(ctx, logs); err != nil && ctx.Err() == nil {
		p.opts.Logger.Error("import ended early; the next start goes on with it", "err", err)
	}
}

func (p *Program) importLogs(ctx context.Context, logs *fingerprint) error {
	start := p.opts.Now()
	p.importing.total.Store(logs.bytes())
	defer p.importing.total.Store(0)
	note := everyNow(p.opts.Now, func(done, total int64) {
		p.opts.Logger.Info("importing logs", "bytes", done, "of", total)
	})
	var before int64 // bytes of the files that are done
	file := 1
	importer := newImporter(p.log, p.opts.Logger.With("component", "import"), func(at ndjson.Progress) {
		if at.File != file {
			before += logs.Files[file-1].Size
			file = at.File
		}
		p.importing.done.Store(before + at.Bytes)
		note(before+at.Bytes, logs.bytes())
	})
	report, err := importer.ImportFiles(ctx, logs.paths())
	if err != nil {
		return err
	}
	total := report.Total()
	p.opts.Logger.Info("imported logs", "files", len(logs.Files), "lines", total.Lines, "new", total.New, "duplicates", total.Duplicates,
		"rejected", total.RejectedLines(), "took", p.opts.Now().Sub(start))
	if err := logs.save(ctx, p.log, fingerprintPath(p.opts.DB)); err != nil {
		p.opts.Logger.Warn("import not noted: the next start reads the logs again", "err", err)
	}
	return nil
}

// everyNow passes on what it is told, at most every two seconds.
func everyNow(now func() time.Time, tell func(done, total int64)) func(done, total int64) {
	const pause = 2 * time.Second
	last := now()
	return func(done, total int64) {
		if at := now(); at.Sub(last) >= pause {
			last = at
			tell(done, total)
		}
	}
}

// listen binds the API's address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &configError{setting: "--api", value: address, err: err,
			mend: "name another address, e.g. 127.0.0.1:0 for any free port, or stop what listens there"}
	}
	return listener, nil
}
