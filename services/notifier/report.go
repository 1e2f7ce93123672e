package notifier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const (
	discordSink = "discord-conversation"

	kindReport  = "report" // of threads
	maxReport   = 6_000    // characters of a message that are reported
	maxInEffect = 200      // bytes of an id in an effect id
	maxTopic    = 50       // characters of a message in the name of a thread
)

// reports is the sink discord-conversation: each conversation between agents has a thread, opened with its first report.
type reports struct {
	w    *watch
	mute *config.Config // settings for which the missing bot was logged
}

func (r *reports) id() string { return discordSink }

func (r *reports) enabled(c *config.Config) bool {
	s := sinkOf(c, discordSink)
	if s == nil {
		return false
	}
	can := channelOf(&s.Discord) != "" && accountOf(c, coordination.Discord, s.Discord.RouterAccount) != ""
	if !can && r.mute != c {
		r.mute = c
		r.w.Logger.Warn("cannot report conversations: channels.discord needs an enabled account with a token, and the sink a channel",
			"sink", discordSink, "report_channel_id", s.Discord.ReportChannel, "default_channel_id", s.Discord.DefaultChannel,
			"router_account_id", s.Discord.RouterAccount)
	}
	return can
}

// sinkOf returns the first enabled sink with an id, nil for none.
func sinkOf(c *config.Config, id string) *config.Sink {
	for i := range c.Gateway.Sinks {
		if s := &c.Gateway.Sinks[i]; s.ID == id && s.Enabled {
			return s
		}
	}
	return nil
}

func channelOf(s *config.SinkDiscord) string { return cmp.Or(s.ReportChannel, s.DefaultChannel) }

// accountOf returns an account of a channel if it can speak, else "".
func accountOf(c *config.Config, channel, id string) string {
	own := c.Channel(channel)
	for _, a := range own.Accounts {
		if own.Enabled && a.Enabled && a.Token != "" && strings.EqualFold(a.ID, id) {
			return a.ID
		}
	}
	return ""
}

type exchange struct {
	coordination.Context
	FromAgent string `json:"fromAgent"`
	ToAgent   string `json:"toAgent"`
	Message   string `json:"message"`
	Turn      int    `json:"turn"`
	MaxTurns  int    `json:"maxTurns"`
}

