package server

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// twoRequests has ruda ask eden what a person says, in one thread. Eden answers B at once, and A only when it is reminded of it.
func twoRequests(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
	switch message := a.Message(); {
	case a.Agent == "ruda" && a.AfterTool():
		return a2atest.Say("전달했습니다")
	case a.Agent == "ruda" && strings.Contains(message, "A를 물어봐"):
		return ask("eden", "A: 배포 일정 알려줘", "threadName", "일정")
	case a.Agent == "ruda" && strings.Contains(message, "B를 물어봐"):
		return ask("eden", "B: 리뷰 일정 알려줘", "threadName", "일정")
	case a.Agent == "eden" && strings.Contains(message, "B: 리뷰 일정"):
		return a2atest.Say("리뷰는 내일입니다")
	case a.Agent == "eden" && strings.Contains(message, "[리마인더]"):
		return a2atest.Say("배포는 모레입니다")
	}
	return a2atest.Say("NO_REPLY")
}

// The reply to B closes B, though A has waited longer; A is reminded of, and closed by the reply to that. No person is called.
func TestTheRequestThatWasAnsweredIsClosed(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: twoRequests})
	team.says(team.dev.ID, "%s A를 물어봐", team.at("ruda"))
	team.quiet()
	team.advance(time.Minute)
	team.says(team.dev.ID, "%s B를 물어봐", team.at("ruda"))
	team.quiet()
	requests := team.requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests are sent, want two\n%s", len(requests), team.story())
	}
	closed := func() (ids []string) {
		for _, r := range said[coordination.A2ACollaborate](team, coordination.TypeA2ACollaborateResponded) {
			ids = append(ids, r.CollabID)
		}
		return ids
	}
	if diff := gocmp.Diff([]string{requests[1].CollabID}, closed()); diff != "" {
		t.Errorf("requests that are answered, want B alone (-want +got):\n%s", diff)
	}
	team.advance(4 * time.Minute)
	team.quiet()
	team.advance(time.Hour)
	team.quiet()
	if diff := gocmp.Diff([]string{requests[1].CollabID, requests[0].CollabID}, closed()); diff != "" {
		t.Errorf("requests that are answered after a reminder (-want +got):\n%s", diff)
	}
	want := []string{"루다: " + team.at("eden") + "\n\nA: 배포 일정 알려줘", "루다: " + team.at("eden") + "\n\nB: 리뷰 일정 알려줘", "이든: 리뷰는 내일입니다",
		"루다: [리마인더] " + team.at("eden") + " 위 요청 확인 부탁해요.", "이든: 배포는 모레입니다"}
	if diff := gocmp.Diff(want, team.texts(team.thread(team.dev.ID).ID)); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
	if list := team.events(coordination.TypeCollabEscalated); len(list) != 0 {
		t.Errorf("people are told of %d requests, want none", len(list))
	}
}
