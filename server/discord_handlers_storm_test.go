package server

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// storm is ten agents and two people who write at random, in a Discord that tells of it twice, late, or after its connections were cut.
type storm struct {
	*discordTeam
	random *rand.Rand
	people []*discordtest.Human
	hidden discordtest.Channel // which two of the agents do not see
	blind  []string            // these
	report discordtest.Channel // a thread of reports
	places []string
	own    []discordtest.Message // of people
}

// steps is how many things people do in a storm.
const steps = 50

// Whatever is written, and however Discord reports it: no agent runs twice for a message; each message has one verdict for each agent
// that sees it; as many handle it as are mentioned, or one; reports start no run; and what observers keep stays within its bounds.
func TestStormOverTenBots(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := startStorm(t, seed)
	for range steps {
		s.step()
	}
	s.burst()
	s.calm()
	t.Run("TestInvariant31_OneRunForEachHandler", s.checkRuns)
	t.Run("TestInvariant48_EveryMessageHasItsVerdicts", s.checkVerdicts)
	t.Run("TestInvariant49_ReportsRunNoAgent", s.checkReports)
	t.Run("TestInvariant50_ObserversKeepLittle", s.checkObserved)
}

func startStorm(t *testing.T, seed uint64) *storm {
	t.Helper()
	s := &storm{random: rand.New(rand.NewPCG(seed, 1)), blind: []string{"eden", "bora"}}
	more := []discordAgent{{"bora", "보라"}, {"mirae", "미래"}, {"haneul", "하늘"}, {"garam", "가람"}, {"nuri", "누리"}, {"dasom", "다솜"}}
	s.discordTeam = startDiscordTeam(t, discordSetting{more: more, answer: func(team *discordTeam, a a2atest.Asked) a2atest.Answer {
		return babble(team, &a, seed)
	}, before: func(team *discordTeam) {
		s.hidden = team.guild.AddChannel("hidden", discordtest.ChannelOptions{HiddenTo: []string{team.bots["eden"].ID, team.bots["bora"].ID}})
		quick := "collaboration: { rateLimit: { threadCreationPerMinute: 1000, messagePerChannelPerSecond: 1000 }, allowedChannels: [%q, %q],"
		team.text = strings.Replace(team.text, "collaboration: {", fmt.Sprintf(quick, team.ops.ID, s.hidden.ID), 1)
	}})
	s.await("the program to know who does not see "+s.hidden.Name, func() bool { // a bot of which that is not known yet is not blind
		blind := 0
		for _, b := range s.agents.discord.bots.Sight(s.guild.ID, s.hidden.ID, "") {
			if b.Blind {
				blind++
			}
		}
		return blind == len(s.blind)
	})
	other := s.discord.AddHuman("지민")
	s.guild.Join(other.ID)
	s.people = []*discordtest.Human{s.person, other}
	report, err := s.person.StartThread(s.dev.ID, "[리포트] a2a.send · 12:00")
	if err != nil {
		t.Fatal(err)
	}
	s.report = report
	s.watch = append(s.watch, s.hidden.ID)
	s.places = []string{s.dev.ID, s.dev.ID, s.ops.ID, s.hidden.ID, report.ID}
	return s
}

// babble is what an agent says: mostly nothing, or something to another agent, or to none; sometimes it asks one.
func babble(team *discordTeam, a *a2atest.Asked, seed uint64) a2atest.Answer {
	r := rand.New(rand.NewPCG(seed, uint64(a.N)<<8+uint64(len(a.Agent)+int(a.Agent[0]))))
	other := team.crew[r.IntN(len(team.crew))]
	switch n := r.IntN(10); {
	case a.AfterTool(), n < 4, strings.Contains(a.Last().Text, onAndOn):
		return a2atest.Say(nothing)
	case n < 7:
		return a2atest.Say(fmt.Sprintf("네 %d", a.N))
	case n < 9:
		return a2atest.Say("@" + other.name + " 도 봐줘")
	}
	return ask(other.id, fmt.Sprintf("봐줘 %d", a.N))
}

// step is one action of a person or an agent, or one incident of Discord.
func (s *storm) step() {
	s.t.Helper()
	who := s.people[s.random.IntN(len(s.people))]
	switch n := s.random.IntN(100); {
	case n < 70:
		s.writes(who, s.place(), s.text())
	case n < 74 && len(s.own) > 0:
		s.must(s.person.Edit(s.own[s.random.IntN(len(s.own))], s.text()))
	case n < 78:
		_, err := who.StartThread([]string{s.dev.ID, s.ops.ID, s.hidden.ID}[s.random.IntN(3)], "이야기")
		s.must(err)
	case n < 84:
		effect := []discordtest.DispatchEffect{discordtest.Duplicate, discordtest.Postpone}[s.random.IntN(2)]
		s.discord.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Type: "MESSAGE_CREATE", Bot: s.bot().ID},
			Times: 1 + s.random.IntN(3), Effect: effect})
	case n < 87:
		s.bot().Drop()
	case n < 89:
		s.bot().Invalidate()
	case n < 92:
		s.bot().Flush()
	default:
		s.advance(time.Duration(s.random.IntN(90)) * time.Second)
	}
}

