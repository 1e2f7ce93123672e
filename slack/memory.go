package slack

import (
	"cmp"
	"slices"
)

// memory is what an account has received. It outlives the connection, so that another token continues with it.
type memory struct {
	marks  map[string]int64 // by conversation and thread: the newest message, in microseconds
	newest int64            // of all messages
	oldest int64            // the oldest mark of the last run; 0 if there is none
	dated  bool             // oldest is not before the app was added

	seen  map[fact]bool
	order []fact // of seen, oldest first
}

// fact identifies a delivered fact.
type fact struct {
	message string // id
	edited  int64  // microseconds since 1970; 0: created, -1: deleted
}

// Limits of a memory.
const (
	maxMarks = 2000 // conversations and threads, those with the newest messages
	maxSeen  = 8192 // facts
)

func newMemory() *memory { return &memory{marks: map[string]int64{}, seen: map[fact]bool{}} }

// recordDelivered records a delivered fact.
func (m *memory) recordDelivered(f fact) {
	if m.seen[f] {
		return
	}
	if len(m.order) >= maxSeen {
		delete(m.seen, m.order[0])
		m.order = m.order[1:]
	}
	m.seen[f] = true
	m.order = append(m.order, f)
}

// recordMessage records a message in a conversation or thread.
func (m *memory) recordMessage(place string, micros int64) {
	if micros == 0 {
		return
	}
	m.newest = max(m.newest, micros)
	if m.marks[place] < micros {
		m.marks[place] = micros
	}
	if len(m.marks) > maxMarks {
		m.halve()
	}
}

// halve drops the marks of the longest silent places.
func (m *memory) halve() {
	var all []int64
	for _, at := range m.marks {
		all = append(all, at)
	}
	slices.SortFunc(all, cmp.Compare)
	for place, at := range m.marks {
		if at < all[len(all)/2] {
			delete(m.marks, place)
		}
	}
}

// missed is a conversation in which messages may be missing, or a thread of one that is not read itself.
type missed struct {
	place   place
	after   int64            // microseconds: the last message that was received
	brief   bool             // it was received not long before
	threads map[string]int64 // likewise, of the conversation's threads, by the timestamp of the first message
}

// gaps are the places to read after a disconnection, those with the newest messages first. In conversations without a
// mark messages are missing since the newest of all: what was before was received, or never to be. A conversation with one
// person concerns this app alone, but the marks of the last run are those of all apps: if it has none, no message of it was
// received while the log has marks, so it is read since the oldest of these.
func (m *memory) gaps(member []string, isDirect func(chat string) bool) (all []missed, beyond int) {
	if m.newest == 0 {
		return nil, 0
	}
	var threads []missed
	known := map[string]bool{}
	for id, after := range m.marks {
		p, ok := parsePlace(id)
		switch {
		case !ok:
		case p.thread == "":
			known[id] = true
			all = append(all, missed{place: p, after: after})
		case m.newest-after < threadMemory.Microseconds():
			threads = append(threads, missed{place: p, after: after})
		}
	}
	for _, chat := range member {
		if p := (place{chat: chat}); !known[p.id()] {
			after := m.newest
			if m.oldest > 0 && isDirect(chat) {
				after = m.oldest
			}
			all = append(all, missed{place: p, after: after})
		}
	}
	all, lost := newestOf(all, maxMissedChannels)
	threads, forgotten := newestOf(threads, maxMissedThreads)
	for _, t := range threads {
		i := slices.IndexFunc(all, func(c missed) bool { return c.place == place{chat: t.place.chat} })
		if i < 0 {
			all = append(all, t)
			continue
		}
		if all[i].threads == nil {
			all[i].threads = map[string]int64{}
		}
		all[i].threads[t.place.thread] = t.after
	}
	return all, lost + forgotten
}

// newestOf returns at most so many places, those with the newest messages first, and how many others there are.
func newestOf(all []missed, most int) (some []missed, beyond int) {
	slices.SortFunc(all, func(x, y missed) int {
		return cmp.Or(cmp.Compare(y.after, x.after), cmp.Compare(x.place.id(), y.place.id()))
	})
	return all[:min(most, len(all))], max(0, len(all)-most)
}
