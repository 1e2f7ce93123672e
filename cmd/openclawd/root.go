package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nearEnough is the maximum edit distance of a suggested command.
const nearEnough = 2

// newRoot assembles the commands. To add one, add a file with its constructor and a line here.
func newRoot(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:   "openclawd",
		Short: "Coordination backend for teams of LLM agents",
		Long: `openclawd runs a team of LLM agents on one event log in SQLite. It serves the OpenClaw gateway, the Task-Monitor API, the web page Task-Hub
and the channels Discord, Telegram and Slack, and computes sessions, runs, tasks and conversations from the log.

Exit codes: 0 done, 1 failed, 2 wrong command line, 75 another openclawd has locked the file, or it was busy or interrupted, 78 invalid setting,
130 stopped with Ctrl-C.`,
		Example: `  openclawd agent "hello"           # talk to an agent of the running gateway
  openclawd serve --follow          # alongside a running OpenClaw, on ~/.openclaw
  openclawd serve                   # as the gateway, in place of OpenClaw
  openclawd serve --sample          # try it with sample data
  openclawd events query --limit 5  # the newest events`,
		Args:          subcommand,
		RunE:          showHelp,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: nearEnough,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newServe(p),
		newAgent(p),
		newRuns(p),
		newWork(p),
		newTasks(p),
		newApprovals(p),
		newPairing(p),
		newContinuation(p),
		newWhy(p),
		newChannels(p, "", "all channels", "status"),
		newChannels(p, "discord", "Discord", "bots"),
		newCollaborations(p),
		newA2A(p),
		newTrace(p),
		newReplay(p),
		newPolicy(p),
		newTools(p),
		newMCP(p),
		newSandbox(p),
		newSkills(p),
		newCall(p),
		newCron(p),
		newWorker(p),
		newCluster(p),
		newToken(p),
		newOpen(p),
		newImport(p),
		newExport(p),
		newEvents(p),
		newSearch(p),
		newSQL(p),
		newSessions(p),
		newProjections(p),
		newConfig(p),
		newVerify(p),
		newStore(p),
		newRedact(p),
		newBackup(p),
		newArchive(p),
		newStatus(p),
		newDoctor(p),
		newHealthcheck(p),
		newInit(p),
		newService(p),
		newMigrate(p),
		newUpgrade(p),
		newVersion(p),
		newCompletion(p),
	)
	return root
}

// newGroup builds a command that only has subcommands.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Short: short, Args: subcommand, RunE: showHelp, SuggestionsMinimumDistance: nearEnough}
	group.AddCommand(commands...)
	return group
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// subcommand rejects the arguments of a command that only has subcommands: none of them matched.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cause := fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		cause = fmt.Errorf("%w; did you mean %s?", cause, strings.Join(near, " or "))
	}
	return &usageError{command: cmd.CommandPath(), err: cause}
}

// positional converts errors of cobra's argument check to usage errors.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{command: cmd.CommandPath(), err: err}
		}
		return nil
	}
}
