package a2a_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
)

var update = flag.Bool("update", false, "rewrite testdata/sequences.txt")

// Whatever becomes of a flow, these are the events and the runs, in their order.
func TestSequences(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "sequences.txt")
	if *update {
		var b strings.Builder
		for _, s := range scenarios() {
			b.WriteString("== " + s.name + "\n" + strings.Join(s.play().lines(), "\n") + "\n")
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(text), "\n== ") {
		name, lines, _ := strings.Cut(part, "\n")
		want[name] = strings.TrimSuffix(lines, "\n")
	}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := s.play()
			if diff := cmp.Diff(strings.Split(want[s.name], "\n"), w.lines()); diff != "" {
				t.Errorf("want -, have +\n%s", diff)
			}
			w.checkWhole(t)
		})
	}
}

type scenario struct {
	name string
	play func() *world
}

func noTurns(c *coordination.A2AJobCreated) { c.EffectiveTurns = 0 }

// tells opens a flow of a notification, which needs no answer.
func tells(c *coordination.A2AJobCreated) {
	c.EffectiveTurns, c.MessageIntent, c.AnnounceChannel = 0, "notification", "discord"
}

// full is a flow that waits for a permit.
func full() *world {
	w := newWorld()
	return w.take(a2a.Begin(exchange(noTurns), 3, 1, nil, w.now))
}

func (w *world) stop() *world { return w.take(a2a.Stop(w.flow, "op", "enough", w.now)) }

func (w *world) resume(after int64) *world {
	w.now += after
	return w.take(a2a.Resume(w.flow, w.now))
}

// refused takes a step whose run is refused.
func (w *world) refused(s a2a.Step) *world {
	return w.take(a2a.Refused(w.flow, s, "busy", "too many runs are waiting", w.now))
}

func (w *world) posted(why string) *world { return w.take(a2a.Posted(w.flow, why, w.now)) }

