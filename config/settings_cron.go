package config

import (
	"strings"
	"time"
)

// Cron holds the settings of scheduled jobs.
type Cron struct {
	Enabled       bool
	MaxConcurrent int  // concurrent runs of jobs
	Checks        bool // jobs may ask a command of this machine whether there is anything to do
}

// Values of Heartbeat.Wake.
const (
	WakeOnCause = "cause"
	WakeAlways  = "always"
)

// Heartbeat says when an agent looks by itself whether there is anything to do.
type Heartbeat struct {
	Every     time.Duration // 0: never
	Wake      string        // WakeOnCause or WakeAlways
	Prompt    string        // "": the usual one
	Model     string
	Target    string // none, last, or a channel
	To        string
	AccountID string
	Start     string // of the active hours, hh:mm; "": all day
	End       string
	Timezone  string // of these; "": the zone of the host
}

// HeartbeatOf is the heartbeat of an agent; of an unknown one it is that of all.
func (c *Config) HeartbeatOf(agentID string) Heartbeat {
	if a := c.AgentNamed(agentID); a != nil && a.Heartbeat != nil {
		return *a.Heartbeat
	}
	return c.Defaults.Heartbeat
}

func (c *Config) decodeCron(f *fields) {
	c.Cron = Cron{Enabled: f.flag("enabled", true), MaxConcurrent: f.count("maxConcurrentRuns", 4, 1, maxCount)}
	triggers := f.within("triggers")
	c.Cron.Checks = triggers.flag("enabled", false)
	triggers.others("minIntervalMs")
	triggers.done()
	f.others("jobs", "webhook", "webhookToken", "failureAlert", "failureDestination", "retry")
	f.aside("store", "sessionRetention", "runLog")
	f.done()
}

// decodeHeartbeat reads a heartbeat. What is not set is as in usual.
func decodeHeartbeat(f *fields, usual Heartbeat) Heartbeat {
	h := Heartbeat{
		Every:  f.duration("every", usual.Every),
		Wake:   f.choice("wake", WakeOnCause, WakeAlways),
		Prompt: f.text("prompt", usual.Prompt), Model: f.text("model", usual.Model),
		Target: strings.ToLower(f.text("target", usual.Target)), To: f.text("to", usual.To), AccountID: f.text("accountId", usual.AccountID),
	}
	if f.object.get("wake") == nil && usual.Wake != "" {
		h.Wake = usual.Wake
	}
	hours := f.within("activeHours")
	h.Start, h.End, h.Timezone = hours.clock("start", usual.Start), hours.clock("end", usual.End), hours.zone("timezone", usual.Timezone)
	hours.done()
	f.others("session", "directPolicy", "includeReasoning", "includeSystemPromptSection", "lightContext", "isolatedSession", "timeoutSeconds",
		"skipWhenBusy", "suppressToolErrorWarnings", "ackMaxChars")
	f.done()
	return h
}

// clock reads a time of the day.
func (f *fields) clock(key, otherwise string) string {
	text := f.text(key, otherwise)
	if text == "" || text == "24:00" {
		return text
	}
	if _, err := time.Parse("15:04", text); err != nil {
		f.invalid(f.object.get(key), f.at.member(key), "is not a time of the day", "write it as hh:mm, such as 08:00 or 24:00")
		return otherwise
	}
	return text
}

// zone reads the name of a time zone; user and local are that of the host.
func (f *fields) zone(key, otherwise string) string {
	name := f.text(key, otherwise)
	if name == "user" || name == "local" {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		f.invalid(f.object.get(key), f.at.member(key), "is not a time zone", "write a name such as Asia/Seoul, or local")
		return otherwise
	}
	return name
}
