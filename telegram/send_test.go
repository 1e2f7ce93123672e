package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestPostsAreRenderedAndTold(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	mine := m.write(m.forum, "hello")
	m.fact("ruda", "created hello")
	m.fact("eden", "created hello")
	text := "**done**, <@" + id(m.bora.User) + "> and <@" + id(m.eden.User) + ">: not @bora"
	posted := m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: text, ReplyTo: fmt.Sprintf("%s:%d", placeID(m.forum), mine.MessageID),
		Notify: []string{id(m.bora.User), id(m.eden.User)}})
	shown := m.shows(m.forum, "done, Bora and @eden_bot: not @\u2060bora")
	equal(t, "its id", posted.ID, fmt.Sprintf("%s:%d", placeID(m.forum), shown.MessageID))
	equal(t, "what it replies to", shown.ReplyTo.MessageID, mine.MessageID)
	var kinds []string
	for _, e := range shown.Entities {
		kinds = append(kinds, e.Type)
	}
	equal(t, "its entities", strings.Join(kinds, " "), "bold text_mention mention")

	// The others of the team are told by us, and not by Telegram.
	in := m.fact("ruda", "created "+text)
	equal(t, "the author's account", in.Message.Author.Account, "ruda")
	equal(t, "the author's agent", in.Message.Author.Agent, "ruda")
	equal(t, "the id that was told", in.Message.ID, posted.ID)
	equal(t, "how many were told", len(m.told("eden")), 1)

	if err := m.Edit(m.ctx, "ruda", placeID(m.forum), posted.ID, "_changed_"); err != nil {
		t.Fatal(err)
	}
	m.shows(m.forum, "changed")
	if err := m.Edit(m.ctx, "ruda", placeID(m.forum), posted.ID, "_changed_"); err != nil {
		t.Errorf("the same edit again: %v", err)
	}
	if err := m.Typing(m.ctx, "ruda", placeID(m.forum)); err != nil {
		t.Error(err)
	}
}

func TestAnUnparsableTextIsPostedPlain(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "sendMessage", Test: func(r telegramtest.Request) bool { return r.Params["parse_mode"] != "" }},
		Effect: telegramtest.Refuse(http.StatusBadRequest, "Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 0")})
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.private), Content: "**bold** <@" + id(m.bora.User) + ">"})
	m.shows(m.private, "**bold** Bora")
}

func TestTopicsAreThreads(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	thread, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: placeID(m.forum), Name: "plans"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "its group", thread.ChannelID, placeID(m.forum))
	topics := m.forum.Topics()
	equal(t, "its id", thread.ID, fmt.Sprintf("%s:topic:%d", placeID(m.forum), topics[0].ID))
	m.send(channel.Post{AccountID: "eden", ChannelID: thread.ID, Content: "in it"})
	equal(t, "where it is", m.shows(m.forum, "in it").ThreadID, topics[0].ID)
	known, _ := m.Known(thread.ID)
	equal(t, "the kind", known.Kind, collaborate.Thread)
	equal(t, "the name", m.ChannelName(thread.ID), "plans")
	place, ok, err := m.Place(m.ctx, "eden", placeID(m.forum))
	if err != nil || !ok || place.Kind != collaborate.Text {
		t.Errorf("%+v, %v, %v: want a place for threads", place, ok, err)
	}
	if _, ok, err = m.Place(m.ctx, "eden", "telegram:-100999"); ok || err != nil {
		t.Errorf("an unknown group: %v, %v", ok, err)
	}
	_, err = m.StartThread(m.ctx, channel.Opening{AccountID: "eden", ChannelID: placeID(m.forum), Name: "more"})
	refused(t, err, collaborate.ClassForbidden, "manage topics")
	if _, found, err := m.FindThread(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: placeID(m.forum), Name: "plans"}); found || !errors.Is(err, channel.ErrBlind) {
		t.Errorf("%v, %v: want to be blind", found, err)
	}
}

func TestFailuresSayWhetherItMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(o *channel.Options) { o.TimeLimit = time.Second }).start()
	p := channel.Post{AccountID: "ruda", ChannelID: placeID(m.private), Content: "x"}
	try := func(effect telegramtest.Effect) error {
		m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "sendMessage"}, Effect: effect})
		_, err := m.Send(m.ctx, p)
		return err
	}
	refused(t, try(telegramtest.Refuse(http.StatusBadRequest, "Bad Request: chat not found")), collaborate.ClassNotFound, "the bot is in it")
	refused(t, try(telegramtest.Refuse(http.StatusBadRequest, "Bad Request: not enough rights to send text messages to the chat")), collaborate.ClassForbidden, "permissions")
	refused(t, try(telegramtest.Refuse(http.StatusForbidden, "Forbidden: bot was blocked by the user")), collaborate.ClassForbidden, "blocked the bot")
	refused(t, try(telegramtest.Refuse(http.StatusUnauthorized, "Unauthorized")), collaborate.ClassUnauthorized, "botToken")
	refused(t, try(telegramtest.Refuse(http.StatusBadRequest, "Bad Request: something else")), collaborate.ClassRejected, "")
	refused(t, try(telegramtest.Unavailable(http.StatusBadGateway)), collaborate.ClassUnavailable, "retried")
	refused(t, try(telegramtest.LoseAnswer()), collaborate.ClassLost, "")
	refused(t, try(telegramtest.HoldAnswer(nil)), collaborate.ClassTimeout, "retried")
	err := try(telegramtest.TooMany(7 * time.Second))
	refused(t, err, collaborate.ClassRateLimited, "")
	var e *channel.Error
	if errors.As(err, &e); e.Failure.RetryAfter != 7*time.Second {
		t.Errorf("wait %v, want 7 seconds", e.Failure.RetryAfter)
	}
	ctx, cancel := context.WithTimeout(m.ctx, 10*time.Millisecond)
	defer cancel()
	_, err = m.Send(ctx, p)
	refused(t, err, collaborate.ClassUnsent, "")
	equal(t, "how many were sent in spite of an error", len(m.private.Texts()), 3) // with /start

	m.halt()
	_, err = m.Send(m.ctx, p)
	refused(t, err, collaborate.ClassUnsent, "has a token")
}

// Whether a group has topics is requested before a post: if that fails, nothing was posted.
func TestAFailedLookAtAGroupPostsNothing(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	group := m.AddGroup("plain", telegramtest.GroupOptions{}, m.bora, m.ruda.User)
	m.start()
	m.halt()
	m.build() // it has not heard of the group
	m.start()
	for _, effect := range []telegramtest.Effect{telegramtest.Unavailable(http.StatusBadGateway), telegramtest.LoseAnswer()} {
		m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getChat"}, Effect: effect})
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: placeID(group) + ":topic:5", Content: "x"})
		refused(t, err, collaborate.ClassUnsent, "")
	}
}

func TestInvalidPostsAreRefusedHere(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	before := len(m.Requests(telegramtest.Match{Method: "sendMessage"}))
	for _, p := range []channel.Post{
		{AccountID: "ruda", ChannelID: placeID(m.private), Content: " "},
		{AccountID: "ruda", ChannelID: placeID(m.private), Content: strings.Repeat("😀", 2049)},
		{AccountID: "ruda", ChannelID: "123", Content: "x"},
		{AccountID: "ruda", ChannelID: "telegram:x", Content: "x"},
		{AccountID: "ruda", ChannelID: placeID(m.private), Content: "x", Components: []byte(`{`)},
	} {
		_, err := m.Send(m.ctx, p)
		refused(t, err, collaborate.ClassRejected, "")
	}
	_, err := m.Send(m.ctx, channel.Post{AccountID: "eden", ChannelID: fmt.Sprintf("%s.%d", placeID(m.private), m.ruda.ID), Content: "x"})
	refused(t, err, collaborate.ClassForbidden, "the bot that the person talks to")
	equal(t, "requests", len(m.Requests(telegramtest.Match{Method: "sendMessage"})), before)
}

func TestAGroupThatHasBecomeASupergroupIsFollowed(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	old := placeID(m.group)
	now := m.group.Upgrade()
	posted := m.send(channel.Post{AccountID: "ruda", ChannelID: old, Content: "still here"})
	shown := m.shows(now, "still here")
	equal(t, "its id", posted.ID, fmt.Sprintf("%s:%d", placeID(now), shown.MessageID))
}

// refused checks the class of an error and a part of its hint.
func refused(t *testing.T, err error, class collaborate.Class, hint string) {
	t.Helper()
	var e *channel.Error
	if !errors.As(err, &e) {
		t.Errorf("%v, want an error of a channel", err)
		return
	}
	if e.Class != class || e.Class != collaborate.Classify(e.Failure) || !strings.Contains(e.Hint, hint) {
		t.Errorf("%v, of class %s with the hint %q; want %s and %q", err, e.Class, e.Hint, class, hint)
	}
}