func (s *storm) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *storm) bot() *discordtest.Bot { return s.bots[s.crew[s.random.IntN(len(s.crew))].id] }

// place is a channel, or a thread that there is.
func (s *storm) place() string {
	all := slices.Clone(s.places)
	for _, c := range []string{s.dev.ID, s.ops.ID, s.hidden.ID} {
		for _, t := range s.discord.Threads(c) {
			all = append(all, t.ID)
		}
	}
	return all[s.random.IntN(len(all))]
}

// text mentions none to three of the agents.
func (s *storm) text() string {
	text := fmt.Sprintf("말 %d", s.random.IntN(1000))
	for range s.random.IntN(4) {
		text += " " + s.bot().Mention()
	}
	return text + " " + strings.Repeat("길게 ", s.random.IntN(30)) + "PR #7"
}

func (s *storm) writes(who *discordtest.Human, place, text string) {
	s.t.Helper()
	m, err := who.Post(place, text)
	s.must(err)
	if who == s.person {
		s.own = append(s.own, m)
	}
}

// onAndOn is a request without an answer.
const onAndOn = "계속"

// burst is more than observers keep of a place.
func (s *storm) burst() {
	s.t.Helper()
	for n := range route.HistoryLimit + 10 {
		s.writes(s.person, s.ops.ID, fmt.Sprintf("%s %s %d", s.at("seum"), onAndOn, n))
	}
}

// calm lets Discord tell all that is left, and the agents answer it.
func (s *storm) calm() {
	s.t.Helper()
	s.connected()
	for _, b := range s.bots {
		b.Flush()
	}
	for _, t := range s.discord.Threads(s.hidden.ID) {
		if !slices.Contains(s.watch, t.ID) {
			s.watch = append(s.watch, t.ID)
		}
	}
	s.quiet()
	for _, b := range s.bots {
		b.Flush()
	}
	s.quiet()
}

// verdict is what a message was to an agent.
type verdict struct{ mode, reason, runID string }

// all are the verdicts, by message and agent, and how many there are of each.
func (s *storm) all(t *testing.T) (verdicts map[string]map[string][]verdict) {
	t.Helper()
	verdicts = map[string]map[string][]verdict{}
	for _, e := range s.events("discord.inbound.") {
		var d coordination.DiscordInbound
		s.read(&e, &d)
		agents := d.Agents
		if len(agents) == 0 {
			agents = []string{e.AgentID}
		}
		if d.Decision == "" { // an edit or a deletion decides nothing
			continue
		}
		if verdicts[d.MessageID] == nil {
			verdicts[d.MessageID] = map[string][]verdict{}
		}
		for _, a := range agents {
			verdicts[d.MessageID][a] = append(verdicts[d.MessageID][a], verdict{d.Decision, d.Reason, d.RunID})
		}
	}
	return verdicts
}

// checkRuns checks that an agent has one run for a message that it handles, and none for any other.
func (s *storm) checkRuns(t *testing.T) {
	asked := map[string]int{}
	for _, q := range said[coordination.RunQueued](s.discordTeam, coordination.TypeRunQueued) {
		if q.Cause == "discord" && q.RetryOf == "" {
			asked[q.RunID]++
		}
	}
	handled := map[string]bool{}
	for message, verdicts := range s.all(t) {
		for agent, list := range verdicts {
			if list[0].mode == string(route.Handler) {
				handled["discord:"+message+":"+agent] = true
			}
		}
	}
	for run, n := range asked {
		if n != 1 || !handled[run] {
			t.Errorf("run %s was asked for %d times, and its agent handles the message: %t", run, n, handled[run])
		}
	}
	for run := range handled {
		if asked[run] == 0 {
			t.Errorf("run %s was not asked for though its agent handles the message", run)
		}
	}
	if len(asked) < steps/3 {
		t.Errorf("%d runs were asked for, want a storm", len(asked))
	}
}

var mentionIn = regexp.MustCompile(`<@!?(\d+)>`)

