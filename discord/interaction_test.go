package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

const (
	registerRoute = "PUT /applications/{application}/commands"
	listRoute     = "GET /applications/{application}/commands"
	callbackRoute = "POST /interactions/{interaction}/{token}/callback"
)

// clerk is what OnInteraction is in tests.
type clerk struct {
	mu   sync.Mutex
	all  []channel.Interaction
	bots *discord.Bots
	team *team
}

// newClerks makes a team whose interactions are kept, and given to do.
func newClerks(t *testing.T, do func(*clerk, channel.Interaction), how ...func(*discordtest.Options, *channel.Options)) (*team, *clerk) {
	t.Helper()
	c := &clerk{}
	m := newTeam(t, append(how, func(_ *discordtest.Options, o *channel.Options) {
		o.Commands = []channel.Command{{Name: "status", Description: "How it stands"}, {Name: "new", Description: "Begin again"}}
		o.OnInteraction = func(i channel.Interaction) {
			c.mu.Lock()
			c.all = append(c.all, i)
			c.mu.Unlock()
			c.team.wake()
			do(c, i)
			c.team.wake()
		}
	})...)
	c.team, c.bots = m, m.Bots
	return m, c
}

func (c *clerk) told() []channel.Interaction {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func (c *clerk) answer(i channel.Interaction, a channel.InteractionAnswer) {
	if err := c.bots.Answer(c.team.ctx, i, a); err != nil {
		c.team.t.Errorf("answer %s %s: %v", i.Kind, i.Name, err)
	}
}

// registered waits until Discord has the bot's commands.
func (m *team) registered(b *discordtest.Bot) {
	m.t.Helper()
	if err := m.Server.Until(m.ctx, func() bool { return len(m.Commands(b.ID, "")) > 0 }); err != nil {
		m.t.Fatalf("%s to have commands: %v\n%s", b.Username, err, m.log)
	}
}

func (m *team) slash(channelID string, b *discordtest.Bot, name string) discordtest.Interaction {
	m.t.Helper()
	i, err := m.bora.Slash(channelID, b.ID, name)
	if err != nil {
		m.t.Fatalf("bora uses /%s: %v", name, err)
	}
	return i
}

// untilAnswered waits for the first word.
func (m *team) untilAnswered(i discordtest.Interaction) (now discordtest.Interaction) {
	m.t.Helper()
	if err := m.Server.Until(m.ctx, func() bool { now, _ = m.Interaction(i.ID); return now.Answer != 0 }); err != nil {
		m.t.Fatalf("interaction %s to be answered: %v\n%s", i.ID, err, m.log)
	}
	return now
}

func buttons(ids ...string) []byte {
	var parts []map[string]any
	for _, id := range ids {
		parts = append(parts, map[string]any{"type": 2, "style": 1, "label": id, "custom_id": id})
	}
	text, err := json.Marshal([]any{map[string]any{"type": 1, "components": parts}})
	if err != nil {
		panic(err)
	}
	return text
}

func TestInteractionsAreToldOnceOverResume(t *testing.T) {
	t.Parallel()
	m, c := newClerks(t, func(c *clerk, i channel.Interaction) {
		c.answer(i, channel.InteractionAnswer{Text: "heard " + i.Name, Private: true})
	})
	m.start()
	m.registered(m.ruda)
	role := m.guild.Grant(m.bora.ID, 0)
	thread, err := m.bora.StartThread(m.channel.ID, "plans")
	if err != nil {
		t.Fatal(err)
	}
	m.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Type: "INTERACTION_CREATE"}, Effect: discordtest.Duplicate})
	first := m.slash(thread.ID, m.ruda, "status")
	m.untilAnswered(first)
	m.connected(m.ruda)
	m.InjectDispatch(discordtest.DispatchFault{Match: discordtest.DispatchMatch{Type: "INTERACTION_CREATE"}, Effect: discordtest.CutBefore})
	second := m.slash(m.channel.ID, m.ruda, "new")
	state := m.untilAnswered(second)
	m.until("ruda to resume", func() bool { return m.status("ruda").Resumes == 1 })
	m.post(m.channel.ID, "after")
	m.untilTold("ruda", "created after") // all that came before was taken in

	if state.Original == nil || state.Original.Content != "heard new" || state.Original.Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("the answer is %+v, want heard new, for bora alone", state.Original)
	}
	for _, message := range m.Messages(m.channel.ID) {
		if strings.HasPrefix(message.Content, "heard") {
			t.Errorf("the channel holds %q, want private answers to be in no channel", message.Content)
		}
	}
	told := c.told()
	if len(told) != 2 {
		t.Fatalf("told were %d interactions, want each of two once: %v", len(told), told)
	}
	want := channel.Interaction{ID: first.ID, ApplicationID: m.ruda.ID, Token: told[0].Token, Kind: channel.KindCommand, AccountID: "ruda", AgentID: "ruda",
		GuildID: m.guild.ID, ChannelID: thread.ID, ParentID: m.channel.ID, User: channel.User{ID: m.bora.ID, Name: "bora"}, Roles: []string{role}, Name: "status",
		Values: map[string]string{}, At: told[0].At}
	if diff := cmp.Diff(want, told[0]); diff != "" {
		t.Errorf("the interaction (-want +got):\n%s", diff)
	}
	if told[0].At == 0 || told[0].Token.Reveal() != first.Token {
		t.Errorf("the interaction has time %d and token %q, want the time of its id and %q", told[0].At, told[0].Token.Reveal(), first.Token)
	}
}

