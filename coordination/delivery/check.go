package delivery

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Limits of a delivery.
const (
	MaxMessages   = 50
	MaxFiles      = 10
	MaxNotify     = 100      // Discord's limit
	MaxComponents = 16 << 10 // bytes
	MaxDetail     = 64 << 10 // bytes
	maxName       = 256      // bytes of an id or name
	maxPayload    = 1 << 20  // bytes of the whole payload
)

const CodeInvalid = "invalid_delivery"

// Refusal says why a delivery can never be posted.
type Refusal struct {
	Field    string // as in the JSON of Delivery
	Value    string
	HintText string
}

func (r *Refusal) Error() string {
	return r.Field + ": bad value " + strconv.Quote(coordination.Head(strings.ToValidUTF8(r.Value, "\uFFFD"), maxShown)) + ": " + r.HintText
}
func (r *Refusal) Code() string { return CodeInvalid }
func (r *Refusal) Hint() string { return r.HintText }

// maxShown limits the rejected value quoted in a refusal, in characters.
const maxShown = 60

func (d *Delivery) check() error {
	for _, c := range [...]func() *Refusal{d.checkWho, d.checkPlace, d.checkOpening, d.checkMessages, d.checkFiles, d.checkRest} {
		if r := c(); r != nil {
			return r
		}
	}
	return nil
}

func (d *Delivery) checkWho() *Refusal {
	if !slices.Contains([]string{Reply, Announce, Request, Reminder, Escalate, Report, Approval, Notice, Send}, d.Purpose) {
		return &Refusal{"purpose", d.Purpose, "give a purpose declared by package delivery"}
	}
	channel := d.traits()
	switch {
	case channel.Name == "" || d.Channel != "" && (d.Channel != channel.Name || d.Channel == coordination.Discord):
		return &Refusal{"channel", d.Channel, "name a channel, or leave it out for Discord"}
	case d.AccountID == "":
		return &Refusal{"accountId", "", "name an account of channels." + channel.Name + ".accounts"}
	}
	for _, f := range [...]struct{ name, value string }{{"accountId", d.AccountID}, {"agentId", d.AgentID}, {"collabId", d.CollabID}, {"runId", d.RunID},
		{"reportOf", d.ReportOf}, {"approvalId", d.ApprovalID}, {"route", string(d.Route)}, {"seed", d.Seed}} {
		if !isText(f.value, maxName) {
			return &Refusal{f.name, f.value, "give at most " + strconv.Itoa(maxName) + " bytes of UTF-8 without NUL"}
		}
	}
	return nil
}

func (d *Delivery) checkPlace() *Refusal {
	channel := d.traits()
	hint := "give a Discord id, a positive number"
	if channel.Name != coordination.Discord {
		hint = "give an id of " + channel.Title + ", such as " + channel.Name + ":123"
	}
	switch {
	case !channel.IsPlaceID(d.ChannelID):
		return &Refusal{"channelId", d.ChannelID, hint}
	case d.ThreadID != "" && !channel.IsThreadOf(d.ThreadID, d.ChannelID):
		return &Refusal{"threadId", d.ThreadID, hint}
	case d.GuildID != "" && !channel.IsPlaceID(d.GuildID):
		return &Refusal{"guildId", d.GuildID, hint}
	case d.ReplyTo != "" && !channel.IsMessageIn(d.ReplyTo, d.ChannelID):
		return &Refusal{"replyTo", d.ReplyTo, hint}
	case d.ThreadID != "" && d.Open != nil:
		return &Refusal{"open", d.Open.Name, "name a thread, or have one opened, not both"}
	case d.ReplyTo != "" && d.Open != nil:
		return &Refusal{"replyTo", d.ReplyTo, "leave it out: a new thread has no message to reply to"}
	case len(d.Notify) > MaxNotify:
		return &Refusal{"notify", strconv.Itoa(len(d.Notify)), "notify at most " + strconv.Itoa(MaxNotify) + " users"}
	}
	for _, id := range d.Notify {
		if !channel.IsUserID(id) || strings.Trim(id, "0") == "" {
			return &Refusal{"notify", id, hint}
		}
	}
	return nil
}

