package routing

import (
	"encoding/json"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// change is a row of discord_changes.
type change struct {
	name, placeID string
	route.Change
	seq int64
}

var changeColumns = []string{"message_id", "place_id", "edited_at", "deleted_at", "seq"}

func newChanges(table string) *projections.Table[string, change] {
	return projections.NewTable(projections.Columns[string, change]{
		Table: table, Key: 1, Fixed: 2, Keep: 200, Names: changeColumns,
		Lookup: "message_id = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *change) error {
			*x = change{r.Text(0), r.Text(1), route.Change{EditedAt: r.Int(2), DeletedAt: r.Int(3)}, r.Int(4)}
			return nil
		},
		Args: func(args []any, x *change) []any {
			return append(args, x.name, x.placeID, x.EditedAt, x.DeletedAt, x.seq)
		},
	})
}

// changed folds that a message was edited or deleted. A redacted event still says so by its stream and type.
func (p *projector) changed(tx eventstore.Tx, e *projections.Event) error {
	name, is := coordination.MessageOfStream(e.Stream)
	var d coordination.DiscordChange
	if !is || !e.Redacted() && (json.Unmarshal(e.Data, &d) != nil || nameOf(d.MessageID) != name) {
		return nil
	}
	m, err := p.messages.Get(tx, name)
	if err != nil || m == nil {
		return err
	}
	place := m.placeID
	x, existed, err := p.changes.Edit(tx, name)
	if err != nil {
		return err
	}
	if !existed {
		*x = change{name: name, placeID: place}
	}
	if x.seq = e.Seq; e.Type == coordination.TypeDiscordInboundDeleted {
		x.DeletedAt = max(x.DeletedAt, e.TS)
	} else {
		x.EditedAt = max(x.EditedAt, e.TS)
	}
	return nil
}

const (
	selectChange = `SELECT c.edited_at, c.deleted_at, coalesce(e.data ->> '$.text', e.data ->> '$.summary', ''),
 (SELECT count(*) FROM streams s JOIN events n ON n.stream_id = s.id WHERE s.name = ? AND n.type = '` + coordination.TypeDiscordInboundEdited + `')
 FROM discord_changes c LEFT JOIN events e ON e.seq = c.seq WHERE c.message_id = ?`
	selectChanged = `SELECT c.message_id, c.deleted_at, coalesce(e.data ->> '$.summary', '') FROM json_each(?) j
 CROSS JOIN discord_changes c ON c.message_id = j.value LEFT JOIN events e ON e.seq = c.seq`
	selectNews = `SELECT m.author_name, m.author_id, m.at, c.deleted_at, coalesce(e.data ->> '$.text', '') FROM discord_changes c
 JOIN discord_messages m ON m.message_id = c.message_id JOIN discord_verdicts v ON v.message = m.id AND v.agent = ? AND +v.mode = 'handler'
 LEFT JOIN events e ON e.seq = c.seq
 WHERE c.place_id = ? AND c.seq > (SELECT max(seq) FROM events) - ? AND NOT EXISTS (SELECT 1 FROM discord_messages n JOIN discord_verdicts w ON w.message = n.id AND w.agent = ?
  AND +w.mode = 'handler' WHERE n.place_id = c.place_id AND n.id > c.seq) ORDER BY c.seq DESC LIMIT ?`
)

// ChangeOf returns what happened to a message after the decision about it, and what an edited one says now: as much as agents know.
func ChangeOf(tx eventstore.Tx, messageID string) (c route.Change, text string, err error) {
	err = tx.Query(selectChange, []any{coordination.MessageStream(messageID), nameOf(messageID)}, func(r eventstore.Row) error {
		c, text = route.Change{EditedAt: r.Int(0), DeletedAt: r.Int(1), Edits: int(r.Int(3))}, r.Text(2)
		return nil
	})
	if err != nil {
		return c, "", fmt.Errorf("load what happened to a message: %w", err)
	}
	return c, text, nil
}

// changeWords replaces what observers keep of edited messages by what they say now, and removes deleted ones.
func changeWords(tx eventstore.Tx, words map[int64]coordination.DiscordInbound) error {
	names := make([]string, 0, len(words))
	for _, d := range words {
		names = append(names, nameOf(d.MessageID))
	}
	if len(names) == 0 {
		return nil
	}
	now := map[string]string{}
	gone := map[string]bool{}
	err := tx.Query(selectChanged, []any{string(encode(names))}, func(r eventstore.Row) error {
		now[r.Text(0)], gone[r.Text(0)] = r.Text(2), r.Int(1) != 0
		return nil
	})
	if err != nil {
		return fmt.Errorf("load edits of observed messages: %w", err)
	}
	for seq, d := range words {
		name := nameOf(d.MessageID)
		summary, changed := now[name]
		switch {
		case gone[name]:
			delete(words, seq)
		case changed:
			d.Summary, d.URLs, d.PRs, d.CodeRefs = summary, nil, nil, nil
			words[seq] = d
		}
	}
	return nil
}

// News is what happened to a message that an agent handled, since it last handled one in the same place.
type News struct {
	Author  string
	At      int64 // when the message was sent, ms since 1970
	Deleted bool
	Text    string // of an edited one; "" if it is not known any more
}

// NewsOf returns what happened in a place to messages that an agent handled, since it last handled one there: the latest, at most so many,
// oldest first. Only the latest events of the log are looked at, so that a decision reads a bounded amount.
func NewsOf(tx eventstore.Tx, agent, place string, most int) (list []News, err error) {
	err = tx.Query(selectNews, []any{agent, place, newsSpan, agent, most}, func(r eventstore.Row) error {
		n := News{Author: r.Text(0), At: r.Int(2), Deleted: r.Int(3) != 0, Text: r.Text(4)}
		if n.Author == "" {
			n.Author = r.Text(1)
		}
		list = append([]News{n}, list...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load edits of messages: %w", err)
	}
	return list, nil
}

// newsSpan is how many events back NewsOf looks.
const newsSpan = 10_000
