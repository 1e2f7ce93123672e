package scheduler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/owed"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/toolcalls"
	"github.com/pronto-lab/openclawd/workspace"
)

const (
	heartbeatID     = "heartbeat-" // begins the ids of heartbeats
	heartbeatFile   = "HEARTBEAT.md"
	heartbeatOK     = "HEARTBEAT_OK"
	heartbeatPrompt = "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Do not infer or repeat old tasks from prior chats. " +
		"If nothing needs attention, reply HEARTBEAT_OK."
	maxNotes = 64 << 10 // characters
)

// notes is what may wake an agent.
type notes struct {
	hash   string // of what HEARTBEAT.md says; "" if there is nothing to do in it
	causes []cause
}

// cause is what may need the agent's attention, beside HEARTBEAT.md.
type cause struct{ kind, id, text string }

const (
	causeOwed    = "owed"         // the agent owes an answer that is overdue
	causeUnknown = "unknown_call" // it is unknown whether a call of the agent had its effect
	// maxCauses bounds how many causes of a kind are looked at, and recent how old unknown calls may be.
	maxCauses = 10
	recent    = 24 * time.Hour
)

// causesOf looks at what is open, whose number does not grow with the log.
func causesOf(ctx context.Context, tx *sql.Tx, agent string, now time.Time) (list []cause, err error) {
	agent = strings.ToLower(agent)
	open, err := owed.Read(ctx, tx, owed.Query{Now: now.UnixMilli(), To: agent, Limit: maxCauses})
	if err != nil {
		return nil, err
	}
	for i := range open.Items {
		if item := &open.Items[i]; item.Overdue {
			list = append(list, cause{causeOwed, string(item.Kind) + item.ID, fmt.Sprintf("%s has waited for your answer since %s: %s", item.From,
				time.UnixMilli(item.Since).UTC().Format(time.RFC3339), coordination.Beginning(strings.Join(strings.Fields(item.Text), " "), 200))})
		}
	}
	calls, err := toolcalls.List(ctx, tx, toolcalls.Query{Agent: agent, State: toolcalls.StateUnknown, Limit: maxCauses})
	if err != nil {
		return nil, err
	}
	for i := range calls {
		if c := &calls[i]; c.CalledAt > now.Add(-recent).UnixMilli() {
			list = append(list, cause{causeUnknown, c.CallID, fmt.Sprintf("it is unknown whether your call of %s at %s had its effect", c.Tool,
				time.UnixMilli(c.CalledAt).UTC().Format(time.RFC3339))})
		}
	}
	return list, nil
}

func (c *cause) mark() string {
	sum := sha256.Sum256([]byte(c.kind + "/" + c.id))
	return hex.EncodeToString(sum[:4])
}

// marks is what is kept of a wake: the hash of HEARTBEAT.md, and behind a + marks of the causes.
func (n *notes) marks() string {
	all := n.hash
	for i := range n.causes {
		all += string("+."[min(i, 1)]) + n.causes[i].mark()
	}
	return all
}

// since is what was not there at the last wake that ended well, by its marks: whether HEARTBEAT.md says something new, and causes.
func (n *notes) since(last string) (says bool, fresh []cause) {
	hash, marks, _ := strings.Cut(last, "+")
	known := strings.Split(marks, ".")
	for i := range n.causes {
		if !slices.Contains(known, n.causes[i].mark()) {
			fresh = append(fresh, n.causes[i])
		}
	}
	return n.hash != "" && n.hash != hash, fresh
}

func textOf(causes []cause) string {
	var b strings.Builder
	for i := range causes {
		b.WriteString("- " + causes[i].text + "\n")
	}
	return b.String()
}

// readNotes reads HEARTBEAT.md. Headings, comments and empty lines alone say nothing.
func readNotes(dir string) notes {
	if dir == "" {
		return notes{}
	}
	file := workspace.New(dir, workspace.Options{}).Excerpts([]string{heartbeatFile}, maxNotes, maxNotes, 0)[0] // without text if it cannot be read
	var says []string
	for line := range strings.SplitSeq(file.Head, "\n") {
		line = strings.TrimSpace(line)
		if bare := strings.TrimLeft(line, "-*+[] x"); bare == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") && strings.HasSuffix(line, "-->") {
			continue
		}
		says = append(says, line)
	}
	if len(says) == 0 {
		return notes{}
	}
	sum := sha256.Sum256([]byte(strings.Join(says, "\n")))
	return notes{hash: hex.EncodeToString(sum[:8])}
}

