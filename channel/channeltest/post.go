package channeltest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

// answers counts the posts that answer a message, or say that it will not be answered because of too many kills.
func (m *team) answers(one *said) (n int) {
	attempts := m.attempts(one)
	for _, p := range m.stage.Posts(one.place) {
		givenUp := slices.ContainsFunc(attempts, func(id string) bool { return strings.Contains(p.Text, "runs show "+id+"`") })
		if p.Agent == one.agent && (strings.Contains(p.Text, one.text) || givenUp) {
			n++
		}
	}
	return n
}

// answered reports whether each message has an answer, or it is unknown whether it has one.
func (m *team) answered(all []said) bool {
	for i := range all {
		if m.answers(&all[i]) == 0 && !m.isUnknown(&all[i]) {
			return false
		}
	}
	return true
}

// ended is how a delivery has ended, "" if it has not.
func (m *team) ended(effectID string) (state delivery.State) {
	for _, e := range m.stream(coordination.WorkStream(effectID)) {
		switch e.Type {
		case coordination.TypeWorkCompleted:
			return delivery.Done
		case coordination.TypeDiscordDeliveryUnknown:
			state = delivery.Unknown
		case coordination.TypeWorkDead:
			if state == "" {
				state = delivery.Failed
			}
			return state
		}
	}
	return ""
}

// asked is a delivery of two messages, or of these and a file.
type asked struct {
	effect, place string
	texts         []string
}

// asks schedules a delivery.
func (m *team) asks(guild, place string, i int) asked {
	m.Helper()
	one := asked{fmt.Sprint("send/", i), place, []string{fmt.Sprintf("first-%d-", i), fmt.Sprintf("second-%d-", i)}}
	d := delivery.Delivery{Channel: coordination.OtherChannel(place), Purpose: delivery.Send, AgentID: "eden", AccountID: "eden", GuildID: guild, ChannelID: place,
		Messages: one.texts}
	if m.random.IntN(2) == 0 {
		d.Files = []delivery.File{m.keeps(fmt.Sprintf("file %d.png", i))}
		one.texts = append(one.texts, "file:"+d.Files[0].SHA256)
	}
	what, err := d.Work(one.effect, 0)
	if err != nil {
		m.Fatal(err)
	}
	a := eventstore.StreamAppend{Stream: coordination.WorkStream(one.effect), Expect: eventstore.NoStream()}
	if err := a.Add(eventstore.NewEvent{Type: coordination.TypeWorkScheduled, AgentID: "eden"}, what, m.now().UnixMilli()); err != nil {
		m.Fatal(err)
	}
	m.append(a)
	return one
}

// pictureHead is how a picture begins.
const pictureHead = "\x89PNG\x0D\x0A\x1A\x0A"

