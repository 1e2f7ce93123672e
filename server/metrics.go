package server

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/projections"
)

// scrapeTime limits the database reads of a scrape.
const scrapeTime = 5 * time.Second

// metrics serves the Prometheus text format from the program's own registry.
func (p *Program) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	live := collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)})
	registry.MustRegister(collectors.NewGoCollector(live), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newMetricsCollector(func() *facts {
			ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
			defer stop()
			return p.facts(ctx)
		}))
	if p.agents != nil {
		registry.MustRegister(p.agents.metrics.all()...)
		registry.MustRegister(p.channelMetrics.all()...)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// metricsCollector converts the facts to metrics at the moment of a scrape: nothing is counted twice or without need.
type metricsCollector struct {
	facts func() *facts
	build *prometheus.Desc
	list  []metric
}

// metric is one metric. collect returns its values, each with label values.
type metric struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(*facts, func(value float64, labels ...string))
}

func newMetricsCollector(take func() *facts) *metricsCollector {
	c := &metricsCollector{facts: take, build: prometheus.NewDesc("openclawd_build_info", "Always 1. The labels identify the running build.",
		[]string{"version", "revision", "go", "sqlite"}, nil)}
	c.addLog()
	c.addTables()
	c.addSurroundings()
	c.addTaskFiles()
	c.addChain()
	c.addGateway()
	c.addWork()
	c.addFlows()
	c.addContinuation()
	c.addChannels()
	c.addAgents()
	c.addMCP()
	c.addCluster()
	return c
}

func (c *metricsCollector) add(kind prometheus.ValueType, name, help string, labels []string, collect func(*facts, func(float64, ...string))) {
	c.list = append(c.list, metric{prometheus.NewDesc("openclawd_"+name, help, labels, nil), kind, collect})
}

// gauge and counter add a metric with one value.
func (c *metricsCollector) gauge(name, help string, value func(*facts) float64) {
	c.add(prometheus.GaugeValue, name, help, nil, func(f *facts, tell func(float64, ...string)) { tell(value(f)) })
}

func (c *metricsCollector) counter(name, help string, value func(*facts) float64) {
	c.add(prometheus.CounterValue, name, help, nil, func(f *facts, tell func(float64, ...string)) { tell(value(f)) })
}

func (c *metricsCollector) addLog() {
	c.gauge("log_head_seq", "Seq of the newest event.", func(f *facts) float64 { return float64(f.head) })
	c.counter("log_stored_events_total", "Events acknowledged since the start.", func(f *facts) float64 { return float64(f.gauges.Stored) })
	c.add(prometheus.CounterValue, "log_append_errors_total", "Appends that stored nothing, since the start: invalid, rejected"+
		" because of a full queue, or failed because of the file.", []string{"kind"}, func(f *facts, tell func(float64, ...string)) {
		tell(float64(f.gauges.Refused), "refused")
		tell(float64(f.gauges.Busy), "busy")
		tell(float64(f.gauges.Failed), "failed")
	})
	c.gauge("log_queue_events", "Events waiting to be stored.", func(f *facts) float64 { return float64(f.gauges.QueuedEvents) })
	c.gauge("log_queue_bytes", "Payload bytes waiting to be stored.", func(f *facts) float64 { return float64(f.gauges.QueuedBytes) })
	c.gauge("log_transaction_seconds", "Duration of the current write transaction.", func(f *facts) float64 { return f.gauges.Writing.Seconds() })
	c.gauge("database_bytes", "Size of the database file, without its WAL.", func(f *facts) float64 { return float64(f.gauges.DatabaseBytes) })
	c.gauge("wal_bytes", "Size of the WAL.", func(f *facts) float64 { return float64(f.gauges.WALBytes) })
	c.gauge("oldest_reader_seconds", "Age of the oldest read snapshot; it keeps the WAL from being reset.",
		func(f *facts) float64 { return f.gauges.OldestReader.Seconds() })
	c.add(prometheus.GaugeValue, "disk_free_bytes", "Free space on the database's volume.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.freeKnown {
			tell(float64(f.free))
		}
	})
}

