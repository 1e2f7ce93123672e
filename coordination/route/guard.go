package route

import (
	"maps"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// Limits bounds the messages of bots.
type Limits struct {
	Place  Limit         // messages of bots in one thread; in a channel, those that call an agent
	Turns  int           // the same without a human in between, at any pace
	Pause  time.Duration // length of a suspension
	Paired Pairs         // messages between two agents, both directions together, in all places
}

// DefaultLimits is 6 messages a minute for a place and for a pair, 12 without a human, and suspensions of 5 minutes.
func DefaultLimits() Limits {
	fast := Limit{Max: 6, Span: time.Minute}
	return Limits{Place: fast, Turns: 12, Pause: 5 * time.Minute, Paired: Pairs{Limit: fast}}
}

// Guard counts the messages of bots. Apply folds it; the zero Guard has counted none.
//
// A suspension ends at its time, with or without an event. While it lasts, messages of bots in its place are neither handled nor
// counted; those of people are handled. The message over the limit is the first one held.
type Guard struct {
	Places map[string]Talk   `json:"places,omitempty"` // by thread or channel id
	Pairs  map[string]Window `json:"pairs,omitempty"`  // by PairKey: when one handled a message of the other
}

// Talk counts the messages of one place.
type Talk struct {
	Bots   Window `json:"bots,omitempty"`  // messages of bots
	Turns  int    `json:"turns,omitempty"` // since the last human message
	Until  int64  `json:"until,omitempty"` // end of the suspension, ms since 1970; 0 for none
	Reason Reason `json:"reason,omitempty"`
}

// Clone returns an independent copy.
func (g *Guard) Clone() *Guard {
	return &Guard{Places: maps.Clone(g.Places), Pairs: maps.Clone(g.Pairs)}
}

// Talk returns the counts of a place at a time. over: its suspension has just ended.
func (g *Guard) Talk(place string, at int64) (t Talk, over bool) {
	if g != nil {
		t = g.Places[place]
	}
	if t.Until != 0 && t.Until <= at {
		return Talk{}, true
	}
	return t, false
}

// Due returns the places, in order, whose suspension is over at a time but not released, and when the next one ends: 0 for none.
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

// Released returns the event for a place that is Due.
func Released(place string, at int64) Event {
	return Event{Type: coordination.TypeThreadReleased, At: at, Data: coordination.Thread{Context: ours(), ThreadID: place}}
}

// judge returns the suspension that a bot's message causes; nil for none.
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

// pairSpent reports whether two agents have reached their limit.
func (g *Guard) pairSpent(l *Limits, a, b string, at int64) bool {
	if g == nil {
		return false
	}
	limit := l.Paired.Of(a, b)
	return g.Pairs[PairKey(a, b)].Count(at, limit.Span) >= limit.Max
}

// Apply folds an event and reports whether its type has a meaning here. ts is ms since 1970. An event that cannot be read is an error
// and changes nothing; redacted data (nil) means nothing.
func (g *Guard) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	switch typ {
	case coordination.TypeDiscordInboundHandled, coordination.TypeDiscordInboundObserved, coordination.TypeDiscordInboundDropped:
		d, err := read[coordination.DiscordInbound](typ, data)
		if err != nil {
			return false, err
		}
		return g.applyInbound(typ, agent, &d, ts), nil
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

func (g *Guard) applyInbound(typ, agent string, d *coordination.DiscordInbound, ts int64) bool {
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

// Forget drops times older than every limit, and places without messages of bots for a day.
func (g *Guard) Forget(at int64) {
	const day = int64(24 * time.Hour / time.Millisecond)
	before := func(w Window, since int64) bool { return len(w) == 0 || w[len(w)-1] <= since }
	maps.DeleteFunc(g.Pairs, func(_ string, w Window) bool { return before(w, at-windowSpan) })
	maps.DeleteFunc(g.Places, func(_ string, t Talk) bool { return before(t.Bots, at-day) && t.Until == 0 })
}
