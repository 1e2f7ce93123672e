package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/projections/index"
)

// mention is the markup for a user, in Discord also a role or a channel.
var mention = regexp.MustCompile(`<(?:@[!&]?|#)[0-9]{1,25}>|<@[UW][0-9A-Z]{7,24}>`)

// Wording replaces mentions by names: those the bots know, else those of the configuration, else the id's last four
// characters. It also knows where messages are in the web.
type Wording struct {
	names  func(text string) string // nil: no bots run
	roster *coordination.Roster
	bots   func() []health.Bot // nil: none run
}

// WordingOf returns the wording for the last applied configuration.
func WordingOf(ctx context.Context, tx *sql.Tx, names func(text string) string) (*Wording, error) {
	roster, err := index.Roster(ctx, tx)
	return &Wording{names: names, roster: roster}, err
}

func (v *view) wording() *Wording {
	w := &Wording{roster: v.roster}
	if v.Names != nil {
		w.names = func(text string) string {
			v.askedBeyond()
			return v.Names(text)
		}
	}
	if v.Bots != nil {
		w.bots = func() []health.Bot {
			v.askedBeyond()
			return v.Bots()
		}
	}
	return w
}

// link is the address of a message in its channel, or with message "" of its place; "" if there is none.
func (w *Wording) link(guild, place, message string) string {
	var sites []coordination.Site
	if w.bots != nil && coordination.ChannelOf(place) == coordination.Slack {
		for _, b := range w.bots() {
			if b.Site != "" {
				sites = append(sites, coordination.Site{GuildID: b.GuildID, URL: b.Site})
			}
		}
	}
	return coordination.Link(guild, place, message, sites)
}

// Text replaces the mentions in a text.
func (w *Wording) Text(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return mention.ReplaceAllStringFunc(text, w.name)
}

func (w *Wording) name(mention string) string {
	return coordination.Clean(w.live(mention), w.roster).Text
}

// live replaces the mentions known to the bots; others stay.
func (w *Wording) live(text string) string {
	if w.names == nil || !strings.Contains(text, "<") {
		return text
	}
	return w.names(text)
}

// channel is a channel's name as the bots know it, "" if unknown.
func (w *Wording) channel(id string) string {
	written := "<#" + id + ">"
	if name := w.live(written); id != "" && name != written {
		return strings.TrimPrefix(name, "#")
	}
	return ""
}

func (w *Wording) agent(id string) string { return w.roster.Name(id) }

// json replaces mentions in all strings of a JSON text. Mentions appear there literally: our encoder does not escape
// their characters.
func (w *Wording) json(text []byte) []byte {
	return mention.ReplaceAllFunc(text, func(found []byte) []byte {
		quoted := appendString(nil, w.name(string(found)))
		return quoted[1 : len(quoted)-1]
	})
}

// spoken returns a record's texts with the names known to the bots. Names from the configuration are added when it is
// rendered.
func (w *Wording) spoken(r *coordination.Record) {
	if w.names == nil {
		return
	}
	for _, text := range []*string{&r.Message, &r.ReplyPreview, &r.Label, &r.Description, &r.Summary, &r.Reason, &r.Title, &r.Error,
		&r.WaitError} {
		*text = w.live(*text)
	}
}

// verbatim is an answer containing events, whose data is shown as stored, with readable texts in displayText.
type verbatim interface{ verbatim() }

func (*eventsAnswer) verbatim()   {}
func (*eventsFound) verbatim()    {}
func (*sessionsAnswer) verbatim() {}
func (*sessionDetail) verbatim()  {}
func (*sessionsFound) verbatim()  {}

// worded is an encoded answer with names instead of mentions everywhere but in event data.
func (w *Wording) worded(body any) (json.RawMessage, error) {
	text, err := encode(body)
	if _, is := body.(verbatim); is || err != nil {
		return text, err
	}
	return w.json(text), nil
}
