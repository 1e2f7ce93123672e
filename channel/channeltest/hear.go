package channeltest

import (
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
)

// said is a message of the person.
type said struct{ id, place, agent, text string }

// says has the person mention an agent.
func (m *team) says(place string, i int) said {
	agent, text := m.anyAgent(), fmt.Sprintf("word-%d-", i)
	return said{m.stage.Say(place, agent, text), place, agent, text}
}

func (m *team) decided(all []said) bool {
	for i := range all {
		if len(m.stream(coordination.MessageStream(all[i].id))) == 0 {
			return false
		}
	}
	return true
}

// judgeDecisions checks that each message has one decision and one run, and that the messages of a place were decided in
// the order in which they were written.
func (m *team) judgeDecisions(all []said) {
	m.Helper()
	last := map[string]int64{}
	for _, one := range all {
		events := m.stream(coordination.MessageStream(one.id))
		if len(events) == 0 {
			m.Fatalf("nothing was decided about %s", one.id)
		}
		if events[0].Seq < last[one.place] && !m.a.Unordered {
			m.Errorf("%s was decided before an earlier message of %s", one.id, one.place)
		}
		last[one.place] = events[0].Seq
		m.judgeVerdicts(&one, events)
		asked := 0
		for _, e := range m.stream(coordination.RunStream(inbound.RunID(one.id, one.agent))) {
			if e.Type == coordination.TypeRunQueued {
				asked++
			}
		}
		if asked != 1 {
			m.Errorf("%s has led to %d runs of %s, want one", one.id, asked, one.agent)
		}
	}
}

// judgeVerdicts checks that a message is one thing to each agent: to be handled by the one that it mentions, and only to
// be observed by the others.
func (m *team) judgeVerdicts(one *said, events []eventstore.Event) {
	m.Helper()
	verdicts := map[string][]string{}
	for i := range events {
		var d coordination.DiscordInbound
		if err := json.Unmarshal(events[i].Data, &d); err != nil {
			m.Fatal(err)
		}
		agents := d.Agents
		if len(agents) == 0 {
			agents = []string{events[i].AgentID}
		}
		for _, agent := range agents {
			verdicts[agent] = append(verdicts[agent], d.Decision)
		}
	}
	for agent, are := range verdicts {
		want := route.Observer
		if agent == one.agent {
			want = route.Handler
		}
		if len(are) != 1 || are[0] != string(want) {
			m.Errorf("%s is %v to %s, want %s alone", one.id, are, agent, want)
		}
	}
	if verdicts[one.agent] == nil {
		m.Errorf("%s is nothing to %s, whom it mentions", one.id, one.agent)
	}
}

// judgeAnswers checks that each message has one answer in its place, by the agent that was mentioned, or that the log says
// that this is unknown.
func (m *team) judgeAnswers(all []said) {
	m.Helper()
	for _, one := range all {
		if n := m.answers(&one); n > 1 || n == 0 && !m.isUnknown(&one) {
			m.Errorf("%s was answered %d times, want once\n%v", one.text, n, m.stage.Posts(one.place))
		}
	}
}

// decidesOnce: everything is delivered by all bots, twice, over broken connections.
func (m *team) decidesOnce() {
	m.stage.Twice(true)
	var all []said
	var places []string
	for range 2 {
		_, place := m.stage.Place()
		places = append(places, place)
	}
	for i := range m.a.Messages {
		if m.random.IntN(4) == 0 {
			m.stage.Cut(m.anyAgent())
		}
		all = append(all, m.says(places[m.random.IntN(len(places))], i))
	}
	m.until("all messages are decided and answered", func() bool { return m.decided(all) && m.answered(all) })
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}

// missesNothing: the service forgets the connections of all bots while the person writes.
func (m *team) missesNothing() {
	_, place := m.stage.Place()
	all := []said{m.says(place, 0)}
	m.until("the first message is decided", func() bool { return m.decided(all) })
	for round := range 3 {
		for _, agent := range m.agents {
			m.stage.Forget(agent)
		}
		for i := range m.a.Messages / 3 {
			all = append(all, m.says(place, 100*(round+1)+i))
		}
		m.until("what was missed is decided", func() bool { return m.decided(all) })
	}
	m.until("all are answered", func() bool { return m.answered(all) })
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}
