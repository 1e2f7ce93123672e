package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// does is a step in a word or two.
func does(s delivery.Step) string {
	switch s.Do {
	case delivery.Wait:
		return fmt.Sprint("wait ", s.Wait)
	case delivery.End:
		text := string(s.Outcome.State)
		if s.Outcome.Code != "" {
			text += " " + s.Outcome.Code
		}
		if s.Outcome.Escalate {
			text += ", escalated"
		}
		if s.Outcome.Forget {
			text += ", forgotten"
		}
		return text
	case delivery.FindOne, delivery.PostOne:
		return fmt.Sprint(s.Do, " ", s.Index)
	}
	return string(s.Do)
}

func TestNext(t *testing.T) {
	t.Parallel()
	reused := draft("a", "b")
	reused.ThreadID, reused.Route = thread, collaborate.RouteReused
	forum := opening("a", "b")
	forum.Open.Starter = true
	named := draft("a", "b")
	named.ThreadID, named.Route = thread, collaborate.RouteNamed
	for _, c := range []struct {
		name string
		d    *delivery.Delivery
		h    func(h *history)
		want string
	}{
		{"nothing was done", draft("a", "b"), func(h *history) { h.leased() }, "post_message 0"},
		{"the first stands there", draft("a", "b"), func(h *history) { h.leased().sent("1", 0) }, "post_message 1"},
		{"all stand there", draft("a", "b"), func(h *history) { h.leased().sent("1", 0).sent("2", 1) }, "done"},
		{"a thread is to be opened", opening("a"), func(h *history) { h.leased() }, "open_thread"},
		{"it was opened", opening("a"), func(h *history) { h.leased().opened(thread) }, "post_message 0"},
		{"a thread in a forum was opened", forum, func(h *history) { h.leased().opened(thread).sent(thread, 0) }, "post_message 1"},

		{"Discord failed", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassUnavailable) }, "wait 1s"},
		{"and again", draft("a"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).returned().after(time.Second).leased().failed("post", collaborate.ClassUnavailable)
		}, "wait 2s"},
		{"the wait is over", draft("a"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).returned().after(time.Second).leased()
		}, "post_message 0"},
		{"the wait took until Discord has forgotten the nonce", draft("a"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).returned().after(time.Hour).leased()
		}, "find_message 0"},
		{"it failed four times", draft("a"), func(h *history) {
			for range 4 {
				h.leased().failed("post", collaborate.ClassUnavailable).returned()
			}
			h.leased()
		}, "find_message 0"},
		{"another message has failures of its own", draft("a", "b"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).failed("post", collaborate.ClassUnavailable).returned().leased().sent("1", 0).
				failed("post", collaborate.ClassUnavailable)
		}, "wait 1s"},
		{"another class has failures of its own", draft("a"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).failed("post", collaborate.ClassUnavailable).failed("post", collaborate.ClassUnsent)
		}, "wait 1s"},
		{"an answer that is late", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassTimeout) }, "post_message 0"},
		{"a lost answer", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassLost) }, "find_message 0"},
		{"a lost answer of the second", draft("a", "b"), func(h *history) { h.leased().sent("1", 0).failed("post", collaborate.ClassLost) }, "find_message 1"},
		{"it was accepted and did not appear", draft("a"), func(h *history) { h.leased().failed("post", delivery.ClassAccepted) }, "find_message 0"},
		{"and it cannot be looked for", draft("a"), func(h *history) {
			h.leased().failed("post", delivery.ClassAccepted).failed("look", collaborate.ClassForbidden)
		}, "delivery_unknown delivery_unknown, escalated"},
		{"forbidden", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassForbidden) }, "failed permission_denied, escalated"},
		{"forbidden, but it may have been posted before", draft("a"), func(h *history) {
			h.leased().failed("post", collaborate.ClassUnavailable).returned().leased().failed("post", collaborate.ClassForbidden)
		}, "find_message 0"},
		{"not found", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassNotFound) }, "failed not_found, escalated, forgotten"},
		{"a thread from before that is no more", reused, func(h *history) { h.leased().failed("post", collaborate.ClassNotFound) },
			"anew not_found, forgotten"},
		{"one that was named and is no more", named, func(h *history) { h.leased().failed("post", collaborate.ClassNotFound) },
			"failed not_found, escalated, forgotten"},
		{"refused", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassRejected) }, "failed rejected, escalated"},
		{"no token", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassUnauthorized) }, "failed unauthorized, escalated"},
		{"no bot", draft("a"), func(h *history) { h.leased().failed("post", delivery.ClassNoBot) }, "failed unknown_account, escalated"},
		{"no bot any more, though it may be posted", draft("a"), func(h *history) {
			h.leased().broken().leased().failed("look", delivery.ClassNoBot)
		}, "delivery_unknown delivery_unknown, escalated"},

		{"a thread that may have been opened", opening("a"), func(h *history) { h.leased().failed("open", collaborate.ClassUnavailable) }, "wait 1s"},
		{"is looked for", opening("a"), func(h *history) { h.leased().failed("open", collaborate.ClassUnavailable).returned().leased() }, "find_thread"},
		{"and is opened only then", opening("a"), func(h *history) {
			h.leased().failed("open", collaborate.ClassTimeout).failed("open", collaborate.ClassRateLimited).returned().leased()
		}, "find_thread"},
		{"a thread whose event was redacted", opening("a"), func(h *history) {
			h.leased()
			h.all = append(h.all, entry{coordination.TypeThreadCreated, nil, h.now})
		}, "find_thread"},
		{"a message whose event was redacted", draft("a", "b"), func(h *history) {
			h.leased()
			h.all = append(h.all, entry{coordination.TypeDiscordSent, nil, h.now})
		}, "post_message 1"},

		{"the process died", draft("a"), func(h *history) { h.leased().broken().leased() }, "find_message 0"},
		{"it died after a message", draft("a", "b"), func(h *history) { h.leased().sent("1", 0).broken().leased() }, "find_message 1"},
		{"it died while nothing was under way", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassUnsent).returned().broken().leased() },
			"post_message 0"},
		{"it died ten times", draft("a"), func(h *history) {
			for range 10 {
				h.leased().broken()
			}
			h.leased()
		}, "find_message 0"},
		{"leased by an unknown worker", draft("a"), func(h *history) { h.leased().leased() }, "find_message 0"},

		{"it cannot be looked for just now", draft("a"), func(h *history) { h.leased().broken().leased().failed("look", collaborate.ClassUnavailable) }, "wait 1s"},
		{"it is looked for again", draft("a"), func(h *history) {
			h.leased().broken().leased().failed("look", collaborate.ClassUnavailable).returned().leased()
		}, "find_message 0"},
		{"it cannot be looked for", draft("a"), func(h *history) { h.leased().broken().leased().failed("look", collaborate.ClassForbidden) },
			"delivery_unknown delivery_unknown, escalated"},
		{"it cannot be looked for as often as it was tried", draft("a"), func(h *history) {
			h.leased().broken()
			for range 6 {
				h.leased().failed("look", collaborate.ClassUnsent).returned()
			}
			h.leased()
		}, "delivery_unknown delivery_unknown, escalated"},
		{"the place is gone", draft("a"), func(h *history) { h.leased().broken().leased().failed("look", collaborate.ClassNotFound) },
			"failed not_found, escalated, forgotten"},
		{"the thread from before is gone", reused, func(h *history) { h.leased().broken().leased().failed("look", collaborate.ClassNotFound) },
			"anew not_found, forgotten"},

		{"sent again", draft("a"), func(h *history) { h.leased().failed("post", collaborate.ClassForbidden).dead().resent().leased() }, "find_message 0"},
		{"sent again, when it was known not to stand there", draft("a"), func(h *history) {
			h.leased().say(coordination.TypeDiscordSendFailed, coordination.DiscordOutbound{Step: "post", ErrorClass: "forbidden", ErrorCode: "permission_denied"}).
				dead().resent().leased()
		}, "post_message 0"},
		{"unknown, resent", draft("a"), func(h *history) {
			h.leased().broken().leased().failed("look", collaborate.ClassForbidden).unknown().resent().leased()
		}, "find_message 0"},
		{"not searchable, resent", draft("a"), func(h *history) {
			h.leased().broken().leased().failed("look", collaborate.ClassForbidden).unknown().resent().leased().failed("look", collaborate.ClassForbidden)
		}, "post_message 0"},
		{"and then lost once more", draft("a"), func(h *history) {
			h.leased().broken().leased().failed("look", collaborate.ClassForbidden).unknown().resent().leased().failed("look", collaborate.ClassForbidden).
				failed("post", collaborate.ClassLost).failed("look", collaborate.ClassForbidden)
		}, "delivery_unknown delivery_unknown, escalated"},
		{"failures count from zero", draft("a"), func(h *history) {
			for range 4 {
				h.leased().failed("post", collaborate.ClassUnsent).returned()
			}
			h.resent().leased().failed("post", collaborate.ClassUnsent)
		}, "wait 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			c.h(h)
			if got := does(delivery.Next(c.d, h.fold(), h.now)); got != c.want {
				t.Errorf("next is %q, want %q", got, c.want)
			}
		})
	}
}

