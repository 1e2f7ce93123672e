package verify

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/services/tasksync"
)

// files compares the Markdown task files with the log.
func (p *verifier) files(ctx context.Context, out *Outcome) error {
	if p.StateDir == "" || p.CheckFiles == nil {
		return &SkipError{p.Alone}
	}
	checked, err := p.CheckFiles(ctx, p.Log)
	if err != nil {
		return err
	}
	out.Counts = map[string]int64{"agents": checked.Agents, "subjects": checked.Subjects, "kept": int64(len(checked.Kept))}
	for _, kept := range checked.Kept {
		out.addNote("%s was put aside because the file was edited by hand", kept)
	}
	edited := 0
	for i := range checked.Differences {
		d := &checked.Differences[i]
		if d.Kind == tasksync.Edited {
			edited++
		}
		out.find(Finding{What: d.Path + ": " + ofFile(d.Kind), File: d})
	}
	if out.Found > 0 {
		out.Code = "files_differ"
		out.hint = "openclawd serve rewrites them and keeps edited ones aside; openclawd tasks rewrite does so at once"
		out.Why = fmt.Sprintf("%d task files differ from the log, %d of them were edited by hand; the first: %s", out.Found, edited, out.Findings[0].What)
		if out.Found == 1 {
			out.Why = "a task file differs from the log: " + out.Findings[0].What
		}
	}
	return nil
}

func ofFile(kind tasksync.DifferenceKind) string {
	switch kind {
	case tasksync.Missing:
		return "is missing"
	case tasksync.Left:
		return "exists although its task has ended"
	case tasksync.Edited:
		return "was edited by hand"
	}
	return "is not up to date"
}

// mirror compares the coordination logs with the events that we produced.
func (p *verifier) mirror(ctx context.Context, out *Outcome) error {
	if p.StateDir == "" {
		return &SkipError{p.Alone}
	}
	proof, err := ndjson.VerifyMirror(ctx, ndjson.MirrorOptions{Log: p.Log, StateDir: p.StateDir, Internal: coordination.Internal, Mark: database.MirrorFile(p.Log.Path())},
		func(f ndjson.MirrorFault) {
			fault := f
			out.find(Finding{What: at(&f) + f.What, Line: &fault})
		}, func(done, total int64) { p.Progress(Mirror, done, total) })
	if err != nil {
		return err
	}
	if proof.Lines == 0 && proof.Seq == 0 {
		return &SkipError{"no mirrored lines in " + ndjson.LogDir(p.StateDir)}
	}
	out.Counts = map[string]int64{"seq": proof.Seq, "files": proof.Files, "lines": proof.Lines, "redacted": proof.Redacted, "others": proof.Others}
	if proof.Gone > 0 {
		out.addNote("the lines of our first %d events were in archived coordination logs that are gone", proof.Gone)
	}
	if out.Found = proof.Faults; out.Found > 0 {
		out.Code, out.hint = "mirror_differs", "the log has everything: openclawd export writes it; find out what else writes the coordination log"
		out.Why = out.Findings[0].What
		if out.Found > 1 {
			out.Why = fmt.Sprintf("%d faults in the coordination logs; the first: %s", out.Found, out.Findings[0].What)
		}
	}
	return nil
}

func at(f *ndjson.MirrorFault) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", f.File, f.Line)
}
