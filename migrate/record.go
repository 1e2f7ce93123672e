package migrate

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/movedin"
)

// record says in the log what a migration takes over: that that it began, once something was added, and what has come of it. One that adds
// nothing, and reports what the last one did, adds nothing here either. A nil record says nothing.
type record struct {
	o      *Options
	report *Report
	about  coordination.ImportMigrating
	said   bool
}

// idBytes is how much of the hash of a directory's path is the id of migrations from there.
const idBytes = 8

func newRecord(o *Options, report *Report) (*record, error) {
	from, err := filepath.Abs(o.From)
	if err != nil {
		return nil, fmt.Errorf("name of the state directory: %w", err)
	}
	sum := sha256.Sum256([]byte(from))
	return &record{o: o, report: report, about: coordination.ImportMigrating{Context: coordination.Context{EventRole: coordination.RoleObservability},
		MigrationID: hex.EncodeToString(sum[:idBytes]), Program: client, From: from, Only: o.Only}}, nil
}

// begin says that the migration began, if it has added something and this was not said.
func (r *record) begin(ctx context.Context) error {
	if r == nil || r.said || !r.report.added() {
		return nil
	}
	r.said = true
	return r.append(ctx, coordination.TypeImportMigrating, r.about)
}

// end says what has come of the migration.
func (r *record) end(ctx context.Context) error {
	if r == nil {
		return nil
	}
	said := coordination.ImportMigrated{ImportMigrating: r.about, Era: string(r.report.Era), Complete: r.report.Complete, Counts: []coordination.MigrationCount{},
		Left: []coordination.MigrationLeft{}, LeftTotal: r.report.LeftTotal(), Reasons: r.report.Reasons}
	for _, c := range r.report.Counts {
		said.Counts = append(said.Counts, *c)
	}
	for _, p := range r.report.Left {
		said.Left = append(said.Left, coordination.MigrationLeft{Place: p.Place, Reason: p.Reason, Detail: p.Detail, Hint: p.Hint, Note: notes[p.Reason]})
	}
	if !r.report.added() {
		is, err := r.isKnown(ctx, &said)
		if err != nil || is {
			return err
		}
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	return r.append(ctx, coordination.TypeImportMigrated, said)
}

// isKnown reports whether the last migration from the directory has ended, with the same report.
func (r *record) isKnown(ctx context.Context, said *coordination.ImportMigrated) (is bool, err error) {
	err = r.o.Log.View(ctx, func(tx *sql.Tx) error {
		list, err := movedin.Read(ctx, tx, r.about.MigrationID)
		is = len(list) == 1 && list[0].State == movedin.Done && saysTheSame(list[0].Migrated, said)
		return err
	})
	return is, err
}

// saysTheSame reports whether the same was found, and the same was left.
func saysTheSame(a, b *coordination.ImportMigrated) bool {
	var texts [2]string
	for i, one := range []coordination.ImportMigrated{*a, *b} {
		one.Counts = slices.Clone(one.Counts)
		for j := range one.Counts {
			one.Counts[j].New, one.Counts[j].Already = 0, 0
		}
		text, _ := json.Marshal(one) // texts and numbers
		texts[i] = string(text)
	}
	return texts[0] == texts[1]
}

func (r *record) append(ctx context.Context, typ string, data any) error {
	appends, err := eventstore.One(coordination.MigrationStream(r.about.MigrationID), eventstore.NewEvent{Type: typ, Actor: eventstore.ActorSystem}, data,
		r.o.Now().UnixMilli())
	if err == nil {
		_, err = r.o.Log.Append(ctx, appends...)
	}
	if err != nil {
		return fmt.Errorf("record the migration: %w", err)
	}
	return nil
}

// added reports whether something was added to the log.
func (r *Report) added() bool {
	return slices.ContainsFunc(r.Counts, func(c *Count) bool { return c.New > 0 })
}
