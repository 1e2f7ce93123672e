package discordtest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func button(id string) []discordgo.MessageComponent {
	return []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
		discordgo.Button{Label: id, CustomID: id}, discordgo.Button{Label: "off", CustomID: "off", Disabled: true},
	}}}
}

// state of an interaction that a test knows to be there.
func (m *team) state(i discordtest.Interaction) discordtest.Interaction {
	m.t.Helper()
	now, is := m.Interaction(i.ID)
	if !is {
		m.t.Fatalf("interaction %s is not there", i.ID)
	}
	return now
}

func TestButtonsAreAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda := m.client(m.ruda, intents).start()
	ruda.AddHandler(func(s *discordgo.Session, i *discordgo.InteractionCreate) {
		if i.Member == nil || i.Member.User.ID != m.bora.ID || i.MessageComponentData().CustomID != "approve" || i.Message == nil {
			t.Errorf("the interaction is %+v, want bora's click on approve with its message", i.Interaction)
		}
		if err := s.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseUpdateMessage,
			Data: &discordgo.InteractionResponseData{Content: "approved"}}); err != nil {
			t.Error(err)
		}
		err := s.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate})
		wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeAlreadyAnswered)
		secret := &discordgo.WebhookParams{Content: "only you", Flags: discordgo.MessageFlagsEphemeral}
		if _, err := s.FollowupMessageCreate(i.Interaction, true, secret); err != nil {
			t.Error(err)
		}
	})
	_, err := ruda.ChannelMessageSendComplex(m.channel.ID, &discordgo.MessageSend{Content: "approve?", Components: button("approve")})
	must(t, 0, err)
	asked := m.Messages(m.channel.ID)[0]
	if _, err := m.bora.Click(asked, "off"); err == nil {
		t.Error("a disabled button can be clicked")
	}
	clicked, err := m.bora.Click(asked, "approve")
	must(t, clicked, err)
	if err := m.Until(ctx, func() bool { return len(m.state(clicked).FollowUps) == 1 }); err != nil {
		t.Fatal(err)
	}
	state, all := m.state(clicked), m.Messages(m.channel.ID)
	if len(all) != 1 || all[0].Content != "approved" || state.FollowUps[0].Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("the channel holds %+v, the interaction %+v, want the message changed and the rest only for bora", all, state)
	}
}

func TestSlashCommandsAreAnswered(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	ruda := m.client(m.ruda, intents).start()
	which := &discordgo.ApplicationCommandOption{Type: discordgo.ApplicationCommandOptionString, Name: "task", Description: "which", Required: true}
	_, err := ruda.ApplicationCommandBulkOverwrite(m.ruda.ID, m.guild.ID, []*discordgo.ApplicationCommand{
		{Name: "status", Description: "how are tasks", Options: []*discordgo.ApplicationCommandOption{which}}})
	must(t, 0, err)
	if all, err := ruda.ApplicationCommands(m.ruda.ID, m.guild.ID); err != nil || len(all) != 1 || all[0].Name != "status" {
		t.Errorf("registered are %v, %v, want status", all, err)
	}
	_, err = ruda.ApplicationCommandCreate(m.ruda.ID, "", &discordgo.ApplicationCommand{Name: "Bad Name", Description: "x"})
	wantRefusal(t, err, http.StatusBadRequest, discordtest.CodeInvalidForm)
	for name, try := range map[string]func() (discordtest.Interaction, error){
		"unknown":        func() (discordtest.Interaction, error) { return m.bora.Slash(m.channel.ID, m.ruda.ID, "nothing") },
		"of another bot": func() (discordtest.Interaction, error) { return m.bora.Slash(m.channel.ID, m.eden.ID, "status") },
		"without option": func() (discordtest.Interaction, error) { return m.bora.Slash(m.channel.ID, m.ruda.ID, "status") },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: the command can be used", name)
		}
	}
	ruda.AddHandler(func(s *discordgo.Session, i *discordgo.InteractionCreate) {
		task := i.ApplicationCommandData().Options[0].StringValue()
		if _, err := s.FollowupMessageCreate(i.Interaction, true, &discordgo.WebhookParams{Content: "early"}); err == nil {
			t.Error("there is a follow-up before any answer")
		}
		later := &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource}
		if err := s.InteractionRespond(i.Interaction, later); err != nil {
			t.Error(err)
		}
		content := "task " + task + " runs"
		if _, err := s.InteractionResponseEdit(i.Interaction, &discordgo.WebhookEdit{Content: &content}); err != nil {
			t.Error(err)
		}
		if _, err := s.FollowupMessageCreate(i.Interaction, true, &discordgo.WebhookParams{Content: "more later"}); err != nil {
			t.Error(err)
		}
	})
	used, err := m.bora.Slash(m.channel.ID, m.ruda.ID, "status", discordtest.TextOption("task", "T-1"))
	must(t, used, err)
	if err := m.Until(ctx, func() bool { return len(m.state(used).FollowUps) == 1 }); err != nil {
		t.Fatal(err)
	}
	if all := m.Messages(m.channel.ID); len(all) != 2 || all[0].Content != "task T-1 runs" || all[0].Flags&discordtest.FlagLoading != 0 ||
		all[0].Type != discordtest.SlashCommandMessage || all[1].Content != "more later" {
		t.Errorf("the channel holds %+v, want the answer and what follows", all)
	}
}