func (d *Delivery) checkOpening() *Refusal {
	o := d.Open
	if o == nil {
		return nil
	}
	traits := d.traits()
	n := traits.Length(o.Name)
	if coordination.TrimJS(o.Name) == "" || n > traits.MaxThreadName || !isText(o.Name, 4*collaborate.MaxThreadName) {
		return &Refusal{"open.name", o.Name, "give 1 to " + strconv.Itoa(traits.MaxThreadName) + " characters"}
	}
	for _, f := range [...]struct {
		name, value string
		most        int
	}{{"open.kind", o.Kind, maxName}, {"open.reuseKey", o.ReuseKey, 4 * maxName}, {"open.fromAgent", o.FromAgent, maxName},
		{"open.toAgent", o.ToAgent, maxName}} {
		if !isText(f.value, f.most) {
			return &Refusal{f.name, f.value, "give at most " + strconv.Itoa(f.most) + " bytes of UTF-8 without NUL"}
		}
	}
	return nil
}

func (d *Delivery) checkMessages() *Refusal {
	if n := len(d.Messages); n == 0 && len(d.Files) == 0 || n > MaxMessages {
		return &Refusal{"messages", strconv.Itoa(n), "give 1 to " + strconv.Itoa(MaxMessages)}
	}
	channel := d.traits()
	for i, m := range d.Messages {
		field := "messages[" + strconv.Itoa(i) + "]"
		switch n := channel.Length(m); {
		case !utf8.ValidString(m):
			return &Refusal{field, m, "give UTF-8"}
		case coordination.TrimJS(m) == "":
			return &Refusal{field, m, "leave it out: " + channel.Title + " rejects empty messages"}
		case n > channel.MaxMessage:
			return &Refusal{field, strconv.Itoa(n) + " characters", "split it with collaborate.Chunks: " + channel.Title + " accepts at most " + strconv.Itoa(channel.MaxMessage)}
		}
	}
	return nil
}

func (d *Delivery) checkFiles() *Refusal {
	if n := len(d.Files); n > MaxFiles {
		return &Refusal{"files", strconv.Itoa(n), "give at most " + strconv.Itoa(MaxFiles)}
	}
	if d.Open != nil && d.Open.Starter && len(d.Messages) == 0 {
		return &Refusal{"messages", "0", "give a text: a post of a forum begins with one"}
	}
	channel := d.traits()
	for i := range d.Files {
		f, field := &d.Files[i], "files["+strconv.Itoa(i)+"]"
		switch {
		case f.Name == "" || !isText(f.Name, maxName) || !isText(f.Type, maxName):
			return &Refusal{field + ".name", f.Name, "give at most " + strconv.Itoa(maxName) + " bytes of UTF-8 without NUL"}
		case f.Size <= 0 || f.Size > int64(channel.MaxFile):
			return &Refusal{field + ".size", strconv.FormatInt(f.Size, 10) + " bytes", channel.Title + " takes files of 1 to " + strconv.Itoa(channel.MaxFile) + " bytes"}
		case len(f.SHA256) != hashDigits || strings.Trim(f.SHA256, "0123456789abcdef") != "":
			return &Refusal{field + ".sha256", f.SHA256, "give the SHA-256 of a stored file"}
		}
	}
	return nil
}

// hashDigits is the length of the SHA-256 that names a stored file.
const hashDigits = 64

func (d *Delivery) checkRest() *Refusal {
	var rows []json.RawMessage
	switch {
	case len(d.Components) > MaxComponents:
		return &Refusal{"components", strconv.Itoa(len(d.Components)) + " bytes", "keep them below 16 KiB"}
	case len(d.Components) > 0 && json.Unmarshal(d.Components, &rows) != nil:
		return &Refusal{"components", string(d.Components[:min(len(d.Components), maxShown)]), "give a JSON array of " + d.traits().Title + " components"}
	case len(d.Detail) > MaxDetail:
		return &Refusal{"detail", strconv.Itoa(len(d.Detail)) + " bytes", "keep it below 64 KiB"}
	case len(d.Detail) > 0 && (!json.Valid(d.Detail) || coordination.EachField(d.Detail, func(string, []byte) bool { return false }) != nil):
		return &Refusal{"detail", string(d.Detail[:min(len(d.Detail), maxShown)]), "give a JSON object, or nothing"}
	}
	return nil
}

func isText(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
