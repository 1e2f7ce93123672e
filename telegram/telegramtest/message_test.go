package telegramtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestRefusalsAreInTelegramsWords(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	stranger := m.AddPerson("Stranger")
	other := m.AddGroup("other", telegramtest.GroupOptions{}, m.bora)
	topic := m.forum.OpenTopic("plans")
	m.forum.CloseTopic(topic)
	sent := m.send(m.ruda, params{"chat_id": m.group.ID, "text": "x"})
	with := func(more params) params {
		p := params{"chat_id": m.group.ID, "text": "y"}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	for _, tt := range []struct {
		method string
		params params
		code   int
		says   string
	}{
		{"sendMessage", with(params{"chat_id": ""}), 400, "Bad Request: chat_id is empty"},
		{"sendMessage", with(params{"chat_id": -5}), 400, "Bad Request: chat not found"},
		{"sendMessage", with(params{"chat_id": other.ID}), 400, "Bad Request: chat not found"},
		{"sendMessage", with(params{"chat_id": 12}), 400, "Bad Request: chat not found"},
		{"sendMessage", with(params{"chat_id": stranger.ID}), 403, "Forbidden: bot can't initiate conversation with a user"},
		{"sendMessage", with(params{"chat_id": m.ruda.ID}), 403, "Forbidden: bots can't send messages to bots"},
		{"sendMessage", with(params{"text": " \n"}), 400, "Bad Request: message text is empty"},
		{"sendMessage", with(params{"text": strings.Repeat("x", 4097)}), 400, "Bad Request: message is too long"},
		{"sendMessage", with(params{"text": strings.Repeat("😀", 2049)}), 400, "Bad Request: message is too long"},
		{"sendMessage", with(params{"parse_mode": "Markup"}), 400, "Bad Request: unsupported parse_mode"},
		{"sendMessage", with(params{"reply_parameters": params{"message_id": 999}}), 400, "Bad Request: message to be replied not found"},
		{"sendMessage", with(params{"message_thread_id": 999}), 400, "Bad Request: message thread not found"},
		{"sendMessage", with(params{"reply_markup": buttons(strings.Repeat("x", 65))}), 400, "Bad Request: BUTTON_DATA_INVALID"},
		{"editMessageText", with(params{"message_id": 999}), 400, "Bad Request: message to edit not found"},
		{"editMessageText", with(params{"message_id": sent.MessageID, "text": "x"}), 400, "Bad Request: message is not modified: specified new message " +
			"content and reply markup are exactly the same as a current content and reply markup of the message"},
		{"deleteMessage", with(params{"message_id": 999}), 400, "Bad Request: message to delete not found"},
		{"setMessageReaction", with(params{"message_id": sent.MessageID, "reaction": []params{{"type": "emoji", "emoji": "x"}}}), 400, "Bad Request: REACTION_INVALID"},
		{"answerCallbackQuery", params{"callback_query_id": "1"}, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		{"getFile", params{"file_id": "x"}, 400, "Bad Request: invalid file_id"},
		{"createForumTopic", params{"chat_id": m.group.ID, "name": "x"}, 400, "Bad Request: the chat is not a forum"},
		{"sendChatAction", with(params{"action": "sleeping"}), 400, "Bad Request: wrong parameter action in request"},
		{"noSuchMethod", nil, 404, "Not Found: method not found"},
	} {
		a := m.ask(m.ruda, tt.method, tt.params)
		if a.Code != tt.code || a.Description != tt.says {
			t.Errorf("%s %v: %d %q, want %d %q", tt.method, tt.params, a.Code, a.Description, tt.code, tt.says)
		}
	}
	closed := params{"chat_id": m.forum.ID, "text": "x", "message_thread_id": topic}
	equal(t, "a closed topic", m.ask(m.eden, "sendMessage", closed).Description, "Bad Request: TOPIC_CLOSED")
	equal(t, "a closed topic, for who manages topics", m.ask(m.ruda, "sendMessage", closed).OK, true)
	equal(t, "a topic without the right", m.ask(m.eden, "createForumTopic", params{"chat_id": m.forum.ID, "name": "x"}).Description,
		"Bad Request: not enough rights to create a topic")
	m.bora.Block(m.ruda, true)
	equal(t, "a blocked bot", m.ask(m.ruda, "sendMessage", params{"chat_id": m.bora.ID, "text": "x"}).Description, "Forbidden: bot was blocked by the user")
	m.group.Remove(m.ruda.User)
	equal(t, "a removed bot", m.ask(m.ruda, "sendMessage", with(nil)).Description, "Forbidden: bot was kicked from the supergroup chat")
	m.ruda.Revoke()
	equal(t, "a revoked token", m.ask(m.ruda, "getMe", nil).Code, http.StatusUnauthorized)
}

func TestMarkdownIsParsedAsTelegramDoes(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	for _, tt := range []struct{ text, want string }{
		{"*bold _both_* ~gone~", "bold both gone [bold 0-9 italic 5-4 strikethrough 10-4]"},
		{"__under__ ||secret||", "under secret [underline 0-5 spoiler 6-6]"},
		{"`a*b` 😀 `c`", "a*b 😀 c [code 0-3 code 7-1]"},
		{"```go\nx := 1\n```", "x := 1 [pre 0-7 go]"},
		{"```\na\\`b\\\\```", "a`b\\ [pre 0-4]"},
		{"[web](https://a.example/x_\\)y)", "web [text_link 0-3 https://a.example/x_)y]"},
		{">quoted\n>more\nrest\\.", "quoted\nmore\nrest. [blockquote 0-12]"},
		{"1\\. done\\!", "1. done! []"},
		{"a.b", "can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'"},
		{"*open", "can't parse entities: Can't find end of Bold entity at byte offset 0"},
		{"a _b", "can't parse entities: Can't find end of Italic entity at byte offset 2"},
		{"[x](http://a", "can't parse entities: Can't find end of a URL at byte offset 4"},
		{"see @ruda_bot and /go https://a.example.", "can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'"},
		{"see @ruda\\_bot and /go", "see @ruda_bot and /go [mention 4-9 bot_command 18-3]"},
	} {
		a := m.ask(m.ruda, "sendMessage", params{"chat_id": m.private.ID, "text": tt.text, "parse_mode": "MarkdownV2"})
		got := strings.TrimPrefix(a.Description, "Bad Request: ")
		if a.OK {
			sent := parse[telegramtest.Message](t, a.Result)
			var all []string
			for _, e := range sent.Entities {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d-%d %s%s", e.Type, e.Offset, e.Length, e.URL, e.Language)))
			}
			got = sent.Text + " [" + strings.Join(all, " ") + "]"
		}
		equal(t, tt.text, got, strings.ReplaceAll(tt.want, "pre 0-7 go", "pre 0-6 go"))
	}
}

func TestPrivacyModeHidesWhatIsNotForTheBot(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	m.heard(m.eden)
	m.send(m.eden, params{"chat_id": m.group.ID, "text": "from a bot"})
	m.write(m.group, "/last")
	mine := m.send(m.ruda, params{"chat_id": m.group.ID, "text": "mine"})
	on, err := m.group.WaitMessage(m.context(), func(o telegramtest.Message) bool { return o.MessageID == mine.MessageID })
	if err != nil {
		t.Fatal(err)
	}
	m.write(m.group, "nothing for anyone")
	m.write(m.group, "@ruda_bot hello")
	m.write(m.group, "/go@ruda_bot now")
	m.write(m.group, "/go@eden_bot now")
	m.write(m.group, "/general")
	if _, err := m.bora.Reply(on, "a reply"); err != nil {
		t.Fatal(err)
	}
	same(t, "with privacy mode", m.heard(m.ruda), "@ruda_bot hello", "/go@ruda_bot now", "/general", "a reply")
	same(t, "without", m.heard(m.eden), "/last", "nothing for anyone", "@ruda_bot hello", "/go@ruda_bot now", "/go@eden_bot now", "/general", "a reply")
	m.group.Promote(m.ruda.User, telegramtest.Rights{})
	m.write(m.group, "for all")
	same(t, "as an administrator", m.heard(m.ruda), "for all")
}

func TestIDsDependOnTheChat(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	basic := m.AddGroup("basic", telegramtest.GroupOptions{Basic: true}, m.bora, m.ruda.User, m.eden.User)
	m.send(m.ruda, params{"chat_id": m.private.ID, "text": "one more in ruda's private chats"})
	said := m.write(basic, "@ruda_bot hello")
	if a, b := m.ruda.IDFor(said), m.eden.IDFor(said); a == b {
		t.Errorf("both bots know the message as %d", a)
	}
	said = m.write(m.group, "@ruda_bot hello")
	equal(t, "in a supergroup", m.ruda.IDFor(said), m.eden.IDFor(said))

	now := basic.Upgrade()
	a := m.ask(m.ruda, "sendMessage", params{"chat_id": basic.ID, "text": "x"})
	equal(t, "why", a.Description, "Bad Request: group chat was upgraded to a supergroup chat")
	equal(t, "its new id", a.Parameters.MigrateTo, now.ID)
	m.send(m.ruda, params{"chat_id": now.ID, "text": "x"})
}

func TestTopics(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.eden)
	topic := parse[struct {
		ID   int    `json:"message_thread_id"`
		Name string `json:"name"`
	}](t, m.must(m.ruda, "createForumTopic", params{"chat_id": m.forum.ID, "name": "plans"}))
	sent := m.send(m.ruda, params{"chat_id": m.forum.ID, "message_thread_id": topic.ID, "text": "in it"})
	if !sent.IsTopicMessage || sent.ThreadID != topic.ID || sent.ReplyTo == nil || sent.ReplyTo.TopicCreated.Name != "plans" {
		t.Errorf("%+v, want it in the topic", sent)
	}
	if _, err := m.bora.Send(m.forum, telegramtest.Draft{Text: "me too", Topic: topic.ID}); err != nil {
		t.Fatal(err)
	}
	var got []telegramtest.Update
	for _, u := range m.updates(m.eden, nil) {
		if u.Message != nil && u.Message.Text != "" {
			got = append(got, u)
		}
	}
	if len(got) != 1 || got[0].Message.ThreadID != topic.ID {
		t.Fatalf("%+v, want one message of the topic", got)
	}
	m.must(m.ruda, "closeForumTopic", params{"chat_id": m.forum.ID, "message_thread_id": topic.ID})
	if all := m.forum.Topics(); len(all) != 1 || !all[0].Closed {
		t.Errorf("%+v, want it closed", all)
	}
}

func TestButtonsFilesAndReactions(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	sent := m.send(m.ruda, params{"chat_id": m.private.ID, "text": "approve?", "reply_markup": buttons("yes")})
	on, err := m.private.WaitMessage(m.context(), func(o telegramtest.Message) bool { return o.Text == "approve?" })
	if err != nil {
		t.Fatal(err)
	}
	press, err := m.bora.Press(on, "yes")
	if err != nil {
		t.Fatal(err)
	}
	q := m.updates(m.ruda, nil)[0].CallbackQuery
	equal(t, "the data", q.Data, "yes")
	m.must(m.ruda, "answerCallbackQuery", params{"callback_query_id": q.ID, "text": "thanks"})
	if a, is := press.Answer(); !is || a.Text != "thanks" {
		t.Errorf("%+v, want an answer", a)
	}
	m.must(m.ruda, "editMessageText", params{"chat_id": m.private.ID, "message_id": sent.MessageID, "text": "approved"})
	m.must(m.ruda, "setMessageReaction", params{"chat_id": m.private.ID, "message_id": sent.MessageID, "reaction": []params{{"type": "emoji", "emoji": "🎉"}}})
	all := m.private.Messages()
	last := all[len(all)-1]
	if last.Text != "approved" || last.ReplyMarkup != nil || last.EditDate == 0 || last.Reactions[m.ruda.ID][0] != "🎉" {
		t.Errorf("%+v, want it edited, without buttons, with a reaction", last)
	}
	if _, err := m.bora.Send(m.private, telegramtest.Draft{Text: "look", Photo: []byte("a picture")}); err != nil {
		t.Fatal(err)
	}
	updates := m.updates(m.ruda, nil)
	photo := updates[len(updates)-1].Message
	got := parse[struct {
		Path string `json:"file_path"`
	}](t, m.must(m.ruda, "getFile", params{"file_id": photo.Photo[0].FileID}))
	equal(t, "the file", fetch(t, m.URL()+"/file/bot"+m.ruda.Token+"/"+got.Path), "a picture")
}

func TestLimitsAndFaults(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{Limits: &telegramtest.Limits{Chat: telegramtest.Limit{Messages: 1, Per: time.Second}}})
	p := params{"chat_id": m.private.ID, "text": "x"}
	m.send(m.ruda, p)
	a := m.ask(m.ruda, "sendMessage", p)
	equal(t, "the second one", a.Description, "Too Many Requests: retry after 1")
	equal(t, "how long", a.Parameters.RetryAfter, 1)
	m.clock.advance(time.Second)
	m.send(m.ruda, p)
	m.SetLimits(*telegramtest.NoLimits())

	before := len(m.private.Texts())
	try := func(e telegramtest.Effect) (answer, error) {
		m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "sendMessage", Chat: m.private.ID}, Effect: e})
		return ask(m.context(), m.Server, m.ruda.Token, "sendMessage", p)
	}
	if _, err := try(telegramtest.Cut()); err == nil {
		t.Error("an answer came through a cut connection")
	}
	equal(t, "after a cut connection", len(m.private.Texts()), before)
	if _, err := try(telegramtest.LoseAnswer()); err == nil {
		t.Error("an answer came that was to be lost")
	}
	equal(t, "after a lost answer", len(m.private.Texts()), before+1)
	refused, err := try(telegramtest.TooMany(3 * time.Second))
	if err != nil || refused.Parameters.RetryAfter != 3 {
		t.Errorf("%+v, %v: want 429", refused, err)
	}
	denied, err := try(telegramtest.Deny(502))
	if err != nil || denied.Description != "Bad Gateway" {
		t.Errorf("%+v, %v: want 502", denied, err)
	}
	equal(t, "after a denial", len(m.private.Texts()), before+2)
	outage := m.Outage()
	if _, err := ask(m.context(), m.Server, m.ruda.Token, "getMe", nil); err == nil {
		t.Error("an answer came during an outage")
	}
	outage.Remove()
	m.must(m.ruda, "getMe", nil)
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	return string(get(t, address))
}
