package messenger_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/session"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// limited is a configuration in which an agent has so many flows at a time.
func limited(flows int) string {
	return fmt.Sprintf(`{"agents":{"defaults":{"a2aConcurrency":{"maxConcurrentFlows":%d,"queueTimeoutMs":20000}}}}`, flows)
}

// fixture is a model that answers when the test lets it.
type fixture struct {
	mu      sync.Mutex
	waiting []chan struct{}
	came    chan struct{}
}

func newFixture() *fixture { return &fixture{came: make(chan struct{}, 100)} }

func (d *fixture) answer(a a2atest.Asked) a2atest.Answer {
	free := make(chan struct{})
	d.mu.Lock()
	d.waiting = append(d.waiting, free)
	d.mu.Unlock()
	d.came <- struct{}{}
	select {
	case <-free:
	case <-a.Context.Done():
	}
	return a2atest.Say("to " + a.Message())
}

// arrive waits until so many more have been asked.
func (d *fixture) arrive(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-d.came:
		case <-time.After(a2atest.Patience):
			t.Fatal("no model is asked")
		}
	}
}

// next lets the one answer who has waited longest.
func (d *fixture) next() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.waiting[0])
	d.waiting = d.waiting[1:]
}

// answerOne is next if a request waits.
func (d *fixture) answerOne() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		close(d.waiting[0])
		d.waiting = d.waiting[1:]
	}
}

func (d *fixture) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, free := range d.waiting {
		close(free)
	}
	d.waiting = nil
}

// phases counts the flows to an agent by what they wait for.
func phases(team *a2atest.Team, to string) (active, waiting, over int) {
	for _, f := range team.Flows() {
		switch {
		case f.ToAgent != to:
		case f.Phase == a2a.Dispatching:
			waiting++
		case f.Phase == a2a.Over:
			over++
		default:
			active++
		}
	}
	return active, waiting, over
}

func wantPhases(t testing.TB, team *a2atest.Team, to string, active, waiting, over int) {
	t.Helper()
	team.Await(fmt.Sprintf("%d active, %d waiting, %d over", active, waiting, over), func(ctx context.Context, tx *sql.Tx) (bool, error) {
		list, err := flows.List(ctx, tx, flows.Query{To: to})
		a, w, o := 0, 0, 0
		for i := range list {
			switch list[i].Phase {
			case a2a.Dispatching:
				w++
			case a2a.Over:
				o++
			default:
				a++
			}
		}
		return a == active && w == waiting && o == over, err
	})
}

func TestInvariant42_TheThirdWaitsAtALimitOfTwo(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(2), Answer: d.answer})
	defer d.release()
	for i := range 3 {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) })
	}
	d.arrive(t, 2)
	wantPhases(t, team, "seum", 2, 1, 0)
	throttled := a2atest.Data[coordination.A2AConcurrency](team, coordination.TypeA2AConcurrencyThrottle, "")
	if len(throttled) != 1 || throttled[0].ActiveCount != 2 || throttled[0].QueuedCount != 1 || throttled[0].ToAgent != "seum" {
		t.Errorf("%+v", throttled)
	}
	d.next()
	d.arrive(t, 1)
	wantPhases(t, team, "seum", 2, 0, 1)
	d.release()
	wantPhases(t, team, "seum", 0, 0, 3)
	team.CheckSettled()
}

func TestInvariant43_FiveAtALimitOfTwoAllFinishInTurn(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(2), Answer: d.answer})
	defer d.release()
	var sent []string
	for i := range 5 {
		sent = append(sent, team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) }).JobID)
	}
	d.arrive(t, 2)
	wantPhases(t, team, "seum", 2, 3, 0)
	for left := 3; left > 0; left-- {
		d.next()
		d.arrive(t, 1)
		wantPhases(t, team, "seum", 2, left-1, 4-left)
	}
	d.release()
	wantPhases(t, team, "seum", 0, 0, 5)
	team.CheckSettled()
	for i, r := range team.Runs() { // first come, first served
		if r.RunID != sent[i] {
			t.Errorf("run %d is of %s, want %s", i, r.RunID, sent[i])
		}
	}
}

