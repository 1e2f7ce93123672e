package channeltest

// storms: ten bots hear everything twice, over connections that break and requests that fail, while the program is killed.
func (m *team) storms() {
	m.storm = true
	m.stage.Twice(true)
	var places []string
	var all []said
	for range 2 {
		_, place := m.stage.Place()
		places = append(places, place)
		all = append(all, m.says(place, -len(places)))
	}
	m.until("the first messages are decided", func() bool { return m.decided(all) }) // from here on the log knows the places
	for i := range m.a.Messages {
		switch m.random.IntN(8) {
		case 0:
			m.stage.Cut(m.anyAgent())
		case 1:
			m.stage.Forget(m.anyAgent())
		case 2:
			m.outage()
		}
		all = append(all, m.says(places[m.random.IntN(len(places))], i))
		if i%(m.a.Messages/3) == 1 {
			m.restart()
		}
	}
	m.until("all messages are decided and answered", func() bool { return m.decided(all) && m.answered(all) })
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}

// outage makes the next requests fail, each in its own way.
func (m *team) outage() {
	for range 1 + m.random.IntN(4) {
		m.stage.Trouble(Trouble(m.random.IntN(int(troubles))), m.random.IntN(3))
	}
}

// speaksInPrivate: each agent's bot has a conversation with the person, over broken connections and a kill. No other agent
// hears it.
func (m *team) speaksInPrivate() {
	m.stage.Twice(true)
	var all []said
	for round := range 2 {
		for i, agent := range m.agents {
			place, text := m.stage.Direct(agent), string(rune('a'+round))+"-direct-"+agent+"-"
			all = append(all, said{m.stage.Say(place, "", text), place, agent, text})
			if i == 1 {
				m.stage.Cut(agent)
			}
		}
		if round == 0 {
			m.until("the first messages are decided", func() bool { return m.decided(all) })
			m.restart()
		}
	}
	m.until("all messages are decided and answered", func() bool { return m.decided(all) && m.answered(all) })
	m.judgeDecisions(all)
	m.judgeAnswers(all)
}