// exchangeOf returns the message of an event, nil for other events.
func exchangeOf(e *eventstore.Event) (*exchange, error) {
	switch e.Type {
	case coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2AComplete:
	default:
		return nil, nil
	}
	var x exchange
	if err := json.Unmarshal(e.Data, &x); err != nil {
		return nil, &permanentError{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if x.EventRole != coordination.RoleConversation {
		return nil, nil
	}
	return &x, nil
}

// about returns the subject of an exchange: its conversation, a long name as its digest.
func (x *exchange) about() string {
	if x.ConversationID != "" {
		return short(x.ConversationID)
	}
	pair := []string{strings.ToLower(x.FromAgent), strings.ToLower(x.ToAgent)}
	slices.Sort(pair)
	return short(strings.Join(pair, "-") + "_" + cmp.Or(x.TopicID, "default"))
}

func (r *reports) notification(ctx context.Context, c *config.Config, e *eventstore.Event) (*notification, error) {
	x, err := exchangeOf(e)
	if err != nil || x == nil || strings.TrimSpace(x.Message) == "" {
		return nil, err
	}
	conversation := x.about()
	before, next, err := r.openings(ctx, conversation)
	if err != nil {
		return nil, err
	}
	s := sinkOf(c, discordSink).Discord
	body := r.text(c.Language(), e, x)
	t := &notification{work: func(tx eventstore.Tx) (*coordination.WorkScheduled, error) {
		thread, err := routing.ReportOf(tx, conversation, channelOf(&s))
		if err != nil {
			return nil, err
		}
		d := delivery.Delivery{Context: contextOf(&x.Context), Purpose: delivery.Report, AccountID: accountOf(c, coordination.Discord, s.RouterAccount), GuildID: s.GuildID,
			ChannelID: channelOf(&s), ThreadID: thread, System: true, ReportOf: conversation}
		// A thread exists before its first message does, so a report must wait for the opening to end, not for the thread.
		if pending, err := isPending(tx, before); err != nil || pending {
			return nil, cmp.Or(err, errWaits)
		}
		effect := "report/" + discordSink + "/" + strconv.FormatInt(e.Seq, 10)
		text := body
		if thread == "" {
			effect = next
			d.Open = &delivery.Opening{Name: r.threadName(x), Kind: kindReport, FromAgent: x.FromAgent, ToAgent: x.ToAgent}
			d.Notify = r.w.people(c, coordination.Discord, s.NotifyUsers)
			text = mentions(d.Notify) + text
		}
		d.Messages = collaborate.Chunks(text)
		return workOf(&d, effect)
	}}
	if before != "" {
		t.waits = coordination.WorkStream(before)
	}
	return t, nil
}

// openings returns the effect ids of the last requested opening of a conversation's thread, "" for none, and of the next one.
func (r *reports) openings(ctx context.Context, conversation string) (last, next string, err error) {
	effect := func(n int) string {
		return "report/" + discordSink + "/" + conversation + "/" + strconv.Itoa(n)
	}
	asked := func(n int) bool {
		if err != nil {
			return false
		}
		version, failed := r.w.Log.StreamVersion(ctx, coordination.WorkStream(effect(n)))
		err = failed
		return version > 0
	}
	low, high := 0, 1 // low was requested
	for asked(high) {
		low, high = high, high*2
	}
	for high-low > 1 {
		if middle := (low + high) / 2; asked(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	if low > 0 {
		last = effect(low)
	}
	return last, effect(low + 1), err
}

// isPending reports whether a requested effect is neither done nor given up.
func isPending(tx eventstore.Tx, effectID string) (bool, error) {
	if effectID == "" {
		return false, nil
	}
	item, found, err := workqueue.Load(tx, effectID)
	return found && item.State != workqueue.Dead, err
}

// threadName returns the name of a conversation's thread: the agents, and the beginning of the first message. route.ReportPrefix
// distinguishes it from threads in which agents work.
func (r *reports) threadName(x *exchange) string {
	names := r.w.names()
	about := coordination.Preview(x.Message, names, maxTopic)
	name := route.ReportPrefix + " " + names.Name(x.FromAgent) + " → " + names.Name(x.ToAgent)
	if about != "" {
		name += " · " + about
	}
	return strings.TrimSpace(coordination.Head(name, collaborate.MaxThreadName))
}

// text returns the text of a report, without effective mentions.
func (r *reports) text(in coordination.Language, e *eventstore.Event, x *exchange) string {
	names := r.w.names()
	head := fmt.Sprintf("**%s → %s**", names.Name(x.FromAgent), names.Name(x.ToAgent))
	switch {
	case e.Type == coordination.TypeA2AComplete:
		head += " · " + in.Say("대화 종료", "the end")
	case e.Type == coordination.TypeA2AResponse && x.Turn > 0 && x.MaxTurns > 0:
		head += " · " + fmt.Sprintf(in.Say("응답 %d/%d", "answer %d of %d"), x.Turn, x.MaxTurns)
	case e.Type == coordination.TypeA2AResponse:
		head += " · " + in.Say("응답", "answer")
	}
	said := coordination.Clean(x.Message, names)
	switch said.State {
	case coordination.OutcomeBlocked:
		head += " · " + in.Say("전달되지 않음", "not delivered")
	case coordination.OutcomeNoReply:
		head += " · " + in.Say("응답 없음", "no answer")
	}
	text := said.Text
	if n := utf8.RuneCountInString(text); n > maxReport {
		text = coordination.Head(text, maxReport) + fmt.Sprintf(in.Say("\n… (%[2]d자 중 %[1]d자)", "\n… (%d of %d characters)"), maxReport, n)
	}
	return harmless(head + "\n" + text)
}
