package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/continuer"
)

// Windows into which a kill may fall.
const (
	beforeDispatch = "between a decision and the beginning of its run"
	duringRun      = "during the run of a prompt"
	beforeNext     = "between the end of a run and what follows from it"
	anywhere       = "anywhere, also while the server begins"
)

// windowOf is the window that an event opens, false for none.
func windowOf(typ string) (window string, opens bool) {
	switch typ {
	case coordination.TypeContinuationSent, coordination.TypeResumeReminderSent, coordination.TypeUnblockRequested:
		return beforeDispatch, true
	case coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunTimedOut:
		return beforeNext, true
	}
	return "", false
}

// windowAim is when a server is killed: so long after the nth time that the window is opened.
type windowAim struct {
	window string
	nth    int
	after  time.Duration
}

func drawAim(round uint64, r *rand.Rand) windowAim {
	a := windowAim{window: [...]string{beforeDispatch, duringRun, beforeNext, anywhere}[round%4], nth: 1 + r.IntN(1<<r.IntN(6))}
	most := time.Millisecond / 2
	switch a.window {
	case duringRun:
		most = 20 * time.Millisecond
	case anywhere:
		most = 1500 * time.Millisecond
	}
	a.after = time.Duration(r.Int64N(int64(most)))
	return a
}

// windowRounds is how often the server is killed, unless the environment says otherwise: once for each window.
const windowRounds = 3

// manyWindowRounds is after how many kills it is no chance any more that none has met a window.
const manyWindowRounds = 100

// windowKills is what is known of all kills so far.
type windowKills struct {
	dir   string
	minds *moodyMinds
	judge *promptJudge
	ahead time.Duration  // of the clock
	hits  map[string]int // how many kills have met a window
	seq   int64          // up to which the log was judged
	left  map[string]int // tasks that an agent can go on with
}

