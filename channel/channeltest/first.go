package channeltest

import (
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// writesFirst: bots write to the person in conversations that they open, over a limit and a kill. Each has one conversation, in which the
// person answers it.
func (m *team) writesFirst() {
	var all []said
	for round := range 2 {
		sends := &outbound.Sends{Channel: m.stage.Name(), Log: m.db, Accounts: m.bots.Registry, People: m.bots, Config: func() *config.Config { return m.config },
			Now: m.now, NewID: m.newID}
		for i, agent := range m.agents {
			p := delivery.Post{Key: fmt.Sprint("first-", round, "-", agent), AgentID: agent, Text: fmt.Sprintf("%s writes in round %d", agent, round)}
			to, err := sends.Converse(m.ctx, &p, m.stage.Person())
			if err != nil {
				m.Fatal(err)
			}
			place := m.stage.Direct(agent)
			if p.To = to; to != "channel:"+place {
				m.Fatalf("%s writes to %s, want %s", agent, to, place)
			}
			if i == 1 {
				m.stage.Trouble(Limited, 0)
			}
			if err := sends.Send(m.ctx, p); err != nil {
				m.Fatal(err)
			}
			m.until("the text is posted", func() bool { return m.ended("send/"+p.Key) != "" })
			is := func(q Post) bool { return q.Text == p.Text && q.Agent == agent }
			if posts := m.stage.Posts(place); m.ended("send/"+p.Key) != delivery.Done || !slices.ContainsFunc(posts, is) {
				m.Errorf("in %s stands %v, want %q", place, posts, p.Text)
			}
			text := fmt.Sprintf("back-%d-%s-", round, agent)
			all = append(all, said{m.stage.Say(place, "", text), place, agent, text})
			m.until("the person is answered", func() bool { return m.decided(all) && m.answered(all) })
		}
		if round == 0 {
			m.restart()
		}
	}
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}
