package continuations_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
)

const minute = int64(60_000)

// Given events, this is how agents stand; live, after a restart, and rebuilt from the log.
func TestFold(t *testing.T) {
	t.Parallel()
	prompt := continuation.Sent{RunID: "r1", TaskID: "task_a", Reason: continuation.Idle, At: base + 1}
	once := map[string]continuation.Care{"task_a": {At: base + 1, Prompts: 1, Same: 1}}
	prompted := continuation.State{Decided: 1, Prompt: prompt, Tasks: once}
	for name, c := range map[string]struct {
		events []eventstore.StreamAppend
		want   map[string]continuation.State
	}{
		"nothing": {nil, map[string]continuation.State{}},
		"told to go on": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1")},
			map[string]continuation.State{"eden": prompted},
		},
		"an agent in any case": {
			[]eventstore.StreamAppend{event(1, "agent/eden", coordination.TypeContinuationSent, "Eden",
				coordination.Continuation{Context: about("task_a"), Reason: "idle", RunID: "r1"})},
			map[string]continuation.State{"eden": prompted},
		},
		"agents do not share anything": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"), sent(2, "seum", "task_b", "r2"), over(3, coordination.TypeRunEnded, "seum", "r2")},
			map[string]continuation.State{
				"eden": prompted,
				"seum": {Decided: 1, Prompt: continuation.Sent{RunID: "r2", TaskID: "task_b", Reason: continuation.Idle, At: base + 2, Over: true},
					Ended: continuation.End{RunID: "r2", At: base + 3, OK: true}, Tasks: map[string]continuation.Care{"task_b": {At: base + 2, Prompts: 1, Same: 1}}},
			},
		},
		"a prompt that has failed": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"), over(2, coordination.TypeRunFailed, "eden", "r1", failed("auth", "no credit"))},
			map[string]continuation.State{"eden": {Decided: 1, Failures: 1, Cause: "billing", FailedTask: "task_a", FailedRun: "r1",
				BackoffUntil: base + 2 + 60*minute, BackoffMs: 60 * minute,
				Prompt: continuation.Sent{RunID: "r1", TaskID: "task_a", Reason: continuation.Idle, At: base + 1, Over: true},
				Ended:  continuation.End{RunID: "r1", At: base + 2}, Tasks: map[string]continuation.Care{"task_a": {At: base + 1}}}},
		},
		"runs of other sessions, and what else runs do": {
			[]eventstore.StreamAppend{
				event(1, "run/r1", coordination.TypeRunQueued, "eden", coordination.RunQueued{RunID: "r1", SessionKey: "agent:eden:main"}),
				over(2, coordination.TypeRunEnded, "eden", "r1", func(d *coordination.RunOver) { d.SessionKey = "agent:eden:other" }),
			},
			map[string]continuation.State{},
		},
		"asked for help, which has not arrived": {
			[]eventstore.StreamAppend{asked(1, "eden", "task_a", "seum", "j1"), unanswered(2, "eden", "task_a", "seum")},
			map[string]continuation.State{"eden": {Decided: 2, Tasks: map[string]continuation.Care{"task_a": {AskFailedAt: base + 2}}}},
		},
		"asked for help, reminded": {
			[]eventstore.StreamAppend{asked(1, "eden", "task_a", "seum", "j1"), reminded(2, "eden", "task_a", "r1")},
			map[string]continuation.State{"eden": {Decided: 2, Prompt: continuation.Sent{RunID: "r1", TaskID: "task_a", Reason: continuation.StillBlocked, At: base + 2},
				Tasks: map[string]continuation.Care{"task_a": {RemindedAt: base + 2, Reminders: 1, Asked: "j1"}}}},
		},
		"given up": {
			[]eventstore.StreamAppend{asked(1, "eden", "task_a", "seum", "j1"), unanswered(2, "eden", "task_a", "")},
			map[string]continuation.State{"eden": {Decided: 2, Tasks: map[string]continuation.Care{"task_a": {Told: true}}}},
		},
		"a task that is over, and one that is taken away": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"), asked(2, "eden", "이름 b", "seum", "j1"),
				moved(3, coordination.TypeTaskCompleted, "eden", "task_a"), taken(4, "eden", "이름 b")},
			map[string]continuation.State{"eden": {Decided: 3, Prompt: prompt}},
		},
		"a back-off that is told": {
			[]eventstore.StreamAppend{event(1, "agent/eden", coordination.TypeContinuationBackoff, "eden",
				coordination.Continuation{Context: about("task_a"), Reason: "rate_limit", ConsecutiveFailures: 3, BackoffMs: 4 * minute, BackoffUntilMs: base + 5})},
			map[string]continuation.State{"eden": {Decided: 1, Failures: 3, Cause: "rate_limit", BackoffUntil: base + 5, BackoffMs: 4 * minute, BackoffTold: true}},
		},
		"what an imported log says": {
			[]eventstore.StreamAppend{imported(sent(1, "eden", "task_a", "r1")), imported(asked(2, "eden", "task_b", "seum", "j1")),
				imported(over(3, coordination.TypeRunEnded, "eden", "r1"))},
			map[string]continuation.State{},
		},
		"what an imported log says of one who is known": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"), imported(moved(2, coordination.TypeTaskCompleted, "eden", "task_a")),
				imported(over(3, coordination.TypeRunFailed, "eden", "r1"))},
			map[string]continuation.State{"eden": prompted},
		},
		"what lies in the stream of another one": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"), in("agent/seum", sent(2, "eden", "task_a", "r2")), in("log", sent(3, "eden", "task_a", "r3")),
				in("task/task_b", moved(4, coordination.TypeTaskCompleted, "eden", "task_a")), in("log", taken(5, "eden", "task_a")),
				in("run/r2", over(6, coordination.TypeRunEnded, "eden", "r1")), in("agent/eden", over(7, coordination.TypeRunEnded, "eden", "r1"))},
			map[string]continuation.State{"eden": prompted},
		},
		"what cannot be read": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1"),
				event(2, "agent/eden", coordination.TypeContinuationSent, "eden", map[string]any{"taskId": "task_b", "measured": "far"}),
				event(3, "run/r1", coordination.TypeRunFailed, "eden", map[string]any{"runId": "r1", "sessionKey": 7}),
				event(4, "task/task_a", coordination.TypeUnblockRequested, "eden", map[string]any{"taskId": "task_a", "requestCount": []int{1}}),
				event(5, "task/task_a", coordination.TypeTaskCompleted, "eden", map[string]any{"taskId": []string{"task_a"}})},
			map[string]continuation.State{"eden": prompted},
		},
		"of no agent, and of no such type": {
			[]eventstore.StreamAppend{event(1, "agent/eden", coordination.TypeContinuationSent, "", coordination.Continuation{}),
				event(2, "agent/eden", "continuation.heard_of", "eden", coordination.Continuation{}),
				event(3, "task/task_a", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: about("task_a")})},
			map[string]continuation.State{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, e := range c.events {
				l.append(t, e)
			}
			want(t, "how agents stand", l.all(t), c.want)
			for _, agent := range []string{"eden", "seum"} {
				want(t, "as decisions see "+agent, l.load(t, agent), c.want[agent])
			}
			l.rebuild(t)
			l.reopen(t)
			want(t, "after a restart", l.all(t), c.want)
		})
	}
}