// It is looked for since it may have been done first, and not earlier: others write there, too.
func TestNextLooksSinceTheStepBegan(t *testing.T) {
	t.Parallel()
	h := newHistory(t).leased().after(time.Minute).broken().after(time.Minute).leased()
	if got := delivery.Next(draft("a", "b"), h.fold(), h.now); got.Do != delivery.FindOne || got.Since != begin {
		t.Errorf("next is %+v, want a look since %d", got, begin)
	}
	since := h.after(time.Minute).sent("1", 0).now
	h.after(time.Minute).broken().after(time.Minute).leased()
	if got := delivery.Next(draft("a", "b"), h.fold(), h.now); got.Do != delivery.FindOne || got.Index != 1 || got.Since != since {
		t.Errorf("next is %+v, want a look for the second since %d", got, since)
	}
}

// What was not found is done, or given up as what it is.
func TestNextAfterALook(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]func(h *history){
		"post_message 0":            func(h *history) { h.leased().broken().leased() },
		"failed timeout, escalated": func(h *history) { h.leased(); timeouts(h, 4) },
	} {
		one := newHistory(t)
		h(one)
		p := one.fold()
		if got := does(delivery.Next(draft("a"), p, one.now)); got != "find_message 0" {
			t.Fatalf("next is %q, want a look before %q", got, want)
		}
		p.NotFound()
		if got := does(delivery.Next(draft("a"), p, one.now)); got != want {
			t.Errorf("after the look next is %q, want %q", got, want)
		}
	}
}

