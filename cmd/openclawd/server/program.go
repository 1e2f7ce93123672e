// Package server is the whole server: program.go wires the log, its projections and everything that goes on beside answering the
// Task-Monitor API; each of these services has a file, the gateway too.
package server

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/overrides"
	"github.com/pronto-lab/openclawd/cmd/openclawd/redaction"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/cmd/openclawd/watch"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/search"
)

// limits say what is done before the API answers, so that the first answer is complete. Anything larger is done while it answers.
type limits struct {
	importFirstBytes   int64 // of what the logs have that is not stored, into an empty database
	reimportFirstBytes int64 // the same, into one that holds something already
	rebuildFirstEvents int64 // in the log

	chainSettle time.Duration // before the first check of the chain, which comes while it answers

	readHeaderTime, readTime time.Duration // for a request's header, and for all of it
}

func defaultLimits() limits {
	return limits{importFirstBytes: 64 << 20, reimportFirstBytes: 4 << 20, rebuildFirstEvents: 20_000,
		chainSettle:    chainSettle,
		readHeaderTime: 10 * time.Second, readTime: 30 * time.Second}
}

// drainTime is how long requests under way may take to finish once the program is told to end.
const drainTime = 5 * time.Second

// Options of a Program. All fields are required unless they say otherwise.
type Options struct {
	StateDir   string // of OpenClaw; need not exist
	DB         string
	API        string // host:port; port 0 takes any free one; "": as Getenv and the configuration say
	Gateway    string // likewise, or settings.NoGateway; with Follow none is opened
	Follow     bool   // another gateway produces the events of StateDir
	Mirror     bool   // our own events go on into the coordination log of StateDir; not together with Follow
	Rules      coordination.Rules
	Now        func() time.Time
	Logger     *slog.Logger
	Hosts      []string // further names under which the API may be asked; may be empty
	Durability sqlite.Durability
	Backups    BackupOptions
	Verify     time.Duration       // from one check of the chain to the next; 0: never
	DiscordAPI string              // a server that bots talk to instead of Discord; "" for Discord
	ControlUI  string              // the files of a Control UI to serve on the gateway's port; "" for none
	Getenv     func(string) string // gives environment variables, "" for one that is not set; nil: none is set
	Reload     <-chan os.Signal    // has the configuration read again; may be nil

	// Ready is called once, when the API and the gateway are about to answer; gateway is nil where none is open. It may be nil.
	Ready func(api, gateway net.Addr)

	Supervisor Supervisor // is told how the program goes; the zero value is nobody
}

// Program is the whole server: the log, its projections, the import of what is there already, the API and the gateway.
//
// Run does everything; Close gives everything back and may be called at any time, more than once, and without Run.
type Program struct {
	opts   Options
	limits limits
	log    *sqlite.DB
	engine *projections.Engine

	config    *liveConfig
	settings  settings.Settings // as they were at the start
	reachable bool              // by other machines

	monitor   *monitor.Server
	gateway   *gatewayPort // nil where none is open
	agents    *agents      // nil where another gateway produces
	taskFiles *taskFiles   // likewise
	logs      *keptLog
	watcher   *watch.Watcher
	follower  *ndjson.Follower
	mirror    *ndjson.Mirror // nil where nothing is mirrored
	overrides *overrides.Sync
	search    *search.Index  // nil where its file cannot be used
	sql       monitor.SQL    // nil where it is off
	reads     *budget.Budget // what answers of API and gateway may hold together
	importing importState
	backups   *backup.Schedule
	past      pastMoments
	redactor  *redaction.Redactor
	chain     *chainCheck

	discordFigures *discordFigures
	notifier       notifier

	address   string // at which the API answers
	startedAt time.Time

	searchFile *sqlite.Side  // nil where there is none
	searchErr  error         // why there is no search
	caughtUp   chan struct{} // closed when nothing is left to import or to rebuild
}

// New returns a program that has not touched anything yet.
func New(opts Options) *Program {
	logs := &keptLog{most: keptLogBytes}
	opts.Logger = keepLog(opts.Logger, logs)
	p := &Program{opts: opts, limits: defaultLimits(), logs: logs, reads: budget.New(budget.Default), discordFigures: newDiscordFigures(), caughtUp: make(chan struct{})}
	p.config = newLiveConfig(settings.File(opts.StateDir), opts.getenv, opts.Logger.With("component", "config"))
	p.notifier = notifier{opts.Supervisor, opts.Logger}
	return p
}

