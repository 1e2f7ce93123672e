package server

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
)

// scrapeTime bounds the reading of the rows that a scrape needs.
const scrapeTime = 5 * time.Second

// metrics answers in the text format of Prometheus, from a registry of this program's own.
func (p *Program) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	live := collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)})
	registry.MustRegister(collectors.NewGoCollector(live), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newFigures(func() *facts {
			ctx, stop := context.WithTimeout(context.Background(), scrapeTime)
			defer stop()
			return p.facts(ctx)
		}))
	if p.agents != nil {
		registry.MustRegister(p.agents.figures.all()...)
		registry.MustRegister(p.agents.discord.figures.all()...)
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// figures makes metrics of the facts at the moment of a scrape: nothing is counted twice, and nothing is counted that nobody asks for.
type figures struct {
	facts func() *facts
	build *prometheus.Desc
	list  []figure
}

// figure is one metric. collect gives its values, each with the values of its labels.
type figure struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(*facts, func(value float64, labels ...string))
}

func newFigures(take func() *facts) *figures {
	c := &figures{facts: take, build: prometheus.NewDesc("openclawd_build_info", "Always 1. The labels say which build is running.",
		[]string{"version", "revision", "go", "sqlite"}, nil)}
	c.addLog()
	c.addTables()
	c.addSurroundings()
	c.addTaskFiles()
	c.addChain()
	c.addGateway()
	c.addWork()
	c.addFlows()
	c.addGoing()
	c.addDiscord()
	c.addAgents()
	return c
}

func (c *figures) add(kind prometheus.ValueType, name, help string, labels []string, collect func(*facts, func(float64, ...string))) {
	c.list = append(c.list, figure{prometheus.NewDesc("openclawd_"+name, help, labels, nil), kind, collect})
}

// gauge and counter add a metric of one value.
func (c *figures) gauge(name, help string, value func(*facts) float64) {
	c.add(prometheus.GaugeValue, name, help, nil, func(f *facts, tell func(float64, ...string)) { tell(value(f)) })
}

func (c *figures) counter(name, help string, value func(*facts) float64) {
	c.add(prometheus.CounterValue, name, help, nil, func(f *facts, tell func(float64, ...string)) { tell(value(f)) })
}

func (c *figures) addLog() {
	c.gauge("log_head_seq", "The newest event.", func(f *facts) float64 { return float64(f.head) })
	c.counter("log_stored_events_total", "Events acknowledged since the start.", func(f *facts) float64 { return float64(f.gauges.Stored) })
	c.add(prometheus.CounterValue, "log_append_errors_total", "Appends that stored nothing, since the start: refused for what they were, turned away"+
		" for a full queue, failed for trouble with the file.", []string{"kind"}, func(f *facts, tell func(float64, ...string)) {
		tell(float64(f.gauges.Refused), "refused")
		tell(float64(f.gauges.Busy), "busy")
		tell(float64(f.gauges.Failed), "failed")
	})
	c.gauge("log_queue_events", "Events that wait to be stored.", func(f *facts) float64 { return float64(f.gauges.QueuedEvents) })
	c.gauge("log_queue_bytes", "Payload bytes that wait to be stored.", func(f *facts) float64 { return float64(f.gauges.QueuedBytes) })
	c.gauge("log_transaction_seconds", "How long the write transaction under way has taken.", func(f *facts) float64 { return f.gauges.Writing.Seconds() })
	c.gauge("database_bytes", "Size of the database file, without its WAL.", func(f *facts) float64 { return float64(f.gauges.DatabaseBytes) })
	c.gauge("wal_bytes", "Size of the WAL.", func(f *facts) float64 { return float64(f.gauges.WALBytes) })
	c.gauge("oldest_reader_seconds", "How long the oldest snapshot has been held; it keeps the WAL from being begun anew.",
		func(f *facts) float64 { return f.gauges.OldestReader.Seconds() })
	c.add(prometheus.GaugeValue, "disk_free_bytes", "Room where the database lies.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.freeKnown {
			tell(float64(f.free))
		}
	})
}

func (c *figures) addTables() {
	label := []string{"projection"}
	c.add(prometheus.GaugeValue, "projection_lag_events", "Events that a projection is behind the log.", label, eachTable(func(s projections.Status) float64 {
		return float64(s.Lag)
	}))
	c.add(prometheus.GaugeValue, "projection_live", "1 while a projection takes part in every append.", label, eachTable(func(s projections.Status) float64 {
		return bit(s.State == projections.Live)
	}))
	c.add(prometheus.GaugeValue, "projection_parked_events", "Events that a parked projection has not applied.", label, eachTable(func(s projections.Status) float64 {
		return float64(s.Lag) * bit(s.State == projections.Parked)
	}))
	c.counter("bad_lines_total", "Lines of logs that were no events.", func(f *facts) float64 { return float64(f.badLines) })
	c.add(prometheus.CounterValue, "unknown_session_types_total", "Events between agents whose session type cannot be told on that side.", []string{"side"},
		func(f *facts, tell func(float64, ...string)) {
			tell(float64(f.doubts.UnknownSender), "from")
			tell(float64(f.doubts.UnknownReceiver), "to")
		})
	c.counter("guessed_roles_total", "Events that did not say their role.", func(f *facts) float64 { return float64(f.doubts.GuessedRoles) })
	c.counter("category_fallbacks_total", "Events in which nothing spoke for their category.", func(f *facts) float64 { return float64(f.doubts.FallbackCategory) })
}

func eachTable(value func(projections.Status) float64) func(*facts, func(float64, ...string)) {
	return func(f *facts, tell func(float64, ...string)) {
		for _, s := range f.tables {
			tell(value(s), s.Name)
		}
	}
}

