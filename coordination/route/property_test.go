package route_test

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/route"
)

// Whatever is said, by whom, in what order and how often: every bot that sees a message has one verdict, an agent runs at most once for a message, as
// many run as the rule says, and the order of bots changes nothing.
func TestWhateverIsSaid(t *testing.T) {
	t.Parallel()
	authors := []string{"human", "human", "stranger", "foreign", "reporter", "ruda", "eden", "seum", "dajim"}
	words := []string{"@ruda", "@eden", "@!eden", "@seum", "@dajim", "@human", "이든한테", "> @ruda\n", "`@eden`", "네", "<@&1001>", "PR #7", "https://a.b/c"}
	rapid.Check(t, func(t *rapid.T) {
		w := discord(t)
		w.s.Policy.ForeignBots = rapid.SampledFrom([]string{route.ForeignNo, route.ForeignMentions, route.ForeignYes}).Draw(t, "foreign bots")
		w.s.Policy.ThreadMention = rapid.SampledFrom([]string{route.Mentioned, route.Participants}).Draw(t, "thread mention")
		w.s.Policy.RecordBots = rapid.Bool().Draw(t, "record bots")
		if rapid.Bool().Draw(t, "restricted") {
			restricted(w, nil)
		}
		if rapid.IntRange(0, 4).Draw(t, "degraded") == 0 {
			w.s.Participants = nil
		} else if rapid.Bool().Draw(t, "collaborating") {
			w.collaborates("ruda", "eden")
		}
		for i := range w.s.Bots {
			w.s.Bots[i].Blind = rapid.IntRange(0, 5).Draw(t, "blind") == 0
		}
		var posted []route.Message
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			w.after(time.Duration(rapid.SampledFrom([]int64{0, 1, 5, 20, 61, 400, 90_000}).Draw(t, "seconds")) * time.Second)
			if len(posted) > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
				m := rapid.SampledFrom(posted).Draw(t, "which")
				if rapid.Bool().Draw(t, "edited") {
					m.Text = mentions("@seum @dajim @ruda @eden")
				}
				if d := w.hears(m); !d.Again && len(d.Verdicts) > 0 || len(w.events) != 0 {
					t.Fatalf("a message that came again is new: %s", short(d))
				}
				continue
			}
			text := ""
			for _, word := range rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "words") {
				text += word + " "
			}
			m := w.message(rapid.SampledFrom(authors).Draw(t, "author"), rapid.SampledFrom([]string{channel, thread, thread}).Draw(t, "place"), text)
			posted = append(posted, m)
			s := w.s
			s.Message = m
			before := route.Decide(&s)
			shuffled(t, &s)
			if diff := cmp.Diff(before, route.Decide(&s), cmp.AllowUnexported(route.Decision{})); diff != "" {
				t.Fatalf("the order of bots matters: %s", diff)
			}
			judge(t, w, &m, before)
			if d := w.hears(m); short(d) != short(before) {
				t.Fatalf("%s, and then %s", short(before), short(d))
			}
			if earlier := w.ledger.Earlier(m.ID); earlier != nil {
				for _, v := range earlier.Verdicts {
					if was, _ := before.Of(v.Agent); was.Mode != v.Mode || was.Reason != v.Reason || was.Order != v.Order {
						t.Fatalf("the ledger says %+v of %+v", v, was)
					}
				}
			}
		}
		for run, n := range w.runs {
			if n != 1 {
				t.Fatalf("%s runs %d times", run, n)
			}
		}
		suspensionsEnd(t, w)
	})
}

func shuffled(t *rapid.T, s *route.Situation) {
	r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "order")))
	s.Bots = slices.Clone(s.Bots)
	r.Shuffle(len(s.Bots), func(i, j int) { s.Bots[i], s.Bots[j] = s.Bots[j], s.Bots[i] })
}

