package asof

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/pages"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// keptExtension is the file name extension of kept states.
const keptExtension = ".state"

// Defaults of Keeping.
const (
	DefaultEvery  = 10_000
	DefaultStates = 200
)

// Keeping configures the states that survive the process.
type Keeping struct {
	MaxBytes func() int64  // of all of them; nil or at most 0: none are kept
	Every    int64         // events between two states; wider where MaxBytes or States demands it
	States   int           // at most so many
	After    time.Duration // how long Run answers requests only, before it begins to keep states

	space func(need int64) error // refuses to fill the disk with a merger of need bytes; nil: not checked
}

// stateStore has the states that are kept on disk: layers of pages, each with what changed since the state before. Its
// methods may be called concurrently.
type stateStore struct {
	log    *sqlite.DB
	dir    *pages.Dir
	key    string
	opts   Keeping
	logger *slog.Logger

	mu      sync.Mutex
	states  []kept // ascending; each on the one before
	forgets int    // number of forget calls
	needed  int64  // bytes without which no further state is kept
}

// kept is a state on disk.
type kept struct {
	note  note
	layer *pages.Layer
}

// note says what a state was made of. A state is valid while the log up to Seq is the same.
type note struct {
	Key      string `json:"key"`      // of the code and schema that made it
	Seq      int64  `json:"seq"`      // as of this event
	Parent   int64  `json:"parent"`   // seq of the state that it is a change of; 0: none
	Hash     string `json:"hash"`     // of the event, which covers all before it
	Redacted string `json:"redacted"` // digest of the seqs up to Seq that were redacted when the build began
}

// keyOf names what decides how tables are made, and how they are stored.
func keyOf(rules coordination.Rules) (string, error) {
	schema, err := sqlite.NewestSchema()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("layers 1, pages of %d, schema %d", pages.Size, schema)
	for _, d := range database.Projections(rules) {
		text += fmt.Sprintf(", %s %s", d.Name, d.Version)
	}
	return digest(text), nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// openKept opens the valid states of a directory. Unless it only looks, it removes all other files there: what a killed
// process left, and states of another log, version or of redacted events.
func openKept(ctx context.Context, log *sqlite.DB, dir string, rules coordination.Rules, opts Keeping, logger *slog.Logger, looks bool) (*stateStore, error) {
	key, err := keyOf(rules)
	if err != nil {
		return nil, err
	}
	k := &stateStore{log: log, key: key, opts: opts, logger: logger}
	if looks {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return k, nil
		}
	}
	if k.dir, err = pages.NewDir(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []kept
	var rest []string
	for _, e := range entries {
		rest = append(rest, e.Name())
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != keptExtension || !looks && k.limit() <= 0 {
			continue
		}
		layer, text, err := k.dir.OpenLayer(e.Name())
		if err != nil {
			continue // damaged, or removed by a server just now
		}
		s := kept{layer: layer}
		if json.Unmarshal(text, &s.note) != nil || s.note.Key != key || e.Name() != s.note.file() {
			_ = layer.Release()
			continue
		}
		found = append(found, s)
	}
	k.states, err = k.valid(ctx, chain(found))
	for _, s := range found {
		if slices.ContainsFunc(k.states, func(is kept) bool { return is.layer == s.layer }) {
			rest = slices.DeleteFunc(rest, func(name string) bool { return name == s.note.file() })
		} else {
			err = errors.Join(err, s.layer.Release())
		}
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	if !looks {
		for _, name := range rest {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return nil, errors.Join(err, k.close())
			}
		}
		if err := k.fit(ctx); err != nil { // the limit may have changed
			if ctx.Err() != nil {
				return nil, errors.Join(err, k.close())
			}
			logger.Warn("cannot merge kept states; will retry", "err", err)
		}
	}
	return k, nil
}

func (n *note) file() string { return fmt.Sprintf("%012d-%012d%s", n.Parent, n.Seq, keptExtension) }

// chain selects states that build on each other. Of two on the same state, the later one is their merger: a process was
// killed before it removed the others.
func chain(found []kept) (states []kept) {
	for at := int64(0); ; {
		next := -1
		for i := range found {
			if n := &found[i].note; n.Parent == at && n.Seq > at && (next < 0 || n.Seq > found[next].note.Seq) {
				next = i
			}
		}
		if next < 0 {
			return states
		}
		states, at = append(states, found[next]), found[next].note.Seq
	}
}

// valid returns the states before the first one that does not belong to the log as it is.
func (k *stateStore) valid(ctx context.Context, states []kept) ([]kept, error) {
	if len(states) == 0 {
		return nil, nil
	}
	head, err := k.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	gone, err := k.redacted(ctx)
	if err != nil {
		return nil, err
	}
	for i := range states {
		n := &states[i].note
		if n.Seq > head.Seq || n.Redacted != redactedUpTo(gone, n.Seq) {
			return states[:i], nil
		}
		hash, err := k.hashOf(ctx, n.Seq)
		if err != nil {
			return nil, err
		}
		if hash != n.Hash {
			return states[:i], nil
		}
	}
	return states, nil
}

// hashOf reads the hash of an event.
func (k *stateStore) hashOf(ctx context.Context, seq int64) (hash string, err error) {
	err = k.log.View(ctx, func(tx *sql.Tx) error {
		var sum []byte
		if err := tx.QueryRowContext(ctx, "SELECT hash FROM events WHERE seq = ?", seq).Scan(&sum); err != nil {
			return err
		}
		hash = hex.EncodeToString(sum)
		return nil
	})
	return hash, err
}

// redacted lists the redacted events, ascending.
func (k *stateStore) redacted(ctx context.Context) (seqs []int64, err error) {
	err = k.log.View(ctx, func(tx *sql.Tx) error {
		list, err := redactions.Read(ctx, tx, "")
		for i := range list {
			seqs = append(seqs, list[i].Seqs...)
		}
		return err
	})
	slices.Sort(seqs)
	return slices.Compact(seqs), err
}

func redactedUpTo(seqs []int64, last int64) string {
	n, found := slices.BinarySearch(seqs, last)
	if found {
		n++
	}
	return digest(fmt.Sprint(seqs[:n]))
}

// limit is the number of bytes that the states may have.
func (k *stateStore) limit() int64 {
	if k.opts.MaxBytes == nil {
		return 0
	}
	return max(0, k.opts.MaxBytes())
}

// last is the seq of the newest state; 0 if there is none.
func (k *stateStore) last() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lastOf()
}

