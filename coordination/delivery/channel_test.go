package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

const group = "telegram:-100123"

// elsewhere is a delivery to a place that is not in Discord.
func elsewhere(messages ...string) *delivery.Delivery {
	d := draft(messages...)
	d.Channel, d.ChannelID, d.ThreadID = "telegram", group, group+":topic:7"
	return d
}

// A channel has work of its own; that of Discord is written as ever.
func TestEachChannelHasItsWork(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*delivery.Delivery{
		"discord discord discord/" + channel:                   draft("a"),
		"telegram telegram telegram/telegram:-100123:topic:7": elsewhere("a"),
	} {
		w, err := d.Work("e", 0)
		if got := w.Kind + " " + w.Pool + " " + w.Key; err != nil || got != want {
			t.Errorf("the work is %s, %v, want %s", got, err, want)
		}
	}
	w, err := draft("a").Work("e", 0)
	var payload map[string]any
	if err != nil || json.Unmarshal(w.Payload, &payload) != nil || payload["channel"] != nil {
		t.Errorf("a delivery to Discord is %s, %v, want no channel in it", w.Payload, err)
	}
}

// Ids of another channel or chat, and texts over the channel's own limit, are refused.
func TestDeliveriesStayInTheirChannel(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*delivery.Delivery){
		"an unknown channel":            func(d *delivery.Delivery) { d.Channel = "mattermost" },
		"Discord by its name":           func(d *delivery.Delivery) { d.Channel = "discord" },
		"a place of Discord":            func(d *delivery.Delivery) { d.ChannelID = channel },
		"a message for a place":         func(d *delivery.Delivery) { d.ChannelID = group + ":5" },
		"a topic of another chat":       func(d *delivery.Delivery) { d.ThreadID = "telegram:-1:topic:7" },
		"a reply into another chat":     func(d *delivery.Delivery) { d.ReplyTo = "telegram:-1:5" },
		"a reply to a topic":            func(d *delivery.Delivery) { d.ReplyTo = group + ":topic:5" },
		"a server of another channel":   func(d *delivery.Delivery) { d.GuildID = "slack:t1" },
		"a user of another form":        func(d *delivery.Delivery) { d.Notify = []string{"U1"} },
		"more characters than it takes": func(d *delivery.Delivery) { d.Messages = []string{strings.Repeat("😀", 2049)} },
	} {
		d := elsewhere("a")
		change(d)
		if _, err := d.Work("e", 0); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	d := elsewhere(strings.Repeat("😀", 2048))
	d.ReplyTo, d.GuildID, d.Notify = group+":55", group, []string{"42"}
	if _, err := d.Work("e", 0); err != nil {
		t.Errorf("a delivery that is right is refused: %v", err)
	}
	d = draft("a")
	d.ChannelID = group
	if _, err := d.Work("e", 0); err == nil {
		t.Error("a place of Telegram is taken for one of Discord")
	}
}

// Without nonces nothing that may have been posted is posted again before it was searched for; if that is impossible, it is unknown.
func TestWithoutNoncesNothingIsRepeatedBlindly(t *testing.T) {
	t.Parallel()
	h := newHistory(t).leased().failed(delivery.StepPost, collaborate.ClassTimeout)
	if got := does(delivery.Next(draft("a"), h.fold(), h.now)); got != "post_message 0" {
		t.Errorf("Discord, which has nonces: %s, want the post again", got)
	}
	if got := does(delivery.Next(elsewhere("a"), h.fold(), h.now)); got != "find_message 0" {
		t.Errorf("Telegram: %s, want a search", got)
	}
	h.failed(delivery.StepLook, collaborate.ClassRejected)
	end := delivery.Next(elsewhere("a"), h.fold(), h.now)
	if got := does(end); got != "delivery_unknown delivery_unknown, escalated" {
		t.Errorf("where nothing can be searched for: %s", got)
	}
	if hint := end.Outcome.Hint; !strings.Contains(hint, "Telegram") {
		t.Errorf("the hint is %q, want it about Telegram", hint)
	}
	refused := newHistory(t).leased().failed(delivery.StepPost, collaborate.ClassUnsent)
	if got := does(delivery.Next(elsewhere("a"), refused.fold(), refused.now)); got != "wait 1s" {
		t.Errorf("what was not sent: %s, want it posted again later", got)
	}
}

// Texts are split within the limit of the channel, counted as it does.
func TestChunksOfChannels(t *testing.T) {
	t.Parallel()
	for _, c := range coordination.Channels() {
		for _, text := range []string{strings.Repeat("가나다 ", 3000), strings.Repeat("😀", 9000), "```go\n" + strings.Repeat("😀\n", 5000) + "```"} {
			var joined strings.Builder
			for _, m := range collaborate.ChunksFor(c, text) {
				if n := c.Length(m); n > c.MaxMessage {
					t.Errorf("%s: a message has %d characters, want at most %d", c.Name, n, c.MaxMessage)
				}
				joined.WriteString(m)
			}
			if strings.Count(joined.String(), "😀") != strings.Count(text, "😀") {
				t.Errorf("%s: some of the text is missing", c.Name)
			}
		}
	}
}