func TestInteractionsOfConversationsAreTold(t *testing.T) {
	t.Parallel()
	m, c := newClerks(t, func(c *clerk, i channel.Interaction) { c.answer(i, channel.InteractionAnswer{Text: "heard"}) })
	m.start()
	m.registered(m.eden)
	talk, err := m.bora.Conversation(m.eden.ID)
	if err != nil {
		t.Fatal(err)
	}
	m.untilAnswered(m.slash(talk.ID, m.eden, "new"))
	if got := c.told()[0]; got.GuildID != "" || got.ChannelID != talk.ID || got.User.ID != m.bora.ID || got.AccountID != "eden" || got.Group {
		t.Errorf("the interaction is %+v, want one of bora with eden alone", got)
	}
	if all := m.Messages(talk.ID); len(all) != 1 || all[0].Content != "heard" {
		t.Errorf("the conversation holds %+v, want the answer", all)
	}
}

func TestButtonsAskByFormsAndChangeTheirMessage(t *testing.T) {
	t.Parallel()
	m, c := newClerks(t, func(c *clerk, i channel.Interaction) {
		switch {
		case i.Kind == channel.KindButton:
			form := channel.Form{ID: "why", Title: "Reject", Field: "reason", Label: "Why?", Max: 200}
			c.answer(i, channel.InteractionAnswer{Form: &form})
		case i.Kind == channel.KindForm:
			c.answer(i, channel.InteractionAnswer{Text: i.Text + " no, " + i.Values["reason"], Update: true})
		}
	})
	m.start()
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.channel.ID, Content: "go?", Nonce: "1", Components: buttons("yes", "no")}); err != nil {
		t.Fatal(err)
	}
	asked := m.Messages(m.channel.ID)[0]
	clicked, err := m.bora.Click(asked, "no")
	if err != nil {
		t.Fatal(err)
	}
	shown := m.untilAnswered(clicked)
	var form struct {
		Title string `json:"title"`
		Rows  []struct {
			Type  int              `json:"type"`
			Parts []map[string]any `json:"components"`
		} `json:"components"`
	}
	if err := json.Unmarshal(shown.Data, &form); err != nil {
		t.Fatal(err)
	}
	wantField := map[string]any{"type": 4.0, "custom_id": "reason", "style": 2.0, "label": "Why?", "min_length": 1.0, "max_length": 200.0, "required": true}
	if len(form.Rows) != 1 || form.Rows[0].Type != 1 || cmp.Diff([]map[string]any{wantField}, form.Rows[0].Parts) != "" || form.Title != "Reject" {
		t.Errorf("the form is %s, want one row with the field %v", shown.Data, wantField)
	}
	sent, err := m.bora.Submit(shown, "why", []byte(`[{"type":18,"component":{"type":4,"custom_id":"other","value":"x"}},`+
		`{"type":1,"components":[{"type":4,"custom_id":"reason","value":"너무 크다"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	m.untilAnswered(sent)
	told := c.told()
	if got := told[0]; got.Kind != channel.KindButton || got.Name != "no" || got.MessageID != asked.ID || got.Text != "go?" {
		t.Errorf("the button is told as %+v, want no below message %s", got, asked.ID)
	}
	if diff := cmp.Diff(map[string]string{"reason": "너무 크다", "other": "x"}, told[1].Values); diff != "" || told[1].Name != "why" {
		t.Errorf("the form %q is told with (-want +got):\n%s", told[1].Name, diff)
	}
	if now := m.Messages(m.channel.ID)[0]; now.Content != "go? no, 너무 크다" || len(now.Components) != 0 {
		t.Errorf("the message is %q with components %s, want the decision and no buttons", now.Content, now.Components)
	}
}

func TestAnswersMayComeLater(t *testing.T) {
	t.Parallel()
	m, _ := newClerks(t, func(c *clerk, i channel.Interaction) {
		onMessage := i.Kind == channel.KindButton
		c.answer(i, channel.InteractionAnswer{Later: true, Private: true, Update: onMessage})
		if err := c.bots.Amend(c.team.ctx, i, channel.InteractionAnswer{Text: "done at last", Update: onMessage}); err != nil {
			c.team.t.Errorf("amend %s: %v", i.Kind, err)
		}
		if err := c.bots.Add(c.team.ctx, i, channel.InteractionAnswer{Text: "and this", Private: true}); err != nil {
			c.team.t.Errorf("add to %s: %v", i.Kind, err)
		}
	})
	m.start()
	m.registered(m.ruda)
	over := func(i discordtest.Interaction) (now discordtest.Interaction) {
		if err := m.Server.Until(m.ctx, func() bool { now, _ = m.Interaction(i.ID); return len(now.FollowUps) == 1 }); err != nil {
			t.Fatalf("both words to %s: %v, %+v", i.ID, err, now)
		}
		return now
	}
	if now := over(m.slash(m.channel.ID, m.ruda, "status")); now.Answer != discordtest.AnswerDeferred || now.Original.Content != "done at last" ||
		now.Original.Flags&discordtest.FlagEphemeral == 0 || now.FollowUps[0].Content != "and this" {
		t.Errorf("the command ended as %+v, want a private word that was amended, and one more", now)
	}
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.channel.ID, Content: "go?", Nonce: "1", Components: buttons("yes")}); err != nil {
		t.Fatal(err)
	}
	clicked, err := m.bora.Click(m.Messages(m.channel.ID)[0], "yes")
	if err != nil {
		t.Fatal(err)
	}
	now := over(clicked)
	if message := m.Messages(m.channel.ID)[0]; message.Content != "done at last" || len(message.Components) != 0 || now.FollowUps[0].Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("the message is %+v, the interaction %+v, want it amended without buttons, and the rest for bora alone", message, now)
	}
}

func TestTooManyInteractionsAreExcused(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	m, c := newClerks(t, func(_ *clerk, _ channel.Interaction) { <-free })
	m.start()
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	m.registered(m.ruda)
	for range channel.MaxInteractions {
		m.slash(m.channel.ID, m.ruda, "status")
	}
	m.until("all that may be told to be told", func() bool { return len(c.told()) == channel.MaxInteractions })
	m.post(m.channel.ID, "meanwhile")
	m.untilTold("ruda", "created meanwhile") // nothing else waits
	state := m.untilAnswered(m.slash(m.channel.ID, m.ruda, "new"))
	if state.Original == nil || !strings.Contains(state.Original.Content, "in a minute") || state.Original.Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("one too many is answered %+v, want an excuse for bora alone", state.Original)
	}
	ended := make(chan struct{})
	go func() { m.halt(); close(ended) }()
	m.untilState("ruda", health.BotOff)
	select {
	case <-ended:
		t.Error("Run has returned while interactions are told, want it to wait for them")
	default:
	}
	release()
	<-ended
	if n := len(c.told()); n != channel.MaxInteractions {
		t.Errorf("told were %d interactions, want %d: what was excused is not told", n, channel.MaxInteractions)
	}
}

func TestTokensOfInteractionsAreNeverShown(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var refusals []error
	m, c := newClerks(t, func(c *clerk, i channel.Interaction) {
		err := c.bots.Answer(c.team.ctx, i, channel.InteractionAnswer{Text: "heard"})
		mu.Lock()
		defer mu.Unlock()
		refusals = append(refusals, err)
	})
	m.start()
	m.registered(m.ruda)
	effects := []discordtest.Effect{discordtest.Cut(), discordtest.Unavailable(http.StatusBadGateway), discordtest.NotFound(discordtest.CodeUnknownInteraction)}
	for n, effect := range effects {
		m.Inject(discordtest.Fault{Match: discordtest.Match{Route: callbackRoute}, Effect: effect})
		m.slash(m.channel.ID, m.ruda, "status")
		m.until("the answer to fail", func() bool { mu.Lock(); defer mu.Unlock(); return len(refusals) == n+1 })
	}
	m.halt()
	for n, want := range []collaborate.Class{collaborate.ClassLost, collaborate.ClassUnavailable, collaborate.ClassNotFound} {
		var refused *channel.Error
		if !errors.As(refusals[n], &refused) || refused.Class != want {
			t.Errorf("answer %d fails with %v, want class %s", n, refusals[n], want)
		}
		i := c.told()[n]
		for _, shown := range []string{fmt.Sprint(refusals[n]), fmt.Sprintf("%+v %#v", i, i), m.log.String()} {
			if strings.Contains(shown, i.Token.Reveal()) {
				t.Errorf("the token of interaction %d is shown in %s", n, shown)
			}
		}
	}
}

func TestWhatCannotBeAnAnswerIsNotAsked(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	good := channel.Interaction{ID: "1", ApplicationID: "2", Token: "abc", AccountID: "ruda", ChannelID: "3"}
	for name, c := range map[string]struct {
		change func(*channel.Interaction)
		answer channel.InteractionAnswer
	}{
		"no text":       {func(*channel.Interaction) {}, channel.InteractionAnswer{}},
		"too long":      {func(*channel.Interaction) {}, channel.InteractionAnswer{Text: strings.Repeat("가", collaborate.MaxMessage+1)}},
		"no id":         {func(i *channel.Interaction) { i.ID = "../1" }, channel.InteractionAnswer{Text: "x"}},
		"no token":      {func(i *channel.Interaction) { i.Token = "" }, channel.InteractionAnswer{Text: "x"}},
		"path as token": {func(i *channel.Interaction) { i.Token = config.Secret("a/../b") }, channel.InteractionAnswer{Text: "x"}},
		"no such bot":   {func(i *channel.Interaction) { i.AccountID = "stranger" }, channel.InteractionAnswer{Text: "x"}},
	} {
		i := good
		c.change(&i)
		for _, say := range []error{m.Answer(m.ctx, i, c.answer), m.Amend(m.ctx, i, c.answer), m.Add(m.ctx, i, c.answer)} {
			var refused *channel.Error
			if !errors.As(say, &refused) || !refused.Local {
				t.Errorf("%s: the error is %v, want a refusal of our own", name, say)
			}
		}
	}
	if all := m.RequestsTo(discordtest.Match{Route: callbackRoute}); len(all) != 0 {
		t.Errorf("Discord was asked %d times, want none", len(all))
	}
}

func TestComponentsAreBounded(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	for name, components := range map[string]string{"no array": `{"type":1}`, "no JSON": `[`, "too much": "[" + strings.Repeat(" ", discord.MaxComponents) + "]"} {
		_, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: m.channel.ID, Content: "x", Nonce: "1", Components: json.RawMessage(components)})
		var refused *channel.Error
		if !errors.As(err, &refused) || !refused.Local || refused.Class != collaborate.ClassRejected {
			t.Errorf("%s: the error is %v, want a refusal of our own", name, err)
		}
	}
}

// lines is a log, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func (l lines) until(t *testing.T, ctx context.Context, what string) {
	t.Helper()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, what) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("waited in vain for a line of the log with %q", what)
		}
	}
}

func TestCommandsAreRegisteredOnceAndAfterAChange(t *testing.T) {
	t.Parallel()
	m, _ := newClerks(t, func(*clerk, channel.Interaction) {})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: registerRoute, Bot: m.ruda.ID}, Effect: discordtest.Unavailable(http.StatusServiceUnavailable)})
	m.start()
	m.registered(m.ruda)
	m.registered(m.eden)
	m.connected(m.ruda)
	m.ruda.Invalidate() // a new session, the same bot
	m.post(m.channel.ID, "hi")
	m.until("ruda to be told", func() bool { return len(m.told("ruda")) > 0 && m.status("ruda").Connections == 2 })
	m.halt()
	count := func(route string, b *discordtest.Bot) int {
		return len(m.RequestsTo(discordtest.Match{Route: route, Bot: b.ID}))
	}
	if lists, puts := count(listRoute, m.ruda), count(registerRoute, m.ruda); lists != 2 || puts != 2 {
		t.Errorf("ruda listed %d times and registered %d times, want 2 and 2: one that failed, one that was taken", lists, puts)
	}
	if lists, puts := count(listRoute, m.eden), count(registerRoute, m.eden); lists != 1 || puts != 1 {
		t.Errorf("eden listed %d times and registered %d times, want once each", lists, puts)
	}

	again := func(commands ...channel.Command) {
		written := make(lines, 100)
		next := &team{t: t, settings: m.settings, stopped: make(chan struct{}), Bots: discord.New(channel.Options{Transport: m.Transport(),
			Commands: commands, Least: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(written, nil))})}
		next.run()
		for range 2 { // bots
			written.until(t, m.ctx, "commands registered")
		}
		next.halt()
	}
	again(channel.Command{Name: "new", Description: "Begin again"}, channel.Command{Name: "status", Description: "How it stands"})
	if puts := count(registerRoute, m.ruda); puts != 2 {
		t.Errorf("the same commands in another order were registered: %d times in all, want 2", puts)
	}
	again(channel.Command{Name: "other", Description: "Something else"})
	if all := m.Commands(m.ruda.ID, ""); len(all) != 1 {
		t.Errorf("Discord has %+v, want the new command alone", all)
	}
}

func TestRefusedCommandsLeaveTheBotAsItIs(t *testing.T) {
	t.Parallel()
	written := make(lines, 100)
	m, _ := newClerks(t, func(*clerk, channel.Interaction) {}, func(_ *discordtest.Options, o *channel.Options) {
		o.Log = slog.New(slog.NewTextHandler(written, nil))
	})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: registerRoute, Bot: m.ruda.ID}, Times: -1, Effect: discordtest.Forbidden()})
	m.start()
	written.until(t, m.ctx, "rejects the bot's commands")
	m.registered(m.eden)
	m.post(m.channel.ID, "hi")
	m.untilTold("ruda", "created hi")
	m.halt()
	if n := len(m.RequestsTo(discordtest.Match{Route: registerRoute, Bot: m.ruda.ID})); n != 1 {
		t.Errorf("ruda asked %d times, want once: what is refused is not asked again", n)
	}
}