func (k *stateStore) lastOf() int64 {
	if len(k.states) == 0 {
		return 0
	}
	return k.states[len(k.states)-1].note.Seq
}

// due is the event as of which the next state is to be kept. ok is false if there is to be none.
func (k *stateStore) due() (seq int64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	limit := k.limit()
	return k.lastOf() + k.opts.Every, limit > 0 && limit >= k.needed
}

// at returns the newest state up to an event, which the caller closes; 0 and nil if there is none.
func (k *stateStore) at(seq int64) (int64, *pages.Image) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, _ := slices.BinarySearchFunc(k.states, seq, func(s kept, seq int64) int {
		if s.note.Seq <= seq {
			return -1
		}
		return 1
	})
	if n == 0 {
		return 0, nil
	}
	layers := make([]*pages.Layer, n)
	for i := range layers {
		layers[i] = k.states[i].layer
	}
	return k.states[n-1].note.Seq, pages.NewImage(layers...)
}

// making is the stateStore's state when a build begins: what is built from an older state of it is not kept.
type making struct {
	forgets  int
	redacted []int64
}

func (k *stateStore) begin(ctx context.Context) (m making, err error) {
	k.mu.Lock()
	m.forgets = k.forgets
	k.mu.Unlock()
	m.redacted, err = k.redacted(ctx)
	return m, err
}

// keep writes the highest layer of a state to disk. It must contain what has changed since the state at below, from which
// it was made; that must be the newest kept one (0: there is none), else keep fails with errForgotten. kept is false if
// the state does not fit.
func (k *stateStore) keep(ctx context.Context, m making, below, seq int64, image *pages.Image) (kept bool, err error) {
	if k.last() != below {
		return false, errForgotten
	}
	hash, err := k.hashOf(ctx, seq)
	if err != nil {
		return false, err
	}
	n := note{Key: k.key, Seq: seq, Parent: below, Hash: hash, Redacted: redactedUpTo(m.redacted, seq)}
	if err := k.write(image.Top(), &n); err != nil {
		return false, err
	}
	if !k.add(m, n, image.Top()) {
		image.Top().Remove()
		return false, errForgotten
	}
	err = k.fit(ctx)
	return k.last() == seq, err
}

// add appends a state, unless that below it was dropped meanwhile.
func (k *stateStore) add(m making, n note, layer *pages.Layer) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.forgets != m.forgets || k.lastOf() != n.Parent {
		return false
	}
	k.states = append(k.states, kept{n, layer.Retain()})
	return true
}

func (k *stateStore) write(layer *pages.Layer, n *note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return layer.Keep(n.file(), text)
}

