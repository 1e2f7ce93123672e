package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/doctor"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
)

// writeStatus writes a status as a screen: one line for each part, then what is wrong, then the newest trouble.
func (p *process) writeStatus(r *statusReport) error {
	rows := [][]string{{"openclawd", r.Version + ", " + r.Status.Status}}
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	if r.Source == "server" {
		add("server", "%s at http://%s, up since %s", r.Mode, r.API, output.Time(r.StartedAt.UnixMilli()))
	} else {
		add("server", "%s", r.Note)
	}
	if g := r.Gateway; g != nil {
		add("gateway", "ws://%s, %s, %s, %s, %s refused", g.Address, g.Auth, output.Count(int64(g.Clients), "client"),
			output.Count(g.Requests, "request"), output.Thousands(g.Refused))
	}
	add("log", "%s", r.headLine())
	add("events", "%s in 24 hours, %s in 7 days", output.Thousands(r.Events.LastDay), output.Thousands(r.Events.LastWeek))
	add("sessions", "%s active, %s quiet, %s blocked", output.Thousands(r.Sessions.Active), output.Thousands(r.Sessions.Quiet), output.Thousands(r.Sessions.Blocked))
	add("work", "%s", workLine(&r.Work))
	add("runs", "%s", runsLine(r.Work.Runs))
	add("flows", "%s", flowsLine(r.Work.Jobs))
	add("discord", "%s", r.discordLine())
	add("approvals", "%s", r.approvalsLine())
	add("back-off", "%s", r.backoffLine())
	add("tables", "%s", tablesLine(r.Projections))
	if i := r.Importing; i != nil {
		add("import", "%s of %s", output.Bytes(i.Bytes), output.Bytes(i.Total))
	}
	add("doubts", "%s, %s, %s without a role", output.Count(r.BadLines, "bad line"),
		output.Count(r.Doubts.UnknownSender+r.Doubts.UnknownReceiver, "unknown session type"), output.Count(r.Doubts.GuessedRoles, "event"))
	if f := r.Follow; f != nil {
		add("follow", "%s, %s behind, %s read", f.File, output.Bytes(f.Behind), output.Count(f.Lines, "line"))
	}
	if m := r.Mirror; m != nil {
		add("mirror", "%s, %s behind, %s written", m.File, output.Count(m.Lag, "event"), output.Count(m.Lines, "line"))
	}
	if s := r.Search; s != nil {
		add("search", "%s behind", output.Count(s.Lag, "event"))
	}
	if t := r.TaskFiles; t != nil {
		add("task files", "%s behind, %s written, %s", output.Count(t.Lag, "event"), output.Count(t.Written, "file"), output.Count(t.Conflicts, "conflict"))
	}
	if c := r.Clients; c != nil {
		add("live", "%s connected, %s closed for being slow", output.Count(int64(c.Connected), "client"), output.Thousands(c.SlowCloses))
	}
	if d := r.Database; d != nil {
		add("database", "%s, %s, WAL %s", d.File, output.Bytes(d.Bytes), output.Bytes(d.WALBytes))
	}
	add("backup", "%s", p.backupLine(r))
	for _, row := range rows {
		if _, err := fmt.Fprintf(p.stdout, "%-10s %s\n", row[0], output.Printable(row[1])); err != nil {
			return err
		}
	}
	return p.writeTrouble(r)
}

func (r *statusReport) headLine() string {
	if r.HeadAt == nil {
		return "empty"
	}
	line := fmt.Sprintf("%s, the newest of %s", output.Count(r.Seq, "event"), strings.Replace(strings.TrimSuffix(*r.HeadAt, "Z"), "T", " ", 1))
	if behind := r.Seq - r.AsOfSeq; behind > 0 {
		line += fmt.Sprintf("; answers are %s behind", output.Count(behind, "event"))
	}
	return line
}

