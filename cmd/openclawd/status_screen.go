package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/problems"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
	"github.com/pronto-lab/openclawd/services/continuer"
)

// writeStatus prints a status screen: one line per part, then problems, then the newest errors.
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
	if c := r.Cluster; c != nil {
		add("cluster", "node %s, %s; node %s writes since epoch %d; %s behind", c.Node, c.Role, cmp.Or(c.Writer, "(none)"), c.Epoch, output.Count(c.Lag, "event"))
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
	rows = append(rows, r.ChannelRows(r.Source == "server")...)
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
		add("live", "%s connected, %s disconnected for being slow", output.Count(int64(c.Connected), "client"), output.Thousands(c.SlowCloses))
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
		line += fmt.Sprintf("; answers lag by %s", output.Count(behind, "event"))
	}
	return line
}

// workLine shows the number of waiting and running items per lane, over all agents.
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
			part += ", the first for " + output.Duration(l.oldest)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing waits")
	}
	if w.Dead > 0 {
		parts = append(parts, output.Thousands(int64(w.Dead))+" failed for good (openclawd work --dead)")
	}
	return strings.Join(parts, "; ")
}

func runsLine(states map[string]int64) string {
	line := output.Thousands(states[string(run.OK)]) + " ok"
	for _, s := range []struct {
		state run.State
		word  string
	}{{run.Failed, "failed"}, {run.Aborted, "stopped"}, {run.TimedOut, "timed out"}} {
		if n := states[string(s.state)]; n > 0 {
			line += ", " + output.Thousands(n) + " " + s.word
		}
	}
	return line
}

// flowsLine counts flows between agents: open ones by what they wait for, the others by outcome.
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

// counted lists words with their counts.
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
		line += "; one is in progress"
	case !b.Next.IsZero():
		line += "; next " + b.Next.Format(time.DateTime)
	}
	return line
}

func (p *process) writeTrouble(r *statusReport) error {
	reasons := r.Reasons
	if len(r.Unattended) > 0 {
		reasons = append(slices.Clone(reasons), health.Reason{Severity: health.SeverityWarning, Code: continuer.CodeUnattended,
			What: output.Printable(continuer.UnattendedLine(r.Unattended)), Hint: continuer.HintUnattended})
	}
	if open, found := sandboxes.Held(r.Sandboxes); open {
		reasons = append(slices.Clone(reasons), health.Reason{Severity: health.SeverityWarning, Code: sandboxes.CodeOpen, What: output.Printable(found), Hint: sandboxes.HintOpen})
	}
	for _, reason := range reasons {
		if _, err := fmt.Fprintf(p.stdout, "\n%s: %s: %s\n  %s\n", reason.Severity, reason.Code, reason.What, reason.Hint); err != nil {
			return err
		}
	}
	if r.Problems != nil {
		return p.writeProblems(r.Problems)
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

// shownProblems is how many problems the screen lists.
const shownProblems = 12

// writeProblems prints a row for each problem except the reasons, which are printed above.
func (p *process) writeProblems(list *monitor.ProblemsAnswer) error {
	var rows [][]string
	for i := range list.Problems {
		if p := &list.Problems[i]; p.Kind != problems.NotReady && p.Kind != problems.Warning && len(rows) < shownProblems {
			rows = append(rows, problemRow(p))
		}
	}
	more := list.Total - list.Counts[problems.NotReady] - list.Counts[problems.Warning] - len(rows)
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(p.stdout); err != nil {
		return err
	}
	if err := output.Table(p.stdout, []string{"PROBLEM", "SINCE", "WHO", "WHAT", "REASON"}, rows); err != nil || more <= 0 {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "%s more: openclawd status --json\n", output.Thousands(int64(more)))
	return err
}

func problemRow(p *problems.Problem) []string {
	since, who := "", cmp.Or(p.AgentID, p.Refs.AccountID)
	if p.SinceMs != nil {
		since = output.Time(*p.SinceMs)
	}
	if f := &p.Fields; f.From != "" && f.To != "" {
		who = f.From + " → " + f.To
	}
	what := cmp.Or(p.Title, p.Refs.EffectID, p.Refs.RunID, p.Refs.Task, p.Refs.PlaceID, p.Refs.AccountID)
	return []string{string(p.Kind), since, who, clip(what, 40), clip(cmp.Or(p.Reason, p.Code), 50)}
}

// clip shortens a text to a number of characters.
func clip(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters-1]) + "…"
	}
	return s
}
