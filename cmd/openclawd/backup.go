package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/backup"
	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
)

func newBackup(p *process) *cobra.Command {
	return newGroup("backup", "Copy the log, prove copies, bring one back",
		newBackupCreate(p), newBackupVerify(p), newBackupList(p), newBackupRestore(p))
}

// backups holds the flags that the commands share.
type backups struct {
	db, dir string
	asJSON  bool
}

func (b *backups) addFlags(cmd *cobra.Command) {
	addPlace(cmd, &b.db)
	cmd.Flags().StringVar(&b.dir, "dir", "", "`DIR` of the backups (default backups beside the database)")
	cmd.Flags().BoolVar(&b.asJSON, jsonFlag, false, "answer in JSON")
}

// directory is where the backups lie.
func (p *process) backupDir(b *backups) (string, error) {
	if b.dir != "" {
		return b.dir, nil
	}
	db, err := p.databasePath(b.db)
	return database.BackupsDir(db), err
}

func newBackupCreate(p *process) *cobra.Command {
	var (
		b    backups
		keep int
	)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Copy the log to a file and prove the copy",
		Long: `Copies the whole database, log and tables at one moment, beside a running server or without one. The copy is proved (SQLite's integrity
check, every event, every link of the chain, every table's position) before it gets its name, openclawd-TIME-SEQ.db, and a manifest of
the same name that ends in .json. A copy that cannot be proved is removed.

Never copy the files of a running server by other means: what is in its WAL would be missing.

Where the files were removed or replaced while a server had them open, the server is asked to save what it still has: --dir and --keep do not
count then.

openclawd serve backs up by itself every 24 hours (--backup-every, --backup-keep, --backup-dir).`,
		Example: `  openclawd backup create
  openclawd backup create --dir /mnt/safe --keep 30
  openclawd backup create --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 0 {
				return &settings.Error{Setting: "--keep", Value: fmt.Sprint(keep), Mend: "give the number of backups to keep, or 0 for all"}
			}
			return p.createBackup(cmd.Context(), b, keep)
		},
	}
	b.addFlags(cmd)
	cmd.Flags().IntVar(&keep, "keep", 0, "then remove all but the newest `N` proved backups; 0 removes none")
	return cmd
}

func (p *process) createBackup(ctx context.Context, b backups, keep int) error {
	dir, err := p.backupDir(&b)
	if err != nil {
		return err
	}
	place, err := p.place(asking{db: b.db})
	if err != nil {
		return err
	}
	if place.Lost(ctx) {
		return p.saveLost(ctx, place, b)
	}
	log, err := p.openToRead(ctx, b.db)
	if err != nil {
		return err
	}
	defer log.Close()
	bar := p.eventProgress("verify")
	made, err := backup.Create(ctx, backup.CreateOptions{Log: log, Dir: dir, Now: p.now, Version: buildinfo.Read().Version, Tell: bar.tell})
	bar.end()
	if err != nil {
		return err
	}
	var removed []string
	if keep > 0 {
		if removed, err = backup.Prune(dir, keep); err != nil {
			return err
		}
	}
	if b.asJSON {
		return output.JSON(p.stdout, struct {
			*backup.Backup
			Removed []string `json:"removed"`
		}{made, append([]string{}, removed...)})
	}
	if made.Manifest.Archives != nil {
		fmt.Fprintf(p.stderr, "note: payloads of %s lie in %s and are not in the backup: keep copies of that directory too\n",
			output.Count(int64(len(made.Manifest.Archives.Files)), "archive"), made.Manifest.Archives.Dir)
	}
	fmt.Fprintf(p.stdout, "backed up %s to %s (%s)\n", output.Count(made.Seq, "event"), made.File, output.Bytes(made.Bytes))
	for _, file := range removed {
		fmt.Fprintf(p.stdout, "removed %s\n", file)
	}
	return nil
}

// saveLost has the server save what it has open of a database whose files are gone. Where the copy lies is the server's choice.
func (p *process) saveLost(ctx context.Context, place *client.Place, b backups) error {
	made, err := place.MakeBackup(ctx)
	if err != nil {
		return err
	}
	if b.asJSON {
		return output.JSON(p.stdout, made)
	}
	fmt.Fprintln(p.stderr, "note: the files of the database were removed or replaced, and the server has saved what it still had open. Stop it, and put the backup in their place")
	_, err = fmt.Fprintf(p.stdout, "backed up %s to %s (%s)\n", output.Count(made.Seq, "event"), made.File, output.Bytes(made.Bytes))
	return err
}

func newBackupVerify(p *process) *cobra.Command {
	var b backups
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Prove that a backup is whole and unchanged",
		Long: `Reads all of a backup, the newest one if no FILE is named, and proves it anew: it is the file that was made (SHA-256), SQLite's
integrity check passes, the log is gapless and its chain unbroken, the tables reflect it. Notes the time in the manifest.`,
		Example: `  openclawd backup verify
  openclawd backup verify backups/openclawd-20260220T120000Z-321.db --json`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error { return p.verifyBackup(cmd.Context(), b, files) },
	}
	b.addFlags(cmd)
	return cmd
}

func (p *process) verifyBackup(ctx context.Context, b backups, files []string) error {
	if len(files) == 0 {
		dir, err := p.backupDir(&b)
		if err != nil {
			return err
		}
		newest, err := backup.Newest(dir)
		if err != nil {
			return err
		}
		if newest == nil {
			return &noBackupError{dir}
		}
		files = []string{newest.File}
	}
	bar := p.eventProgress("verify")
	m, err := backup.Verify(ctx, files[0], p.now, bar.tell)
	bar.end()
	if err != nil {
		return database.OpenError(files[0], err)
	}
	if b.asJSON {
		return output.JSON(p.stdout, m)
	}
	_, err = fmt.Fprintf(p.stdout, "ok: %s\n  %s, gapless and unchanged; head %s\n  SHA-256 %s\n", files[0], output.Count(m.Seq, "event"), m.Head, m.SHA256)
	return err
}

func newBackupList(p *process) *cobra.Command {
	var b backups
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the backups of a directory, the newest first",
		Example: "  openclawd backup list\n  openclawd backup list --dir /mnt/safe --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.backupDir(&b)
			if err != nil {
				return err
			}
			list, err := backup.List(dir)
			switch {
			case err != nil:
				return err
			case b.asJSON:
				return output.JSON(p.stdout, list)
			}
			return p.writeBackups(dir, list)
		},
	}
	b.addFlags(cmd)
	return cmd
}

func (p *process) writeBackups(dir string, list []backup.Backup) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(p.stdout, "there is no backup in %s: openclawd backup create makes one\n", dir)
		return err
	}
	rows := make([][]string, len(list))
	for i := range list {
		b := &list[i]
		proved := "no manifest"
		if b.Manifest != nil {
			proved = output.Time(b.Manifest.VerifiedAt.UnixMilli())
		}
		rows[i] = []string{filepath.Base(b.File), output.Time(b.Time.UnixMilli()), output.Thousands(b.Seq), output.Bytes(b.Bytes), proved}
	}
	return output.Table(p.stdout, []string{"NAME", "TIME", "SEQ", "SIZE", "VERIFIED"}, rows)
}

func newBackupRestore(p *process) *cobra.Command {
	var (
		to     string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "restore FILE --to NEWDIR",
		Short: "Bring a backup back, into a new directory",
		Long: `Proves a backup, copies it to NEWDIR/openclawd.db and proves that. NEWDIR must not exist, or be empty: nothing is ever written over.
What the backup does not hold, events after it, is not in it; logs that still lie in the state directory are imported again by serve.`,
		Example: `  openclawd backup restore backups/openclawd-20260220T120000Z-321.db --to ./restored
  openclawd serve --follow --state-dir ./restored --api 127.0.0.1:0   # look at it; nothing of the team's directory is touched`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			if to == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("name the new directory with --to")}
			}
			return p.restoreBackup(cmd.Context(), files[0], to, asJSON)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`NEWDIR` to restore into; must not exist, or be empty")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

