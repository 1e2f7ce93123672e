package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/tools"
)

// agentFacts are how those stand who answer.
type agentFacts struct {
	worker worker.Stats
	runner runner.Stats
	tools  tools.Stats
}

// addAgents adds what of them is under way, and what of it does not end.
func (c *figures) addAgents() {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	for _, m := range []struct {
		kind       prometheus.ValueType
		name, help string
		value      func(*agentFacts) int64
	}{
		{gauge, "work_stuck", "Pieces of work that do not end although their time is over.", func(a *agentFacts) int64 { return a.worker.Stuck }},
		{counter, "work_claims_total", "Pieces of work begun since the start.", func(a *agentFacts) int64 { return a.worker.Claims }},
		{counter, "work_failures_total", "Pieces of work that would not begin or broke, since the start.", func(a *agentFacts) int64 { return a.worker.Failed }},
		{gauge, "run_waiters", "Callers that wait for the end of a run.", func(a *agentFacts) int64 { return int64(a.runner.Waiters) }},
		{gauge, "run_tools_left", "Calls of tools that go on though their runs are over.", func(a *agentFacts) int64 { return a.runner.LeftBehind }},
		{gauge, "tools_running", "Calls of tools under way.", func(a *agentFacts) int64 { return a.tools.Running }},
		{gauge, "tools_left", "Calls of tools under way whose callers have left.", func(a *agentFacts) int64 { return a.tools.Left }},
		{counter, "tools_broken_total", "Calls of tools that broke, since the start.", func(a *agentFacts) int64 { return a.tools.Broken }},
	} {
		c.add(m.kind, m.name, m.help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.agents != nil {
				tell(float64(m.value(f.agents)))
			}
		})
	}
}

// runFigures count what runs take while they happen. Labels are of few values: states, lanes, and providers of the configuration.
type runFigures struct {
	wait  prometheus.Histogram
	took  *prometheus.HistogramVec // by state
	calls *prometheus.CounterVec   // of models, by the provider that answered last and how the run ended
	tools prometheus.Counter
}

func newRunFigures() *runFigures {
	seconds := []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800}
	return &runFigures{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openclawd_run_wait_seconds", Buckets: seconds,
			Help: "How long runs have waited for their turn, since the start."}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "openclawd_run_seconds", Buckets: seconds,
			Help: "How long runs have taken from their beginning, since the start, by how they ended."}, []string{"state"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openclawd_model_calls_total",
			Help: "Calls of models since the start, by the provider that answered last in the run, and how that ended: ok, or the class of the error."},
			[]string{"provider", "outcome"}),
		tools: prometheus.NewCounter(prometheus.CounterOpts{Name: "openclawd_tool_calls_total", Help: "Calls of tools by models since the start."}),
	}
}

// all are the metrics of a registry.
func (f *runFigures) all() []prometheus.Collector {
	return []prometheus.Collector{f.wait, f.took, f.calls, f.tools}
}

// note counts what is told of a run. It does not wait.
func (f *runFigures) note(u run.Update) {
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
