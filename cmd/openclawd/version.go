package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newVersion(p *process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print version and build",
		Example: "  openclawd version\n  openclawd version --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			if asJSON {
				return output.JSON(p.stdout, info)
			}
			line := "openclawd " + info.Version
			if info.Revision != "" {
				line += " (" + info.Revision[:min(len(info.Revision), 12)]
				if info.Modified {
					line += ", modified"
				}
				line += ")"
			}
			_, err := fmt.Fprintln(p.stdout, line+", "+info.Go+", "+info.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "print JSON")
	return cmd
}
