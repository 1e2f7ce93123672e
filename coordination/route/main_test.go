package route_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

const (
	guild   = "900000000000000001"
	channel = "800000000000000001"
	thread  = "700000000000000001"
	began   = int64(1_771_574_400_000) // 2026-02-20T08:00:00Z
	minute  = int64(60_000)
	hour    = 60 * minute
)

// tester is a test, or a run of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// names are the agents of the fixture, ruda being the default one.
var names = map[string]string{"ruda": "루다", "eden": "이든", "seum": "세움", "dajim": "다짐"}

func userID(agent string) string {
	return map[string]string{"ruda": "1001", "eden": "1002", "seum": "1003", "dajim": "1004", "human": "2001", "stranger": "2002", "foreign": "3001",
		"reporter": "3002"}[agent]
}

func team() (bots []route.Bot) {
	for _, agent := range []string{"ruda", "eden", "seum", "dajim"} {
		bots = append(bots, route.Bot{UserID: userID(agent), AccountID: "acc-" + agent, Agent: agent, Name: names[agent]})
	}
	return bots
}

func policy() route.Policy {
	p := route.DefaultPolicy()
	p.DefaultAgent = "ruda"
	return p
}

// world is one Discord, and what the log makes of it.
type world struct {
	tb      tester
	s       route.Situation // what the next message is decided by, but for the message
	ledger  *route.Ledger
	history *route.History
	now     int64
	posted  int
	events  []route.Event  // of the last message
	runs    map[string]int // by message and agent
}

func discord(tb tester) *world {
	return &world{tb: tb, now: began, ledger: route.NewLedger(1000), history: route.NewHistory(route.HistoryLimit, route.HistoryTTL), runs: map[string]int{}, s: route.Situation{
		Bots: team(), Policy: policy(), Participants: route.Attendance{}, Guard: &route.Guard{},
		Sinks: route.Sinks{Threads: []string{"700000000000000099"}, Authors: []string{userID("reporter")}},
	}}
}

// message is one from an agent or a person; @name in the text is a mention.
func (w *world) message(author, place, text string) route.Message {
	w.posted++
	m := route.Message{ID: fmt.Sprint(5_000_000 + w.posted), GuildID: guild, ChannelID: channel, Text: mentions(text), At: w.now,
		Author: route.Author{ID: userID(author), Name: author}}
	_, m.Author.Bot = names[author]
	if author == "foreign" || author == "reporter" {
		m.Author.Bot = true
	}
	if place != channel {
		m.ThreadID = place
	}
	return m
}

func mentions(text string) string {
	for _, who := range []string{"ruda", "eden", "seum", "dajim", "human", "stranger", "foreign"} {
		text = strings.ReplaceAll(text, "@"+who, "<@"+userID(who)+">")
		text = strings.ReplaceAll(text, "@!"+who, "<@!"+userID(who)+">")
	}
	return text
}

// says posts a message and has its events folded.
func (w *world) says(author, place, text string) route.Decision {
	w.tb.Helper()
	return w.hears(w.message(author, place, text))
}

// hears decides about a message, and has the events folded.
func (w *world) hears(m route.Message) route.Decision {
	w.tb.Helper()
	s := w.s
	s.Message, s.Earlier = m, w.ledger.Earlier(m.ID)
	d := route.Decide(&s)
	w.events = d.Events()
	for _, e := range w.events {
		w.fold(e)
	}
	if !d.Again {
		for _, agent := range d.Handlers() {
			w.runs[m.ID+" "+agent]++
		}
	}
	return d
}

func (w *world) fold(e route.Event) {
	w.tb.Helper()
	data, err := json.Marshal(e.Data)
	if err != nil {
		w.tb.Fatalf("%v", err)
	}
	for _, apply := range []func(string, string, []byte, int64) (bool, error){w.s.Guard.Apply, w.history.Apply, w.ledger.Apply} {
		if _, err := apply(e.Type, e.AgentID, data, e.At); err != nil {
			w.tb.Fatalf("%s %s: %v", e.Type, data, err)
		}
	}
	if w.s.Participants != nil {
		if _, err := w.s.Participants.Apply(e.Type, e.AgentID, data, e.At); err != nil {
			w.tb.Fatalf("%s %s: %v", e.Type, data, err)
		}
	}
}

// collaborates has one agent ask another one in the thread.
func (w *world) collaborates(from, to string) {
	w.tb.Helper()
	bots := map[string]route.Bot{}
	for _, b := range w.s.Bots {
		bots[b.Agent] = b
	}
	for _, e := range w.s.Participants.Collaborating(thread, bots[from], bots[to], w.now, w.s.Policy.ParticipantTTL) {
		w.fold(e)
	}
}

func (w *world) after(d time.Duration) *world {
	w.now += d.Milliseconds()
	return w
}

func (w *world) participants() string {
	return strings.Join(w.s.Participants.Of(thread, w.now, w.s.Policy.ParticipantTTL), " ")
}

// short is a decision in one line: handlers with reason and order, then the reasons of the rest.
func short(d route.Decision) string {
	var handlers, rest []string
	for _, v := range d.Verdicts {
		switch v.Mode {
		case route.Handler:
			word := v.Agent + "=" + string(v.Reason)
			if v.Order != "" {
				word += "/" + string(v.Order)
			}
			handlers = append(handlers, word)
		default:
			rest = append(rest, fmt.Sprintf("%s:%s", v.Mode, v.Reason))
		}
	}
	slices.Sort(rest)
	rest = slices.Compact(rest)
	return strings.Join(slices.Concat(handlers, rest), " ")
}

func (w *world) want(d route.Decision, want string) {
	w.tb.Helper()
	if got := short(d); got != want {
		w.tb.Errorf("decided %q, want %q", got, want)
	}
}

func (w *world) count(typ string) (n int) {
	for _, e := range w.events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

func inbound(e route.Event) (coordination.DiscordInbound, bool) {
	d, ok := e.Data.(coordination.DiscordInbound)
	return d, ok
}
