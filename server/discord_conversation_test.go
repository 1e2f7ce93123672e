package server

import (
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A collaboration is a conversation: requests, answers and other messages of the thread appear under conversation.main with sender and
// text, in one work session for all requests, which is quiet once all are answered.
func TestACollaborationIsAConversation(t *testing.T) {
	t.Parallel()
	team, thread := collaborating(t, discordSetting{answer: asksEden(
		part{"ruda", "하나 더 물어봐", ask("eden", "배포 일정 알려줘")},
		part{"eden", "배포 일정 알려줘", a2atest.Say("내일입니다.")},
		part{"eden", "누가 고쳐요?", a2atest.Say("제가 고칠게요.")})})
	team.says(thread.ID, "누가 고쳐요?")
	team.quiet()
	team.says(team.dev.ID, "%s 하나 더 물어봐", team.at("ruda"))
	team.quiet()

	sessions := map[string]bool{}
	for _, e := range team.events("a2a.collaborate.") {
		var d coordination.A2ACollaborate
		team.read(&e, &d)
		sessions[d.WorkSessionID] = true
	}
	if len(sessions) != 1 {
		t.Fatalf("two requests in one thread are %d work sessions: %v\n%s", len(sessions), sessions, team.story())
	}
	id := ""
	for id = range sessions {
	}
	var lines []string
	for _, e := range read[struct {
		Events []struct {
			Data struct{ FromAgent, ToAgent, Message string }
		}
	}](t, team.reloading, "/api/events?limit=1000&role=conversation.main&workSessionId="+id).Events {
		lines = append([]string{fmt.Sprintf("%s>%s: %s", e.Data.FromAgent, e.Data.ToAgent, e.Data.Message)}, lines...)
	}
	for _, want := range []string{"ruda>eden: @이든\n\n코드 리뷰 해줘", "eden>ruda: 리뷰했습니다. 두 군데를 고쳐야 합니다.", "병욱>: 누가 고쳐요?", "eden>ruda: 제가 고칠게요.",
		"ruda>eden: @이든\n\n배포 일정 알려줘", "eden>ruda: 내일입니다."} {
		n := 0
		for _, line := range lines {
			if line == want {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q is read %d times, want once, in\n%q", want, n, lines)
		}
	}
	for _, s := range read[struct {
		Sessions []struct{ WorkSessionID, Status string }
	}](t, team.reloading, "/api/work-sessions").Sessions {
		if s.WorkSessionID == id && s.Status != string(coordination.StatusQuiet) {
			t.Errorf("the work session is %s, want it to be quiet: all is answered\n%s", s.Status, team.story())
		}
	}
}

// A refused request is reported and makes no work session.
func TestARefusedRequestMakesNoWorkSession(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: play(part{"ruda", "물어봐", ask("ruda", "나야")}, part{"ruda", "", a2atest.Say("안 되네요")})})
	team.says(team.dev.ID, "%s 물어봐", team.at("ruda"))
	team.quiet()
	failed := said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateFailed)
	if len(failed) != 1 || failed[0].WorkSessionID != "" {
		t.Errorf("refusals %+v, want one, in no work session", failed)
	}
	same(t, "work sessions", len(read[struct {
		Sessions []struct{ WorkSessionID string }
	}](t, team.reloading, "/api/work-sessions").Sessions), 0)
}