func in(stream string, a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Stream = stream
	return a
}

// imported is what the import of a log makes of an event.
func imported(a eventstore.StreamAppend) eventstore.StreamAppend {
	for i := range a.Events {
		a.Events[i].Actor = eventstore.ActorImport
	}
	return a
}

// The seq of an agent is that of the last event that changed how it stands.
func TestByID(t *testing.T) {
	t.Parallel()
	l := setup(t)
	if row := l.byID(t, "eden"); row != nil {
		t.Errorf("there is %+v", row)
	}
	l.append(t, sent(1, "eden", "task_a", "r1"))
	l.append(t, sent(2, "seum", "task_b", "r2"))
	l.append(t, moved(3, coordination.TypeTaskCompleted, "eden", "task_z"))
	row := l.byID(t, "EDEN")
	if row == nil || row.AgentID != "eden" || row.Seq != 1 || row.Prompt.RunID != "r1" {
		t.Errorf("%+v", row)
	}
	l.append(t, moved(4, coordination.TypeTaskCompleted, "eden", "task_a"))
	if row := l.byID(t, "eden"); row == nil || row.Seq != 4 || row.Tasks != nil {
		t.Errorf("%+v", row)
	}
}

// What is folded in a transaction is gone with it if it fails.
func TestATransactionThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, sent(1, "eden", "task_a", "r1"))
	before := l.load(t, "eden")
	refused := sent(3, "seum", "task_a", "r3")
	refused.Expect = eventstore.Exactly(7)
	if _, err := l.Append(t.Context(), sent(2, "eden", "task_b", "r2"), refused); err == nil {
		t.Fatal("an append that expects another version was taken")
	}
	want(t, "after a transaction that failed", l.load(t, "eden"), before)
	l.append(t, sent(4, "eden", "task_a", "r4"))
	if s := l.load(t, "eden"); s.Decided != 2 || len(s.Tasks) != 1 || s.Tasks["task_a"].Prompts != 2 {
		t.Errorf("%+v", s)
	}
	l.rebuild(t)
}

