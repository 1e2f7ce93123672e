package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

// facts are how everything stands at one moment. Readiness, metrics and status are made from them. Taking them reads some dozen rows
// and looks at some files; nothing is read through.
type facts struct {
	at       time.Time
	head     int64
	tables   []projections.Status
	badLines int64
	doubts   index.Doubts
	gauges   sqlite.Gauges
	err      error // why the rows could not be read
	lost     error // why what is appended would not be kept
	linked   bool  // the file of the log has another name too

	importing bool
	following bool
	follow    followStatus
	mirror    mirrorState
	search    *monitor.SearchState    // nil: there is no search
	taskFiles *monitor.TaskFilesState // nil: another gateway keeps them
	push      push.Stats
	gateway   *gatewayFacts // nil: none is open
	lanes     []work.Lane
	heads     []work.Head
	runs      map[run.State]int64
	flows     flowFacts
	going     *goingFacts    // nil: another gateway keeps agents going, or the rows cannot be read
	capacity  map[string]int // of the pools of the configuration
	agents    *agentFacts    // nil: none answer here
	discord   discordFacts
	backup    backup.State
	overdue   bool // the newest backup is too old
	config    configStatus
	chain     chainState
	redaction string // why what was redacted is not forgotten everywhere
	overrides string // why the file of category overrides is not what the log holds
	free      int64  // bytes, where the database lies
	freeKnown bool
}

func (p *Program) facts(ctx context.Context) *facts {
	f := &facts{
		at: p.opts.Now(), gauges: p.log.Gauges(), following: p.opts.Follow, follow: p.followStatus(), mirror: p.mirrorStatus(ctx),
		search: p.searchState(), taskFiles: p.taskFilesState(ctx), push: p.monitor.PushStats(), gateway: p.gatewayFacts(), backup: p.backups.State(), overdue: p.backups.Overdue(),
		config: p.configStatus(), overrides: p.overrides.Problem(), redaction: p.redactor.Failing(), chain: p.chain.State(),
	}
	if a := p.agents; a != nil {
		f.agents, f.capacity = &agentFacts{a.worker.Stats(), a.runner.Stats(), a.tools.Stats()}, map[string]int{}
		f.discord.bots = a.discord.bots.Status()
		for name, pool := range f.agents.worker.Pools {
			if pool.Capacity > 0 {
				f.capacity[name] = pool.Capacity
			}
		}
	}
	f.lost, f.linked = p.log.Intact(), p.log.Names() > 1
	f.free, f.freeKnown = backup.Free(filepath.Dir(p.log.Path()))
	_, _, f.importing = p.importing.progress()
	f.err = p.log.View(ctx, func(tx *sql.Tx) error { return f.read(ctx, tx) })
	return f
}

func (f *facts) read(ctx context.Context, tx *sql.Tx) (err error) {
	if f.tables, err = projections.List(ctx, tx); err != nil {
		return fmt.Errorf("list projections: %w", err)
	}
	for _, t := range f.tables {
		f.head = max(f.head, t.Seq+t.Lag)
	}
	if f.badLines, err = index.CountInternal(ctx, tx, coordination.TypeImportRejected); err != nil {
		return fmt.Errorf("count bad lines: %w", err)
	}
	if f.doubts, err = index.CountDoubts(ctx, tx); err != nil {
		return fmt.Errorf("count doubts: %w", err)
	}
	if f.lanes, err = work.Lanes(ctx, tx); err != nil {
		return err
	}
	if f.heads, err = work.Heads(ctx, tx); err != nil {
		return err
	}
	if f.runs, err = runs.Count(ctx, tx); err != nil {
		return err
	}
	if err := f.readDiscord(ctx, tx); err != nil {
		return err
	}
	if err := f.flows.read(ctx, tx); err != nil || f.following {
		return err
	}
	f.going, err = readGoing(ctx, tx, f.at)
	return err
}

// Bounds beyond which something is a reason not to be ready.
const (
	stalledAfter   = 30 * time.Second // a transaction of the writer
	logBehindBytes = 1 << 20
	searchLag      = 10_000 // events
)

// warnings are the codes of reasons that do not keep the program from being ready: what clients get is right.
var warnings = []string{"disk_low", "database_linked", "overrides_differ", "search_failing", "search_behind", "backup_failed", "backup_overdue", "work_dead", "work_unknown",
	"task_files_failing", "task_files_edited", "task_files_refused", "discord_undelivered", "redaction_failing", "chain_overdue"}

