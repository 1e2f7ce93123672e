package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// Kind of a watched file.
type Kind string

const (
	KindTask       Kind = "task"
	KindMilestones Kind = "milestones"
	KindCurrent    Kind = "current"
	KindPlan       Kind = "plan"
	KindHistory    Kind = "history"
	KindTeamState  Kind = "team-state"
)

// Kinds of changes.
const (
	OpAdd    = "add"
	OpChange = "change"
	OpUnlink = "unlink"
)

// Change is a change of a file.
type Change struct {
	Path   string // relative to the state directory
	Op     string
	Kind   Kind
	Agent  string // its agent; "" for the team's files
	TaskID string // of a task file with a name that the tools generate
	Time   int64  // modification time in ms since 1970; 0 for OpUnlink
	Bytes  int64
	SHA256 string // hex; "" for OpUnlink and for files above MaxFileBytes
	Steps  *taskfile.StepsProgress

	// Essence of the team's state changes only if more than times has changed; "" if unknown.
	Essence string
}

// File returns the base name of the file.
func (c *Change) File() string { return path.Base(c.Path) }

// Watch detects changes of the files of a state directory. It checks on request and remembers what it has seen.
// Locks, temporary files, links and special files are skipped. It must be used by one goroutine.
type Watch struct {
	dir    *Dir
	agents []string
	top    dirStamp
	places map[string]*place
}

// place is a directory with its watched files.
type place struct {
	dirStamp
	names []string // of the last listing
	cut   bool     // whether that listing was truncated
	files map[string]file
}

// dirStamp tells whether a directory can have changed since it was listed.
type dirStamp struct {
	identity identity
	sure     bool
}

// file is the last known state of a file.
type file struct {
	dirStamp
	sum [sha256.Size]byte
}

// NewWatch returns a Watch that has seen nothing: the first check of a place reports every file as added.
func (d *Dir) NewWatch() *Watch { return &Watch{dir: d, places: map[string]*place{}} }

// Places lists the directories to check, relative to the state directory; "" is that itself. Those of a workspace
// are listed as soon as it exists, and until a check has found its files gone.
func (w *Watch) Places() []string {
	_ = w.dir.in(nil, func(f *folder) error { // a directory that cannot be listed now is taken as unchanged
		if now, same := w.top.restat(w.dir, f); !same {
			agents, err := f.agents()
			if err != nil {
				return err
			}
			w.agents, w.top = agents, now
		}
		return nil
	})
	places := map[string]bool{"": true, plansName: true}
	for _, agent := range w.agents {
		own := prefix + agent
		for _, below := range []string{"", tasksName, historyName, plansName, ownName + "/" + plansName} {
			places[path.Join(own, below)] = true
		}
	}
	for path, p := range w.places {
		if len(p.files) > 0 {
			places[path] = true
		} else if !places[path] {
			delete(w.places, path)
		}
	}
	return slices.Sorted(maps.Keys(places))
}

// Check returns what has changed at a place since the last check, sorted by name.
func (w *Watch) Check(at string) (changes []Change) {
	p := w.places[at]
	if p == nil {
		p = &place{files: map[string]file{}}
		w.places[at] = p
	}
	var names []string
	if at != "" {
		names = strings.Split(at, "/")
	}
	gone := maps.Clone(p.files)
	err := w.dir.in(names, func(f *folder) error {
		if err := p.list(w.dir, f); err != nil {
			return err
		}
		for _, name := range p.namesToCheck() {
			if c, there := w.checkFile(p, f, name); there {
				delete(gone, name)
				if c.Op != "" {
					changes = append(changes, c)
				}
			}
		}
		return nil
	})
	if isTransient(err) {
		return changes // the next check may tell
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		delete(p.files, name)
		changes = append(changes, describe(at, name, OpUnlink))
	}
	if err != nil {
		p.dirStamp, p.names, p.cut = dirStamp{}, nil, false
	}
	return changes
}

// restat reads the directory's stamp, and reports whether its names are certainly unchanged.
func (s dirStamp) restat(d *Dir, f *folder) (now dirStamp, same bool) {
	at := d.now()
	info, err := f.root.Stat(".")
	if err != nil {
		return dirStamp{}, false
	}
	now.identity = identityOf(info)
	now.sure = !now.identity.isFresh(at)
	return now, s.sure && s.identity == now.identity
}

// list updates the names of the watched files.
func (p *place) list(d *Dir, f *folder) error {
	if fixed := fixedNames(f.path); fixed != nil {
		p.names = fixed
		return nil
	}
	now, same := p.restat(d, f)
	if same {
		return nil
	}
	names, more, err := f.list(func(e fs.DirEntry) bool { return !e.IsDir() && isWatched(f.path, e.Name()) })
	if err == nil {
		p.names, p.cut, p.dirStamp = names, more, now
	}
	return err
}

