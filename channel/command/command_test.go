package command_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestSessionsAreResetWhereTheyAre(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{settings: `,"dmPolicy":"open"`, root: `,"session":{"dmScope":"per-channel-peer"}`})
	thread, err := h.bora.StartThread(h.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	talk, err := h.bora.Conversation(h.eden.ID)
	if err != nil {
		t.Fatal(err)
	}
	h.wantPrivate("in the channel", h.slash(h.bora, h.channel.ID, h.ruda, "reset"), "The session with ruda starts over")
	h.wantPrivate("in the thread", h.slash(h.bora, thread.ID, h.eden, "new"), "The session with eden starts over")
	h.wantPrivate("directly", h.slash(h.bora, talk.ID, h.eden, "new"), "eden")
	by := fmt.Sprintf(" by bora (discord %s)", h.bora.ID)
	want := []string{"reset agent:ruda:discord:channel:" + h.channel.ID + by, "new agent:eden:discord:channel:" + thread.ID + by,
		"new agent:eden:discord:direct:" + h.bora.ID + by}
	if diff := cmp.Diff(want, h.sessions.done()); diff != "" {
		t.Errorf("resets (-want +got):\n%s", diff)
	}
	if all := h.Messages(talk.ID); len(all) != 0 {
		t.Errorf("the conversation holds %+v, want answers for bora alone", all)
	}
}

func TestConversationsThatAreBoundElsewhereAreReset(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{settings: `,"dmPolicy":"allowlist","allowFrom":["<@$bora>"]`,
		root: `,"bindings":[{"agentId":"eden","match":{"channel":"discord","accountId":"*","peer":{"kind":"direct","id":"$bora"}}},` +
			`{"agentId":"ruda","match":{"channel":"discord","accountId":"ruda"}},{"agentId":"eden","match":{"channel":"discord","accountId":"eden"}}]`})
	talk, err := h.bora.Conversation(h.ruda.ID)
	if err != nil {
		t.Fatal(err)
	}
	h.wantPrivate("what bora says to ruda's bot is eden's", h.slash(h.bora, talk.ID, h.ruda, "new"), "eden")
	if did := h.sessions.done(); len(did) != 1 || !strings.HasPrefix(did[0], "new agent:eden:main ") {
		t.Errorf("resets are %q, want that of eden's main session", did)
	}
}

// The main session is shared by all who write to the agent directly: a stranger does not end what others have said there.
func TestStrangersDoNotResetTheMainSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{settings: `,"dmPolicy":"open","allowFrom":["*"],"collaboration":{"escalation":{"mentionUserId":"$bora"}}`})
	for person, may := range map[*discordtest.Human]bool{h.dan: false, h.bora: true} {
		talk, err := person.Conversation(h.ruda.ID)
		if err != nil {
			t.Fatal(err)
		}
		before := len(h.sessions.done())
		answer := map[bool]string{false: "not yours alone", true: "starts over"}[may]
		h.wantPrivate(person.Username+"'s reset", h.slash(person, talk.ID, h.ruda, "reset"), answer)
		if did := len(h.sessions.done()) - before; (did == 1) != may {
			t.Errorf("%s's reset restarted %d sessions, want it to: %v", person.Username, did, may)
		}
	}
}

func TestStatusFitsAMessage(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	got := h.slash(h.bora, h.channel.ID, h.ruda, "status")
	h.wantPrivate("status", got, "all is well with agent:ruda:discord:channel:"+h.channel.ID)
	if n := utf8.RuneCountInString(got.Original.Content); n > collaborate.MaxMessage {
		t.Errorf("the answer has %d characters, want at most %d", n, collaborate.MaxMessage)
	}
}

func TestUnknownCommandsAreToldSo(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	h.wantPrivate("a command of another application", h.slash(h.bora, h.channel.ID, h.ruda, "other"), "/new, /reset and /status")
	if did := h.sessions.done(); len(did) != 0 {
		t.Errorf("done was %q, want nothing", did)
	}
}