// keeps stores a file to post: a picture, or any bytes.
func (m *team) keeps(name string) delivery.File {
	m.Helper()
	content := make([]byte, 1+m.random.IntN(maxFile/2))
	for i := range content {
		content[i] = byte(m.random.IntN(256))
	}
	if m.random.IntN(2) == 0 {
		content = append([]byte(pictureHead), content...)
	}
	info, err := m.files.Put(maxFile, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	return delivery.File{Name: name, Type: info.Type, Size: info.Bytes, SHA256: info.SHA256}
}

// postsOnce: requests fail in all ways, connections break, and the program is killed in between.
func (m *team) postsOnce() {
	type place struct{ guild, id string }
	var places []place
	for range 2 {
		guild, id := m.stage.Place()
		places = append(places, place{guild, id})
	}
	var all []asked
	for i := range m.a.Posts {
		for range m.random.IntN(3) {
			m.stage.Trouble(Trouble(m.random.IntN(int(troubles))), m.random.IntN(3))
		}
		at := places[m.random.IntN(len(places))]
		all = append(all, m.asks(at.guild, at.id, i))
		switch m.random.IntN(8) {
		case 0:
			m.stage.Cut("eden")
		case 1:
			m.restart()
		}
	}
	m.until("all deliveries have ended", func() bool {
		return !slices.ContainsFunc(all, func(one asked) bool { return m.ended(one.effect) == "" })
	})
	for _, at := range places {
		m.judgePosts(at.id, all)
	}
}

// judgePosts compares the ends of the deliveries to a place with what stands there: each text at most once, and all in
// the order in which they were scheduled. What is done stands there.
func (m *team) judgePosts(place string, all []asked) {
	m.Helper()
	var got []string
	for _, p := range m.stage.Posts(place) {
		got = append(got, p.Text)
	}
	var most []string // if everything was posted
	for _, one := range all {
		if one.place != place {
			continue
		}
		most = append(most, one.texts...)
		end := m.ended(one.effect)
		for i, text := range one.texts {
			n := 0
			for _, have := range got {
				if have == text {
					n++
				}
			}
			if n > 1 || n == 0 && end == delivery.Done || n == 1 && i > 0 && !slices.Contains(got, one.texts[0]) {
				m.Errorf("%s has ended %s with %q posted %d times", one.effect, end, text, n)
			}
		}
	}
	next := 0
	for _, text := range got {
		at := slices.Index(most[next:], text)
		if at < 0 {
			m.Fatalf("%q is out of order in %q", text, got)
		}
		next += at + 1
	}
}

// saysUnknown: an answer is lost where nothing can be looked up.
func (m *team) saysUnknown() {
	guild, place := m.stage.Place()
	m.stage.Blind(true)
	m.stage.Trouble(Lost, 0)
	one := m.asks(guild, place, 1)
	m.until("the delivery has ended", func() bool { return m.ended(one.effect) != "" })
	m.stage.Blind(false)
	m.restart()
	other := m.asks(guild, place, 2)
	m.until("a later delivery has ended", func() bool { return m.ended(other.effect) != "" })
	if end := m.ended(one.effect); end != delivery.Unknown {
		m.Errorf("it has ended %q, want %q", end, delivery.Unknown)
	}
	if end := m.ended(other.effect); end != delivery.Done {
		m.Errorf("the later one has ended %q, want %q", end, delivery.Done)
	}
	m.judgePosts(place, []asked{one, other})
}

// respectsLimits: what the service would refuse is not sent, and a long text is split.
func (m *team) respectsLimits() {
	traits := channel.Traits(m.bots)
	_, place := m.stage.Place()
	before := m.stage.Requests()
	long := strings.Repeat("가", traits.MaxMessage+1)
	for name, p := range map[string]channel.Post{
		"too long":             {AccountID: "eden", ChannelID: place, Content: long, Nonce: "n1"},
		"empty":                {AccountID: "eden", ChannelID: place, Content: " \n", Nonce: "n2"},
		"of no account":        {AccountID: "ghost", ChannelID: place, Content: "a", Nonce: "n3"},
		"nowhere":              {AccountID: "eden", ChannelID: "../" + place, Content: "a", Nonce: "n4"},
		"in another channel":   {AccountID: "eden", ChannelID: "mattermost:1", Content: "a", Nonce: "n5"},
		"to a made-up message": {AccountID: "eden", ChannelID: place, Content: "a", Nonce: "n6", ReplyTo: "x/../1"},
	} {
		_, err := m.bots.Send(m.ctx, p)
		var refused *channel.Error
		if !errors.As(err, &refused) || !refused.Local {
			m.Errorf("a post %s: %v, want it refused before anything is sent", name, err)
		}
	}
	if now := m.stage.Requests(); now != before {
		m.Errorf("%d requests were made, want none", now-before)
	}
	if m.bots.Components([]channel.Button{{ID: strings.Repeat("x", 5_000), Label: "a"}}) != nil {
		m.Error("a button with an id of 5,000 characters is accepted")
	}
	m.splits(place, &traits)
}

// splits has a text posted that is longer than a message may be.
func (m *team) splits(place string, traits *coordination.Channel) {
	sends := &outbound.Sends{Channel: m.stage.Name(), Log: m.db, Accounts: m.bots.Registry, Config: func() *config.Config { return m.config }, Now: m.now, NewID: m.newID}
	text := strings.TrimSpace(strings.Repeat("가나다라 😀 ", traits.MaxMessage/4))
	if err := sends.Send(m.ctx, delivery.Post{Key: "long", AgentID: "eden", To: "channel:" + place, Text: text}); err != nil {
		m.Fatal(err)
	}
	m.until("the text is posted", func() bool { return m.ended("send/long") == delivery.Done })
	got := ""
	for _, p := range m.stage.Posts(place) {
		if n := traits.Length(p.Text); n > traits.MaxMessage {
			m.Errorf("a message has %d characters, want at most %d", n, traits.MaxMessage)
		}
		got += p.Text
	}
	if plain := func(s string) string { return strings.Join(strings.Fields(s), "") }; plain(got) != plain(text) {
		m.Errorf("%d characters were posted, want the %d of the text", len(plain(got)), len(plain(text)))
	}
}
