package route

import (
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
)

// Change is what the log says of an edited or deleted message. The zero Change: it is as it was decided about.
type Change struct {
	EditedAt  int64 // ms since 1970; 0: never
	DeletedAt int64 // likewise
	Edits     int   // how many are noted
}

// MaxEdits is how many edits of a message are noted.
const MaxEdits = 50

// Edited returns the event of an edit by a message's author, nil if nothing is noted: agents do not know the message, an agent wrote it,
// it is gone, this edit or a later one is known, or MaxEdits are. An edit changes no decision and runs no agent, even if it mentions one for the first
// time: a message is decided once. m has the new text, with names for ids.
func Edited(m *Message, earlier *Decision, known Change, at int64) *Event {
	if !isNoted(earlier) || known.DeletedAt != 0 || at <= known.EditedAt || known.Edits >= MaxEdits {
		return nil
	}
	data := changeOf(m)
	data.AuthorID = m.Author.ID
	masked := coordination.Mask(m.Text)
	if len(earlier.Handlers()) > 0 {
		data.Text = coordination.Head(masked, maxText)
	}
	data.Summary = summary(masked, nil)
	return &Event{Type: coordination.TypeDiscordInboundEdited, At: at, Data: data}
}

// Deleted is Edited for a deletion.
func Deleted(m *Message, earlier *Decision, known Change, at int64) *Event {
	if !isNoted(earlier) || known.DeletedAt != 0 {
		return nil
	}
	return &Event{Type: coordination.TypeDiscordInboundDeleted, At: at, Data: changeOf(m)}
}

// isNoted reports whether agents know a message that none of them wrote.
func isNoted(earlier *Decision) bool {
	return earlier != nil && earlier.Author == "" && slices.ContainsFunc(earlier.Verdicts, func(v Verdict) bool { return v.Mode == Handler || v.Mode == Observer })
}

func changeOf(m *Message) coordination.DiscordChange {
	return coordination.DiscordChange{Context: ours(), Channel: coordination.OtherChannel(m.ChannelID), MessageID: m.ID, ChannelID: m.ChannelID, ThreadID: m.ThreadID,
		GuildID: m.GuildID}
}
