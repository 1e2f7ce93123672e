// Package server runs the server: program.go wires the log, its projections and all services beside the Task-Monitor
// API. Each service, such as the gateway, has a file of its own.
package server

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/internal/watch"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/redact"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/overrides"
)

// limits bound the work done before the API answers, so that the first answer is complete. Larger work is done while
// it answers.
type limits struct {
	importFirstBytes   int64 // bytes of logs to import, into an empty database
	reimportFirstBytes int64 // likewise, into one that is not empty
	rebuildFirstEvents int64 // events in the log

	chainSettle time.Duration // delay of the first chain verification

	transcriptBytes int64 // memory for messages of transcripts that are read again

	readHeaderTime, readTime time.Duration // for a request's header, and for all of it
	drain                    time.Duration // for requests in progress during shutdown
}

func defaultLimits() limits {
	return limits{importFirstBytes: 64 << 20, reimportFirstBytes: 4 << 20, rebuildFirstEvents: 20_000,
		chainSettle:     chainSettle,
		transcriptBytes: 16 << 20,
		readHeaderTime:  10 * time.Second, readTime: 30 * time.Second, drain: drainTime}
}

// drainTime is how long requests in progress may take to finish during shutdown.
const drainTime = 5 * time.Second

// Options of a Program. All fields are required unless stated otherwise.
type Options struct {
	StateDir    string // OpenClaw's; need not exist
	DB          string
	API         string // host:port; port 0 selects a free one; "": as Getenv and the configuration say
	Gateway     string // likewise, or settings.NoGateway; with Follow none is opened
	Follow      bool   // another gateway produces the events of StateDir
	Mirror      bool   // write this program's events to the coordination log of StateDir; excludes Follow
	Rules       coordination.Rules
	Now         func() time.Time
	Logger      *slog.Logger
	Hosts       []string // additional host names accepted by the API; may be empty
	Durability  sqlite.Durability
	Backups     BackupOptions
	PastBytes   func(database int64) int64 // of states kept for answers as of earlier events, beside a database of so many bytes; nil: none
	Verify      time.Duration              // interval of chain verification; 0: never
	DiscordAPI  string                     // a server to use in place of Discord; "" for Discord
	TelegramAPI string                     // likewise for Telegram
	SlackAPI    string                     // likewise for Slack
	NoUI        bool                       // do not serve Task-Hub
	SampleWork  time.Duration              // time between pieces of work that the sample team gets; 0: it gets none
	ControlUI   string                     // the files of a Control UI to serve on the gateway's port; "" for none
	Getenv      func(string) string        // returns environment variables, "" for one that is not set; nil: none is set
	Reload      <-chan os.Signal           // triggers a reload of the configuration; may be nil

	// Ready is called once, when the API and the gateway are about to answer; gateway is nil if none is open. It may
	// be nil.
	Ready func(api, gateway net.Addr)

	Supervisor Supervisor // receives status notifications; the zero value: none
}

// Program is the whole server: the log, its projections, the import of existing logs, the API and the gateway.
//
// Run does everything; Close releases everything and may be called at any time, repeatedly, and without Run.
type Program struct {
	opts   Options
	limits limits
	log    *sqlite.DB
	engine *projections.Engine

	config    *liveConfig
	settings  settings.Settings // the settings at startup
	reachable bool              // reachable from other machines

	monitor     *monitor.Server
	hub         *hub         // Task-Hub; nil if not served
	gateway     *gatewayPort // nil if not open
	agents      *agents      // nil where another gateway produces the events
	taskFiles   *taskFiles   // likewise
	logs        *logBuffer
	watcher     *watch.Watcher
	follower    *ndjson.Follower
	mirror      *ndjson.Mirror // nil where nothing is mirrored
	overrides   *overrides.Sync
	search      *search.Index   // nil if its file cannot be used
	sql         *sqlConsole     // nil if disabled
	files       *media.Store    // files of messages
	transcripts *sessions.Cache // messages of transcripts that agents and clients read again
	reads       *budget.Budget  // memory budget shared by answers of API and gateway
	importing   importState
	backups     *backup.Schedule
	past        *past
	redactor    *redact.Redactor
	chain       *chainCheck

	node *node        // nil: the server is no node of a cluster
	role cluster.Role // of the node while this program runs

	cluster config.Cluster // since the start of the process

	channelMetrics *channelMetrics
	notifier       supervised

	address   string // address of the API
	startedAt time.Time

	searchFile *sqlite.Side  // nil if there is none
	searchErr  error         // why there is no search
	caughtUp   chan struct{} // closed when imports and rebuilds are done
	answered   *firstAnswer
}

// New returns a program without any side effects so far.
func New(opts Options) *Program {
	logs := &logBuffer{most: keptLogBytes}
	opts.Logger = keepLog(opts.Logger, logs)
	p := &Program{opts: opts, limits: defaultLimits(), logs: logs, reads: budget.New(budget.Default), channelMetrics: newChannelMetrics(), caughtUp: make(chan struct{}), answered: newFirstAnswer()}
	p.config = newLiveConfig(settings.File(opts.StateDir), opts.getenv, opts.Logger.With("component", "config"))
	p.notifier = supervised{opts.Supervisor, opts.Logger}
	return p
}

// catchesUp waits until imports and rebuilds are done; false if ctx ends before.
func (p *Program) catchesUp(ctx context.Context) bool {
	select {
	case <-p.caughtUp:
		return true
	case <-ctx.Done():
		return false
	}
}

