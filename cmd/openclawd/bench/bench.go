package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Result is one figure. Ratio is Value against Baseline, the way round that makes bigger better unless Unit says otherwise.
type Result struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Baseline float64 `json:"baseline"`
	Ratio    float64 `json:"ratio"`
	Goal     string  `json:"goal"`
	OK       bool    `json:"ok"`
	Note     string  `json:"note"` // sizes, fsync mode, what the baseline is
}

// Options of Run.
type Options struct {
	Names  []string // benchmarks to run; empty: all
	Events int      // size of the big log; 0: 1,000,000
	Rounds int      // medians are taken over as many; 0: 3
	Dir    string   // where the files go; empty: a temporary directory
	Binary string   // the openclawd to measure as a process
	Log    io.Writer
}

// Benchmark is a group of figures that are measured together.
type Benchmark struct {
	Name string
	Doc  string
	run  func(ctx context.Context, b *bench) ([]Result, error)
}

// Benchmarks lists all of them in the order in which they run.
func Benchmarks() []Benchmark {
	return []Benchmark{
		{"append", "durable appends of 700-byte events, every projection inline, against a bare table", runAppend},
		{"import", "import of an NDJSON log against batched inserts into a bare table", runImport},
		{"rebuild", "all projections from the whole log against merely reading and decoding it", runRebuild},
		{"live", "the longest append while everything is rebuilt", runLive},
		{"backup", "appends while the big log is backed up and proved", runBackup},
		{"lookup", "the conversation of a route against parsing the last 10,000 lines", runLookup},
		{"rest", "the Task-Monitor's list answers on a big log", runREST},
		{"push", "from an event, and from a line in a followed log, to WebSocket clients, one and 1,000 of them", runPush},
		{"gateway", "the first hello, answers to many requests at once, 2,000 clients, and what is told to all of them", runGateway},
		{"runs", "runs of agents through a model server: how many per second, what is lost beside the model's own time, what 10,000 waiting ones cost", runRuns},
		{"a2a", "flows between agents through a model server: how many against what lanes and limits allow, what is lost beside the model's own time, what 10,000 waiting ones cost", runA2A},
		{"tasks", "updates of the tasks of 64 agents at once against plain appends, and lists of open tasks beside 100,000 finished ones", runTasks},
		{"continuation", "a look at an agent with 200 open tasks beside 100,000 finished ones, updates of tasks beside what keeps agents going, and how soon they go on", runContinuation},
		{"search", "searches in 100,000 messages, and how fast these are fed to the search file", runSearch},
		{"memory", "resident memory and first answer of a server over a big log", runMemory},
		{"replay", "tables of the past against a rebuild, answers as of an event against live ones, steps either way, and proofs of the chain against plain reads", runReplay},
	}
}

// bench is one run.
type bench struct {
	Options
	big *bigLog // built on first use, shared
}

// Run runs the chosen benchmarks and returns their figures in order.
func Run(ctx context.Context, opts Options) (results []Result, err error) {
	if opts.Events == 0 {
		opts.Events = 1_000_000
	}
	if opts.Rounds == 0 {
		opts.Rounds = 3
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	all := Benchmarks()
	for _, name := range opts.Names {
		if !slices.ContainsFunc(all, func(b Benchmark) bool { return b.Name == name }) {
			return nil, &UnknownError{Name: name}
		}
	}
	dir, err := os.MkdirTemp(opts.Dir, "openclawd-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	opts.Dir = dir
	b := &bench{Options: opts}
	for _, m := range all {
		if len(opts.Names) > 0 && !slices.Contains(opts.Names, m.Name) {
			continue
		}
		start := time.Now()
		part, err := m.run(ctx, b)
		if err != nil {
			return results, fmt.Errorf("bench %s: %w", m.Name, err)
		}
		b.logf("%s took %s", m.Name, time.Since(start).Round(time.Second))
		results = append(results, part...)
	}
	return results, nil
}

// UnknownError names a benchmark that does not exist.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("no benchmark is called %q", e.Name) }
func (e *UnknownError) Code() string  { return "unknown_benchmark" }
func (e *UnknownError) Hint() string {
	var names []string
	for _, b := range Benchmarks() {
		names = append(names, b.Name)
	}
	return "choose from: " + strings.Join(names, ", ")
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.Log, "bench: "+format+"\n", args...)
}

// atLeast is a figure whose ratio value/baseline must reach goal.
func atLeast(name string, value float64, unit string, baseline, goal float64, note string) Result {
	r := Result{Name: name, Value: value, Unit: unit, Baseline: baseline, Ratio: value / baseline,
		Goal: fmt.Sprintf("ratio >= %g", goal), Note: note}
	r.OK = r.Ratio >= goal
	return r
}

// atMost is a figure whose ratio value/baseline must not exceed goal.
func atMost(name string, value float64, unit string, baseline, goal float64, note string) Result {
	r := Result{Name: name, Value: value, Unit: unit, Baseline: baseline, Ratio: value / baseline,
		Goal: fmt.Sprintf("ratio <= %g", goal), Note: note}
	r.OK = r.Ratio <= goal
	return r
}

// within is a figure that must not exceed a limit of its own.
func within(name string, value float64, unit string, limit float64, note string) Result {
	return Result{Name: name, Value: value, Unit: unit, Baseline: limit, Ratio: value / limit, Goal: fmt.Sprintf("<= %g %s", limit, unit),
		OK: value <= limit, Note: note}
}

// reaches is a figure that must reach a limit of its own.
func reaches(name string, value float64, unit string, limit float64, note string) Result {
	return Result{Name: name, Value: value, Unit: unit, Baseline: limit, Ratio: value / limit, Goal: fmt.Sprintf(">= %g %s", limit, unit),
		OK: value >= limit, Note: note}
}

// median of a list; the list is sorted.
func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile q of a list, nearest rank; the list is sorted.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(int(q*float64(len(list))), len(list)-1)]
}

func seconds(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

func newIDs() *eventstore.IDs { return eventstore.NewIDs(time.Now, rand.Reader) }
