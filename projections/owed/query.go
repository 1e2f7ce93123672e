package owed

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/responses"
)

const (
	// A flow that carries an open handoff is shown as that.
	selectFlows = `SELECT j.id, j.created_at, j.due_at FROM a2a_jobs j WHERE j.over_seq = 0
  AND NOT EXISTS (SELECT 1 FROM a2a_open_handoffs o CROSS JOIN a2a_handoffs h ON h.seq = o.seq
    WHERE o.from_agent = j.from_agent AND o.to_agent = j.to_agent AND o.seq > 0 AND h.job = j.name)`
	selectHandoffs = `SELECT h.seq, h.at, CASE j.over_seq WHEN 0 THEN j.due_at ELSE 0 END FROM a2a_handoffs h CROSS JOIN a2a_jobs j ON j.name = h.job
  WHERE h.state = 'open'`
	selectRequests = `SELECT c.id, c.accepted_at, c.status, c.request ->> '$.step' FROM collaborations c WHERE c.status <> '' AND c.status IN ('pending', 'escalated')`
	selectSending  = `SELECT c.id, c.accepted_at, c.status, c.request ->> '$.step' FROM collaborations c WHERE c.delivery = 'accepted' AND +c.status = ''`

	endedFlows    = "SELECT j.id, j.over_seq FROM a2a_jobs j WHERE j.over_seq > 0"
	endedHandoffs = "SELECT h.seq, h.ended_seq FROM a2a_handoffs h WHERE h.ended_seq > 0"
	endedRequests = `SELECT c.id, c.last_seq FROM collaborations c
  WHERE +c.status NOT IN ('pending', 'escalated') AND NOT (+c.delivery = 'accepted' AND +c.status = '')`

	selectSent = `SELECT j.id, e.ts FROM json_each(?) v CROSS JOIN a2a_jobs j ON j.id = v.value CROSS JOIN events e ON e.seq = j.sent_seq WHERE j.sent_seq > 0`
)

// Query selects items.
type Query struct {
	Now      int64  // ms since 1970
	From, To string // agents, lower case; "" is any
	Kinds    []Kind // none is all
	Ended    bool   // those that are over instead, those that ended last first
	Limit    int

	Reminders func(place string) response.Policy // nil: unknown
}

func (q *Query) wants(k Kind) bool { return len(q.Kinds) == 0 || slices.Contains(q.Kinds, k) }

// List is what Read found.
type List struct {
	Items   []Item // overdue first, then the oldest; ended ones as Query.Ended says
	Total   int    // of open ones: how many there are; else how many are listed
	Overdue int
}

// Read reads items. The cost depends on what is open, or listed; not on the length of the log.
func Read(ctx context.Context, tx *sql.Tx, q Query) (*List, error) {
	r := &reader{ctx, tx, projections.Reading(ctx, tx), &q}
	if q.Ended {
		return r.ended()
	}
	facts, err := r.facts()
	if err != nil {
		return nil, err
	}
	places, overdue := Decide(facts, q.Now, q.Limit)
	items, err := r.load(places)
	return &List{items, len(facts), overdue}, err
}

type reader struct {
	ctx     context.Context
	tx      *sql.Tx
	reading eventstore.Tx
	*Query
}

// between adds the agents to a query.
func (r *reader) between(query, from, to string) (filtered string, args []any) {
	for _, c := range [][2]string{{from, r.From}, {to, r.To}} {
		if c[1] != "" {
			query, args = query+" AND +"+c[0]+" = ?", append(args, c[1])
		}
	}
	return query, args
}

func (r *reader) facts() (facts []Fact, err error) {
	for _, part := range []struct {
		kind            Kind
		query, from, to string
		scan            func(row eventstore.Row) Fact
	}{
		{Flow, selectFlows, "j.from_agent", "j.to_agent", flowFact},
		{Handoff, selectHandoffs, "h.from_agent", "h.to_agent", flowFact},
		{Request, selectRequests, "c.from_agent", "c.target_agent", requestFact},
		{Request, selectSending, "c.from_agent", "c.target_agent", requestFact},
	} {
		if !r.wants(part.kind) {
			continue
		}
		query, args := r.between(part.query, part.from, part.to)
		found, err := projections.ReadAll(r.reading, "find open "+string(part.kind)+"s", query, args, part.scan)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].Kind = part.kind
		}
		facts = append(facts, found...)
	}
	return facts, nil
}

