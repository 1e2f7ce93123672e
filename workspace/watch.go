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

// Kind says what a watched file is.
type Kind string

const (
	KindTask       Kind = "task"
	KindMilestones Kind = "milestones"
	KindCurrent    Kind = "current"
	KindPlan       Kind = "plan"
	KindHistory    Kind = "history"
	KindTeamState  Kind = "team-state"
)

// What has happened to a file.
const (
	OpAdd    = "add"
	OpChange = "change"
	OpUnlink = "unlink"
)

// Change is a file that is not as it was.
type Change struct {
	Path   string // relative to the state directory
	Op     string
	Kind   Kind
	Agent  string // whose it is; "" for the team's
	TaskID string // of a task file that is named as the tools name them
	Time   int64  // ms since 1970: when the file says that it was changed; 0 for OpUnlink
	Bytes  int64
	SHA256 string // hex; "" for OpUnlink and for files above MaxFileBytes
	Steps  *taskfile.StepsProgress

	// Essence of the team's state is the same as long as nothing but times has changed; "" where it is not known.
	Essence string
}

// File is the name of the file alone.
func (c *Change) File() string { return path.Base(c.Path) }

// Watch notices changes of the files of a state directory. It looks when it is told to and keeps in mind what it has seen. Locks, files
// that programs write before they rename them, links and special files are passed over. It is used by one goroutine.
type Watch struct {
	dir    *Dir
	agents []string
	top    sighting
	places map[string]*place
}

// place is a directory with the files in it that are watched.
type place struct {
	sighting
	names []string // of the last listing
	cut   bool     // that one left out names
	files map[string]file
}

// sighting tells whether a directory can have got or lost a name since it was listed.
type sighting struct {
	identity identity
	sure     bool
}

// file is one as it was seen last.
type file struct {
	sighting
	sum [sha256.Size]byte
}

// NewWatch returns a Watch that has seen nothing: its first look at a place finds everything added.
func (d *Dir) NewWatch() *Watch { return &Watch{dir: d, places: map[string]*place{}} }

// Places lists the directories to look at, relative to the state directory; "" is that itself. Those of a workspace are there as soon as
// it is, and until a look has found its files gone.
func (w *Watch) Places() []string {
	_ = w.dir.in(nil, func(f *folder) error { // what cannot be listed now is as it was
		if now, same := w.top.again(w.dir, f); !same {
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

// Look says what has changed at a place since the last look, by name.
func (w *Watch) Look(at string) (changes []Change) {
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
		for _, name := range p.toLookAt() {
			if c, there := w.lookAt(p, f, name); there {
				delete(gone, name)
				if c.Op != "" {
					changes = append(changes, c)
				}
			}
		}
		return nil
	})
	if isTransient(err) {
		return changes // the next look may tell
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		delete(p.files, name)
		changes = append(changes, described(at, name, OpUnlink))
	}
	if err != nil {
		p.sighting, p.names, p.cut = sighting{}, nil, false
	}
	return changes
}

// again looks at a directory, and says whether it is sure to have the names that it had.
func (s sighting) again(d *Dir, f *folder) (now sighting, same bool) {
	at := d.now()
	info, err := f.root.Stat(".")
	if err != nil {
		return sighting{}, false
	}
	now.identity = identityOf(info)
	now.sure = !now.identity.isFresh(at)
	return now, s.sure && s.identity == now.identity
}

// list brings the names of the watched files up to date.
func (p *place) list(d *Dir, f *folder) error {
	if fixed := fixedNames(f.path); fixed != nil {
		p.names = fixed
		return nil
	}
	now, same := p.again(d, f)
	if same {
		return nil
	}
	names, more, err := f.list(func(e fs.DirEntry) bool { return !e.IsDir() && isWatched(f.path, e.Name()) })
	if err == nil {
		p.names, p.cut, p.sighting = names, more, now
	}
	return err
}

// toLookAt lists names in order: those of the listing and, where it left out some, those of the files that are known. Which ones are left
// out changes with every new file.
func (p *place) toLookAt() []string {
	if !p.cut {
		return p.names
	}
	names := slices.AppendSeq(slices.Clone(p.names), maps.Keys(p.files))
	slices.Sort(names)
	return slices.Compact(names)
}

// Gone reports whether a file that was there once has certainly gone. Looks find only so many files of a directory.
func (w *Watch) Gone(file string) bool {
	names := strings.Split(file, "/")
	last := len(names) - 1
	err := w.dir.in(names[:last], func(f *folder) error {
		info, err := f.look(names[last])
		if err == nil && !info.Mode().IsRegular() {
			err = f.refuse(names[last], ReasonSpecial)
		}
		return err
	})
	return err != nil && !isTransient(err)
}

// lookAt looks at one file, and says whether it is there and how it has changed; a change without Op is none.
func (w *Watch) lookAt(p *place, f *folder, name string) (c Change, there bool) {
	old, known := p.files[name]
	info, err := f.look(name)
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
	c = described(f.path, name, op)
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

// read reads a file. One that is too large is known by its size and times.
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

// isUnfinished reports whether a file has just been emptied or made: whoever writes it anew does that first.
func (f *file) isUnfinished(old file, known bool) bool {
	return f.identity.size == 0 && !f.sure && (!known || old.identity.size > 0)
}

// isTransient reports whether an error says nothing about what lies there.
func isTransient(err error) bool {
	var refused *RefusedError
	return err != nil && !isMissing(err) && !errors.As(err, &refused)
}

// fixedNames are the files that are watched in a directory of many others; nil where names are listed.
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

// described says what a file is.
func described(at, name, op string) Change {
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
