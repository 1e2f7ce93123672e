package main

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

// figure is one measured value with its baseline. Ratio compares Value with Baseline so that bigger is better, unless
// Unit says otherwise.
type figure struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Baseline float64 `json:"baseline"`
	Ratio    float64 `json:"ratio"`
	Goal     string  `json:"goal"`
	OK       bool    `json:"ok"`
	Note     string  `json:"note"` // sizes, fsync mode, what the baseline is
}

type options struct {
	Names  []string // benchmarks to run; empty: all
	Events int      // size of the big log
	Rounds int      // rounds per median
	Dir    string   // directory for the files; empty: a temporary directory
	Binary string   // path of the openclawd to measure as a process
	Log    io.Writer
}

// benchmark is a group of figures that are measured together.
type benchmark struct {
	name string
	doc  string
	run  func(ctx context.Context, b *bench) ([]figure, error)
}

// benchmarks lists all of them in the order in which they run.
func benchmarks() []benchmark {
	return []benchmark{
		{"append", "durable appends of 700-byte events, every projection inline, against a bare table", runAppend},
		{"import", "import of an NDJSON log against batched inserts into a bare table", runImport},
		{"rebuild", "all projections from the whole log, against only reading and decoding it", runRebuild},
		{"live", "the longest append while everything is rebuilt", runLive},
		{"backup", "appends while the big log is backed up and verified", runBackup},
		{"lookup", "the conversation of a route against parsing the last 10,000 lines", runLookup},
		{"rest", "the Task-Monitor's list answers on a big log", runREST},
		{"push", "from an event, and from a line in a followed log, to WebSocket clients, one and 1,000 of them", runPush},
		{"gateway", "the first hello, answers to concurrent requests, 2,000 clients, and broadcasts to all of them", runGateway},
		{"runs", "agent runs through a model server: rate, overhead beside the model's own time, cost of 10,000 waiting ones", runRuns},
		{"a2a", "flows between agents through a model server: rate against what lanes and limits allow, overhead beside the model's own time, cost of 10,000 waiting ones", runA2A},
		{"tasks", "task updates of 64 agents at once against plain appends, and lists of open tasks beside 100,000 finished ones", runTasks},
		{"continuation", "continuation: a check of an agent with 200 open tasks beside 100,000 finished ones, its cost for task updates, and how soon agents continue", runContinuation},
		{"search", "searches in 100,000 messages, and how fast these are fed to the search file", runSearch},
		{"memory", "resident memory and first answer of a server over a big log", runMemory},
		{"replay", "tables as of an event against a rebuild, answers as of an event against live ones, steps either way, and chain verification against plain reads", runReplay},
	}
}

type bench struct {
	options
	big *bigLog // built on first use, shared
}

// runAll runs the chosen benchmarks and returns their figures in order.
func runAll(ctx context.Context, opts options) (results []figure, err error) {
	all := benchmarks()
	for _, name := range opts.Names {
		if !slices.ContainsFunc(all, func(b benchmark) bool { return b.name == name }) {
			return nil, &usageError{fmt.Errorf("unknown benchmark %q; choose from: %s", name, strings.Join(benchmarkNames(), ", "))}
		}
	}
	dir, err := os.MkdirTemp(opts.Dir, "openclawd-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	opts.Dir = dir
	b := &bench{options: opts}
	for _, m := range all {
		if len(opts.Names) > 0 && !slices.Contains(opts.Names, m.name) {
			continue
		}
		start := time.Now()
		part, err := m.run(ctx, b)
		if err != nil {
			return results, fmt.Errorf("bench %s: %w", m.name, err)
		}
		b.logf("%s took %s", m.name, time.Since(start).Round(time.Second))
		results = append(results, part...)
	}
	return results, nil
}

func benchmarkNames() (names []string) {
	for _, b := range benchmarks() {
		names = append(names, b.name)
	}
	return names
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.Log, "bench: "+format+"\n", args...)
}

// atLeast returns a figure whose ratio value/baseline must reach goal.
func atLeast(name string, value float64, unit string, baseline, goal float64, note string) figure {
	r := figure{Name: name, Value: value, Unit: unit, Baseline: baseline, Ratio: value / baseline,
		Goal: fmt.Sprintf("ratio >= %g", goal), Note: note}
	r.OK = r.Ratio >= goal
	return r
}

// atMost returns a figure whose ratio value/baseline must not exceed goal.
func atMost(name string, value float64, unit string, baseline, goal float64, note string) figure {
	r := figure{Name: name, Value: value, Unit: unit, Baseline: baseline, Ratio: value / baseline,
		Goal: fmt.Sprintf("ratio <= %g", goal), Note: note}
	r.OK = r.Ratio <= goal
	return r
}

// within returns a figure whose value must not exceed a limit.
func within(name string, value float64, unit string, limit float64, note string) figure {
	return figure{Name: name, Value: value, Unit: unit, Baseline: limit, Ratio: value / limit, Goal: fmt.Sprintf("<= %g %s", limit, unit),
		OK: value <= limit, Note: note}
}

// reaches returns a figure whose value must reach a limit.
func reaches(name string, value float64, unit string, limit float64, note string) figure {
	return figure{Name: name, Value: value, Unit: unit, Baseline: limit, Ratio: value / limit, Goal: fmt.Sprintf(">= %g %s", limit, unit),
		OK: value >= limit, Note: note}
}

func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile sorts a list and returns its quantile q, nearest rank.
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