// Run serves until ctx ends, then stops listening, lets requests under way finish and returns nil. Its errors say why it could not
// begin or go on: *eventstore.LockedError, *settings.Error for an address that cannot be bound, and what opening the log returns.
func (p *Program) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while it was still beginning
	}
	return err
}

func (p *Program) run(ctx context.Context) error {
	if err := p.configure(); err != nil {
		return err
	}
	p.notifier.starting("opens the log")
	if err := p.open(ctx); err != nil {
		return err
	}
	listener, err := listen(ctx, &p.settings)
	if err != nil {
		return err
	}
	defer listener.Close() // serve has closed it, unless run ends before
	if err := p.openGateway(ctx); err != nil {
		return err
	}
	if p.gateway != nil {
		defer p.gateway.listener.Close() // as for the API's
		defer p.gateway.closePage()
	}
	p.reachable = settings.Reachable(listener.Addr())
	p.address, p.startedAt = listener.Addr().String(), p.opts.Now()
	gatewayAt := ""
	if at := p.gatewayAddress(); at != nil {
		gatewayAt = at.String()
	}
	if err := p.log.SetOwner(database.Server(p.address, gatewayAt)); err != nil {
		p.opts.Logger.Warn("commands find this server only where the configuration says that it is", "err", err)
	}
	p.notifier.starting("brings tables and logs up to date")
	later, err := p.catchUp(ctx)
	if err != nil {
		return err
	}
	p.finishRedactions(ctx)
	p.backups = p.newBackups()
	p.openSearch(ctx)
	p.openSQL(ctx)
	if err := p.openAgents(ctx); err != nil {
		return err
	}
	p.openTaskFiles(ctx)
	p.takeUpState(ctx)
	p.agents.resume(ctx)
	p.past = p.newPast()
	p.chain = p.newChainCheck()
	p.chain.look(ctx)
	p.mirror = p.newMirror()
	p.redactor = p.newRedactor()
	p.monitor = p.newMonitor()
	p.newGateway()
	p.watcher = watch.New(watch.DefaultInterval, p.opts.Logger.With("component", "watch"))
	p.overrides = p.newOverrides()
	p.overrides.Look(ctx)
	return p.runServices(ctx, append([]service{
		{"catching up", func(ctx context.Context) error {
			defer close(p.caughtUp)
			for _, job := range later {
				job(ctx)
			}
			return nil
		}},
		{"API", func(ctx context.Context) error { return p.serve(ctx, listener) }},
	}, p.services()...), p.writers())
}

// Close gives back the logs that were read, the search file and, last, the log. What was acknowledged is on disk.
func (p *Program) Close() error {
	if p.log == nil {
		return nil
	}
	if p.follower != nil {
		p.follower.Close() // Run has, unless it ended while it was still beginning
	}
	return errors.Join(p.closePast(), p.closeSearch(), p.log.Close())
}

func (p *Program) open(ctx context.Context) (err error) {
	p.log, err = sqlite.Open(ctx, sqlite.Options{
		Path: p.opts.DB, Owner: database.Server(p.settings.API.Value, ""), Durability: p.opts.Durability, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "eventstore"),
		Payloads: database.Payloads(p.opts.DB),
	})
	if err != nil {
		return database.OpenError(p.opts.DB, err)
	}
	if err := p.log.Warm(ctx); err != nil {
		return err
	}
	p.engine, err = projections.Start(ctx, p.log, database.Projections(p.opts.Rules), projections.Options{
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
	if err := p.settlePatch(ctx); err != nil {
		p.config.logger.Error("whether the file of the configuration was changed at the end is not in the log yet", "err", err)
	}
	if err := p.applyTeam(ctx); err != nil {
		return nil, err
	}
	later = append(later, p.catchUpLogs(ctx, head.Seq == 0)...)
	return later, ctx.Err()
}

// stale lists the projections to rebuild: those made by another version of the code or with other rules. One that this very version
// had to park would be parked again; it waits for somebody to look at it.
func (p *Program) stale(ctx context.Context) (names []string, err error) {
	ours := map[string]string{}
	for _, d := range database.Projections(p.opts.Rules) {
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

// listen binds the API's address. What a name stands for may have changed since the settings were checked.
func listen(ctx context.Context, s *settings.Settings) (net.Listener, error) {
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", s.API.Value)
	if err != nil {
		return nil, &settings.Error{Setting: s.API.Source, Value: s.API.Value, Err: err,
			Mend: "name another address, e.g. --api 127.0.0.1:0 for any free port, or stop what listens there"}
	}
	if err := s.CheckReach(listener.Addr()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
