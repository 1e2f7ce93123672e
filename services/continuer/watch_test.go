package continuer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Each event that may change what is due for an agent has that agent checked; other events have none checked.
func TestEventsMarkWhomTheyConcern(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	for name, row := range map[string]struct {
		event eventstore.Event
		want  string // agents, or all
	}{
		"the end of a run":         {eventstore.Event{Type: coordination.TypeRunEnded, AgentID: "Eden"}, "eden"},
		"a failure of one":         {eventstore.Event{Type: coordination.TypeRunFailed, AgentID: "eden"}, "eden"},
		"its beginning":            {eventstore.Event{Type: coordination.TypeRunStarted, AgentID: "eden"}, ""},
		"a change of a task":       {eventstore.Event{Type: coordination.TypeTaskBlocked, AgentID: "eden"}, "eden"},
		"an update of one":         {eventstore.Event{Type: coordination.TypeTaskUpdated, AgentID: "Eden"}, "eden soon"},
		"the end of one":           {eventstore.Event{Type: coordination.TypeTaskCancelled, AgentID: "eden"}, "all"},
		"a task for another one":   {eventstore.Event{Type: coordination.TypeTaskBacklogAdded, AgentID: "eden", Data: json.RawMessage(`{"assignee":"seum"}`)}, "eden seum"},
		"the same, redacted":       {eventstore.Event{Type: coordination.TypeTaskBacklogAdded, AgentID: "eden"}, "all"},
		"what others may wait for": {eventstore.Event{Type: coordination.TypeTaskCompleted, AgentID: "eden"}, "all"},
		"a request":                {eventstore.Event{Type: coordination.TypeUnblockRequested, AgentID: "eden"}, "eden"},
		"a zombie":                 {eventstore.Event{Type: coordination.TypeZombieAbandoned, AgentID: "eden"}, "eden"},
		"a prompt":                 {eventstore.Event{Type: coordination.TypeContinuationSent, AgentID: "eden"}, "eden"},
		"a reminder":               {eventstore.Event{Type: coordination.TypeResumeReminderSent, AgentID: "eden"}, "eden"},
		"the end of a flow": {eventstore.Event{Type: coordination.TypeA2AJobFailed, AgentID: "seum",
			Data: json.RawMessage(`{"jobId":"j","fromAgent":"eden","toAgent":"seum"}`)}, "eden"},
		"another configuration":        {eventstore.Event{Type: coordination.TypeConfigApplied}, "all"},
		"a task that is fixed by hand": {eventstore.Event{Type: coordination.TypeFileChanged, AgentID: "eden"}, "all"},
		"what was imported":            {eventstore.Event{Type: coordination.TypeTaskUpdated, AgentID: "eden", Actor: eventstore.ActorImport}, ""},
		"a message":                    {eventstore.Event{Type: coordination.TypeSessionMessage, AgentID: "eden"}, ""},
		"a plan":                       {eventstore.Event{Type: coordination.TypePlanRejected, AgentID: "eden"}, "eden"},
	} {
		w := &watch{marked: map[string]bool{}, due: map[string]int64{}}
		w.mark(&row.event, now)
		got := strings.Join(slices.Sorted(maps.Keys(w.marked)), " ")
		for agent, at := range w.due {
			got += agent + " soon"
			if at != now+1_000 {
				t.Errorf("%s has %s checked %d ms later, want a second", name, agent, at-now)
			}
		}
		if w.all {
			got = "all"
		}
		if got != row.want && !(row.want == "all" && w.all) {
			t.Errorf("%s marks %q, want %q", name, got, row.want)
		}
	}
}

// Updates have their agent checked once, a second after the first of them, or earlier if it is due anyway.
func TestUpdatesWithinASecondAreOneLook(t *testing.T) {
	t.Parallel()
	update := eventstore.Event{Type: coordination.TypeTaskUpdated, AgentID: "eden"}
	w := &watch{marked: map[string]bool{}, due: map[string]int64{}}
	for _, row := range []struct{ due, now, want int64 }{
		{0, 5_000, 6_000}, {6_000, 5_999, 6_000}, {6_000, 6_001, 6_000}, {5_500, 5_000, 5_500}, {90_000, 5_000, 6_000},
	} {
		w.due["eden"] = row.due
		w.mark(&update, row.now)
		if w.due["eden"] != row.want || len(w.marked) > 0 {
			t.Errorf("due at %d, an update at %d has it due at %d, want %d; marked %v", row.due, row.now, w.due["eden"], row.want, w.marked)
		}
	}
}

// The next check comes when an agent is due, when all are, and at the latest after a minute.
func TestSleepsEndInTime(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	for name, row := range map[string]struct {
		every time.Duration
		due   map[string]int64
		want  time.Duration
	}{
		"nothing is due":                 {2 * time.Minute, nil, time.Minute},
		"all are, before the minute":     {10 * time.Second, nil, 10 * time.Second},
		"no more often than each second": {time.Millisecond, nil, time.Second},
		"an agent is":                    {2 * time.Minute, map[string]int64{"eden": now + 5_000, "seum": now + 9_000}, 5 * time.Second},
		"an agent was":                   {2 * time.Minute, map[string]int64{"eden": now - 5_000}, 0},
		"never":                          {2 * time.Minute, map[string]int64{"eden": 0}, time.Minute},
		"one that was removed":           {2 * time.Minute, map[string]int64{"ruda": now + 1}, time.Minute},
	} {
		conf := &config.Config{Agents: []config.Agent{{ID: "eden"}, {ID: "seum"}}}
		conf.Defaults.Continuation.CheckInterval = row.every
		w := &watch{checked: now, due: row.due}
		if got := w.nap(conf, now); got != row.want || w.due["ruda"] != 0 {
			t.Errorf("%s: it sleeps for %s, want %s; %v", name, got, row.want, w.due)
		}
	}
}

func TestRetriesWaitLongerAndLonger(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1s", 2: "2s", 4: "8s", 7: "1m0s", 1_000: "1m0s"} {
		if got := retries.After(n).String(); got != want {
			t.Errorf("after %d failures it is tried again after %s, want %s", n, got, want)
		}
	}
}
