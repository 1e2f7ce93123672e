package telegram_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/telegram"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestMessagesBecomeFacts(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	topic := m.forum.OpenTopic("plans")
	said, err := m.bora.Send(m.forum, telegramtest.Draft{Text: "@ruda_bot, look at Bora <@1>", Topic: topic, Mention: []telegramtest.User{m.bora.User}})
	if err != nil {
		t.Fatal(err)
	}
	text := "created <@" + id(m.ruda.User) + ">, look at <@" + id(m.bora.User) + "> <\u2060@1>"
	for _, account := range []string{"ruda", "eden"} {
		in := m.fact(account, text)
		f := in.Message
		equal(t, "the message's id", f.ID, fmt.Sprintf("%s:%d", placeID(m.forum), said.MessageID))
		equal(t, "the topic", f.ChannelID, fmt.Sprintf("%s:topic:%d", placeID(m.forum), topic))
		equal(t, "its group", f.ParentID, placeID(m.forum))
		equal(t, "its group as guild", f.GuildID, placeID(m.forum))
		equal(t, "its name", f.ThreadName, "plans")
		equal(t, "the reply of a message that is none", f.ReplyTo, "")
		equal(t, "the author", f.Author.User, channel.User{ID: id(m.bora.User), Name: "Bora"})
		if len(f.Mentions) != 2 || f.Mentions[0].ID != id(m.ruda.User) {
			t.Errorf("mentions %+v, want ruda and Bora", f.Mentions)
		}
	}
	m.write(m.private, "psst")
	f := m.fact("ruda", "created psst").Message
	equal(t, "a private chat", f.ChannelID, fmt.Sprintf("telegram:%d.%d", m.bora.ID, m.ruda.ID))
	equal(t, "its guild", f.GuildID, "")
	if _, err := m.bora.Send(m.private, telegramtest.Draft{Text: "a picture", Photo: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if f := m.fact("ruda", "created a picture").Message; len(f.Attachments) != 1 || f.Attachments[0].Type != "image/jpeg" || f.Attachments[0].Size != 1 {
		t.Errorf("attachments %+v, want the picture", f.Attachments)
	}
}

func TestMessagesOfBasicGroupsHaveOneID(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.write(m.private, "so that the bots count differently")
	said := m.write(m.group, "@ruda_bot hello")
	text := "created <@" + id(m.ruda.User) + "> hello"
	a, b := m.fact("ruda", text).Message, m.fact("eden", text).Message
	equal(t, "the ids that both bots have", a.ID, b.ID)
	if err := m.bora.Edit(said, "@ruda_bot goodbye"); err != nil {
		t.Fatal(err)
	}
	edited := m.fact("ruda", "edited <@"+id(m.ruda.User)+"> goodbye").Message
	equal(t, "the id after an edit", edited.ID, a.ID)
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.group), Content: "a reply", ReplyTo: a.ID})
	if reply := m.shows(m.group, "a reply"); reply.ReplyTo == nil || reply.ReplyTo.Text != "@ruda_bot goodbye" {
		t.Errorf("%+v, want a reply", reply)
	}
}

func TestUpdatesAreConfirmedWhenTheyAreStored(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	entered, release := make(chan struct{}, 10), make(chan struct{})
	m.hold = func(channel.Inbound) {
		entered <- struct{}{}
		<-release
	}
	m.write(m.private, "one")
	<-entered
	m.write(m.private, "two")
	equal(t, "what is pending while the first is being stored", m.ruda.Pending(), 2)
	m.stop()
	close(release)
	<-m.stopped

	m.mu.Lock()
	m.hold, m.facts = nil, nil
	m.mu.Unlock()
	m.build()
	m.start2()
	m.fact("ruda", "created two")
	if all := m.told("ruda"); !slices.Contains(all, "created one") {
		t.Errorf("%q after a restart, want also the one that was not confirmed", all)
	}
}

func TestNothingIsReceivedBeforeAllBotsAreKnown(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	release := make(chan struct{})
	m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getMe", Bot: m.ruda.ID}, Effect: telegramtest.Hold(release)})
	m.write(m.forum, "@ruda_bot hello")
	m.run()
	if _, err := m.WaitRequest(m.ctx, telegramtest.Match{Method: "getMyCommands", Bot: m.eden.ID}); err != nil {
		t.Fatal(err)
	}
	close(release)
	m.fact("eden", "created <@"+id(m.ruda.User)+"> hello")
}

func TestARepeatedUpdateHasTheSameID(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.write(m.private, "once")
	first := m.fact("ruda", "created once")
	if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}
	m.ruda.Unconfirm(1)
	m.until("the same message again", func() bool { return len(m.told("ruda")) == 2 })
	m.mu.Lock()
	defer m.mu.Unlock()
	equal(t, "its id", m.facts[1].Message.ID, first.Message.ID)
}

func TestConnectionsAreRestored(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	outage := m.Outage()
	m.write(m.private, "during the outage") // ends the request that waits
	m.untilState("ruda", health.BotFailed)
	equal(t, "the class", m.status("ruda").Class, telegram.ClassNetwork)
	m.write(m.private, "also then")
	outage.Remove()
	m.fact("ruda", "created during the outage")
	m.fact("ruda", "created also then")
	m.untilState("ruda", health.BotReady)

	m.ruda.Revoke()
	m.write(m.private, "after the token was revoked")
	m.until("the token to be rejected", func() bool { return m.status("ruda").Class == telegram.ClassToken })
	if s := m.status("ruda"); !strings.Contains(s.Hint, "channels.telegram.accounts.ruda.botToken") {
		t.Errorf("hint %q, want the setting", s.Hint)
	}
	m.ruda.Restore()
	m.fact("ruda", "created after the token was revoked")
}

