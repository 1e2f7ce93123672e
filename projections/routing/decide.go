package routing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectEarlier = `SELECT m.author_agent, m.mentioned, v.agent, v.account_id, v.mode, v.reason, v.ord
 FROM discord_messages m LEFT JOIN discord_verdicts v ON v.message = m.id AND v.agent <> '' WHERE m.message_id = ? ORDER BY v.agent`
	selectAttendance = "SELECT p.attendance FROM discord_places p WHERE p.place_id = ? AND p.thread = 1"
	selectBegin      = "SELECT e.recorded_at FROM events e ORDER BY e.seq LIMIT 1"
	selectTalk       = "SELECT p.talk FROM discord_places p WHERE p.place_id = ? AND p.talk <> ''"
	selectPairs      = `SELECT p.pair, p.handled FROM discord_pairs p WHERE p.agent = ?
 UNION ALL SELECT p.pair, p.handled FROM discord_pairs p WHERE p.other = ?`
	selectSeen = `SELECT o.seq, o.at FROM discord_observed o WHERE o.place_id = ? AND o.agent = ? AND o.at > ?
 ORDER BY o.at DESC, o.seq DESC LIMIT ?`
	selectWords    = "SELECT e.seq, e.type, e.ver, e.data FROM json_each(?) j JOIN events e ON e.seq = j.value"
	selectOpened   = "SELECT 1 FROM discord_places p WHERE p.place_id = ? AND p.opened <> 0"
	selectHeard    = "SELECT 1 FROM discord_messages m WHERE m.message_id = ? AND +m.id < ?"
	selectReport   = "SELECT 1 FROM discord_places p WHERE p.place_id = ? AND p.kind = 'report'"
	selectReportOf = `SELECT p.place_id FROM discord_places p WHERE p.report_of <> '' AND p.report_of = ? AND p.channel_id = ?
 ORDER BY p.opened DESC LIMIT 1`
	selectSuspended = "SELECT p.place_id FROM discord_places p WHERE p.suspended_until <> 0 AND p.suspended_until <= ?"
	selectNext      = "SELECT min(p.suspended_until) FROM discord_places p WHERE p.suspended_until <> 0 AND p.suspended_until > ?"
)

