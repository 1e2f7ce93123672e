package inbound

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Bounds of the posts that are told from the log.
const (
	maxUndecided = 200                // posts at once
	undecidedAge = 7 * 24 * time.Hour // older ones stay undecided
)

// siblings tells the agents of what their siblings have posted, where the service does not tell a bot what other bots
// write. The channel does that itself once a post is recorded; one whose decision is not in the log was recorded just before
// the program ended. Each is decided once, as its stream is new once.
type siblings struct {
	known int64 // seq up to which all posts are decided
	tries int   // consecutive times that a post had to wait
}

// tell decides about the posts of the log that are not decided yet, and returns when to look again.
func (m *Service) tell(ctx context.Context, s *siblings) (pause time.Duration) {
	pause = lookAgain
	facts, head, err := m.undecided(ctx, s.known)
	if err != nil {
		if ctx.Err() == nil {
			m.o.Logger.Warn("cannot read which posts are not decided yet; will retry", "err", err)
		}
		return pause
	}
	waits := false
	for _, fact := range facts {
		if !m.speaks(&fact) {
			waits = true
			continue
		}
		m.Handle(ctx, fact)
	}
	if waits {
		s.tries++
		return min(m.o.Backoff(s.tries), lookAgain)
	}
	s.known, s.tries = max(s.known, head), 0
	return pause
}

// undecided returns the facts of posts after a seq that no decision is in the log about, in the order in which they were
// posted, and the seq of the newest post.
func (m *Service) undecided(ctx context.Context, after int64) (facts []channel.Inbound, head int64, err error) {
	_, err = m.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		facts = nil
		var posts []routing.Post
		if posts, head, err = routing.Undecided(tx, m.o.Channel, after, m.o.Now().Add(-undecidedAge).UnixMilli(), maxUndecided); err != nil {
			return nil, err
		}
		for i := range posts {
			fact, known, err := m.factOf(tx, &posts[i])
			if err != nil {
				return nil, err
			}
			if known {
				facts = append(facts, fact)
			}
		}
		return nil, nil
	})
	return facts, head, err
}

// factOf is a post as the channel would have told it. It is not known if what was posted was redacted, or its bot is
// none of the channel's any more.
func (m *Service) factOf(tx eventstore.Tx, of *routing.Post) (in channel.Inbound, known bool, err error) {
	var p post
	if err := p.read(tx, of); err != nil {
		return in, false, err
	}
	d, err := deliveryOf(tx, of.EffectID)
	if err != nil || d == nil || p.index < 0 || p.index >= d.Posts() {
		return in, false, err
	}
	guild, err := routing.GuildOf(tx, of.PlaceID)
	if err != nil {
		return in, false, err
	}
	text, file := d.Post(p.index)
	f := channel.Message{ID: of.MessageID, ChannelID: of.PlaceID, GuildID: cmp.Or(d.GuildID, guild), Content: text, At: of.At,
		Nonce:  d.Nonce(of.EffectID, of.PlaceID, p.index),
		Author: channel.Author{User: channel.User{Bot: true}, Account: of.AccountID, Agent: strings.ToLower(of.AgentID)}}
	if file != nil {
		f.Attachments = []channel.Attachment{{Name: file.Name, Type: file.Type, Size: file.Size}}
	}
	if p.index == 0 {
		f.ReplyTo = d.ReplyTo
	}
	if of.ThreadID != "" {
		f.ParentID, f.ThreadName = d.ChannelID, m.o.Bots.ChannelName(of.ThreadID)
	}
	at, is := m.botAt(&f)
	if !is {
		return in, false, nil
	}
	f.Author.ID, f.Author.Name, f.Author.Agent = at.UserID, at.Name, at.Agent
	for _, mention := range mentioned.FindAllStringSubmatch(f.Content, -1) {
		user := channel.User{ID: mention[1]}
		if name := m.o.Bots.Resolve(mention[0]); name != mention[0] {
			user.Name = strings.TrimPrefix(name, "@")
		}
		f.Mentions = append(f.Mentions, user)
	}
	return channel.Inbound{Kind: channel.Created, AccountID: of.AccountID, BotID: at.UserID, Missed: true, Message: f}, true, nil
}

var mentioned = regexp.MustCompile(`<@!?([0-9A-Za-z]+)>`)

// botAt is the bot of a fact's author, as it sees the fact's place.
func (m *Service) botAt(f *channel.Message) (bot route.Bot, is bool) {
	parent, thread := f.ChannelID, ""
	if f.ParentID != "" {
		parent, thread = f.ParentID, f.ChannelID
	}
	all := m.o.Bots.Sight(f.GuildID, parent, thread)
	i := slices.IndexFunc(all, func(b route.Bot) bool { return strings.EqualFold(b.AccountID, f.Author.Account) })
	if i < 0 {
		return route.Bot{}, false
	}
	return all[i], true
}

// speaks reports whether the author's bot is connected or connecting: before, its siblings are not either.
func (m *Service) speaks(in *channel.Inbound) bool {
	bot, is := m.botAt(&in.Message)
	return is && !bot.Blind && bot.UserID != ""
}

// deliveryOf reads what was scheduled as a delivery, nil if it was redacted or is malformed.
func deliveryOf(tx eventstore.Tx, effectID string) (*delivery.Delivery, error) {
	var seq int64
	err := tx.Query(selectAsked, []any{coordination.WorkStream(effectID)}, func(row eventstore.Row) error {
		seq = row.Int(0)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find delivery %s: %w", effectID, err)
	}
	return readDelivery(tx, seq)
}
