package a2a_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// restarted is a world that knows nothing but what is in the log, as it is so many ms later.
func (w *world) restarted(t *testing.T, after int64) *world {
	t.Helper()
	again := *w
	again.flow = &a2a.Flow{}
	for i, e := range w.events {
		if !strings.HasPrefix(e.Type, "a2a.job.") {
			continue
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.flow.Apply(e.Type, data, int64(i)+1, w.now); err != nil {
			t.Fatal(err)
		}
	}
	again.events, again.order, again.now = slices.Clone(w.events), slices.Clone(w.order), w.now+after
	return &again
}

// open are flows of all open phases.
func open() map[a2a.Phase]*world {
	return map[a2a.Phase]*world{
		a2a.Dispatching: full(),
		a2a.Waiting:     send(nil),
		a2a.Turn:        send(nil).says(reply, "").says(second, reply),
		a2a.Announcing:  announced(),
		a2a.Posting:     announced().says("요약입니다", ""),
	}
}

func (w *world) count(typ string) (n int) {
	for _, e := range w.events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// A new process sees each job as the process that created it did.
func TestInvariant22_FlowsAreKnownFromTheirLogAlone(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		w := s.play()
		again := w.restarted(t, 0).flow
		again.CreatedAt, again.ChangedAt = w.flow.CreatedAt, w.flow.ChangedAt // times of the log, which restarted does not keep
		if diff := cmp.Diff(w.flow, again); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
	}
}

// A flow that has not come on for an hour is given up, with an end; a younger one goes on; one that waits for a permit is left alone.
func TestInvariant23_RestartsGiveUpWhatIsStale(t *testing.T) {
	t.Parallel()
	for phase, w := range open() {
		if w.flow.Phase != phase {
			t.Fatalf("%s, want %s", w.flow.Phase, phase)
		}
		old := w.restarted(t, a2a.StaleMs+1)
		young := w.restarted(t, a2a.StaleMs)
		old.take(a2a.Resume(old.flow, old.now))
		young.take(a2a.Resume(young.flow, young.now))
		old.checkWhole(t)
		young.checkWhole(t)
		if phase == a2a.Dispatching {
			if len(old.events) != len(w.events) || len(young.events) != len(w.events) || old.flow.Resumed != 0 {
				t.Errorf("%s: it is not left alone: %v, %v", phase, old.lines(), young.lines())
			}
			continue
		}
		if old.flow.Phase != a2a.Over || old.flow.Outcome != "abandoned" || old.count(coordination.TypeA2AJobAbandoned) != 1 || old.flow.ChangedAt != old.now {
			t.Errorf("%s: an old one: %v", phase, old.lines())
		}
		if young.flow.Phase != phase || young.flow.Resumed != 1 || young.count(coordination.TypeA2AJobResumed) != 1 {
			t.Errorf("%s: a young one: %v", phase, young.lines())
		}
	}
}

// Of many flows those alone are resumed that are under way.
func TestInvariant24_OnlyWhatIsUnderWayIsResumed(t *testing.T) {
	t.Parallel()
	resumed := 0
	for _, w := range []*world{
		send(nil), send(nil).says(reply, ""), announced(), // under way
		full(), full(), // wait for a permit
		send(noTurns).says(reply, ""), send(nil).stop(), // over
	} {
		if s := a2a.Resume(w.flow, w.now+1); !s.Nothing() {
			resumed++
		}
	}
	if stale := a2a.Resume(send(nil).flow, start+a2a.StaleMs+1); !stale.Over {
		t.Errorf("a stale one: %+v", stale)
	}
	if resumed != 3 {
		t.Errorf("%d are resumed, want 3", resumed)
	}
}

// A flow that a restart breaks off in any phase goes on from there.
func TestInvariant25_RestartsLoseNoFlow(t *testing.T) {
	t.Parallel()
	for phase, was := range open() {
		w := was.restarted(t, 200_000)
		w.take(a2a.Resume(w.flow, w.now))
		if phase != a2a.Posting && phase != a2a.Dispatching && w.flow.DueAt < w.now+60_000 {
			t.Errorf("%s: looked after at %d, before its run can be taken up again", phase, w.flow.DueAt)
		}
		switch phase {
		case a2a.Dispatching:
			w.take(a2a.Dispatch(w.flow, w.now)).says(reply, "")
		case a2a.Waiting:
			w.says(reply, "").says("REPLY_SKIP", reply)
		case a2a.Turn:
			w.says(third, second)
		case a2a.Announcing:
			w.says("요약입니다", "").posted("")
		case a2a.Posting:
			w.posted("")
		}
		w.checkWhole(t)
		if w.flow.Outcome != a2a.OutcomeOK {
			t.Errorf("%s: %v", phase, w.lines())
		}
	}
}

// A restart sends nothing, and asks for nothing, once more.
func TestInvariant27_RestartsSendNothingAgain(t *testing.T) {
	t.Parallel()
	for phase, w := range open() {
		s := a2a.Resume(w.flow, w.now+1)
		if len(s.Asks) > 0 || slices.ContainsFunc(s.Events, func(e a2a.Event) bool { return !strings.HasPrefix(e.Type, "a2a.job.") }) {
			t.Errorf("%s: %+v", phase, s)
		}
	}
}

// A turn that was taken is not taken again: the end of its run, told once more, changes nothing.
func TestInvariant28_TurnsAreNotRepeated(t *testing.T) {
	t.Parallel()
	w := send(nil).says(reply, "")
	told := w.result(run.OK, coordination.RunOver{Text: second})
	w.take(a2a.Ended(w.flow, told, reply, 0, w.now))
	w = w.restarted(t, 1000)
	w.take(a2a.Resume(w.flow, w.now))
	for _, s := range []a2a.Step{
		a2a.Ended(w.flow, told, reply, 0, w.now),
		a2a.Ended(w.flow, &run.Result{RunID: jobID, State: run.OK, Over: &coordination.RunOver{Text: reply}}, reply, 0, w.now),
	} {
		if !s.Nothing() {
			t.Errorf("it is repeated: %+v", s)
		}
	}
	w.says(third, second)
	w.checkWhole(t)
	if diff := cmp.Diff([]string{jobID, "j1.t1", "j1.t2"}, w.order); diff != "" || w.flow.Turn != 2 {
		t.Errorf("%s, %d turns", diff, w.flow.Turn)
	}
}

// Every event of every flow has its role, its session types, and its work session.
func TestInvariant51_EventsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		w := s.play()
		for _, e := range w.events {
			data := members(e.Data)
			for _, name := range []string{"eventRole", "fromSessionType", "toSessionType", "workSessionId", "conversationId", "taskId", "parentRunId", "hop", "jobId"} {
				if data[name] == nil || data[name] == "" {
					if name == "jobId" && (e.Type == coordination.TypeA2ASpawn || e.Type == coordination.TypeA2ASpawnResult) {
						continue // these have no such member
					}
					t.Errorf("%s: %s has no %s", s.name, e.Type, name)
				}
			}
		}
	}
}