func (c *metricsCollector) addTables() {
	label := []string{"projection"}
	c.add(prometheus.GaugeValue, "projection_lag_events", "Events that a projection is behind the log.", label, eachTable(func(s projections.Status) float64 {
		return float64(s.Lag)
	}))
	c.add(prometheus.GaugeValue, "projection_live", "1 while a projection takes part in every append.", label, eachTable(func(s projections.Status) float64 {
		return boolValue(s.State == projections.Live)
	}))
	c.add(prometheus.GaugeValue, "projection_parked_events", "Events that a parked projection has not applied.", label, eachTable(func(s projections.Status) float64 {
		return float64(s.Lag) * boolValue(s.State == projections.Parked)
	}))
	c.counter("bad_lines_total", "Log lines that could not be parsed as events.", func(f *facts) float64 { return float64(f.badLines) })
	c.add(prometheus.CounterValue, "unknown_session_types_total", "Events between agents whose session type is unknown.", []string{"side"},
		func(f *facts, tell func(float64, ...string)) {
			tell(float64(f.doubts.UnknownSender), "from")
			tell(float64(f.doubts.UnknownReceiver), "to")
		})
	c.counter("guessed_roles_total", "Events without an explicit role.", func(f *facts) float64 { return float64(f.doubts.GuessedRoles) })
	c.counter("category_fallbacks_total", "Events whose category could not be determined.", func(f *facts) float64 { return float64(f.doubts.FallbackCategory) })
}

func eachTable(value func(projections.Status) float64) func(*facts, func(float64, ...string)) {
	return func(f *facts, tell func(float64, ...string)) {
		for _, s := range f.tables {
			tell(value(s), s.Name)
		}
	}
}

func (c *metricsCollector) addTaskFiles() {
	each := func(kind prometheus.ValueType, name, help string, value func(*health.TaskFilesState) int64) {
		c.add(kind, name, help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.taskFiles != nil {
				tell(float64(value(f.taskFiles)))
			}
		})
	}
	each(prometheus.GaugeValue, "task_files_lag_events", "Events that the task files are behind the log.", func(s *health.TaskFilesState) int64 { return s.Lag })
	each(prometheus.GaugeValue, "task_files_failing", "Tasks, months and focus files that cannot be written now.", func(s *health.TaskFilesState) int64 { return int64(s.Failing) })
	each(prometheus.CounterValue, "task_files_written_total", "Task files written since the start.", func(s *health.TaskFilesState) int64 { return s.Written })
	each(prometheus.CounterValue, "task_files_conflicts_total", "Edits by hand that were saved aside, or undone, since the start.", func(s *health.TaskFilesState) int64 { return s.Conflicts })
}

func (c *metricsCollector) addSurroundings() {
	c.gauge("ready", "1 while GET /readyz answers 200.", func(f *facts) float64 { return boolValue(f.ready()) })
	c.gauge("database_readable", "0: the figures from the database are missing.", func(f *facts) float64 { return boolValue(f.err == nil) })
	c.gauge("importing", "1 while logs are being imported.", func(f *facts) float64 { return boolValue(f.importing) })
	c.gauge("follow_behind_bytes", "Bytes of the other gateway's logs that are not stored yet.", func(f *facts) float64 { return float64(f.follow.Behind) })
	c.counter("follow_lines_total", "Lines read from the other gateway's log since the start.", func(f *facts) float64 { return float64(f.follow.Lines) })
	c.gauge("mirror_lag_events", "Events that the mirror has not processed yet.", func(f *facts) float64 { return float64(f.mirror.Lag) })
	c.counter("mirror_lines_total", "Lines written to the coordination log since the start.", func(f *facts) float64 { return float64(f.mirror.Lines) })
	c.gauge("ws_clients", "Connected clients of /ws.", func(f *facts) float64 { return float64(f.push.Clients) })
	c.counter("ws_slow_closes_total", "Clients of /ws disconnected for being slow.", func(f *facts) float64 { return float64(f.push.Dropped) })
	c.counter("ws_frames_total", "Frames written to clients of /ws.", func(f *facts) float64 { return float64(f.push.Frames) })
	c.add(prometheus.GaugeValue, "search_lag_events", "Events that search is behind the log.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.search != nil {
			tell(float64(f.search.Lag))
		}
	})
	c.gauge("past_snapshots", "Open snapshots for answers as of earlier events.", func(f *facts) float64 { return float64(f.past.Snapshots) })
	c.gauge("past_snapshot_bytes", "Size of these snapshots.", func(f *facts) float64 { return float64(f.past.SnapshotBytes) })
	c.gauge("past_states", "States kept on disk, from which snapshots are made.", func(f *facts) float64 { return float64(f.past.States) })
	c.gauge("past_state_bytes", "Size of the kept states.", func(f *facts) float64 { return float64(f.past.Bytes) })
	c.gauge("past_state_limit_bytes", "Size that the kept states may have; 0: none are kept.", func(f *facts) float64 { return float64(f.past.MaxBytes) })
	c.gauge("past_states_up_to", "Seq of the newest kept state.", func(f *facts) float64 { return float64(f.past.UpTo) })
	c.add(prometheus.GaugeValue, "backup_age_seconds", "Age of the newest verified backup; missing if there is none.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.backup.Last != nil {
			tell(f.at.Sub(f.backup.Last.Time).Seconds())
		}
	})
	c.gauge("backup_ok", "0 if the newest scheduled backup failed.", func(f *facts) float64 { return boolValue(f.backup.Error == "") })
	c.counter("backup_failures_total", "Scheduled backups that failed since the start.", func(f *facts) float64 { return float64(f.backup.Failed) })
	c.gauge("config_valid", "0 while openclaw.json cannot be used and the last good configuration is in force.", func(f *facts) float64 { return boolValue(f.config.Error == "") })
}