func TestInteractionsExpire(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ruda := m.rest(m.ruda)
	if _, err := ruda.ApplicationCommandCreate(m.ruda.ID, "", &discordgo.ApplicationCommand{Name: "slow", Description: "takes long"}); err != nil {
		t.Fatal(err)
	}
	later := &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource}
	used := must(t, first(m.bora.Slash(m.channel.ID, m.ruda.ID, "slow")), nil)
	m.clock.advance(4 * time.Second)
	err := ruda.InteractionRespond(&discordgo.Interaction{ID: used.ID, AppID: m.ruda.ID, Token: used.Token}, later)
	wantRefusal(t, err, http.StatusNotFound, discordtest.CodeUnknownInteraction)
	again := must(t, first(m.bora.Slash(m.channel.ID, m.ruda.ID, "slow")), nil)
	it := &discordgo.Interaction{ID: again.ID, AppID: m.ruda.ID, Token: again.Token}
	if err := ruda.InteractionRespond(it, later); err != nil {
		t.Fatal(err)
	}
	m.clock.advance(15 * time.Minute)
	content := "done"
	_, err = ruda.InteractionResponseEdit(it, &discordgo.WebhookEdit{Content: &content})
	wantRefusal(t, err, http.StatusUnauthorized, discordtest.CodeWebhookToken)
}

func TestModalsAndChoices(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ruda := m.rest(m.ruda)
	if _, err := ruda.ApplicationCommandCreate(m.ruda.ID, "", &discordgo.ApplicationCommand{Name: "ask", Description: "a form"}); err != nil {
		t.Fatal(err)
	}
	answer := func(i discordtest.Interaction, kind discordgo.InteractionResponseType, data *discordgo.InteractionResponseData) error {
		it := &discordgo.Interaction{ID: i.ID, AppID: m.ruda.ID, Token: i.Token}
		return ruda.InteractionRespond(it, &discordgo.InteractionResponse{Type: kind, Data: data})
	}
	typed := must(t, first(m.bora.Complete(m.channel.ID, m.ruda.ID, "ask")), nil)
	wantRefusal(t, answer(typed, discordgo.InteractionResponseModal, nil), http.StatusBadRequest, discordtest.CodeInvalidForm)
	if err := answer(typed, discordgo.InteractionApplicationCommandAutocompleteResult, &discordgo.InteractionResponseData{}); err != nil {
		t.Fatal(err)
	}
	used := must(t, first(m.bora.Slash(m.channel.ID, m.ruda.ID, "ask")), nil)
	if _, err := m.bora.Submit(used, "form", []byte(`[]`)); err == nil {
		t.Error("a form that was not shown can be sent")
	}
	if err := answer(used, discordgo.InteractionResponseModal, &discordgo.InteractionResponseData{CustomID: "form", Title: "Form"}); err != nil {
		t.Fatal(err)
	}
	sent := must(t, first(m.bora.Submit(used, "form", []byte(`[]`))), nil)
	thanks := &discordgo.InteractionResponseData{Content: "thanks"}
	if err := answer(sent, discordgo.InteractionResponseChannelMessageWithSource, thanks); err != nil {
		t.Fatal(err)
	}
	if all := m.Messages(m.channel.ID); len(all) != 1 || all[0].Content != "thanks" || m.state(sent).Original.ID != all[0].ID {
		t.Errorf("the channel holds %+v, want the thanks", all)
	}
}

func TestWebhooksPostWithoutABot(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	eden := m.client(m.eden, intents).start()
	ruda := m.rest(m.ruda)
	_, err := ruda.WebhookCreate(m.channel.ID, "reporter", "")
	wantRefusal(t, err, http.StatusForbidden, discordtest.CodeMissingPermissions)
	m.guild.Grant(m.ruda.ID, discordtest.ManageWebhooks)
	hook, err := ruda.WebhookCreate(m.channel.ID, "reporter", "")
	must(t, hook, err)
	thread := must(t, first(m.bora.StartThread(m.channel.ID, "[리포트] a2a")), nil)
	report := &discordgo.WebhookParams{Content: "report", Username: "ruda (report)"}
	posted, err := ruda.WebhookThreadExecute(hook.ID, hook.Token, true, thread.ID, report)
	must(t, posted, err)
	if _, err := ruda.WebhookExecute(hook.ID, hook.Token, false, &discordgo.WebhookParams{Content: "no answer wanted"}); err != nil {
		t.Fatal(err)
	}
	seen := read[discordtest.Message](t, eden.until(ctx, "MESSAGE_CREATE", 2)[1].data) // the first is the note of the thread
	if seen.WebhookID != hook.ID || seen.Author.Username != "ruda (report)" || seen.ChannelID != thread.ID || seen.Author.ID == m.ruda.ID {
		t.Errorf("eden was told %+v, want the webhook's words in the thread", seen)
	}
	content := "report, again"
	if _, err := ruda.WebhookMessageEdit(hook.ID, hook.Token, posted.ID, &discordgo.WebhookEdit{Content: &content}); err == nil {
		t.Error("a message in a thread is found without the thread's id")
	}
	_, err = ruda.WebhookExecute(hook.ID, "wrong", true, &discordgo.WebhookParams{Content: "x"})
	wantRefusal(t, err, http.StatusUnauthorized, discordtest.CodeWebhookToken)
	if err := ruda.WebhookDelete(hook.ID); err != nil {
		t.Fatal(err)
	}
	_, err = ruda.WebhookExecute(hook.ID, hook.Token, true, &discordgo.WebhookParams{Content: "x"})
	wantRefusal(t, err, http.StatusNotFound, discordtest.CodeUnknownWebhook)
}
