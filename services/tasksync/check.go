package tasksync

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// DifferenceKind is the way in which a file differs from the log.
type DifferenceKind string

const (
	Missing DifferenceKind = "missing" // the file is missing
	Left    DifferenceKind = "left"    // the file should not exist
	Behind  DifferenceKind = "behind"  // as written, but the log has changed since
	Edited  DifferenceKind = "edited"  // edited by another program or person
)

// Difference is a file that would be written now.
type Difference struct {
	Kind  DifferenceKind `json:"kind"`
	Path  string         `json:"path"` // as in events, workspace-<agent>/<name>
	Agent string         `json:"agent"`
	Task  string         `json:"taskId,omitempty"`
}

// Checked is the result of Check.
type Checked struct {
	Agents      int64        `json:"agents"`   // agents whose workspaces were checked
	Subjects    int64        `json:"subjects"` // tasks, months and focuses that were checked
	Differences []Difference `json:"differences"`
	Kept        []string     `json:"kept"` // paths of edited files that were put aside and still exist
}

// checkRounds bounds the checks of a file that differs.
const checkRounds = 3

// Check compares the task files with the log without writing files or events. A file that differs is checked up to three times, settle
// apart, since a running service may be about to write it. Of o it uses Log, Agents, Dir and Now; the log may be read-only.
func Check(ctx context.Context, o Options, settle time.Duration) (Checked, error) {
	o.Logger = slog.New(slog.DiscardHandler)
	s := New(o)
	c := Checked{Differences: []Difference{}, Kept: []string{}}
	subjects, err := s.everything(ctx, allMonths)
	if err != nil {
		return c, err
	}
	slices.SortFunc(subjects, subject.compare)
	c.Subjects = int64(len(subjects))
	for _, agent := range o.Agents() {
		if o.Dir(agent) != "" {
			c.Agents++
		}
	}
	for round := 0; ; round++ {
		var differ []subject
		if c.Differences, differ, err = s.differences(ctx, subjects); err != nil {
			return c, err
		}
		if len(differ) == 0 || round == checkRounds || wait.For(ctx, settle) != nil {
			break
		}
		subjects = differ
	}
	c.Kept = append(c.Kept, s.conflictRemains()...)
	return c, ctx.Err()
}

func (s *Syncer) differences(ctx context.Context, subjects []subject) (list []Difference, differ []subject, err error) {
	byPath := map[string]Difference{}
	var found bool
	s.differ = func(w *wantedFile, l *fileState) {
		found = true
		byPath[l.path] = Difference{Kind: kindOf(w, l), Path: l.path, Agent: w.agent, Task: w.taskID}
	}
	for _, subj := range subjects {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		found = false
		if _, err := s.sync(ctx, subj, 0, false); err != nil {
			return nil, nil, err
		}
		if found {
			differ = append(differ, subj)
		}
	}
	list = []Difference{}
	for _, d := range byPath {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return list, differ, nil
}

func kindOf(w *wantedFile, l *fileState) DifferenceKind {
	switch {
	case !l.there:
		return Missing
	case l.edited:
		return Edited
	case w.content == nil:
		return Left
	}
	return Behind
}
