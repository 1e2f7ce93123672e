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
	unfinished     = durable.Unfinished
)

// known is an archive that has a manifest. If the manifest cannot be read, err is set and the range is taken from the
// file name.
type known struct {
	Manifest
	err error
}

// rangeName is the base name of the files of a range.
func rangeName(first, last int64) string {
	return strconv.FormatInt(first, 10) + "-" + strconv.FormatInt(last, 10)
}

// rangeOf parses the range in a file name.
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

// cachedList lists the archives, using the cached list if the directory has not changed.
func (d *Dir) cachedList() ([]known, error) {
	changed, err := d.changedAt()
	if err != nil {
		return nil, fmt.Errorf("read archive directory: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if changed.Equal(d.changed) {
		return d.known, nil
	}
	return d.list(changed)
}

// scan ignores the cached list: two changes within one tick of the file system's clock cannot be told apart.
func (d *Dir) scan() ([]known, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, err := d.changedAt()
	if err != nil {
		return nil, fmt.Errorf("read archive directory: %w", err)
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

// read reads a manifest and checks that it is plausible for its range.
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

// check returns an error for a manifest that cannot be valid for its range.
func (m *Manifest) check(first, last int64) error {
	if m.First != first || m.Last != last || m.Events != last-first+1 {
		return fmt.Errorf("manifest is for events %d to %d", m.First, m.Last)
	}
	if m.File != filepath.Base(m.File) || !strings.HasPrefix(m.File, rangeName(first, last)+".") || !strings.HasSuffix(m.File, archiveSuffix) {
		return fmt.Errorf("manifest names file %q", m.File)
	}
	next, offset := first, int64(0)
	for i, f := range m.Frames {
		if i == 0 && f.First != first || i > 0 && f.First <= next || f.First > last || f.Offset != offset || f.Bytes <= 0 {
			return fmt.Errorf("frame %d does not follow the previous one", i+1)
		}
		next, offset = f.First, offset+f.Bytes
	}
	if len(m.Frames) == 0 || offset != m.Bytes {
		return errors.New("frames do not cover the file")
	}
	return nil
}

// until returns the last event of a frame.
func (m *Manifest) until(frame int) int64 {
	if frame+1 < len(m.Frames) {
		return m.Frames[frame+1].First - 1
	}
	return m.Last
}

// covering finds the archive and the frame that hold an event.
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

// publish writes a manifest durably. The archive counts from then on.
func (d *Dir) publish(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return durable.ReplaceBytes(filepath.Join(d.path, rangeName(m.First, m.Last)+manifestSuffix), 0o600, append(text, '\n'))
}

// sweep removes what killed processes left behind: unfinished files, and archives that were replaced in their
// manifest. An archive without any manifest stays: it may be the only copy of its payloads.
func (d *Dir) sweep() error {
	entries, err := os.ReadDir(d.path)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	}
	all, err := d.scan()
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

// Strays returns the paths of archives that no manifest names, such as a killed process leaves behind. Only the log
// can tell whether their payloads are still needed.
func (d *Dir) Strays() ([]string, error) {
	all, err := d.scan()
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

// overlapping finds an archive that covers part of a range, but not exactly that range.
func overlapping(all []known, first, last int64) *known {
	for i := range all {
		if k := &all[i]; k.First <= last && k.Last >= first && (k.First != first || k.Last != last) {
			return k
		}
	}
	return nil
}

// OverlapError reports that some of the events to seal are already in an archive of another range.
type OverlapError struct {
	First, Last int64
	File        string
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("events %d to %d: some are already in archive %s", e.First, e.Last, e.File)
}
func (e *OverlapError) Code() string { return "archive_overlap" }
func (e *OverlapError) Hint() string {
	return "openclawd archive list shows what is archived; start after it"
}

var _ eventstore.Coded = (*OverlapError)(nil)
