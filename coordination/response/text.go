package response

import (
	"fmt"
	"regexp"

	"github.com/pronto-lab/openclawd/coordination"
)

// Party is somebody who is named in a text.
type Party struct {
	Name   string
	UserID string // in Discord; "" if it is not known
}

// mention notifies the party where it is known in Discord, and names it elsewhere.
func (p Party) mention() string {
	if p.UserID != "" {
		return "<@" + p.UserID + ">"
	}
	return "@" + p.Name
}

// Reminder is what the target is told in the thread.
func Reminder(target Party) string {
	return fmt.Sprintf("[리마인더] %s 위 요청 확인 부탁해요.", target.mention())
}

// Escalation is what a person is told. The person may be the zero Party: then nobody is addressed.
func Escalation(person, target Party, minutes int) string {
	address := ""
	if person != (Party{}) {
		address = person.mention() + " "
	}
	return "⚠️ " + address + Silence(target.Name, minutes) + ". 확인 필요."
}

// Silence is how long somebody has not answered. The first minute counts from its beginning.
func Silence(target string, minutes int) string {
	return fmt.Sprintf("%s %d분째 무응답입니다", coordination.AsSubject(target), max(1, minutes))
}

// Note is what the agent who asks is told at once.
func Note(target string) string {
	return target + "에게 메시지를 전달했습니다. 스레드에서 응답을 기다리세요."
}

// SharedNote is what the agent is told instead where it shares the thread with the target already.
func SharedNote(target string) string {
	return coordination.AndName(target) + " 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다."
}

var systemText = regexp.MustCompile(`^(?:\[리마인더\] \S.* 위 요청 확인 부탁해요\.|⚠️ \S.*(?:이|가|이\(가\)) \d+분째 무응답입니다\. 확인 필요\.)$`)

// SystemText says whether a text is a reminder or an escalation.
func SystemText(text string) bool { return systemText.MatchString(coordination.TrimJS(text)) }

// Original is what is kept of a request: without secrets, MaxOriginal characters at most.
func Original(text string) string {
	return coordination.Head(coordination.Mask(text), MaxOriginal)
}