func flowFact(row eventstore.Row) Fact {
	return Fact{Seq: row.Int(0), Since: row.Int(1), DueAt: row.Int(2)}
}

func requestFact(row eventstore.Row) Fact {
	return Fact{Seq: row.Int(0), Since: row.Int(1), Status: response.Status(row.Text(2)), Step: int(row.Int(3))}
}

// ended lists what is over, in the opposite order of the events that ended it.
func (r *reader) ended() (*List, error) {
	type over struct {
		Place
		by int64 // seq of that event
	}
	var all []over
	for _, part := range []struct {
		kind                   Kind
		query, from, to, order string
	}{
		{Flow, endedFlows, "j.from_agent", "j.to_agent", "j.over_seq"},
		{Handoff, endedHandoffs, "h.from_agent", "h.to_agent", "h.ended_seq"},
		{Request, endedRequests, "c.from_agent", "c.target_agent", "c.last_seq"},
	} {
		if !r.wants(part.kind) {
			continue
		}
		query, args := r.between(part.query, part.from, part.to)
		query, args = query+" ORDER BY "+part.order+" DESC LIMIT ?", append(args, r.Limit)
		found, err := projections.ReadAll(r.reading, "find ended "+string(part.kind)+"s", query, args, func(row eventstore.Row) over {
			return over{Place{Kind: part.kind, Seq: row.Int(0)}, row.Int(1)}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b over) int {
		return cmp.Or(-cmp.Compare(a.by, b.by), cmp.Compare(a.Kind, b.Kind), -cmp.Compare(a.Seq, b.Seq))
	})
	places := make([]Place, 0, min(len(all), r.Limit))
	for i := range all[:min(len(all), r.Limit)] {
		places = append(places, all[i].Place)
	}
	items, err := r.load(places)
	return &List{Items: items, Total: len(items)}, err
}

// load reads the items at places, in their order.
func (r *reader) load(places []Place) ([]Item, error) {
	items := make(map[Place]Item, len(places))
	seqs := map[Kind][]int64{}
	for _, p := range places {
		seqs[p.Kind] = append(seqs[p.Kind], p.Seq)
	}
	if err := r.flows(seqs[Flow], items); err != nil {
		return nil, err
	}
	if err := r.handoffs(seqs[Handoff], items); err != nil {
		return nil, err
	}
	requests, err := responses.BySeqs(r.ctx, r.tx, seqs[Request])
	if err != nil {
		return nil, err
	}
	for i := range requests {
		items[Place{Kind: Request, Seq: requests[i].Seq}] = ofRequest(&requests[i], r.Reminders)
	}
	list := make([]Item, 0, len(places))
	for _, p := range places {
		if item, found := items[Place{Kind: p.Kind, Seq: p.Seq}]; found {
			item.Overdue = p.Overdue
			item.From, item.To = strings.ToLower(item.From), strings.ToLower(item.To)
			list = append(list, item)
		}
	}
	return list, nil
}

func (r *reader) flows(seqs []int64, into map[Place]Item) error {
	rows, err := flows.BySeqs(r.ctx, r.tx, seqs)
	if err != nil || len(rows) == 0 {
		return err
	}
	list, err := json.Marshal(seqs)
	if err != nil {
		return fmt.Errorf("encode seqs: %w", err)
	}
	sent := map[int64]int64{}
	err = r.reading.Query(selectSent, []any{string(list)}, func(row eventstore.Row) error {
		sent[row.Int(0)] = row.Int(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("find deliveries of flows: %w", err)
	}
	for i := range rows {
		into[Place{Kind: Flow, Seq: rows[i].Seq}] = ofFlow(&rows[i], sent[rows[i].Seq])
	}
	return nil
}

func (r *reader) handoffs(seqs []int64, into map[Place]Item) error {
	list, err := flows.HandoffsBySeqs(r.ctx, r.tx, seqs)
	for i := range list {
		h := &list[i]
		of, _, err := flows.ByID(r.ctx, r.tx, h.JobID)
		if err != nil {
			return err
		}
		into[Place{Kind: Handoff, Seq: h.Seq}] = ofHandoff(h, &of)
	}
	return err
}
