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

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// facts is the state of the program at one moment, from which readiness, metrics and status are made. Collecting it reads a few dozen rows
// and checks some files; no table is scanned.
type facts struct {
	at       time.Time
	head     int64
	tables   []projections.Status
	badLines int64
	doubts   index.Doubts
	gauges   sqlite.Gauges
	err      error // why the rows could not be read
	lost     error // why appended events would not persist
	linked   bool  // the log's file has another name too

	importing bool
	following bool
	follow    followStatus
	mirror    mirrorState
	search    *health.SearchState    // nil: no search
	taskFiles *health.TaskFilesState // nil: another gateway writes them
	push      push.Stats
	gateway   *gatewayFacts // nil: not open
	lanes     []workqueue.Lane
	heads     []workqueue.Head
	runs      map[run.State]int64
	flows     flowFacts
	going     *continuationFacts // nil: another gateway continues the agents, or the rows cannot be read
	capacity  map[string]int     // of the configured pools
	agents    *agentFacts        // nil: no agents run here
	channels  channelFacts
	backup    backup.State
	overdue   bool // the newest backup is too old
	config    configStatus
	chain     chainState
	past      health.PastState
	cluster   *health.ClusterState // nil: the server is no node of one
	redaction string               // why redacted texts are not removed everywhere
	overrides string               // why the category overrides file differs from the log
	free      int64                // bytes, on the database's volume
	freeKnown bool

	workerless []workerless
}

func (p *Program) facts(ctx context.Context) *facts {
	f := &facts{
		at: p.opts.Now(), gauges: p.log.Gauges(), following: p.opts.Follow, follow: p.followStatus(), mirror: p.mirrorStatus(ctx),
		search: p.searchState(), taskFiles: p.taskFilesState(ctx), push: p.monitor.PushStats(), gateway: p.gatewayFacts(), backup: p.backups.State(), overdue: p.backups.Overdue(),
		config: p.configStatus(), overrides: p.overrides.Problem(), redaction: p.redactor.Failing(), chain: p.chain.State(), past: p.pastState(), cluster: p.clusterState(),
	}
	if a := p.agents; a != nil {
		f.agents, f.capacity = &agentFacts{a.worker.Stats(), a.runner.Stats(), a.tools.Stats(), a.mcp.States(), a.workers.Stats()}, p.capacity()
		f.channels.bots = a.bots()()
	}
	f.lost, f.linked = p.log.Intact(), p.log.Names() > 1
	f.free, f.freeKnown = backup.Free(filepath.Dir(p.log.Path()))
	_, _, f.importing = p.importing.progress()
	f.err = p.log.View(ctx, func(tx *sql.Tx) error { return f.read(ctx, tx) })
	if a := p.agents; a != nil {
		f.workerless = a.withoutWorker(p.newConfiguration().InForce(), f.lanes)
	}
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
	if f.lanes, err = workqueue.Lanes(ctx, tx); err != nil {
		return err
	}
	if f.heads, err = workqueue.Heads(ctx, tx); err != nil {
		return err
	}
	if f.runs, err = runs.Count(ctx, tx); err != nil {
		return err
	}
	if err := f.readChannels(ctx, tx); err != nil {
		return err
	}
	if err := f.flows.read(ctx, tx); err != nil || f.following {
		return err
	}
	f.going, err = readContinuation(ctx, tx, f.at)
	return err
}

// Thresholds for not being ready.
const (
	stalledAfter   = 30 * time.Second // a write transaction
	logBehindBytes = 1 << 20
	searchLag      = 10_000 // events
)

// warnings are the codes of reasons that do not affect readiness: clients get correct answers.
var warnings = []health.Code{health.CodeDiskLow, health.CodeDatabaseLinked, health.CodeOverridesDiffer, health.CodeSearchFailing, health.CodeSearchBehind, health.CodeBackupFailed, health.CodeBackupOverdue, health.CodeWorkDead, health.CodeWorkUnknown, health.CodeWorkerMissing,
	health.CodeTaskFilesFailing, health.CodeTaskFilesEdited, health.CodeTaskFilesRefused, health.CodeDiscordUndelivered, health.CodeChannelUndelivered, health.CodeRedactionFailing, health.CodeChainOverdue, health.CodeSharedUnavailable, health.CodeNodeOut}

// reasons lists what impairs the program, or soon may.
func (f *facts) reasons() []health.Reason {
	list := slices.Concat(f.databaseReasons(), f.tableReasons(), f.inputReasons(), f.backupReasons(), f.gatewayReasons(), f.workReasons(),
		f.taskFileReasons(), f.channelReasons(), f.redactionReasons(), f.chainReasons(), f.clusterReasons())
	for i := range list {
		list[i].Severity = health.SeverityError
		if slices.Contains(warnings, list[i].Code) {
			list[i].Severity = health.SeverityWarning
		}
	}
	return list
}

