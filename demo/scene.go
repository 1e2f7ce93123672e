package demo

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/response"
)

// Places of the script.
const (
	inChannel = "#dev"
	inThread  = "스레드"
	inSecond  = "스레드 2"
)

// human is the person in the script.
const human = "병욱"

// cast lists the agents by their display names, the default one first.
var cast = [...]actor{{"ruda", "루다"}, {"eden", "이든"}, {"seum", "세움"}, {"dajim", "다짐"}}

// actor is an agent of the script.
type actor struct{ id, name string }

// stranger is the agent that never takes part in the first thread.
const stranger = "dajim"

// threadNames are the names of the threads that the requests open.
var threadNames = []string{"[협업] 루다 → 이든 · 코드 리뷰 해줘", "[협업] 루다 → 다짐 · 배포 일정 알려줘"}

// asked is the index, in scene order, of the message that openclawd why is asked about: the one that mentions a third
// agent.
const asked = 6

// act is one step of the example: its messages, and the participants of the thread at its end.
type act struct {
	title   string
	later   time.Duration // by which the clock is advanced before
	lines   []line
	present string // participants at the last message; "": not checked
	target  string // of the request that is looked at then
	status  response.Status
}

// line is a message and the expected verdicts. People's messages are written, agents' messages are waited for.
type line struct{ in, who, text, verdict string }

// scene is the example of the seed, "Agent Collaboration v2", 3.5, and then a request that is not answered.
func scene() []act {
	return []act{
		{
			title: `루다가 collaborate(eden, "코드 리뷰 해줘")를 호출합니다. 스레드가 생기고 루다와 이든이 참여자가 됩니다.`,
			lines: []line{
				{inChannel, human, "@루다 이든한테 코드 리뷰 부탁해줘", "처리 루다 (mentioned) · 관찰 이든, 세움, 다짐 (other_mentioned)"},
				{inThread, "루다", "@이든\n\n코드 리뷰 해줘", "처리 이든 (mentioned) · 관찰 세움, 다짐 (not_participant)"},
				{inChannel, "루다", "이든에게 부탁했습니다. 답은 스레드에서 보실 수 있습니다.", "관찰 이든, 세움, 다짐 (sibling_message)"},
			},
		},
		{
			title: "이든이 멘션 없이 응답합니다. 루다는 참여자이므로 처리합니다.",
			lines: []line{
				{inThread, "이든", "리뷰했어. 토큰 갱신에서 한 군데만 고치면 돼.", "처리 루다 (participant) · 관찰 세움, 다짐 (not_participant)"},
			},
			present: "루다, 이든", target: "이든", status: response.StatusResponded,
		},
		{
			title: "루다가 멘션 없이 더 부탁합니다. 이든은 참여자이므로 처리합니다.",
			lines: []line{
				{inThread, "루다", "고마워, 한 가지 더 확인해줘", "처리 이든 (participant) · 관찰 세움, 다짐 (not_participant)"},
				{inThread, "이든", "확인했어. 만료된 토큰은 401로 거절돼.", "처리 루다 (participant) · 관찰 세움, 다짐 (not_participant)"},
			},
			present: "루다, 이든", target: "이든", status: response.StatusResponded,
		},
		{
			title: "루다가 세움을 멘션합니다. 세움이 참여자가 되고 처리합니다. 이든도 참여자이므로 처리하고, 덧붙일 것이 없습니다.",
			lines: []line{
				{inThread, "루다", "@세움 도 확인해봐", "처리 이든 (participant) · 처리 세움 (mentioned) · 관찰 다짐 (not_participant)"},
				{inThread, "세움", "확인했어. 배포에도 문제 없어.", "처리 루다, 이든 (participant) · 관찰 다짐 (not_participant)"},
			},
			present: "루다, 이든, 세움", target: "이든", status: response.StatusResponded,
		},
		{
			title: "일 분 뒤. 이제 세움도 멘션 없이 처리합니다. 다짐은 참여한 적이 없으므로 관찰만 합니다.", later: time.Minute, // bots may write six messages per minute
			lines: []line{
				{inThread, human, "그러면 언제 배포하나요?", "처리 루다, 이든, 세움 (participant) · 관찰 다짐 (not_participant)"},
				{inThread, "세움", "고친 것을 병합하면 오늘 배포할 수 있습니다.", "처리 루다, 이든 (participant) · 관찰 다짐 (not_participant)"},
			},
			present: "루다, 이든, 세움", target: "이든", status: response.StatusResponded,
		},
		{
			title: `루다가 collaborate(dajim, "배포 일정 알려줘")를 호출합니다. 다짐은 답하지 않습니다.`, later: time.Minute,
			lines: []line{
				{inChannel, human, "@루다 다짐한테 배포 일정 물어봐줘", "처리 루다 (mentioned) · 관찰 이든, 세움, 다짐 (other_mentioned)"},
				{inSecond, "루다", "@다짐\n\n배포 일정 알려줘", "처리 다짐 (mentioned) · 관찰 이든, 세움 (not_participant)"},
				{inChannel, "루다", "다짐에게 부탁했습니다. 답은 스레드에서 보실 수 있습니다.", "관찰 이든, 세움, 다짐 (sibling_message)"},
			},
		},
		{
			title: "오 분 뒤. 답이 없어 다짐에게 리마인더가 갑니다.", later: 5 * time.Minute,
			lines: []line{
				{inChannel, human, "아직인가요?", "처리 루다 (default_agent) · 관찰 이든, 세움, 다짐 (not_owner)"},
				{inSecond, "루다", "[리마인더] @다짐 위 요청 확인 부탁해요.", "처리 다짐 (mentioned) · 관찰 이든, 세움 (system_text)"},
			},
			present: "루다, 다짐", target: "다짐", status: response.StatusPending,
		},
		{
			title: "십오 분이 지나도 답이 없어 병욱에게 알립니다.", later: 10 * time.Minute,
			lines: []line{
				{inChannel, human, "오래 걸리네요.", "처리 루다 (default_agent) · 관찰 이든, 세움, 다짐 (not_owner)"},
				{inSecond, "루다", "⚠️ @병욱 다짐이 15분째 무응답입니다. 확인 필요.", "관찰 이든, 세움, 다짐 (system_text)"},
			},
			present: "루다, 다짐", target: "다짐", status: response.StatusEscalated,
		},
	}
}
