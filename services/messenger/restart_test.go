package messenger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// stage is a model that holds one answer back, as often as it is told to, until the caller leaves. Its answers are unique.
type stage struct {
	at      int // 1 is the first answer of a flow
	times   atomic.Int64
	reached chan struct{}
}

func newStage(at int, times int64) *stage {
	s := &stage{at: at, reached: make(chan struct{})}
	s.times.Store(times)
	return s
}

func (s *stage) answer(a a2atest.Asked) a2atest.Answer {
	n := strings.Count(a.Message(), "point") // each answer says it once more than what it answers
	if n == s.at && s.times.Add(-1) >= 0 {
		select {
		case s.reached <- struct{}{}:
		case <-a.Context.Done():
		}
		<-a.Context.Done()
	}
	words := make([]string, 0, 20)
	for i := range 10 {
		words = append(words, fmt.Sprintf("%s-%d-%d", a.Agent, n, i))
	}
	return a2atest.Say(strings.Repeat("point ", n+1) + strings.Join(words, " "))
}

// checkTurns sees that each turn was taken once, in order, and that there is one message.
func checkTurns(t testing.TB, team *a2atest.Team, jobID string, turns int) {
	t.Helper()
	responses := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, jobID)
	if len(responses) != turns+1 {
		t.Fatalf("%d responses, want %d: %+v", len(responses), turns+1, responses)
	}
	for turn, r := range responses {
		if r.Turn != turn || r.FromAgent != []string{"seum", "eden"}[turn%2] {
			t.Errorf("response %d: %+v", turn, r)
		}
	}
	if sends := a2atest.Data[coordination.A2ASend](team, coordination.TypeA2ASend, jobID); len(sends) != 1 {
		t.Errorf("%d sends", len(sends))
	}
}

func begin(r *messenger.Request) {
	r.NoTurns = false
	r.Message = "let's discuss this together: point"
}

func TestInvariant25_AFlowGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 3; at++ { // the run of the first answer, of the first turn, of the second
		for name, restart := range map[string]func(*a2atest.Team) *a2atest.Team{"crash": (*a2atest.Team).Crash, "restart": (*a2atest.Team).Reopen} {
			t.Run(fmt.Sprint(name, " ", at), func(t *testing.T) {
				t.Parallel()
				s := newStage(at, 1)
				team := setup(t, a2atest.Setting{Config: maxTurns("2"), Answer: s.answer})
				r := team.MustSend("eden", "seum", "", begin)
				<-s.reached
				team = restart(team)
				row := team.Over(r.JobID)
				team.CheckSettled()
				checkTurns(t, team, r.JobID, 2)
				if row.Outcome != "ok" || row.Turn != 2 {
					t.Errorf("%+v", row)
				}
				if resumed := a2atest.Data[coordination.A2AJob](team, coordination.TypeA2AJobResumed, r.JobID); len(resumed) != 1 || resumed[0].ResumeCount != 1 {
					t.Errorf("%+v", resumed)
				}
			})
		}
	}
}

func TestInvariant27_NoSecondSendAfterARestart(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Config: limited(1), Asleep: true})
	keyed := func(r *messenger.Request) { r.Key = r.Message }
	first, second := team.MustSend("eden", "seum", "one", keyed), team.MustSend("eden", "seum", "two", keyed)
	for range 2 {
		team = team.Crash()
	}
	if again := team.MustSend("eden", "seum", "two", keyed); !again.Duplicate || again.RunID != second.RunID || again.ConversationID != second.ConversationID {
		t.Errorf("%+v", again)
	}
	team.Wake()
	team.Over(first.JobID)
	team.Over(second.JobID)
	team.CheckSettled()
	if sends := team.Events(coordination.TypeA2ASend); len(sends) != 2 {
		t.Errorf("%d sends", len(sends))
	}
}

func TestInvariant28_TurnsAreNotRepeatedAfterRestarts(t *testing.T) {
	t.Parallel()
	s := newStage(2, 2)
	team := setup(t, a2atest.Setting{Config: maxTurns("3"), Answer: s.answer})
	r := team.MustSend("eden", "seum", "", begin)
	for range 2 {
		<-s.reached
		team = team.Crash()
	}
	team.Over(r.JobID)
	team.CheckSettled()
	checkTurns(t, team, r.JobID, 3)
}

