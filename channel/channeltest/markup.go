package channeltest

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// markups are texts as agents write them, each with words that stay visible whatever the service makes of the marks.
var markups = []struct{ text, words string }{
	{"**bold**, _italic_, ~~gone~~ and `code`", "bold italic gone code"},
	{"before\n```go\nfunc f(a, b int) { return a < b && b > a }\n```\nafter", "before func return after"},
	{"see [the page](https://example.com/a_b?c=d&e=f)", "see the page"},
	{"> a quote\n\n- one\n- two\n\n1. three\n\n# title", "quote one two three title"},
	{"*not closed _anywhere `or so ~~ ||", "not closed anywhere or so"},
	{"a.b!c#d(e)f[g]h{i}j=k|l-m+n~o\\p$q^r", "a b c d e f g h i j k l m n o p q r"},
	{"<b>html</b> &amp; <!channel> <@everyone> @here", "html channel everyone here"},
	{"가나다 😀 **라마** _바사_", "가나다 😀 라마 바사"},
}

// keepsMarkup: whatever marks a text has, it is posted, once, and its words are there in order.
func (m *team) keepsMarkup() {
	_, place := m.stage.Place()
	sends := &outbound.Sends{Channel: m.stage.Name(), Log: m.db, Accounts: m.bots.Registry, Config: func() *config.Config { return m.config }, Now: m.now, NewID: m.newID}
	for i, c := range markups {
		key := fmt.Sprint("markup-", i)
		if err := sends.Send(m.ctx, delivery.Post{Key: key, AgentID: m.agents[0], To: "channel:" + place, Text: c.text}); err != nil {
			m.Fatal(err)
		}
		m.until("the text is posted", func() bool { return m.ended("send/"+key) != "" })
		posts := m.stage.Posts(place)
		if end := m.ended("send/" + key); end != delivery.Done || len(posts) != i+1 {
			m.Fatalf("%q has ended %s with %d posts, want %d", c.text, end, len(posts), i+1)
		}
		rest := posts[i].Text
		for word := range strings.FieldsSeq(c.words) {
			_, after, found := strings.Cut(rest, word)
			if !found {
				m.Errorf("%q is posted as %q, want %q in it, in order", c.text, posts[i].Text, word)
				break
			}
			rest = after
		}
	}
}
