package messenger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/a2atest"
	"github.com/pronto-lab/openclawd/tools/spawn"
)

// crashAsks is how much is asked for in each log of the crash scenario.
var crashAsks = testscale.Of(8, 24)

// talking has agents talk with each other, in one log after the other. Each acknowledgement is "<log> <what> <of what>".
var talking = storetest.Scenario{
	Name: "talk",
	Work: func(c *storetest.Child) error {
		where, err := readPlaces(c.Dir)
		if err != nil {
			return err
		}
		logs, err := filepath.Glob(filepath.Join(c.Dir, "log-*.db"))
		if err != nil {
			return err
		}
		for n := max(len(logs), 1); ; n++ {
			path := crashLog(c.Dir, n)
			if err := putEmptyLog(c.Dir, path); err != nil {
				return err
			}
			t := &alone{dir: c.Dir}
			team := a2atest.New(t, crashSetting(path, where, t.Output()))
			ack := func(what, id string) { c.Ack(filepath.Base(path) + " " + what + " " + id) }
			ack("awake", "")
			err := talk(team, n, rand.New(rand.NewPCG(c.Rand.Uint64(), 0)), ack)
			t.end()
			if err != nil {
				return err
			}
			ack("settled", "")
		}
	},
}

func crashLog(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("log-%03d.db", n)) }

// emptyFile is a log in which nothing stands: to make one takes long.
const emptyFile = "empty.db"

// putEmptyLog puts a whole log to where none is.
func putEmptyLog(dir, path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.ReadFile(filepath.Join(dir, emptyFile))
	if err == nil {
		err = os.WriteFile(path+".new", file, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// crashLimit is how many flows an agent may have at a time.
const crashLimit = 2

// crashSetting is a team whose models and channel are outside of its process.
func crashSetting(path string, where places, logs io.Writer) a2atest.Setting {
	return a2atest.Setting{
		Path: path, Models: where.Models, Channels: wire{where.Posts, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}, Logs: logs,
		Agents: []string{"eden", "seum", "dajim", "miri", "juno"}, Lanes: map[string]int{run.LaneMain: 4, run.LaneNested: 4, run.LaneSubagent: 2},
		Config: fmt.Sprintf(`{"agents":{"defaults":{"a2aConcurrency":{"maxConcurrentFlows":%d,"queueTimeoutMs":600000}}},
			"session":{"agentToAgent":{"maxPingPongTurns":2}}}`, crashLimit),
		Open: func(path string) (a2atest.Store, error) {
			return sqlite.Open(context.Background(), sqlite.Options{Path: path})
		},
		Tools: func(team *a2atest.Team) []tools.Tool { return spawn.Tools(spawnOptions(team)) },
		Handlers: func(team *a2atest.Team) map[string]worker.Handler {
			return map[string]worker.Handler{spawn.CleanupKind: spawn.Cleanup(spawnOptions(team))}
		},
	}
}

func spawnOptions(team *a2atest.Team) spawn.Options {
	return spawn.Options{Log: team.Log, Spawner: team, Stopper: team, Now: team.Clock.Now, NewID: uuid.NewString}
}

// talk asks for what was not asked for yet in the log of that number, ends some of it, and waits until nothing is left to do.
func talk(team *a2atest.Team, log int, random *rand.Rand, ack func(what, id string)) error {
	ctx := context.Background()
	for _, agent := range []string{"seum", "miri"} { // so that what is announced has somewhere to go
		if err := speakOnce(ctx, team, agent); err != nil {
			return err
		}
	}
	e := &ender{team: team, random: random, ack: ack, wanted: make(chan string, crashAsks)}
	unfollow := team.Runner.Follow(func(u run.Update) {
		if u.Kind == run.Ended {
			ack("ended", u.RunID)
			e.perhaps()
		}
	})
	defer unfollow()
	var ending sync.WaitGroup
	var endErr error
	ending.Go(func() { endErr = e.end(ctx) })
	var asking sync.WaitGroup
	errs := make([]error, 4)
	for asker := range errs {
		asking.Go(func() {
			for n := asker; n < crashAsks && errs[asker] == nil; n += len(errs) {
				errs[asker] = crashAsk(ctx, team, log, n, func(what, id string) {
					ack(what, id)
					e.note(what, id)
				})
			}
		})
	}
	asking.Wait()
	err := errors.Join(append(errs, settle(ctx, team))...)
	e.close()
	ending.Wait()
	return errors.Join(err, endErr)
}

// speakOnce has a person speak with an agent in a channel.
func speakOnce(ctx context.Context, team *a2atest.Team, agent string) error {
	key := coordination.MainKey(agent)
	_, err := team.Runner.Queue(ctx, run.Ask{Session: key, Human: true, RunQueued: coordination.RunQueued{RunID: "spoken-" + agent, SessionKey: key.String(),
		Cause: "chat", Message: "hello", Channel: "discord", To: "channel:" + agent, AccountID: "team"}})
	if err == nil {
		_, err = team.Runner.Wait(ctx, "spoken-"+agent)
	}
	return err
}

// crashSession is one of the sessions of an agent that ask for something.
func crashSession(agent string, n int) coordination.SessionKey {
	key := coordination.MainKey(agent)
	key.ID = fmt.Sprint("s", n%5)
	return key
}

// crashName is what the n-th ask of a log is called; no other one is.
func crashName(log, n int) string {
	sorts := []string{sortTalk, sortBusy, sortTell, sortNote, sortTalk, sortChild, sortTalk, sortWrong}
	return fmt.Sprintf("%s-%d", sorts[n%len(sorts)], 1000*log+n)
}

// crashAsk is the n-th ask of a log, which is told once it is accepted.
func crashAsk(ctx context.Context, team *a2atest.Team, log, n int, tell func(what, id string)) error {
	name, from, to := crashName(log, n), []string{"eden", "dajim"}[n/8%2], []string{"seum", "miri", "juno"}[n%3]
	session := crashSession(from, n)
	caller := tool.Caller{Entry: tool.ByCLI, AgentID: from, SessionKey: session.String(), By: "test"}
	switch sortOf(name) {
	case sortTell:
		ask := run.Ask{Session: session, Human: true, RunQueued: coordination.RunQueued{RunID: name, SessionKey: session.String(), Cause: "chat", Message: "go on with " + name,
			OnRestart: run.OnRestartRetry}}
		accepted, err := team.Runner.Queue(ctx, ask)
		tell("accepted", accepted.RunID)
		return err
	case sortChild:
		result, err := team.Spawn(ctx, messenger.SpawnRequest{From: caller, Key: name, Task: "see to " + name, Label: name})
		if err == nil && result.Status != "accepted" {
			err = fmt.Errorf("%s: %+v", name, result)
		}
		tell("started", result.JobID)
		return err
	}
	r := messenger.Request{From: caller, Origin: "cli", Key: name, Target: coordination.MainKey(to), Message: "let's discuss this together: " + name + " " + pointWord}
	switch sortOf(name) {
	case sortNote:
		r.NoTurns = true
	case sortBusy, sortWrong:
		r.NoTurns, r.NoAnnounce = true, true
	}
	if n%8 == 6 { // those of one session
		r.ConversationID = "shared " + from
	}
	result, err := team.Send(ctx, r)
	if err == nil && result.JobID == "" {
		err = fmt.Errorf("%s: %+v", name, result)
	}
	tell("started", result.JobID)
	return err
}

// ender ends some of the flows, wherever they are.
type ender struct {
	team   *a2atest.Team
	ack    func(what, id string)
	wanted chan string

	mu      sync.Mutex
	random  *rand.Rand
	started []string
	closed  bool
}

func (e *ender) note(what, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if what == "started" {
		e.started = append(e.started, id)
	}
}

// perhaps picks a flow, now and then.
func (e *ender) perhaps() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.started) == 0 || e.random.IntN(12) > 0 {
		return
	}
	select {
	case e.wanted <- e.started[e.random.IntN(len(e.started))]:
	default: // there are enough
	}
}

func (e *ender) end(ctx context.Context) error {
	for id := range e.wanted {
		stopped, err := e.team.Stop(ctx, id, "test", "no longer")
		if err != nil {
			return err
		}
		for _, id := range stopped {
			e.ack("cancelled", id)
		}
	}
	return nil
}

func (e *ender) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	close(e.wanted)
}

