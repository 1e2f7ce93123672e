package routing_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// paired is an event about a person, ms after base.
func paired(ms int64, typ, user, code string) eventstore.StreamAppend {
	d := coordination.Pairing{Channel: "telegram", UserID: user, UserName: "bora", Code: code, By: "kim"}
	if code != "" {
		d.UntilMs = base + ms + hour
	}
	return event(ms, coordination.PairingStream("telegram", user), typ, "", d)
}

func (l *log) person(t testing.TB, channel, user string) pairing.Person {
	return decided(t, l, func(tx eventstore.Tx) (pairing.Person, error) { return routing.PersonOf(tx, channel, user) })
}

func (l *log) pairings(t testing.TB, ms int64) pairing.Situation {
	return decided(t, l, func(tx eventstore.Tx) (pairing.Situation, error) { return routing.Pairings(tx, "telegram", base+ms) })
}

// What was decided about a person is known by user id and channel, over restarts and rebuilds; redacted decisions still count.
func TestPeopleAreKnown(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, paired(1, coordination.TypePairingRequested, "42", "ABCD2345"), paired(2, coordination.TypePairingRequested, "43", "EFGH2345"),
		paired(3, coordination.TypePairingRefused, "", ""))
	approved := l.append(t, paired(4, coordination.TypePairingApproved, "42", ""))
	l.append(t, event(5, "pairing/slack:43", coordination.TypePairingApproved, "", coordination.Pairing{Channel: "telegram", UserID: "43"}),
		event(6, "work/telegram:43", coordination.TypePairingApproved, "", coordination.Pairing{Channel: "telegram", UserID: "43"}))
	for _, when := range []string{"live", "opened again", "rebuilt", "redacted"} {
		if p := l.person(t, "telegram", "42"); p.State != pairing.Approved || p.Code != "" {
			t.Errorf("%s: the approved person is %+v", when, p)
		}
		for _, other := range [][2]string{{"slack", "42"}, {"telegram", "4"}, {"telegram", ""}, {"slack", "43"}} {
			if p := l.person(t, other[0], other[1]); p.State != "" {
				t.Errorf("%s: %v is %+v, want a stranger", when, other, p)
			}
		}
		s := l.pairings(t, 10)
		if len(s.Waiting) != 1 || s.Waiting[0].UserID != "43" || s.Waiting[0].Code != "EFGH2345" || s.Refused != 1 {
			t.Errorf("%s: in the channel is %+v", when, s)
		}
		if s := l.pairings(t, 3+hour); len(s.Waiting) != 0 || s.Refused != 0 {
			t.Errorf("%s: an hour later in the channel is %+v", when, s)
		}
		switch when {
		case "live":
			l.reopen(t)
		case "opened again":
			l.rebuild(t)
		case "rebuilt":
			if err := l.Redact(t.Context(), approved.Seq); err != nil {
				t.Fatal(err)
			}
			l.refold(t)
		}
	}
}
