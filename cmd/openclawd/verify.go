package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

func newVerify(p *process) *cobra.Command {
	var (
		db            string
		chain, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the log is what was appended",
		Long: `Reads the whole log and proves that it is gapless and in order, that every payload is the one that was hashed, and that every hash
links to the one before it. Fails with exit code 1 and names the event at the first thing that does not hold. Works beside a server.`,
		Example: "  openclawd verify\n  openclawd verify --chain --json   # the log alone, without SQLite's structure and the triggers",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := p.openToRead(cmd.Context(), db)
			if err != nil {
				return err
			}
			defer log.Close()
			bar := p.eventProgress("verify")
			proof, err := log.Verify(cmd.Context(), chain, bar.tell)
			bar.end()
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(p.stdout, proof)
			}
			return p.writeProof(&proof)
		},
	}
	addDB(cmd, &db)
	cmd.Flags().BoolVar(&chain, "chain", false, "only the log: leave out SQLite's own structure and the append-only triggers")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "answer in JSON")
	return cmd
}

func (p *process) writeProof(proof *sqlite.Proof) error {
	if proof.Events == 0 {
		fmt.Fprintln(p.stdout, "ok: the log is empty")
	} else {
		fmt.Fprintf(p.stdout, "ok: %s in %s\n", output.Count(proof.Events, "event"), output.Count(proof.Streams, "stream"))
		fmt.Fprintf(p.stdout, "  gapless: seq 1 to %s, recorded times never go back, every stream counts 1, 2, 3\n", output.Thousands(proof.Events))
		fmt.Fprintf(p.stdout, "  unchanged: every payload matches its hash (%s redacted), every hash links to the one before\n", output.Thousands(proof.Redacted))
		fmt.Fprintf(p.stdout, "  head: %s\n", proof.Head)
	}
	if !proof.ChainOnly {
		fmt.Fprintln(p.stdout, "  sound: the append-only triggers are there, SQLite's structure check passed")
	}
	return nil
}
