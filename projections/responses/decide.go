package responses

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Bounds of what a decision reads.
const (
	maxPair   = 1000 // requests between two agents
	maxSame   = 1000 // requests of one agent
	maxKept   = 200  // threads of one direction
	maxThread = 200  // finished requests of one thread
)

// window is how far back requests between two agents are counted.
const window = time.Hour

var (
	selectRequest = "SELECT c." + strings.Join(requestColumns, ", c.") + " FROM collaborations c"
	selectByName  = selectRequest + " WHERE c.name = ?"
	selectSame    = selectRequest + " WHERE c.from_agent = ? AND c.asked_seq > 0 AND c.asked_at > ? ORDER BY c.asked_at DESC, c.asked_seq DESC LIMIT ?"
	selectPair    = "SELECT c.accepted_at FROM collaborations c WHERE c.pair <> '' AND c.pair = ? AND c.accepted_at > ? ORDER BY c.accepted_at DESC LIMIT ?"
	selectKept    = "SELECT t." + strings.Join(threadColumns, ", t.") +
		" FROM collaboration_threads t WHERE t.direction = ? AND t.last_used_at > ? ORDER BY t.last_used_at DESC LIMIT ?"
	selectWaits   = "SELECT 1 FROM collaborations c WHERE c.thread_id = ? AND c.target_agent = ? AND c.status IN ('pending', 'escalated') LIMIT 1"
	selectPending = selectRequest + " WHERE c.thread_id = ? AND c.status = 'pending' ORDER BY c.sent_at, c.sent_seq"
	selectOver    = selectRequest + ` WHERE c.thread_id = ? AND c.sent_seq > 0 AND c.status NOT IN ('', 'pending')
 ORDER BY c.sent_at DESC, c.sent_seq DESC LIMIT ?`
	selectLast = selectRequest + " WHERE c.thread_id = ? AND c.sent_seq > 0 ORDER BY c.sent_at DESC, c.sent_seq DESC LIMIT 1"
)

// Between returns what a decision about a request from one agent to another depends on at a time: what the sender has
// asked anyone within the last collaborate.SameRequest (its idempotency keys must not be reused for another target),
// how often the two have asked each other in the last hour, in both directions, and the threads kept for this
// direction, most recently used first.
func Between(tx eventstore.Tx, from, target string, at int64) (collaborate.State, error) {
	s := collaborate.State{Requests: map[string]collaborate.Earlier{}, Pairs: map[string][]int64{}, Threads: map[string]collaborate.Kept{}}
	err := tx.Query(selectSame, []any{strings.ToLower(from), at - collaborate.SameRequest.Milliseconds(), maxSame}, func(r eventstore.Row) error {
		x, err := scanRow(r)
		if err != nil {
			return err
		}
		if _, newer := s.Requests[x.Key]; !newer && x.Key != "" {
			s.Requests[x.Key] = x.earlier
		}
		return nil
	})
	if err != nil {
		return collaborate.State{}, fmt.Errorf("load requests of %s: %w", from, err)
	}
	pair := pairOf(from, target)
	err = tx.Query(selectPair, []any{pair, at - window.Milliseconds(), maxPair}, func(r eventstore.Row) error {
		s.Pairs[pair] = append(s.Pairs[pair], r.Int(0))
		return nil
	})
	if err != nil {
		return collaborate.State{}, fmt.Errorf("count requests between %s and %s: %w", from, target, err)
	}
	slices.Reverse(s.Pairs[pair])
	err = tx.Query(selectKept, []any{from + ":" + target, at - keepThreads.Milliseconds(), maxKept}, func(r eventstore.Row) error {
		k := scanKept(r)
		s.Threads[k.key] = k.Kept
		return nil
	})
	if err != nil {
		return collaborate.State{}, fmt.Errorf("load the threads of %s and %s: %w", from, target, err)
	}
	return s, nil
}

// Repeated returns the newest request of an agent that has the same content as another one and was accepted since a
// time, ms since 1970, in a run for which of is true, and has not failed; "" if there is none.
func Repeated(tx eventstore.Tx, from, content string, since int64, of func(runID string) (bool, error)) (collabID string, err error) {
	var same []row
	err = tx.Query(selectSame, []any{strings.ToLower(from), since - 1, maxSame}, func(r eventstore.Row) error {
		x, err := scanRow(r)
		if err == nil && x.earlier.Content == content && x.Delivery != collaborate.StatusFailed && x.RunID != "" {
			same = append(same, x)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("load requests of %s: %w", from, err)
	}
	for i := range same {
		if is, err := of(same[i].RunID); is || err != nil {
			return same[i].ID, err
		}
	}
	return "", nil
}

// pairOf is the key under which two agents are counted, in both directions.
func pairOf(a, b string) string { return min(a, b) + "::" + max(a, b) }

// Load reads a request, within the transaction that is going to append.
func Load(tx eventstore.Tx, collabID string) (r Row, found bool, err error) {
	return one(tx, selectByName, nameOf(collabID))
}

// LastIn returns the newest request that was sent in a thread, between any agents; found is false if there is none.
func LastIn(tx eventstore.Tx, threadID string) (r Row, found bool, err error) {
	if threadID == "" {
		return Row{}, false, nil
	}
	return one(tx, selectLast, threadID)
}

func one(tx eventstore.Tx, query, arg string) (r Row, found bool, err error) {
	err = tx.Query(query, []any{arg}, func(columns eventstore.Row) error {
		x, err := scanRow(columns)
		r, found = x.announced(), err == nil
		return err
	})
	if err != nil {
		return Row{}, false, fmt.Errorf("load a request: %w", err)
	}
	return r, found, nil
}

// Open returns what a message of an agent in a thread is matched with, see coordination/response.State.Match: nothing
// if no request to it waits there, otherwise the result of Thread.
func Open(tx eventstore.Tx, threadID, target string) (response.State, error) {
	waits := false
	err := tx.Query(selectWaits, []any{threadID, strings.ToLower(target)}, func(eventstore.Row) error {
		waits = true
		return nil
	})
	if err != nil {
		return response.State{}, fmt.Errorf("find requests to %s in thread %s: %w", target, threadID, err)
	}
	if !waits {
		return response.State{}, nil
	}
	return Thread(tx, threadID)
}

// Thread returns all open requests of a thread, and its newest 200 finished ones, to any agent: a message that answers
// one of them, or is one of them, answers no other one.
func Thread(tx eventstore.Tx, threadID string) (response.State, error) {
	var rows []row
	add := func(r eventstore.Row) error {
		x, err := scanRow(r)
		rows = append(rows, x)
		return err
	}
	if err := tx.Query(selectPending, []any{threadID}, add); err != nil {
		return response.State{}, fmt.Errorf("load open requests in thread %s: %w", threadID, err)
	}
	if err := tx.Query(selectOver, []any{threadID, maxThread}, add); err != nil {
		return response.State{}, fmt.Errorf("load finished requests in thread %s: %w", threadID, err)
	}
	slices.SortFunc(rows, sentBefore)
	var s response.State
	for i := range rows {
		s.Requests = append(s.Requests, rows[i].Request)
	}
	return s, nil
}
