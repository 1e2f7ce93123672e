package inbound_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// edits has all bots tell of an edit.
func (l *fixture) edits(in channel.Inbound, text string) {
	in.Kind, in.Message.Content, in.Message.EditedAt = channel.Edited, mentions(text), l.now.Load()
	l.hears(in)
}

// deletes has all bots tell of a deletion, of which only the place is known.
func (l *fixture) deletes(in channel.Inbound) {
	m := in.Message
	in.Kind, in.Message = channel.Deleted, channel.Message{ID: m.ID, ChannelID: m.ChannelID, ParentID: m.ParentID, GuildID: m.GuildID}
	l.hears(in)
}

// changes are what is recorded of edits and a deletion of a message: the text, else the summary in brackets, or "deleted".
func (l *fixture) changes(messageID string) (all []string) {
	l.t.Helper()
	for _, e := range l.events(coordination.MessageStream(messageID)) {
		switch d := read[coordination.DiscordChange](l.t, &e); {
		case e.Type == coordination.TypeDiscordInboundDeleted:
			all = append(all, "deleted")
		case e.Type == coordination.TypeDiscordInboundEdited && d.Text == "":
			all = append(all, "("+d.Summary+")")
		case e.Type == coordination.TypeDiscordInboundEdited:
			all = append(all, d.Text)
		}
	}
	return all
}

func (l *fixture) wantChanges(messageID string, want ...string) {
	l.t.Helper()
	if got := l.changes(messageID); strings.Join(got, "|") != strings.Join(want, "|") {
		l.t.Errorf("recorded of %s is %q, want %q", messageID, got, want)
	}
}

// An edit is recorded once for all bots, also over a restart, with masked text; it starts no run, even if it is the first to mention an
// agent. What is gone stays gone.
func TestEditsAndDeletionsAreRecorded(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	in := l.message("bora", general, "@eden 봐줘")
	id := l.hears(in)
	l.after(time.Second).edits(in, "@seum 봐줘 token: abcdef123456")
	l = l.reopened()
	l.edits(in, "@seum 봐줘 token: abcdef123456")
	l.wantChanges(id, "@세움 봐줘 token: ***")
	l.after(time.Second).edits(in, strings.Repeat("가", 9_000))
	if got := l.changes(id); len(got) != 2 || len([]rune(got[1])) != 4_000 {
		t.Errorf("a long edit is recorded with %d characters", len([]rune(got[len(got)-1])))
	}
	l.deletes(in)
	l = l.reopened()
	l.deletes(in)
	l.after(time.Second).edits(in, "late")
	if got := l.changes(id); len(got) != 3 || got[2] != "deleted" {
		t.Errorf("recorded are %d changes, the last %q", len(got), got[len(got)-1])
	}
	l.want(id, "eden=mentioned observer:other_mentioned")
	if got := l.runsOf(id); got != "eden" {
		t.Errorf("%q run, want eden", got)
	}
}

// Bots and people may edit a message without end: what is recorded has one.
func TestEditsAreBounded(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	in := l.message("bora", general, "@eden 봐줘")
	id := l.hears(in)
	for range route.MaxEdits + 3 {
		l.after(time.Second).edits(in, "다시")
	}
	l.deletes(in)
	if got := l.changes(id); len(got) != route.MaxEdits+1 || got[route.MaxEdits] != "deleted" {
		t.Errorf("%d changes are recorded, want %d edits and the deletion", len(got), route.MaxEdits)
	}
}

// What no agent knows is not recorded: unknown messages, dropped ones, and our own.
func TestOtherEditsAreNotRecorded(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	unknown, own := l.message("bora", general, "@eden 봐줘"), l.message("eden", general, "@ruda 네")
	private := l.message("bora", "500000000000000001", "비밀")
	private.AccountID, private.Message.GuildID = "acc-ruda", ""
	l.hears(own)
	l.hears(private)
	for _, in := range []channel.Inbound{unknown, own, private} {
		l.after(time.Second).edits(in, "바뀐 말")
		l.deletes(in)
		l.wantChanges(in.Message.ID)
	}
}

// An agent that handled a message is told of its edit or deletion with the next one it handles there, once; what it observed is shown as
// it reads now, or no more.
func TestAgentsLearnOfEdits(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	first, second := l.message("bora", general, "@eden 하나"), l.message("bora", general, "@eden 둘")
	l.hears(first)
	l.after(time.Second).hears(second)
	l.after(time.Second).edits(first, "@eden 셋")
	l.after(time.Second).deletes(second)
	if got, want := l.remembered("ruda", general), "bora: @이든 셋"; !strings.HasSuffix(got, want) || strings.Contains(got, "둘") || strings.Contains(got, "하나") {
		t.Errorf("ruda has observed %q, want only %q", got, want)
	}
	elsewhere := l.after(time.Second).says("bora", "800000000000000009", "@eden 딴 데서")
	other := l.after(time.Second).says("bora", general, "@seum 너는?")
	third := l.after(time.Second).says("bora", general, "@eden 이제?")
	fourth := l.after(time.Second).says("bora", general, "@eden 그리고?")
	want := "[bora in #general] @이든 이제?\n[the message of bora of 2026-02-20 08:00Z was edited and now reads: @이든 셋]\n" +
		"[the message of bora of 2026-02-20 08:00Z was deleted]"
	if got := l.asked(third, "eden").Message; got != want {
		t.Errorf("eden is asked %q, want %q", got, want)
	}
	for id, agent := range map[string]string{elsewhere: "eden", other: "seum", fourth: "eden"} {
		if got := l.asked(id, agent).Message; strings.Contains(got, "[the message") {
			t.Errorf("%s is asked %q, want nothing of edits", agent, got)
		}
	}
}

// A panic or a full disk loses the edit, not the program, and what comes after it is decided.
func TestAnEditThatCannotBeRecordedIsDropped(t *testing.T) {
	t.Parallel()
	logs := &buffer{}
	l := setup(t, setting{logs: logs})
	in := l.message("bora", general, "@eden 봐줘")
	l.hears(in)
	l.sight.broken(true)
	in.Kind, in.Message.EditedAt = channel.Edited, l.now.Load()+1
	l.Handle(t.Context(), in)
	l.sight.broken(false)
	if logs.count("cannot record a change of a message") != 1 {
		t.Error("it is not logged that an edit is lost")
	}
	l.want(l.says("bora", general, "@eden 또"), "eden=mentioned observer:other_mentioned")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Handle(ctx, in)
}
