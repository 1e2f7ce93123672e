package proof

import (
	"context"
	"fmt"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/tools/task/files"
)

// files holds the Markdown files of tasks against the log.
func (p *prover) files(ctx context.Context, out *Outcome) error {
	if p.StateDir == "" || p.CheckFiles == nil {
		return &SkipError{p.Alone}
	}
	checked, err := p.CheckFiles(ctx, p.Log)
	if err != nil {
		return err
	}
	out.Counts = map[string]int64{"agents": checked.Agents, "subjects": checked.Subjects, "kept": int64(len(checked.Kept))}
	for _, kept := range checked.Kept {
		out.note("%s was put aside because somebody had edited the file", kept)
	}
	edited := 0
	for i := range checked.Differences {
		d := &checked.Differences[i]
		if d.Kind == files.Edited {
			edited++
		}
		out.find(Finding{What: d.Path + ": " + ofFile(d.Kind), File: d})
	}
	if out.Found > 0 {
		out.Code = "files_differ"
		out.hint = "openclawd serve writes them again and keeps aside what was edited; openclawd tasks rewrite does so at once"
		out.Why = fmt.Sprintf("%d files of tasks are not what the log says, %d of them edited by hand; the first: %s", out.Found, edited, out.Findings[0].What)
		if out.Found == 1 {
			out.Why = "a file of tasks is not what the log says: " + out.Findings[0].What
		}
	}
	return nil
}

func ofFile(kind files.DifferenceKind) string {
	switch kind {
	case files.Missing:
		return "is not there, and should be"
	case files.Left:
		return "is there, and its task is over"
	case files.Edited:
		return "was edited by somebody else"
	}
	return "is not up to date"
}

// mirror holds the coordination logs against the events that we produced.
func (p *prover) mirror(ctx context.Context, out *Outcome) error {
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
		return &SkipError{"nothing was mirrored into " + ndjson.LogDir(p.StateDir)}
	}
	out.Counts = map[string]int64{"seq": proof.Seq, "files": proof.Files, "lines": proof.Lines, "redacted": proof.Redacted, "others": proof.Others}
	if proof.Gone > 0 {
		out.note("the lines of the first %d of our events lay in archives of logs that are not there any more", proof.Gone)
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
