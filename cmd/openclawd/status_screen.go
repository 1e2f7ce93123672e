package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/projections"
)

// writeStatus writes a status as a screen: one line for each part, then what is wrong, then the newest trouble.
func (p *process) writeStatus(r *statusReport) error {
	rows := [][]string{{"openclawd", r.Version + ", " + r.Status.Status}}
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	if r.Source == "server" {
		add("server", "%s at http://%s, up since %s", r.Mode, r.API, formatMs(r.StartedAt.UnixMilli()))
	} else {
		add("server", "%s", r.Note)
	}
	add("log", "%s", r.headLine())
	add("events", "%s in 24 hours, %s in 7 days", thousands(r.Events.LastDay), thousands(r.Events.LastWeek))
	add("sessions", "%s active, %s quiet, %s blocked", thousands(r.Sessions.Active), thousands(r.Sessions.Quiet), thousands(r.Sessions.Blocked))
	add("tables", "%s", tablesLine(r.Projections))
	if i := r.Importing; i != nil {
		add("import", "%s of %s", formatBytes(i.Bytes), formatBytes(i.Total))
	}
	add("doubts", "%s, %s, %s without a role", count(r.BadLines, "bad line"),
		count(r.Doubts.UnknownSender+r.Doubts.UnknownReceiver, "unknown session type"), count(r.Doubts.GuessedRoles, "event"))
	if f := r.Follow; f != nil {
		add("follow", "%s, %s behind, %s read", f.File, formatBytes(f.Behind), count(f.Lines, "line"))
	}
	if s := r.Search; s != nil {
		add("search", "%s behind", count(s.Lag, "event"))
	}
	if c := r.Clients; c != nil {
		add("live", "%s connected, %s closed for being slow", count(int64(c.Connected), "client"), thousands(c.SlowCloses))
	}
	if d := r.Database; d != nil {
		add("database", "%s, %s, WAL %s", d.File, formatBytes(d.Bytes), formatBytes(d.WALBytes))
	}
	add("backup", "%s", p.backupLine(r))
	for _, row := range rows {
		if _, err := fmt.Fprintf(p.stdout, "%-10s %s\n", row[0], printable(row[1])); err != nil {
			return err
		}
	}
	return p.writeTrouble(r)
}

func (r *statusReport) headLine() string {
	if r.HeadAt == nil {
		return "empty"
	}
	line := fmt.Sprintf("%s, the newest of %s", count(r.Seq, "event"), strings.Replace(strings.TrimSuffix(*r.HeadAt, "Z"), "T", " ", 1))
	if behind := r.Seq - r.AsOfSeq; behind > 0 {
		line += fmt.Sprintf("; answers are %s behind", count(behind, "event"))
	}
	return line
}

func tablesLine(list []projections.Status) string {
	var parts []string
	for _, s := range list {
		part := s.Name + " " + string(s.State)
		if s.Lag > 0 {
			part += fmt.Sprintf(" (%s behind)", thousands(s.Lag))
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
		line = fmt.Sprintf("%s, up to event %s, in %s", ago(p.now(), b.Last), thousands(b.LastSeq), b.Dir)
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
	for _, reason := range r.Reasons {
		if _, err := fmt.Fprintf(p.stdout, "\n%s: %s: %s\n  %s\n", reason.Severity, reason.Code, reason.What, reason.Mend); err != nil {
			return err
		}
	}
	if len(r.Trouble) == 0 {
		return nil
	}
	rows := make([][]string, len(r.Trouble))
	for i, t := range r.Trouble {
		rows[i] = []string{formatMs(int64(t.LastTime)), t.Outcome, t.FromAgent + " → " + t.ToAgent, clip(t.Title, 40), clip(t.Reason, 50)}
	}
	if _, err := fmt.Fprintln(p.stdout); err != nil {
		return err
	}
	return writeTable(p.stdout, []string{"TROUBLE", "OUTCOME", "WHO", "SESSION", "REASON"}, rows)
}

// clip shortens a text to so many letters.
func clip(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return s
}
