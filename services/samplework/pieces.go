package samplework

import "encoding/json"

// call is a call of a tool by the agent that a piece of work is for.
type call struct {
	tool string
	args map[string]any
}

// piece is a small piece of work: what its agent does to take it up.
type piece struct {
	agent     string
	approvals int  // that it makes wait for a person
	later     bool // it makes them wait when the agent works on it
	calls     []call
}

// pieces are given in turn. Their agents have no other work in the sample.
var pieces = []piece{
	asking("nuri", "지난주 지표를 안내서에 올리기"),
	asking("grim", "안내서에서 보고서 형식 찾기"),
	planned("yunseul", "신규 입사자 안내 문서 정리", "지난 분기의 질문 모으기", "목차를 다시 짜고 초안 쓰기"),
	backlog("onsae", "고객 문의 답변 문구 다듬기", "low"),
	backlog("nuri", "지난주 지표 요약", "medium"),
	approved("hangyeol", "오래된 로그의 보관 기간 줄이기", "지금 쓰는 용량 확인하기", "보관 기간을 30일로 바꾸기"),
	backlog("dajim", "회귀 테스트 목록 점검", "medium"),
	planned("ieum", "결제 연동 점검", "시험 결제로 흐름 확인하기", "실패한 결제의 알림 확인하기"),
	backlog("onsae", "자주 묻는 질문 두 개 더하기", "low"),
	approved("nuri", "대시보드의 알림 기준 바꾸기", "지난달의 알림 횟수 세기", "기준을 바꾸고 하루 지켜보기"),
	backlog("yunseul", "회의록 정리", "low"),
	backlog("dajim", "느린 화면 세 개 찾기", "high"),
}

// backlog is a task that the agent takes from its backlog by itself.
func backlog(agent, description, priority string) piece {
	return piece{agent: agent, calls: []call{{"task_backlog_add", map[string]any{"description": description, "priority": priority}}}}
}

// asking is a task for which the script of the sample comes to a point where a person is asked: nuri reads a file of its workspace, asks the
// handbook, and then needs an approved plan to publish there; grim asks the handbook, a call that waits.
func asking(agent, description string) piece {
	p := backlog(agent, description, "medium")
	p.approvals, p.later = 1, true
	return p
}

// approved is a task that waits until a person approves it.
func approved(agent, description string, steps ...string) piece {
	return piece{agent: agent, approvals: 1, calls: []call{{"task_start", map[string]any{"description": description, "requires_approval": true, "steps": contents(steps)}}}}
}

// planned is a task with a plan that waits until a person approves it.
func planned(agent, description string, steps ...string) piece {
	return piece{agent: agent, approvals: 1, calls: []call{
		{"task_start", map[string]any{"description": description, "steps": contents(steps)}},
		{"plan_submit", map[string]any{"title": description + " 계획", "steps": steps}},
	}}
}

func contents(steps []string) (all []map[string]string) {
	for _, step := range steps {
		all = append(all, map[string]string{"content": step})
	}
	return all
}

// text returns the arguments as the tool reads them.
func (c *call) text() (json.RawMessage, error) { return json.Marshal(c.args) }
