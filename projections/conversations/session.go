package conversations

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// session is one row of work_sessions: what changes with its events.
type session struct {
	id             int64
	name           string
	base           float64
	start, last    float64
	latestSeq      int64
	latestTerminal bool
	messageTime    float64
	messageSeq     int64
	events         int64
	byRole         [4]int64 // in the order of coordination.Roles
	threads        int64
	openThreads    int64
	openTasks      int64
	blockedTasks   int64
	byOutcome      [5]int64 // in the order of outcomes
	tally          tally
	kinds          []kindCount

	chosen  coordination.Category // by an operator; "" if none
	settled bool                  // chosen is loaded

	listed *contribution // its contribution in the listing tables; nil if it is unchanged since they were written
}

// kindCount counts the events of one kind within a session. Times are relative to the session's base.
type kindCount struct {
	kind        int64
	n           int64
	first, last float64
}

// outcomes in the order of the counts.
var outcomes = [5]coordination.Outcome{coordination.OutcomeWaiting, coordination.OutcomeActive, coordination.OutcomeBlocked,
	coordination.OutcomeNoReply, coordination.OutcomeDone}

var roles = coordination.Roles()

func newSession(e *projections.Event) session {
	at := e.Record.Time
	return session{id: e.Seq, name: e.Record.WorkSessionID, base: at, start: at}
}

// category is the operator's choice, otherwise that of the vote.
func (s *session) category() coordination.Category { return cmp.Or(s.chosen, s.tally.winner()) }

// isNew reports that the session has counted no event yet, so that no other table mentions it.
func (s *session) isNew() bool { return s.events == 0 }

// count adds the event to the session's counts.
func (s *session) count(e *projections.Event, kind int64) {
	s.start = min(s.start, e.Record.Time)
	s.events++
	s.byRole[slices.Index(roles, e.Class.Role)]++
	// The difference of two imported times may exceed the range of JSON numbers.
	at := min(max(e.Record.Time-s.base, -math.MaxFloat64), math.MaxFloat64)
	i := slices.IndexFunc(s.kinds, func(k kindCount) bool { return k.kind == kind })
	if i < 0 {
		s.kinds = append(s.kinds, kindCount{kind: kind, n: 1, first: at, last: at})
		return
	}
	k := &s.kinds[i]
	k.n++
	k.first, k.last = min(k.first, at), max(k.last, at)
}

// judge records whether the latest event by time (ties: the later one) ends the exchange, and which event was the
// latest with content.
func (s *session) judge(rules coordination.Rules, e *projections.Event) {
	r := &e.Record
	if !newer(s.last, s.latestSeq, r.Time, e.Seq) {
		s.last, s.latestSeq = r.Time, e.Seq
		if !coordination.Aside(r) {
			s.latestTerminal = coordination.Terminal(rules, r)
		}
	}
	if !newer(s.messageTime, s.messageSeq, r.Time, e.Seq) && coordination.Said(r) != "" {
		s.messageTime, s.messageSeq = r.Time, e.Seq
	}
}

func (s *session) countTask(state string, by int64) {
	switch state {
	case coordination.StateInProgress:
		s.openTasks += by
	case coordination.StateBlocked:
		s.blockedTasks += by
	}
}

func (s *session) countOutcome(o coordination.Outcome, by int64) {
	if i := slices.Index(outcomes[:], o); i >= 0 {
		s.byOutcome[i] += by
	}
}

// signature lists the kinds of events in the session.
func (s *session) signature() string {
	ids := make([]int64, len(s.kinds))
	for i := range s.kinds {
		ids[i] = s.kinds[i].kind
	}
	slices.Sort(ids)
	var b []byte
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(b)
}

func newSessions(table string) *projections.Table[string, session] {
	return projections.NewTable(projections.Columns[string, session]{
		Table: table, Key: 1, Fixed: 3, Keep: 4_000,
		Names: []string{"id", "name", "base_time", "start_time", "last_time", "latest_seq", "latest_terminal", "message_time", "message_seq",
			"event_count", "conversation_n", "delegation_n", "orchestration_n", "observability_n", "thread_count", "open_threads",
			"open_tasks", "blocked_tasks", "waiting_n", "active_n", "blocked_n", "no_reply_n", "done_n", "category", "votes", "kinds"},
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: scanSession, Args: sessionArgs,
	})
}

func scanSession(r eventstore.Row, s *session) (err error) {
	*s = session{
		id: r.Int(0), name: r.Text(1), base: r.Float(2), start: r.Float(3), last: r.Float(4), latestSeq: r.Int(5),
		latestTerminal: r.Int(6) != 0, messageTime: r.Float(7), messageSeq: r.Int(8), events: r.Int(9),
		byRole: [4]int64{r.Int(10), r.Int(11), r.Int(12), r.Int(13)}, threads: r.Int(14), openThreads: r.Int(15),
		openTasks: r.Int(16), blockedTasks: r.Int(17),
		byOutcome: [5]int64{r.Int(18), r.Int(19), r.Int(20), r.Int(21), r.Int(22)},
	}
	if s.tally, err = parseTally(r.Text(24)); err != nil {
		return fmt.Errorf("votes of session %d: %w", s.id, err)
	}
	if s.kinds, err = parseKinds(r.Text(25)); err != nil {
		return fmt.Errorf("kinds of session %d: %w", s.id, err)
	}
	return nil
}

func sessionArgs(args []any, s *session) []any {
	return append(args, s.id, s.name, s.base, s.start, s.last, s.latestSeq, s.latestTerminal, s.messageTime, s.messageSeq, s.events,
		s.byRole[0], s.byRole[1], s.byRole[2], s.byRole[3], s.threads, s.openThreads, s.openTasks, s.blockedTasks, s.byOutcome[0],
		s.byOutcome[1], s.byOutcome[2], s.byOutcome[3], s.byOutcome[4], string(s.category()), s.tally.format(), formatKinds(s.kinds))
}

// formatKinds writes [[kind, events, first time, last time], ...].
func formatKinds(kinds []kindCount) string {
	b := append(make([]byte, 0, 24*len(kinds)+2), '[')
	for i, k := range kinds {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, k.kind, 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, k.n, 10)
		b = append(b, ',')
		b = strconv.AppendFloat(b, k.first, 'f', -1, 64)
		b = append(b, ',')
		b = strconv.AppendFloat(b, k.last, 'f', -1, 64)
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

// parseKinds parses the result of formatKinds. It is hand-written because it runs for every session that a list reads.
func parseKinds(text string) ([]kindCount, error) {
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%.60q is not a list of kinds", text)
	}
	kinds := make([]kindCount, 0, strings.Count(inner, "["))
	for inner != "" {
		row, rest, ended := strings.Cut(strings.TrimPrefix(inner, "["), "]")
		var fields [4]float64
		for i := range fields {
			field, others, _ := strings.Cut(row, ",")
			n, err := strconv.ParseFloat(field, 64)
			if err != nil || !ended {
				return nil, fmt.Errorf("%.60q is not a list of kinds", text)
			}
			fields[i], row = n, others
		}
		kinds = append(kinds, kindCount{kind: int64(fields[0]), n: int64(fields[1]), first: fields[2], last: fields[3]})
		inner = strings.TrimPrefix(rest, ",")
	}
	return kinds, nil
}
