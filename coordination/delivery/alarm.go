package delivery

import "github.com/pronto-lab/openclawd/coordination"

// Alarm formats a line that tells people about something agents cannot fix: what happened and what to do.
func Alarm(in coordination.Language, text, hint string) string {
	return "**" + in.Say("에스컬레이션", "Escalation") + "** · " + text + " → " + hint
}
