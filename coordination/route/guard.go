package route

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits is how much bots may talk before they are held.
type Limits struct {
	Place  Limit         // messages of bots in one thread, or in a channel those that call an agent
	Turns  int           // the same without a human in between, however slowly
	Pause  time.Duration // how long a place is suspended
	Paired Pairs         // messages of one agent that another one handles, both directions together, wherever
}

// DefaultLimits is 6 messages in a minute, of a place and of a pair, 12 without a human, and 5 minutes.
func DefaultLimits() Limits {
	fast := Limit{Max: 6, Span: time.Minute}
	return Limits{Place: fast, Turns: 12, Pause: 5 * time.Minute, Paired: Pairs{Limit: fast}}
}

// Guard is how much bots have talked. Apply folds it; the zero Guard is that of a system in which nobody has spoken. A copy by Clone is a Guard of
// its own.
//
// A suspension ends at its time, whether an event says so or not. While it lasts nothing that bots write there is handled, or counted; what people
// write is. The message over the limit is the first that is held.
type Guard struct {
	Places map[string]Talk   `json:"places,omitempty"` // by thread id, or channel id
	Pairs  map[string]Window `json:"pairs,omitempty"`  // by PairKey: when one handled what the other one wrote
}

// Talk is what happened in one place.
type Talk struct {
	Bots   Window `json:"bots,omitempty"`  // messages of bots
	Turns  int    `json:"turns,omitempty"` // of these since the last one of a human
	Until  int64  `json:"until,omitempty"` // end of the suspension, ms since 1970; 0: there is none
	Reason Reason `json:"reason,omitempty"`
}

// Clone is a copy.
func (g *Guard) Clone() *Guard {
	return &Guard{Places: maps.Clone(g.Places), Pairs: maps.Clone(g.Pairs)}
}

// Talk is what happened in a place, as far as it counts at a time. over says that there was a suspension, and its time has come.
func (g *Guard) Talk(place string, at int64) (t Talk, over bool) {
	if g != nil {
		t = g.Places[place]
	}
	if t.Until != 0 && t.Until <= at {
		return Talk{}, true
	}
	return t, false
}

// Due are the places whose suspension is over at a time and has not been released, in order, and when the next one is: 0 if there is none.
func (g *Guard) Due(at int64) (places []string, next int64) {
	for place, t := range g.Places {
		switch {
		case t.Until == 0:
		case t.Until <= at:
			places = append(places, place)
		case next == 0 || t.Until < next:
			next = t.Until
		}
	}
	slices.Sort(places)
	return places, next
}

// Released is what is appended for each place that is Due.
func Released(place string, at int64) Event {
	return Event{Type: coordination.TypeThreadReleased, At: at, Data: coordination.Thread{Context: ours(), ThreadID: place}}
}

// judge is what a message of a bot leads to: nil if it may be handled.
func (l *Limits) judge(place string, t Talk, at int64) *Suspension {
	s := &Suspension{Place: place, Until: at + l.Pause.Milliseconds()}
	switch {
	case t.Bots.Count(at, l.Place.Span) >= l.Place.Max:
		s.Reason = BotRate
	case t.Turns >= l.Turns:
		s.Reason = BotTurns
	default:
		return nil
	}
	return s
}

// pairSpent says whether two agents have used up what they may exchange.
func (g *Guard) pairSpent(l *Limits, a, b string, at int64) bool {
	if g == nil {
		return false
	}
	limit := l.Paired.Of(a, b)
	return g.Pairs[PairKey(a, b)].Count(at, limit.Span) >= limit.Max
}

// Apply folds an event. It reports whether the event means anything here. ts is ms since 1970. An event that cannot be read is an error and changes
// nothing; one that is redacted (data nil) means nothing.
func (g *Guard) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeDiscordInboundHandled, coordination.TypeDiscordInboundObserved, coordination.TypeDiscordInboundDropped:
		d, err := read[coordination.DiscordInbound](typ, data)
		if err != nil {
			return false, err
		}
		return g.heard(typ, agent, &d, ts), nil
	case coordination.TypeThreadSuspended:
		d, err := read[coordination.Thread](typ, data)
		if err != nil || d.ThreadID == "" {
			return false, err
		}
		t := g.Places[d.ThreadID]
		t.Until, t.Reason = d.UntilMs, Reason(d.Reason)
		g.keep(d.ThreadID, t)
		return true, nil
	case coordination.TypeThreadReleased:
		d, err := read[coordination.Thread](typ, data)
		_, known := g.Places[d.ThreadID]
		if err != nil || !known {
			return false, err
		}
		delete(g.Places, d.ThreadID)
		return true, nil
	}
	return false, nil
}

func (g *Guard) heard(typ, agent string, d *coordination.DiscordInbound, ts int64) bool {
	means := false
	if typ == coordination.TypeDiscordInboundHandled && d.AuthorAgent != "" && agent != "" && agent != d.AuthorAgent && !d.System {
		key := PairKey(d.AuthorAgent, agent)
		w := g.Pairs[key]
		w.Add(ts)
		if g.Pairs == nil {
			g.Pairs = map[string]Window{}
		}
		g.Pairs[key], means = w, true
	}
	place := d.ThreadID
	if place == "" {
		place = d.ChannelID
	}
	if place == "" {
		return means
	}
	switch t := g.Places[place]; Turn(d.Turn) {
	case BotTurn:
		t.Bots.Add(ts)
		t.Turns++
		g.keep(place, t)
		return true
	case HumanTurn:
		if t.Turns == 0 {
			return means
		}
		t.Turns = 0
		g.keep(place, t)
		return true
	}
	return means
}

func (g *Guard) keep(place string, t Talk) {
	if g.Places == nil {
		g.Places = map[string]Talk{}
	}
	g.Places[place] = t
}

// Forget drops what no limit looks back at any more, and places where no bot has spoken for a day: for a Guard that is kept in memory for long.
func (g *Guard) Forget(at int64) {
	const day = int64(24 * time.Hour / time.Millisecond)
	before := func(w Window, since int64) bool { return len(w) == 0 || w[len(w)-1] <= since }
	maps.DeleteFunc(g.Pairs, func(_ string, w Window) bool { return before(w, at-windowSpan) })
	maps.DeleteFunc(g.Places, func(_ string, t Talk) bool { return before(t.Bots, at-day) && t.Until == 0 })
}
