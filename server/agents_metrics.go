package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/tools"
)

// agentFacts are the metrics of the agent side.
type agentFacts struct {
	worker worker.Stats
	runner runner.Stats
	tools  tools.Stats
	mcp    []mcp.State
	remote remote.Stats
}

func (c *metricsCollector) addAgents() {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []struct {
		kind       prometheus.ValueType
		name, help string
		value      func(*agentFacts) int64
	}{
		{gauge, "work_stuck", "Work items still running after their time limit.", func(a *agentFacts) int64 { return a.worker.Stuck }},
		{counter, "work_claims_total", "Work items started since the start.", func(a *agentFacts) int64 { return a.worker.Claims }},
		{counter, "work_failures_total", "Work items that failed to start or failed while running, since the start.", func(a *agentFacts) int64 { return a.worker.Failed }},
		{gauge, "run_waiters", "Callers waiting for the end of a run.", func(a *agentFacts) int64 { return int64(a.runner.Waiters) }},
		{gauge, "run_tools_left", "Tool calls still running although their runs are over.", func(a *agentFacts) int64 { return a.runner.LeftBehind }},
		{gauge, "tools_running", "Tool calls in progress.", func(a *agentFacts) int64 { return a.tools.Running }},
		{gauge, "tools_left", "Tool calls in progress whose callers have gone.", func(a *agentFacts) int64 { return a.tools.Left }},
		{counter, "tools_broken_total", "Tool calls that failed with an internal error, since the start.", func(a *agentFacts) int64 { return a.tools.Broken }},
		{gauge, "workers", "Workers on other machines that are connected.", func(a *agentFacts) int64 { return int64(a.remote.Workers) }},
		{gauge, "worker_slots", "Runs that these workers can do at a time.", func(a *agentFacts) int64 { return int64(a.remote.Slots) }},
		{gauge, "worker_runs", "Runs that these workers do.", func(a *agentFacts) int64 { return int64(a.remote.Busy) }},
		{counter, "worker_leases_total", "Runs given to these workers, since the start.", func(a *agentFacts) int64 { return a.remote.Leases }},
		{counter, "worker_losses_total", "Runs whose worker was lost, since the start.", func(a *agentFacts) int64 { return a.remote.Lost }},
		{counter, "worker_steps_total", "Steps that these workers have done, since the start.", func(a *agentFacts) int64 { return a.remote.Steps }},
		{counter, "worker_stale_total", "Reports of workers that came too late and were refused, since the start.", func(a *agentFacts) int64 { return a.remote.Stale }},
	} {
		c.add(m.kind, m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.agents != nil {
				tell(float64(m.value(f.agents)))
			}
		})
	}
}

func (c *metricsCollector) addMCP() {
	for _, m := range []struct {
		kind       prometheus.ValueType
		name, help string
		value      func(*mcp.State) float64
	}{
		{prometheus.CounterValue, "mcp_starts_total", "Times an MCP server was started or connected to, since the start.", func(s *mcp.State) float64 { return float64(s.Starts) }},
		{prometheus.CounterValue, "mcp_failures_total", "Starts of an MCP server that failed, and connections that were lost, since the start.",
			func(s *mcp.State) float64 { return float64(s.Failures) }},
		{prometheus.GaugeValue, "mcp_tools", "Tools that an MCP server offers.", func(s *mcp.State) float64 { return float64(len(s.Tools)) }},
		{prometheus.GaugeValue, "mcp_down", "1 while an MCP server is not available after a failure.", func(s *mcp.State) float64 { return boolValue(s.State == mcp.StateDown) }},
	} {
		c.add(m.kind, m.name, m.help, []string{"server"}, func(f *facts, tell func(float64, ...string)) {
			if f.agents == nil {
				return
			}
			for i := range f.agents.mcp {
				tell(m.value(&f.agents.mcp[i]), f.agents.mcp[i].Name)
			}
		})
	}
}

// runMetrics are the counters of runs. Labels have few values: states, lanes, and configured providers.
type runMetrics struct {
	wait  prometheus.Histogram
	took  *prometheus.HistogramVec // by state
	calls *prometheus.CounterVec   // model calls, by the provider that answered last and the outcome of the run
	tools prometheus.Counter
	mcp   *prometheus.HistogramVec // by server and outcome
}

func newRunMetrics() *runMetrics {
	seconds := []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800}
	return &runMetrics{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_run_wait_seconds", Buckets: seconds,
			Help: "Time runs waited for their turn, since the start."}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "openclawd_run_seconds", Buckets: seconds,
			Help: "Duration of runs since the start, by outcome."}, []string{"state"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_model_calls_total",
			Help: "Model calls since the start, by the provider that answered last in the run, and outcome: ok, or the class of the error."},
			[]string{"provider", "outcome"}),
		tools: prometheus.NewCounter(prometheus.CounterOpts{Name: "openclawd_tool_calls_total", Help: "Tool calls by models since the start."}),
		mcp: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "openclawd_mcp_call_seconds", Buckets: seconds,
			Help: "Duration of calls of MCP servers since the start, by outcome: ok, error, unknown, unmade."}, []string{"server", "outcome"}),
	}
}

func (f *runMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{f.wait, f.took, f.calls, f.tools, f.mcp}
}

// recordMCP counts a call of an MCP server. It does not block.
func (f *runMetrics) recordMCP(server string, outcome mcp.Outcome, took time.Duration) {
	f.mcp.WithLabelValues(server, string(outcome)).Observe(took.Seconds())
}

// record counts a report about a run. It does not block.
func (f *runMetrics) record(u run.Update) {
	r := u.Result
	if r == nil {
		return
	}
	switch u.Kind {
	case run.Started:
		f.wait.Observe(float64(r.StartedAt-r.QueuedAt) / 1e3)
	case run.Ended:
		if r.StartedAt > 0 {
			f.took.WithLabelValues(string(r.State)).Observe(float64(r.EndedAt-r.StartedAt) / 1e3)
		}
		if o := r.Over; o != nil && o.ModelCalls > 0 {
			outcome := string(r.State)
			if o.ErrorClass != "" {
				outcome = o.ErrorClass
			}
			f.calls.WithLabelValues(o.Provider, outcome).Add(float64(o.ModelCalls))
			f.tools.Add(float64(o.ToolCalls))
		}
	}
}
