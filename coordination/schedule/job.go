package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Values of jobs.
const (
	KindAt    = "at"
	KindEvery = "every"
	KindCron  = "cron"

	TargetMain     = "main"
	TargetIsolated = "isolated"

	WakeNow           = "now"
	WakeNextHeartbeat = "next-heartbeat"

	PayloadEvent     = "systemEvent"
	PayloadTurn      = "agentTurn"
	PayloadHeartbeat = "heartbeat"

	DeliverNone     = "none"
	DeliverAnnounce = "announce"
	ChannelLast     = "last"

	MissedSkip = "skip"
	MissedLast = "last"
	MissedAll  = "all"
)

// Limits of a job.
const (
	MinEvery     = time.Second
	MaxMessage   = 256 << 10 // bytes
	maxName      = 200       // characters, as of short texts
	maxText      = 4 << 10   // bytes
	maxArgs      = 64
	maxArguments = 16 << 10              // bytes of a check's arguments, all of which the log keeps
	maxTime      = 8_640_000_000_000_000 // ms since 1970: the last moment of an ECMAScript date
	maxRuns      = 1_000_000_000
	maxTimeouts  = 7 * 24 * 3600 // seconds
	MaxCheck     = 10 * 60       // seconds
)

// Refusal says why a job cannot be kept, changed or run.
type Refusal struct {
	Reason, Field, Value, HintText string
}

// Codes of Refusal.
const (
	CodeInvalid = "invalid_job"
	CodeUnknown = "unknown_job"
	CodeFull    = "too_many_jobs"
	CodeFixed   = "job_of_config" // a heartbeat is changed in the configuration
	CodeChecks  = "checks_are_off"
)

func (r *Refusal) Error() string {
	return r.Field + ": bad value " + strconv.Quote(coordination.Head(r.Value, 80)) + ": " + r.HintText
}
func (r *Refusal) Code() string { return r.Reason }
func (r *Refusal) Hint() string { return r.HintText }

func wrong(field, value, hint string) error {
	return &Refusal{Reason: CodeInvalid, Field: field, Value: value, HintText: hint}
}

// Check completes a job with defaults, and refuses one that can never run. The error is a *Refusal.
func Check(j *coordination.CronJob) error {
	j.WakeMode = cmp.Or(j.WakeMode, WakeNow)
	if j.SessionTarget == "" {
		j.SessionTarget = TargetMain
		if j.Payload.Kind == PayloadTurn {
			j.SessionTarget = TargetIsolated
		}
	}
	for _, f := range [...]struct {
		field, value string
		most         int
	}{{"id", j.ID, maxName}, {"name", j.Name, maxName}, {"description", j.Description, maxText}, {"agentId", j.AgentID, maxName},
		{"sessionKey", j.SessionKey, maxText}, {"payload.text", j.Payload.Text, MaxMessage}, {"payload.message", j.Payload.Message, MaxMessage},
		{"payload.model", j.Payload.Model, maxName}, {"payload.thinking", j.Payload.Thinking, maxName}} {
		if len(f.value) > f.most || !utf8.ValidString(f.value) || strings.ContainsRune(f.value, 0) {
			return wrong(f.field, f.value, fmt.Sprintf("give at most %d bytes of UTF-8 without NUL", f.most))
		}
	}
	if strings.TrimSpace(j.Name) == "" {
		return wrong("name", j.Name, "give the job a name")
	}
	for _, f := range [...]struct {
		field, value string
		known        []string
	}{{"sessionTarget", j.SessionTarget, []string{TargetMain, TargetIsolated}}, {"wakeMode", j.WakeMode, []string{WakeNow, WakeNextHeartbeat}},
		{"missed", cmp.Or(j.Missed, MissedLast), []string{MissedSkip, MissedLast, MissedAll}}} {
		if err := oneOf(f.field, f.value, f.known); err != nil {
			return err
		}
	}
	if j.MaxRuns < 0 || j.MaxRuns > maxRuns {
		return wrong("maxRuns", strconv.Itoa(j.MaxRuns), "give 1 to 1000000000, or 0 for no limit")
	}
	if err := checkPayload(j); err != nil {
		return err
	}
	if err := checkDelivery(j.Delivery); err != nil {
		return err
	}
	if err := checkCheck(j.Check); err != nil {
		return err
	}
	_, err := rhythmOf(j)
	return err
}