// namesToCheck returns sorted names: those of the listing and, if that was truncated, those of the known files.
// Which ones a truncated listing omits changes with every new file.
func (p *place) namesToCheck() []string {
	if !p.cut {
		return p.names
	}
	names := slices.AppendSeq(slices.Clone(p.names), maps.Keys(p.files))
	slices.Sort(names)
	return slices.Compact(names)
}

// Gone reports whether a file that existed has certainly gone. Checks find only a limited number of files of a
// directory.
func (w *Watch) Gone(file string) bool {
	names := strings.Split(file, "/")
	last := len(names) - 1
	err := w.dir.in(names[:last], func(f *folder) error {
		info, err := f.stat(names[last])
		if err == nil && !info.Mode().IsRegular() {
			err = f.refuse(names[last], ReasonSpecial)
		}
		return err
	})
	return err != nil && !isTransient(err)
}

// checkFile checks one file, and returns whether it exists and how it has changed; a change without Op is none.
func (w *Watch) checkFile(p *place, f *folder, name string) (c Change, there bool) {
	old, known := p.files[name]
	info, err := f.stat(name)
	switch {
	case isTransient(err):
		return Change{}, known
	case err != nil || !info.Mode().IsRegular():
		return Change{}, false
	case known && old.sure && old.identity == identityOf(info):
		return Change{}, true
	}
	seen, text, err := w.read(f, name, info)
	if err != nil || seen.isUnfinished(old, known) {
		return Change{}, known
	}
	p.files[name] = seen
	op := OpAdd
	if known {
		op = OpChange
	}
	if known && seen.sum == old.sum {
		return Change{}, true
	}
	c = describe(f.path, name, op)
	c.Time, c.Bytes = seen.identity.modified/1e6, seen.identity.size
	if c.Bytes <= MaxFileBytes {
		c.SHA256 = hex.EncodeToString(seen.sum[:])
	}
	switch c.Kind {
	case KindTeamState:
		c.Essence = essenceOf(text)
	case KindTask:
		if task, ok := taskfile.Parse(strings.TrimSuffix(name, ".md"), clean(text)); ok {
			c.Steps = task.StepsProgress
		}
	}
	return c, true
}

// read reads a file. A too large one is compared by its size and times.
func (w *Watch) read(f *folder, name string, info fs.FileInfo) (seen file, text []byte, err error) {
	now := w.dir.now()
	if info.Size() <= MaxFileBytes {
		if text, info, err = f.read(name, info); err != nil {
			return file{}, nil, err
		}
	}
	seen.identity = identityOf(info)
	seen.sure = !seen.identity.isFresh(now)
	seen.sum = sha256.Sum256(text)
	if seen.identity.size > MaxFileBytes {
		seen.sum = sha256.Sum256(fmt.Append(nil, seen.identity))
	}
	return seen, text, nil
}

// isUnfinished reports whether a file was just created or truncated, which is how programs start to rewrite it.
func (f *file) isUnfinished(old file, known bool) bool {
	return f.identity.size == 0 && !f.sure && (!known || old.identity.size > 0)
}

// isTransient reports whether an error does not say what lies there.
func isTransient(err error) bool {
	var refused *RefusedError
	return err != nil && !isMissing(err) && !errors.As(err, &refused)
}

// fixedNames are the watched files of a directory that holds many others; nil if names are listed.
func fixedNames(at string) []string {
	switch {
	case at == "":
		return []string{TeamStateName}
	case at != plansName && !strings.Contains(at, "/"):
		return []string{currentName, milestonesName}
	}
	return nil
}

// isWatched reports whether a file of a listed directory is watched.
func isWatched(at, name string) bool {
	if isPassing(name) {
		return false
	}
	switch path.Base(at) {
	case plansName:
		return strings.HasSuffix(name, ".json")
	case historyName:
		month, ok := strings.CutSuffix(name, ".md")
		return ok && IsMonth(month)
	}
	return true
}

// describe returns the state of a file.
func describe(at, name, op string) Change {
	c := Change{Path: path.Join(at, name), Op: op}
	if own, ok := strings.CutPrefix(at, prefix); ok {
		c.Agent, _, _ = strings.Cut(own, "/")
	}
	switch {
	case at == "":
		c.Kind = KindTeamState
	case path.Base(at) == plansName:
		c.Kind = KindPlan
	case path.Base(at) == historyName:
		c.Kind = KindHistory
	case path.Base(at) == tasksName:
		c.Kind = KindTask
		if id, ok := strings.CutSuffix(name, ".md"); ok && isPlainTaskID(id) {
			c.TaskID = id
		}
	case name == milestonesName:
		c.Kind = KindMilestones
	default:
		c.Kind = KindCurrent
	}
	return c
}