func (f *facts) ready() bool {
	return !slices.ContainsFunc(f.reasons(), func(r health.Reason) bool { return r.Severity == health.SeverityError })
}

func (f *facts) databaseReasons() (list []health.Reason) {
	add := func(code health.Code, what, hint string) {
		list = append(list, health.Reason{Code: code, What: what, Hint: hint})
	}
	if f.lost != nil {
		add(codeOf(f.lost, health.CodeDatabaseLost), "nothing is stored: "+f.lost.Error(), hintOf(f.lost, ""))
	}
	if f.linked {
		add(health.CodeDatabaseLinked, "the database has a second name (hard link): a program that opens it by that name does not see its write-ahead log, and would corrupt it by writing",
			"remove the other name: find DIR -samefile FILE shows it. The next start is refused otherwise")
	}
	if f.err != nil && f.lost == nil {
		add(health.CodeDatabaseUnreadable, "the database cannot be read: "+f.err.Error(), hintOf(f.err, "openclawd doctor shows details; restore the newest backup if the file is damaged"))
	}
	if f.gauges.Failing != nil && f.lost == nil {
		add(health.CodeDatabaseFailing, "the newest event could not be stored: "+f.gauges.Failing.Error(),
			hintOf(f.gauges.Failing, "free space on the volume, or repair it; appends recover without a restart"))
	}
	if f.gauges.Writing > stalledAfter {
		add(health.CodeDatabaseStalled, fmt.Sprintf("a write transaction has been running for %s", f.gauges.Writing.Round(time.Second)),
			"check whether the disk is failing or overloaded")
	}
	if f.freeKnown && f.free < database.DiskLow {
		add(health.CodeDiskLow, fmt.Sprintf("%s free on the database's volume", output.Bytes(f.free)), "free disk space: appends fail without it")
	}
	return list
}

