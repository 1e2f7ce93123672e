package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/command"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
)

func TestApprovalsAreToldBelowTheirButtons(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	asked := h.ask("task-1")
	h.click(h.bora, asked, "approve:task-1")
	decided := "approved by bora (discord " + h.bora.ID + ")"
	now := h.message(asked.ID)
	if want := asked.Content + "\n\n" + decided; now.Content != want || len(now.Components) != 0 {
		t.Errorf("the message is %q with buttons %s, want %q and none", now.Content, now.Components, want)
	}
	if err := h.Until(h.ctx, func() bool { return len(h.approvals.calls()) == 1 }); err != nil {
		t.Fatal(err)
	}
	if _, err := h.bora.Click(now, "approve:task-1"); err == nil {
		t.Error("the button can be pressed again, want it gone")
	}
}

// Requests for approval of a call have a third button, for such calls from now on; others do not.
func TestCallsAreApprovedForGood(t *testing.T) {
	t.Parallel()
	if n := len(command.Buttons(coordination.English, "task-1")); n != 2 {
		t.Errorf("a task has %d buttons", n)
	}
	h := newFixture(t, setup{})
	asked := h.ask("call_1")
	h.click(h.bora, asked, "always:call_1")
	if now, want := h.message(asked.ID), "approved for good by bora (discord "+h.bora.ID+")"; !strings.HasSuffix(now.Content, want) || len(now.Components) != 0 {
		t.Errorf("the message is %q with buttons %s, want %q at its end and none", now.Content, now.Components, want)
	}
}

func TestSecondPressShowsDecision(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	asked, again := h.ask("task-1"), discordtest.Message{}
	p, err := h.bots.Send(h.ctx, channel.Post{AccountID: "ruda", ChannelID: h.channel.ID, Content: "deploy, again?", Nonce: "again", Components: buttonsOf(asked)})
	if err != nil {
		t.Fatal(err)
	}
	again = h.message(p.ID)
	h.click(h.bora, asked, "approve:task-1")
	h.wantPrivate("approved before", h.click(h.dan, again, "approve:task-1"), "approved by bora")
	shown := h.click(h.dan, again, "reject:task-1")
	h.wantPrivate("approved before", h.answered(h.dan.Submit(shown, "reject:task-1", reason("late"))), "approved by bora")
	if now := h.message(again.ID); now.Content != "deploy, again?" {
		t.Errorf("the other message is %q, want it as it was", now.Content)
	}
}

func buttonsOf(m discordtest.Message) []byte {
	text := "["
	for n, c := range m.Components {
		if n > 0 {
			text += ","
		}
		text += string(c)
	}
	return []byte(text + "]")
}

func reason(text string) []byte {
	value, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return []byte(`[{"type":1,"components":[{"type":4,"custom_id":"reason","value":` + string(value) + `}]}]`)
}

func TestRejectingAsksForAReason(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	asked := h.ask("task-1")
	shown := h.click(h.bora, asked, "reject:task-1")
	if shown.Answer != discordtest.AnswerModal || len(h.approvals.calls()) != 0 {
		t.Fatalf("the answer is %d and the service was asked %q, want a form first", shown.Answer, h.approvals.calls())
	}
	h.answered(h.bora.Submit(shown, "reject:task-1", reason("너무 크다")))
	if diff := cmp.Diff([]string{"rejected, 너무 크다, task-1"}, h.approvals.calls()); diff != "" {
		t.Errorf("the service was asked (-want +got):\n%s", diff)
	}
	if now := h.message(asked.ID); !strings.HasSuffix(now.Content, "rejected, 너무 크다, by bora (discord "+h.bora.ID+")") || len(now.Components) != 0 {
		t.Errorf("the message is %q with buttons %s, want the decision and none", now.Content, now.Components)
	}
}

func TestDecisionsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings  string
		bora, dan bool
	}{
		"no user is named":              {"", true, true},
		"no user is listened to":        {`,"groupPolicy":"disabled"`, false, false},
		"user of the guild":             {`,"guilds":{"$guild":{"users":["$bora"]}}`, true, false},
		"all users of the guild":        {`,"guilds":{"$guild":{"users":["*"]}}`, true, true},
		"allowFrom":                     {`,"allowFrom":["discord:$bora"]`, true, false},
		"allowFrom beside users":        {`,"allowFrom":["$bora"],"guilds":{"$guild":{"users":["$dan"]}}`, true, true},
		"any user in allowFrom is none": {`,"allowFrom":["*"],"guilds":{"$guild":{"users":["$dan"]}}`, false, true},
		"who is told of escalations":    {`,"collaboration":{"escalation":{"mentionUserId":"$bora"}}`, true, false},
		"who is told of no answer":      {`,"a2aRetry":{"escalationMentionId":"$dan"},"guilds":{"$guild":{"users":["$bora"]}}`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, setup{settings: c.settings})
			for _, one := range []struct {
				who *discordtest.Human
				may bool
			}{{h.bora, c.bora}, {h.dan, c.dan}} {
				id := "task-" + one.who.Username
				asked := h.ask(id)
				shown := h.click(one.who, asked, "reject:"+id)
				if is := shown.Answer == discordtest.AnswerModal; is != one.may {
					t.Errorf("%s is shown a form: %t, want %t", one.who.Username, is, one.may)
				}
				pressed := h.click(one.who, asked, "approve:"+id)
				if one.may {
					if now := h.message(asked.ID); !strings.Contains(now.Content, "approved by "+one.who.Username) {
						t.Errorf("%s may decide, and the message is %q, want it approved", one.who.Username, now.Content)
					}
					continue
				}
				if pressed.Original == nil || pressed.Original.Flags&discordtest.FlagEphemeral == 0 || len(h.approvals.calls()) > 0 && strings.Contains(strings.Join(h.approvals.calls(), " "), id) {
					t.Errorf("%s may not decide: the answer is %+v, the service was asked %q, want a private no", one.who.Username, pressed.Original, h.approvals.calls())
				}
				if now := h.message(asked.ID); now.Content != asked.Content || len(now.Components) == 0 {
					t.Errorf("the message is %q with buttons %s, want it as it was", now.Content, now.Components)
				}
			}
		})
	}
}

func TestStrangeButtonsAndFormsDoNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	p, err := h.bots.Send(h.ctx, channel.Post{AccountID: "ruda", ChannelID: h.channel.ID, Content: "x", Nonce: "1",
		Components: []byte(`[{"type":1,"components":[{"type":2,"style":1,"label":"x","custom_id":"strange"}]}]`)})
	if err != nil {
		t.Fatal(err)
	}
	h.wantPrivate("a strange button", h.click(h.bora, h.message(p.ID), "strange"), "do not know this button")
	shown := h.click(h.bora, h.ask("task-1"), "reject:task-1")
	h.wantPrivate("a strange form", h.answered(h.bora.Submit(shown, "strange", reason("x"))), "do not know this form")
	if all := h.approvals.calls(); len(all) != 0 {
		t.Errorf("the service was asked %q, want nothing", all)
	}
}

func TestApprovalErrorsArePrivate(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	asked := h.ask("broken")
	h.wantPrivate("a failure", h.click(h.bora, asked, "approve:broken"), "did not work")
	if now := h.message(asked.ID); now.Content != asked.Content || len(now.Components) == 0 {
		t.Errorf("the message is %q with buttons %s, want it as it was, to be pressed again", now.Content, now.Components)
	}
	if !strings.Contains(h.log.String(), "the disk is full") {
		t.Errorf("the log is\n%s\nwant the error in it", h.log)
	}
}

func TestLongMessagesKeepTheDecision(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{})
	long := strings.Repeat("가", 1995)
	p, err := h.bots.Send(h.ctx, channel.Post{AccountID: "ruda", ChannelID: h.channel.ID, Content: long, Nonce: "1", Components: buttonsOf(h.ask("task-1"))})
	if err != nil {
		t.Fatal(err)
	}
	h.click(h.bora, h.message(p.ID), "approve:task-1")
	if now := h.message(p.ID).Content; !strings.HasPrefix(now, "가가") || !strings.HasSuffix(now, "approved by bora (discord "+h.bora.ID+")") {
		t.Errorf("the message ends with %q, want the decision below what is left of it", now[len(now)-60:])
	}
}