func oneOf(field, value string, known []string) error {
	for _, k := range known {
		if k == value {
			return nil
		}
	}
	return wrong(field, value, "use "+strings.Join(known, ", "))
}

func checkPayload(j *coordination.CronJob) error {
	p := &j.Payload
	switch p.Kind {
	case PayloadHeartbeat:
	case PayloadEvent:
		if strings.TrimSpace(p.Text) == "" {
			return wrong("payload.text", p.Text, "say what the agent is told")
		}
		if j.SessionTarget != TargetMain {
			return wrong("sessionTarget", j.SessionTarget, "a systemEvent is for the session main; use payload.kind agentTurn for isolated")
		}
	case PayloadTurn:
		if strings.TrimSpace(p.Message) == "" {
			return wrong("payload.message", p.Message, "say what the agent is told")
		}
		if j.SessionTarget != TargetIsolated {
			return wrong("sessionTarget", j.SessionTarget, "an agentTurn runs in the session isolated; use payload.kind systemEvent for main")
		}
	default:
		return wrong("payload.kind", p.Kind, "use systemEvent or agentTurn")
	}
	if t := p.TimeoutSeconds; t != nil && (*t < 0 || *t > maxTimeouts) {
		return wrong("payload.timeoutSeconds", strconv.FormatInt(*t, 10), fmt.Sprintf("give 1 to %d, or 0 for none", maxTimeouts))
	}
	return nil
}

func checkDelivery(d *coordination.CronDelivery) error {
	if d == nil {
		return nil
	}
	for _, f := range [...]struct{ field, value string }{{"delivery.channel", d.Channel}, {"delivery.to", d.To}, {"delivery.accountId", d.AccountID},
		{"delivery.threadId", d.ThreadID}} {
		if len(f.value) > maxText || !utf8.ValidString(f.value) || strings.ContainsRune(f.value, 0) {
			return wrong(f.field, f.value, fmt.Sprintf("give at most %d bytes of UTF-8 without NUL", maxText))
		}
	}
	if d.Mode == "webhook" {
		return wrong("delivery.mode", d.Mode, "use announce or none; a webhook for cron.run.finished is a sink of gateway.conversationSinks")
	}
	if err := oneOf("delivery.mode", d.Mode, []string{DeliverNone, DeliverAnnounce}); err != nil {
		return err
	}
	if _, known := coordination.ChannelNamed(d.Channel); d.Channel != "" && d.Channel != ChannelLast && !known {
		return wrong("delivery.channel", d.Channel, "use last, or a channel such as discord, telegram or slack")
	}
	if d.Mode == DeliverAnnounce && d.Channel != "" && d.Channel != ChannelLast && d.To == "" {
		return wrong("delivery.to", "", "say where in "+d.Channel+" the answer is posted, e.g. channel:<id>")
	}
	return nil
}

func checkCheck(c *coordination.CronCheck) error {
	if c == nil {
		return nil
	}
	switch {
	case c.Tool != "" && len(c.Command) > 0:
		return wrong("check", c.What(), "give command or tool, not both")
	case c.Tool != "":
		if err := checkTool(c); err != nil {
			return err
		}
	case len(c.Arguments) > 0 || c.Nothing != "":
		return wrong("check.tool", "", "give the tool that arguments and nothing belong to")
	default:
		if err := checkCommand(c.Command); err != nil {
			return err
		}
	}
	if c.TimeoutSeconds < 0 || c.TimeoutSeconds > MaxCheck {
		return wrong("check.timeoutSeconds", strconv.FormatInt(c.TimeoutSeconds, 10), fmt.Sprintf("give 1 to %d, or 0 for 60", MaxCheck))
	}
	return nil
}

func checkCommand(argv []string) error {
	if len(argv) == 0 || len(argv) > maxArgs || argv[0] == "" {
		return wrong("check.command", strings.Join(argv, " "), fmt.Sprintf("give a program and its arguments, at most %d in all", maxArgs))
	}
	for _, arg := range argv {
		if len(arg) > maxText || !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
			return wrong("check.command", arg, fmt.Sprintf("give at most %d bytes of UTF-8 without NUL", maxText))
		}
	}
	return nil
}