func timeouts(h *history, n int) {
	for range n {
		h.failed("post", collaborate.ClassTimeout)
	}
}

func TestNextFollowsRetryAfter(t *testing.T) {
	t.Parallel()
	p := newHistory(t).leased().fold()
	for _, c := range []struct {
		asks time.Duration
		want string
	}{{7 * time.Second, "wait 7s"}, {0, "wait 1s"}, {2 * time.Minute, "failed rate_limited"}} {
		one := p.Clone()
		one.Failed(false, collaborate.ClassRateLimited, c.asks, "slow down", "", begin)
		if got := does(delivery.Next(draft("a"), one, begin)); got != c.want {
			t.Errorf("where Discord asks for %v next is %q, want %q", c.asks, got, c.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	const id = "1420070400000"
	h := newHistory(t).leased().opened(thread).after(time.Second).sent(id, 0).sent("2", 1)
	want := delivery.Outcome{State: delivery.Done, ThreadID: thread, ThreadName: "name of " + thread, MessageIDs: []string{id, "2"}, SentAt: 1420070738571}
	if diff := cmp.Diff(want, delivery.Next(opening("a", "b"), h.fold(), h.now).Outcome); diff != "" {
		t.Errorf("the outcome (-want +got):\n%s", diff)
	}
	h = newHistory(t).leased().sent("1", 0).failed("post", collaborate.ClassForbidden)
	d := draft("a", "b")
	d.ThreadID = thread
	got := delivery.Next(d, h.fold(), h.now).Outcome
	want = delivery.Outcome{State: delivery.Failed, ThreadID: thread, MessageIDs: []string{"1"}, SentAt: begin, Code: collaborate.CodeDenied,
		Text: "message 2 of 2 was not posted: no: forbidden", Hint: got.Hint, Escalate: true}
	if diff := cmp.Diff(want, got); diff != "" || got.Hint == "" {
		t.Errorf("the outcome has hint %q (-want +got):\n%s", got.Hint, diff)
	}
}

// Every class of failure leads to an end with a hint, and is reported as itself.
func TestEveryClassEnds(t *testing.T) {
	t.Parallel()
	classes := []collaborate.Class{delivery.ClassNoBot}
	for _, r := range collaborate.Rules() {
		classes = append(classes, r.Class)
	}
	for _, class := range classes {
		h := newHistory(t)
		p := &delivery.Progress{}
		p.Started(h.now)
		var steps []string
		for {
			s := delivery.Next(draft("a"), p, h.now)
			steps = append(steps, does(s))
			if len(steps) > 30 {
				t.Fatalf("%s does not end: %v", class, steps)
			}
			switch s.Do {
			case delivery.Wait:
				p.Returned()
				p.Started(h.after(s.Wait).now)
				continue
			case delivery.FindOne:
				p.NotFound()
				continue
			case delivery.PostOne:
				p.Failed(false, class, 0, "no", "", h.now)
				continue
			}
			rule := collaborate.Rule{Code: collaborate.CodeAccount, Escalate: true}
			if i := slices.IndexFunc(collaborate.Rules(), func(r collaborate.Rule) bool { return r.Class == class }); i >= 0 {
				rule = collaborate.Rules()[i]
			}
			if o := s.Outcome; o.State != delivery.Failed || o.Code != rule.Code || o.Escalate != rule.Escalate || o.Hint == "" {
				t.Errorf("%s ends as %+v, want %s: %v", class, o, rule.Code, steps)
			}
			break
		}
	}
}

// What the service has accepted is not posted again, also after the process has died, until a person asks for it.
func TestAcceptedPostsAreNotRepeated(t *testing.T) {
	t.Parallel()
	p := &delivery.Progress{}
	p.Started(1)
	p.Failed(false, delivery.ClassAccepted, 0, "no", "", 2)
	p.Broken(3)
	p.Started(4)
	if s := delivery.Next(draft("a"), p, 5); s.Do != delivery.FindOne {
		t.Fatalf("the next step is %s, want a search", does(s))
	}
	p.Failed(true, collaborate.ClassUnavailable, time.Minute, "too early", "", 6)
	if s := delivery.Next(draft("a"), p, 7); s.Do != delivery.Wait || s.Wait != time.Minute {
		t.Fatalf("the next step is %s, want the pause that the search asks for", does(s))
	}
	p.Returned()
	p.Started(8)
	p.NotFound()
	if s := delivery.Next(draft("a"), p, 9); s.Do != delivery.End || s.Outcome.State != delivery.Unknown || s.Outcome.Code != collaborate.CodeUnknown {
		t.Fatalf("the next step is %s, want the end: it is unknown", does(s))
	}
	p.Ended(delivery.Unknown)
	p.Resent()
	p.Started(10)
	if s := delivery.Next(draft("a"), p, 11); s.Do != delivery.FindOne {
		t.Fatalf("the next step is %s, want a search first", does(s))
	}
	p.NotFound()
	if s := delivery.Next(draft("a"), p, 12); s.Do != delivery.PostOne {
		t.Errorf("the next step is %s, want the post that a person asked for", does(s))
	}
}

func TestFoldKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	h := newHistory(t).leased().sent("1", 0)
	for _, typ := range []string{coordination.TypeThreadCreated, coordination.TypeDiscordSent, coordination.TypeDiscordSendFailed} {
		p := h.fold()
		if means, err := p.Apply(typ, []byte(`{"threadId": 1, "messageId": 1, "errorClass": 1}`), begin); means || err == nil {
			t.Errorf("%s that cannot be read means %v, error %v, want an error", typ, means, err)
		}
		if got := does(delivery.Next(draft("a", "b"), p, begin)); got != "post_message 1" {
			t.Errorf("%s that cannot be read leads to %q, want it to change nothing", typ, got)
		}
	}
	if means, err := h.fold().Apply("some.thing", []byte("{}"), begin); means || err != nil {
		t.Errorf("another type means %v, error %v", means, err)
	}
}
