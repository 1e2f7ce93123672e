package outbound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Channel is the name of the channel of runs whose answers go to Discord.
const Channel = discord.Channel

// Replies makes deliveries of the ends of runs that were asked for with Deliver and Channel: what the run has said, or, where a person has asked
// and it has failed, a notice that says so.
type Replies struct {
	Accounts func() *discord.Registry // whose bots there are
	Config   func() *config.Config    // in force
}

// Then says what is appended with the end of a run. An error is of a run that is asked for with a place that is none.
func (r *Replies) Then(_ eventstore.Tx, asked *coordination.RunQueued, result *run.Result, now time.Time) ([]eventstore.StreamAppend, error) {
	if !asked.Deliver || asked.Channel != Channel {
		return nil, nil
	}
	d := delivery.Delivery{Purpose: delivery.Reply, Context: asked.Context, AgentID: result.AgentID, AccountID: asked.AccountID, ThreadID: asked.ThreadID,
		RunID: result.RunID}
	text := r.says(&d, asked, result)
	if text == "" {
		return nil, nil
	}
	return r.schedule(&d, delivery.ReplyEffect(result.RunID), asked.To, text, now)
}

// says is what is posted of a run, "" for nothing.
func (r *Replies) says(d *delivery.Delivery, asked *coordination.RunQueued, result *run.Result) string {
	switch {
	case result.Over == nil: // redacted
		return ""
	case result.State == run.OK:
		if text := a2a.Plain(result.Over.Text); !silent(text) {
			return coordination.Mask(text)
		}
		return ""
	case asked.Cause != Channel || asked.FromAgent != "" || !failed(asked, result):
		return ""
	}
	d.Purpose, d.System = delivery.Notice, true
	in := r.Config().Language()
	return notice(in, r.nameOf(in, result.AgentID), result)
}

// failed says whether who has asked waits for an answer that does not come.
func failed(asked *coordination.RunQueued, result *run.Result) bool {
	const restart, shutdown = "restart", "shutdown"
	switch result.State {
	case run.Failed, run.TimedOut:
		return true
	case run.Aborted: // what is asked for once more answers later; what somebody has stopped need not be told
		return (result.Over.Reason == restart || result.Over.Reason == shutdown) && !run.MayRetry(asked)
	}
	return false
}

// heartbeatOK is what an agent says that has looked after its tasks and has nothing to tell.
const heartbeatOK = "HEARTBEAT_OK"

// silent says whether a text is one of the words by which agents say nothing.
func silent(text string) bool {
	return a2a.Silent(text) || a2a.SkipsReply(text) || a2a.SkipsAnnounce(text) ||
		strings.EqualFold(strings.TrimRight(coordination.TrimJS(text), ".!"), heartbeatOK)
}

// maxReason bounds what a notice says of why a run has failed, in characters.
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
		"%s %s: %s. Say it again to have it tried again; `openclawd runs show %s` tells more."), in.Say(coordination.AsSubject(agent), agent), what,
		strings.TrimRight(coordination.Head(why, maxReason), ". "), result.RunID)
}

// neutral is a text in which nothing mentions anybody, and nothing is code.
func neutral(text string) string {
	return strings.NewReplacer("<@", "<\u200b@", "@everyone", "@\u200beveryone", "@here", "@\u200bhere", "`", "'").Replace(text)
}

func (r *Replies) nameOf(in coordination.Language, agent string) string {
	if a := r.Config().AgentNamed(agent); a != nil {
		return cmp.Or(a.Name, a.ID)
	}
	return cmp.Or(agent, in.Say("에이전트", "the agent"))
}

// schedule asks for the delivery of a text. to is the place, as runs have it.
func (r *Replies) schedule(d *delivery.Delivery, effectID, to, text string, now time.Time) ([]eventstore.StreamAppend, error) {
	d.ChannelID = placeOf(to)
	accounts := r.Accounts()
	if d.AccountID == "" {
		own, _ := accounts.Bot(d.AgentID)
		d.AccountID = own.AccountID
	}
	if !d.System {
		names := namesOf(accounts, r.Config(), d.AccountID)
		text = names.resolve(text)
		d.Notify = names.notified(text)
	}
	d.Messages = messagesOf(r.Config().Language(), text)
	if len(d.Messages) == 0 {
		return nil, nil
	}
	a, err := schedule(d, effectID, now)
	if err != nil {
		return nil, err
	}
	return []eventstore.StreamAppend{a}, nil
}

// placeOf is the id of a channel or conversation in the words of runs: channel:<id>, or the id alone.
func placeOf(to string) string { return strings.TrimPrefix(to, "channel:") }

// messagesOf divides a text into messages. Of one that is longer than a delivery may be the last message says how much is left out.
func messagesOf(in coordination.Language, text string) []string {
	messages := collaborate.Chunks(text)
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

// schedule is the append that asks for a delivery, once for each effect.
func schedule(d *delivery.Delivery, effectID string, now time.Time) (eventstore.StreamAppend, error) {
	what, err := d.Work(effectID, 0)
	if err == nil {
		err = queue.Check(&what)
	}
	if err != nil {
		return eventstore.StreamAppend{}, err
	}
	data, err := json.Marshal(what)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", coordination.TypeWorkScheduled, err)
	}
	return eventstore.StreamAppend{Stream: coordination.WorkStream(effectID), Expect: eventstore.NoStream(), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: coordination.TypeWorkScheduled, AgentID: what.Owner, Data: data}.WithTS(now.UnixMilli())}}, nil
}