// fit merges states until they are few and small enough: of all pairs the one whose merger leaves the smallest gap, the
// oldest of those. All of them together have at least the pages of the newest one, which must leave room for others: if
// it does not, it is dropped, and those before it stay. It is called by one goroutine, and holds mu only to look and to
// swap, so that others do not wait for the disk.
func (k *stateStore) fit(ctx context.Context) error {
	k.dropTooLarge()
	for {
		lower, upper, found := k.pair()
		if !found {
			return nil
		}
		err := k.merge(ctx, lower, upper)
		if err = errors.Join(err, lower.layer.Release(), upper.layer.Release()); err != nil {
			return fmt.Errorf("merge kept states: %w", err)
		}
	}
}

func (k *stateStore) dropTooLarge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	newest := len(k.states) - 1
	if newest < 0 {
		return
	}
	if size := k.states[newest].layer.Pages() * pages.Size; size > k.limit()/4*3 {
		k.needed = size/3*4 + 4
		k.drop(newest)
	}
}

// pair returns two states on each other that are to be merged, if any are. The caller releases their layers.
func (k *stateStore) pair() (lower, upper kept, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.states) < 2 || k.bytes() <= k.limit() && len(k.states) <= k.opts.States {
		return lower, upper, false
	}
	at, least := 0, int64(-1)
	for i := range k.states[1:] {
		if gap := k.states[i+1].note.Seq - k.states[i].note.Parent; least < 0 || gap < least {
			at, least = i, gap
		}
	}
	lower, upper = k.states[at], k.states[at+1]
	lower.layer.Retain()
	upper.layer.Retain()
	return lower, upper, true
}

// merge replaces a state and the next one by one layer, unless they were dropped meanwhile.
func (k *stateStore) merge(ctx context.Context, lower, upper kept) error {
	if k.opts.space != nil {
		changed := lower.layer.Changed() + upper.layer.Changed() - pages.Shared(lower.layer, upper.layer)
		if err := k.opts.space(int64(changed) * pages.Size); err != nil {
			return err
		}
	}
	layer, err := pages.Merge(ctx, lower.layer, upper.layer)
	if err != nil {
		return err
	}
	n := upper.note
	n.Parent = lower.note.Parent
	if err := k.write(layer, &n); err != nil {
		return errors.Join(err, layer.Release())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.states, func(s kept) bool { return s.layer == lower.layer })
	if at < 0 || at+1 == len(k.states) || k.states[at+1].layer != upper.layer {
		return discard(layer)
	}
	k.states = slices.Replace(k.states, at, at+2, kept{n, layer})
	return errors.Join(discard(lower.layer), discard(upper.layer))
}

func discard(l *pages.Layer) error {
	l.Remove()
	return l.Release()
}

// drop removes the states from an index on. mu is held.
func (k *stateStore) drop(from int) {
	for _, s := range k.states[from:] {
		if err := discard(s.layer); err != nil {
			k.logger.Warn("cannot remove a kept state; the next start removes it", "seq", s.note.Seq, "err", err)
		}
	}
	k.states = slices.Delete(k.states, from, len(k.states))
}

// forget removes the states that may contain data of an event, or of later ones.
func (k *stateStore) forget(seq int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgets++
	k.needed = 0
	for i := range k.states {
		if k.states[i].note.Seq >= seq {
			k.drop(i)
			return
		}
	}
}

// forgetDamaged removes the states whose files do not hold what was written, and reports whether there were any.
func (k *stateStore) forgetDamaged() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.states, func(s kept) bool { return s.layer.Damaged() })
	if at < 0 {
		return false
	}
	k.logger.Warn("the file of a kept state is damaged; it and those built on it are made again", "seq", k.states[at].note.Seq)
	k.forgets++
	k.drop(at)
	return true
}

// bytes is the size of the states. mu is held.
func (k *stateStore) bytes() (n int64) {
	for _, s := range k.states {
		n += s.layer.Bytes()
	}
	return n
}

func (k *stateStore) status(s *Status) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.States, s.Bytes, s.MaxBytes, s.UpTo = len(k.states), k.bytes(), k.limit(), k.lastOf()
	for i := range k.states {
		s.WidestGap = max(s.WidestGap, k.states[i].note.Seq-k.states[i].note.Parent)
	}
}

// close closes the files, which stay.
func (k *stateStore) close() (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.states {
		err = errors.Join(err, s.layer.Release())
	}
	k.states = nil
	return err
}

// ForgetKept removes the kept states in a directory that no server uses. Missing ones are no error.
func ForgetKept(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove kept states: %w", err)
	}
	return nil
}