func (c *figures) addTaskFiles() {
	each := func(kind prometheus.ValueType, name, help string, value func(*monitor.TaskFilesState) int64) {
		c.add(kind, name, help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.taskFiles != nil {
				tell(float64(value(f.taskFiles)))
			}
		})
	}
	each(prometheus.GaugeValue, "task_files_lag_events", "Events that the files of tasks are behind the log.", func(s *monitor.TaskFilesState) int64 { return s.Lag })
	each(prometheus.GaugeValue, "task_files_failing", "Tasks, months and focuses whose files cannot be written now.", func(s *monitor.TaskFilesState) int64 { return int64(s.Failing) })
	each(prometheus.CounterValue, "task_files_written_total", "Files of tasks written since the start.", func(s *monitor.TaskFilesState) int64 { return s.Written })
	each(prometheus.CounterValue, "task_files_conflicts_total", "Edits by hand that were kept aside, or undone, since the start.", func(s *monitor.TaskFilesState) int64 { return s.Conflicts })
}

func (c *figures) addSurroundings() {
	c.gauge("ready", "1 while GET /readyz answers 200.", func(f *facts) float64 { return bit(f.ready()) })
	c.gauge("database_readable", "0: the figures that come from the database's rows are missing.", func(f *facts) float64 { return bit(f.err == nil) })
	c.gauge("importing", "1 while logs are being imported.", func(f *facts) float64 { return bit(f.importing) })
	c.gauge("follow_behind_bytes", "Bytes of the other gateway's logs that are not stored yet.", func(f *facts) float64 { return float64(f.follow.Behind) })
	c.counter("follow_lines_total", "Lines read from the other gateway's log since the start.", func(f *facts) float64 { return float64(f.follow.Lines) })
	c.gauge("mirror_lag_events", "Events that the mirror has still to look at.", func(f *facts) float64 { return float64(f.mirror.Lag) })
	c.counter("mirror_lines_total", "Lines written to the coordination log since the start.", func(f *facts) float64 { return float64(f.mirror.Lines) })
	c.gauge("ws_clients", "Clients of /ws.", func(f *facts) float64 { return float64(f.push.Clients) })
	c.counter("ws_slow_closes_total", "Clients of /ws that were closed because they did not keep up.", func(f *facts) float64 { return float64(f.push.Dropped) })
	c.counter("ws_frames_total", "Frames written to clients of /ws.", func(f *facts) float64 { return float64(f.push.Frames) })
	c.add(prometheus.GaugeValue, "search_lag_events", "Events that search is behind the log.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.search != nil {
			tell(float64(f.search.Lag))
		}
	})
	c.add(prometheus.GaugeValue, "backup_age_seconds", "Age of the newest proved backup; missing while there is none.", nil, func(f *facts, tell func(float64, ...string)) {
		if f.backup.Last != nil {
			tell(f.at.Sub(f.backup.Last.Time).Seconds())
		}
	})
	c.gauge("backup_ok", "0 when the newest scheduled backup failed.", func(f *facts) float64 { return bit(f.backup.Error == "") })
	c.counter("backup_failures_total", "Scheduled backups that failed since the start.", func(f *facts) float64 { return float64(f.backup.Failed) })
	c.gauge("config_valid", "0 while openclaw.json cannot be used and the last good configuration is in force.", func(f *facts) float64 { return bit(f.config.Error == "") })
}

// addGateway adds what is told of the gateway while one is open.
func (c *figures) addGateway() {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []struct {
		kind       prometheus.ValueType
		name, help string
		value      func(*gatewayFacts) float64
	}{
		{gauge, "up", "1 while the gateway serves, 0 when it has ended.", func(g *gatewayFacts) float64 { return bit(g.ended == nil) }},
		{gauge, "clients", "Clients of the gateway.", func(g *gatewayFacts) float64 { return float64(g.stats.Clients) }},
		{counter, "connections_total", "Connections of clients.", func(g *gatewayFacts) float64 { return float64(g.stats.Accepted) }},
		{counter, "requests_total", "Requests of clients.", func(g *gatewayFacts) float64 { return float64(g.stats.Requests) }},
		{gauge, "running_requests", "Requests under way.", func(g *gatewayFacts) float64 { return float64(g.stats.InFlight) }},
		{counter, "events_total", "Events told to all clients.", func(g *gatewayFacts) float64 { return float64(g.stats.Events) }},
		{counter, "skipped_frames_total", "Frames left out for clients that did not keep up.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Skipped) }},
		{counter, "slow_closes_total", "Clients that were closed because they did not keep up.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Slow) }},
		{counter, "silent_closes_total", "Clients that were cut off because nothing was heard of them.",
			func(g *gatewayFacts) float64 { return float64(g.stats.Silent) }},
		{gauge, "queue_bytes", "Bytes that wait for clients.", func(g *gatewayFacts) float64 { return float64(g.stats.QueuedBytes) }},
	} {
		c.add(m.kind, "gateway_"+m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.gateway != nil {
				tell(m.value(f.gateway))
			}
		})
	}
	c.add(counter, "gateway_refused_total", "Clients that were not let in, by the reason.", []string{"reason"},
		countedBy(func(g *gatewayFacts) map[string]int64 { return g.stats.Refused }))
	c.add(counter, "gateway_errors_total", "Requests that were not done, by the code of the error.", []string{"code"},
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

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *figures) Describe(to chan<- *prometheus.Desc) {
	to <- c.build
	for _, f := range c.list {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *figures) Collect(to chan<- prometheus.Metric) {
	info := buildinfo.Read()
	to <- prometheus.MustNewConstMetric(c.build, prometheus.GaugeValue, 1, info.Version, info.Revision, info.Go, info.SQLite)
	now := c.facts()
	for _, f := range c.list {
		f.collect(now, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
		})
	}
}