func TestBug10_AResumedFlowNeitherSendsAgainNorEnds(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Answer: d.answer})
	defer d.release()
	r := team.MustSend("eden", "seum", "hello")
	d.arrive(t, 1)
	team = team.Crash()
	d.arrive(t, 1)
	if row := team.Flow(r.JobID); row.Phase != a2a.Waiting || row.Resumed != 1 {
		t.Errorf("%+v", row)
	}
	d.release()
	if row := team.Over(r.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
}

func TestFruitlessRestartsAreCounted(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: limited(1)})
	first, second := team.MustSend("eden", "seum", "one"), team.MustSend("eden", "seum", "two")
	for n := 1; n <= a2a.MaxResumes; n++ {
		got, err := team.Resume(t.Context())
		if want := (messenger.Resumed{Open: 2, Resumed: 1}); err != nil || got != want {
			t.Fatalf("restart %d: %+v, %v", n, got, err)
		}
	}
	if got, err := team.Resume(t.Context()); err != nil || got != (messenger.Resumed{Open: 2, Abandoned: 1}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if row := team.Flow(first.JobID); row.Phase != a2a.Over || row.Outcome != coordination.OutcomeValueAbandoned {
		t.Errorf("%+v", row)
	}
	if row := team.Flow(second.JobID); row.Phase != a2a.Waiting { // it has got the permit
		t.Errorf("%+v", row)
	}
	team.Advance(2 * time.Hour)
	if got, err := team.Resume(t.Context()); err != nil || got != (messenger.Resumed{Open: 1, Abandoned: 1}) {
		t.Fatalf("%+v, %v", got, err)
	}
	team.CheckFlows()
}

// While a program was down a limit may have been raised.
func TestResumeGivesFreePermits(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: limited(1)})
	for i := range 3 {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) })
	}
	team.Configure(limited(2))
	if _, err := team.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantPhases(t, team, "seum", 2, 1, 0)
	team.Wake()
	team.CheckSettled()
}

// Many flows are resumed a part at a time; what ends one does not end others.
func TestResumeTakesThemAPartAtATime(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true, Config: limited(200)})
	const n = 120
	for i := range n {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i))
	}
	if got, err := team.Resume(t.Context()); err != nil || got != (messenger.Resumed{Open: n, Resumed: n}) {
		t.Fatalf("%+v, %v", got, err)
	}
	seen := map[string]int{}
	for _, e := range team.Events(coordination.TypeA2AJobResumed) {
		seen[a2atest.JobOf(t, &e)]++
	}
	if len(seen) != n {
		t.Errorf("%d of %d were resumed", len(seen), n)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was resumed %d times", id, times)
		}
	}
}

// After a long time all that was under way is given up, many in one transaction, and those get their permits who wait for one.
func TestResumeGivesUpManyAtATime(t *testing.T) {
	t.Parallel()
	const active, waiting, batches = 120, 2, 2
	team := setup(t, a2atest.Setting{Asleep: true, Config: limited(active)})
	for i := range active + waiting {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) })
	}
	conf := config.Default()
	conf.Defaults.A2A.MaxFlows = active
	team.Clock.Forward(2 * time.Hour)
	c := messenger.New(messenger.Options{Log: team.Log, Queue: team.Queue, Config: func() *config.Config { return conf }, Now: team.Clock.Now,
		NewID: uuid.NewString, Jitter: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler)})
	log := team.Log.(*counted)
	before := log.count()
	if got, err := c.Resume(t.Context()); err != nil || got != (messenger.Resumed{Open: active + waiting, Abandoned: active}) {
		t.Errorf("%+v, %v", got, err)
	}
	if n := log.count() - before; n > batches+2 { // and what gives the permits away, until there is nothing more to give
		t.Errorf("%d decisions", n)
	}
	wantPhases(t, team, "seum", waiting, 0, active)
}