// Run serves until ctx ends, then stops listening, lets requests in progress finish and returns nil. Its errors say why it could not start
// or continue: *eventstore.LockedError, *config.SettingError for an address that cannot be bound, and errors of opening the log.
func (p *Program) Run(ctx context.Context) error {
	err := p.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped while still starting
	}
	return err
}

func (p *Program) run(ctx context.Context) error {
	if err := p.configure(); err != nil {
		return err
	}
	p.cluster = p.config.inForce.Cluster
	if p.cluster.On() {
		return p.runNode(ctx, &p.cluster)
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	listener, err := listen(ctx, &p.settings)
	if err != nil {
		return err
	}
	return p.serveOn(ctx, listener)
}

// serveOn serves, with an open log, until ctx ends.
func (p *Program) serveOn(ctx context.Context, listener net.Listener) error {
	defer listener.Close() // closed by serve, unless it returns earlier
	if err := p.openGateway(ctx); err != nil {
		return err
	}
	if p.gateway != nil {
		defer p.gateway.listener.Close() // likewise
		defer p.gateway.closePage()
	}
	p.reachable = settings.Reachable(listener.Addr())
	p.address, p.startedAt = listener.Addr().String(), p.opts.Now()
	gatewayAt := ""
	if at := p.gatewayAddress(); at != nil {
		gatewayAt = at.String()
	}
	if err := p.log.SetOwner(database.Server(p.address, gatewayAt)); err != nil {
		p.opts.Logger.Warn("cannot write the server's address to the lock file; commands use the configured address", "err", err)
	}
	p.notifier.starting("updating tables and logs")
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
	p.importState(ctx)
	p.agents.resume(ctx)
	p.past = p.newPast()
	p.chain = p.newChainCheck()
	p.chain.loadSaved(ctx)
	p.mirror = p.newMirror()
	p.redactor = p.newRedactor()
	p.monitor = p.newMonitor()
	p.newGateway()
	if err := p.openUI(); err != nil {
		return err
	}
	p.watcher = watch.New(watch.DefaultInterval, p.opts.Logger.With("component", "watch"))
	p.overrides = p.newOverrides()
	if !p.follows() {
		p.overrides.Check(ctx)
	}
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

// Close closes the logs, the search file and, last, the event log. Everything acknowledged is on disk.
func (p *Program) Close() error {
	if p.log == nil {
		return nil
	}
	return errors.Join(p.closeBeside(), p.log.Close())
}

// closeBeside closes what serveOn has opened beside the log.
func (p *Program) closeBeside() error {
	if p.follower != nil {
		p.follower.Close() // Run has done so, unless it returned while starting
	}
	return errors.Join(p.closePast(), p.closeSearch())
}

// open opens the log and the files beside it.
func (p *Program) open(ctx context.Context) error {
	if err := p.openLog(ctx); err != nil {
		return err
	}
	p.openBeside()
	return nil
}

// openBeside opens the files beside the log.
func (p *Program) openBeside() {
	p.files = p.openFiles()
	p.transcripts = sessions.NewCache(p.limits.transcriptBytes, p.log.Mark)
}

// openLog opens the log and starts its projections.
func (p *Program) openLog(ctx context.Context) (err error) {
	p.notifier.starting("opening the log")
	options := sqlite.Options{
		Path: p.opts.DB, Owner: database.Server(p.settings.API.Value, ""), Durability: p.opts.Durability, Now: p.opts.Now, Logger: p.opts.Logger.With("component", "eventstore"),
		Payloads: database.Payloads(p.opts.DB),
	}
	if p.node != nil {
		// A client that waits longer than the lease waits for a node that may not be the writer any more.
		options.Shared, options.SharedWait = p.node.shared, p.cluster.Lease
	}
	if p.log, err = sqlite.Open(ctx, options); err != nil {
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

// catchUp updates tables and log as far as that is quick, and returns the remaining work, to be done while the API
// answers.
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
	if p.follows() {
		p.follower = p.newFollower()
		return later, ctx.Err()
	}
	if err := p.settlePatch(ctx); err != nil {
		p.config.logger.Error("config patch from before the restart not recorded yet", "err", err)
	}
	if err := p.applyTeam(ctx); err != nil {
		return nil, err
	}
	later = append(later, p.catchUpLogs(ctx, head.Seq == 0)...)
	return later, ctx.Err()
}

// stale lists the projections to rebuild: those made by another version of the code or with other rules. One that this very version parked
// would be parked again; it waits for an operator.
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

// rebuild rebuilds tables. On failure the old ones stay in use.
func (p *Program) rebuild(ctx context.Context, opts projections.RebuildOptions) {
	start := p.opts.Now()
	p.opts.Logger.Info("rebuilding projections", "names", opts.Names, "live", opts.Live)
	opts.Progress = throttled(p.opts.Now, func(done, total int64) {
		p.opts.Logger.Info("rebuilding projections", "done", done, "events", total)
	})
	switch err := p.engine.Rebuild(ctx, opts); {
	case err == nil:
		p.opts.Logger.Info("rebuilt projections", "names", opts.Names, "took", p.opts.Now().Sub(start))
	case ctx.Err() == nil:
		p.opts.Logger.Error("rebuild failed; continuing with the old tables", "names", opts.Names, "err", err)
	}
}

// listen binds the API's address. A host name may resolve differently than when the settings were checked.
func listen(ctx context.Context, s *settings.Settings) (net.Listener, error) {
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp", s.API.Value)
	if err != nil {
		return nil, &config.SettingError{Setting: s.API.Source, Value: s.API.Value, Err: err,
			HintText: "name another address, e.g. --api 127.0.0.1:0 for any free port, or stop the process that listens there"}
	}
	if err := s.CheckReach(listener.Addr()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