// Agents go on with their tasks, and the server is killed again and again: after a decision and before its run begins, while it runs,
// and after its end, before the next decision. A cause has one prompt, a prompt one run or flow, a run one begin and one end; no model
// is asked twice about one; working agents are not prompted; a restart is reported once; the log is sound, the tables are those of a
// rebuild; and whatever the kills have left is done in the end, or reported.
//
// Promise: continuation
func TestCrashBetweenDecisionAndOutcome(t *testing.T) {
	t.Parallel()
	rounds, base := crashSetting(t, storetest.EnvCrashRounds, windowRounds), crashSetting(t, storetest.EnvCrashSeedBase, rand.Uint64())
	t.Logf("%d rounds; repeat with %s=%d", rounds, storetest.EnvCrashSeedBase, base)
	k := &windowKills{dir: t.TempDir(), minds: newMoodyMinds(t, base), judge: newPromptJudge(), hits: map[string]int{}, left: map[string]int{}}
	if err := os.WriteFile(settings.File(k.dir), []byte(windowConfig(k.minds.models.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(base+round, 4))
		aim := drawAim(round, r)
		k.goesUntilKilled(t, aim, r)
		met := k.looksAtRuins(t, round < windowRounds || round%20 == 0)
		t.Logf("round %d, aimed at %+v: met %q; %d events", round+1, aim, met, k.seq)
		if t.Failed() {
			t.FailNow()
		}
	}
	k.finishes(t)
	for _, window := range []string{beforeDispatch, duringRun, beforeNext} {
		t.Logf("%d of %d kills were %s", k.hits[window], rounds, window)
		if k.hits[window] == 0 && rounds >= manyWindowRounds {
			t.Errorf("no kill was %s", window)
		}
	}
	t.Logf("seen: %v", k.judge.counts)
	if len(k.judge.causes) == 0 {
		t.Error("no agent was told anything")
	}
}

// goesUntilKilled has agents begin tasks and go on with them, with a clock that runs fast, until the server is killed.
func (k *windowKills) goesUntilKilled(t *testing.T, aim windowAim, r *rand.Rand) {
	t.Helper()
	var mu sync.Mutex
	seen := 0
	opened := func(s *goingServer, window string) {
		mu.Lock()
		defer mu.Unlock()
		if window != aim.window {
			return
		}
		if seen++; seen == aim.nth {
			time.AfterFunc(aim.after, s.kill)
		}
	}
	s := startGoing(t, k.dir, k.ahead, func(s *goingServer, line string) {
		if window, opens := windowOf(line); opens {
			opened(s, window)
		}
	})
	k.minds.whenAsked(func() { opened(s, duringRun) })
	late := time.AfterFunc(patience, s.kill) // it does not start
	if aim.window == anywhere {
		late.Reset(aim.after)
	}
	defer late.Stop()
	beginning, dice := sync.WaitGroup{}, rand.New(rand.NewPCG(r.Uint64(), 5))
	beginning.Go(func() {
		if url, up := <-s.url; up {
			if aim.window != anywhere {
				late.Reset(5 * time.Second) // then nothing happens any more
			}
			k.begins(t, url, dice)
		}
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for killed := false; !killed; {
		select {
		case <-tick.C:
			k.ahead += stride(r)
			s.order(k.ahead)
		case <-s.read:
			killed = true
		}
	}
	s.kill()
	beginning.Wait()
	k.minds.whenAsked(func() {})
	if s.cmd.ProcessState.Exited() {
		t.Fatalf("the server has ended by itself: %s\n%s", s.cmd.ProcessState, s.stderr.Bytes())
	}
	if strings.Contains(s.stderr.String(), "level=ERROR") {
		t.Errorf("the server says:\n%s", s.stderr.Bytes())
	}
}

// stride is how far the clock advances at a time: by minutes, now and then so far that requests are due, and seldom so far that tasks
// without activity are taken away.
func stride(r *rand.Rand) time.Duration {
	switch n := r.IntN(50); {
	case n == 0:
		return 3 * time.Hour
	case n < 5:
		return 35 * time.Minute
	}
	return time.Duration(r.Int64N(int64(6 * time.Minute))).Round(time.Second)
}

// mostLeft is how many tasks that it can go on with an agent has before it is given no more.
const mostLeft = 4

// begins gives agents work, until that is done or the server is gone.
func (k *windowKills) begins(t *testing.T, url string, r *rand.Rand) {
	t.Helper()
	c, err := client.Dial(t.Context(), url, client.Options{Token: "secret"})
	if err != nil {
		return // it is killed
	}
	defer c.Close()
	uses := func(agent, name string, args map[string]any) (answer taskAnswer, up bool) {
		key := fmt.Sprintf("%x", r.Uint64())
		answer, err := (&asked{params: map[string]any{"name": name, "agentId": agent, "args": args, "idempotencyKey": key}}).ask(c)
		if err != nil && !errors.As(err, new(*client.ClosedError)) {
			t.Errorf("%s of %s: %v", name, agent, err)
		}
		if err != nil {
			return answer, false
		}
		if name == "task_block" && answer.Code == "wrong_state" {
			return answer, true // the clock ran hours ahead since it was started, and a task without activity is taken away
		}
		if !answer.Success {
			t.Errorf("%s of %s: %+v", name, agent, answer)
		}
		return answer, answer.Success
	}
	steps := []map[string]string{{"content": "look"}, {"content": "think"}, {"content": "act"}}
	for i, agent := range keptGoing {
		for range max(mostLeft-k.left[agent], 0) {
			up := true
			switch r.IntN(4) {
			case 0:
				_, up = uses(agent, "task_start", map[string]any{"description": "it takes three steps", "steps": steps})
			case 1:
				_, up = uses(agent, "task_start", map[string]any{"description": "it is done, but " + waitsForHelp})
			case 2:
				_, up = uses(agent, "task_backlog_add", map[string]any{"description": "it is for later", "assignee": agent})
			default:
				var started taskAnswer
				if started, up = uses(agent, "task_start", map[string]any{"description": "another agent has to help", "steps": steps}); up {
					by := []string{keptGoing[(i+1)%len(keptGoing)], keptGoing[(i+2)%len(keptGoing)]}
					_, up = uses(agent, "task_block", map[string]any{"task_id": started.TaskID, "reason": "something is missing", "unblock_by": by})
				}
			}
			if !up {
				return
			}
		}
	}
}

// looksAtRuins judges what a kill has left, and says into which windows it has fallen.
func (k *windowKills) looksAtRuins(t *testing.T, tables bool) (met []string) {
	t.Helper()
	path := filepath.Join(k.dir, database.Name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil // it was killed before it began
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	k.judges(t, db, false)
	waiting, running := k.judge.state()
	if waiting > 0 {
		met = append(met, beforeDispatch)
	}
	if running > 0 {
		met = append(met, duringRun)
	}
	if k.looksAtAgents(t, db) {
		met = append(met, beforeNext)
	}
	for _, window := range met {
		k.hits[window]++
	}
	if tables {
		checkGoingTables(t, db)
	}
	return met
}

// eventLog is what a log is judged by.
type eventLog interface {
	Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error)
}

// judges judges what the log has got since.
func (k *windowKills) judges(t *testing.T, log eventLog, over bool) {
	t.Helper()
	k.judge.life++
	for {
		events, err := log.Read(t.Context(), k.seq, 5_000)
		if err == nil {
			err = k.judge.read(events)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		k.seq = events[len(events)-1].Seq
	}
	k.judge.check(over)
	k.judge.heard(k.minds.calls())
	for _, broken := range k.judge.broken {
		t.Error(broken)
	}
}

// looksAtAgents counts the tasks that agents can go on with, and reports whether the kill came after the end of a run, and before what follows
// from it.
func (k *windowKills) looksAtAgents(t *testing.T, db *sqlite.DB) (due bool) {
	t.Helper()
	conf, findings := config.Load(settings.File(k.dir), func(string) string { return "" })
	if conf == nil {
		t.Fatal(findings)
	}
	open := true
	err := db.View(t.Context(), func(tx *sql.Tx) error {
		for _, agent := range keptGoing {
			rows, _, err := tasks.List(t.Context(), tx, tasks.Filter{Agents: []string{agent}, Open: &open})
			if err != nil {
				return err
			}
			k.left[agent] = 0
			for i := range rows {
				if rows[i].Status != coordination.StateInterrupted && rows[i].Status != coordination.StateBlocked {
					k.left[agent]++
				}
			}
			e, _, err := continuer.Explain(t.Context(), tx, conf, agent, time.Now().Add(k.ahead), time.Time{})
			if err != nil {
				return err
			}
			due = due || followsAnEnd(&e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return due
}

// followsAnEnd reports whether something is to be done about an agent because a run of it has ended: not because it is late.
func followsAnEnd(e *continuation.Explained) bool {
	switch {
	case e.State.Failures > 0 && !e.State.BackoffTold:
		return true
	case e.State.Ended.RunID == "" || e.State.Ended.RunID == e.State.Answered:
		return false
	}
	switch e.Reason {
	case continuation.SelfDriving, continuation.StepsMissing, continuation.SameStep, continuation.NoProgress:
		return true
	}
	return false
}

// checkGoingTables sees whether the log is sound, and whether the tables are those that a rebuild makes.
func checkGoingTables(t *testing.T, db *sqlite.DB) {
	t.Helper()
	defs := database.Projections(coordination.RulesV2)
	engine, err := projections.Start(context.WithoutCancel(t.Context()), db, defs, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Verify(t.Context(), false, nil); err != nil {
		t.Fatalf("verify what is left: %v", err)
	}
	left := projectiontest.Dump(t, db, defs...)
	if err := engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(projectiontest.Dump(t, db, defs...), left); diff != "" {
		t.Errorf("tables differ from rebuilt ones (-rebuilt +left):\n%.4000s", diff)
	}
}

// finishes serves what the kills have left until nothing is to be done about any agent, and judges the whole log.
func (k *windowKills) finishes(t *testing.T) {
	t.Helper()
	k.minds.becomeDiligent()
	ahead := k.ahead
	var mu sync.Mutex
	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = k.dir, filepath.Join(k.dir, database.Name), "127.0.0.1:0"
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	for {
		left := stillGoing(t, p.Program)
		if left == "" {
			break
		}
		mu.Lock()
		ahead += 5 * time.Minute
		mu.Unlock()
		err := wakeAll(ctx, p.Program.log)
		for head := (eventstore.Head{}); err == nil; { // until nothing is due
			if head, err = p.Program.log.Head(ctx); err == nil {
				silence := 100 * time.Millisecond
				if goesOn(t, p.Program) {
					silence = 10 * time.Second // a slow machine needs a while for it
				}
				quiet, done := context.WithTimeout(ctx, silence)
				_, err = p.Program.log.Wait(quiet, head.Seq+1)
				done()
			}
		}
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("wait until nothing is to be done: %v\n%s", err, left)
		}
	}
	k.judges(t, p.Program.log, true)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(k.dir, database.Name)})
	if err != nil {
		t.Fatal(err)
	}
	checkGoingTables(t, db)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// stillGoing returns the agents with something to do, "" for none: the others have done all, or wait for an agent or person that was
// told.
func stillGoing(t *testing.T, p *Program) (left string) {
	t.Helper()
	left, _ = whatIsLeft(t, p)
	return left
}

// goesOn reports whether something that is left needs no later clock.
func goesOn(t *testing.T, p *Program) bool {
	t.Helper()
	_, now := whatIsLeft(t, p)
	return now
}

func whatIsLeft(t *testing.T, p *Program) (left string, now bool) {
	t.Helper()
	err := p.log.View(t.Context(), func(tx *sql.Tx) error {
		for _, kind := range []string{workqueue.KindRun, workqueue.KindJob} {
			items, err := workqueue.List(t.Context(), tx, workqueue.Query{Kind: kind})
			if err != nil {
				return err
			}
			for i := range items {
				left += fmt.Sprintf("%s is %s\n", items[i].EffectID, items[i].State)
				now = now || items[i].State == workqueue.Leased || items[i].State == workqueue.Waiting && items[i].DueAt <= p.opts.Now().UnixMilli()
			}
		}
		for _, agent := range keptGoing {
			e, _, err := continuer.Explain(t.Context(), tx, p.newConfiguration().InForce(), agent, p.opts.Now(), p.agents.restartedAt)
			if err != nil {
				return err
			}
			if e.Kind != continuation.Nothing || e.Reason != continuation.Done && e.Reason != continuation.Told && e.Reason != continuation.Interrupted {
				left += e.Text + "\n"
				now = now || e.Kind != continuation.Nothing
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left, now
}
