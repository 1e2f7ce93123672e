package routing

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

var (
	messageNames          = "m." + strings.Join(messageColumns, ", m.")
	selectMessage         = "SELECT " + messageNames + " FROM discord_messages m"
	selectPlace           = "SELECT p." + strings.Join(placeColumns, ", p.") + " FROM discord_places p"
	selectSuspendedPlaces = selectPlace + " WHERE p.suspended_until <> 0 AND p.suspended_until > ?"

	selectPost   = "SELECT p." + strings.Join(postColumns, ", p.") + " FROM discord_posts p"
	selectPostOf = selectPost + " WHERE p.message_id = ?"

	selectAnswers = "SELECT " + messageNames + `, coalesce(e.data ->> '$.text', e.data ->> '$.summary', ''),
 coalesce(e.data ->> '$.causedBy', ''), coalesce(e.data ->> '$.collabId', '') FROM discord_messages m JOIN events e ON e.seq = m.id
 WHERE m.place_id = ? AND m.id > ? AND +m.author_agent = ? AND e.data ->> '$.answers' ORDER BY m.id LIMIT ?`

	selectWhole = `, coalesce(e.data ->> '$.text', e.data ->> '$.summary', ''), v.agent, v.account_id, v.mode, v.reason, v.ord, v.run_id, v.seq FROM (`
	selectJoins = `) m LEFT JOIN events e ON e.seq = m.id LEFT JOIN discord_verdicts v ON v.message = m.id ORDER BY m.id DESC, v.agent`

	selectParticipants = `SELECT a.thread_id, a.agent, a.bot_user_id, a.reason, a.since, a.left_at, coalesce(p.last_at, 0)
 FROM discord_participants a LEFT JOIN discord_places p ON p.place_id = a.thread_id WHERE a.thread_id = ? ORDER BY a.seq, a.agent`
	selectObserved = "SELECT o.agent, o.at, e.type, e.ver, e.data FROM discord_observed o JOIN events e ON e.seq = o.seq"
)