// heartbeat wakes the agent if there is a cause, else it ends the run of the job: that costs two events and no model.
func (b *beginning) heartbeat(row *schedules.Row) error {
	conf := b.o.Config()
	h, said := conf.HeartbeatOf(row.Job.AgentID), b.seen[row.Job.ID]
	skip := func(why string) error {
		return b.finish(row, coordination.CronRunFinished{Status: schedule.Skipped, Error: why, DeliveryStatus: schedule.NotRequested})
	}
	says, fresh := said.since(row.Notes)
	switch {
	case b.forced:
		return b.start(row, wake{cause: "request", notes: said.marks()})
	case !isActive(&h, b.now):
		return skip("outside of the active hours")
	case h.Wake == config.WakeAlways:
		return b.start(row, wake{cause: "always", notes: said.marks(), found: textOf(said.causes)})
	case says:
		return b.start(row, wake{cause: "notes", notes: said.marks(), found: textOf(fresh)})
	case len(fresh) > 0:
		return b.start(row, wake{cause: fresh[0].kind, notes: said.marks(), found: textOf(fresh)})
	case said.hash == "":
		return skip("no cause: " + heartbeatFile + " says nothing")
	}
	return skip("no cause: " + heartbeatFile + " says nothing new")
}

// isActive reports whether a time is in the active hours.
func isActive(h *config.Heartbeat, now time.Time) bool {
	if h.Start == "" && h.End == "" || h.Start == h.End {
		return true
	}
	zone, err := time.LoadLocation(h.Timezone)
	if err != nil || h.Timezone == "" {
		zone = time.Local
	}
	clock := now.In(zone).Format("15:04")
	start, end := cmp.Or(h.Start, "00:00"), cmp.Or(h.End, "24:00")
	if start < end {
		return clock >= start && clock < end
	}
	return clock >= start || clock < end
}

// silent reports whether an answer says that there is nothing to report.
func silent(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || strings.EqualFold(strings.TrimRight(text, ".!"), heartbeatOK) || strings.EqualFold(text, "NO_REPLY")
}

// keepHeartbeats adds, changes and removes heartbeats as the configuration has them.
func (x *Service) keepHeartbeats(ctx context.Context, conf *config.Config) error {
	if x.beats.Load() == conf {
		return nil
	}
	wanted := heartbeats(conf)
	var known []schedules.Row
	err := x.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		known, err = schedules.Heartbeats(projections.Reading(ctx, tx))
		return err
	})
	if err == nil && (len(known) > 0 || len(wanted) > 0) {
		_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return changeHeartbeats(tx, wanted, x.o.Now())
		})
	}
	if err == nil {
		x.beats.Store(conf)
	}
	return err
}

func changeHeartbeats(tx eventstore.Tx, wanted map[string]coordination.CronJob, now time.Time) (appends []eventstore.StreamAppend, err error) {
	known, err := schedules.Heartbeats(tx)
	if err != nil {
		return nil, err
	}
	at := now.UnixMilli()
	add := func(row *schedules.Row, typ string, data any) {
		a, failed := eventOf(row, typ, data, eventstore.ActorSystem, now)
		appends, err = append(appends, a...), cmp.Or(err, failed)
	}
	for i := range known {
		row := &known[i]
		job, keep := wanted[row.Job.ID]
		delete(wanted, row.Job.ID)
		if !keep {
			gone, failed := removed(row, coordination.CronJobRemoved{Reason: "config"}, eventstore.ActorSystem, now)
			appends, err = append(appends, gone...), cmp.Or(err, failed)
			continue
		}
		job.CreatedAtMs, job.UpdatedAtMs = row.Job.CreatedAtMs, row.Job.UpdatedAtMs
		if reflect.DeepEqual(job, row.Job) {
			continue
		}
		job.UpdatedAtMs = at
		next, failed := schedule.First(&job, at)
		err = cmp.Or(err, failed)
		add(row, coordination.TypeCronJobUpdated, coordination.CronJobChanged{Context: seenBy, Job: job, NextAtMs: next})
	}
	for _, job := range wanted {
		job.CreatedAtMs, job.UpdatedAtMs = at, at
		next, failed := schedule.First(&job, at)
		err = cmp.Or(err, failed)
		add(&schedules.Row{State: schedule.State{Job: job}}, coordination.TypeCronJobAdded, coordination.CronJobChanged{Context: seenBy, Job: job, NextAtMs: next})
	}
	return appends, err
}

// heartbeats are the jobs of the agents' heartbeats, by id.
func heartbeats(conf *config.Config) map[string]coordination.CronJob {
	jobs := map[string]coordination.CronJob{}
	for _, agent := range conf.Workers() {
		h := conf.HeartbeatOf(agent)
		if h.Every <= 0 {
			continue
		}
		j := coordination.CronJob{ID: heartbeatID + agent, Name: "Heartbeat of " + agent, AgentID: agent, Enabled: true, SessionTarget: schedule.TargetMain,
			WakeMode: schedule.WakeNow, Missed: schedule.MissedSkip,
			Schedule: coordination.CronSchedule{Kind: schedule.KindEvery, EveryMs: max(h.Every, schedule.MinEvery).Milliseconds()},
			Payload:  coordination.CronPayload{Kind: schedule.PayloadHeartbeat, Message: h.Prompt, Model: h.Model}}
		if h.Target != "" && h.Target != schedule.DeliverNone {
			j.Delivery = &coordination.CronDelivery{Mode: schedule.DeliverAnnounce, Channel: h.Target, To: h.To, AccountID: h.AccountID}
		}
		jobs[j.ID] = j
	}
	return jobs
}