// checkVerdicts checks, message by message as Discord has them, that every agent that sees it has one verdict, but for its author, and that as many
// handle it as should.
func (s *storm) checkVerdicts(t *testing.T) {
	verdicts := s.all(t)
	agents := map[string]string{} // by user id
	for agent, b := range s.bots {
		agents[b.ID] = agent
	}
	checked := 0
	for _, m := range s.messages() {
		c, _ := s.discord.Channel(m.ChannelID)
		thread := c.IsThread()
		root := c.ID
		if thread {
			root = *c.ParentID
		}
		author := agents[m.Author.ID]
		var see []string
		for _, a := range s.crew {
			if a.id != author && (root != s.hidden.ID || !slices.Contains(s.blind, a.id)) {
				see = append(see, a.id)
			}
		}
		slices.Sort(see)
		var have, handle []string
		for agent, list := range verdicts[m.ID] {
			have = append(have, agent)
			if len(list) != 1 {
				t.Errorf("message %s has %d verdicts for %s: %v", m.ID, len(list), agent, list)
			}
			if list[0].mode == string(route.Handler) {
				handle = append(handle, agent)
			}
		}
		slices.Sort(have)
		slices.Sort(handle)
		same(t, fmt.Sprintf("message %s of %s in %s: agents with a verdict", m.ID, m.Author.Username, c.Name), have, see)
		if m.ChannelID == s.report.ID || m.EditedTimestamp != nil { // what it said at first Discord does not tell
			continue
		}
		checked++
		s.checkHandlers(t, &m, author, thread, see, handle, agents, verdicts[m.ID])
	}
	if checked < steps/2 {
		t.Errorf("%d messages were checked, want a storm", checked)
	}
}

// checkHandlers checks who handles a message that was not edited, and is no report.
func (s *storm) checkHandlers(t *testing.T, m *discordtest.Message, author string, thread bool, see, handle []string, agents map[string]string,
	verdicts map[string][]verdict,
) {
	var called []string
	mentioned := false
	for _, found := range mentionIn.FindAllStringSubmatch(m.Content, -1) {
		if a := agents[found[1]]; a != "" && a != author {
			mentioned = true
			if slices.Contains(see, a) && !slices.Contains(called, a) {
				called = append(called, a)
			}
		}
	}
	slices.Sort(called)
	handle = slices.DeleteFunc(slices.Clone(handle), func(a string) bool { // who takes part in a thread handles what others are mentioned in, too
		return thread && mentioned && verdicts[a][0].reason == string(route.ByParticipation)
	})
	if len(handle) == 0 {
		handle = nil // as called is
	}
	switch {
	case author == "" && mentioned:
		same(t, fmt.Sprintf("who handles %s (%q)", m.ID, m.Content), handle, called)
	case author == "" && !thread:
		same(t, fmt.Sprintf("who handles %s (%q), which has no mention", m.ID, m.Content), handle, []string{"ruda"})
	case author != "" && mentioned:
		for _, a := range called {
			held := []string{string(route.Suspended), string(route.PairLimited), string(route.HopLimit)}
			if !slices.Contains(handle, a) && !slices.Contains(held, verdicts[a][0].reason) {
				t.Errorf("message %s (%q) of %s is %v to %s, want it handled or held", m.ID, m.Content, author, verdicts[a], a)
			}
		}
		for _, a := range handle {
			if !slices.Contains(called, a) {
				t.Errorf("message %s (%q) of %s is handled by %s, which it does not mention", m.ID, m.Content, author, a)
			}
		}
	case author != "" && !thread && len(handle) > 0:
		t.Errorf("message %s (%q) of %s in a channel has no mention, and is handled by %v", m.ID, m.Content, author, handle)
	}
}

// checkReports checks that the thread of reports starts no run, and that the log says why.
func (s *storm) checkReports(t *testing.T) {
	verdicts := s.all(t)
	for _, m := range s.written(s.report.ID) {
		for agent, list := range verdicts[m.ID] {
			if list[0].mode != string(route.Dropped) || list[0].reason != string(route.SinkThread) || list[0].runID != "" {
				t.Errorf("the report %s is %v to %s, want it dropped as sink_thread", m.ID, list, agent)
			}
		}
	}
}

// checkObserved checks what is kept of the messages that agents have observed, and what was reported of it.
func (s *storm) checkObserved(t *testing.T) {
	kept := map[string]int{}
	s.view(func(ctx context.Context, tx *sql.Tx) error {
		records, err := routing.ObservedRecords(ctx, tx, routing.ObservedQuery{})
		for _, o := range records {
			kept[o.AgentID+" in "+o.Record.Place()]++
			if n := utf8.RuneCountInString(o.Record.Summary); n > route.SummaryLimit {
				t.Errorf("%d characters are kept of message %s, want %d at most", n, o.Record.MessageID, route.SummaryLimit)
			}
		}
		return err
	})
	most := 0
	for who, n := range kept {
		if most = max(most, n); n > route.HistoryLimit {
			t.Errorf("%s keeps %d records, want %d at most", who, n, route.HistoryLimit)
		}
	}
	if most != route.HistoryLimit {
		t.Errorf("the most that an agent keeps of a place are %d records, want %d after so many messages", most, route.HistoryLimit)
	}
	line := regexp.MustCompile(`(?m)^- \d{4}-\d\d-\d\d \d\d:\d\dZ .*$`)
	for _, a := range s.models.Asked() {
		if n := len(line.FindAllString(a.System, -1)); n > route.HistoryLimit {
			t.Errorf("%s was told of %d messages, want %d at most", a.Agent, n, route.HistoryLimit)
		}
	}
}