// reasons lists what keeps the program from doing its whole work, or soon may.
func (f *facts) reasons() []monitor.Reason {
	list := slices.Concat(f.databaseReasons(), f.tableReasons(), f.inputReasons(), f.backupReasons(), f.gatewayReasons(), f.workReasons(),
		f.taskFileReasons(), f.discordReasons(), f.redactionReasons(), f.chainReasons())
	for i := range list {
		list[i].Severity = monitor.SeverityError
		if slices.Contains(warnings, list[i].Code) {
			list[i].Severity = monitor.SeverityWarning
		}
	}
	return list
}

// ready reports whether no reason is an error.
func (f *facts) ready() bool {
	return !slices.ContainsFunc(f.reasons(), func(r monitor.Reason) bool { return r.Severity == monitor.SeverityError })
}

func (f *facts) databaseReasons() (list []monitor.Reason) {
	add := func(code, what, mend string) { list = append(list, monitor.Reason{Code: code, What: what, Mend: mend}) }
	if f.lost != nil {
		add(codeOf(f.lost, "database_lost"), "nothing is stored: "+f.lost.Error(), hintOf(f.lost, ""))
	}
	if f.linked {
		add("database_linked", "the database has another name too (a hard link): a program that opens it by that one does not see its write-ahead log, and damages it by writing",
			"remove the other name: find DIR -samefile FILE shows it. It is refused at the next start")
	}
	if f.err != nil && f.lost == nil {
		add("database_unreadable", "the database cannot be read: "+f.err.Error(), hintOf(f.err, "openclawd doctor says more; restore the newest backup if the file is damaged"))
	}
	if f.gauges.Failing != nil && f.lost == nil {
		add("database_failing", "the newest event could not be stored: "+f.gauges.Failing.Error(),
			hintOf(f.gauges.Failing, "free space on the volume, or mend it; appends recover by themselves"))
	}
	if f.gauges.Writing > stalledAfter {
		add("database_stalled", fmt.Sprintf("a transaction has been under way for %s", f.gauges.Writing.Round(time.Second)),
			"look at the disk: is it failing, or busy with something else?")
	}
	if f.freeKnown && f.free < database.DiskLow {
		add("disk_low", fmt.Sprintf("%s are free where the database lies", output.Bytes(f.free)), "free space: appends fail when there is none")
	}
	return list
}

// codeOf and hintOf are what an error says of itself, or else what is given.
func codeOf(err error, otherwise string) string {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return otherwise
}

func hintOf(err error, otherwise string) string {
	var coded eventstore.Coded
	if errors.As(err, &coded) && coded.Hint() != "" {
		return coded.Hint()
	}
	return otherwise
}

func (f *facts) tableReasons() (list []monitor.Reason) {
	for _, t := range f.tables {
		switch t.State {
		case projections.Parked:
			list = append(list, monitor.Reason{Code: "projection_parked",
				What: fmt.Sprintf("projection %s could not apply event %d and stands %s behind: %s", t.Name, t.ParkedSeq, output.Count(t.Lag, "event"), t.ParkedError),
				Mend: "stop the server and run openclawd projections resume " + t.Name + "; report the error"})
		case projections.Rebuilding:
			list = append(list, monitor.Reason{Code: "projection_rebuilding",
				What: fmt.Sprintf("projection %s is being made anew; its old tables answer, as of event %d", t.Name, t.Seq),
				Mend: "wait: it goes on by itself"})
		}
	}
	return list
}

func (f *facts) inputReasons() (list []monitor.Reason) {
	add := func(code, what, mend string) { list = append(list, monitor.Reason{Code: code, What: what, Mend: mend}) }
	if f.importing {
		add("importing", "logs are being imported: answers are not complete yet", "wait: GET /api/health shows how far it is")
	}
	if f.following && f.follow.LastError != "" {
		add("log_unreadable", "the log of the other gateway cannot be read: "+f.follow.LastError, "look at "+f.follow.File+"; it is tried again all the time")
	}
	if f.following && f.follow.Behind > logBehindBytes {
		add("log_behind", fmt.Sprintf("%s of the log of the other gateway are not read yet", output.Bytes(f.follow.Behind)), "wait, or look at the load of this machine")
	}
	if f.mirror.Error != "" {
		add("mirror_failing", "our events do not get into the coordination log: "+f.mirror.Error, "look at "+f.mirror.File+"; it is tried again all the time")
	}
	if f.mirror.Foreign {
		add("two_producers", "another gateway has written "+f.mirror.File+" too", "stop it, or start openclawd with --follow; then start openclawd again")
	}
	if f.config.Error != "" {
		add("config_invalid", f.config.File+" cannot be used, the last good configuration is in force: "+f.config.Error, "openclawd config check says where and what")
	}
	if f.overrides != "" {
		add("overrides_differ", "the file of category overrides is not what the log holds: "+f.overrides, "mend the file; it is looked at again at once")
	}
	if s := f.search; s != nil && s.Error != "" {
		add("search_failing", "search does not get on: "+s.Error, "look at the log; the search file may be removed while the server is stopped, it is made anew")
	}
	if s := f.search; s != nil && s.Lag > searchLag {
		add("search_behind", "search is "+output.Count(s.Lag, "event")+" behind", "wait: it catches up by itself")
	}
	return list
}