func (p *process) restoreBackup(ctx context.Context, file, to string, asJSON bool) error {
	bar := p.eventProgress("verify")
	path, m, err := backup.Restore(ctx, file, to, database.Name, p.now, bar.tell)
	bar.end()
	if err != nil {
		return database.OpenError(file, err)
	}
	command := "openclawd serve --follow --state-dir " + filepath.Dir(path) + " --api 127.0.0.1:0"
	if asJSON {
		return output.JSON(p.stdout, struct {
			*backup.Manifest
			DB      string `json:"db"`
			Command string `json:"command"`
		}{m, path, command})
	}
	if _, err = fmt.Fprintf(p.stdout, "restored %s to %s, proved before and after\n", output.Count(m.Seq, "event"), path); err != nil {
		return err
	}
	if err := p.writeNeededArchives(m.Archives, database.ArchiveDir(path)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "look at it with: %s\n", command)
	return err
}

// writeNeededArchives says which files have to be copied to where a restored database looks for what was archived.
func (p *process) writeNeededArchives(a *backup.Archives, to string) error {
	if a == nil {
		return nil
	}
	from := a.Dir
	if from == "" {
		from = "where they lie"
	}
	fmt.Fprintf(p.stdout, "payloads of %s are not in it; copy from %s to %s, each with its .json:\n", output.Count(int64(len(a.Files)), "archive"), from, to)
	for _, f := range a.Files {
		note := ""
		if !f.There {
			note = " (not there when the backup was made)"
		}
		if _, err := fmt.Fprintf(p.stdout, "  %s: events %s to %s%s\n", f.File, output.Thousands(f.First), output.Thousands(f.Last), note); err != nil {
			return err
		}
	}
	return nil
}

// noBackupError says that there is nothing to prove.
type noBackupError struct{ dir string }

func (e *noBackupError) Error() string { return fmt.Sprintf("there is no proved backup in %s", e.dir) }
func (e *noBackupError) Code() string  { return "no_backup" }
func (e *noBackupError) Hint() string {
	return "openclawd backup create makes one; name another directory with --dir"
}
