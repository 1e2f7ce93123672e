package delivery

import "github.com/pronto-lab/openclawd/coordination"

// Alarm is the line by which people are told of what agents cannot fix: what is so, and what to do.
func Alarm(in coordination.Language, text, mend string) string {
	return "**" + in.Say("에스컬레이션", "Escalation") + "** · " + text + " → " + mend
}
