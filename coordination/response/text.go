package response

import (
	"fmt"
	"regexp"

	"github.com/pronto-lab/openclawd/coordination"
)

// Party is a person or agent named in a text.
type Party struct {
	Name   string
	UserID string // Discord user id; "" if unknown
}

// mention notifies a party known in Discord, and names any other.
func (p Party) mention() string {
	if p.UserID != "" {
		return "<@" + p.UserID + ">"
	}
	return "@" + p.Name
}

// Reminder is the text for the target in the thread.
func Reminder(target Party) string {
	return fmt.Sprintf("[리마인더] %s 위 요청 확인 부탁해요.", target.mention())
}

// Escalation is the text for a person; the zero Party addresses none.
func Escalation(person, target Party, minutes int) string {
	address := ""
	if person != (Party{}) {
		address = person.mention() + " "
	}
	return "⚠️ " + address + Silence(target.Name, minutes) + ". 확인 필요."
}

// Silence says how long a target has not answered. A started first minute counts as one.
func Silence(target string, minutes int) string {
	return fmt.Sprintf("%s %d분째 무응답입니다", coordination.AsSubject(target), max(1, minutes))
}

// Note is the immediate confirmation for the requesting agent.
func Note(target string) string {
	return target + "에게 메시지를 전달했습니다. 스레드에서 응답을 기다리세요."
}

// SharedNote is the confirmation if the agent already shares the thread with the target.
func SharedNote(target string) string {
	return coordination.AndName(target) + " 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다."
}

var systemText = regexp.MustCompile(`^(?:\[리마인더\] \S.* 위 요청 확인 부탁해요\.|⚠️ \S.*(?:이|가|이\(가\)) \d+분째 무응답입니다\. 확인 필요\.)$`)

// SystemText reports whether a text is a reminder or an escalation.
func SystemText(text string) bool { return systemText.MatchString(coordination.TrimJS(text)) }

// Original is the kept part of a request: secrets masked, MaxOriginal characters at most.
func Original(text string) string {
	return coordination.Head(coordination.Mask(text), MaxOriginal)
}
