package outbound

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// nameOr is the name of a channel; "" is Discord.
func nameOr(channel string) string { return cmp.Or(channel, coordination.Discord) }

// unlessDiscord is the name of a channel as deliveries have it.
func unlessDiscord(channel string) string {
	if channel == coordination.Discord {
		return ""
	}
	return channel
}

// Replies creates deliveries for the ends of runs requested with Deliver and Channel: the run's answer or, if a person
// is waiting and it failed, a notice.
type Replies struct {
	Channel  string                   // default: discord
	Accounts func() *channel.Registry // the bots
	Config   func() *config.Config    // configuration in force
}

// Then returns the events appended with the end of a run: its post, and then the removal of its acknowledgement. It fails for a run with an invalid place.
// media are the files that the answer names: they are posted after its text, which does not have the lines that name them.
func (r *Replies) Then(tx eventstore.Tx, asked *coordination.RunQueued, result *run.Result, now time.Time, media ...delivery.Named) ([]eventstore.StreamAppend, error) {
	if !asked.Deliver || asked.Channel != nameOr(r.Channel) {
		return nil, nil
	}
	d := delivery.Delivery{Channel: unlessDiscord(r.Channel), Purpose: delivery.Reply, Context: asked.Context, AgentID: result.AgentID, AccountID: asked.AccountID, ThreadID: asked.ThreadID,
		RunID: result.RunID}
	var posts []eventstore.StreamAppend
	if text := r.says(&d, asked, result, media); text != "" || len(d.Files) > 0 {
		var err error
		if posts, err = r.schedule(&d, delivery.ReplyEffect(result.RunID), asked.To, text, now); err != nil {
			return nil, err
		}
	}
	removed, err := r.unack(tx, asked, result, now)
	return append(posts, removed...), err
}

// says is the text posted for a run, "" for none. It adds the files of an answer to the delivery.
func (r *Replies) says(d *delivery.Delivery, asked *coordination.RunQueued, result *run.Result, media []delivery.Named) string {
	switch {
	case result.Over == nil: // redacted
		return ""
	case result.State == run.OK:
		text := a2a.Plain(result.Over.Text)
		if len(media) > 0 {
			text, _ = delivery.SplitMedia(text)
		}
		if silent(text) {
			text = ""
		}
		return coordination.Mask(coordination.TrimJS(text + r.attach(d, media)))
	case asked.Cause != nameOr(r.Channel) || asked.FromAgent != "" || !failed(asked, result):
		return ""
	}
	d.Purpose, d.System = delivery.Notice, true
	in := r.Config().Language()
	return notice(in, r.nameOf(in, result.AgentID), result)
}