// scenarios are what can become of a flow.
func scenarios() []scenario {
	first := func(r *world) *world { return r.says(reply, "") }
	return []scenario{
		{"an answer and no turns", func() *world { return first(send(noTurns)) }},
		{"two turns", func() *world { return first(send(nil)).says(second, reply).says(third, second) }},
		{"nothing to say at turn 1", func() *world { return first(send(nil)).says("REPLY_SKIP", reply) }},
		{"nothing to say at turn 2", func() *world { return first(send(nil)).says(second, reply).says("reply_skip. 끝", second) }},
		{"turn 1 is silent", func() *world { return first(send(nil)).says("NO_REPLY", reply) }},
		{"turn 1 fails", func() *world { return first(send(nil)).fails("overloaded", "529") }},
		{"turn 1 is stopped", func() *world {
			return first(send(nil)).ends(run.Aborted, coordination.RunOver{Reason: "stop", Text: "half"}, reply)
		}},
		{"turn 1 takes too long by itself", func() *world { return first(send(nil)).ends(run.TimedOut, coordination.RunOver{}, reply) }},
		{"turn 1 takes too long", func() *world {
			return first(send(nil)).due(a2a.TurnMs, run.Queued, 0).due(a2a.TurnMs, run.Running, start+200_000).due(80_000, run.Running, start+200_000)
		}},
		{"turn 1 concludes", func() *world {
			return first(send(nil)).says("네 알겠습니다. 말씀하신 대로 오늘 안에 반영하고 공유하겠습니다", reply)
		}},
		{"the last turn concludes", func() *world {
			return first(send(func(c *coordination.A2AJobCreated) { c.EffectiveTurns = 1 })).says("네 알겠습니다. 말씀하신 대로 오늘 안에 반영하고 공유하겠습니다", reply)
		}},
		{"an agent writes to itself", func() *world {
			return first(send(func(c *coordination.A2AJobCreated) { c.FromAgent, c.RequesterSessionKey = "seum", c.TargetSessionKey }))
		}},
		{"a retry", func() *world { return send(noTurns).fails("rate_limited", "429").says(reply, "") }},
		{"three retries", func() *world {
			return send(noTurns).fails("rate_limited", "429").fails("overloaded", "529").fails("internal", "broken").fails("rate_limited", "429")
		}},
		{"a failure for good", func() *world { return send(noTurns).fails("context_exceeded", "too long") }},
		{"an empty answer", func() *world { return send(noTurns).says(" \n", "") }},
		{"a notification that is answered by silence", func() *world { return send(tells).says("NO_REPLY", "") }},
		{"a notification that fails", func() *world { return send(tells).fails("context_exceeded", "too long") }},
		{"stopped on request", func() *world {
			return send(noTurns).ends(run.Aborted, coordination.RunOver{Reason: "rpc", By: "cli", Text: "half"}, "")
		}},
		{"broken off by restarts", func() *world { return send(noTurns).ends(run.Aborted, coordination.RunOver{Reason: "restart"}, "") }},
		{"too long since the run began", func() *world {
			return send(noTurns).due(a2a.WaitMs, run.Queued, 0).due(a2a.WaitMs, run.Running, start+500_000).due(200_000, run.Running, start+500_000)
		}},
		{"ten seconds to answer", func() *world {
			return send(func(c *coordination.A2AJobCreated) { c.EffectiveTurns, c.WaitMs = 0, 10_000 }).due(10_000, run.Running, start)
		}},
		{"an unknown run", func() *world {
			w := send(noTurns)
			return w.take(a2a.Due(w.flow, nil, "", 0, w.now))
		}},
		{"looked after too early for a permit", func() *world {
			w := full()
			w.now += a2a.QueueMs - 1
			return w.take(a2a.Due(w.flow, nil, "", 0, w.now))
		}},
		{"a permit after a while", func() *world {
			w := full()
			return w.take(a2a.Dispatch(w.flow, w.now)).says(reply, "")
		}},
		{"no permit in time", func() *world {
			w := full()
			w.now += a2a.QueueMs
			f := *w.flow
			f.Active, f.Queued = 3, 2
			return w.take(a2a.Due(&f, nil, "", 0, w.now))
		}},
		{"its run is refused", func() *world {
			w := newWorld()
			return w.refused(a2a.Begin(exchange(nil), 0, 0, nil, w.now))
		}},
		{"its run is refused when it has a permit", func() *world {
			w := full()
			return w.refused(a2a.Dispatch(w.flow, w.now))
		}},
		{"its retry is refused", func() *world {
			w := send(noTurns)
			return w.refused(a2a.Ended(w.flow, w.result(run.Failed, coordination.RunOver{ErrorClass: "rate_limited"}), "", 1, w.now))
		}},
		{"turn 2 is refused", func() *world {
			w := first(send(nil))
			return w.refused(a2a.Ended(w.flow, w.result(run.OK, coordination.RunOver{Text: second}), reply, 0, w.now))
		}},
		{"announced", func() *world { return announced().says("요약입니다", "").posted("") }},
		{"announced at the fifth attempt", func() *world {
			return announced().says("요약입니다", "").posted("503").posted("503").posted("503").posted("503").posted("")
		}},
		{"not to be announced", func() *world {
			return announced().says("요약입니다", "").posted("1").posted("2").posted("3").posted("4").posted("5")
		}},
		{"nothing to announce", func() *world { return announced().says("ANNOUNCE_SKIP", "") }},
		{"the announcement fails", func() *world { return announced().fails("overloaded", "529") }},
		{"the announcement takes too long", func() *world { return announced().due(a2a.TurnMs, run.Running, start) }},
		{"the announcement is refused", func() *world {
			w := send(func(c *coordination.A2AJobCreated) { c.EffectiveTurns, c.AnnounceChannel = 0, "discord" })
			return w.refused(a2a.Ended(w.flow, w.result(run.OK, coordination.RunOver{Text: reply}), "", 0, w.now))
		}},
		{"announced after turns that ended early", func() *world {
			w := send(func(c *coordination.A2AJobCreated) { c.AnnounceChannel = "discord" })
			return first(w).says(second, reply).says("REPLY_SKIP", second).says("요약입니다", "").posted("")
		}},
		{"stopped while it waits for a permit", func() *world { return full().stop() }},
		{"stopped while it waits for an answer", func() *world { return send(nil).stop() }},
		{"stopped in turn 2", func() *world { return first(send(nil)).says(second, reply).stop() }},
		{"stopped while it announces", func() *world { return announced().stop() }},
		{"stopped while it posts", func() *world { return announced().says("요약입니다", "").stop() }},
		{"broken inside", func() *world {
			w := send(nil)
			return w.take(a2a.Fail(w.flow, "no such thing", w.now))
		}},
		{"broken inside in turn 1", func() *world {
			w := first(send(nil))
			return w.take(a2a.Fail(w.flow, "no such thing", w.now))
		}},
		{"left for an hour", func() *world { return send(nil).resume(a2a.StaleMs + 1) }},
		{"left for an hour in turn 1", func() *world { return first(send(nil)).resume(a2a.StaleMs + 1) }},
		{"broken off again and again", func() *world { return send(nil).resume(1000).resume(1000).resume(1000).resume(1000) }},
		{"a sub-agent", func() *world { return spawn(nil).says(reply, "") }},
		{"a sub-agent that fails", func() *world { return spawn(nil).fails("rate_limited", "429") }},
		{"a sub-agent that takes too long", func() *world {
			return spawn(nil).due(a2a.WaitMs, run.Running, start).due(a2a.WaitMs, run.Running, start).ends(run.TimedOut, coordination.RunOver{Error: "60 s are over"}, "")
		}},
		{"a sub-agent stopped as a run", func() *world { return spawn(nil).ends(run.Aborted, coordination.RunOver{Reason: "rpc"}, "") }},
		{"a sub-agent that restarts break off", func() *world { return spawn(nil).ends(run.Aborted, coordination.RunOver{Reason: "restart"}, "") }},
		{"a sub-agent that is killed", func() *world { return spawn(nil).stop() }},
		{"a sub-agent without a word", func() *world { return spawn(nil).says("", "") }},
		{"a sub-agent without a report", func() *world { return spawn(nil).says("ANNOUNCE_SKIP", "") }},
		{"a sub-agent that cannot be started", func() *world {
			w := newWorld()
			return w.refused(a2a.BeginSpawn(delegation(nil), w.now))
		}},
		{"a sub-agent whose parent takes nothing", func() *world {
			w := spawn(nil)
			return w.refused(a2a.Ended(w.flow, w.result(run.OK, coordination.RunOver{Text: reply}), "", 0, w.now))
		}},
		{"a sub-agent that is left for an hour", func() *world { return spawn(nil).resume(a2a.StaleMs + 1) }},
		{"a sub-agent with an unknown run", func() *world {
			w := spawn(nil)
			return w.take(a2a.Due(w.flow, nil, "", 0, w.now))
		}},
	}
}
