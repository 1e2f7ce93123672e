package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

const selectGuild = "SELECT p.guild_id FROM discord_places p WHERE p.place_id = ?"

// Queries of Undecided. The names of a channel's messages begin with the channel's. The first look finds them by name, however many
// posts other channels have; later ones find the few posts after a seq.
var (
	selectPosts = "SELECT p." + strings.Join(postColumns, ", p.") + `, (SELECT m.id FROM discord_messages m WHERE m.message_id = p.message_id)
 FROM discord_posts p WHERE `
	selectUndecidedFirst = selectPosts + "p.message_id > ? AND p.message_id < ? AND +p.id > ? ORDER BY +p.id DESC LIMIT ?"
	selectUndecided      = selectPosts + "+p.message_id > ? AND +p.message_id < ? AND p.id > ? ORDER BY p.id DESC LIMIT ?"
)

const selectNewestPost = "SELECT max(p.id) FROM discord_posts p"

// Undecided returns the posts in a channel that no decision is known about, those posted since a time, in order, of the
// channel's last posts after a seq: at most so many are looked at. head is the seq of the newest post of any channel. It is for
// channels other than Discord.
func Undecided(tx eventstore.Tx, channel string, after, since int64, most int) (posts []Post, head int64, err error) {
	decided := len(postColumns) // seq of the decision, or NULL
	query := selectUndecided
	if after == 0 {
		query = selectUndecidedFirst
	}
	err = tx.Query(selectNewestPost, nil, func(r eventstore.Row) error {
		head = r.Int(0)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("find the newest post: %w", err)
	}
	err = tx.Query(query, []any{channel + ":", channel + ";", after, most}, func(r eventstore.Row) error {
		p := scanPost(r)
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