func TestAWebhookInTheWayIsRemoved(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getUpdates", Bot: m.ruda.ID}, Effect: telegramtest.Refuse(http.StatusConflict,
		"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")})
	m.start()
	if _, err := m.WaitRequest(m.ctx, telegramtest.Match{Method: "deleteWebhook", Bot: m.ruda.ID}); err != nil {
		t.Error(err)
	}
}

func TestAnotherPollerIsReported(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	other := m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getUpdates", Bot: m.ruda.ID}, Times: -1, Effect: telegramtest.Refuse(http.StatusConflict,
		"Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")})
	m.run()
	m.until("the conflict", func() bool { return m.status("ruda").Class == telegram.ClassConflict })
	other.Remove()
	m.untilState("ruda", health.BotReady)
}

func TestMissingRightsAreExplained(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	if s := m.status("ruda"); !strings.Contains(s.Missing, "privacy mode") || !strings.Contains(s.MissingHint, "/setprivacy") {
		t.Errorf("%+v, want privacy mode to be named", s)
	}
	equal(t, "of the bot without privacy mode", m.status("eden").Missing, "")
	for _, tt := range []struct {
		account string
		chat    *telegramtest.Chat
		hint    string
	}{
		{"ruda", m.forum, ""},
		{"eden", m.forum, "manage topics"},
		{"ruda", m.group, "/setprivacy"},
		{"eden", m.group, ""},
		{"ruda", m.private, ""},
	} {
		err := m.Rights(m.ctx, tt.account, placeID(tt.chat))
		var refused *channel.Error
		hint := ""
		if errors.As(err, &refused) {
			hint = refused.Hint
		}
		if (err == nil) != (tt.hint == "") || !strings.Contains(hint, tt.hint) {
			t.Errorf("%s in %s: %v, want a hint with %q", tt.account, tt.chat.Title, err, tt.hint)
		}
	}
}

func TestSightFollowsMemberships(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	blind := func(account string) bool {
		for _, b := range m.Sight(placeID(m.forum), placeID(m.forum), "") {
			if b.AccountID == account {
				return b.Blind
			}
		}
		return true
	}
	equal(t, "in the group", blind("eden"), false)
	m.forum.Remove(m.eden.User)
	m.until("eden to be blind", func() bool {
		m.wakeLater()
		return blind("eden")
	})
	m.forum.Add(m.eden.User)
	m.until("eden to see", func() bool {
		m.wakeLater()
		return !blind("eden")
	})
}

func TestTokensAreInNoErrorOrLog(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	secret := strings.Split(m.ruda.Token, ":")[1]
	for _, effect := range []telegramtest.Effect{telegramtest.Cut(), telegramtest.LoseAnswer(), telegramtest.Refuse(http.StatusBadRequest, "Bad Request: "+m.ruda.Token),
		telegramtest.Unavailable(http.StatusBadGateway)} {
		m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "sendMessage"}, Effect: effect})
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: placeID(m.private), Content: "x"})
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", errors.Unwrap(err)), secret) {
			t.Errorf("%v, want an error without the token", err)
		}
	}
	outage := m.Outage()
	m.write(m.private, "x")
	m.untilState("ruda", health.BotFailed)
	outage.Remove()
	m.untilState("ruda", health.BotReady)
	if strings.Contains(m.log.String(), secret) || strings.Contains(fmt.Sprintf("%+v", m.Status()), secret) {
		t.Errorf("the token is in the log or a status:\n%s", m.log)
	}
}

func TestConfigureLeavesOtherBotsAlone(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	connections := m.status("eden").Connections
	m.accounts["ruda"]["enabled"] = false
	m.Configure(m.read())
	equal(t, "the disabled one", m.status("ruda").State, health.BotOff)
	m.write(m.private, "while it is off")
	m.accounts["ruda"]["enabled"] = true
	m.Configure(m.read())
	m.fact("ruda", "created while it is off")
	equal(t, "connections of the other one", m.status("eden").Connections, connections)
}

// start2 runs the bots without waiting for what they have heard.
func (m *team) start2() {
	m.t.Helper()
	m.run()
	m.untilState("ruda", health.BotReady)
}

// wakeLater wakes until after a moment, for what no fact or status reports.
func (m *team) wakeLater() { time.AfterFunc(5*time.Millisecond, m.wake) }

// An update that cannot be read stops no other, neither before a restart nor after one.
func TestAnUnreadableUpdateIsSkipped(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.ruda.Tell("message", map[string]any{"message_id": "seven", "chat": 7})
	m.write(m.private, "after it")
	m.fact("ruda", "created after it")
	if err := m.ruda.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}
	if log := m.log.String(); strings.Count(log, "cannot read an update") != 1 {
		t.Errorf("the log says\n%s", log)
	}
	equal(t, "the state", m.status("ruda").State, health.BotReady)
}

// A bot that is refused again and again although Telegram knows it is tried ever more rarely.
func TestFailuresAfterTheGreetingCountToo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var waits []time.Duration
	m := newTeam(t, func(o *channel.Options) {
		o.Least, o.Most = 7*time.Millisecond, 60*time.Millisecond
		o.Jitter = func(d time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, d)
			return d
		}
	})
	delete(m.accounts, "eden")
	m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getUpdates"}, Times: 6, Effect: telegramtest.Unavailable(http.StatusBadGateway)})
	m.run()
	m.untilState("ruda", health.BotReady)
	mu.Lock()
	defer mu.Unlock()
	if want := []time.Duration{7, 14, 28, 56, 60, 60}; len(waits) != len(want) || !slices.IsSorted(waits) || waits[5] != 60*time.Millisecond {
		t.Errorf("it waited %v, want %v ms", waits, want)
	}
}