// Messages lists messages, newest first.
func Messages(ctx context.Context, tx *sql.Tx, q MessageQuery) (messages []Message, err error) {
	query, args := q.sql()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		if n := len(messages); n == 0 || messages[n-1].Seq != r.Int(0) {
			messages = append(messages, scanMessage(r))
		}
		words := len(messageColumns)
		if m := &messages[len(messages)-1]; !r.Null(words + 1) {
			m.Verdicts = append(m.Verdicts, Verdict{AgentID: r.Text(words + 1), AccountID: r.Text(words + 2), Mode: route.Mode(r.Text(words + 3)),
				Reason: route.Reason(r.Text(words + 4)), Order: route.Order(r.Text(words + 5)), RunID: r.Text(words + 6), Seq: r.Int(words + 7)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return messages, nil
}

// scanMessage reads messageColumns and the words.
func scanMessage(r eventstore.Row) Message {
	return Message{Seq: r.Int(0), ID: r.Text(1), PlaceID: r.Text(2), ChannelID: r.Text(3), ThreadID: r.Text(4), GuildID: r.Text(5), AuthorID: r.Text(6),
		AuthorName: r.Text(7), AuthorAgent: r.Text(8), Mentioned: projections.ListOf[string](r.Text(9)), System: r.Int(10) != 0, At: r.Int(11), Text: r.Text(len(messageColumns))}
}

// sql builds the query of Messages: each selected message, with its words and verdicts.
func (q *MessageQuery) sql() (query string, args []any) {
	chosen, args := q.chosen()
	return "SELECT " + messageNames + selectWhole + chosen + selectJoins, args
}

// chosen selects the messages alone. It uses the index of the id, then of the place, then of the agent.
func (q *MessageQuery) chosen() (query string, args []any) {
	w := &conditions{}
	from, seq := selectMessage, "m.id"
	agent := strings.ToLower(q.Agent)
	switch {
	case q.ID != "":
		w.only("m.message_id = ?", nameOf(q.ID))
	case q.PlaceID != "":
		w.only("m.place_id = ?", q.PlaceID)
	case agent != "":
		from, seq = selectMessage+" JOIN discord_verdicts w ON w.message = m.id", "w.message"
		w.only("w.agent = ?", agent)
		if q.Mode == route.Handler {
			w.only("w.mode = 'handler'")
		} else if q.Mode != "" {
			w.only("w.mode = ?", string(q.Mode))
		}
	}
	if agent != "" && seq == "m.id" {
		condition, values := "EXISTS (SELECT 1 FROM discord_verdicts w WHERE w.message = m.id AND w.agent = ?", []any{agent}
		if q.Mode != "" {
			condition, values = condition+" AND +w.mode = ?", append(values, string(q.Mode))
		}
		w.only(condition+")", values...)
	}
	if q.ID != "" && q.PlaceID != "" {
		w.only("+m.place_id = ?", q.PlaceID)
	}
	w.in("+m.place_id", q.Channel)
	if q.Before > 0 {
		w.only(seq+" < ?", q.Before)
	}
	query = from + w.where() + " ORDER BY " + seq + " DESC"
	if q.Limit > 0 {
		query, w.args = query+" LIMIT ?", append(w.args, q.Limit)
	}
	return query, w.args
}

// Places lists known places, most recently active first.
func Places(ctx context.Context, tx *sql.Tx, q PlaceQuery) (places []Place, err error) {
	query, args := q.sql()
	return projections.ReadAll(projections.Reading(ctx, tx), "list places", query, args, scanPlace)
}

func scanPlace(r eventstore.Row) Place {
	return Place{ID: r.Text(0), GuildID: r.Text(2), ChannelID: r.Text(3), Thread: r.Int(4) != 0, Name: r.Text(5), Kind: r.Text(6),
		AccountID: r.Text(9), LastID: r.Text(10), LastAt: r.Int(11), SuspendedUntil: r.Int(12), SuspendedFor: r.Text(13)}
}

// SuspendedPlaces lists the places that are suspended as of a time in ms since 1970.
func SuspendedPlaces(ctx context.Context, tx *sql.Tx, now int64) ([]Place, error) {
	return projections.ReadAll(projections.Reading(ctx, tx), "list suspended places", selectSuspendedPlaces, []any{now}, scanPlace)
}

// sql builds the query of Places. The threads of an agent are found by the agent alone.
func (q *PlaceQuery) sql() (query string, args []any) {
	w, few := &conditions{}, ""
	switch {
	case q.ID != "":
		w.only("p.place_id = ?", q.ID)
		few = "+"
	case q.Agent != "":
		w.only("p.place_id IN (SELECT a.thread_id FROM discord_participants a WHERE a.agent = ?)", strings.ToLower(q.Agent))
		few = "+"
	}
	if q.ID != "" && q.Agent != "" {
		w.only("EXISTS (SELECT 1 FROM discord_participants a WHERE a.thread_id = p.place_id AND a.agent = ?)", strings.ToLower(q.Agent))
	}
	w.in("+p.place_id", q.Channel)
	if q.Threads {
		w.only(few + "p.thread = 1")
	}
	switch {
	case q.Before > 0 && q.Place != "":
		w.only("("+few+"p.last_at, p.place_id) < (?, ?)", q.Before, q.Place)
	case q.Before > 0:
		w.only(few+"p.last_at < ?", q.Before)
	}
	query = selectPlace + w.where() + " ORDER BY " + few + "p.last_at DESC, p.place_id DESC"
	if q.Limit > 0 {
		query, w.args = query+" LIMIT ?", append(w.args, q.Limit)
	}
	return query, w.args
}

// Participants lists everyone who took part in a thread, in the order of registration.
func Participants(ctx context.Context, tx *sql.Tx, threadID string) (list []Participant, err error) {
	return projections.ReadAll(projections.Reading(ctx, tx), "list participants of a thread", selectParticipants, []any{threadID}, func(r eventstore.Row) Participant {
		return Participant{ThreadID: r.Text(0), AgentID: r.Text(1), BotUserID: r.Text(2), Reason: r.Text(3), Since: r.Int(4), Left: r.Int(5),
			LastAt: r.Int(6)}
	})
}

// ObservedRecords lists what agents have observed, newest first, without redacted messages.
func ObservedRecords(ctx context.Context, tx *sql.Tx, q ObservedQuery) (list []Observed, err error) {
	query, args := q.sql()
	err = projections.Reading(ctx, tx).Query(query, args, func(r eventstore.Row) error {
		if d, ok := observedIn(r.Text(2), int(r.Int(3)), r.Blob(4)); ok {
			list = append(list, Observed{AgentID: r.Text(0), Record: route.RecordOf(&d, r.Int(1))})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list observed messages: %w", err)
	}
	return list, nil
}

// sql builds the query of ObservedRecords.
func (q *ObservedQuery) sql() (query string, args []any) {
	w, few := &conditions{}, ""
	if q.PlaceID != "" {
		w.only("o.place_id = ?", q.PlaceID)
		few = "+"
	}
	if q.Agent != "" {
		w.only("o.agent = ?", strings.ToLower(q.Agent))
	}
	w.in("+o.place_id", q.Channel)
	if q.Since > 0 {
		w.only("o.at >= ?", q.Since)
	}
	query = selectObserved + w.where() + " ORDER BY " + few + "o.seq DESC, " + few + "o.agent"
	if q.Limit > 0 {
		query, w.args = query+" LIMIT ?", append(w.args, q.Limit)
	}
	return query, w.args
}

// Posts lists the messages posted by openclawd, newest first.
func Posts(ctx context.Context, tx *sql.Tx, q PostQuery) (posts []Post, err error) {
	query, args := q.sql()
	return projections.ReadAll(projections.Reading(ctx, tx), "list posts", query, args, scanPost)
}

// sql builds the query of Posts. The most selective condition chooses the index.
func (q *PostQuery) sql() (query string, args []any) {
	w, few := &conditions{}, ""
	for _, by := range []struct{ column, value string }{{"p.message_id", q.MessageID}, {"p.effect_id", q.EffectID}, {"p.place_id", q.PlaceID},
		{"p.agent", strings.ToLower(q.Agent)}, {"p.purpose", q.Purpose}} {
		if by.value != "" {
			w.only(few+by.column+" = ?", by.value)
			few = "+"
		}
	}
	w.in("+p.place_id", q.Channel)
	if q.Before > 0 {
		w.only("p.id < ?", q.Before)
	}
	query = selectPost + w.where() + " ORDER BY p.id DESC"
	if q.Limit > 0 {
		query, w.args = query+" LIMIT ?", append(w.args, q.Limit)
	}
	return query, w.args
}

// conditions is a WHERE clause under construction.
type conditions struct {
	list []string
	args []any
}

func (w *conditions) only(condition string, values ...any) {
	w.list, w.args = append(w.list, condition), append(w.args, values...)
}

// in selects the places of a channel; "" is all.
func (w *conditions) in(column, channel string) {
	if channel != "" {
		condition, args := projections.InChannel(column, channel)
		w.only(condition, args...)
	}
}

func (w *conditions) where() string {
	if len(w.list) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.list, " AND ")
}