func (c *metricsCollector) addGateway() {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []struct {
		kind       prometheus.ValueType
		name, help string
		value      func(*gatewayFacts) float64
	}{
		{gauge, "up", "1 while the gateway serves, 0 if it has stopped.", func(g *gatewayFacts) float64 { return boolValue(g.ended == nil) }},
		{gauge, "clients", "Connected gateway clients.", func(g *gatewayFacts) float64 { return float64(g.stats.Clients) }},
		{counter, "connections_total", "Client connections.", func(g *gatewayFacts) float64 { return float64(g.stats.Accepted) }},
		{counter, "requests_total", "Client requests.", func(g *gatewayFacts) float64 { return float64(g.stats.Requests) }},
		{gauge, "running_requests", "Requests in progress.", func(g *gatewayFacts) float64 { return float64(g.stats.InFlight) }},
		{counter, "events_total", "Events broadcast to all clients.", func(g *gatewayFacts) float64 { return float64(g.stats.Events) }},
		{counter, "skipped_frames_total", "Frames dropped for slow clients.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Skipped) }},
		{counter, "slow_closes_total", "Clients disconnected for being slow.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Slow) }},
		{counter, "silent_closes_total", "Clients disconnected for being silent.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Silent) }},
		{gauge, "queue_bytes", "Bytes queued for clients.", func(g *gatewayFacts) float64 { return float64(g.stats.QueuedBytes) }},
	} {
		c.add(m.kind, "gateway_"+m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.gateway != nil {
				tell(m.value(f.gateway))
			}
		})
	}
	c.add(counter, "gateway_refused_total", "Rejected clients, by reason.", []string{"reason"},
		countedBy(func(g *gatewayFacts) map[string]int64 { return g.stats.Refused }))
	c.add(counter, "gateway_errors_total", "Failed requests, by error code.", []string{"code"},
		countedBy(func(g *gatewayFacts) map[string]int64 { return g.stats.Failures }))
}

func countedBy(counts func(*gatewayFacts) map[string]int64) func(*facts, func(float64, ...string)) {
	return func(f *facts, tell func(float64, ...string)) {
		if f.gateway == nil {
			return
		}
		for label, n := range counts(f.gateway) {
			tell(float64(n), label)
		}
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *metricsCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.build
	for _, f := range c.list {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *metricsCollector) Collect(to chan<- prometheus.Metric) {
	info := buildinfo.Read()
	to <- prometheus.MustNewConstMetric(c.build, prometheus.GaugeValue, 1, info.Version, info.Revision, info.Go, info.SQLite)
	now := c.facts()
	for _, f := range c.list {
		f.collect(now, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		})
	}
}
