package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// wholeLog is the size of the big log from which on parts use their full amounts: a smaller run only shows that they work.
const wholeLog = 100_000

type options struct {
	Names   []string // parts to run; empty: all
	Events  int      // size of the big log
	Rounds  int      // rounds per median
	Dir     string   // directory for the files; empty: the system's temporary one
	Binary  string   // path of the openclawd to measure as a process
	Profile string   // file for a CPU profile of this process; empty: none
	Log     io.Writer
	Report  func(figure) error // gets each figure as soon as it is known
}

// benchmark is a part of a run: a group of figures that are measured together.
type benchmark struct {
	name string
	doc  string
	run  func(ctx context.Context, b *bench) error
}

// benchmarks lists all of them in the order in which they run.
func benchmarks() []benchmark {
	return []benchmark{
		{"append", "durable appends of 700-byte events, every projection inline, against a bare table", runAppend},
		{"import", "import of an NDJSON log against batched inserts into a bare table", runImport},
		{"migrate", "migration of transcripts of OpenClaw, against only reading and parsing them", runMigrate},
		{"rebuild", "all projections from the whole log, against only reading and decoding it", runRebuild},
		{"live", "the longest append while everything is rebuilt", runLive},
		{"backup", "appends while the big log is backed up and verified", runBackup},
		{"lookup", "the conversation of a route against parsing the last 10,000 lines", runLookup},
		{"rest", "the Task-Monitor's answers on a big log", runREST},
		{"push", "from an event, and from a line in a followed log, to WebSocket clients, one and 1,000 of them", runPush},
		{"gateway", "the first hello, answers to concurrent requests, 2,000 clients, and broadcasts to all of them", runGateway},
		{"runs", "agent runs through a model server: rate, overhead beside the model's own time, cost of 10,000 waiting ones", runRuns},
		{"a2a", "flows between agents through a model server: rate against what lanes and limits allow, overhead beside the model's own time, cost of 10,000 waiting ones", runA2A},
		{"tasks", "task updates of 64 agents at once against a bare table, and lists of open tasks beside 100,000 finished ones", runTasks},
		{"continuation", "continuation: a check of an agent with 200 open tasks beside 100,000 finished ones, its cost for task updates, and how soon agents continue", runContinuation},
		{"schedules", "1,000 scheduled jobs due at the same second, and a look for due ones beside 10,000", runSchedules},
		{"tools", "a call of a tool of a local MCP server, beyond the tool's own time, with its intent and its end on disk", runTools},
		{"search", "searches in 100,000 messages, and how fast these are fed to the search file", runSearch},
		{"memory", "resident memory and first answer of a server over a big log", runMemory},
		{"cluster", "a log on NATS JetStream: appends beside one node and the raw broker, reads of nodes that follow, and how far they are behind", runCluster},
		{"replay", "tables as of an event against a rebuild, answers as of an event against plain and live ones, steps either way, and chain verification against plain reads", runReplay},
	}
}

// bench is a part while it runs. Dir is its own: empty at first, and removed at the end.
type bench struct {
	options
	name string
	logs *fixtures
	done int // complete rounds of the newest call of rounds
}

// chosen returns the parts with these names in their order; all of them if there is no name.
func chosen(all []benchmark, names []string) (parts []benchmark, err error) {
	var known []string
	for _, part := range all {
		if known = append(known, part.name); len(names) == 0 || slices.Contains(names, part.name) {
			parts = append(parts, part)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, &usageError{fmt.Errorf("unknown benchmark %q; choose from: %s", name, strings.Join(known, ", "))}
		}
	}
	return parts, nil
}

// runAll runs parts in a directory that is removed at the end. No part can reach what another one leaves.
func runAll(ctx context.Context, o options, parts []benchmark) error {
	root, err := os.MkdirTemp(o.Dir, "openclawd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	o.Dir = root
	logs := &fixtures{dir: root, made: map[string]bool{}}
	for _, part := range parts {
		b := &bench{options: o, name: part.name, logs: logs}
		start := time.Now()
		if err := b.measure(ctx, part.run); err != nil {
			return fmt.Errorf("bench %s: %w", part.name, err)
		}
		b.logf("%s took %s", part.name, time.Since(start).Round(time.Second))
	}
	return nil
}

func (b *bench) measure(ctx context.Context, run func(context.Context, *bench) error) (err error) {
	if b.Dir, err = b.newDir(b.name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.Dir)) }()
	if err = run(ctx, b); ctx.Err() != nil {
		return context.Cause(ctx) // whatever else failed, failed for that
	}
	return err
}

// newDir makes a directory that has no other user.
func (b *bench) newDir(name string) (string, error) { return os.MkdirTemp(b.Dir, name+"-") }

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.Log, "bench: "+format+"\n", args...)
}

func (b *bench) report(figures ...figure) (err error) {
	for i := 0; i < len(figures) && err == nil; i++ {
		err = b.Report(figures[i])
	}
	return err
}

// of returns the amount for this run.
func (b *bench) of(small, whole int) int {
	if b.Events < wholeLog {
		return small
	}
	return whole
}

// rounds measures once per round, and reports the figures of the values of all. If the run is stopped, complete rounds
// count.
func (b *bench) rounds(ctx context.Context, measure func(ctx context.Context, round int, v values) error, figures func(values) []figure) error {
	all := values{}
	for b.done = 0; b.done < b.Rounds; b.done++ {
		v := values{}
		if err := measure(ctx, b.done, v); err != nil {
			if b.done > 0 && ctx.Err() != nil {
				break
			}
			return err
		}
		for name, list := range v {
			all[name] = append(all[name], list...)
		}
		b.logf("%s round %d: %s", b.name, b.done+1, v)
	}
	return b.report(figures(all)...)
}

// medians says in notes what values of rounds are.
func (b *bench) medians() string { return fmt.Sprintf("median of %d rounds", b.done) }
