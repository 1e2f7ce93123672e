package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

func newBackup(p *process) *cobra.Command {
	return newGroup("backup", "Back up the log, verify backups, restore one",
		newBackupCreate(p), newBackupVerify(p), newBackupList(p), newBackupRestore(p))
}

// backups holds the flags that the backup commands share.
type backups struct {
	db, dir string
	asJSON  bool
}

func (b *backups) addFlags(cmd *cobra.Command) {
	addPlace(cmd, &b.db)
	cmd.Flags().StringVar(&b.dir, "dir", "", "backup `DIR` (default backups beside the database)")
	cmd.Flags().BoolVar(&b.asJSON, jsonFlag, false, "print JSON")
}

// backupDir returns the backup directory.
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
		Short: "Back up the log and verify the copy",
		Long: `Copies the whole database, log and tables as of one moment, with or without a running server. The copy is verified (SQLite's integrity check,
every event, every link of the hash chain, every table's position) before it gets its final name, openclawd-TIME-SEQ.db, and a manifest of the
same name that ends in .json. A copy that fails verification is removed.

Never copy the files of a running server by other means: the content of its WAL would be missing.

If the files were removed or replaced while a server has them open, the server is asked to save what it still holds; --dir and --keep do not
apply then.

openclawd serve makes a backup every 24 hours (--backup-every, --backup-keep, --backup-dir).`,
		Example: `  openclawd backup create
  openclawd backup create --dir /mnt/safe --keep 30
  openclawd backup create --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 0 {
				return &config.SettingError{Setting: "--keep", Value: fmt.Sprint(keep), HintText: "give the number of backups to keep, or 0 for all"}
			}
			return p.createBackup(cmd.Context(), b, keep)
		},
	}
	b.addFlags(cmd)
	cmd.Flags().IntVar(&keep, "keep", 0, "afterwards remove all but the newest `N` verified backups; 0: remove none")
	return cmd
}

func (p *process) createBackup(ctx context.Context, b backups, keep int) error {
	dir, err := p.backupDir(&b)
	if err != nil {
		return err
	}
	place, err := p.place(serverFlags{db: b.db})
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
	if err := backup.CheckUser(log.Path(), dir); err != nil {
		return err
	}
	bar := p.eventProgress("verify")
	made, err := backup.Create(ctx, backup.CreateOptions{Log: log, Dir: dir, Now: p.now, Version: buildinfo.Read().Version, Tell: bar.update})
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
		fmt.Fprintf(p.stderr, "note: payloads of %s are in %s and not in the backup: back up that directory too\n",
			output.Count(int64(len(made.Manifest.Archives.Files)), "archive"), made.Manifest.Archives.Dir)
	}
	fmt.Fprintf(p.stdout, "backed up %s to %s (%s)\n", output.Count(made.Seq, "event"), made.File, output.Bytes(made.Bytes))
	for _, file := range removed {
		fmt.Fprintf(p.stdout, "removed %s\n", file)
	}
	return nil
}

// saveLost asks the server to save what it has open of a database whose files are gone. The server chooses the
// directory.
func (p *process) saveLost(ctx context.Context, place *apiclient.Place, b backups) error {
	made, err := place.MakeBackup(ctx)
	if err != nil {
		return err
	}
	if b.asJSON {
		return output.JSON(p.stdout, made)
	}
	fmt.Fprintln(p.stderr, "note: the database files were removed or replaced; the server saved what it still had open. Stop it and put the backup in their place")
	_, err = fmt.Fprintf(p.stdout, "backed up %s to %s (%s)\n", output.Count(made.Seq, "event"), made.File, output.Bytes(made.Bytes))
	return err
}

func newBackupVerify(p *process) *cobra.Command {
	var b backups
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Verify that a backup is complete and unchanged",
		Long: `Reads a backup, the newest one if no FILE is given, and verifies it again: it is the file that was made (SHA-256), SQLite's integrity check
passes, the log has no gaps and its hash chain is unbroken, the tables match it. Records the time in the manifest.`,
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
			return &codedError{text: "no verified backup in " + dir, code: "no_backup",
				hint: "openclawd backup create makes one; --dir selects another directory"}
		}
		files = []string{newest.File}
	}
	if err := backup.CheckUser(files[0], filepath.Dir(files[0])); err != nil {
		return err
	}
	bar := p.eventProgress("verify")
	m, err := backup.Verify(ctx, files[0], p.now, bar.update)
	bar.end()
	if err != nil {
		return database.OpenError(files[0], err)
	}
	if b.asJSON {
		return output.JSON(p.stdout, m)
	}
	_, err = fmt.Fprintf(p.stdout, "ok: %s\n  %s, no gaps, unchanged; head %s\n  SHA-256 %s\n", files[0], output.Count(m.Seq, "event"), m.Head, m.SHA256)
	return err
}

func newBackupList(p *process) *cobra.Command {
	var b backups
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the backups of a directory, newest first",
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
		_, err := fmt.Fprintf(p.stdout, "no backups in %s; try: openclawd backup create\n", dir)
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
		Short: "Restore a backup into a new directory",
		Long: `Verifies a backup, copies it to NEWDIR/openclawd.db and verifies the copy. NEWDIR must not exist, or be empty: nothing is overwritten.
Events after the backup are missing from it; serve imports logs that are still in the state directory again.`,
		Example: `  openclawd backup restore backups/openclawd-20260220T120000Z-321.db --to ./restored
  openclawd serve --follow --state-dir ./restored --api 127.0.0.1:0   # inspect it; the team's directory is not touched`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			if to == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("name the new directory with --to")}
			}
			return p.restoreBackup(cmd.Context(), files[0], to, asJSON)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`NEWDIR` to restore into; must not exist, or be empty")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}

func (p *process) restoreBackup(ctx context.Context, file, to string, asJSON bool) error {
	bar := p.eventProgress("verify")
	path, m, err := backup.Restore(ctx, file, to, database.Name, p.now, bar.update)
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
	if _, err = fmt.Fprintf(p.stdout, "restored %s to %s, verified before and after\n", output.Count(m.Seq, "event"), path); err != nil {
		return err
	}
	if err := p.writeNeededArchives(m.Archives, database.ArchiveDir(path)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "inspect it with: %s\n", command)
	return err
}

// writeNeededArchives lists the archives to copy to where the restored database expects them.
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
			note = " (missing when the backup was made)"
		}
		if _, err := fmt.Fprintf(p.stdout, "  %s: events %s to %s%s\n", f.File, output.Thousands(f.First), output.Thousands(f.Last), note); err != nil {
			return err
		}
	}
	return nil
}
