package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/durable"
)

const (
	manifestSuffix = ".json"
	archiveSuffix  = ".ndjson.zst"
	unfinished     = ".part"
)

// known is an archive of which there is a manifest. One that cannot be read has an error, and the range that its name says.
type known struct {
	Manifest
	err error
}

// rangeName is what the files of a range are called before their suffixes.
func rangeName(first, last int64) string {
	return strconv.FormatInt(first, 10) + "-" + strconv.FormatInt(last, 10)
}

// rangeOf reads the range in the name of a file.
func rangeOf(name string) (first, last int64, ok bool) {
	a, rest, ok := strings.Cut(name, "-")
	if !ok {
		return 0, 0, false
	}
	b, _, _ := strings.Cut(rest, ".")
	first, errFirst := strconv.ParseInt(a, 10, 64)
	last, errLast := strconv.ParseInt(b, 10, 64)
	return first, last, errFirst == nil && errLast == nil && first > 0 && last >= first
}

// look lists the archives, anew if the directory has changed since.
func (d *Dir) look() ([]known, error) {
	changed, err := d.changedAt()
	if err != nil {
		return nil, fmt.Errorf("look at the archives: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if changed.Equal(d.changed) {
		return d.known, nil
	}
	return d.list(changed)
}

// lookAgain lists the archives anew: two changes within one tick of the file system's clock look like one.
func (d *Dir) lookAgain() ([]known, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, err := d.changedAt()
	if err != nil {
		return nil, fmt.Errorf("look at the archives: %w", err)
	}
	return d.list(changed)
}

func (d *Dir) list(changed time.Time) ([]known, error) {
	var all []known
	if !changed.IsZero() {
		entries, err := os.ReadDir(d.path)
		if err != nil && !missing(err) {
			return nil, fmt.Errorf("list the archives: %w", err)
		}
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), manifestSuffix) {
				continue
			}
			first, last, ok := rangeOf(entry.Name())
			if !ok {
				continue
			}
			all = append(all, d.read(entry.Name(), first, last))
		}
	}
	slices.SortFunc(all, func(a, b known) int { return int(min(max(a.First-b.First, -1), 1)) })
	d.known, d.changed = all, changed
	d.frames.keepOnly(all)
	return all, nil
}

// read reads a manifest, and sees that it can be one of that range.
func (d *Dir) read(name string, first, last int64) known {
	k := known{Manifest: Manifest{File: name, First: first, Last: last}}
	text, err := os.ReadFile(filepath.Join(d.path, name))
	var m Manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil {
		err = m.check(first, last)
	}
	if err != nil {
		k.err = d.unreadable(&k.Manifest, fmt.Errorf("its manifest: %w", err))
		return k
	}
	k.Manifest = m
	return k
}

// check reports what cannot be in a manifest of that range.
func (m *Manifest) check(first, last int64) error {
	if m.First != first || m.Last != last || m.Events != last-first+1 {
		return fmt.Errorf("it is of events %d to %d", m.First, m.Last)
	}
	if m.File != filepath.Base(m.File) || !strings.HasPrefix(m.File, rangeName(first, last)+".") || !strings.HasSuffix(m.File, archiveSuffix) {
		return fmt.Errorf("it names the file %q", m.File)
	}
	next, offset := first, int64(0)
	for i, f := range m.Frames {
		if i == 0 && f.First != first || i > 0 && f.First <= next || f.First > last || f.Offset != offset || f.Bytes <= 0 {
			return fmt.Errorf("frame %d does not follow the one before it", i+1)
		}
		next, offset = f.First, offset+f.Bytes
	}
	if len(m.Frames) == 0 || offset != m.Bytes {
		return errors.New("its frames are not the whole file")
	}
	return nil
}

// until is the last event of a frame.
func (m *Manifest) until(frame int) int64 {
	if frame+1 < len(m.Frames) {
		return m.Frames[frame+1].First - 1
	}
	return m.Last
}

// covering finds the archive that has an event, and the frame.
func covering(all []known, seq int64) (k *known, frame int, ok bool) {
	i, found := slices.BinarySearchFunc(all, seq, func(k known, seq int64) int {
		switch {
		case k.Last < seq:
			return -1
		case k.First > seq:
			return 1
		}
		return 0
	})
	if !found {
		return nil, 0, false
	}
	k = &all[i]
	at, exact := slices.BinarySearchFunc(k.Frames, seq, func(f Frame, seq int64) int { return int(min(max(f.First-seq, -1), 1)) })
	if !exact {
		at--
	}
	return k, at, true
}

// publish puts a manifest in its place, durably: from then on it counts.
func (d *Dir) publish(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, rangeName(m.First, m.Last)+manifestSuffix)
	f, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+unfinished))
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	return durable.SyncDir(d.path)
}

// sweep removes what killed runs have left: unfinished files, and archives in whose place the manifest names another one. An archive
// without any manifest stays: it may be the only one that has these payloads.
func (d *Dir) sweep() error {
	entries, err := os.ReadDir(d.path)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	}
	all, err := d.lookAgain()
	if err != nil {
		return err
	}
	removed := false
	for _, entry := range entries {
		name := entry.Name()
		first, last, ok := rangeOf(name)
		if !ok || !strings.HasSuffix(name, unfinished) && !superseded(all, name, first, last) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !missing(err) {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return durable.SyncDir(d.path)
}

// Strays are the paths of archives that no manifest names, such as a killed run leaves. Whether anybody needs them only the log can tell.
func (d *Dir) Strays() ([]string, error) {
	all, err := d.lookAgain()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("list the archives: %w", err)
	}
	var strays []string
	for _, entry := range entries {
		name := entry.Name()
		if _, _, ok := rangeOf(name); !ok || !strings.HasSuffix(strings.TrimSuffix(name, unfinished), archiveSuffix) ||
			slices.ContainsFunc(all, func(k known) bool { return k.err == nil && k.File == name }) {
			continue
		}
		strays = append(strays, filepath.Join(d.path, name))
	}
	return strays, nil
}

func superseded(all []known, name string, first, last int64) bool {
	if !strings.HasSuffix(name, archiveSuffix) {
		return false
	}
	k, _, ok := covering(all, first)
	return ok && k.err == nil && k.First == first && k.Last == last && k.File != name
}

// overlapping finds an archive that has some of a range, and not just that range.
func overlapping(all []known, first, last int64) *known {
	for i := range all {
		if k := &all[i]; k.First <= last && k.Last >= first && (k.First != first || k.Last != last) {
			return k
		}
	}
	return nil
}

// OverlapError refuses to seal events that an archive of another range has.
type OverlapError struct {
	First, Last int64
	File        string
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("events %d to %d: some of them are in archive %s", e.First, e.Last, e.File)
}
func (e *OverlapError) Code() string { return "archive_overlap" }
func (e *OverlapError) Hint() string {
	return "openclawd archive list shows what is archived; begin after it"
}

var _ eventstore.Coded = (*OverlapError)(nil)
