package main

import (
	"github.com/spf13/cobra"
)

func newCompletion(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
		Example: `  source <(openclawd completion bash)                                   # this shell
  openclawd completion bash > /etc/bash_completion.d/openclawd          # every shell
  openclawd completion zsh > "${fpath[1]}/_openclawd"
  openclawd completion fish > ~/.config/fish/completions/openclawd.fish
  openclawd completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      positional(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			const withDescriptions = true
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.stdout, withDescriptions)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			case "fish":
				return root.GenFishCompletion(p.stdout, withDescriptions)
			default:
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			}
		},
	}
}
