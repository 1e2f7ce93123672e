package files

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"
)

// DifferenceKind says in what way a file is not what the log says.
type DifferenceKind string

const (
	Missing DifferenceKind = "missing" // it should be there
	Left    DifferenceKind = "left"    // it should not be there any more
	Behind  DifferenceKind = "behind"  // it is as it was left, and something has happened since
	Edited  DifferenceKind = "edited"  // somebody else has made something of it
)

// Difference is a file that would be written now.
type Difference struct {
	Kind  DifferenceKind `json:"kind"`
	Path  string         `json:"path"` // as events name it, workspace-<agent>/<name>
	Agent string         `json:"agent"`
	Task  string         `json:"taskId,omitempty"`
}

// Checked is what Check has found.
type Checked struct {
	Agents      int64        `json:"agents"`   // whose workspace was looked at
	Subjects    int64        `json:"subjects"` // tasks, months and focuses that were looked at
	Differences []Difference `json:"differences"`
	Kept        []string     `json:"kept"` // paths of what was put aside because somebody had edited it, and is still there
}

// checkRounds is how often what differs is looked at again.
const checkRounds = 3

// Check holds the files of tasks against the log: each is what a Keeper would leave. Nothing is written, neither files nor events. A file that
// differs is looked at again, up to three times with settle between: a Keeper that runs may just be at it. Of o, Log, Agents, Dir and Now count; the
// log may be open for reading only.
func Check(ctx context.Context, o Options, settle time.Duration) (Checked, error) {
	o.Logger = slog.New(slog.DiscardHandler)
	k := New(o)
	c := Checked{Differences: []Difference{}, Kept: []string{}}
	subjects, err := k.everything(ctx, allMonths)
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
		if c.Differences, differ, err = k.differences(ctx, subjects); err != nil {
			return c, err
		}
		if len(differ) == 0 || round == checkRounds || !rest(ctx, settle) {
			break
		}
		subjects = differ
	}
	c.Kept = append(c.Kept, k.stillKept()...)
	return c, ctx.Err()
}

// differences looks at subjects, and gives those of which a file differs.
func (k *Keeper) differences(ctx context.Context, subjects []subject) (list []Difference, differ []subject, err error) {
	byPath := map[string]Difference{}
	var found bool
	k.differ = func(w *wanted, l *look) {
		found = true
		byPath[l.path] = Difference{Kind: kindOf(w, l), Path: l.path, Agent: w.agent, Task: w.taskID}
	}
	for _, s := range subjects {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		found = false
		if _, err := k.keep(ctx, s, 0, false); err != nil {
			return nil, nil, err
		}
		if found {
			differ = append(differ, s)
		}
	}
	list = []Difference{}
	for _, d := range byPath {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return list, differ, nil
}

func kindOf(w *wanted, l *look) DifferenceKind {
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