// judge fails if a decision is not what the rules say in few words.
func judge(t *rapid.T, w *world, m *route.Message, d route.Decision) {
	var seeing, got []string
	for _, b := range w.s.Bots {
		if !b.Blind {
			seeing = append(seeing, b.Agent)
		}
	}
	called, held, hidden := 0, 0, 0
	for _, v := range d.Verdicts {
		got = append(got, v.Agent)
		if v.Mode != route.Handler && v.Mode != route.Observer && v.Mode != route.Dropped || v.Reason == "" {
			t.Fatalf("%+v", v)
		}
		if v.Mode != route.Handler && (v.Order != "" || v.Hints != nil) {
			t.Fatalf("%+v", v)
		}
		if v.Reason == route.Suspended || v.Reason == route.PairLimited {
			held++
		}
		if v.Mode == route.Dropped && v.Reason != route.OwnMessage {
			hidden++
		}
		if v.Mode == route.Handler && v.Agent == d.Author {
			t.Fatalf("%s handles what it has written", v.Agent)
		}
		if slices.Contains(d.Mentioned, v.Agent) {
			called++
		}
	}
	if slices.Sort(seeing); !slices.Equal(got, seeing) {
		t.Fatalf("verdicts of %v, seen by %v", got, seeing)
	}
	if hidden > 0 {
		if len(d.Handlers()) > 0 || len(d.Enrol) > 0 || d.Turn != route.NoTurn {
			t.Fatalf("dropped by some: %s", short(d))
		}
		return
	}
	foreign := m.Author.ID == userID("foreign")
	if foreign && d.Turn == route.NoTurn && d.Suspend == nil && len(d.Handlers())+held == 0 {
		return // not listened to, or held
	}
	wantCalled(t, w, m, d, called, len(d.Handlers())+held)
	primaries := 0
	for _, v := range d.Verdicts {
		if v.Order == route.Primary {
			primaries++
		}
	}
	if primaries > 1 {
		t.Fatalf("%d lead", primaries)
	}
}

// wantCalled is invariant 48: how many handle the message, or would.
func wantCalled(t *rapid.T, w *world, m *route.Message, d route.Decision, called, got int) {
	want := called
	switch {
	case m.ThreadID != "":
		present := w.s.Participants.Of(thread, m.At, w.s.Policy.ParticipantTTL)
		for _, agent := range present {
			_, sees := d.Of(agent)
			if sees && agent != d.Author && !slices.Contains(d.Mentioned, agent) && (len(d.Mentioned) == 0 || w.s.Policy.ThreadMention == route.Participants) {
				want++
			}
		}
	case len(d.Mentioned) == 0 && d.Author == "":
		if _, sees := d.Of("ruda"); sees {
			want = 1
		}
	}
	if got != want {
		t.Fatalf("%d are called, want %d: %s", got, want, short(d))
	}
}

// suspensionsEnd fails if a place is still held when its time has come, or its time is further away than the policy says.
func suspensionsEnd(t *rapid.T, w *world) {
	for place, talk := range w.s.Guard.Places {
		if talk.Until > w.now+w.s.Policy.Guard.Pause.Milliseconds() {
			t.Fatalf("%s is held until %d, now is %d", place, talk.Until, w.now)
		}
	}
	w.after(w.s.Policy.Guard.Pause)
	w.s.Participants, w.s.Policy.ThreadMention = route.Attendance{}, route.Mentioned
	for i := range w.s.Bots {
		w.s.Bots[i].Blind = false
	}
	for _, place := range []string{thread, channel} {
		if len(w.s.Guard.Places[place].Bots) > 0 && w.s.Guard.Places[place].Until == 0 {
			continue // it is not suspended: it may be, by this message
		}
		w.want(w.says("eden", place, "@seum"), "seum=mentioned dropped:own_message observer:other_mentioned")
	}
}

// Folding again from the beginning gives the same states as going on.
func TestFoldingAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w, again := discord(t), discord(t)
		var events []route.Event
		for range rapid.IntRange(1, 30).Draw(t, "length") {
			w.after(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			author := rapid.SampledFrom([]string{"human", "ruda", "eden"}).Draw(t, "author")
			w.says(author, thread, rapid.SampledFrom([]string{"@ruda", "@eden", "@seum", "네"}).Draw(t, "text"))
			events = append(events, w.events...)
		}
		for _, e := range events {
			again.fold(e)
		}
		if diff := cmp.Diff(w.s.Participants, again.s.Participants); diff != "" {
			t.Fatalf("participants %s", diff)
		}
		if diff := cmp.Diff(w.s.Guard, again.s.Guard); diff != "" {
			t.Fatalf("guard %s", diff)
		}
		for agent := range names {
			if diff := cmp.Diff(w.history.Of(agent, thread, w.now), again.history.Of(agent, thread, w.now)); diff != "" {
				t.Fatalf("history %s", diff)
			}
		}
	})
}