func (f *facts) backupReasons() (list []monitor.Reason) {
	switch {
	case f.backup.Error != "":
		list = append(list, monitor.Reason{Code: "backup_failed", What: "the newest backup failed: " + f.backup.Error,
			Mend: "see that " + f.backup.Dir + " can be written and has room; the next attempt is at " + f.backup.Next.Format(time.RFC3339)})
	case f.overdue:
		list = append(list, monitor.Reason{Code: "backup_overdue", What: "the newest backup is of " + f.backup.Last.Time.Format(time.RFC3339),
			Mend: "run openclawd backup create, and look at the log for why none was made"})
	}
	return list
}

func (f *facts) gatewayReasons() (list []monitor.Reason) {
	if g := f.gateway; g != nil && g.ended != nil {
		list = append(list, monitor.Reason{Code: "gateway_ended", What: "the gateway has ended, and its clients are gone: " + g.ended.Error(),
			Mend: "restart openclawd; report the error"})
	}
	return list
}

func (f *facts) workReasons() (list []monitor.Reason) {
	if a := f.agents; a != nil && a.worker.Stuck > 0 {
		list = append(list, monitor.Reason{Code: "work_stuck", What: output.Count(a.worker.Stuck, "piece") + " of work do not end although their time is over",
			Mend: "restart openclawd, and report what its log says of them"})
	}
	if a := f.agents; a != nil && len(a.worker.Unknown) > 0 {
		list = append(list, monitor.Reason{Code: "work_unknown",
			What: "there is work that this version does not know: " + strings.Join(a.worker.Unknown, ", "),
			Mend: "start the version that has asked for it, or cancel it: openclawd work cancel"})
	}
	dead := -f.discord.Undelivered // of which discordReasons tells
	for i := range f.lanes {
		dead += f.lanes[i].Dead
	}
	if dead > 0 {
		list = append(list, monitor.Reason{Code: "work_dead", What: output.Count(int64(dead), "piece") + " of work given up after too many attempts",
			Mend: "openclawd work --dead lists them, openclawd work resend and openclawd work cancel settle them"})
	}
	return list
}

// operations is what the program tells operators through the API.
func (p *Program) operations() monitor.Operations {
	return monitor.Operations{
		Reasons:   func(ctx context.Context) []monitor.Reason { return p.facts(ctx).reasons() },
		Running:   p.running,
		TaskFiles: func() *monitor.TaskFilesState { return p.taskFilesState(context.Background()) },
		Metrics:   p.metrics(),
	}
}

// absolute is a path as it stands for whoever is elsewhere.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// running is how the parts of the program stand that the log knows nothing of.
func (p *Program) running(ctx context.Context) monitor.Running {
	gauges, stats, backups, config := p.log.Gauges(), p.monitor.PushStats(), p.backups.State(), p.configStatus()
	r := monitor.Running{
		Mode: p.mode(), API: p.address, StateDir: absolute(p.opts.StateDir), StartedAt: p.startedAt, Gateway: p.gatewayState(), Search: p.searchState(),
		Clients: &monitor.ClientsState{Connected: stats.Clients, SlowCloses: stats.Dropped},
		Config:  &monitor.ConfigState{File: config.File, Valid: config.Error == ""},
		Database: &monitor.DatabaseState{File: p.log.Path(), Bytes: gauges.DatabaseBytes, WALBytes: gauges.WALBytes,
			OldestReader: gauges.OldestReader.Seconds(), Queued: gauges.QueuedEvents},
		Backup: &monitor.BackupState{Dir: backups.Dir, Every: backups.Every, Next: backups.Next, Running: backups.Running, Error: backups.Error},
	}
	if backups.Last != nil {
		r.Backup.Last, r.Backup.LastSeq = backups.Last.Time, backups.Last.Seq
	}
	r.TaskFiles, r.Chain = p.taskFilesState(ctx), p.chainStatus()
	if m := p.mirrorStatus(ctx); m.On {
		r.Mirror = &monitor.MirrorState{File: m.File, Seq: m.Seq, Lag: m.Lag, Lines: m.Lines, Foreign: m.Foreign, Error: m.Error}
	}
	if p.opts.Follow {
		f := p.followStatus()
		r.Follow = &monitor.FollowState{File: f.File, Present: f.Present, Behind: f.Behind, Lines: f.Lines, LastLine: f.LastLine, Error: f.LastError}
	}
	return r
}
