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

// mention is how Discord writes a user, a role or a channel in a text.
var mention = regexp.MustCompile(`<(?:@[!&]?|#)[0-9]{1,25}>`)

// Wording puts names in the place of Discord's mentions: those that the bots know by now, then those of the configuration. Of what nobody knows it
// leaves the last four digits.
type Wording struct {
	names  func(text string) string // nil: no bot is there to ask
	roster *coordination.Roster
}

// WordingOf is the wording of the configuration that was applied last.
func WordingOf(ctx context.Context, tx *sql.Tx, names func(text string) string) (*Wording, error) {
	roster, err := index.Roster(ctx, tx)
	return &Wording{names, roster}, err
}

func (v *view) wording() *Wording { return &Wording{v.Names, v.roster} }

// Text is a text with names.
func (w *Wording) Text(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	return mention.ReplaceAllStringFunc(text, w.name)
}

// name is what stands for one mention.
func (w *Wording) name(mention string) string {
	return coordination.Clean(w.live(mention), w.roster).Text
}

// live is a text with the names that the bots know; other mentions stay.
func (w *Wording) live(text string) string {
	if w.names == nil || !strings.Contains(text, "<") {
		return text
	}
	return w.names(text)
}

// channel is how the bots call a channel or thread, "" if they do not know.
func (w *Wording) channel(id string) string {
	written := "<#" + id + ">"
	if name := w.live(written); id != "" && name != written {
		return strings.TrimPrefix(name, "#")
	}
	return ""
}

// agent is how people call an agent.
func (w *Wording) agent(id string) string { return w.roster.Name(id) }

// json is a text of JSON in which all strings have names. Discord's marks stand in it as they are: our encoder does not escape them.
func (w *Wording) json(text []byte) []byte {
	return mention.ReplaceAllFunc(text, func(found []byte) []byte {
		quoted := appendString(nil, w.name(string(found)))
		return quoted[1 : len(quoted)-1]
	})
}

// spoken are the texts of a record with the names that the bots know by now. What is made of it has the names of the configuration for the others.
func (w *Wording) spoken(r *coordination.Record) {
	if w.names == nil {
		return
	}
	for _, text := range []*string{&r.Message, &r.ReplyPreview, &r.Label, &r.Description, &r.Summary, &r.Reason, &r.Title, &r.Error,
		&r.WaitError} {
		*text = w.live(*text)
	}
}

// verbatim is an answer with events in it, which show their data as it is stored, and what it says beside that in displayText.
type verbatim interface{ verbatim() }

func (*eventsAnswer) verbatim()   {}
func (*eventsFound) verbatim()    {}
func (*sessionsAnswer) verbatim() {}
func (*sessionDetail) verbatim()  {}
func (*sessionsFound) verbatim()  {}

// worded is an answer as it is written, with names for mentions in all texts but the data of events.
func (w *Wording) worded(body any) (json.RawMessage, error) {
	text, err := encode(body)
	if _, is := body.(verbatim); is || err != nil {
		return text, err
	}
	return w.json(text), nil
}