func checkTool(c *coordination.CronCheck) error {
	server, name, _ := strings.Cut(c.Tool, "__")
	if server == "" || name == "" || len(c.Tool) > maxName || !utf8.ValidString(c.Tool) || strings.ContainsRune(c.Tool, 0) {
		return wrong("check.tool", c.Tool, "give the tool of an MCP server as agents call it, e.g. mail__unread")
	}
	if len(c.Nothing) > maxText || !utf8.ValidString(c.Nothing) || strings.ContainsRune(c.Nothing, 0) {
		return wrong("check.nothing", c.Nothing, fmt.Sprintf("give at most %d bytes of UTF-8 without NUL", maxText))
	}
	var object map[string]json.RawMessage
	if len(c.Arguments) > 0 && (len(c.Arguments) > maxArguments || json.Unmarshal(c.Arguments, &object) != nil || object == nil) {
		return wrong("check.arguments", string(c.Arguments), fmt.Sprintf("give an object of JSON of at most %d bytes", maxArguments))
	}
	return nil
}

// rhythm returns the first due time after another one, both in ms since 1970; 0 for none.
type rhythm func(after int64) int64

// rhythmOf returns when a job is due. The error is a *Refusal.
func rhythmOf(j *coordination.CronJob) (rhythm, error) {
	s := &j.Schedule
	switch s.Kind {
	case KindAt:
		at, err := ParseAt(s.At)
		if err != nil {
			return nil, err
		}
		return func(after int64) int64 {
			if after < at {
				return at
			}
			return 0
		}, nil
	case KindEvery:
		return everyOf(j)
	case KindCron:
		return cronOf(j)
	}
	return nil, wrong("schedule.kind", s.Kind, "use at, every or cron")
}

func everyOf(j *coordination.CronJob) (rhythm, error) {
	every, anchor := j.Schedule.EveryMs, j.CreatedAtMs
	if every < MinEvery.Milliseconds() || every > maxTime {
		return nil, wrong("schedule.everyMs", strconv.FormatInt(every, 10), "give at least 1000 milliseconds")
	}
	if a := j.Schedule.AnchorMs; a != nil {
		if anchor = *a; anchor < 0 || anchor > maxTime {
			return nil, wrong("schedule.anchorMs", strconv.FormatInt(anchor, 10), "give milliseconds since 1970")
		}
	}
	return func(after int64) int64 {
		if after < anchor {
			return anchor
		}
		return anchor + ((after-anchor)/every+1)*every
	}, nil
}

func cronOf(j *coordination.CronJob) (rhythm, error) {
	s := &j.Schedule
	x, err := ParseExpression(s.Expr)
	if err != nil {
		return nil, wrong("schedule.expr", s.Expr, err.Error())
	}
	zone, err := zoneNamed(s.Tz)
	if err != nil {
		return nil, wrong("schedule.tz", s.Tz, "use a name of the IANA time zone database, e.g. Asia/Seoul")
	}
	var shift int64
	if s.StaggerMs != nil && *s.StaggerMs != 0 {
		if *s.StaggerMs < 0 || *s.StaggerMs > 24*time.Hour.Milliseconds() {
			return nil, wrong("schedule.staggerMs", strconv.FormatInt(*s.StaggerMs, 10), "give 0 to 86400000")
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(j.ID))
		shift = int64(h.Sum64() % uint64(*s.StaggerMs))
	}
	return func(after int64) int64 {
		next := x.Next(time.UnixMilli(after-shift), zone)
		if next.IsZero() || next.UnixMilli() > maxTime-shift {
			return 0
		}
		return next.UnixMilli() + shift
	}, nil
}

var zones sync.Map // *time.Location by name

// zoneNamed returns a time zone; "" is that of the host.
func zoneNamed(name string) (*time.Location, error) {
	if name = strings.TrimSpace(name); name == "" {
		return time.Local, nil
	}
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("load time zone %s: %w", name, cmp.Or(err, errLocal))
	}
	zones.Store(name, zone)
	return zone, nil
}

var errLocal = fmt.Errorf("it is not a name of the database")

// ParseAt returns the time of a schedule of the kind at, in ms since 1970.
func ParseAt(text string) (int64, error) {
	text = strings.TrimSpace(text)
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil && at.UnixMilli() > 0 && at.UnixMilli() <= maxTime {
			return at.UnixMilli(), nil
		}
	}
	return 0, wrong("schedule.at", text, "give a time such as 2026-12-24T18:00:00+09:00")
}
