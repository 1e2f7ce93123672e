package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/durable"
)

// Backup is one copy in a directory.
type Backup struct {
	File     string    `json:"file"` // path
	Time     time.Time `json:"time"` // when it was started, UTC, whole seconds
	Seq      int64     `json:"seq"`  // its last event
	Bytes    int64     `json:"bytes"`
	Manifest *Manifest `json:"manifest"` // nil: missing, or of another copy
}

// Manifest says what a copy held when it was verified.
type Manifest struct {
	Seq        int64           `json:"seq"`
	Head       eventstore.Hash `json:"head"` // of the chain at seq
	Schema     int64           `json:"schema"`
	Bytes      int64           `json:"bytes"`
	SHA256     string          `json:"sha256"`
	Version    string          `json:"version"` // version of the openclawd that made it
	CreatedAt  time.Time       `json:"createdAt"`
	VerifiedAt time.Time       `json:"verifiedAt"`         // last verification
	Archives   *Archives       `json:"archives,omitempty"` // archives that it needs beside it; nil: none
}

// nameLayout is the time format in a name.
const nameLayout = "20060102T150405Z"

var namePattern = regexp.MustCompile(`^openclawd-(\d{8}T\d{6}Z)-(\d{1,19})\.db$`)

func nameOf(at time.Time, seq int64) string {
	return fmt.Sprintf("openclawd-%s-%d.db", at.UTC().Format(nameLayout), seq)
}

// manifestPath returns the path of a copy's manifest.
func manifestPath(file string) string { return strings.TrimSuffix(file, ".db") + ".json" }

// List returns the backups of a directory, newest first. A missing directory holds none.
func List(dir string) ([]Backup, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Backup{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	list := []Backup{}
	for _, entry := range entries {
		b, ok := parseName(entry.Name())
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		b.File, b.Bytes = filepath.Join(dir, entry.Name()), info.Size()
		if m, err := readManifest(b.File); err == nil && m.Seq == b.Seq && m.Bytes == b.Bytes {
			b.Manifest = m
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b Backup) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(b.File, a.File)
	})
	return list, nil
}

// Named returns the path of the backup of a directory with this name, as in List. Paths, links and names of other files
// are not found.
func Named(dir, name string) (file string, found bool, err error) {
	if _, ok := parseName(name); !ok {
		return "", false, nil
	}
	file = filepath.Join(dir, name)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find the backup: %w", err)
	}
	return file, info.Mode().IsRegular(), nil
}

// Newest returns the newest verified backup of a directory, or nil.
func Newest(dir string) (*Backup, error) {
	list, err := List(dir)
	for i := range list {
		if list[i].Manifest != nil {
			return &list[i], nil
		}
	}
	return nil, err
}

func parseName(name string) (b Backup, ok bool) {
	m := namePattern.FindStringSubmatch(name)
	if m == nil {
		return b, false
	}
	at, timeErr := time.Parse(nameLayout, m[1])
	seq, seqErr := strconv.ParseInt(m[2], 10, 64)
	return Backup{Time: at, Seq: seq}, timeErr == nil && seqErr == nil
}

// maxManifestBytes bounds the size of a manifest that is read.
const maxManifestBytes = 64 << 10

func readManifest(file string) (*Manifest, error) {
	path := manifestPath(file)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxManifestBytes {
		return nil, fmt.Errorf("%s is not a manifest: it has %d bytes", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", path, err)
	}
	return &m, nil
}

// writeManifest replaces the manifest of a copy atomically.
func writeManifest(file string, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.ReplaceBytes(manifestPath(file), 0o600, append(text, '\n')); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// Prune removes all but the newest keep verified backups of a directory, with their manifests. Files without a
// manifest or not named like a backup stay.
func Prune(dir string, keep int) (removed []string, err error) {
	list, err := List(dir)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Manifest == nil {
			continue
		}
		if keep > 0 {
			keep--
			continue
		}
		if err := errors.Join(os.Remove(list[i].File), os.Remove(manifestPath(list[i].File))); err != nil {
			return removed, fmt.Errorf("remove an old backup: %w", err)
		}
		removed = append(removed, list[i].File)
	}
	return removed, nil
}
