package monitor

import (
	"context"
	"database/sql"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/index"
)

// mention is Discord's markup for a user, a role or a channel.
var mention = regexp.MustCompile(`<(?:@[!&]?|#)[0-9]{1,25}>`)

// Wording replaces Discord mentions by names: those the bots know, else those of the configuration, else the id's last
// four digits.
type Wording struct {
	names  func(text string) string // nil: no bots run
	roster *coordination.Roster
}

// WordingOf returns the wording for the last applied configuration.
func WordingOf(ctx context.Context, tx *sql.Tx, names func(text string) string) (*Wording, error) {
	roster, err := index.Roster(ctx, tx)
	return &Wording{names, roster}, err
}

func (v *view) wording() *Wording {
	if v.Names == nil {
		return &Wording{nil, v.roster}
	}
	return &Wording{func(text string) string {
		v.askedBeyond()
		return v.Names(text)
	}, v.roster}
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
