package config

// cronHelp explains scheduled jobs and heartbeats.
func cronHelp() map[string]string {
	texts := map[string]string{
		"cron":                   "Scheduled jobs: openclawd cron.",
		"cron.enabled":           "Whether jobs and heartbeats are started when they are due.",
		"cron.maxConcurrentRuns": "Maximum number of concurrent runs of jobs.",
		"cron.triggers":          "Checks of jobs.",
		"cron.triggers.enabled":  "Whether jobs may ask a command of this machine if there is anything to do. Gateway clients with the scope admin choose the command.",
	}
	for _, of := range [...]struct{ path, what string }{{"agents.defaults.heartbeat", "every agent"}, {"agents.list[].heartbeat", "the agent"}} {
		for key, text := range map[string]string{
			"": "When " + of.what + " looks by itself whether there is anything to do.", ".every": "Interval of heartbeats; 0 switches them off.",
			".wake":   "cause: the agent is woken only if HEARTBEAT.md in its workspace has new content, it owes an overdue answer, or the outcome of a call of it is unknown; always: each time.",
			".prompt": "What the agent is told.", ".model": "The model of heartbeats, as provider/id.",
			".target": "Where an answer is posted: none, last, or a channel.", ".to": "The place in that channel.", ".accountId": "The account that posts.",
			".activeHours": "Hours in which the agent is woken.", ".activeHours.start": "Begin, hh:mm.", ".activeHours.end": "End, hh:mm; earlier than start: on the next day.",
			".activeHours.timezone": "Time zone of these hours; by default that of the host.",
		} {
			texts[of.path+key] = text
		}
	}
	return texts
}
