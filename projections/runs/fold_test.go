package runs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
)

const over = `"sessionKey":"agent:eden:main","sessionId":"t1"`

// Given events, these are the runs, as List gives them, the last first; live, and rebuilt from the log.
func TestFold(t *testing.T) {
	t.Parallel()
	started := event(2, "started", "a", over, `"startedAtMs":1790000000003,"model":"fake/echo-1"`)
	for name, c := range map[string]struct {
		events []eventstore.StreamAppend
		want   []string
	}{
		"queued": {
			[]eventstore.StreamAppend{queued(1, "a", "main")},
			[]string{"a queued: agent:eden:main eden/ main agent [1 0 0]"},
		},
		"queued with an id that is no name, by a key in any case": {
			[]eventstore.StreamAppend{event(1, "queued", "실행 / 1", `"sessionKey":" Agent:Eden:Main ","lane":"nested","cause":"chat"`)},
			[]string{"실행 / 1 queued: agent:eden:main eden/ nested chat [1 0 0]"},
		},
		"queued with blanks around its id": {
			[]eventstore.StreamAppend{event(1, "queued", " a ", `"sessionKey":"agent:eden:main","cause":"chat"`), event(2, "aborted", " a ")},
			[]string{" a  aborted: agent:eden:main eden/ main chat [1 0 2] |"},
		},
		"queued twice": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), queued(2, "a", "other")},
			[]string{"a queued: agent:eden:main eden/ main agent [1 0 0]"},
		},
		"running": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), started},
			[]string{"a running: agent:eden:main eden/t1 main agent [1 3 0]"},
		},
		"ok": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), started, event(5, "ended", "a", over,
				`"endedAtMs":1790000000004,"text":"답","stopReason":"stop","provider":"fake","model":"echo-1","usage":{"input":1,"output":2,"total":3},"modelCalls":2,"toolCalls":1`)},
			[]string{"a ok: agent:eden:main eden/t1 main agent [1 3 4] |  stop fake/echo-1 {1 2 3}"},
		},
		"failed": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), started, event(5, "failed", "a", over, `"errorClass":"auth","error":"no key"`)},
			[]string{"a error: agent:eden:main eden/t1 main agent [1 3 5] |  auth"},
		},
		"timed out": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), started, event(5, "timed_out", "a", over)},
			[]string{"a timed_out: agent:eden:main eden/t1 main agent [1 3 5] |"},
		},
		"stopped before it began": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), event(5, "aborted", "a", `"reason":"stop"`)},
			[]string{"a aborted: agent:eden:main eden/ main agent [1 0 5] |  stop"},
		},
		"nothing moves it after its end": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), event(2, "aborted", "a", `"reason":"stop"`), started, event(5, "ended", "a", over), queued(6, "a", "main")},
			[]string{"a aborted: agent:eden:main eden/ main agent [1 0 2] |  stop"},
		},
		"it begins once": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), started, event(9, "started", "a", `"sessionId":"t9"`)},
			[]string{"a running: agent:eden:main eden/t1 main agent [1 3 0]"},
		},
		"it is never ok without having started": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), event(2, "ended", "a"), event(3, "timed_out", "a")},
			[]string{"a queued: agent:eden:main eden/ main agent [1 0 0]"},
		},
		"what was not requested": {
			[]eventstore.StreamAppend{started, event(3, "ended", "b"), event(4, "queued", ""), event(5, "queued", strings.Repeat("a", 300)), event(6, "heard_of", "c")},
			nil,
		},
		"what an imported log says": {
			[]eventstore.StreamAppend{imported(queued(1, "a", "main")), queued(2, "b", "main"), imported(event(3, "aborted", "b"))},
			[]string{"b queued: agent:eden:main eden/ main agent [2 0 0]"},
		},
		"what lies in the stream of another one": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), in("run/a", event(2, "aborted", "b")), in("log", event(3, "aborted", "a")), in("log", queued(4, "c", "main"))},
			[]string{"a queued: agent:eden:main eden/ main agent [1 0 0]"},
		},
		"what begins as something else": {
			[]eventstore.StreamAppend{started, queued(3, "a", "main")},
			nil,
		},
		"members of other types, and more than is believed": {
			[]eventstore.StreamAppend{event(1, "queued", "a", `"sessionKey":["agent:eden:main"],"lane":7,"cause":"`+strings.Repeat("a", 9_000)+`"`),
				event(2, "started", "a", `"startedAtMs":"now"`), event(3, "ended", "a", `"endedAtMs":-7,"usage":{"input":-1,"output":"2","total":1e99}`)},
			[]string{"a ok:  eden/ main  [1 2 3] | {0 0 9007199254740992}"},
		},
		"what repeats another one": {
			[]eventstore.StreamAppend{queued(1, "a", "main"), queued(2, "b", "main"), event(3, "aborted", "a", `"reason":"restart"`), queued(4, "c", "main", `"retryOf":"a"`)},
			[]string{
				"c queued: agent:eden:main eden/ main agent [4 0 0] again a", "b queued: agent:eden:main eden/ main agent [2 0 0]",
				"a aborted: agent:eden:main eden/ main agent [1 0 3] |  restart",
			},
		},
		"where it belongs, as it was asked for": {
			[]eventstore.StreamAppend{
				queued(1, "a", "main", `"jobId":"j 1","workSessionId":" ws_1 ","conversationId":"c1","parentRunId":"p 1"`),
				event(2, "started", "a", over, `"jobId":"j2","workSessionId":"ws_2","conversationId":"c2","parentRunId":"p2"`),
				event(3, "ended", "a", over, `"jobId":"j2","workSessionId":"ws_2","conversationId":"c2","parentRunId":"p2"`),
				queued(4, "b", "main", `"jobId":1,"workSessionId":"`+strings.Repeat("w", 9_000)+`"`),
			},
			[]string{
				"b queued: agent:eden:main eden/ main agent [4 0 0]",
				"a ok: agent:eden:main eden/t1 main agent [1 2 3] of j 1 in ws_1 c1 by p 1 |",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, e := range c.events {
				l.append(t, e)
			}
			var got []string
			for _, r := range l.list(t, runs.Query{}) {
				got = append(got, brief(r))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			live := l.dump(t)
			if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(live, l.dump(t)); diff != "" {
				t.Errorf("rebuilt (-live +rebuilt):\n%s", diff)
			}
		})
	}
}

