package inbound

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Limits of a run's context besides the message.
const (
	maxObserved     = 50    // records
	maxObservedText = 8_000 // characters in total
)

// text is the prompt for a message: author and place, and the text with names instead of ids. Its files are named when the run starts.
func (h *intake) text() string {
	m := &h.in.Message
	var b strings.Builder
	if m.GuildID == "" {
		fmt.Fprintf(&b, "[%s] ", oneLine(h.author()))
	} else {
		fmt.Fprintf(&b, "[%s in #%s] ", oneLine(h.author()), oneLine(h.placeName()))
	}
	b.WriteString(h.o.Bots.Resolve(h.words()))
	return b.String()
}

// words is the message's text, or for the first of several messages of a post the whole text.
func (h *intake) words() string {
	if len(h.said) < 2 {
		return h.in.Message.Content
	}
	return strings.Join(h.said, "\n")
}

func (h *intake) author() string {
	for i := range h.bots {
		if b := &h.bots[i]; b.UserID == h.message.Author.ID && b.Agent != "" {
			return cmp.Or(b.Name, b.Agent)
		}
	}
	return cmp.Or(h.message.Author.Name, h.message.Author.ID)
}

func (h *intake) placeName() string {
	place := h.message.Place()
	return cmp.Or(h.o.Bots.ChannelName(place), h.message.ThreadName, place)
}

// Remembered is the context for a run in an agent's session of a channel or thread: the messages it has observed
// there, within the configured count and age. It is "" if there are none.
func (m *Service) Remembered(tx eventstore.Tx, key coordination.SessionKey, now time.Time) (string, error) {
	place := key.Place()
	if key.Channel != m.o.Channel || place == "" || key.Channel == coordination.Discord && key != coordination.ChannelKey(key.Agent, key.Channel, place) {
		return "", nil
	}
	keep := &m.o.Config().Channel(m.o.Channel).Collaboration
	at := now.UnixMilli()
	seen, err := routing.History(tx, place, []string{key.Agent}, min(keep.ObserverHistoryLimit, maxObserved), keep.ObserverHistoryTTL, at)
	if err != nil {
		return "", err
	}
	return remembered(seen.Of(key.Agent, place, at)), nil
}

// remembered formats records.
func remembered(records []route.Record) string {
	records = fitting(records)
	if len(records) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Messages here that you have seen and not answered, oldest first, abbreviated:")
	for i := range records {
		b.WriteString("\n" + observed(&records[i]))
	}
	return b.String()
}

func fitting(records []route.Record) []route.Record {
	left := maxObservedText
	first := len(records)
	for first > 0 && len(records)-first < maxObserved {
		if left -= utf8.RuneCountInString(observed(&records[first-1])) + 1; left < 0 {
			break
		}
		first--
	}
	return records[first:]
}

// observed is a record in one line.
func observed(r *route.Record) string {
	line := fmt.Sprintf("- %s %s: %s", time.UnixMilli(r.At).UTC().Format("2006-01-02 15:04Z"), oneLine(r.Sender), r.Summary)
	var tokens []string
	tokens = append(tokens, r.Tokens.URLs...)
	for _, n := range r.Tokens.PRs {
		tokens = append(tokens, "#"+strconv.Itoa(n))
	}
	if tokens = append(tokens, r.Tokens.CodeRefs...); len(tokens) > 0 {
		line += " (" + strings.Join(tokens, ", ") + ")"
	}
	return line
}

const maxNamed = 100

func oneLine(s string) string {
	return coordination.Head(strings.Join(strings.Fields(s), " "), maxNamed)
}
