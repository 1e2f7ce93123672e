package route

import (
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// History keeps the newest observed records of each agent and place for later runs. Apply folds it. Agents share equal records.
type History struct {
	limit int
	ttl   time.Duration
	seen  map[view][]*Record // oldest first
}

// view identifies the records of one agent in one place.
type view struct{ agent, place string }

// Defaults, for each agent and place.
const (
	HistoryLimit = 50
	HistoryTTL   = 24 * time.Hour
)

// NewHistory returns an empty History that keeps limit records (0: none) of each agent and place, up to the age ttl.
func NewHistory(limit int, ttl time.Duration) *History {
	return &History{limit: limit, ttl: ttl, seen: map[view][]*Record{}}
}

// Of returns an agent's records of a place not older than the ttl at a time, oldest first. Records after that time are included.
func (h *History) Of(agent, place string, at int64) (records []Record) {
	for _, r := range h.seen[view{agent, place}] {
		if at-r.At < h.ttl.Milliseconds() {
			records = append(records, *r)
		}
	}
	return records
}

// Len counts the records of an agent and a place, including old ones.
func (h *History) Len(agent, place string) int { return len(h.seen[view{agent, place}]) }

// Apply folds an event and reports whether its type has a meaning here. ts is ms since 1970. An event that cannot be read is an error
// and changes nothing; redacted data (nil) means nothing.
func (h *History) Apply(typ, agent string, data []byte, ts int64) (bool, error) {
	if typ != coordination.TypeDiscordInboundObserved {
		return false, nil
	}
	d, err := read[coordination.DiscordInbound](typ, data)
	if err != nil || d.MessageID == "" {
		return false, err
	}
	agents := d.Agents
	if len(agents) == 0 && agent != "" {
		agents = []string{agent}
	}
	r := RecordOf(&d, ts)
	h.Observed(&r, agents...)
	return len(agents) > 0, nil
}

// Observed adds a record for agents in its place. It replaces an earlier one of the same message.
func (h *History) Observed(r *Record, agents ...string) {
	for _, agent := range agents {
		v := view{agent, r.Place()}
		records := slices.DeleteFunc(slices.Clone(h.seen[v]), func(have *Record) bool {
			return have.MessageID == r.MessageID || r.At-have.At >= h.ttl.Milliseconds()
		})
		i, _ := slices.BinarySearchFunc(records, r.At, func(have *Record, at int64) int {
			if have.At <= at {
				return -1
			}
			return 1
		})
		records = slices.Insert(records, i, r)
		h.keep(v, records[max(0, len(records)-h.limit):])
	}
}

func (h *History) keep(v view, records []*Record) {
	if len(records) == 0 {
		delete(h.seen, v)
		return
	}
	h.seen[v] = records
}

// Forget drops records too old at a time.
func (h *History) Forget(at int64) {
	for v, records := range h.seen {
		h.keep(v, slices.DeleteFunc(slices.Clone(records), func(r *Record) bool { return at-r.At >= h.ttl.Milliseconds() }))
	}
}