func TestCommandsAreForThoseWhoMaySpeak(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		direct   bool
		bora     string // part of the answer
		dan      string
	}{
		"open":                    {"", false, "starts over", "starts over"},
		"closed":                  {`,"groupPolicy":"disabled"`, false, "is not listed in", "is not listed in"},
		"guild that is no listed": {`,"groupPolicy":"allowlist"`, false, "is not listed in", "is not listed in"},
		"guild that is listed":    {`,"groupPolicy":"allowlist","guilds":{"$guild":{}}`, false, "starts over", "starts over"},
		"user that is listed":     {`,"guilds":{"$guild":{"users":["$bora"]}}`, false, "starts over", "You may not"},
		"all users are listed":    {`,"guilds":{"$guild":{"users":["*"]}}`, false, "starts over", "starts over"},
		"another channel":         {`,"guilds":{"$guild":{"channels":{"123456789012345678":{}}}}`, false, "is not listed in", "is not listed in"},
		"this channel":            {`,"guilds":{"$guild":{"channels":{"$channel":{}}}}`, false, "starts over", "starts over"},
		"other guilds only":       {`,"collaboration":{"allowedGuilds":["123456789012345678"]}`, false, "is not listed in", "is not listed in"},
		"directly, paired":        {`,"allowFrom":["$bora"]`, true, "starts over", "You may not"},
		"directly, anybody":       {`,"dmPolicy":"allowlist","allowFrom":["*"]`, true, "starts over", "starts over"},
		"directly, closed":        {`,"dmPolicy":"disabled","allowFrom":["$bora"]`, true, "is not listed in", "is not listed in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, setup{settings: c.settings})
			for _, one := range []struct {
				who  *discordtest.Human
				want string
			}{{h.bora, c.bora}, {h.dan, c.dan}} {
				place := h.channel.ID
				if c.direct {
					talk, err := one.who.Conversation(h.ruda.ID)
					if err != nil {
						t.Fatal(err)
					}
					place = talk.ID
				}
				h.wantPrivate(one.who.Username, h.slash(one.who, place, h.ruda, "new"), one.want)
			}
		})
	}
}

func TestRolesMaySpeakAndDecide(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{settings: `,"guilds":{"$guild":{"roles":["$role"]}}`})
	asked := h.ask("task-1")
	h.wantPrivate("bora is without the role", h.click(h.bora, asked, "approve:task-1"), "You may not decide")
	h.wantPrivate("bora is without the role", h.slash(h.bora, h.channel.ID, h.ruda, "new"), "You may not speak")
	h.wantPrivate("dan has the role", h.slash(h.dan, h.channel.ID, h.ruda, "new"), "starts over")
	h.click(h.dan, asked, "approve:task-1")
	if now := h.message(asked.ID); !strings.Contains(now.Content, "approved by dan") {
		t.Errorf("dan has the role, and the message is %q, want it approved", now.Content)
	}
}

// renamed are bots of another channel.
type renamed struct{ *discord.Bots }

func (renamed) Name() string { return coordination.Telegram }

// Where no one is listed who may decide, everyone who may speak decides in Discord, and no one elsewhere: what a button sends can be made up.
func TestApprovalsOfOtherChannelsNeedAList(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	conf, _ := config.Load(filepath.Join(t.TempDir(), "none.json"), func(string) string { return "" })
	handler := command.New(command.Options{Bots: renamed{h.bots}, Sessions: h.sessions, Approvals: h.approvals, Config: func() *config.Config { return conf },
		Now: time.Now, Logger: slog.New(slog.NewTextHandler(h.log, nil)), Patience: time.Second})
	handler.Handle(t.Context(), channel.Interaction{ID: "1", Kind: channel.KindButton, AccountID: "ruda", AgentID: "ruda", ChannelID: "telegram:-1001", GuildID: "telegram:-1001",
		User: channel.User{ID: "7", Name: "stranger"}, Name: "approve:task-1"})
	if calls := h.approvals.calls(); len(calls) > 0 {
		t.Errorf("%q, want nothing decided by one who is not listed", calls)
	}
}

// Those who may write in a group of another channel than Discord decide nothing there; those of allowFrom do.
func TestPeopleOfGroupsDecideNothingElsewhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	conf, _ := config.Load(filepath.Join(t.TempDir(), "none.json"), func(string) string { return "" })
	conf.Telegram.AllowFrom, conf.Telegram.Guilds = []string{"8"}, []config.Guild{{ID: "telegram:-1001", Users: []string{"7"}}}
	handler := command.New(command.Options{Bots: renamed{h.bots}, Sessions: h.sessions, Approvals: h.approvals, Config: func() *config.Config { return conf },
		Now: time.Now, Logger: slog.New(slog.NewTextHandler(h.log, nil)), Patience: time.Second})
	for n, user := range []string{"7", "8"} {
		handler.Handle(t.Context(), channel.Interaction{ID: user, Kind: channel.KindButton, AccountID: "ruda", AgentID: "ruda", ChannelID: "telegram:-1001", GuildID: "telegram:-1001",
			User: channel.User{ID: user, Name: "someone"}, Name: "approve:task-1"})
		if calls := h.approvals.calls(); len(calls) != n {
			t.Errorf("%s: %q, want decisions of those of allowFrom only", user, calls)
		}
	}
}

func TestInternalFailuresAreLoggedOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{sessions: &sessions{fail: errors.New("the disk is full of geheim")}})
	for _, name := range []string{"new", "status"} {
		got := h.slash(h.bora, h.channel.ID, h.ruda, name)
		h.wantPrivate(name, got, "did not work")
		if strings.Contains(got.Original.Content, "geheim") || !strings.Contains(got.Original.Content, got.ID) {
			t.Errorf("/%s is answered %q, want the interaction's id and nothing of the error", name, got.Original.Content)
		}
	}
	if !strings.Contains(h.log.String(), "the disk is full") {
		t.Errorf("the log is\n%s\nwant the error in it", h.log)
	}
}

func TestDefectsDoNotEndTheProgram(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{sessions: &sessions{mad: true}})
	got := h.slash(h.bora, h.channel.ID, h.ruda, "status")
	h.wantPrivate("status", got, "did not work")
	if strings.Contains(got.Original.Content, "geheim") || !strings.Contains(h.log.String(), "panic") {
		t.Errorf("it is answered %q, and the log is\n%s\nwant the panic in the log alone", got.Original.Content, h.log)
	}
}

func TestLongWorkIsAnsweredLater(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	h := newFixture(t, setup{patience: time.Millisecond, sessions: &sessions{hold: hold}, approvals: &fakeApprovals{hold: hold}})
	slow := h.slash(h.bora, h.channel.ID, h.ruda, "reset")
	asked := h.ask("task-1")
	pressed := h.click(h.bora, asked, "approve:task-1")
	if slow.Answer != discordtest.AnswerDeferred || pressed.Answer != discordtest.AnswerDeferredUpdate || h.message(asked.ID).Content != asked.Content {
		t.Errorf("while it is done the command is answered with %d, the button with %d, want %d and %d, and the message as it was",
			slow.Answer, pressed.Answer, discordtest.AnswerDeferred, discordtest.AnswerDeferredUpdate)
	}
	close(hold)
	slow = h.until(slow, "the end", func(now discordtest.Interaction) bool { return strings.Contains(now.Original.Content, "starts over") })
	if slow.Original.Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("the late answer is %+v, want it for bora alone", slow.Original)
	}
	h.until(pressed, "the decision", func(discordtest.Interaction) bool {
		return strings.Contains(h.message(asked.ID).Content, "approved by bora")
	})
	if now := h.message(asked.ID); len(now.Components) != 0 {
		t.Errorf("the message keeps its buttons: %s", now.Components)
	}
	again := h.ask("task-2")
	h.approvals.mu.Lock()
	h.approvals.decided["task-2"] = "approved by another person"
	h.approvals.mu.Unlock()
	late := h.click(h.dan, again, "approve:task-2")
	h.until(late, "why not", func(now discordtest.Interaction) bool {
		told := slices.Clone(now.FollowUps)
		if now.Original != nil { // it was faster than a millisecond
			told = append(told, *now.Original)
		}
		return slices.ContainsFunc(told, func(m discordtest.Message) bool {
			return m.Flags&discordtest.FlagEphemeral != 0 && m.Content == "approved by another person"
		})
	})
}

func TestButtonsOfLongIDsAreNone(t *testing.T) {
	t.Parallel()
	bots := discord.New(channel.Options{})
	if got := bots.Components(command.Buttons(coordination.English, strings.Repeat("가", 93))); got != nil {
		t.Errorf("the buttons of an id of 93 characters are %s, want none: Discord takes no such id", got)
	}
	if got := bots.Components(command.Buttons(coordination.English, "")); got != nil {
		t.Errorf("the buttons of no id are %s, want none", got)
	}
	if only := command.RejectButton(coordination.English, "call_1"); len(only) != 1 || only[0].ID != "reject:call_1" || command.RejectButton(coordination.English, "") != nil {
		t.Errorf("a request that is not shown as a whole has the buttons %+v, want reject:call_1 only", only)
	}
	var rows []struct {
		Type  int `json:"type"`
		Parts []struct {
			Type int    `json:"type"`
			ID   string `json:"custom_id"`
		} `json:"components"`
	}
	if err := json.Unmarshal(bots.Components(command.Buttons(coordination.English, "task-1")), &rows); err != nil || len(rows) != 1 || rows[0].Type != 1 || len(rows[0].Parts) != 2 ||
		rows[0].Parts[0].ID != "approve:task-1" || rows[0].Parts[1].ID != "reject:task-1" || rows[0].Parts[0].Type != 2 {
		t.Errorf("the buttons are %+v, %v, want a row with approve:task-1 and reject:task-1", rows, err)
	}
}