// codeOf and hintOf return an error's own code and hint, or else the given ones.
func codeOf(err error, otherwise health.Code) health.Code {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		return health.Code(coded.Code())
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

func (f *facts) tableReasons() (list []health.Reason) {
	for _, t := range f.tables {
		switch t.State {
		case projections.Parked:
			list = append(list, health.Reason{Code: health.CodeProjectionParked, Subject: t.Name,
				What: fmt.Sprintf("projection %s could not apply event %d and is %s behind: %s", t.Name, t.ParkedSeq, output.Count(t.Lag, "event"), t.ParkedError),
				Hint: "stop the server and run openclawd projections resume " + t.Name + "; report the error"})
		case projections.Rebuilding:
			list = append(list, health.Reason{Code: health.CodeProjectionRebuilding, Subject: t.Name,
				What: fmt.Sprintf("projection %s is being rebuilt; its old tables answer, as of event %d", t.Name, t.Seq),
				Hint: "wait: the rebuild continues"})
		}
	}
	return list
}

func (f *facts) inputReasons() (list []health.Reason) {
	add := func(code health.Code, what, hint string) {
		list = append(list, health.Reason{Code: code, What: what, Hint: hint})
	}
	if f.importing {
		add(health.CodeImporting, "logs are being imported: answers are incomplete", "wait: GET /api/health shows the progress")
	}
	if f.following && f.follow.LastError != "" {
		add(health.CodeLogUnreadable, "the other gateway's log cannot be read: "+f.follow.LastError, "look at "+f.follow.File+"; retrying")
	}
	if f.following && f.follow.Behind > logBehindBytes {
		add(health.CodeLogBehind, fmt.Sprintf("%s of the other gateway's log are not read yet", output.Bytes(f.follow.Behind)), "wait, or check the load of this machine")
	}
	if f.mirror.Error != "" {
		add(health.CodeMirrorFailing, "events cannot be written to the coordination log: "+f.mirror.Error, "look at "+f.mirror.File+"; retrying")
	}
	if f.mirror.Foreign {
		add(health.CodeTwoProducers, "another gateway has written "+f.mirror.File+" too", "stop it, or start openclawd with --follow; then start openclawd again")
	}
	if f.config.Error != "" {
		add(health.CodeConfigInvalid, f.config.File+" cannot be used, the last good configuration is in force: "+f.config.Error, "openclawd config check lists the errors")
	}
	if f.overrides != "" {
		add(health.CodeOverridesDiffer, "the category overrides file differs from the log: "+f.overrides, "fix the file; the change is detected at once")
	}
	if s := f.search; s != nil && s.Error != "" {
		add(health.CodeSearchFailing, "the search index is not being updated: "+s.Error, "check the server's log; the search file may be removed while the server is stopped, it is created again")
	}
	if s := f.search; s != nil && s.Lag > searchLag {
		add(health.CodeSearchBehind, "search is "+output.Count(s.Lag, "event")+" behind", "wait: it is catching up")
	}
	return list
}

func (f *facts) backupReasons() (list []health.Reason) {
	switch {
	case f.backup.Error != "":
		list = append(list, health.Reason{Code: health.CodeBackupFailed, What: "the newest backup failed: " + f.backup.Error,
			Hint: "see that " + f.backup.Dir + " is writable and has space; the next attempt is at " + f.backup.Next.Format(time.RFC3339)})
	case f.overdue:
		list = append(list, health.Reason{Code: health.CodeBackupOverdue, What: "the newest backup is from " + f.backup.Last.Time.Format(time.RFC3339),
			Hint: "run openclawd backup create, and check the server's log for the reason"})
	}
	return list
}

func (f *facts) gatewayReasons() (list []health.Reason) {
	if g := f.gateway; g != nil && g.ended != nil {
		list = append(list, health.Reason{Code: health.CodeGatewayEnded, What: "the gateway has stopped, its clients are disconnected: " + g.ended.Error(),
			Hint: "restart openclawd; report the error"})
	}
	return list
}

func (f *facts) workReasons() (list []health.Reason) {
	if a := f.agents; a != nil && a.worker.Stuck > 0 {
		list = append(list, health.Reason{Code: health.CodeWorkStuck, What: output.Count(a.worker.Stuck, "piece") + " of work still running after their time limit",
			Hint: "restart openclawd, and report what its log says about them"})
	}
	if a := f.agents; a != nil && len(a.worker.Unknown) > 0 {
		list = append(list, health.Reason{Code: health.CodeWorkUnknown,
			What: "queued work is unknown to this version: " + strings.Join(a.worker.Unknown, ", "),
			Hint: "start the version that created it, or cancel it: openclawd work cancel"})
	}
	for i := range f.workerless {
		list = append(list, f.workerless[i].reason())
	}
	dead := -f.channels.total(func(s health.ChannelState) int { return s.Undelivered }) // reported by channelReasons
	for i := range f.lanes {
		dead += f.lanes[i].Dead
	}
	if dead > 0 {
		list = append(list, health.Reason{Code: health.CodeWorkDead, What: output.Count(int64(dead), "piece") + " of work failed for good after too many attempts",
			Hint: "openclawd work --dead lists them; use openclawd work resend or openclawd work cancel"})
	}
	return list
}

// operations is the program's state for operators, through the API.
func (p *Program) operations() monitor.Operations {
	return monitor.Operations{
		Reasons:   func(ctx context.Context) []health.Reason { return p.facts(ctx).reasons() },
		Running:   p.running,
		Capacity:  p.capacity,
		TaskFiles: func() *health.TaskFilesState { return p.taskFilesState(context.Background()) },
		Metrics:   p.metrics(),
	}
}

// capacity is how many pieces of work may run at a time, by pool.
func (p *Program) capacity() map[string]int {
	capacity := map[string]int{}
	if p.agents != nil {
		for name, pool := range p.agents.worker.Stats().Pools {
			if pool.Capacity > 0 {
				capacity[name] = pool.Capacity
			}
		}
	}
	return capacity
}

// absolute makes a path absolute for readers elsewhere.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// running is the state of those parts of the program that the log does not record.
func (p *Program) running(ctx context.Context) health.Running {
	gauges, stats, backups, config := p.log.Gauges(), p.monitor.PushStats(), p.backups.State(), p.configStatus()
	r := health.Running{
		Mode: p.mode(), API: p.address, StateDir: absolute(p.opts.StateDir), StartedAt: p.startedAt, Gateway: p.gatewayState(), Search: p.searchState(),
		Clients: &health.ClientsState{Connected: stats.Clients, SlowCloses: stats.Dropped},
		Config:  &health.ConfigState{File: config.File, Valid: config.Error == ""},
		Database: &health.DatabaseState{File: p.log.Path(), Bytes: gauges.DatabaseBytes, WALBytes: gauges.WALBytes,
			OldestReader: gauges.OldestReader.Seconds(), Queued: gauges.QueuedEvents},
		Backup: &health.BackupState{Dir: backups.Dir, Every: backups.Every, Next: backups.Next, Running: backups.Running, Error: backups.Error},
	}
	if backups.Last != nil {
		r.Backup.Last, r.Backup.LastSeq = backups.Last.Time, backups.Last.Seq
	}
	past := p.pastState()
	r.TaskFiles, r.Chain, r.Past, r.Cluster = p.taskFilesState(ctx), p.chainStatus(), &past, p.clusterState()
	if m := p.mirrorStatus(ctx); m.On {
		r.Mirror = &health.MirrorState{File: m.File, Seq: m.Seq, Lag: m.Lag, Lines: m.Lines, Foreign: m.Foreign, Error: m.Error}
	}
	if p.opts.Follow {
		f := p.followStatus()
		r.Follow = &health.FollowState{File: f.File, Present: f.Present, Behind: f.Behind, Lines: f.Lines, LastLine: f.LastLine, Error: f.LastError}
	}
	return r
}
