package inbound

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Limits of what is noted of reactions.
const (
	maxReactions = 50 // events of one post
	maxEmoji     = 64 // bytes
)

const selectReactions = `SELECT e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = 'discord.reaction' ORDER BY e.seq`

// reacted returns the event of a person's reaction to a post of the bot that tells of it, none if it is known or there are too many. No
// agent runs for it.
func (h *intake) reacted(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	now, author := h.in.Reaction, &h.message.Author
	if now.Emoji == "" || len(now.Emoji) > maxEmoji || !utf8.ValidString(now.Emoji) || author.ID == "" || author.Bot || h.agentOf(author.ID) != "" {
		return nil, nil
	}
	post, found, err := routing.PostOf(tx, h.message.ID)
	if err != nil || !found || !strings.EqualFold(post.AccountID, h.in.AccountID) {
		return nil, err
	}
	stream := coordination.ReactionStream(h.message.ID)
	n, on := 0, false
	err = tx.Query(selectReactions, []any{stream}, func(row eventstore.Row) error {
		n++
		var earlier coordination.DiscordReaction
		if !row.Null(0) && json.Unmarshal([]byte(row.Text(0)), &earlier) == nil && earlier.UserID == author.ID && earlier.Emoji == now.Emoji {
			on = !earlier.Removed
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("load reactions to a post: %w", err)
	case n >= maxReactions, on != now.Removed:
		return nil, nil
	}
	a, err := appendOf(stream, coordination.TypeDiscordReaction, post.AgentID, h.now.UnixMilli(), coordination.DiscordReaction{
		Context: coordination.Context{EventRole: coordination.RoleObservability}, Channel: coordination.OtherChannel(h.message.ID), MessageID: h.message.ID, ChannelID: post.PlaceID,
		UserID: author.ID, UserName: oneLine(author.Name), Emoji: now.Emoji, Removed: now.Removed, RunID: post.RunID})
	return []eventstore.StreamAppend{a}, err
}