func TestInvariant44_WaitingForAPermitEnds(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	first := team.MustSend("eden", "seum", "first")
	d.arrive(t, 1)
	second := team.MustSend("eden", "seum", "second")
	wantPhases(t, team, "seum", 1, 1, 0)
	team.Advance(19 * time.Second)
	wantPhases(t, team, "seum", 1, 1, 0)
	team.Advance(2 * time.Second)
	wantPhases(t, team, "seum", 1, 0, 1)
	timeouts := a2atest.Data[coordination.A2AConcurrency](team, coordination.TypeA2AConcurrencyTimeout, second.JobID)
	if len(timeouts) != 1 || timeouts[0].ToAgent != "seum" || timeouts[0].QueueTimeoutMs != 20_000 || timeouts[0].ActiveCount != 1 {
		t.Errorf("%+v", timeouts)
	}
	blocked := a2atest.Data[coordination.A2AResponse](team, coordination.TypeA2AResponse, second.JobID)
	if len(blocked) != 1 || blocked[0].Outcome != coordination.OutcomeValueBlocked || !blocked[0].ConcurrencyBlocked {
		t.Errorf("%+v", blocked)
	}
	d.release()
	if row := team.Over(first.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	if row := team.Flow(second.JobID); row.Outcome != coordination.OutcomeValueBlocked {
		t.Errorf("%+v", row)
	}
	team.CheckSettled()
	if runs := team.Runs(); len(runs) != 1 {
		t.Errorf("%d runs: the second was dispatched", len(runs))
	}
}

// The report of a wait that was too long counts the holders of permits and all waiting flows as they were then.
func TestPermitTimeoutCountsWhoWaited(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(2), Answer: d.answer})
	defer d.release()
	send := func(texts ...string) {
		for _, text := range texts {
			team.MustSend("eden", "seum", text, func(r *messenger.Request) { r.WorkSessionID = "ws_" + text }) // one conversation goes on one at a time
		}
	}
	send("1", "2")
	d.arrive(t, 2)
	send("3", "4", "5")
	wantPhases(t, team, "seum", 2, 3, 0)
	team.Advance(21 * time.Second)
	wantPhases(t, team, "seum", 2, 0, 3)
	var got []string
	for _, e := range team.Events(coordination.TypeA2AConcurrencyTimeout) {
		data := a2atest.Decoded[coordination.A2AConcurrency](t, &e)
		got = append(got, fmt.Sprint(data.ActiveCount, " ", data.QueuedCount))
	}
	if want := []string{"2 3", "2 2", "2 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	d.release()
	wantPhases(t, team, "seum", 0, 0, 5)
	team.CheckSettled()
}

func TestInvariant45_AgentsAreIndependent(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	for _, to := range []string{"seum", "dajim"} {
		team.MustSend("eden", to, "one")
		team.MustSend("eden", to, "two")
	}
	d.arrive(t, 2)
	wantPhases(t, team, "seum", 1, 1, 0)
	wantPhases(t, team, "dajim", 1, 1, 0)
	d.next()
	d.arrive(t, 1)
	for range 2 {
		d.next()
	}
	d.arrive(t, 1)
	d.release()
	team.CheckSettled()
}

// mostActive is the most flows of an agent that ever held a permit at a time, by the order of the log.
func mostActive(t testing.TB, team *a2atest.Team) (most int) {
	t.Helper()
	holding := map[string]bool{}
	for _, e := range team.Events("a2a.job.") {
		job := a2atest.JobOf(t, &e)
		switch e.Type {
		case coordination.TypeA2AJobCreated:
			if a2atest.Decoded[coordination.A2AJobCreated](t, &e).Phase == string(a2a.Waiting) {
				holding[job] = true
			}
		case coordination.TypeA2AJobRunning:
			holding[job] = true
		case coordination.TypeA2AJobResumed:
		default:
			delete(holding, job)
		}
		most = max(most, len(holding))
	}
	return most
}

// Promise: permits
func TestInvariant46_NeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	team := setup(t, a2atest.Setting{Config: limited(2)})
	for range 3 {
		together(team, 6, func(i int) messenger.Result {
			r := team.MustSend("eden", "seum", fmt.Sprint("message ", i))
			if i%3 == 0 { // wherever it is
				if _, err := team.Stop(context.Background(), r.JobID, "test", "no longer"); err != nil {
					t.Errorf("stop %s: %v", r.JobID, err)
				}
			}
			return r
		})
	}
	team.CheckSettled()
	if most := mostActive(t, team); most != 2 {
		t.Errorf("%d at a time", most)
	}
}

// permits is the queue of an agent at its gate, folded from the log.
type permits struct {
	holding map[string]bool
	waiting []string // the first one first
	gaveUp  int      // ended without a permit
}

