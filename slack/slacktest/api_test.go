package slacktest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	library "github.com/slack-go/slack"

	"github.com/pronto-lab/openclawd/slack/slacktest"
)

func TestPostsAreReadBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	ruda := l.client(l.ruda)
	first := posted(t)(l.bora.Post(l.channel.ID, "a < b & <@"+l.ruda.UserID+">"))
	_, ts, err := ruda.PostMessageContext(l.ctx, l.channel.ID, library.MsgOptionText("an answer", false), library.MsgOptionTS(first.TS),
		library.MsgOptionMetadata(library.SlackMetadata{EventType: "post", EventPayload: map[string]any{"nonce": "n1"}}))
	if err != nil {
		t.Fatal(err)
	}
	page, err := ruda.GetConversationHistoryContext(l.ctx, &library.GetConversationHistoryParameters{ChannelID: l.channel.ID})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Messages) != 1 || page.Messages[0].Text != "a &lt; b &amp; <@"+l.ruda.UserID+">" || page.Messages[0].ReplyCount != 1 {
		t.Errorf("the history is %+v, want the first message, escaped, with one reply", page.Messages)
	}
	thread, _, _, err := ruda.GetConversationRepliesContext(l.ctx, &library.GetConversationRepliesParameters{ChannelID: l.channel.ID, Timestamp: first.TS, IncludeAllMetadata: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(thread) != 2 || thread[1].Timestamp != ts || thread[1].BotID != l.ruda.BotID || thread[1].Metadata.EventPayload["nonce"] != "n1" {
		t.Errorf("the thread is %+v, want the first message and the answer with its metadata", thread)
	}
}

// posted is the message that a person has written.
func posted(t *testing.T) func(slacktest.Message, error) slacktest.Message {
	return func(m slacktest.Message, err error) slacktest.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestHistoryHasPages(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	var want, got []string
	var oldest string
	for i, text := range strings.Split("abcdefg", "") {
		m := posted(t)(l.bora.Post(l.channel.ID, text))
		if i == 0 {
			oldest = m.TS
			continue
		}
		want = append(want, text)
	}
	slices.Reverse(want)
	p := &library.GetConversationHistoryParameters{ChannelID: l.channel.ID, Oldest: oldest, Limit: 4}
	for {
		page, err := l.client(l.ruda).GetConversationHistoryContext(l.ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			got = append(got, m.Text)
		}
		if p.Cursor = page.ResponseMetaData.NextCursor; !page.HasMore {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what came after the first message, newest first (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	hidden := l.AddPrivateChannel("hidden", l.bora.ID)
	other := l.AddChannel("other", l.bora.ID)
	old := l.AddChannel("old", l.bora.ID, l.ruda.UserID)
	l.Archive(old.ID, true)
	first := posted(t)(l.bora.Post(l.channel.ID, "first"))
	reply := posted(t)(l.bora.Reply(l.channel.ID, first.TS, "reply"))
	poor := l.AddApp("poor", slacktest.AppOptions{Scopes: []string{"users:read"}})
	gone := l.AddApp("gone", slacktest.AppOptions{})
	gone.Refuse("token_revoked")
	post := func(a *slacktest.App, channel string, o ...library.MsgOption) error {
		_, _, err := l.client(a).PostMessageContext(l.ctx, channel, o...)
		return err
	}
	text := library.MsgOptionText("x", false)
	section := func(n int) library.MsgOption {
		return library.MsgOptionBlocks(library.NewSectionBlock(library.NewTextBlockObject("mrkdwn", strings.Repeat("x", n), false, false), nil, nil))
	}
	button := library.MsgOptionBlocks(library.NewActionBlock("a", library.NewButtonBlockElement("go", "v",
		library.NewTextBlockObject("plain_text", strings.Repeat("x", 76), false, false))))
	_, _, _, edit := l.client(l.ruda).UpdateMessageContext(l.ctx, l.channel.ID, first.TS, text)
	_, own, err := l.client(l.ruda).PostMessageContext(l.ctx, l.channel.ID, text)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, long := l.client(l.ruda).UpdateMessageContext(l.ctx, l.channel.ID, own, library.MsgOptionText(strings.Repeat("x", 4001), false))
	for want, err := range map[string]error{
		"channel_not_found":       post(l.ruda, hidden.ID, text),
		"not_in_channel":          post(l.ruda, other.ID, text),
		"is_archived":             post(l.ruda, old.ID, text),
		"no_text":                 post(l.ruda, l.channel.ID, library.MsgOptionText("", false)),
		"invalid_blocks":          post(l.ruda, l.channel.ID, section(3001)),
		"invalid_blocks (button)": post(l.ruda, l.channel.ID, button),
		"cannot_reply_to_message": post(l.ruda, l.channel.ID, text, library.MsgOptionTS(reply.TS)),
		"thread_not_found":        post(l.ruda, l.channel.ID, text, library.MsgOptionTS("1.000001")),
		"missing_scope":           post(poor, l.channel.ID, text),
		"token_revoked":           post(gone, l.channel.ID, text),
		"invalid_auth":            post(&slacktest.App{Token: "xoxb-wrong"}, l.channel.ID, text),
		"cant_update_message":     edit,
		"msg_too_long":            long,
	} {
		said, is := errors.AsType[library.SlackErrorResponse](err)
		if code, _, _ := strings.Cut(want, " "); !is || said.Err != code {
			t.Errorf("%v, want %s", err, want)
		}
		if want == "missing_scope" && (said.Needed != "chat:write" || said.Provided != "users:read") {
			t.Errorf("missing_scope needs %q, provided %q", said.Needed, said.Provided)
		}
	}
	if err := post(l.ruda, l.channel.ID, section(3000)); err != nil {
		t.Errorf("a section of 3,000 characters: %v", err)
	}
	if err := post(l.ruda, l.channel.ID, library.MsgOptionText(strings.Repeat("y", 40001), false)); err != nil {
		t.Error(err)
	}
	all := l.Messages(l.channel.ID)
	if n := len(all[len(all)-1].Text); n != 40000 {
		t.Errorf("the long message has %d characters, want 40,000", n)
	}
}

func TestLimitsAreByMethodAndChannel(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := newLab(t, slacktest.Options{Limits: slacktest.DefaultLimits(), Now: func() time.Time { return at }})
	other := l.AddChannel("other", l.ruda.UserID)
	post := func(a *slacktest.App, channel string) error {
		_, _, err := l.client(a).PostMessageContext(l.ctx, channel, library.MsgOptionText("x", false))
		return err
	}
	for _, err := range []error{post(l.ruda, l.channel.ID), post(l.ruda, other.ID), post(l.eden, l.channel.ID)} {
		if err != nil {
			t.Errorf("the first post of an app in a channel: %v", err)
		}
	}
	limited, is := errors.AsType[*library.RateLimitedError](post(l.ruda, l.channel.ID))
	if !is || limited.RetryAfter != time.Second {
		t.Errorf("the second post is answered with %v, want 429 and one second", limited)
	}
	at = at.Add(time.Second)
	if err := post(l.ruda, l.channel.ID); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestFilesComeAndGo(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	got := posted(t)(l.bora.Upload(l.channel.ID, "a.txt", "see", []byte("in")))
	var content bytes.Buffer
	if err := l.client(l.ruda).GetFileContext(l.ctx, got.Files[0].Download, &content); err != nil || content.String() != "in" {
		t.Errorf("the file is %q, %v", content.String(), err)
	}
	_, err := l.client(l.ruda).UploadFileContext(l.ctx, library.UploadFileParameters{Filename: "b.txt", FileSize: 3, Content: "out", Channel: l.channel.ID, InitialComment: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	all := l.Messages(l.channel.ID)
	last := all[len(all)-1]
	if last.Text != "mine" || last.Subtype != "file_share" || len(last.Files) != 1 || last.Files[0].Size != 3 {
		t.Errorf("the upload is %+v", last)
	}
	outside := l.AddApp("outside", slacktest.AppOptions{})
	content.Reset()
	if err := l.client(outside).GetFileContext(l.ctx, got.Files[0].Download, &content); err != nil || !strings.Contains(content.String(), "Sign in") {
		t.Errorf("an app outside of the channel gets %q, %v; want the page to sign in", content.String(), err)
	}
}

func TestFaultsAreApplied(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	post := func(text string) error {
		_, _, err := l.client(l.ruda).PostMessageContext(l.ctx, l.channel.ID, library.MsgOptionText(text, false))
		return err
	}
	match := slacktest.Match{Method: "chat.postMessage"}
	for _, c := range []struct {
		effect slacktest.Effect
		posted bool
	}{{slacktest.Cut(), false}, {slacktest.LoseAnswer(), true}, {slacktest.Unavailable(503), false}, {slacktest.TooManyRequests(time.Second), false},
		{slacktest.Refuse("fatal_error"), false}} {
		before := len(l.Messages(l.channel.ID))
		l.Inject(slacktest.Fault{Match: match, Effect: c.effect})
		if err := post("x"); err == nil {
			t.Error("the fault did not apply")
		}
		if posted := len(l.Messages(l.channel.ID)) > before; posted != c.posted {
			t.Errorf("posted is %v, want %v", posted, c.posted)
		}
	}
	if err := post("y"); err != nil {
		t.Error(err)
	}
	for _, r := range l.RequestsTo(match) {
		if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), l.ruda.Token) {
			t.Errorf("the request shows the token: %s, %v", text, err)
		}
	}
}