// settle waits until no run and no flow is left. Where nothing goes on, the clock is set forward to when something does.
func settle(ctx context.Context, team *a2atest.Team) error {
	for {
		head, err := team.Log.Head(ctx)
		if err != nil {
			return err
		}
		var items []workqueue.Item
		err = team.Log.View(ctx, func(tx *sql.Tx) error {
			for _, kind := range []string{workqueue.KindRun, workqueue.KindJob} {
				of, err := workqueue.List(ctx, tx, workqueue.Query{Kind: kind})
				if err != nil {
					return err
				}
				items = append(items, of...)
			}
			return nil
		})
		if err != nil || len(items) == 0 {
			return err
		}
		if next := untilNext(items, team); next > 0 {
			team.Advance(next)
			continue
		}
		if _, err := team.Log.Wait(ctx, head.Seq+1); err != nil {
			return err
		}
	}
}

// untilNext is how long it takes until the first of all that waits is due; 0 if something is, or is under way. What waits for the answer of
// another agent does nothing.
func untilNext(items []workqueue.Item, team *a2atest.Team) time.Duration {
	busy, first := 0, int64(math.MaxInt64)
	for _, i := range items {
		if i.State == workqueue.Leased {
			busy++
		} else {
			first = min(first, i.DueAt)
		}
	}
	for _, waits := range team.Waiting() {
		busy -= waits
	}
	if busy > 0 || first == math.MaxInt64 {
		return 0
	}
	return max(time.UnixMilli(first).Sub(team.Clock.Now()), 0)
}

// alone stands for a test in a process that has none: what fails there ends the process. So does an error in the log of the program.
type alone struct {
	testing.TB // nil: what is not here is not used

	dir      string
	cleanups []func()
}

func (*alone) Helper()                     {}
func (*alone) Context() context.Context    { return context.Background() }
func (a *alone) Cleanup(f func())          { a.cleanups = append(a.cleanups, f) }
func (a *alone) Error(args ...any)         { a.Fatal(args...) }
func (*alone) Output() io.Writer           { return vigilant{} }
func (a *alone) Errorf(f string, x ...any) { a.Fatal(fmt.Sprintf(f, x...)) }
func (a *alone) Fatalf(f string, x ...any) { a.Fatal(fmt.Sprintf(f, x...)) }

func (*alone) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func (a *alone) TempDir() string {
	dir, err := os.MkdirTemp(a.dir, "test-")
	if err != nil {
		a.Fatal(err)
	}
	return dir
}

// end does what is to be done at the end of a test.
func (a *alone) end() {
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
}

// vigilant is a log in which no errors may stand.
type vigilant struct{}

func (vigilant) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(" level=ERROR ")) {
		new(alone).Fatal("the program says: " + string(line))
	}
	return os.Stderr.Write(line)
}
