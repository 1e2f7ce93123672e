package route

import (
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// History is what agents have observed: of each agent and place the newest records, for every later run there. Apply folds it. A record that several
// agents have observed is kept once.
type History struct {
	limit int
	ttl   time.Duration
	seen  map[view][]*Record // the oldest first
}

// view is what one agent sees of one place.
type view struct{ agent, place string }

// What is kept where nothing is configured, of each agent and place.
const (
	HistoryLimit = 50
	HistoryTTL   = 24 * time.Hour
)

// NewHistory is one in which nobody has observed anything. It keeps limit records of each agent and place, none with limit 0, and none for longer
// than ttl.
func NewHistory(limit int, ttl time.Duration) *History {
	return &History{limit: limit, ttl: ttl, seen: map[view][]*Record{}}
}

// Of is what an agent has observed in a place and is not older than allowed at a time, the oldest first. What was sent after that time is in it.
func (h *History) Of(agent, place string, at int64) (records []Record) {
	for _, r := range h.seen[view{agent, place}] {
		if at-r.At < h.ttl.Milliseconds() {
			records = append(records, *r)
		}
	}
	return records
}

// Len is how many records are kept of an agent and a place, old ones too.
func (h *History) Len(agent, place string) int { return len(h.seen[view{agent, place}]) }

// Apply folds an event. It reports whether the event means anything here. ts is ms since 1970. An event that cannot be read is an error and changes
// nothing; one that is redacted (data nil) means nothing.
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

// Observed adds what agents have observed in the place of the record. What one of them has of the same message already is replaced.
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

// Forget drops what is too old at a time: for a History that is kept in memory for long.
func (h *History) Forget(at int64) {
	for v, records := range h.seen {
		h.keep(v, slices.DeleteFunc(slices.Clone(records), func(r *Record) bool { return at-r.At >= h.ttl.Milliseconds() }))
	}
}