// fold checks at each event that no more flows hold a permit than may, that waiting flows get one in turn, and that each gives back its
// own.
func (p *permits) fold(t testing.TB, e *eventstore.Event, most int) {
	t.Helper()
	job := a2atest.JobOf(t, e)
	at := slices.Index(p.waiting, job)
	phase := a2a.Phase(a2atest.Decoded[struct{ Phase string }](t, e).Phase)
	switch e.Type {
	case coordination.TypeA2AJobResumed:
	case coordination.TypeA2AJobCreated:
		if phase == a2a.Dispatching {
			p.waiting = append(p.waiting, job)
			return
		}
		if len(p.waiting) > 0 {
			t.Errorf("seq %d: %s goes past %v", e.Seq, job, p.waiting)
		}
		p.holding[job] = true
	case coordination.TypeA2AJobRunning:
		if phase == a2a.Dispatching {
			return
		}
		if at > 0 || at < 0 && !p.holding[job] {
			t.Errorf("seq %d: %s gets a permit, of those who wait %v", e.Seq, job, p.waiting)
		}
		if at >= 0 {
			p.waiting = slices.Delete(p.waiting, at, at+1)
		}
		p.holding[job] = true
	default:
		switch {
		case p.holding[job]:
			delete(p.holding, job)
		case at >= 0:
			p.waiting, p.gaveUp = slices.Delete(p.waiting, at, at+1), p.gaveUp+1
		default:
			t.Errorf("seq %d: %s gives back what it does not have", e.Seq, job)
		}
	}
	if len(p.holding) > most {
		t.Errorf("seq %d: %d hold a permit, %d may", e.Seq, len(p.holding), most)
	}
}

// Whatever is sent, stopped, answered and given up in whatever order.
func TestInvariant46_NeverMoreThanTheLimitInAnyOrder(t *testing.T) {
	t.Parallel()
	const limit = 2
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(limit), Answer: d.answer})
	defer d.release()
	send := func(name string) messenger.Result {
		return team.MustSend("eden", "seum", name, func(r *messenger.Request) { r.ConversationID = name })
	}
	for i := range 4 {
		send(fmt.Sprint("first ", i))
	}
	d.arrive(t, 2)
	team.Advance(21 * time.Second)
	wantPhases(t, team, "seum", 2, 0, 2) // two give up
	for round := range 3 {
		var senders sync.WaitGroup
		for who := range 3 {
			senders.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(who)))
				var sent []string
				for i := range 2 {
					sent = append(sent, send(fmt.Sprint("message ", round, who, i)).JobID)
					if rng.IntN(3) > 0 {
						continue
					}
					if _, err := team.Stop(context.Background(), sent[rng.IntN(len(sent))], "test", "no longer"); err != nil {
						t.Errorf("stop: %v", err)
					}
				}
			})
		}
		rng := rand.New(rand.NewPCG(uint64(round), 3))
		for range 4 {
			switch rng.IntN(3) {
			case 0:
				team.Advance(21 * time.Second)
			default:
				d.answerOne()
			}
		}
		senders.Wait()
	}
	team.Model.Answer(nil)
	d.release()
	team.CheckSettled()
	p := permits{holding: map[string]bool{}}
	for _, e := range team.Events("a2a.job.") {
		p.fold(t, &e, limit)
	}
	if len(p.holding) > 0 || len(p.waiting) > 0 || p.gaveUp < 2 {
		t.Errorf("in the end: %+v", p)
	}
}

func TestBug05_GateOvershoot(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	team.MustSend("eden", "seum", "first")
	d.arrive(t, 1)
	second := team.MustSend("eden", "seum", "second")
	d.next() // the permit goes to the second with the end of the first, whichever flow comes in between
	third := team.MustSend("dajim", "seum", "third")
	d.arrive(t, 1)
	if active, waiting, _ := phases(team, "seum"); active > 1 || waiting != 1 {
		t.Errorf("%d active, %d waiting", active, waiting)
	}
	if row := team.Flow(third.JobID); row.Phase != a2a.Dispatching {
		t.Errorf("the third has overtaken: %+v", row)
	}
	if row := team.Flow(second.JobID); row.Phase != a2a.Waiting {
		t.Errorf("the second waits: %+v", row)
	}
	d.next()
	d.arrive(t, 1)
	d.release()
	team.CheckSettled()
	if most := mostActive(t, team); most != 1 {
		t.Errorf("%d at a time", most)
	}
}

