package messenger_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// crashTables is whether tables are compared with those of a rebuild after each kill of the crash scenario, or only in the end.
var crashTables = testscale.Of(false, true)

// manyRounds is the number of kills after which it is no accident that none has hit the phase.
const manyRounds = 60

// Agents talk with each other, and the process is killed again and again, wherever their flows are. Whatever was accepted is there; every flow
// goes on from where it was, to its one end; nothing is sent, asked for, answered or reported twice; posts repeat only with their key; no agent
// has more flows than it may; and the tables are those that a rebuild makes.
//
// Promise: flow-once
func TestCrashWhileAgentsTalk(t *testing.T) {
	t.Parallel()
	c := &crashes{outside: newOutside(t), fell: map[string]int{}, outcomes: map[string]int{}, whole: map[string]bool{}}
	s := talking
	s.Prepare = func(t testing.TB, dir string) {
		c.dir = dir
		c.outside.tell(t, dir)
		file, err := emptyLog()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, emptyFile), file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Check = c.check
	storetest.Crash(t, s, crashRounds)
	c.finish(t)
	t.Logf("%d kills in %d logs; they have met flows: %v", c.kills, len(c.whole), sorted(c.fell))
	t.Logf("outcomes: %v; %d resumed", sorted(c.outcomes), c.resumed)
	for _, where := range []string{"dispatching", "waiting", "waiting for a retry", "turn 1", "turn 2", "announcing", "posting", "posting, under way",
		"queued", "started", "spawn"} {
		if c.kills >= manyRounds && c.fell[where] == 0 {
			t.Errorf("no kill has met a flow %s", where)
		}
	}
}

func sorted(counts map[string]int) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s: %d", name, counts[name]))
	}
	return list
}

// crashes is what is known of all kills so far.
type crashes struct {
	outside *outside
	dir     string
	seen    int // acknowledgements

	kills    int
	fell     map[string]int // how many flows a kill has met, by where they were
	outcomes map[string]int // of flows that are over in whole logs
	resumed  int
	whole    map[string]bool // logs in which nothing is left to do

	last *story // what the last kill has left
}

// check examines what a kill has left.
func (c *crashes) check(t testing.TB, dir string, acked []string) {
	fresh := acked[c.seen:]
	c.seen = len(acked)
	c.kills++
	files, err := filepath.Glob(filepath.Join(dir, "log-*.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range files {
		name := filepath.Base(path)
		switch {
		case c.whole[name]:
		case i < len(files)-1:
			c.checkWhole(t, path, acked, fresh)
		default:
			if crashTables {
				checkTables(t, path)
			}
			told := c.read(t, path, acked, fresh)
			told.countWhere(c.fell)
			c.last = told
		}
	}
}

// finish does what the last kill has left.
func (c *crashes) finish(t *testing.T) {
	path := crashLog(c.dir, max(len(c.whole)+1, 1))
	if err := putEmptyLog(c.dir, path); err != nil {
		t.Fatal(err)
	}
	team := a2atest.New(t, crashSetting(path, places{c.outside.models.URL, c.outside.posts.URL}, t.Output()))
	if err := settle(t.Context(), team); err != nil {
		t.Fatal(err)
	}
	team.Close()
	checkTables(t, path)
	c.checkWhole(t, path, nil, []string{filepath.Base(path) + " awake "})
}

func (c *crashes) checkWhole(t testing.TB, path string, acked, fresh []string) {
	t.Helper()
	told := c.read(t, path, acked, fresh)
	told.checkWhole(t)
	for _, f := range told.order {
		c.outcomes[sortOf(f.name)+" "+f.Outcome]++
		c.resumed += f.resumes
	}
	c.whole[told.log] = true
	c.last = nil
}

// read reads a log and checks what has to hold at any time.
func (c *crashes) read(t testing.TB, path string, acked, fresh []string) *story {
	t.Helper()
	set := crashSetting(path, places{c.outside.models.URL, c.outside.posts.URL}, t.Output())
	set.Asleep = true
	team := a2atest.New(t, set)
	defer team.Close()
	team.CheckFlows()
	told := &story{log: filepath.Base(path), flows: map[string]*toldFlow{}, runs: map[string]*toldRun{}, posts: map[string]int{}}
	for _, e := range team.Events() {
		if err := told.add(&e); err != nil {
			t.Fatalf("%s, event %d, %s: %v in %s", told.log, e.Seq, e.Type, err, e.Data)
		}
	}
	told.check(t)
	told.checkAcks(t, acked)
	told.checkOutside(t, c.outside)
	if c.last != nil && c.last.log == told.log {
		told.checkResumed(t, c.last, slices.Contains(fresh, told.log+" awake "))
	}
	return told
}

// checkTables sees whether the log is sound, and whether the tables are those that a rebuild makes.
func checkTables(t testing.TB, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	engine, err := projections.Start(context.WithoutCancel(t.Context()), db, a2atest.Definitions(), projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Verify(t.Context(), false, nil); err != nil {
		t.Fatalf("verify what is left: %v", err)
	}
	left := projectiontest.Dump(t, db, a2atest.Definitions()...)
	if err := engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projectiontest.Dump(t, db, a2atest.Definitions()...), left); diff != "" {
		t.Errorf("%s: tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", filepath.Base(path), diff)
	}
}

// partOf tells what a run of a flow is for by its id: nothing for its first one, else r2, t1, a, p and the like.
func partOf(root string) (job, part string) {
	job, part, _ = strings.Cut(root, ".")
	return job, part
}