// Earlier returns what was decided about a message, nil if nothing was. Its verdicts contain only agent, mode, reason
// and order.
func Earlier(tx eventstore.Tx, messageID string) (*route.Decision, error) {
	var d *route.Decision
	err := tx.Query(selectEarlier, []any{nameOf(messageID)}, func(r eventstore.Row) error {
		if d == nil {
			d = &route.Decision{Author: r.Text(0), Mentioned: projections.ListOf[string](r.Text(1))}
		}
		if !r.Null(2) {
			d.Verdicts = append(d.Verdicts, route.Verdict{Agent: r.Text(2), AccountID: r.Text(3), Mode: route.Mode(r.Text(4)), Reason: route.Reason(r.Text(5)),
				Order: route.Order(r.Text(6))})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load earlier decision about a message: %w", err)
	}
	return d, nil
}

// Attendance returns the participants of a thread, possibly none. It is nil if they are unknown: for a thread that is
// older than the log and has no event in it yet.
func Attendance(tx eventstore.Tx, threadID string) (route.Attendance, error) {
	var p route.Attendance
	err := tx.Query(selectAttendance, []any{threadID}, func(r eventstore.Row) error {
		p = route.Attendance{}
		t, err := scan[route.Thread](r.Text(0))
		if len(t.Agents) > 0 {
			p[threadID] = t
		}
		return err
	})
	if err == nil && p == nil {
		err = tx.Query(selectBegin, nil, func(r eventstore.Row) error {
			if openedAt(threadID) > r.Int(0) { // the log would know of anything that happened in it
				p = route.Attendance{}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("load participants of a thread: %w", err)
	}
	return p, nil
}

// discordEpoch is the epoch of Discord's ids, ms since 1970; idTime is the number of bits below their time.
const (
	discordEpoch = 1420070400000
	idTime       = 22
)

// openedAt returns when a thread was opened, ms since 1970, from its id; 0 for an invalid id.
func openedAt(threadID string) int64 {
	n, err := strconv.ParseUint(threadID, 10, 64)
	if err != nil {
		return 0
	}
	return int64(n>>idTime) + discordEpoch
}

// Guard returns how much bots have talked in a place, and how much the author and each other agent have handled of
// each other's messages. author is the agent that has written the message, "" if none.
func Guard(tx eventstore.Tx, place, author string) (*route.Guard, error) {
	g := &route.Guard{Places: map[string]route.Talk{}, Pairs: map[string]route.Window{}}
	err := tx.Query(selectTalk, []any{place}, func(r eventstore.Row) (err error) {
		g.Places[place], err = scan[route.Talk](r.Text(0))
		return err
	})
	if err == nil && author != "" {
		err = tx.Query(selectPairs, []any{author, author}, func(r eventstore.Row) (err error) {
			g.Pairs[r.Text(0)], err = scan[route.Window](r.Text(1))
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("load bot loop guard: %w", err)
	}
	return g, nil
}

// History returns what these agents have observed in a place: at most limit records each, never more than 50, none
// older than ttl at a time.
func History(tx eventstore.Tx, place string, agents []string, limit int, ttl time.Duration, at int64) (*route.History, error) {
	type seen struct {
		seq, at int64
		agents  []string
	}
	records := map[int64]*seen{}
	for _, agent := range agents {
		err := tx.Query(selectSeen, []any{place, agent, at - ttl.Milliseconds(), max(limit, 0)}, func(r eventstore.Row) error {
			s := records[r.Int(0)]
			if s == nil {
				s = &seen{seq: r.Int(0), at: r.Int(1)}
				records[s.seq] = s
			}
			s.agents = append(s.agents, agent)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("load observed messages: %w", err)
		}
	}
	words, err := wordsOf(tx, slices.Collect(maps.Keys(records)))
	if err != nil {
		return nil, err
	}
	if err := changeWords(tx, words); err != nil {
		return nil, err
	}
	h := route.NewHistory(max(limit, 0), ttl)
	inOrder := func(a, b *seen) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) }
	for _, s := range slices.SortedFunc(maps.Values(records), inOrder) {
		d, known := words[s.seq]
		if !known {
			continue
		}
		r := route.RecordOf(&d, s.at)
		h.Observed(&r, s.agents...)
	}
	return h, nil
}

// wordsOf reads what observers keep of messages, by the seq of the event. Redacted events are missing.
func wordsOf(tx eventstore.Tx, seqs []int64) (map[int64]coordination.DiscordInbound, error) {
	words := make(map[int64]coordination.DiscordInbound, len(seqs))
	if len(seqs) == 0 {
		return words, nil
	}
	err := tx.Query(selectWords, []any{string(encode(seqs))}, func(r eventstore.Row) error {
		if d, known := observedIn(r.Text(1), int(r.Int(2)), r.Blob(3)); known {
			words[r.Int(0)] = d
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load observed messages: %w", err)
	}
	return words, nil
}

// maxAnswers bounds the messages that Answers reads.
const maxAnswers = 100

// Answers returns the messages of an agent in a thread that may answer requests to it, of those decided after a seq:
// the first 100, in order, without their verdicts.
func Answers(tx eventstore.Tx, threadID, agent string, after int64) (list []Message, err error) {
	err = tx.Query(selectAnswers, []any{threadID, after, agent, maxAnswers}, func(r eventstore.Row) error {
		m := scanMessage(r)
		m.CausedBy, m.CollabID = r.Text(len(messageColumns)+1), r.Text(len(messageColumns)+2)
		list = append(list, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load messages of %s in thread %s: %w", agent, threadID, err)
	}
	return list, nil
}

// PostOf returns a message posted by openclawd; found is false for all others.
func PostOf(tx eventstore.Tx, messageID string) (p Post, found bool, err error) {
	return projections.ReadOne(tx, "load a post", selectPostOf, []any{messageID}, scanPost)
}

// HeardBefore reports whether a message was decided about before an event of the log.
func HeardBefore(tx eventstore.Tx, messageID string, seq int64) (heard bool, err error) {
	err = tx.Query(selectHeard, []any{nameOf(messageID), seq}, func(eventstore.Row) error {
		heard = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find when a message was decided about: %w", err)
	}
	return heard, nil
}

// IsOpened reports whether a thread was opened, or taken over, for a delivery according to the log.
func IsOpened(tx eventstore.Tx, threadID string) (opened bool, err error) {
	err = tx.Query(selectOpened, []any{threadID}, func(eventstore.Row) error {
		opened = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find whether a thread was opened: %w", err)
	}
	return opened, nil
}

// IsReport reports whether a thread was opened for reports.
func IsReport(tx eventstore.Tx, threadID string) (report bool, err error) {
	err = tx.Query(selectReport, []any{threadID}, func(eventstore.Row) error {
		report = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("find whether a thread is for reports: %w", err)
	}
	return report, nil
}

// ReportOf returns the latest thread opened for the reports about a conversation in a channel; "" if there is none, or
// it no longer exists.
func ReportOf(tx eventstore.Tx, conversationID, channelID string) (threadID string, err error) {
	err = tx.Query(selectReportOf, []any{conversationID, channelID}, func(r eventstore.Row) error {
		threadID = r.Text(0)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("find report thread: %w", err)
	}
	return threadID, nil
}

// Suspended returns the places whose suspension has expired at a time without an event that records it, and the time
// of the next expiry; 0 if there is none.
func Suspended(tx eventstore.Tx, at int64) (places []string, next int64, err error) {
	err = tx.Query(selectSuspended, []any{at}, func(r eventstore.Row) error {
		places = append(places, r.Text(0))
		return nil
	})
	if err == nil {
		err = tx.Query(selectNext, []any{at}, func(r eventstore.Row) error {
			next = r.Int(0)
			return nil
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("load suspended places: %w", err)
	}
	slices.Sort(places)
	return places, next, nil
}
