package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const selectGuild = "SELECT p.guild_id FROM discord_places p WHERE p.place_id = ?"

var selectUndecided = "SELECT p." + strings.Join(postColumns, ", p.") + `, (SELECT m.id FROM discord_messages m WHERE m.message_id = p.message_id)
 FROM discord_posts p WHERE p.id > ? ORDER BY p.id DESC LIMIT ?`

// Undecided returns the posts in a channel that no decision is known about, those posted since a time, in order, of the
// last posts after a seq: at most so many are looked at. head is the seq of the newest of these. It is for channels other
// than Discord.
func Undecided(tx eventstore.Tx, channel string, after, since int64, most int) (posts []Post, head int64, err error) {
	decided := len(postColumns) // seq of the decision, or NULL
	err = tx.Query(selectUndecided, []any{after, most}, func(r eventstore.Row) error {
		p := scanPost(r)
		head = max(head, p.Seq)
		if r.Null(decided) && p.At >= since && coordination.ChannelOf(p.MessageID) == channel {
			posts = append(posts, p)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list posts without a decision: %w", err)
	}
	slices.Reverse(posts)
	return posts, head, nil
}

// GuildOf is the guild of a place or thread; "" if it has none, or is unknown.
func GuildOf(tx eventstore.Tx, placeID string) (guild string, err error) {
	err = tx.Query(selectGuild, []any{placeID}, func(r eventstore.Row) error {
		guild = r.Text(0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find the guild of a place: %w", err)
	}
	return guild, nil
}