// attach adds stored files to a delivery, and says of each other one why it is not posted.
func (r *Replies) attach(d *delivery.Delivery, media []delivery.Named) (refusals string) {
	for i := range media {
		one := &media[i]
		if one.Refused == "" {
			d.Files = append(d.Files, one.File)
			continue
		}
		name := neutral(path.Base(strings.ReplaceAll(one.Source, `\`, "/")))
		refusals += "\n" + fmt.Sprintf(r.Config().Language().Say("(%s 파일은 게시하지 못했습니다: %s)", "(%s is not posted: %s)"), name, neutral(one.Refused))
	}
	return refusals
}

// failed reports whether a person waits for an answer that will not come.
func failed(asked *coordination.RunQueued, result *run.Result) bool {
	const restart, shutdown = "restart", "shutdown"
	switch result.State {
	case run.Failed, run.TimedOut:
		return true
	case run.Aborted: // a retried run answers later; a run stopped by request needs no notice
		return (result.Over.Reason == restart || result.Over.Reason == shutdown) && !run.MayRetry(asked)
	}
	return false
}

// heartbeatOK is the reply of an agent that has checked its tasks and has nothing to report.
const heartbeatOK = "HEARTBEAT_OK"

// silent reports whether a text is a silent reply.
func silent(text string) bool {
	return a2a.Silent(text) || a2a.SkipsReply(text) || a2a.SkipsAnnounce(text) ||
		strings.EqualFold(strings.TrimRight(coordination.TrimJS(text), ".!"), heartbeatOK)
}

// maxReason is how many characters of a failure's reason a notice contains.
const maxReason = 300

// notice tells a person that no answer comes.
func notice(in coordination.Language, agent string, result *run.Result) string {
	over := result.Over
	why := cmp.Or(over.Error, over.ErrorClass)
	what := in.Say("응답하지 못했습니다", "could not answer")
	switch result.State {
	case run.TimedOut:
		what = in.Say("제시간에 응답하지 않았습니다", "did not answer in time")
	case run.Aborted:
		why = cmp.Or(why, in.Say("작업하는 동안 openclawd가 다시 시작되었습니다", "openclawd was restarted while it worked on this"))
	}
	why = cmp.Or(neutral(strings.Join(strings.Fields(coordination.Mask(why)), " ")), in.Say("로그에 이유가 없습니다", "the log does not say why"))
	return fmt.Sprintf(in.Say("%s %s: %s. 다시 말하면 다시 시도합니다. 자세한 내용은 `openclawd runs show %s` 명령으로 볼 수 있습니다.",
		"%s %s: %s. Send the message again to retry; see `openclawd runs show %s`."), in.Say(coordination.AsSubject(agent), agent), what,
		strings.TrimRight(coordination.Head(why, maxReason), ". "), result.RunID)
}

// neutral is a text without mentions and code.
func neutral(text string) string {
	return strings.NewReplacer("<@", "<\u200b@", "@everyone", "@\u200beveryone", "@here", "@\u200bhere", "`", "'").Replace(text)
}

func (r *Replies) nameOf(in coordination.Language, agent string) string {
	if a := r.Config().AgentNamed(agent); a != nil {
		return cmp.Or(a.Name, a.ID)
	}
	return cmp.Or(agent, in.Say("에이전트", "the agent"))
}

// schedule queues the delivery of a text. to is the place in the form used by runs.
func (r *Replies) schedule(d *delivery.Delivery, effectID, to, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	d.ChannelID = placeOf(to)
	accounts := r.Accounts()
	if d.AccountID == "" {
		own, _ := accounts.Bot(d.AgentID)
		d.AccountID = own.AccountID
	}
	if !d.System {
		names := namesOf(accounts, r.Config(), nameOr(r.Channel), d.AccountID)
		text = names.resolve(text)
		d.Notify = names.notified(text)
	}
	d.Messages = messagesOf(nameOr(r.Channel), r.Config().Language(), text)
	if d.Posts() == 0 {
		return nil, nil
	}
	a, err := schedule(d, effectID, now)
	if err != nil {
		return nil, err
	}
	return []eventstore.StreamAppend{a}, nil
}

const placePrefix = "channel:"

// placeOf is the channel id of a place in the form used by runs: channel:<id>, or the id alone.
func placeOf(to string) string { return strings.TrimPrefix(to, placePrefix) }

// messagesOf splits a text into messages. If it exceeds a delivery's limit, the last message says how much is left
// out.
func messagesOf(channel string, in coordination.Language, text string) []string {
	traits, _ := coordination.ChannelNamed(channel)
	messages := collaborate.ChunksFor(traits, text)
	if len(messages) <= delivery.MaxMessages {
		return messages
	}
	left := 0
	for _, m := range messages[delivery.MaxMessages-1:] {
		left += len([]rune(m))
	}
	return append(slices.Clone(messages[:delivery.MaxMessages-1]),
		fmt.Sprintf(in.Say("(나머지 %d자는 여기에 게시하지 않습니다. 이 실행의 세션에 전체 내용이 있습니다.)",
			"(%d more characters are not posted here; the session of this run has all of it.)"), left))
}

// schedule is the event that queues a delivery, once per effect.
func schedule(d *delivery.Delivery, effectID string, now time.Time) (eventstore.StreamAppend, error) {
	what, err := d.Work(effectID, 0)
	if err == nil {
		err = work.Check(&what)
	}
	if err != nil {
		return eventstore.StreamAppend{}, err
	}
	a := eventstore.StreamAppend{Stream: coordination.WorkStream(effectID), Expect: eventstore.NoStream()}
	err = a.Add(eventstore.NewEvent{Type: coordination.TypeWorkScheduled, AgentID: what.Owner}, what, now.UnixMilli())
	return a, err
}
