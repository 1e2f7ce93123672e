package sqlite

import "slices"

// urgentTurns is how many urgent requests in a row go before another one that waits.
const urgentTurns = 4

// queue holds the requests that wait for the writer: the urgent ones, and the others, each in the order in which they
// came. Neither keeps the others waiting for good.
type queue struct {
	urgent, others []*request
	turns          int // urgent requests since the last one of the others, while those wait
	events         int
	bytes          int64
}

func (q *queue) len() int { return len(q.urgent) + len(q.others) }

func (q *queue) add(r *request) {
	if r.urgent {
		q.urgent = append(q.urgent, r)
	} else {
		q.others = append(q.others, r)
	}
	q.events += r.events
	q.bytes += r.bytes
}

// hasRoom reports whether a request may wait too. The first one may, however large it is.
func (q *queue) hasRoom(r *request) bool {
	return q.len() == 0 || q.events+r.events <= queueEvents && q.bytes+r.bytes <= queueBytes
}

// first is the request that comes next, nil if none waits.
func (q *queue) first() *request {
	switch {
	case len(q.urgent) > 0 && (len(q.others) == 0 || q.turns < urgentTurns):
		return q.urgent[0]
	case len(q.others) > 0:
		return q.others[0]
	}
	return nil
}

// take removes the first request.
func (q *queue) take() {
	r, from := q.first(), &q.others
	if r.urgent {
		from = &q.urgent
		q.turns++
	}
	if !r.urgent || len(q.others) == 0 {
		q.turns = 0
	}
	*from = slices.Delete(*from, 0, 1)
	q.events -= r.events
	q.bytes -= r.bytes
}
