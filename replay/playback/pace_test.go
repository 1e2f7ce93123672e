package playback

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
)

// played is a group of events that happened together, and when.
type played struct {
	At     time.Duration // since the beginning, in steps of 10 ms
	Events int
}

// plays has a pacer play events that were recorded at some milliseconds. late is how long each group takes to fold.
func plays(t *testing.T, m pacer, late time.Duration, recordedAt ...int64) (groups []played) {
	t.Helper()
	events := make([]eventstore.Event, len(recordedAt))
	for i, ms := range recordedAt {
		events[i].RecordedAt = ms
	}
	return playsEvents(t, m, late, events)
}

func playsEvents(t *testing.T, m pacer, late time.Duration, events []eventstore.Event) (groups []played) {
	t.Helper()
	start := time.Now()
	m.due = start
	m.begin(&events[0])
	for len(events) > 0 {
		n := m.nextBatch(events)
		if !m.wait(t.Context()) {
			t.Fatal("wait returned early")
		}
		groups = append(groups, played{time.Since(start).Truncate(10 * time.Millisecond), n})
		events = events[n:]
		<-time.After(late)
	}
	return groups
}

// Events happen at their recorded distances divided by the speed, at most the longest pause apart; those due together
// form one group.
func TestPace(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	times := []int64{0, 1_000, 1_000, 1_002, 4_000, 4_000 + hour, 4_000 + hour + 500}
	for name, c := range map[string]struct {
		pacer
		late time.Duration
		want []played
	}{
		"at the recorded pace": {pacer{speed: 1}, 0, []played{{0, 1}, {time.Second, 3}, {4 * time.Second, 1}, {4*time.Second + time.Hour, 1}, {4*time.Second + time.Hour + 500*time.Millisecond, 1}}},
		"ten times": {pacer{speed: 10}, 0, []played{{0, 1}, {100 * time.Millisecond, 3}, {400 * time.Millisecond, 1}, {400*time.Millisecond + 6*time.Minute, 1},
			{450*time.Millisecond + 6*time.Minute, 1}}},
		"half, with short pauses": {pacer{speed: 0.5, maxPause: 5 * time.Second}, 0, []played{{0, 1}, {2 * time.Second, 3}, {7 * time.Second, 1}, {12 * time.Second, 1},
			{13 * time.Second, 1}}},
		"at once": {pacer{}, 0, []played{{0, 7}}},
		// Folding that takes longer than the pause does not delay later events.
		"slow by 200 ms": {pacer{speed: 10, maxPause: time.Second}, 200 * time.Millisecond, []played{{0, 1}, {200 * time.Millisecond, 3}, {400 * time.Millisecond, 1},
			{1_400 * time.Millisecond, 1}, {1_600 * time.Millisecond, 1}}},
		"slow by 3 s": {pacer{speed: 10, maxPause: time.Second}, 3 * time.Second, []played{{0, 1}, {3 * time.Second, 3}, {6 * time.Second, 1}, {9 * time.Second, 1},
			{12 * time.Second, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(c.want, plays(t, c.pacer, c.late, times...)); diff != "" {
					t.Errorf("(- wanted, + played)\n%s", diff)
				}
			})
		})
	}
}

// Imported lines follow their stated times; where they start and end there is no pause.
func TestPaceOfImportedLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const imported = int64(1e12)
		line := func(ts int64) eventstore.Event {
			return eventstore.Event{Actor: eventstore.ActorImport, TS: ts, RecordedAt: imported}
		}
		got := playsEvents(t, pacer{speed: 1}, 0, []eventstore.Event{line(5_000), line(7_000), line(6_000), line(9_000), {RecordedAt: imported}, {RecordedAt: imported + 1_000}})
		want := []played{{0, 1}, {2 * time.Second, 2}, {5 * time.Second, 2}, {6 * time.Second, 1}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(- wanted, + played)\n%s", diff)
		}
	})
}

// A pause ends with its context.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		m := pacer{speed: 1, due: time.Now().Add(time.Hour)}
		if m.wait(ctx) {
			t.Error("wait goes on; want it to end with ctx")
		}
	})
}
