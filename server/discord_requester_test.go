package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// The requesting session is told the answer while its run still goes on: no run starts because of it, and the next run of that session
// reads it, after complete tool calls.
func TestRequesterReadsTheAnswerInItsNextRun(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		switch {
		case a.Agent == "eden":
			return a2atest.Say("괜찮아 보여요")
		case a.Agent != "ruda":
			return a2atest.Say(a.Agent + " has heard")
		case strings.Contains(a.Message(), "뭐래"):
			return a2atest.Say("괜찮대요")
		case !strings.Contains(a.Message(), "물어봐줘"):
			return a2atest.Say("NO_REPLY")
		case !a.AfterTool():
			return ask("eden", "코드 리뷰 해줘")
		}
		select {
		case <-answered:
		case <-a.Context.Done():
		}
		return a2atest.Say("전달했습니다")
	}})
	team.says(team.dev.ID, "%s 이든한테 물어봐줘", team.at("ruda"))
	team.await("the answer", func() bool { return len(team.events(coordination.TypeA2ACollaborateResponded)) == 1 })
	close(answered)
	team.quiet()
	if got, want := team.runs(), "ruda 2, eden 1"; got != want { // ruda's of the request, and the one that reads eden's answer in the thread
		t.Errorf("runs are %q, want %q: none because of the note", got, want)
	}
	before := len(team.asked("ruda"))
	team.says(team.dev.ID, "%s 이든이 뭐래?", team.at("ruda"))
	team.quiet()
	asked := team.asked("ruda")
	if len(asked) != before+1 {
		t.Fatalf("ruda's model was asked %d times more, want once", len(asked)-before)
	}
	last := asked[before]
	note := "[이든 answered in [협업] 루다 → 이든 · 코드 리뷰 해줘]\n괜찮아 보여요"
	at := slices.IndexFunc(last.Messages, func(m a2atest.Message) bool { return m.Role == "user" && m.Text == note })
	if at < 0 || at == len(last.Messages)-1 {
		t.Fatalf("ruda reads %+v, want %q before the question", last.Messages, note)
	}
	for i, m := range last.Messages {
		if m.Calls > 0 && (i+1 == len(last.Messages) || last.Messages[i+1].Role != "tool") {
			t.Errorf("a call of a tool is followed by %+v, want its result", last.Messages[i+1:])
		}
	}
}