// A redacted event still says by its type and stream that a decision was made, that a task is over, and that the run of a prompt has ended.
func TestRedacted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []eventstore.StreamAppend // the last one is redacted
		want   continuation.State
	}{
		"a prompt": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r1")},
			continuation.State{Decided: 1, Prompt: continuation.Sent{At: base + 1}},
		},
		"a back-off": {
			[]eventstore.StreamAppend{event(1, "agent/eden", coordination.TypeContinuationBackoff, "eden", coordination.Continuation{Reason: "billing", BackoffMs: 5})},
			continuation.State{Decided: 1, BackoffTold: true},
		},
		"a request": {
			[]eventstore.StreamAppend{asked(1, "eden", "task_a", "seum", "j1"), unanswered(2, "eden", "task_a", "seum")},
			continuation.State{Decided: 2, Tasks: map[string]continuation.Care{"task_a": {Asked: "j1"}}},
		},
		"a task that is taken away": {
			[]eventstore.StreamAppend{asked(1, "eden", "이름 a", "seum", "j1"), taken(2, "eden", "이름 a")},
			continuation.State{Decided: 2},
		},
		"a task that is over": {
			[]eventstore.StreamAppend{asked(1, "eden", "task_a", "seum", "j1"), asked(2, "eden", "task_b", "seum", "j2"), moved(3, coordination.TypeTaskCancelled, "eden", "task_a")},
			continuation.State{Decided: 2, Tasks: map[string]continuation.Care{"task_b": {Asked: "j2"}}},
		},
		"a run that has failed": {
			[]eventstore.StreamAppend{sent(1, "eden", "task_a", "r 1"), over(2, coordination.TypeRunFailed, "eden", "r 1", failed("auth", "no credit"))},
			continuation.State{Decided: 1, Failures: 1, Cause: "unknown", FailedTask: "task_a", FailedRun: "r 1", BackoffUntil: base + 2 + 5*minute, BackoffMs: 5 * minute,
				Prompt: continuation.Sent{RunID: "r 1", TaskID: "task_a", Reason: continuation.Idle, At: base + 1, Over: true},
				Ended:  continuation.End{RunID: "r 1", At: base + 2}, Tasks: map[string]continuation.Care{"task_a": {At: base + 1}}},
		},
		"another run": {
			[]eventstore.StreamAppend{sent(1, "eden", "", "r1"), over(2, coordination.TypeRunEnded, "eden", "r2")},
			continuation.State{Decided: 1, Prompt: continuation.Sent{RunID: "r1", Reason: continuation.Idle, At: base + 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			var last eventstore.Result
			for _, e := range c.events {
				last = l.append(t, e)
			}
			if err := l.Redact(t.Context(), last.Seq); err != nil {
				t.Fatal(err)
			}
			l.refold(t)
			want(t, "rebuilt", l.load(t, "eden"), c.want)
			l.rebuild(t)
		})
	}
}