func TestInvariant47_ManyAtOnceAllFinish(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 10, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			team := setup(t, a2atest.Setting{Agents: []string{"eden", "seum", "dajim", "miri"}})
			results := together(team, n, func(i int) messenger.Result {
				from := []string{"eden", "dajim", "miri"}[i%3]
				return team.MustSend(from, "seum", fmt.Sprint("question ", i), wait)
			})
			for i, r := range results {
				from := []string{"eden", "dajim", "miri"}[i%3]
				if want := fmt.Sprintf("echo: [%s]: question %d", from, i); r.Status != "ok" || r.Reply != want {
					t.Errorf("%d: %+v, want %q", i, r, want)
				}
			}
			team.CheckSettled()
			if most := mostActive(t, team); most > 3 {
				t.Errorf("%d at a time", most)
			}
		})
	}
}

// A limit that was raised lets those in who wait, at the latest when they would have given up.
func TestARaisedLimitLetsOthersIn(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	for i := range 4 {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) })
	}
	d.arrive(t, 1)
	wantPhases(t, team, "seum", 1, 3, 0)
	team.Configure(limited(3))
	d.next()
	d.arrive(t, 3)
	wantPhases(t, team, "seum", 3, 0, 1)
	d.release()
	team.CheckSettled()
}

// Who has waited as long as he may gets the permit that is there by now, if one is.
func TestAPermitThatIsFreeIsTakenInTheEnd(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	for i := range 2 {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = fmt.Sprint("c", i) })
	}
	d.arrive(t, 1)
	team.Configure(limited(2))
	team.Advance(21 * time.Second)
	wantPhases(t, team, "seum", 2, 0, 0)
	d.arrive(t, 1)
	d.release()
	team.CheckSettled()
	for _, f := range team.Flows() {
		if f.Outcome != "ok" {
			t.Errorf("%+v", f)
		}
	}
}

// Of flows answered in one session one is let in at a time. Flows answered in another one overtake them and do not wait for a free
// permit.
func TestAPermitThatIsFreeGoesPastThoseOfOneSession(t *testing.T) {
	t.Parallel()
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	var sent []string
	for _, conversation := range []string{"c0", "c1", "c1", "c2"} {
		sent = append(sent, team.MustSend("eden", "seum", "in "+conversation, func(r *messenger.Request) { r.ConversationID = conversation }).JobID)
	}
	d.arrive(t, 1)
	team.Configure(limited(3))
	d.next()
	d.arrive(t, 2)
	wantPhases(t, team, "seum", 2, 1, 1)
	if row := team.Flow(sent[2]); row.Phase != a2a.Dispatching {
		t.Errorf("%+v", row)
	}
	team.Advance(21 * time.Second) // its session has started by now, and a permit is free
	wantPhases(t, team, "seum", 3, 0, 1)
	d.release()
	d.arrive(t, 1)
	d.release()
	team.CheckSettled()
	for _, f := range team.Flows() {
		if f.Outcome != "ok" {
			t.Errorf("%+v", f)
		}
	}
}

// However many flows wait for a permit, one transaction considers a few: the rest have their turn later.
func TestOneTransactionLetsAFewIn(t *testing.T) {
	t.Parallel()
	const waiting, few = 40, 32
	d := newFixture()
	team := setup(t, a2atest.Setting{Config: limited(1), Answer: d.answer})
	defer d.release()
	for i := range 1 + waiting {
		team.MustSend("eden", "seum", fmt.Sprint("message ", i), func(r *messenger.Request) { r.ConversationID = "c" })
	}
	d.arrive(t, 1)
	deny(t, team, "agent:seum:a2a:c")
	d.next()
	wantPhases(t, team, "seum", 0, waiting-few, 1+few)
	team.Advance(21 * time.Second)
	wantPhases(t, team, "seum", 0, 0, 1+waiting)
	team.CheckSettled()
	if refused := team.Events(coordination.TypeA2ADispatchFailed); len(refused) != waiting {
		t.Errorf("%d runs were refused, want %d", len(refused), waiting)
	}
}

// deny has a session refuse all runs from now on.
func deny(t testing.TB, team *a2atest.Team, key string) {
	t.Helper()
	k, err := coordination.ParseSessionKey(key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = team.Log.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		is, _, err := sessions.Load(tx, k)
		if err != nil {
			return nil, err
		}
		events, err := session.Patch(is, session.PatchCommand{Values: map[string]json.RawMessage{"sendPolicy": json.RawMessage(`"deny"`)}},
			func(string) (string, error) { return "", nil })
		if err != nil {
			return nil, err
		}
		return sessions.Append(is, eventstore.ActorHuman, team.Clock.Now().UnixMilli(), events)
	})
	if err != nil {
		t.Fatal(err)
	}
}