// workLine says for each lane how much waits and is under way, whoever it belongs to.
func workLine(w *monitor.WorkState) string {
	type lane struct {
		waiting, running int
		oldest           int64
	}
	lanes := map[string]lane{}
	for _, l := range w.Lanes {
		if all := lanes[l.Lane]; l.Waiting+l.Running > 0 {
			lanes[l.Lane] = lane{all.waiting + l.Waiting, all.running + l.Running, max(all.oldest, l.OldestMs)}
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		l := lanes[name]
		part := fmt.Sprintf("%s: %s waiting, %s running", name, output.Thousands(int64(l.waiting)), output.Thousands(int64(l.running)))
		if l.oldest > 0 {
			part += ", the first for " + span(l.oldest)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing waits")
	}
	if w.Dead > 0 {
		parts = append(parts, output.Thousands(int64(w.Dead))+" given up (openclawd work --dead)")
	}
	return strings.Join(parts, "; ")
}

func runsLine(states map[string]int64) string {
	line := output.Thousands(states[string(coordrun.OK)]) + " ok"
	for _, s := range []struct {
		state coordrun.State
		word  string
	}{{coordrun.Failed, "failed"}, {coordrun.Aborted, "stopped"}, {coordrun.TimedOut, "timed out"}} {
		if n := states[string(s.state)]; n > 0 {
			line += ", " + output.Thousands(n) + " " + s.word
		}
	}
	return line
}

// flowsLine says how many flows between agents there are: those that are open by what they wait for, the others by how they ended.
func flowsLine(counts []monitor.FlowCount) string {
	var open int64
	phases, outcomes := map[string]int64{}, map[string]int64{}
	for _, c := range counts {
		if c.Phase.Open() {
			open += c.Flows
			phases[string(c.Phase)] += c.Flows
		} else {
			outcomes[c.Outcome] += c.Flows
		}
	}
	parts := []string{output.Thousands(open) + " open"}
	if open > 0 {
		parts[0] += " (" + counted(phases) + ")"
	}
	if len(outcomes) > 0 {
		parts = append(parts, counted(outcomes))
	}
	return strings.Join(parts, ", ")
}

// discordLine says how the bots stand, and what of Discord somebody should look at.
func (r *statusReport) discordLine() string {
	d := &r.Discord
	var parts []string
	switch {
	case d.Bots == 0:
	case r.Source == "server":
		parts = append(parts, fmt.Sprintf("%d of %s connected", d.BotsReady, output.Count(int64(d.Bots), "bot")))
	default:
		parts = append(parts, output.Count(int64(d.Bots), "bot")+" configured")
	}
	parts = append(parts, output.Count(int64(d.OpenCollaborations), "request")+" without an answer")
	if d.Escalated > 0 {
		parts = append(parts, output.Thousands(int64(d.Escalated))+" escalated (openclawd collaborations --status escalated)")
	}
	if d.Suspended > 0 {
		parts = append(parts, output.Count(int64(d.Suspended), "place")+" suspended (openclawd discord threads --all)")
	}
	if d.Undelivered > 0 {
		parts = append(parts, output.Count(int64(d.Undelivered), "post")+" undelivered (openclawd work --dead)")
	}
	return strings.Join(parts, ", ")
}

// counted lists words with how many there are of each.
func counted(words map[string]int64) string {
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(words)) {
		parts = append(parts, output.Thousands(words[word])+" "+word)
	}
	return strings.Join(parts, ", ")
}

func tablesLine(list []projections.Status) string {
	var parts []string
	for _, s := range list {
		part := s.Name + " " + string(s.State)
		if s.Lag > 0 {
			part += fmt.Sprintf(" (%s behind)", output.Thousands(s.Lag))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

func (p *process) backupLine(r *statusReport) string {
	b := r.Backup
	if b == nil {
		return "none"
	}
	line := "none in " + b.Dir
	if !b.Last.IsZero() {
		line = fmt.Sprintf("%s, up to event %s, in %s", ago(p.now(), b.Last), output.Thousands(b.LastSeq), b.Dir)
	}
	switch {
	case b.Running:
		line += "; one is being made"
	case !b.Next.IsZero():
		line += "; next " + b.Next.Format(time.DateTime)
	}
	return line
}

func (p *process) writeTrouble(r *statusReport) error {
	reasons := r.Reasons
	if len(r.Unattended) > 0 {
		reasons = append(slices.Clone(reasons), monitor.Reason{Severity: monitor.SeverityWarning, Code: doctor.CodeUnattended,
			What: output.Printable(doctor.UnattendedLine(r.Unattended)), Mend: doctor.MendUnattended})
	}
	for _, reason := range reasons {
		if _, err := fmt.Fprintf(p.stdout, "\n%s: %s: %s\n  %s\n", reason.Severity, reason.Code, reason.What, reason.Mend); err != nil {
			return err
		}
	}
	if len(r.Trouble) == 0 {
		return nil
	}
	rows := make([][]string, len(r.Trouble))
	for i, t := range r.Trouble {
		rows[i] = []string{output.Time(int64(t.LastTime)), t.Outcome, t.FromAgent + " → " + t.ToAgent, clip(t.Title, 40), clip(t.Reason, 50)}
	}
	if _, err := fmt.Fprintln(p.stdout); err != nil {
		return err
	}
	return output.Table(p.stdout, []string{"TROUBLE", "OUTCOME", "WHO", "SESSION", "REASON"}, rows)
}

// clip shortens a text to so many letters.
func clip(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return s
}