func in(stream string, a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Stream = stream
	return a
}

func imported(a eventstore.StreamAppend) eventstore.StreamAppend {
	for i := range a.Events {
		a.Events[i].Actor = eventstore.ActorImport
	}
	return a
}

// What came of a run is read from the event that ended it; where that is redacted, the run has ended all the same.
func TestByID(t *testing.T) {
	t.Parallel()
	l := setup(t)
	if r := l.byID(t, "a"); r != nil {
		t.Errorf("there is %+v", r)
	}
	l.append(t, queued(1, "a", "main"))
	if r := l.byID(t, "a"); r == nil || r.Over != nil || brief(*r) != "a queued: agent:eden:main eden/ main agent [1 0 0]" || r.Seq != 1 {
		t.Errorf("queued: %+v", r)
	}
	l.append(t, event(2, "started", "a", over))
	ended := l.append(t, event(5, "ended", "a", over, `"text":"답","stopReason":"stop","provider":"fake","model":"echo-1","usage":{"input":1,"output":2,"total":3}`))
	const state = "a ok: agent:eden:main eden/t1 main agent [1 2 5]"
	if r := l.byID(t, "a"); r == nil || brief(*r) != state+" | 답 stop fake/echo-1 {1 2 3}" {
		t.Errorf("ended: %+v", r)
	}
	if err := l.Redact(t.Context(), ended.Events[0].Seq); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := l.byID(t, "a"); r == nil || brief(*r) != state {
			t.Errorf("redacted: %+v", r)
		}
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A run whose events are all redacted is known by its stream, and blocks nothing.
func TestRedactedRunHasEnded(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, e := range []eventstore.StreamAppend{queued(1, "a", "main"), event(2, "started", "a", over), event(5, "aborted", "a", over)} {
		r := l.append(t, e)
		if err := l.Redact(t.Context(), r.Events[0].Seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := l.byID(t, "a"); r == nil || brief(*r) != "a aborted:  eden/ main  [1 2 5]" {
		t.Errorf("%+v", r)
	}
}

// What repeats a run comes before what was asked for later, also the second time.
func TestOpenRunsHaveTheirTurn(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, e := range []eventstore.StreamAppend{
		queued(1, "a", "main"), queued(2, "b", "main"), queued(3, "x", "other"), queued(4, "c", "main"),
		event(5, "started", "a", over), event(6, "aborted", "a", over), queued(6, "a2", "main", `"retryOf":"a"`),
		event(7, "started", "a2", over), event(8, "aborted", "a2", over), queued(8, "a3", "main", `"retryOf":"a"`), event(9, "started", "a3", over),
		queued(10, "z", "main", `"retryOf":"never"`),
	} {
		l.append(t, e)
	}
	if diff := cmp.Diff([]string{"a3", "b", "c", "z"}, l.openOf(t, "main")); diff != "" {
		t.Error(diff)
	}
	for _, id := range []string{"a", "a2", "unheard-of"} {
		if ahead, found := l.position(t, id); found || ahead != 0 {
			t.Errorf("%s, which does not wait, has %d before it", id, ahead)
		}
	}
	l.deciding(t, func(tx eventstore.Tx) error {
		r, found, err := runs.Load(tx, "a3")
		if want := "a3 running: agent:eden:main eden/t1 main agent [8 9 0] again a"; err != nil || !found || brief(r) != want {
			t.Errorf("%v, %v: %s, want %s", err, found, brief(r), want)
		}
		if _, found, err := runs.Load(tx, "never"); err != nil || found {
			t.Errorf("never: %v, %v", found, err)
		}
		return nil
	})
}