// A flow whose run has ended without it, because what follows could not be appended then, is taken up when it is due.
func TestAFlowThatWasPassedOverIsTakenUp(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Asleep: true})
	r := team.MustSend("eden", "seum", "hello")
	team.Forget(true)
	team.Wake()
	team.Ended(r.JobID)
	if row := team.Flow(r.JobID); row.Phase != a2a.Waiting {
		t.Fatalf("%+v", row)
	}
	team.Forget(false)
	team.Advance(a2a.WaitMs * time.Millisecond)
	if row := team.Until(r.JobID, func(f *flows.Row) bool { return f.Phase == a2a.Over }); row.Outcome != "ok" || row.Said[0].Text != "echo: [eden]: hello" {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
}

// endedOnly ends a flow like a process that is killed before it stops the flow's run, or what that has started.
func endedOnly(t testing.TB, team *a2atest.Team, jobID string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := messenger.New(messenger.Options{Log: team.Log, Queue: team.Queue, Config: func() *config.Config { return nil }, Now: team.Clock.Now, NewID: uuid.NewString,
		Jitter: func() float64 { return 0 }, Logger: slog.New(slog.DiscardHandler)})
	if stopped, err := messenger.NewStopper(c, deaf{cancel}).Stop(ctx, jobID, "test", "no longer"); !errors.Is(err, context.Canceled) || !slices.Equal(stopped, []string{jobID}) {
		t.Fatalf("stopped %v: %v", stopped, err)
	}
}

// deaf is a runner that stops nothing: the process is killed then.
type deaf struct{ killed func() }

func (d deaf) Stop(context.Context, run.Stop) ([]string, error) {
	d.killed()
	return nil, nil
}

// A stopped flow stays stopped: what its run had started is not resumed after a restart, and what had not started does not start.
func TestARunOfAnEndedFlowDoesNotGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	for name, started := range map[string]bool{"started": true, "queued": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(1, 1)
			team := setup(t, a2atest.Setting{Answer: s.answer, Asleep: true})
			r := team.MustSend("eden", "seum", "", begin)
			if started {
				team.Wake()
				<-s.reached
			}
			endedOnly(t, team, r.JobID)
			team = team.Crash()
			team.Wake()
			team.CheckSettled()
			asked, want := 0, map[bool]int{true: 1}[started]
			for _, a := range team.Model.Asked() {
				if strings.HasPrefix(a.Key, r.JobID) {
					asked++
				}
			}
			if runs := team.Runs(); len(runs) != 1 || runs[0].State != run.Aborted || asked != want {
				t.Errorf("the model was asked %d times: %+v", asked, runs)
			}
		})
	}
}

// What a flow has started ends with it, also if the process is killed in between; so does what that has started.
func TestWhatAnEndedFlowHasStartedEndsAtTheLatestAfterARestart(t *testing.T) {
	t.Parallel()
	next := map[string]string{"seum": "dajim", "dajim": "miri"}
	team := setup(t, a2atest.Setting{Agents: []string{"eden", "seum", "dajim", "miri"}, Answer: func(a a2atest.Asked) a2atest.Answer {
		if to := next[a.Agent]; to != "" {
			return a2atest.Use(a2atest.Send(map[string]any{"agentId": to, "message": "and you?", "timeoutSeconds": 60}))
		}
		<-a.Context.Done()
		return a2atest.Answer{}
	}})
	first := team.MustSend("eden", "seum", "and you?")
	team.Await("three flows", func(ctx context.Context, tx *sql.Tx) (bool, error) {
		list, err := flows.List(ctx, tx, flows.Query{Open: true})
		return len(list) == 3, err
	})
	endedOnly(t, team, first.JobID)
	if open := team.Flows(); open[1].Phase != a2a.Waiting || open[2].Phase != a2a.Waiting {
		t.Fatalf("%+v", open)
	}
	team = team.Crash()
	team.CheckSettled()
	for _, f := range team.Flows() {
		if f.Outcome != coordination.OutcomeValueCancelled {
			t.Errorf("%s has ended %s", f.Preview, f.Outcome)
		}
	}
	for _, r := range team.Runs() {
		if r.State != run.Aborted || r.RetryOf != "" {
			t.Errorf("%+v", r)
		}
	}
}
